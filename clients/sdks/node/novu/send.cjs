// One event for one subscriber.
const { Novu } = require("@novu/api");

const [to, body] = process.argv.slice(2);
const client = new Novu({
  secretKey: "made_up",
  serverURL: process.env.SMS_API_BASE,
  timeoutMs: 1000 * process.env.CALL_TIMEOUT,
});
client.trigger({
  workflowId: "sms",
  to: { subscriberId: "one", phone: to },
  payload: { body },
});
