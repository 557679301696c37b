// One e-mail; the recipient stands where an address would. No time limit can be set.
const { Resend } = require("resend");
const told = require("../told.cjs");

const [to, text] = process.argv.slice(2);
const resend = new Resend("re_made_up", { baseUrl: process.env.SMS_API_BASE });
told(
  resend.emails
    .send({ from: "shop@example.com", to, subject: "A message", text })
    .then(({ error }) => {
      if (error) throw error;
    }),
);
