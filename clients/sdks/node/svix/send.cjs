// One message to one application.
const { Svix } = require("svix");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const svix = new Svix("testsk_made_up.us", {
  serverUrl: process.env.SMS_API_BASE,
  requestTimeout: 1000 * process.env.CALL_TIMEOUT,
});
told(svix.message.create("app_made_up", { eventType: "sms", payload: { to, body } }));
