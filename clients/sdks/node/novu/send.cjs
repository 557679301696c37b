// One event for one subscriber.
const { Novu } = require("@novu/api");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new Novu({
  secretKey: "made_up",
  serverURL: process.env.SMS_API_BASE,
  timeoutMs: 1000 * process.env.CALL_TIMEOUT,
});
told(
  client.trigger({
    workflowId: "sms",
    to: { subscriberId: "one", phone: to },
    payload: { body },
  }),
);
