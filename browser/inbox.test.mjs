// The inbox in a real browser: what people see and click.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, beforeEach, test } from "node:test";
import { browser, out, provider, send } from "./page.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TO = "+12025550142";
const OTHER = "+447700900123";
let chromium, stub, context, page, errors;

before(async () => {
  mkdirSync(out, { recursive: true });
  [chromium, stub] = await Promise.all([browser(), provider()]);
});

after(async () => {
  await chromium?.close();
  await stub?.stop();
});

beforeEach(async () => {
  await context?.close();
  await fetch(`${stub.url}/admin/reset`, { method: "POST" });
  context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
  page = await context.newPage();
  errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
  await page.goto(stub.url);
});

const phone = (number) => page.getByRole("option").filter({ hasText: number });
const bubble = (words) => page.locator(".bubble").filter({ hasText: words });

/** No violation of the accessibility rules, apart from those that a page of this kind cannot have. */
async function accessible() {
  // As an extension would: the page's own policy lets no foreign script in.
  const found = await page.evaluate(`${axe}; axe.run()`);
  assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`), []);
}

test("an empty inbox says how to send the first message, and it comes by itself", async () => {
  const command = page.locator("pre");
  await command.waitFor();
  assert.match(await command.textContent(), /curl -i 'http:\/\/127\.0\.0\.1:\d+\/v1\/messages'/);
  await accessible();
  await page.screenshot({ path: `${out}/inbox-empty.png` });
  await send(stub.url, TO, "Your code is 471142", "otp-1");
  await phone(TO).click();
  await bubble("Your code is").waitFor();
  assert.equal(await page.locator(".code").textContent(), "471142");
  assert.deepEqual(errors, []);
});

test("a code is copied with one click", async () => {
  await send(stub.url, TO, "Your code is 471142", "otp-1");
  await phone(TO).click();
  await page.getByRole("button", { name: "Copy 471142" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), "471142");
});

test("hostile words are words everywhere", async () => {
  const words = [
    `<script>document.title = "owned"</script><img src=x onerror="document.title='owned'">`,
    "\u202eevil\u202c \u2066abc\u2069",
    "x".repeat(1600),
    "👩‍👩‍👧‍👦 ok 🙂",
  ];
  for (const [nth, text] of words.entries()) {
    await send(stub.url, TO, text, `<b>k${nth}</b>`, { "x-stub-tag": "<i>tag</i>", "user-agent": "<script>alert(1)</script>" });
  }
  await phone(TO).click();
  await bubble(words.at(-1)).waitFor();
  const shown = await page.locator(".bubble .text").evaluateAll((all) => all.map((one) => one.textContent));
  for (const text of words) {
    assert.ok(shown.includes(text), text.slice(0, 40));
  }
  await bubble("onerror").getByRole("button", { name: "Details" }).click();
  await page.locator(".attempt summary").click();
  assert.match(await page.locator(".attempt pre").textContent(), /user-agent: <script>alert\(1\)<\/script>/);
  assert.equal(await page.locator("#message script, #message b, .bubble script, .bubble img, .bubble i").count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
  const wider = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
  assert.equal(wider, false);
  assert.deepEqual(errors, []);
});

test("a phone that buzzes twice under one key cannot be missed", async () => {
  await send(stub.url, OTHER, "Hello", "k0");
  await fetch(`${stub.url}/admin/clock`);
  await send(stub.url, TO, "Your code is 471142", "otp-1");
  // The provider has forgotten the key by then.
  await fetch(`${stub.url}/admin/clock`, { method: "POST", body: JSON.stringify({ advance: "48h" }) });
  await send(stub.url, TO, "Your code is 471142", "otp-1");
  await page.getByRole("alert").filter({ hasText: "1 key was delivered more than once" }).waitFor();
  await phone(TO).getByText("buzzed 2×").waitFor();
  await phone(TO).click();
  await page.locator(".bubble.double").nth(1).waitFor();
  assert.equal(await page.locator(".bubble").count(), 2);
  await accessible();
  await page.screenshot({ path: `${out}/inbox-double.png` });
});

test("the next attempt is accepted and then hangs, in two clicks, and it is in sight until then", async () => {
  await page.getByRole("button", { name: "Faults" }).click();
  await accessible();
  await page.screenshot({ path: `${out}/inbox-faults.png` });
  await page.getByRole("button", { name: "Accept, then hang" }).click();
  await page.getByText("1 fault in force").waitFor();
  await page.getByText("the next: accept, then hang").waitFor();
  const abort = new AbortController();
  const hanging = send(stub.url, TO, "first", "k1").catch(() => "hung");
  await phone(TO).click();
  await bubble("first").waitFor();
  await page.getByText("1 fault in force").waitFor({ state: "hidden" });
  abort.abort();
  const again = await send(stub.url, TO, "first", "k1");
  assert.equal(again.status, 201);
  await page.getByRole("button", { name: "Details" }).click();
  await page.getByText("2 attempts").waitFor();
  await accessible();
  await page.screenshot({ path: `${out}/inbox-message.png` });
  assert.equal(await page.locator(".bubble").count(), 1);
  void hanging;
});

test("a phone that replies STOP gets nothing any more", async () => {
  await send(stub.url, TO, "News", "k1");
  await phone(TO).click();
  await page.getByRole("button", { name: "STOP" }).click();
  await page.getByText("opted out").waitFor();
  const refused = await send(stub.url, TO, "More news", "k2");
  assert.equal(refused.body.code, 21610);
});

test("a search finds words, keys and tags", async () => {
  await send(stub.url, TO, "apples", "k-a", { "x-stub-tag": "run-17" });
  await send(stub.url, OTHER, "pears", "k-b", { "x-stub-tag": "run-18" });
  await phone(OTHER).waitFor();
  for (const [query, number] of [["PEARS", OTHER], ["key:k-a", TO], ["tag:run-18", OTHER], ["to:+1202", TO]]) {
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.press("Control+a");
    await page.keyboard.type(query);
    await page.locator(".phone").nth(1).waitFor({ state: "detached" });
    await phone(number).waitFor();
  }
});

test("what is found is exported, and everything is cleared", async () => {
  await send(stub.url, TO, "apples", "k-a");
  await phone(TO).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const saved = JSON.parse(readFileSync(await (await download).path(), "utf8"));
  assert.equal(saved[0].idempotency_key, "k-a");
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await accessible();
  await page.getByRole("button", { name: "Clear everything" }).click();
  await page.getByText("No message yet").waitFor();
});

test("it works by the keyboard alone", async () => {
  await send(stub.url, TO, "one", "k1");
  await send(stub.url, OTHER, "two", "k2");
  await phone(TO).waitFor();
  await page.keyboard.press("j");
  await bubble("two").waitFor();
  await page.keyboard.press("j");
  await bubble("one").waitFor();
  await page.keyboard.press("k");
  await bubble("two").waitFor();
  await page.getByRole("button", { name: "Details" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("1 attempt").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("1 attempt").waitFor({ state: "hidden" });
  await page.keyboard.press("f");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
});

test("it can be read on a phone and in the dark", async () => {
  await send(stub.url, OTHER, "Your parcel has arrived.", "p-1");
  await send(stub.url, TO, "Your code is 471142. Do not share it with anybody.", "otp-1");
  await send(stub.url, TO, "Ваш код 1234", "otp-2", { "x-stub-tag": "run-17" });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [width, height] of [[1280, 800], [390, 800]]) {
      await page.setViewportSize({ width, height });
      await page.goto(stub.url);
      await phone(TO).waitFor();
      await accessible();
      await page.screenshot({ path: `${out}/inbox-phones-${scheme}-${width}.png` });
      await phone(TO).click();
      await bubble("471142").waitFor();
      await accessible();
      await page.screenshot({ path: `${out}/inbox-thread-${scheme}-${width}.png` });
      await bubble("471142").getByRole("button", { name: "Details" }).click();
      await page.getByText("1 attempt").waitFor();
      await accessible();
      await page.screenshot({ path: `${out}/inbox-detail-${scheme}-${width}.png` });
      const wider = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      assert.equal(wider, false, `${scheme} ${width}`);
    }
  }
});

test("another site's page can neither read nor change anything", async () => {
  const other = await provider();
  try {
    const foreign = await context.newPage();
    await foreign.goto(other.url);
    const read = await foreign.evaluate(`fetch("${stub.url}/admin/messages").then(() => "read", () => "kept out")`);
    assert.equal(read, "kept out");
    await send(stub.url, TO, "stays", "k1");
    await foreign.evaluate(`fetch("${stub.url}/admin/reset", { method: "POST", mode: "no-cors" }).catch(() => {})`);
    const left = await (await fetch(`${stub.url}/admin/messages`)).json();
    assert.equal(left.length, 1);
  } finally {
    await other.stop();
  }
});
