// How the report of a large run holds up: 20,000 intents in one scenario. Prints figures; the bounds
// are those that a person feels.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser } from "./page.mjs";

const INTENTS = Number(process.env.INTENTS ?? 20_000);
const ROUNDS = Number(process.env.ROUNDS ?? 5);

const directory = mkdtempSync(join(tmpdir(), "report-"));
const file = process.env.REPORT_PAGE ?? join(directory, "report.html");
if (!existsSync(file)) {
  const test = "report::html::tests::a_large_run_is_written_for_the_browser";
  execFileSync("cargo", ["test", "--quiet", "--workspace", "--lib", "--", "--ignored", "--exact", test], {
    cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, REPORT_PAGE: file, REPORT_INTENTS: String(INTENTS) },
  });
}
console.log(`a report of ${INTENTS} intents: ${(statSync(file).size / 1e6).toFixed(1)} MB`);

const chromium = await browser();
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const at = (all, part) => [...all].sort((a, b) => a - b)[Math.floor(all.length * part)].toFixed(0);
const [first, opened] = [[], []];
let page;
for (let round = 0; round < ROUNDS; round += 1) {
  await page?.close();
  page = await chromium.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(pathToFileURL(file).href);
  first.push(await page.evaluate(`new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(
    Math.max(performance.now(), performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0)))))`));
  // From the address to the list of all intents, the timeline painted, the history at hand.
  opened.push(await page.evaluate(`new Promise((done) => {
    const began = performance.now();
    location.hash = "#/s/1";
    const look = () => {
      const ready = document.querySelector(".timeline canvas")?.width > 300
        && document.querySelector("#scenario [aria-label=Intents] .item")
        && document.querySelector("#scenario [aria-label=Events] .item .words");
      if (ready) setTimeout(() => done(performance.now() - began));
      else requestAnimationFrame(look);
    };
    look();
  })`));
}
console.log(`the first screen stands after ${median(first).toFixed(0)} ms; the scenario is open ${median(opened).toFixed(0)} ms after the click (medians of ${ROUNDS})`);

/** The times between frames while something is scrolled from end to end. */
const scrolled = (selector) => page.evaluate(`new Promise((done) => {
  const box = document.querySelector(${JSON.stringify(selector)});
  box.scrollIntoView({ block: "center" });
  const gaps = [];
  let [before, frames] = [performance.now(), 0];
  const frame = (now) => {
    gaps.push(now - before);
    before = now;
    frames += 1;
    box.scrollTop = (box.scrollHeight * frames) / 120;
    if (frames < 120) requestAnimationFrame(frame);
    else done(gaps.slice(1));
  };
  requestAnimationFrame(frame);
})`);
await page.getByRole("button", { name: "Zoom in" }).click({ clickCount: 9 });
for (const [what, selector] of [
  ["intents", "[aria-label=Intents].rows"], ["history", "[aria-label=Events].rows"], ["timeline", ".timeline-box"],
]) {
  const gaps = await scrolled(selector);
  console.log(`${what} scrolled from end to end: between frames p50 ${at(gaps, 0.5)} ms, p99 ${at(gaps, 0.99)} ms`);
}
const searched = await page.evaluate(`new Promise((done) => {
  const began = performance.now();
  const words = document.getElementById("history-search");
  words.value = "intent:${INTENTS - 5}";
  words.dispatchEvent(new Event("input"));
  const status = words.closest(".filters").querySelector("[role=status]");
  const look = () => (/^[1-9]\\d* of /.test(status.textContent) ? done(performance.now() - began) : requestAnimationFrame(look));
  look();
})`);
console.log(`a search through the whole history takes ${searched.toFixed(0)} ms`);
await chromium.close();
rmSync(directory, { recursive: true });
