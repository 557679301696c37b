// One message to a number.
const { Courier } = require("@trycourier/courier");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const client = new Courier({
  apiKey: "made_up",
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
told(
  client.send.message({
    message: { to: { phone_number: to }, content: { title: "A message", body } },
  }),
);
