// One SMS by SNS.
const { PublishCommand, SNSClient } = require("@aws-sdk/client-sns");
const told = require("../told.cjs");

const [to, body] = process.argv.slice(2);
const sns = new SNSClient({
  region: "us-east-1",
  endpoint: `${process.env.SMS_API_BASE}/sns`,
  credentials: { accessKeyId: "made_up", secretAccessKey: "made_up" },
  // Without the second setting a request that takes too long is only complained about.
  requestHandler: { requestTimeout: 1000 * process.env.CALL_TIMEOUT, throwOnRequestTimeout: true },
});
told(sns.send(new PublishCommand({ PhoneNumber: to, Message: body })));
