import { setTimeout as sleep } from "node:timers/promises";

import { retryAfter } from "./retry-after.js";

export interface Message {
  to: string;
  body: string;
  customer: string;
  /** Names the message in the business and never changes: the idempotency key of every attempt. */
  key: string;
  /** After this moment it is useless. */
  expiresAt?: Date;
}

/** Milliseconds, but for `maxAttempts`. */
export interface Policy {
  readTimeout: number;
  backoffBase: number;
  backoffCap: number;
  retryAfterMax: number;
  keyRetention: number;
  maxAttempts: number;
}

/**
 * `dead`: not sent, and not going to be. `unknown`: some attempt may have been accepted, and nobody
 * here knows.
 */
export type Outcome =
  | { outcome: "sent"; id: string }
  | { outcome: "dead" | "unknown"; reason: string };

/** What one attempt came to. `lost`: nothing whole came back, and the request may have arrived. */
type Answer =
  | { kind: "accepted"; id: string }
  | { kind: "refused"; status: number }
  | { kind: "turned-away" | "lost"; wait: number };

/** It says that it has not begun. */
const TURNED_AWAY = new Set([408, 425, 429, 503]);
/** How long before the expiry the last attempt begins. */
const EXPIRY_MARGIN = 50;
const HOPS = 3;

/** Sends a message, trying again under the one key for as long as that can help. */
export async function sendSms(base: URL, message: Message, policy: Policy): Promise<Outcome> {
  // The bytes are made once: a provider may compare them under the key.
  const request = JSON.stringify({ to: message.to, body: message.body });
  const expiresAt = message.expiresAt?.getTime() ?? Infinity;
  // The last moment at which the provider is sure to know the key when the request arrives.
  const keyUntil = Date.now() + policy.keyRetention - policy.readTimeout;
  let maybeAccepted = false;
  const giveUp = (reason: string): Outcome => ({
    outcome: maybeAccepted ? "unknown" : "dead",
    reason,
  });

  for (let attempt = 1; ; attempt++) {
    if (Date.now() + EXPIRY_MARGIN >= expiresAt) return giveUp("expired");
    const answer = await post(base, message, request, policy.readTimeout);
    switch (answer.kind) {
      case "accepted":
        return { outcome: "sent", id: answer.id };
      case "refused":
        // After a lost answer even a refusal proves nothing: it speaks for its own attempt.
        return giveUp(`refused with ${answer.status}`);
      case "lost":
        maybeAccepted = true;
    }
    if (attempt >= policy.maxAttempts) return giveUp("no attempts left");
    if (answer.wait > policy.retryAfterMax) return giveUp(`asked to wait for ${answer.wait} ms`);
    // Retry-After is a hard bound, and the jitter comes on top.
    const wait = answer.wait + pause(attempt, policy);
    const next = Date.now() + wait;
    if (next + EXPIRY_MARGIN >= expiresAt) return giveUp("expires before the next attempt");
    if (next > keyUntil) return giveUp("the key is forgotten before the next attempt");
    await sleep(wait);
  }
}

/**
 * Equal jitter: half of the limit for certain, so that the attempts outlast a short outage, and
 * half drawn, so that those who failed together do not come back together.
 */
function pause(attempt: number, policy: Policy): number {
  const limit = Math.min(policy.backoffCap, policy.backoffBase * 2 ** (attempt - 1));
  return limit / 2 + (Math.random() * limit) / 2;
}

/** One attempt: one request, or one for each hop of a redirect. */
async function post(
  base: URL,
  message: Message,
  request: string,
  timeout: number,
): Promise<Answer> {
  const headers = {
    "idempotency-key": message.key,
    authorization: `Bearer ${message.customer}`,
    "content-type": "application/json",
  };
  let url = new URL("v1/messages", base);
  try {
    // One signal for all of it: from the connect to the last byte of the body.
    const signal = AbortSignal.timeout(timeout);
    for (let hop = 0; ; hop++) {
      // fetch sends a POST once, but would follow redirects, to other origins too.
      const response = await fetch(url, {
        method: "POST",
        headers,
        body: request,
        redirect: "manual",
        signal,
      });
      const text = await response.text();
      const location = response.headers.get("location");
      if ((response.status === 307 || response.status === 308) && location !== null && hop < HOPS) {
        const target = new URL(location, url);
        if (target.origin === url.origin) {
          url = target;
          continue;
        }
      }
      return understand(response, text);
    }
  } catch (error) {
    return { kind: neverConnected(error) ? "turned-away" : "lost", wait: 0 };
  }
}

function understand(response: Response, text: string): Answer {
  const { status } = response;
  const wait = retryAfter(response.headers.get("retry-after"), Date.now());
  if (response.ok) {
    // Half an answer is no success: the JSON must be whole and name the message.
    const id = messageId(text);
    return id === undefined ? { kind: "lost", wait: 0 } : { kind: "accepted", id };
  }
  if (TURNED_AWAY.has(status)) return { kind: "turned-away", wait };
  // 409: an attempt under this key is in flight. 5xx: it broke with the request in its hands.
  if (status === 409 || status >= 500) return { kind: "lost", wait };
  return { kind: "refused", status };
}

function messageId(text: string): string | undefined {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === "object" && found !== null && "id" in found) {
      return typeof found.id === "string" && found.id !== "" ? found.id : undefined;
    }
  } catch {
    // Not JSON, or not all of it.
  }
  return undefined;
}

/** Not one byte of the request has left. Whatever cannot be told apart from that is lost. */
function neverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}
