// One message by a template, whose words are a variable.
const { Prelude } = require("@prelude.so/sdk");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new Prelude({
  apiToken: "made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(client.notify.send({ template_id: "template_made_up", to, variables: { body } }));
