// The page of an exploration in a real Chromium: of the naive client, through all scripts of up to two
// of four faults.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser, out } from "./page.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const root = fileURLToPath(new URL("..", import.meta.url));
const runner = process.env.CHAOS_RUNNER ?? join(root, "target/debug/chaos-runner");
const FAULTS = "hang-after,reset-before,unavailable,error-after";

let directory, chromium, file;

before(async () => {
  mkdirSync(out, { recursive: true });
  directory = mkdtempSync(join(tmpdir(), "exploration-"));
  const words = ["explore", "--client", join(root, "clients/naive/client.toml"), "--depth", "2", "--faults", FAULTS, "--report", directory];
  const code = await new Promise((done) => {
    execFile(runner, words, (error, stdout, stderr) => {
      if (![0, 1].includes(error?.code ?? 0)) console.error(stdout, stderr);
      done(error?.code ?? 0);
    });
  });
  assert.equal(code, 1, "the client is caught");
  file = pathToFileURL(join(realpathSync(join(directory, "latest")), "report.html")).href;
  chromium = await browser();
});

after(async () => {
  await chromium?.close();
  if (directory) rmSync(directory, { recursive: true });
});

async function opened(options) {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  // A busy machine is no failure.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (line) => line.type() === "error" && wrong.push(line.text()));
  page.on("request", (request) => request.url() !== file && wrong.push(request.url()));
  await page.goto(file);
  return { context, page, wrong };
}

test("it says what is wrong by which smallest script, and how to see it again", async () => {
  const { context, page, wrong } = await opened();
  const verdict = page.getByRole("region", { name: "Verdict" });
  await verdict.getByRole("heading", { name: /kinds? of defect, (each )?with its smallest script/ }).waitFor();
  const kinds = page.getByRole("region", { name: "What is wrong" });
  await kinds.getByText("no-key", { exact: true }).first().waitFor();
  await kinds.getByText("Smallest script").first().waitFor();
  assert.match(await kinds.locator("pre").first().textContent(), /^chaos-runner replay \S+\.toml --client \S+ --seed 1$/);
  const table = page.getByRole("table", { name: "Scripts by length" });
  assert.equal(await table.getByRole("row").count(), 3);
  assert.deepEqual(wrong, []);
  await context.close();
});

test("each script has its square, which the pointer and the keys name", async () => {
  const { context, page, wrong } = await opened();
  const pictures = page.getByRole("img", { name: /^Scripts of \d faults?:/ });
  assert.equal(await pictures.count(), 2);
  const said = page.locator(".level .told");
  const picture = pictures.nth(1);
  await picture.scrollIntoViewIfNeeded();
  // The second line and the third column of blocks of 18 pixels.
  await picture.hover({ position: { x: 2 * 18 + 6, y: 18 + 6 } });
  const pointed = await said.nth(1).textContent();
  assert.match(pointed, /^[\w-]+, [\w-]+: (passed|covered|lost|[\w-]+)/);
  await picture.focus();
  await page.keyboard.press("ArrowRight");
  const next = await said.nth(1).textContent();
  assert.notEqual(next, pointed);
  assert.equal(next.split(", ")[0], pointed.split(", ")[0], "the first fault is the same");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await said.nth(1).textContent(), pointed);
  await page.keyboard.press("ArrowUp");
  const above = await said.nth(1).textContent();
  assert.notEqual(above.split(", ")[0], pointed.split(", ")[0]);
  assert.equal(above.split(/[,:] /)[1], pointed.split(/[,:] /)[1], "the last fault is the same");
  assert.deepEqual(wrong, []);
  await context.close();
});

test("a square that failed opens its kind", async () => {
  const { context, page } = await opened();
  const picture = page.getByRole("img", { name: /^Scripts of 1 fault:/ });
  const said = page.locator(".level .told").first();
  await picture.focus();
  // Four squares: go through them until one has failed.
  for (let nth = 0; nth < 4; nth += 1) {
    await picture.hover({ position: { x: nth * 22 + 8, y: 8 } });
    if (/: (no-key|[\w]+-[\w-]+)$/.test(await said.textContent()) && !/passed|covered|lost/.test(await said.textContent())) break;
  }
  const kind = (await said.textContent()).split(": ")[1];
  await page.keyboard.press("Enter");
  const focused = await page.evaluate("document.activeElement.textContent");
  assert.ok(focused.includes(kind), `${focused} is not ${kind}`);
  await context.close();
});

test("it can be read on a phone, in the dark, and by whoever does not see it", async () => {
  for (const [name, width, colorScheme] of [["wide", 1280, "light"], ["phone", 390, "dark"]]) {
    const { context, page } = await opened({ viewport: { width, height: 800 }, colorScheme });
    await page.getByRole("img").first().waitFor();
    const found = await page.evaluate(`${axe}; axe.run()`);
    assert.deepEqual(found.violations.map((v) => `${name}: ${v.id}: ${v.nodes.map((n) => n.target).join(", ")}`), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false, `${name} is too wide`);
    await page.screenshot({ path: join(out, `exploration-${name}.png`), fullPage: true });
    await context.close();
  }
});
