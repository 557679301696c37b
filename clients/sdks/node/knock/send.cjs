// One run of a workflow for one recipient.
const { Knock } = require("@knocklabs/node");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const knock = new Knock({
  apiKey: "sk_test_made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(
  knock.workflows.trigger("sms", { recipients: [{ id: "one", phone_number: to }], data: { body } }),
);
