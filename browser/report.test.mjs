// The run report in a real browser: what people see and click. The report is that of a real run,
// of a client whose every word is hostile.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser, out } from "./page.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const runner = process.env.CHAOS_RUNNER ?? fileURLToPath(new URL("../target/debug/chaos-runner", import.meta.url));

const TITLE = `<script>document.title = "owned"</script> "lost" \u202eevil\u202c 🙂`;
const CLIENT = `
name = '<b>client</b>'
[submit]
command = ["node", "client.mjs", "{to}", "{body}"]
[outcome]
exit-code = { 0 = "sent", other = "unknown" }
[policy]
max-attempts = 3
read-timeout = "30s"
backoff = { base = "50ms", cap = "200ms", jitter = true }
`;
/** A new key for each try, and words and headers that would be markup if they were let. */
const SENDER = String.raw`
import { setTimeout } from "node:timers/promises";
const [to, body] = process.argv.slice(2);
const words = (body + ' <script>document.title = "owned"</script><img src=x onerror="document.title=1">'
  + '\u202eevil\u202c \u2066abc\u2069 👩‍👩‍👧‍👦 ').padEnd(1600, "x");
for (let nth = 1; nth <= 3; nth += 1) {
  const answer = await fetch(process.env.SMS_API_BASE + "/v1/messages", {
    method: "POST", signal: AbortSignal.timeout(30_000), body: JSON.stringify({ to, body: words }),
    headers: {
      "content-type": "application/json", "idempotency-key": "<i>k" + nth + "-" + process.pid + "</i>",
      "x-odd": '"><script>alert(1)</script>', connection: "close",
    },
  }).catch(() => null);
  if (answer?.ok) process.exit(0);
  const asked = Number(answer?.headers.get("retry-after") ?? 0) * 1000;
  await setTimeout(asked + Math.random() * Math.min(200, 50 * 2 ** (nth - 1)));
}
process.exit(1);
`;
const LOST = `title = ${JSON.stringify(TITLE)}
why = "A read timeout after acceptance is the original double send."
tags = ["ambiguous"]
[[fault]]
attempt = 1
provider.close = { stage = "after-accept" }
`;
const MANY = `title = "Thirty messages are refused once"
why = "A batch that is told to come back is a batch still."
tags = ["batch"]
[intents]
count = 30
[[fault]]
attempt = 1
intent = 7
provider.respond = { stage = "before-accept", status = 429, retry-after = "1s" }
[[fault]]
attempt = 1
intent = 8
provider.respond = { stage = "before-accept", status = 503 }
[[fault]]
attempt = 1
intent = 9
provider.close = { stage = "after-accept" }
`;

let directory, run, chromium, context, page, errors, asked;

before(async () => {
  mkdirSync(out, { recursive: true });
  directory = mkdtempSync(join(tmpdir(), "report-"));
  for (const [name, text] of [["client.toml", CLIENT], ["client.mjs", SENDER], ["lost.toml", LOST], ["many.toml", MANY]]) {
    writeFileSync(join(directory, name), text);
  }
  const words = ["run", "lost.toml", "many.toml", "receipt-twice", "--client", "client.toml", "--report", "runs"];
  const code = await new Promise((done) => {
    execFile(runner, words, { cwd: directory }, (error, stdout, stderr) => {
      if (![0, 1].includes(error?.code ?? 0)) console.error(stdout, stderr);
      done(error?.code ?? 0);
    });
  });
  assert.equal(code, 1, "the client is caught");
  run = realpathSync(join(directory, "runs/latest"));
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  if (directory) rmSync(directory, { recursive: true });
});

beforeEach(async () => {
  await context?.close();
  context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
  // A busy machine is no failure.
  context.setDefaultTimeout(120_000);
  page = await context.newPage();
  errors = [];
  asked = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(pathToFileURL(join(run, "report.html")).href);
});

/** No violation of the accessibility rules, and nothing that is wider than the window. */
async function sound(what) {
  const found = await page.evaluate(`${axe}; axe.run()`);
  assert.deepEqual(found.violations.map((v) => `${what}: ${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`), []);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false, `${what} is too wide`);
}

const section = (name) => page.getByRole("region", { name });
const scenario = (name) => page.getByRole("listbox", { name: "Scenarios" }).getByRole("option").filter({ hasText: name });
const dialog = () => page.getByRole("dialog");
/** The diagrams' rows of a place, as they are heard. */
async function rows(place) {
  await place.locator(".hit").first().waitFor();
  return place.locator(".hit").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
}

