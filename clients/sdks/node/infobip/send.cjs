// One SMS. The SDK returns what it should throw, and no time limit can be set.
const { AuthType, Infobip } = require("@infobip-api/sdk");
const told = require("../told.cjs");

const [to, text] = process.argv.slice(2);
const infobip = new Infobip({
  baseUrl: process.env.SMS_API_BASE,
  apiKey: "made_up",
  authType: AuthType.ApiKey,
});
told(
  infobip.channels.sms
    .send({ messages: [{ from: "12025550199", destinations: [{ to: to.slice(1) }], text }] })
    .then((answer) => {
      if (answer instanceof Error) throw answer;
    }),
);
