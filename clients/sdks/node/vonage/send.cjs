// One SMS by the SMS API.
const { Vonage } = require("@vonage/server-sdk");
const told = require("../told.cjs");

const [to, text] = process.argv.slice(2);
const vonage = new Vonage(
  { apiKey: "made_up", apiSecret: "made_up" },
  { restHost: process.env.SMS_API_BASE, timeout: 1000 * process.env.CALL_TIMEOUT },
);
told(vonage.sms.send({ to: to.slice(1), from: "12025550199", text }));
