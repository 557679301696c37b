// node dist/main.js INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]
//
// Exit codes: 0 sent; 69 not sent, and not going to be; 75 nobody knows; 64 called wrongly.

import { type Message, sendSms } from "./sms.js";

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of "300ms", "1m 30s", "24h". */
function duration(name: string, otherwise: string): number {
  const text = process.env[name] ?? otherwise;
  const parts = text.split(" ").map((part) => /^(\d+)(ms|s|m|h|d)$/.exec(part));
  return parts.reduce((sum, part) => {
    const unit = UNITS[part?.[2] ?? ""];
    if (unit === undefined) fail(`${name}: ${JSON.stringify(text)} is no duration`);
    return sum + Number(part?.[1]) * unit;
  }, 0);
}

function fail(why: string): never {
  console.error(`sms: ${why}`);
  process.exit(64);
}

const [intent, to, body, customer, key, expiresAt] = process.argv.slice(2);
const base = process.env["SMS_API_BASE"];
if (intent === undefined || to === undefined || body === undefined) {
  fail("usage: main.js INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]");
}
if (base === undefined) fail("SMS_API_BASE must be the provider's URL");

const message: Message = {
  to,
  body,
  customer: customer || "default",
  key: key || intent,
  ...(expiresAt ? { expiresAt: new Date(expiresAt) } : {}),
};
const result = await sendSms(new URL(base.endsWith("/") ? base : `${base}/`), message, {
  readTimeout: duration("SMS_READ_TIMEOUT", "10s"),
  backoffBase: duration("SMS_BACKOFF_BASE", "500ms"),
  backoffCap: duration("SMS_BACKOFF_CAP", "60s"),
  retryAfterMax: duration("SMS_RETRY_AFTER_MAX", "15m"),
  keyRetention: duration("SMS_KEY_RETENTION", "24h"),
  maxAttempts: 5,
});
if (result.outcome === "sent") {
  process.exit(0);
}
console.error(`sms: ${result.outcome}: ${result.reason}`);
process.exit(result.outcome === "dead" ? 69 : 75);
