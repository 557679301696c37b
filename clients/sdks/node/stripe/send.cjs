// One customer with a number and some words.
const Stripe = require("stripe");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const { hostname, port } = new URL(process.env.SMS_API_BASE);
const timeout = 1000 * process.env.CALL_TIMEOUT;
const stripe = new Stripe("sk_test_made_up", { host: hostname, port, protocol: "http", timeout });
told(stripe.customers.create({ phone: to, description: body }));
