// A provider of its own on a free port, and a Chromium to look at it with.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("..", import.meta.url));
export const out = process.env.SCREENSHOTS ?? `${root}target/screenshots`;

/** Starts a provider; its address and how to end it. */
export async function provider(...more) {
  const child = spawn(`${root}target/debug/stub-provider`, ["--listen", "127.0.0.1:0", ...more], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
    if (!found) continue;
    child.stderr.resume();
    return {
      url: found[0],
      async stop() {
        child.kill("SIGTERM");
        await once(child, "exit");
      },
    };
  }
  throw new Error("the provider ended before it said where it listens");
}

/** A Chromium that asks for nothing from outside. */
export function browser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
      "--disable-background-networking", "--disable-component-update",
    ],
  });
}

/** Sends a message as a client would. */
export async function send(url, to, body, key, headers = {}) {
  const answer = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key ? { "idempotency-key": key } : {}), ...headers },
    body: JSON.stringify({ to, body }),
  });
  return { status: answer.status, body: await answer.json() };
}
