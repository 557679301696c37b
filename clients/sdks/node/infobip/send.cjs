// One SMS. The SDK returns what it should throw, and no time limit can be set.
const { AuthType, Infobip } = require("@infobip-api/sdk");

const [to, text] = process.argv.slice(2);
const infobip = new Infobip({
  baseUrl: process.env.SMS_API_BASE,
  apiKey: "made_up",
  authType: AuthType.ApiKey,
});
infobip.channels.sms
  .send({ messages: [{ from: "12025550199", destinations: [{ to: to.slice(1) }], text }] })
  .then((answer) => answer instanceof Error && process.exit(1));