test("the first screen says what is wrong, where, and how to see it again", async () => {
  const verdict = section("Verdict");
  assert.match(await verdict.innerText(), /fail/i);
  await verdict.getByRole("heading", { name: /\d kinds? of defect in \d scenarios? of \d/ }).waitFor();
  await verdict.getByText("key-per-attempt", { exact: true }).waitFor();
  await verdict.getByText("duplicate", { exact: true }).first().waitFor();
  await verdict.getByRole("button", { name: "Copy the command that runs it all again" }).click();
  await verdict.getByText("Copied").waitFor();
  const command = await page.evaluate("navigator.clipboard.readText()");
  assert.equal(command, "chaos-runner run lost.toml many.toml receipt-twice --client client.toml --seed 1");
  const wrong = section("What is wrong");
  await wrong.getByRole("link", { name: "lost", exact: true }).waitFor();
  const said = await rows(wrong);
  assert.equal(said.filter((row) => row.endsWith("proves it")).length, 2, said.join("\n"));
  assert.ok(said.some((row) => row.includes("provider to phone: buzz")), said.join("\n"));
  assert.deepEqual(errors, []);
});

test("an event of a diagram opens its raw request and answer", async () => {
  await section("What is wrong").locator(".proves .hit").last().click();
  await dialog().getByRole("heading", { name: "Request #2" }).waitFor();
  const request = await dialog().getByLabel("Request #2", { exact: true }).textContent();
  assert.match(request, /^POST \/v1\/messages\n/);
  assert.match(request, /x-odd: "><script>alert\(1\)<\/script>/);
  assert.match(await dialog().getByLabel("Answer to #2", { exact: true }).textContent(), /^HTTP\/1\.1 201\n/);
  await sound("an event");
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "hidden" });
});

