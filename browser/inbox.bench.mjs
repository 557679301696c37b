// How the inbox holds up: ten thousand messages when it opens, then a thousand a second.
// Prints figures; the bounds are those that a person feels.

import { browser, provider, send } from "./page.mjs";

const MESSAGES = Number(process.env.MESSAGES ?? 10_000);
const RATE = Number(process.env.RATE ?? 1_000);
const SECONDS = Number(process.env.SECONDS ?? 10);

const number = (n) => `+1202555${String(100 + (n % 100)).padStart(4, "0")}`;
let sent = 0;
const next = () => {
  const n = sent++;
  return send(stub.url, number(n), `Your code is ${100_000 + (n % 900_000)}`, `k${n}`);
};
/** Sends so many, a few at a time. */
async function fill(count) {
  const worker = async () => {
    while (sent < count) await next();
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

const [chromium, stub] = await Promise.all([browser(), provider()]);
await fill(MESSAGES);
const page = await chromium.newPage({ viewport: { width: 1280, height: 800 }, bypassCSP: true });
await page.addInitScript(`
  globalThis.gaps = [];
  let before = performance.now();
  const frame = (now) => { gaps.push(now - before); before = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
`);
await page.goto(stub.url);
const all = (count) => page.waitForFunction(
  (words) => document.getElementById("totals").textContent.startsWith(words), `${count} messages`, { polling: "raf", timeout: 120_000 },
);
await all(MESSAGES);
const [paint, whole] = await page.evaluate(`[
  performance.getEntriesByName("first-contentful-paint")[0].startTime, performance.now(),
]`);
console.log(`first paint ${paint.toFixed(0)} ms; all ${MESSAGES} messages in sight of the search after ${whole.toFixed(0)} ms`);

await page.evaluate("gaps.length = 0");
const begun = performance.now();
const target = MESSAGES + RATE * SECONDS;
while (sent < target) {
  const due = Math.min(target, MESSAGES + Math.floor(((performance.now() - begun) / 1000) * RATE));
  await Promise.all(Array.from({ length: Math.max(0, due - sent) }, next));
  await new Promise((done) => setImmediate(done));
}
const took = (performance.now() - begun) / 1000;
const ended = performance.now();
await all(target);
const behind = performance.now() - ended;
const gaps = await page.evaluate("gaps");
gaps.sort((a, b) => a - b);
const at = (part) => gaps[Math.floor(gaps.length * part)].toFixed(0);
console.log(
  `${(RATE * SECONDS / took).toFixed(0)} messages a second for ${took.toFixed(1)} s: the page was ${behind.toFixed(0)} ms behind at the end; `
  + `between frames p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${gaps.at(-1).toFixed(0)} ms`,
);
await chromium.close();
await stub.stop();
