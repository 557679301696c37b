// One SMS by a service plan. No time limit can be set.
const { SinchClient } = require("@sinch/sdk-core");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new SinchClient({
  servicePlanId: "made_up",
  apiToken: "made_up",
  smsHostname: process.env.SMS_API_BASE,
});
told(client.sms.batches.send({ sendSMSRequestBody: { to: [to], from: "+12025550199", body } }));
