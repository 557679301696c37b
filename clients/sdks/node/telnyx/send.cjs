// One SMS.
const { Telnyx } = require("telnyx");

const [to, text] = process.argv.slice(2);
const client = new Telnyx({
  apiKey: "KEY_made_up",
  baseURL: `${process.env.SMS_API_BASE}/v2`,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
client.messages.send({ from: "+12025550199", to, text });
