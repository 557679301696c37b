// One SMS to one recipient.
const { SmsClient } = require("@azure/communication-sms");
const told = require("../told.cjs");

const [to, message] = process.argv.slice(2);
const client = new SmsClient(
  process.env.SMS_API_BASE,
  { key: "bWFkZSB1cA==" },
  { allowInsecureConnection: true },
);
const timeout = 1000 * process.env.CALL_TIMEOUT;
told(client.send({ from: "+12025550199", to: [to], message }, { requestOptions: { timeout } }));