test("hostile words are words everywhere, and nothing is asked of any network", async () => {
  await section("What is wrong").getByRole("link", { name: "lost", exact: true }).click();
  await section("History").waitFor();
  const place = page.locator("#scenario");
  assert.ok((await place.locator(".lead").textContent()) === TITLE, "the title");
  const words = await place.locator(".facts dd.words").textContent();
  assert.match(words, /^Your login code is \d+$/, "what the business wanted sent");
  await place.getByText("The two events that prove it").click();
  const raw = place.locator(".pair pre").first();
  await raw.waitFor();
  const request = await raw.textContent();
  assert.ok(request.includes("\u202eevil\u202c \u2066abc\u2069 👩‍👩‍👧‍👦 xxx"), request);
  assert.ok(request.includes("<img src=x onerror="), request);
  assert.ok(request.length > 1600);
  const said = await rows(place);
  assert.ok(said.some((row) => row.includes("key <i>k1-")), said.join("\n"));
  const source = section("The scenario").locator("pre");
  assert.ok((await source.textContent()).includes("<script>document.title"));
  assert.equal(await page.locator("main script, main img, main b, main i:not(.swatch), dialog script, dialog img").count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
  assert.match(await page.title(), /<b>client<\/b>/);
  await page.setViewportSize({ width: 390, height: 800 });
  await sound("hostile words on a phone");
  assert.deepEqual(asked.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
  assert.deepEqual(errors, []);
});

test("a script that is not the page's own does not run", async () => {
  const ran = await page.evaluate(`{
    const script = document.createElement("script");
    script.textContent = "globalThis.foreign = true";
    document.body.append(script);
    globalThis.foreign === true;
  }`);
  assert.equal(ran, false);
});

test("scenarios are narrowed by words, verdict, kind and tag", async () => {
  await scenario("baseline").waitFor();
  const all = await scenario("").count();
  assert.equal(all, 4);
  await page.keyboard.press("/");
  await page.keyboard.type("thirty messages");
  await scenario("lost").waitFor({ state: "detached" });
  assert.equal(await scenario("").count(), 1);
  await page.getByLabel("Search scenarios").fill("");
  await page.getByRole("combobox", { name: "Tag" }).selectOption("ambiguous");
  await scenario("many").waitFor({ state: "detached" });
  await page.getByRole("combobox", { name: "Tag" }).selectOption("");
  await page.getByRole("combobox", { name: "Verdict" }).selectOption("skipped");
  await scenario("receipt-twice").waitFor();
  assert.equal(await scenario("").count(), 1);
  await page.getByRole("combobox", { name: "Verdict" }).selectOption("");
  await page.getByRole("combobox", { name: "Kind" }).selectOption("key-per-attempt");
  await scenario("receipt-twice").waitFor({ state: "detached" });
  await section("Verdict").getByRole("button", { name: /skipped/ }).click();
  await scenario("receipt-twice").waitFor();
});

test("a message is found among many, on the timeline and in the list, and opened", async () => {
  await scenario("many").click();
  const list = page.getByRole("listbox", { name: "Intents" });
  await list.getByRole("option").first().waitFor();
  await page.getByLabel("Search intents").fill("9");
  await list.getByRole("option", { name: "intent 9 ", exact: false }).first().click();
  await page.getByRole("heading", { name: /^Intent 9/ }).waitFor();
  assert.match(page.url(), /#\/s\/\d+\/i\/9$/);
  const opened = page.locator(".opened");
  await opened.getByText("2 times").waitFor();
  assert.equal((await rows(opened)).filter((row) => row.includes("to phone: buzz")).length, 2);
  await page.reload();
  await page.getByRole("heading", { name: /^Intent 9/ }).waitFor();
  const picture = page.locator(".timeline canvas");
  await picture.scrollIntoViewIfNeeded();
  const { height } = await picture.boundingBox();
  await picture.click({ position: { x: 200, y: height - 4 } });
  await page.getByRole("heading", { name: /^Intent 30/ }).waitFor();
  assert.deepEqual(errors, []);
});

test("waits are plotted against what the client promises, with what it was asked for", async () => {
  await scenario("many").click();
  const plot = section("Waits before retries").getByRole("img");
  await plot.waitFor();
  const said = await plot.getAttribute("aria-label");
  assert.match(said, /^3 waits before retries; 1 of the client's own, .*1 after a Retry-After, 0 of them shorter/);
  assert.match(await plot.locator(".envelope").getAttribute("d"), /^M[\d.]+ [\d.]+V/);
  assert.match(await plot.locator(".asked-bar").getAttribute("d"), /^M[\d.]+ [\d.]+h12$/);
});

test("the history is searched, and a place in the scenario's file is one click away", async () => {
  await scenario("many").click();
  await page.getByLabel("Search the history").fill("intent:7 event:attempt");
  await section("History").getByText(/^2 of \d+ events$/).waitFor();
  const events = page.getByRole("listbox", { name: "Events" }).getByRole("option");
  assert.equal(await events.count(), 2);
  await events.first().click();
  await dialog().getByText("retry-after: 1").waitFor();
  await dialog().getByRole("button", { name: "Close" }).click();
  const link = page.getByRole("link", { name: /^many\.toml:\d+$/ }).first();
  const line = (await link.textContent()).split(":")[1];
  await link.click();
  const marked = page.locator(".source .marked");
  await marked.waitFor();
  assert.equal(await marked.getAttribute("data-line"), line);
  assert.equal(await marked.textContent(), "[[fault]]\n");
});

test("it works by the keyboard alone", async () => {
  await page.getByRole("listbox", { name: "Scenarios" }).focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.locator("#scenario-title").waitFor();
  const row = page.locator("#scenario .hit").first();
  await row.focus();
  await page.keyboard.press("Enter");
  await dialog().waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "hidden" });
  await page.keyboard.press("/");
  await page.keyboard.type("buzzes");
  await section("History").getByText(/^\d of \d+ events$/).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await section("Verdict").waitFor();
});

test("it can be read on a phone, in the dark and on paper", async () => {
  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      const shot = async (what) => {
        await sound(`${what} ${scheme} ${width}`);
        await page.screenshot({ path: `${out}/report-${what}-${scheme}-${width}.png`, fullPage: true });
      };
      await page.evaluate("location.hash = '#/'");
      await section("Verdict").waitFor();
      await page.locator("#overview .sequence").first().waitFor();
      await shot("first");
      await scenario("lost").click();
      await page.locator(".source").waitFor();
      await page.locator("#scenario .sequence").first().waitFor();
      await shot("one");
      await page.goBack();
      await scenario("many").click();
      await page.locator(".source").waitFor();
      await page.getByRole("listbox", { name: "Intents" }).getByRole("option").nth(8).click();
      await page.locator(".opened .sequence").waitFor();
      await shot("many");
      await page.goBack();
    }
  }
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.evaluate("location.hash = '#/'");
  await section("Verdict").waitFor();
  const paper = await page.pdf({ path: `${out}/report.pdf`, format: "A4" });
  assert.ok(paper.length > 10_000);
  assert.equal(await page.locator("button:visible").count(), 0, "paper has no buttons");
});

test("the diagram beside the history is the same as the page's", async () => {
  const said = await rows(section("What is wrong"));
  const shown = await section("What is wrong").locator(".sequence .over").allTextContents();
  await page.goto(pathToFileURL(join(run, "lost/key-per-attempt.svg")).href);
  const drawn = await page.evaluate("[...document.querySelectorAll('.over')].map((one) => one.textContent)");
  assert.equal(drawn.length, said.length);
  assert.deepEqual(drawn.map((text) => text.replace("…", "")).filter((text, nth) => !shown[nth].startsWith(text.slice(0, 20))), []);
  assert.equal(await page.evaluate("document.querySelectorAll('.mark').length"), 3, "two proofs and the legend");
  await page.screenshot({ path: `${out}/report-diagram.png` });
  assert.deepEqual(errors, []);
});
