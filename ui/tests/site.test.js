// The pages in a browser: opened, filtered, reloaded, compared, saved, read by axe; and a report of one file from disk.
//
// `node --test tests/` in ui/, after `npm ci`. PACELINE is the binary, CHROMIUM the browser; scripts/test sets both.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");
const paceline = process.env.PACELINE ?? join(root, "target/debug/paceline");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "paceline-site-"));
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

let server, browser, url, rounds;

before(async () => {
  server = spawn(paceline, ["view", join(root, "history"), "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout });
  url = (await new Promise((found, failed) => {
    lines.once("line", found);
    server.once("exit", (status) => failed(new Error(`paceline view ended with ${status}`)));
  })).trim();
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  rounds = (await (await fetch(`${url}api/index`)).json()).rounds;
});

after(async () => {
  await browser?.close();
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** A page on which every error is collected; a test fails when there is one. */
async function open(address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.problems = [];
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("request", (request) => {
    const own = request.url().startsWith(url) || /^(file|blob|data):/.test(request.url());
    if (!own) page.problems.push(`asked another host: ${request.url()}`);
  });
  await page.goto(address);
  return page;
}

async function done(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

const roundOf = (plan) => rounds.find((round) => round.plan === plan).id;
const rowsOf = (page) => page.locator("button[data-row]");

test("a round opens, filters, switches metric, and its address opens the same view", async () => {
  const page = await open(url);
  await page.getByRole("link", { name: "frameworks", exact: true }).click();
  await rowsOf(page).first().waitFor();
  const all = await rowsOf(page).count();
  await page.getByRole("button", { name: /^Java \d/ }).click();
  await page.waitForFunction((count) => document.querySelectorAll("button[data-row]").length < count, all);
  const filtered = await rowsOf(page).count();
  await page.getByRole("combobox", { name: "metric" }).selectOption("server_cpu_us_per_request");
  await page.waitForFunction(() => location.hash.includes("metric=server_cpu_us_per_request") && location.hash.includes("language=Java"));
  const names = await rowsOf(page).allInnerTexts();
  const again = await open(page.url());
  await rowsOf(again).first().waitFor();
  assert.deepEqual(await rowsOf(again).allInnerTexts(), names);
  await page.goBack();
  await page.goBack();
  await page.waitForFunction((count) => document.querySelectorAll("button[data-row]").length === count, all);
  assert.ok(filtered < all);
  await done(again);
  await done(page);
});

test("the keyboard searches, moves between rows, opens one and its run", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("type")), "search");
  await rowsOf(page).first().focus();
  await page.keyboard.press("ArrowDown");
  const second = await rowsOf(page).nth(1).getAttribute("data-row");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.row), second);
  await page.keyboard.press("Enter");
  await page.getByText("Command that repeats it").waitFor();
  await page.getByRole("link", { name: "Everything about this run" }).click();
  await page.getByRole("heading", { name: "How requests ended" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "record (JSON)" }).click()]);
  const record = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.equal(record.server.id, second);
  await done(page);
});

test("a chart is saved as a picture and as a file of its own", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  for (const [name, begins] of [["Save SVG", "<svg"], ["Save PNG", "\x89PNG"]]) {
    await page.locator("summary", { hasText: "Copy or save" }).first().click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    assert.ok(readFileSync(await download.path(), "latin1").startsWith(begins), name);
    await page.keyboard.press("Escape");
  }
  await done(page);
});

test("two servers are compared", async () => {
  const id = roundOf("frameworks");
  const page = await open(`${url}#/compare?a=${id}&b=${id}&server_a=java-netty&server_b=java-vertx`);
  await page.getByText(/matched rows/).waitFor();
  assert.ok((await page.getByRole("row").count()) > 3);
  await done(page);
});

test("then and now stand beside each other", async () => {
  const page = await open(`${url}#/round/${roundOf("sold-on-go")}/then`);
  await page.getByRole("heading", { name: /Then and now/ }).waitFor();
  await page.getByText("Tornado", { exact: true }).first().waitFor();
  await done(page);
});

test("an address that leads nowhere says so", async () => {
  const page = await open(`${url}#/round/no-such-round`);
  await page.getByRole("alert").filter({ hasText: "no-such-round" }).waitFor();
  await page.close();
});

test("nothing scrolls sideways on a phone, and axe finds nothing serious", async () => {
  const id = roundOf("frameworks");
  const places = ["/", `/round/${id}`, `/round/${id}/times`, `/round/${id}/time`, `/round/${roundOf("sold-on-go")}/then`, `/compare?a=${id}&b=${id}&server_a=java-netty&server_b=java-vertx`, "/live"];
  const trial = (await (await fetch(`${url}api/rounds/${id}`)).json()).tables[0].rows[0].trials[0].id;
  places.push(`/round/${id}/run/${trial}`);
  for (const colorScheme of ["light", "dark"]) {
    for (const place of places) {
      const page = await open(`${url}#${place}`, { colorScheme, bypassCSP: true, viewport: { width: 390, height: 844 } });
      await page.waitForLoadState("networkidle");
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${place} is ${width} wide`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const serious = found.violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
      const told = serious.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
      assert.deepEqual(told, [], `${place}, ${colorScheme}`);
      await page.close();
    }
  }
});

test("a report of one file opens from disk with its charts and asks no host", async () => {
  const file = join(folder, "round.html");
  const made = spawnSync(paceline, ["report", "--from", join(root, "history/frameworks-2026-11-22"), "-o", file]);
  assert.equal(made.status, 0, String(made.stderr));
  assert.ok(statSync(file).size <= 2_000_000, `${statSync(file).size} bytes`);
  const page = await open(pathToFileURL(file).href);
  await rowsOf(page).first().waitFor();
  await rowsOf(page).first().click();
  await page.getByText("Command that repeats it").waitFor();
  await page.goto(`${pathToFileURL(file).href}#/round/${roundOf("frameworks")}/times`);
  await page.locator("svg.plot").first().waitFor();
  await done(page);
});
