// One SMS. The SDK has no setting for the server's address: its HTTP client is told another.
const twilio = require("twilio");
const told = require("../told.cjs");

class Elsewhere extends twilio.RequestClient {
  request(options) {
    const uri = options.uri.replace("https://api.twilio.com", process.env.SMS_API_BASE);
    return super.request({ ...options, uri });
  }
}

const [to, body] = process.argv.slice(2);
const httpClient = new Elsewhere({ timeout: 1000 * process.env.CALL_TIMEOUT });
const client = twilio("AC" + "0".repeat(32), "made_up", { httpClient });
told(client.messages.create({ to, from: "+12025550199", body }));
