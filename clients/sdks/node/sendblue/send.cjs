// One message to a number.
const { SendblueAPI } = require("sendblue");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new SendblueAPI({
  apiKey: "made_up",
  apiSecret: "made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(client.messages.send({ number: to, content: body, from_number: "+12025550199" }));
