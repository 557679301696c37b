// One SMS in words of one's own.
const { Sent } = require("@sentdm/sentdm");
const told = require("../told.cjs");

const [to, text] = process.argv.slice(2);
const client = new Sent({
  apiKey: "made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(client.messages.send({ channel: ["sms"], to: [to], text }));
