// One SMS from an account.
const { Surge } = require("@surgeapi/node");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new Surge({
  apiKey: "made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(client.messages.create("acct_made_up", { to, body }));
