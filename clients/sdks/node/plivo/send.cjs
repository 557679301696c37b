// One SMS.
const plivo = require("plivo");
const told = require("../told.cjs");

const [to, text] = process.argv.slice(2);
const account = "MA" + "X".repeat(18);
const client = new plivo.Client(account, "made_up", {
  url: `${process.env.SMS_API_BASE}/v1/Account/${account}`,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(client.messages.create({ src: "+12025550199", dst: to, text }));
