// Each message in one call, with one client: what is retried is left to axios-retry.
const { appendFileSync, readFileSync } = require("node:fs");
const axios = require("axios");
const { default: axiosRetry } = require("axios-retry");

const client = axios.create({
  baseURL: process.env.SMS_API_BASE,
  timeout: 1000 * process.env.CALL_TIMEOUT,
});
axiosRetry(client);

async function main() {
  const lines = readFileSync(0, "utf8").split("\n").filter(Boolean);
  for (const { intent, to, body } of lines.map((line) => JSON.parse(line))) {
    const headers = process.env.KEY === "yes" ? { "Idempotency-Key": intent } : {};
    const outcome = await client.post("/v1/messages", { to, body }, { headers }).then(
      () => "sent",
      () => "unknown",
    );
    appendFileSync(process.argv[2], JSON.stringify({ intent, outcome, attempts: 1 }) + "\n");
  }
}

main();
