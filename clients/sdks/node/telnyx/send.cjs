// One SMS. A third argument is a key of the caller's.
const { Telnyx } = require("telnyx");
const told = require("../told.cjs");

const [to, text, key] = process.argv.slice(2);
const client = new Telnyx({
  apiKey: "KEY_made_up",
  baseURL: `${process.env.SMS_API_BASE}/v2`,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
const options = key ? { headers: { "Idempotency-Key": key } } : {};
told(client.messages.send({ from: "+12025550199", to, text }, options));
