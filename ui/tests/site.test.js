// The pages in a browser: opened, filtered, reloaded, compared, saved, read by axe; and a report of one file from disk.
//
// `node --test tests/` in ui/, after `npm ci`. PACELINE is the binary, CHROMIUM the browser; scripts/test sets both.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import { gunzipSync, gzipSync } from "node:zlib";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const root = resolve(import.meta.dirname, "../..");
const paceline = process.env.PACELINE ?? join(root, "target/debug/paceline");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "paceline-site-"));
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--renderer-process-limit=1",
];

const children = [];
let server, browser, url, rounds;

/** Starts a command that shows pages, and finds the address that it prints. */
async function shown(arguments_) {
  // Where root runs the lab its servers run as another user, to whom the folders of a test are closed.
  const own = process.getuid() === 0 ? { PACELINE_USER: "root" } : {};
  const child = spawn(paceline, arguments_, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...own } });
  children.push(child);
  let said = "";
  const address = new Promise((found, failed) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        said += `${line}\n`;
        const match = /http:\/\/[0-9.:]+\/(\?token=\w+)?/.exec(line);
        if (match && /^(Live view: |\s*)?http|Ctrl-C|[Vv]iew|browser/.test(line)) found(match[0]);
      });
    }
    child.once("exit", (status) => failed(new Error(`${arguments_.join(" ")} ended with ${status}: ${said}`)));
  });
  return { child, url: await address };
}

before(async () => {
  ({ child: server, url } = await shown(["view", join(root, "history"), "--no-open"]));
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  rounds = (await (await fetch(`${url}api/index`)).json()).rounds;
});

after(async () => {
  await browser?.close();
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** A page on which every error is collected; a test fails when there is one. */
async function open(address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  // On a busy machine the pages of all rounds take longer than 30 s, the usual limit.
  page.setDefaultTimeout(90_000);
  page.problems = [];
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("request", (request) => {
    const own = request.url().startsWith(options.host ?? url) || /^(file|blob|data):/.test(request.url());
    if (!own) page.problems.push(`asked another host: ${request.url()}`);
  });
  await page.goto(address);
  return page;
}

async function done(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

// The first round of a plan in history/: later ones may have only some of its servers.
const roundOf = (plan) => rounds.findLast((round) => round.plan === plan).id;
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

test("a saved ranking has the axis and the marks that the page shows, and says when it is logarithmic", async () => {
  for (const scale of ["bars", "dots", "log"]) {
    const page = await open(`${url}#/round/${roundOf("all")}?scale=${scale}`);
    await rowsOf(page).first().waitFor();
    await page.locator("summary", { hasText: "Copy or save" }).first().click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save SVG" }).click()]);
    const picture = readFileSync(await download.path(), "utf8");
    assert.equal(picture.includes("logarithmic axis"), scale === "log", scale);
    const rows = await rowsOf(page).count();
    const marks = (name) => picture.split(`<${name} `).length - 1;
    assert.deepEqual([marks("rect"), marks("circle")].map((count) => count >= rows), [scale === "bars", scale !== "bars"], scale);
    await done(page);
  }
});

test("the best of the rows shown is compared with the others shown, not with the whole table", async () => {
  const { id } = rounds.find((round) => round.plan === "all");
  const page = await open(`${url}#/round/${id}?workload=json&language=Python`);
  await page.getByText(/^Highest of the rows shown: .+(, tied with .+|, .+ % more than .+) \(rank \d+(–\d+)?\)\./).waitFor();
  await done(page);
});

test("two servers are compared", async () => {
  const id = roundOf("frameworks");
  const page = await open(`${url}#/compare?a=${id}&b=${id}&server_a=java-netty&server_b=java-vertx`);
  await page.getByText(/matched rows/).waitFor();
  assert.ok((await page.getByRole("row").count()) > 3);
  await done(page);
});

test("two rounds without a common figure are no comparison, and the page says so", async () => {
  const id = roundOf("frameworks");
  const page = await open(url);
  await page.route(/\/api\/compare\?/, async (route) => {
    const compared = await (await route.fetch()).json();
    const rows = compared.rows.map((row) => ({ ...row, pairs: {} }));
    await route.fulfill({ json: { ...compared, rows, metrics: [], joint: [] } });
  });
  await page.goto(`${url}#/compare?a=${id}&b=${id}`);
  await page.getByText("no figure that both sides have").waitFor();
  await done(page);
});

test("then and now stand beside each other", async () => {
  const page = await open(`${url}#/round/${roundOf("sold-on-go")}/then`);
  await page.getByRole("heading", { name: /Requests per second, hello/ }).waitFor();
  await page.getByText("Tornado", { exact: true }).first().waitFor();
  await done(page);
});

test("equal published figures share a rank", async () => {
  const page = await open(url);
  await page.route(`**/api/rounds/${roundOf("sold-on-go")}`, async (route) => {
    const round = await (await route.fetch()).json();
    for (const { observed } of round.observed) observed.value = 100;
    await route.fulfill({ json: round });
  });
  await page.goto(`${url}#/round/${roundOf("sold-on-go")}/then`);
  const chart = page.getByRole("img", { name: "Order then and now" });
  await chart.waitFor();
  const then = await chart.locator("text").evaluateAll((all) => all.filter((one) => /  \d+$/.test(one.textContent)).map((one) => [one.textContent, one.getBoundingClientRect().top]));
  assert.ok(then.length > 2 && then.every(([text]) => text.endsWith("  1")), JSON.stringify(then));
  assert.equal(new Set(then.map(([, top]) => top)).size, then.length, "no name covers another");
  await done(page);
});

test("all five sources stand beside what was measured since, with both machines", async () => {
  const page = await open(url);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Then and now" }).click();
  for (const source of ["000", "001", "002", "003", "004"]) {
    const section = page.getByRole("region", { name: `Source ${source}` });
    await section.getByText("then", { exact: true }).first().waitFor();
    await section.getByText("now", { exact: true }).first().waitFor();
    assert.ok((await section.getByRole("row").count()) > 1, source);
  }
  await page.getByText("Core 2 Duo P8800").first().waitFor();
  await done(page);
});

test("a comparison in one file opens from disk", async () => {
  const file = join(folder, "compare.html");
  const first = join(root, "history/archive/frameworks-2026-11-22");
  const id = roundOf("frameworks");
  // The same round under another name, with another version of a server: every row has its counterpart.
  const second = join(folder, "again");
  const renamed = (bytes) => Buffer.from(String(bytes).replaceAll(id, `${id}-again`).replaceAll("netty-codec-http-4.2.7", "netty-codec-http-4.2.9"));
  mkdirSync(second);
  writeFileSync(join(second, "round.json"), renamed(readFileSync(join(first, "round.json"))));
  writeFileSync(join(second, "trials.ndjson.gz"), gzipSync(renamed(gunzipSync(readFileSync(join(first, "trials.ndjson.gz"))))));
  const made = spawnSync(paceline, ["report", first, second, "-o", file]);
  assert.equal(made.status, 0, String(made.stderr));
  assert.ok(statSync(file).size <= 500_000, `${statSync(file).size} bytes`);
  const page = await open(pathToFileURL(file).href);
  await page.getByText(/Of \d+ matched rows?:/).waitFor();
  await page.getByRole("row", { name: /Netty/ }).first().waitFor();
  await page.getByText("netty-codec-http-4.2.7.Final → 4.2.9.Final").first().waitFor();
  const all = await page.getByRole("row").count();
  await page.getByRole("searchbox").fill("netty");
  await page.waitForFunction((count) => document.querySelectorAll("[role=row]").length < count, all);
  assert.equal(await page.getByRole("row", { name: /Vert.x/ }).count(), 0);
  await done(page);
});

test("rows are filtered by their result, and the address keeps it", async () => {
  const page = await open(`${url}#/round/${roundOf("million")}`);
  await rowsOf(page).first().waitFor();
  await page.getByRole("button", { name: /^without a valid result \d/ }).click();
  await page.waitForFunction(() => document.querySelectorAll("button[data-row]").length === 0 && location.hash.includes("valid=no"));
  await page.getByRole("heading", { name: /Without a valid result/ }).waitFor();
  await done(page);
});

test("a table without rows names every filter that may have emptied it", async () => {
  const page = await open(`${url}#/round/${roundOf("million")}?valid=yes&q=no-such-server`);
  await page.getByText("Remove the filter on result or the search.").waitFor();
  await done(page);
});

test("the views of a round keep its workload, filters and price", async () => {
  const id = roundOf("frameworks");
  const page = await open(`${url}#/round/${id}?workload=json&language=Java&metric=cost_per_million&price=0.08`);
  await rowsOf(page).first().waitFor();
  const views = page.getByRole("navigation", { name: "Views of this round" });
  await views.getByRole("link", { name: "Response times" }).click();
  await page.getByRole("heading", { name: /json/ }).first().waitFor();
  await page.getByText("Only servers that the filters leave: language.").waitFor();
  await views.getByRole("link", { name: "All workloads" }).click();
  await page.getByRole("columnheader", { name: /json/ }).first().getByRole("link").click();
  await rowsOf(page).first().waitFor();
  assert.match(page.url(), /price=0.08/);
  const names = await rowsOf(page).allInnerTexts();
  assert.ok(names.length > 0);
  await views.getByRole("link", { name: "Over time" }).click();
  await page.getByRole("link", { name: "Remove the filters" }).click();
  await page.waitForFunction(() => !location.hash.includes("language="));
  await page.goBack();
  await views.getByRole("link", { name: "Ranking" }).click();
  await rowsOf(page).first().waitFor();
  assert.deepEqual(await rowsOf(page).allInnerTexts(), names);
  await done(page);
});

test("the price that counts is the one in the field", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}?metric=cost_per_million&price=-1`);
  const field = page.getByRole("spinbutton", { name: "price per core-hour" });
  await page.getByText("Server CPU time at 0.04 per core-hour").waitFor();
  assert.equal(await field.inputValue(), "0.04");
  await field.fill("0.08");
  await field.press("Enter");
  await page.getByText("Server CPU time at 0.08 per core-hour").waitFor();
  await field.fill("0");
  await field.press("Enter");
  await page.getByText("Server CPU time at 0.04 per core-hour").waitFor();
  assert.equal(await field.inputValue(), "0.04");
  await done(page);
});

test("a comparison counts the cost at the price of the ranking, and says it", async () => {
  const id = roundOf("frameworks");
  const page = await open(`${url}#/compare?a=${id}&b=${id}&metric=cost_per_million`);
  await page.getByText("server CPU time at 0.04 per core-hour").waitFor();
  const compared = await (await fetch(`${url}api/compare?a=${id}&b=${id}`)).json();
  const cents = compared.rows.flatMap(({ pairs }) => (pairs.cost_per_million ? [(pairs.cost_per_million.a.estimate * 0.04) / 36] : []));
  const shown = await page.locator("[role=row]:not(.head) [role=cell].num:nth-of-type(4)").allInnerTexts();
  assert.ok(shown.length > 0 && shown.some((text) => text.endsWith("cents")), shown.join("; "));
  const inCents = (text) => parseFloat(text) * (text.endsWith("cents") ? 1 : 100);
  for (const text of shown) assert.ok(cents.some((one) => Math.abs(inCents(text) / one - 1) < 0.05), `${text}: ${cents.join(" ")}`);
  await done(page);
});

test("headings that sort have room for a finger", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`, { viewport: { width: 390, height: 844 } });
  await page.locator("button.sort").first().waitFor();
  const sizes = await page.locator("button.sort").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ width, height }) => [width, height]));
  assert.ok(sizes.every(([width, height]) => width >= 44 && height >= 44), JSON.stringify(sizes));
  await done(page);
});

test("the filters can be opened on a phone that is turned", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`, { viewport: { width: 390, height: 844 } });
  await rowsOf(page).first().waitFor();
  assert.equal(await page.getByRole("searchbox").isVisible(), false);
  await page.setViewportSize({ width: 844, height: 390 });
  await page.locator("summary", { hasText: "Filter" }).click();
  await page.getByRole("searchbox").waitFor();
  await done(page);
});

/** Whether a cell shows a figure of the JSON report, to two digits at least; in place of a wide interval its ends. */
function isShown(cell, { mean, median, min, max }) {
  const [low, high] = cell.replace(/±.*/, "").match(/\d[\d,.]*/g).map((text) => Number(text.replaceAll(",", "")));
  const near = (shown, exact) => Math.abs(shown - exact) <= 0.05 * exact;
  return high === undefined ? near(low, mean ?? median) : near(low, min) && near(high, max);
}

test("direct beside balanced stands above the ranking, in a report of one file too", async () => {
  const from = join(root, "history/archive/tetration-2026-11-21");
  const json = spawnSync(paceline, ["report", "--from", from, "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 28 });
  assert.equal(json.status, 0, json.stderr);
  const pairings = JSON.parse(json.stdout).pairings.filter((one) => one.workload === "home" && one.form === "single" && one.loop_kind === "closed");
  assert.ok(pairings.length > 0);
  const file = join(folder, "balanced.html");
  const made = spawnSync(paceline, ["report", "--from", from, "-o", file], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  for (const start of [url, pathToFileURL(file).href]) {
    for (const { load, rows } of pairings) {
      const page = await open(`${start}#/round/${roundOf("tetration")}?workload=home&load=${load}`);
      await rowsOf(page).first().waitFor();
      const name = `home: direct and balanced, ${load} (single)`;
      const table = page.getByRole("region", { name, exact: true });
      const cells = await table.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      assert.equal(cells.length, rows.length, name);
      for (const [at, [server, direct, balanced, ratio]] of cells.entries()) {
        const row = rows[at];
        for (const [cell, figure] of [[direct, row.achieved_per_s], [balanced, row.twin_achieved_per_s], [ratio, row.achieved_ratio]]) {
          assert.ok(isShown(cell, figure), `${name}, ${server}: ${cell} is not ${JSON.stringify(figure)}`);
        }
      }
      assert.ok(await table.evaluate((one) => one.compareDocumentPosition(document.querySelector("button[data-row]")) & Node.DOCUMENT_POSITION_FOLLOWING), `${name} is below the ranking`);
      // The filters act on this table too, and other loads have their own.
      await page.getByRole("button", { name: /^Go \d/ }).click();
      await page.waitForFunction(() => document.querySelectorAll("[role=region][aria-label*='direct and balanced'] tbody tr").length === 1);
      await done(page);
    }
  }
});

test("an address that leads nowhere says so", async () => {
  const page = await open(`${url}#/round/no-such-round`);
  await page.getByRole("alert").filter({ hasText: "no-such-round" }).waitFor();
  await page.close();
  const malformed = await open(`${url}#/round/%E0%A4%A`);
  await malformed.getByRole("link", { name: "Go to the list of rounds." }).click();
  await malformed.getByRole("heading", { name: "Results" }).waitFor();
  await done(malformed);
});

test("nothing scrolls sideways on a phone, and axe finds nothing serious", async () => {
  const id = roundOf("frameworks");
  const places = ["/", "/then", "/server/java-netty", `/round/${id}`, `/round/${id}/all`, `/round/${roundOf("rabbit-hole")}/load`, `/round/${roundOf("source-004")}`, `/round/${roundOf("tetration")}?workload=home`, `/round/${id}/times`, `/round/${id}/time`, `/round/${roundOf("databases")}/start`, `/round/${roundOf("sold-on-go")}/then`, `/compare?a=${id}&b=${id}&server_a=java-netty&server_b=java-vertx`, "/live"];
  const trial = (await (await fetch(`${url}api/rounds/${id}`)).json()).tables[0].rows[0].trials[0].id;
  places.push(`/round/${id}/run/${trial}`);
  for (const place of places) {
    const page = await open(`${url}#${place}`, { colorScheme: "light", reducedMotion: "reduce", bypassCSP: true, viewport: { width: 390, height: 844 } });
    await page.waitForLoadState("networkidle");
    await page.evaluate(axe);
    // Dark pages differ only in their colours.
    for (const [colorScheme, rules] of [["light", {}], ["dark", { runOnly: ["color-contrast"] }]]) {
      await page.emulateMedia({ colorScheme });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `${place} is ${width} wide`);
      const found = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ["violations"], ...rules }), rules);
      const serious = found.violations.filter((violation) => ["serious", "critical"].includes(violation.impact));
      const broken = serious.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
      assert.deepEqual(broken, [], `${place}, ${colorScheme}`);
    }
    await page.close();
  }
});

/** Numbers from 0 to 1 that a seed decides, so that a walk that failed can be repeated. */
function random(seed) {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
}

/** What a visitor sees of the choices and of what they lead to. */
const view = (page) =>
  page.evaluate(() => {
    const all = (what, of) => [...document.querySelectorAll(`main ${what}`)].map(of);
    return JSON.stringify([
      all("select", (one) => one.value),
      all("input", (one) => (one.type === "checkbox" ? one.checked : one.value)),
      all("[aria-pressed]", (one) => `${one.textContent} ${one.ariaPressed}`),
      all("[aria-sort]", (one) => one.ariaSort),
      all("button[data-row]", (one) => `${one.dataset.row} ${one.ariaExpanded}`),
      document.querySelector("main").innerText,
    ]);
  });

/** Waits until two pages show the same. */
async function alike(one, other, what) {
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await view(one)) === (await view(other))) return;
    await new Promise((later) => setTimeout(later, 100));
  }
  assert.equal(await view(other), await view(one), what);
}

const CONTROLS = "main :is(select, input, button[aria-pressed], button.sort, button[data-row]):enabled";

/** Changes one of the visible controls, which two numbers from 0 to 1 choose; runs in the page. */
function change([controls, which, value]) {
  const all = [...document.querySelectorAll(controls)].filter((one) => one.checkVisibility({ visibilityProperty: true }));
  const one = all[Math.floor(which * all.length)];
  if (!one) return "no control";
  if (one.localName === "button" || one.type === "checkbox") {
    one.click();
  } else {
    const options = [...(one.options ?? [])].filter((option) => !option.disabled);
    const number = String(1 + Math.floor(value * 50));
    if (one.localName === "select" && options.length === 0) throw new Error(`no option in ${one.outerHTML}`);
    one.value = one.localName === "select" ? options[Math.floor(value * options.length)].value : one.type === "search" ? "a" : number;
    one.dispatchEvent(new Event("input", { bubbles: true }));
    one.dispatchEvent(new Event("change", { bubbles: true }));
  }
  return `${one.localName} ${one.textContent.slice(0, 40)}`;
}

test("whatever is chosen, the address opens the same view", async () => {
  const frameworks = roundOf("frameworks");
  const places = [
    `/round/${frameworks}`, `/round/${frameworks}/all`, `/round/${frameworks}/times`, `/round/${frameworks}/time`, `/round/${roundOf("rabbit-hole")}/load`,
    `/round/${roundOf("databases")}/start`, `/round/${roundOf("sold-on-go")}/then`, `/compare?a=${roundOf("all")}&b=${frameworks}`,
  ];
  for (const [place, seed] of places.map((place, at) => [place, at + 1])) {
    const next = random(seed);
    const page = await open(`${url}#${place}`);
    await page.locator("main h2").first().waitFor();
    const steps = [];
    for (let step = 0; step < 6; step += 1) {
      await page.locator(CONTROLS).filter({ visible: true }).first().waitFor();
      // Choosing and changing a control is one step of the page: what is loaded meanwhile may replace the controls.
      steps.push(await page.evaluate(change, [CONTROLS, next(), next()]));
    }
    assert.ok(steps.some((step) => step !== "no control"), `${place}: nothing was changed`);
    const again = await open(page.url());
    await alike(page, again, `${place}: ${steps.join("; ")}`);
    await done(again);
    await done(page);
  }
});

test("the Tab key reaches every control, and each shows that it has the focus", async () => {
  const id = roundOf("frameworks");
  const trial = (await (await fetch(`${url}api/rounds/${id}`)).json()).tables[0].rows[0].trials[0].id;
  for (const place of ["/", "/then", `/round/${id}`, `/round/${id}/times`, `/compare?a=${id}&b=${id}&server_a=java-netty&server_b=java-vertx`, `/round/${id}/run/${trial}`]) {
    const page = await open(`${url}#${place}`);
    await page.waitForLoadState("networkidle");
    const controls = () => page.evaluate(() => {
      const all = [...document.querySelectorAll(":is(a[href], button, select, input, summary, [tabindex='0'])")];
      return all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.dataset.reached).map((one) => one.outerHTML.slice(0, 120));
    });
    const count = (await controls()).length;
    await page.evaluate(() => {
      globalThis.unseen = [];
      document.addEventListener("focusin", ({ target }) => {
        target.dataset.reached = "yes";
        if (getComputedStyle(target).outlineStyle === "none") globalThis.unseen.push(target.outerHTML.slice(0, 120));
      });
    });
    for (let press = 0; press < count + 10; press += 1) await page.keyboard.press("Tab");
    assert.deepEqual(await page.evaluate(() => globalThis.unseen), [], `${place}: no outline`);
    assert.deepEqual(await controls(), [], place);
    await done(page);
  }
});

test("nothing moves for visitors who ask for less motion, and nothing long for others", async () => {
  for (const [reducedMotion, most] of [["reduce", 0], ["no-preference", 0.15]]) {
    const page = await open(`${url}#/round/${roundOf("frameworks")}`, { reducedMotion });
    await rowsOf(page).first().waitFor();
    const longest = await page.evaluate(() => {
      const seconds = (text) => Math.max(...text.split(",").map((one) => parseFloat(one) * (one.trim().endsWith("ms") ? 1e-3 : 1)));
      const all = [...document.querySelectorAll("*")].map((one) => getComputedStyle(one));
      return Math.max(...all.map((style) => Math.max(seconds(style.transitionDuration), seconds(style.animationDuration))));
    });
    assert.ok(longest <= most, `${reducedMotion}: ${longest} s`);
    await done(page);
  }
});

test("a report of one file opens from disk with its charts and asks no host", async () => {
  const file = join(folder, "round.html");
  const made = spawnSync(paceline, ["report", "--from", join(root, "history/archive/frameworks-2026-11-22"), "-o", file]);
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

test("all workloads stand beside each other, and a heading leads to its ranking", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}/all`);
  await page.getByRole("heading", { name: /all workloads/ }).waitFor();
  // A server, its overall score, and fourteen tables.
  await page.getByRole("columnheader", { name: /^overall/ }).waitFor();
  assert.equal(await page.locator("thead th").count(), 16);
  await page.getByRole("link", { name: "plaintext" }).first().click();
  await rowsOf(page).first().waitFor();
  assert.match(page.url(), /workload=plaintext/);
  await done(page);
});

test("an objective in the address decides what the capacity is", async () => {
  const page = await open(url);
  // At the higher rate, of the second and third server some requests fail.
  const failed = [0, 0.002, 0.02];
  await page.route(`**/api/rounds/${roundOf("rabbit-hole")}`, async (route) => {
    const round = await (await route.fetch()).json();
    for (const table of round.tables) {
      const slow = table.load.rate_per_s > 1500;
      table.rows = table.rows.sort((a, b) => a.server.localeCompare(b.server)).slice(0, failed.length);
      for (const [at, row] of table.rows.entries()) {
        const figure = (estimate, low, high) => ({ estimate, low, high, launches: 2 });
        row.standing = "ranked";
        row.values.time_ns_p99 = slow ? figure(25e6, 15e6, 35e6) : figure(5e6, 4e6, 6e6);
        row.values.not_ok_share = figure(slow ? failed[at] : 0, 0, slow ? failed[at] : 0);
      }
    }
    await route.fulfill({ json: round });
  });
  await page.goto(`${url}#/round/${roundOf("rabbit-hole")}/load?objective=p99%3A10`);
  await page.getByText("Capacity between 1,500 and 15,000/s for p99 ≤ 10 ms.").nth(2).waitFor();
  const decided = async (ms, goal, texts) => {
    await page.getByRole("spinbutton", { name: "milliseconds" }).fill(String(ms));
    await page.getByRole("spinbutton", { name: "milliseconds" }).press("Enter");
    await page.getByText(`for p99 ≤ ${goal}`).nth(2).waitFor();
    const found = await page.locator("figure p").filter({ hasText: "Capacity" }).allInnerTexts();
    assert.deepEqual(found.map((text) => text.replace(` for p99 ≤ ${goal}`, "")), texts);
  };
  // The estimate is below, but the interval is not: nothing is proven at the higher rate.
  await decided(30, "30 ms", ["Capacity at least 1,500/s.", "Capacity at least 1,500/s.", "Capacity between 1,500 and 15,000/s."]);
  await decided(1000, "1 s", ["Capacity at least 15,000/s: every rate met it.", "Capacity at least 1,500/s.", "Capacity between 1,500 and 15,000/s."]);
  assert.match(page.url(), /objective=p99%3A1000/);
  await done(page);
});

test("every server's percentiles stand on one axis, with a table of the same numbers", async () => {
  const page = await open(`${url}#/round/${roundOf("all")}/times`);
  await page.getByRole("heading", { name: /p50, p90, p99 and p99.9/ }).waitFor();
  await page.getByRole("img", { name: /p50, p90/ }).waitFor();
  await done(page);
});

test("a launch that no server has is not in the heading", async () => {
  const id = roundOf("frameworks");
  const { tables } = await (await fetch(`${url}api/rounds/${id}`)).json();
  const most = Math.max(...tables.flatMap((table) => table.rows.map((row) => row.launches_usable)));
  const page = await open(`${url}#/round/${id}/times?launch=99`);
  const heading = await page.getByRole("heading", { name: /launch \d+$/ }).innerText();
  assert.ok(Number(/launch (\d+)$/.exec(heading)[1]) <= most, heading);
  await done(page);
});

test("published figures say that they are, and offer nothing that they do not have", async () => {
  const page = await open(`${url}#/round/${roundOf("source-001")}`);
  await page.getByText("as published").first().waitFor();
  await page.getByText("not measured by Paceline").first().waitFor();
  assert.equal(await page.getByRole("link", { name: "Response times" }).count(), 0);
  assert.doesNotMatch(await page.locator("main").innerText(), /generator CPU/i);
  await page.route(/\/runs\?ids=/, async (route) => {
    const runs = await (await route.fetch()).json();
    await route.fulfill({ json: runs.map((run) => ({ ...run, command: "" })) });
  });
  await rowsOf(page).first().click();
  await page.getByRole("link", { name: "Everything about this run" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "This server over time" }).count(), 0, "no measured round has it");
  assert.equal(await page.getByText("Command that repeats it").count(), 0, "an unknown command");
  await page.getByRole("link", { name: "Everything about this run" }).click();
  await page.getByText("not measured by Paceline: it cannot say").waitFor();
  await page.locator(".figures").getByText("as published").first().waitFor();
  const said = await page.locator("main").innerText();
  // What a source left out is 0 in its record.
  assert.doesNotMatch(said, /No verdict|of its core busy|timeout|seed|launch 1|on one core|seconds \(CSV\)/);
  await done(page);
});

test("the first page answers six questions, and each card leads to its ranking", async () => {
  const page = await open(url);
  const cards = page.getByRole("article");
  await cards.first().waitFor();
  assert.equal(await cards.count(), 6);
  for (const card of await cards.all()) {
    assert.ok((await card.getByRole("listitem").count()) >= 3);
    // What one launch cannot decide is not called an answer.
    await card.getByText(/^(Not decided|Tied)|is ahead of all others/).waitFor();
  }
  await page.getByRole("article", { name: "Fastest JSON" }).getByRole("link", { name: "Fastest JSON" }).click();
  await rowsOf(page).first().waitFor();
  assert.match(page.url(), /workload=json/);
  await done(page);
});

test("which is the fastest Python server for JSON: two choices", async () => {
  const page = await open(url);
  await page.getByRole("link", { name: "Fastest JSON" }).click();
  await page.getByRole("button", { name: /^Python \d/ }).click();
  await page.getByText(/^Highest[^:]*: Granian/).waitFor();
  await done(page);
});

test("every row says whether it can be trusted, and what limited it", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  for (const row of await rowsOf(page).all()) assert.match(await row.innerText(), /[✓⚠]/);
  assert.match(await rowsOf(page).first().innerText(), /server CPU|generator|not known/);
  await done(page);
});

test("bars begin at zero, and a logarithmic axis of dots is one choice away", async () => {
  const page = await open(`${url}#/round/${roundOf("all")}`);
  await rowsOf(page).first().waitFor();
  assert.ok((await page.locator("button[data-row] .bar").count()) > 10);
  await page.getByText("Axis from zero.").waitFor();
  await page.getByRole("combobox", { name: "chart" }).selectOption("log");
  await page.getByText("Logarithmic axis.").waitFor();
  assert.equal(await page.locator("button[data-row] .bar").count(), 0);
  assert.match(page.url(), /scale=log/);
  await done(page);
});

test("a descriptive metric is sorted, and has neither ranks nor a best", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}?metric=bytes_received_per_response`);
  await rowsOf(page).first().waitFor();
  assert.deepEqual(new Set(await page.locator(".chart .rank").allInnerTexts()), new Set([""]));
  await page.getByText(/^Lowest bytes per response: .*Neither more nor less is better\./).waitFor();
  await page.goto(`${url}#/round/${roundOf("frameworks")}/all?metric=bytes_received_per_response`);
  await page.getByText("Each column is one workload and load").waitFor();
  assert.equal(await page.locator("table.all .best").count() + (await page.locator("table.all .overall").count()), 0);
  await page.getByRole("combobox", { name: "metric" }).selectOption("achieved_per_s");
  await page.locator("table.all .overall").first().waitFor();
  assert.ok((await page.locator("table.all .best").count()) > 0);
  await done(page);
});

test("servers are ticked and compared", async () => {
  const id = roundOf("frameworks");
  const page = await open(`${url}#/round/${id}`);
  for (const name of ["Netty", "Vert.x", "Undertow"]) await page.getByRole("checkbox", { name: `Compare ${name}` }).check();
  const chosen = page.getByRole("region", { name: "Chosen servers" });
  assert.equal(await chosen.getByRole("link", { name: "Is the difference proven?" }).count(), 0);
  await page.getByRole("checkbox", { name: "Compare Undertow" }).uncheck();
  await chosen.getByRole("link", { name: "Is the difference proven?" }).click();
  await page.getByText(/(Over all rows together|in \d+ of \d+ rows)/).first().waitFor();
  await page.goBack();
  await chosen.getByRole("link", { name: "Compare 2 in all workloads" }).click();
  await page.getByText("2 chosen servers").waitFor();
  assert.equal(await page.locator("tbody tr").count(), 2);
  await done(page);
});

test("the columns that are ticked make the overall score", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}/all`);
  await page.getByText("over 14 columns", { exact: false }).waitFor();
  await page.getByRole("checkbox", { name: "counts" }).first().uncheck();
  await page.getByText("over 13 columns", { exact: false }).waitFor();
  assert.match(page.url(), /tick=/);
  await done(page);
});

test("a database is a choice, a heading and a filter", async () => {
  const page = await open(`${url}#/round/${roundOf("rounds-8-9")}?workload=fortunes`);
  await page.getByRole("group", { name: "database" }).getByRole("button", { name: "mariadb" }).click();
  await page.getByRole("heading", { name: /fortunes.*mariadb/ }).waitFor();
  for (const view of ["Response times", "Over time"]) {
    await page.getByRole("link", { name: view }).click();
    await page.getByRole("heading", { name: new RegExp(`^(Service time|${view}) fortunes.*mariadb`) }).waitFor();
  }
  await page.getByRole("link", { name: "All workloads" }).click();
  await page.getByRole("columnheader", { name: /mariadb/ }).first().waitFor();
  const all = await page.locator("thead th").count();
  await page.getByRole("group", { name: "database" }).getByRole("button", { name: "postgresql" }).click();
  await page.waitForFunction((count) => document.querySelectorAll("thead th").length < count, all);
  assert.equal(await page.getByRole("columnheader", { name: /mariadb/ }).count(), 0);
  // Columns that the choice hides still count for the overall score.
  await page.getByText(/over \d+ columns \(\d+ not shown\)/).waitFor();
  await done(page);
});

test("a comparison of rounds names the database and the form of each row", async () => {
  const id = roundOf("rounds-8-9");
  const page = await open(url);
  await page.route(/\/api\/compare\?/, async (route) => {
    const compared = await (await route.fetch()).json();
    compared.rows.find((row) => row.pairs[compared.metrics[0].id]).form = "cores";
    await route.fulfill({ json: compared });
  });
  await page.goto(`${url}#/compare?a=${id}&b=${id}`);
  await page.getByRole("row", { name: /all cores given to it/ }).waitFor();
  for (const database of ["mariadb", "postgresql"]) await page.getByRole("row", { name: new RegExp(`fortunes, .*${database}`) }).first().waitFor();
  await done(page);
});

test("loads that differ in arrivals, length or the connections to the database have different names", async () => {
  const page = await open(url);
  await page.route(`**/api/rounds/${roundOf("rounds-8-9")}`, async (route) => {
    const round = await (await route.fetch()).json();
    const table = round.tables.find((one) => one.load.database);
    const load = { name: "one", kind: "open", rate_per_s: 2000, connections: 64, depth: 1, warmup_s: 1, database: { database: "postgresql", pool: 8 } };
    const loads = [load, { ...load, name: "two", arrivals: "poisson" }, { ...load, name: "three", database: { ...load.database, pool: 32 } }, { ...load, name: "four", duration_s: 60 }, { ...load, name: "five", rate_per_s: 0.5 }, { ...load, name: "six", tool: "ab -k -n 100" }];
    round.tables = loads.map((load) => ({ ...table, id: load.name, load }));
    await route.fulfill({ json: round });
  });
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=one`);
  await page.getByRole("heading", { name: /2,000\/s offered, 64 connections, pool of 8 database connections/ }).waitFor();
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=two`);
  await page.getByRole("heading", { name: /64 connections, Poisson arrivals, pool of 8/ }).waitFor();
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=three`);
  await page.getByRole("heading", { name: /64 connections, pool of 32/ }).waitFor();
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=four`);
  await page.getByRole("heading", { name: /64 connections, 60 s windows, pool of 8/ }).waitFor();
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=five`);
  await page.getByRole("heading", { name: /\b0\.5\/s offered, 64 connections/ }).waitFor();
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}?load=six`);
  await page.getByRole("heading", { name: /as ab, postgresql/ }).waitFor();
  await done(page);
});

test("the heading of a round names each of its machines", async () => {
  const page = await open(url);
  await page.route(`**/api/rounds/${roundOf("rounds-8-9")}`, async (route) => {
    const round = await (await route.fetch()).json();
    const [first] = round.machines;
    round.machines = [{ ...first, label: "A" }, { ...first, label: "B", environment: { ...first.environment, cpu_model: "Another CPU" }, differs: ["another processor"] }];
    await route.fulfill({ json: round });
  });
  await page.goto(`${url}#/round/${roundOf("rounds-8-9")}`);
  const facts = await page.locator(".head p").first().textContent();
  assert.match(facts, /machine A: .*; machine B: Another CPU/);
  await done(page);
});

test("a card of a workload without a database leads to its table, also beside a larger one with a database", async () => {
  const page = await open(url);
  const answers = await (await fetch(`${url}api/answers`)).json();
  const answer = answers.answers.find((one) => !one.load.database);
  await page.route(`**/api/rounds/${answer.round.id}`, async (route) => {
    const round = await (await route.fetch()).json();
    const table = round.tables.find((one) => one.workload === answer.workload && one.load.name === answer.load.name && one.form === answer.form);
    const load = { ...table.load, name: `${table.load.name}-db`, database: { database: "large" } };
    const row = table.rows.at(-1);
    // One row more, of a server that the table does not have.
    round.servers["another"] = { ...round.servers[row.server], id: "another", name: "Another" };
    round.tables.unshift({ ...table, id: `${table.id}-db`, load, rows: [...table.rows, { ...row, server: "another" }] });
    await route.fulfill({ json: round });
  });
  await page.locator(`#answer-${answer.id} a`).click();
  const none = page.getByRole("group", { name: "database" }).getByRole("button", { name: "none" });
  assert.equal(await none.getAttribute("aria-pressed"), "true");
  await done(page);
});

test("a server's rounds stand on a time line", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}?workload=json&open=java-netty`);
  await page.getByRole("link", { name: "This server over time" }).click();
  await page.getByRole("heading", { name: /Netty/ }).first().waitFor();
  await page.getByRole("img", { name: /Netty: Requests/ }).waitFor();
  assert.ok((await page.locator("tbody tr").count()) > 1);
  await page.getByRole("combobox", { name: "axis" }).selectOption("version");
  await page.getByRole("img", { name: /by version/ }).waitFor();
  await done(page);
});

test("two machines of one processor in a round are two rows of a time line", async () => {
  const page = await open(url);
  let points = 0;
  await page.route(/\/api\/servers\//, async (route) => {
    const all = await (await route.fetch()).json();
    // As after an update of the kernel between two sittings of a round.
    for (const line of all.lines) line.points.push(line.points.at(-1));
    points = all.lines[0].points.length;
    await route.fulfill({ json: all });
  });
  await page.goto(`${url}#/server/java-netty`);
  await page.locator("tbody tr").first().waitFor();
  assert.ok((await page.locator("tbody tr").count()) >= points);
  await page.goto(`${url}#/round/${roundOf("frameworks")}/times?servers=java-netty%7Cjava-netty`);
  await page.locator("svg.plot").first().waitFor();
  await done(page);
});

test("charts of several runs ask once, and files come from the cache", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole("link", { name: "Response times" }).click();
  await page.locator("svg.plot").first().waitFor();
  assert.equal(asked.filter((path) => /\/runs/.test(path)).length, 1, asked.join(" "));
  await page.reload();
  await page.locator("svg.plot").first().waitFor();
  const files = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => /\/assets\/[0-9a-f]{16}\//.test(one.name)).map((one) => one.transferSize));
  assert.ok(files.length >= 3 && files.every((bytes) => bytes === 0), `not from the cache: ${files}`);
  await done(page);
});

test("the theme is changed and changed back where the browser stores nothing", async () => {
  const page = await open(url, { colorScheme: "light" });
  await page.addInitScript(() => Object.defineProperty(window, "localStorage", { get() { throw new DOMException("refused", "SecurityError"); } }));
  await page.reload();
  for (const [button, theme] of [["Dark theme", "dark"], ["Light theme", "light"], ["Dark theme", "dark"]]) {
    await page.getByRole("button", { name: button, exact: true }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  }
  await done(page);
});

test("the keyboard skips to the content and closes a row", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.localName), "main");
  await rowsOf(page).first().focus();
  await page.keyboard.press("Enter");
  await page.getByText("Command that repeats it").waitFor();
  // A menu in the row closes first.
  await page.locator(".detail summary", { hasText: "Copy or save" }).first().click();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".detail details[open]").count(), 0);
  assert.equal(await rowsOf(page).first().getAttribute("aria-expanded"), "true");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("button[data-row]").ariaExpanded === "false");
  assert.equal(await page.evaluate(() => document.activeElement.ariaExpanded), "false");
  await done(page);
});

test("a followed link leads to the top of its page, and back to where it was", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}`, { viewport: { width: 1280, height: 400 } });
  await rowsOf(page).first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement.localName);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Results" }).click();
  await page.getByRole("heading", { name: "Results" }).waitFor();
  assert.equal(await focused(), "a", "a link that stays keeps the focus");
  await page.locator(".cards > article").first().waitFor();
  const link = page.getByRole("link", { name: "frameworks", exact: true });
  await link.focus();
  const scrolled = await page.evaluate(() => scrollY);
  assert.ok(scrolled > 0);
  await page.keyboard.press("Enter");
  await rowsOf(page).first().waitFor();
  assert.deepEqual([await focused(), await page.evaluate(() => scrollY)], ["main", 0]);
  await page.goBack();
  await link.waitFor();
  await page.waitForFunction((scrolled) => Math.abs(scrollY - scrolled) < 100, scrolled);
  // A view of the same round keeps the link that led to it.
  await page.goto(`${url}#/round/${roundOf("frameworks")}`);
  await page.getByRole("link", { name: "Response times" }).click();
  await page.locator("svg.plot").first().waitFor();
  assert.equal(await focused(), "a");
  await done(page);
});

test("which Python server needs the least CPU per request at 2,000/s: two choices", async () => {
  const page = await open(url);
  await page.getByRole("link", { name: "Least CPU at 2,000/s" }).click();
  await page.getByRole("button", { name: /^Python \d/ }).click();
  const [, lowest] = /: (.+?) with /.exec(await page.getByText(/^Lowest/).first().textContent());
  const rows = await rowsOf(page).allTextContents();
  assert.ok(rows.length > 1 && rows.every((row) => row.includes("Python")), rows.join("; "));
  assert.ok(rows[0].includes(lowest), `${lowest} is not in the first row: ${rows[0]}`);
  await done(page);
});

test("did a server get slower since the last round of its plan: one choice", async () => {
  const page = await open(url);
  const since = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "all", exact: true }) }).getByRole("link", { name: "What changed since 2026-11-21?" });
  await since.click();
  await page.getByText(/Of \d+ matched rows?:/).waitFor();
  await page.getByRole("row", { name: /Undertow/ }).first().waitFor();
  await done(page);
});

test("a round is compared with the one before it on its machine", async () => {
  const page = await open(url);
  await page.route("**/api/index", async (route) => {
    const index = await (await route.fetch()).json();
    const newest = index.rounds.find((round) => round.plan === "all");
    const last = index.rounds.findLastIndex((round) => round.plan === "all");
    index.rounds[last].cpu_model = "Other processor";
    index.rounds.splice(last + 1, 0, { ...newest, id: "older", started_at: "2026-11-20T00:00:00Z" });
    await route.fulfill({ json: index });
  });
  await page.reload();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "all", exact: true }) });
  await row.getByRole("link", { name: "What changed since 2026-11-20?" }).waitFor();
  await done(page);
});

test("a round of the future is marked", async () => {
  const page = await open(url);
  await page.route("**/api/index", async (route) => {
    const index = await (await route.fetch()).json();
    index.rounds.find((round) => round.plan === "all").started_at = "3026-11-21T00:00:00Z";
    await route.fulfill({ json: index });
  });
  await page.reload();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "all", exact: true }) });
  await row.getByText("3026-11-21 00:00 UTC (in the future)").waitFor();
  assert.equal(await page.getByText("(in the future)").count(), 1);
  await done(page);
});

test("the trials of an unfinished round are those that were planned, unless the others were counted", async () => {
  const page = await open(url);
  await page.route("**/api/index", async (route) => {
    const index = await (await route.fetch()).json();
    const [first, second] = index.rounds.filter((round) => !round.imported && ["frameworks", "tetration"].includes(round.plan));
    Object.assign(first, { finished_at: null, planned: 1234, kept: null });
    Object.assign(second, { finished_at: null, planned: 1235, kept: 17 });
    index.rounds = [first, { ...second, plan: "other" }];
    await route.fulfill({ json: index });
  });
  await page.reload();
  await page.getByText("1,234 trials planned, not finished").waitFor();
  await page.getByText("17 of 1,235 trials, not finished").waitFor();
  await done(page);
});

test("an earlier round of a plan names its machine where that is another one", async () => {
  const page = await open(url);
  await page.route("**/api/index", async (route) => {
    const index = await (await route.fetch()).json();
    index.rounds.find((round) => round.id === roundOf("all")).cpu_model = "Other processor";
    await route.fulfill({ json: index });
  });
  await page.reload();
  const row = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "all", exact: true }) });
  await row.getByText(/^\(Other processor, /).waitFor();
  assert.equal(await page.getByText(/^\(Other processor, /).count(), 1);
  await done(page);
});

test("a load curve is offered only where a workload has several rates", async () => {
  for (const [plan, offered] of [["rabbit-hole", 1], ["databases", 0]]) {
    const page = await open(`${url}#/round/${roundOf(plan)}`);
    await rowsOf(page).first().waitFor();
    assert.equal(await page.getByRole("link", { name: "Load curve" }).count(), offered, plan);
    await done(page);
  }
});

test("a load with the flags of another tool is no step of a load curve", async () => {
  const id = roundOf("rabbit-hole");
  const page = await open(url);
  await page.route(`**/api/rounds/${id}`, async (route) => {
    const round = await (await route.fetch()).json();
    round.tables[0].load.tool = "wrk2 -t8";
    await route.fulfill({ json: round });
  });
  await page.goto(`${url}#/round/${id}`);
  await rowsOf(page).first().waitFor();
  assert.equal(await page.getByRole("link", { name: "Load curve" }).count(), 0);
  await done(page);
});

test("a capacity in a file opens with its curve, windows and objective", async () => {
  const { child, url: own } = await shown(["view", join(root, "crates/web/tests/it/capacity.json"), "--no-open"]);
  const page = await open(own, { host: own });
  await page.getByRole("heading", { name: /^Capacity of http/ }).waitFor();
  const chart = page.getByRole("img", { name: "Response time against offered rate" });
  await chart.waitFor();
  for (const words of ["objective p99", "closed loop", "offered requests/s"]) assert.ok((await chart.textContent()).includes(words), words);
  const windows = JSON.parse(readFileSync(join(root, "crates/web/tests/it/capacity.json"), "utf8")).windows;
  assert.equal(await page.getByRole("region", { name: "Windows of the search" }).locator("tbody tr").count(), windows.length);
  await page.getByText("Command that repeats it").waitFor();
  // A time of zero, as of a record that was rounded, has no place on a logarithmic axis.
  await page.route(/\/api\/capacity$/, async (route) => {
    const capacity = await (await route.fetch()).json();
    capacity.windows[0].response_time_ns.p50 = 0;
    await route.fulfill({ json: capacity });
  });
  await page.reload();
  await chart.waitFor();
  child.kill();
  await done(page);
});

test("the drawing library is loaded only for charts that need it, and charts out of sight are printed", async () => {
  const page = await open(`${url}#/`);
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.getByRole("link", { name: "frameworks", exact: true }).click();
  await rowsOf(page).first().waitFor();
  assert.ok(!asked.some((path) => path.endsWith("/plot.js")));
  await rowsOf(page).first().click();
  await page.getByRole("link", { name: /open run 1/ }).click();
  await page.locator("svg.plot").first().waitFor();
  assert.equal(asked.filter((path) => path.endsWith("/plot.js")).length, 1);
  await page.setViewportSize({ width: 390, height: 600 });
  await page.reload();
  await page.locator("svg.plot").first().waitFor();
  const [charts, drawn] = [page.locator("figure"), page.locator("figure svg.plot")];
  assert.ok((await drawn.count()) < (await charts.count()));
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await drawn.count(), await charts.count());
  await done(page);
});

test("did a server get slower between two rounds: four choices", async () => {
  const page = await open(url);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("combobox", { name: "A", exact: true }).selectOption(roundOf("all"));
  await page.getByRole("combobox", { name: "B", exact: true }).selectOption(roundOf("frameworks"));
  await page.getByText(/Of \d+ matched rows?:/).waitFor();
  await page.getByRole("row", { name: /Netty/ }).first().waitFor();
  await done(page);
});

const HOSTILE = `<script>globalThis.hacked=1</script><img src=x onerror=globalThis.hacked=1>\u202eevil\u0007`;

test("hostile names and notes stay text, in pages and in a report of one file", async () => {
  const name = JSON.stringify(HOSTILE);
  const long = JSON.stringify("long".repeat(1_000));
  const figure = (server, words) => `[[figure]]\nplace = "1"\nserver = ${server}\nname = ${words}\nlanguage = ${words}\nform = "single"\nworkload = ${name}\nload = ${name}\nconnections = 8\nrequests_per_s = 9.0\nnote = ${words}\n`;
  const source = join(folder, "hostile.toml");
  writeFileSync(source, `name = ${name}\nstarted_at = "2014"\nmachine = ${name}\ntool = ${name}\n${figure(name, name)}${figure('"other"', long)}`);
  const store = join(folder, "hostile.sqlite");
  const imported = spawnSync(paceline, ["store", "--store", store, "import", source]);
  assert.equal(imported.status, 0, String(imported.stderr));
  assert.ok(!/[\u202e\u0007]/.test(String(imported.stdout) + String(imported.stderr)), "raw control characters in the terminal");
  const { child, url: own } = await shown(["view", "--store", store, "--no-open"]);
  const file = join(folder, "hostile.html");
  assert.equal(spawnSync(paceline, ["report", "--store", store, "-o", file]).status, 0);
  const id = (await (await fetch(`${own}api/index`)).json()).rounds[0].id;
  const trial = (await (await fetch(`${own}api/rounds/${id}`)).json()).tables[0].rows[0].trials[0].id;
  const places = ["/", "/then", `/round/${id}`, `/round/${id}/all`, `/compare?a=${id}&b=${id}`, `/round/${id}/run/${trial}`].map((place) => `${own}#${place}`);
  for (const place of [...places, pathToFileURL(file).href]) {
    const page = await open(place, { host: own, viewport: { width: 390, height: 844 } });
    // No measured round stands beside the hostile one there.
    const name = place.endsWith("/then") ? page.locator("main h1") : page.locator("main").getByText("<script>");
    await name.first().waitFor({ state: "attached" }).catch(() => assert.fail(`no name on ${place}`));
    assert.equal(await page.evaluate(() => globalThis.hacked), undefined, place);
    assert.equal(await page.locator("main script, main img").count(), 0, place);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `${place} is ${width} wide`);
    await done(page);
  }
  child.kill();
});

test("a run is shown while it goes on, after a reload too, and its result when it is over", async () => {
  const target = createServer((_, response) => response.end("hello"));
  await new Promise((listening) => target.listen(0, "127.0.0.1", listening));
  const { child, url: own } = await shown(["run", `http://127.0.0.1:${target.address().port}/`, "-c", "2", "-r", "200", "-d", "6s", "--warmup", "0s", "--view"]);
  const page = await open(`${own}#/live`, { host: own, bypassCSP: true });
  await page.getByText("requests/s", { exact: true }).first().waitFor();
  await page.reload();
  await page.getByText("requests/s", { exact: true }).first().waitFor();
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["heading-order"] }));
  assert.deepEqual(violations.map((violation) => violation.nodes.map((node) => node.html)), []);
  await page.getByRole("link", { name: "See everything about this run." }).click({ timeout: 60_000 });
  await page.getByRole("heading", { name: "How requests ended" }).waitFor();
  child.kill("SIGINT");
  await done(page);
  target.close();
});

/** A folder with one server and one workload, as the lab wants them. */
function tree() {
  const place = (name) => join(folder, "tree", name);
  for (const name of ["servers/python-good", "workloads"]) mkdirSync(place(name), { recursive: true });
  writeFileSync(place("servers/python-good/server.py"), readFileSync(join(root, "crates/paceline/tests/it/lab/good.py")));
  writeFileSync(place("servers/python-good/server.toml"), `name = "good"\nlanguage = "Python"\nframework = "none"\nengine = "none"\nkind = "platform"\ntags = ["idiomatic"]\nworkloads = ["hello"]\nneeds = ["python3"]\nversion = "echo 1"\n[run]\ncommand = "exec python3 server.py"\nstart_timeout_s = 60\n[forms.single]\n[traits]\npipelining = true\nhttp10_keep_alive = true\nhead = false\n`);
  writeFileSync(place("workloads/hello.toml"), `about = "Twelve bytes."\n[[case]]\npath = "/hello"\n[case.expect]\nstatus = 200\nbody = "Hello World\\n"\n`);
  return ["--servers-dir", place("servers"), "--workloads-dir", place("workloads"), "--state-dir", place("state")];
}

test("a round is shown while it goes on, and its ranking when it is over", async () => {
  Object.assign(process.env, { PACELINE_SHARE_MACHINE: "1", PACELINE_STEADY_WITHIN: "0s", PACELINE_ALLOW_INVALID: "1" });
  const { child, url: own } = await shown(["round", "--servers", "python-good", "--repeats", "2", "-c", "2", "-d", "500ms", "--warmup", "100ms", "--view", ...tree()]);
  const page = await open(`${own}#/live`, { host: own });
  await page.getByRole("link", { name: "good" }).first().waitFor({ timeout: 60_000 });
  await page.reload();
  await page.getByRole("link", { name: "good" }).first().waitFor();
  await page.getByText(": done.").waitFor({ timeout: 90_000 });
  await page.getByRole("link", { name: /See the round/ }).click();
  // On a busy machine no row may be valid: it is shown all the same.
  await page.getByRole("heading", { name: /hello/ }).waitFor();
  await page.getByText("good", { exact: true }).first().waitFor();
  child.kill("SIGINT");
  await done(page);
});

/** Opens the first run of a round, whose answer is changed on the way. */
async function changedRun(page, change) {
  const round = await (await fetch(`${url}api/rounds/${roundOf("frameworks")}`)).json();
  await page.route(/\/runs\/[^/]+$/, async (route) => {
    const run = await (await route.fetch()).json();
    change(run);
    await route.fulfill({ json: run });
  });
  await page.goto(`${url}#/round/${round.about.id}/run/${round.tables[0].rows[0].trials[0].id}`);
}

test("a launch has one number and colour in the chart and the table of its row", async () => {
  const page = await open(url);
  await page.route(/\/runs\?ids=/, async (route) => {
    const runs = await (await route.fetch()).json();
    const { counts } = runs[1].measured.total;
    counts.scheduled = counts.ok + 7_654_321;
    runs[0].measured = null;
    await route.fulfill({ json: runs });
  });
  await page.goto(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().click();
  const lines = (place) => page.locator(`.detail svg.plot g[stroke="var(--c${place})"]`);
  await lines(1).first().waitFor({ state: "attached" });
  assert.equal(await lines(0).count(), 0, "the first launch has no line");
  const second = page.getByRole("row", { name: /open run 2/ });
  assert.equal(await second.getByRole("cell").nth(3).innerText(), "7,654,321", "every failed request is counted");
  await done(page);
});

test("an attempt that was repeated is no launch of its row", async () => {
  const page = await open(url);
  const round = await (await fetch(`${url}api/rounds/${roundOf("frameworks")}`)).json();
  const { id, rows } = round.tables[0];
  const own = rows.find((row) => row.trials.some((trial) => trial.counts));
  await page.route(`**/api/rounds/${round.about.id}`, async (route) => {
    const changed = await (await route.fetch()).json();
    const { trials } = changed.tables.find((table) => table.id === id).rows.find((row) => row.server === own.server);
    const counted = trials.find((trial) => trial.counts);
    // Before the attempt that counts, and after it.
    trials.unshift({ ...counted, id: "spoiled-1", counts: false });
    trials.push({ ...counted, id: "spoiled-2", counts: false });
    await route.fulfill({ json: changed });
  });
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const cell = { workload: round.tables[0].workload, load: round.tables[0].load.name, form: round.tables[0].form, open: own.server };
  await page.goto(`${url}#/round/${round.about.id}?${new URLSearchParams(cell)}`);
  await page.getByText("Repeated, and not counted").waitFor();
  const launches = new Set(own.trials.map((trial) => trial.repeat)).size;
  assert.equal(await page.getByRole("link", { name: /^open run|, failed$/ }).count(), Math.min(launches, 8));
  assert.equal(await page.locator(".detail a[href*='/run/spoiled-']").count(), 2, "they can be opened");
  await page.goto(`${url}#/round/${round.about.id}/times?${new URLSearchParams({ ...cell, servers: own.server })}`);
  await page.locator("svg.plot").first().waitFor();
  assert.ok(!asked.some((address) => address.includes("spoiled")), asked.join(" "));
  await done(page);
});

test("a launch without a result keeps its number on every page", async () => {
  const page = await open(url);
  const round = await (await fetch(`${url}api/rounds/${roundOf("frameworks")}`)).json();
  const table = round.tables.find(({ rows }) => rows.some((row) => row.trials.filter((trial) => trial.counts).length > 1));
  const own = table.rows.find((row) => row.trials.filter((trial) => trial.counts).length > 1);
  const launches = own.trials.filter((trial) => trial.counts).map((trial) => trial.repeat + 1).sort((a, b) => a - b);
  const [failed, first] = launches;
  await page.route(`**/api/rounds/${round.about.id}`, async (route) => {
    const changed = await (await route.fetch()).json();
    const { trials } = changed.tables.find((one) => one.id === table.id).rows.find((row) => row.server === own.server);
    for (const trial of trials) if (trial.repeat + 1 === failed) trial.counts = false;
    await route.fulfill({ json: changed });
  });
  const cell = new URLSearchParams({ workload: table.workload, load: table.load.name, form: table.form, servers: own.server });
  await page.goto(`${url}#/round/${round.about.id}/time?${cell}`);
  await page.locator(".legend li").first().waitFor();
  const names = await page.locator(".legend li").allInnerTexts();
  assert.deepEqual(names.map((name) => name.trim()), launches.slice(1, 9).map((number) => `launch ${number}`));
  await page.goto(`${url}#/round/${round.about.id}/times?${cell}`);
  await page.getByRole("heading", { name: new RegExp(`launch ${first}$`) }).waitFor();
  await done(page);
});

test("every server that is marked is drawn over time, eight at most", async () => {
  const round = await (await fetch(`${url}api/rounds/${roundOf("all")}`)).json();
  const table = round.tables.find(({ rows }) => rows.filter((row) => row.trials.some((trial) => trial.counts)).length > 8);
  const servers = table.rows.filter((row) => row.trials.some((trial) => trial.counts)).slice(0, 9).map((row) => row.server);
  const cell = new URLSearchParams({ workload: table.workload, load: table.load.name, form: table.form, servers: servers.join("|") });
  const page = await open(`${url}#/round/${round.about.id}/time?${cell}`);
  await page.locator(".legend li").first().waitFor();
  const marked = await page.locator(".chip[aria-pressed=true]").allInnerTexts();
  const drawn = await page.locator(".legend li").allInnerTexts();
  assert.equal(marked.length, 8);
  assert.deepEqual(drawn.map((name) => name.trim()).sort(), marked.map((name) => name.trim()).sort());
  await done(page);
});

test("lines over time are told apart by marks, which the legend shows too", async () => {
  const page = await open(`${url}#/round/${roundOf("frameworks")}/time`);
  const chart = page.getByRole("img", { name: "Requests per second", exact: true });
  await chart.waitFor();
  const keys = await page.locator(".legend polygon").evaluateAll((all) => all.map((one) => one.getAttribute("points")));
  assert.ok(keys.length > 1);
  assert.equal(new Set(keys).size, keys.length);
  const marks = await chart.locator("path").evaluateAll((all) => all.map((one) => one.getAttribute("d")).filter((d) => d?.endsWith("Z")));
  assert.equal(new Set(marks).size, keys.length);
  await done(page);
});

test("verdicts of one name are all shown", async () => {
  const page = await open(url);
  const verdict = { name: "steal", blame: "environment", severity: "note", evidence: {}, remedy: "Repeat it." };
  await changedRun(page, (run) => run.verdicts.push(verdict, verdict));
  await page.getByRole("heading", { name: "How requests ended" }).waitFor();
  assert.ok((await page.getByText("Repeat it.").count()) >= 2);
  await done(page);
});

test("energy and Unix sockets stand among the facts of the server", async () => {
  const page = await open(url);
  await changedRun(page, (run) => run.server_facts.push(["energy", "214 µJ per request"], ["Unix sockets", "@queue"]));
  const facts = page.locator("dl.list").filter({ hasText: "Unix sockets" });
  await facts.getByText("214 µJ per request").waitFor();
  await facts.getByText("@queue").waitFor();
  await done(page);
});

test("a second without responses interrupts the lines of a run", async () => {
  const page = await open(url);
  await changedRun(page, ({ measured: { seconds } }) => {
    const at = Math.floor(seconds.length / 2);
    seconds[at] = { start_s: seconds[at].start_s, length_s: seconds[at].length_s, phase: seconds[at].phase, ok_per_s: 0, not_ok_per_s: 0 };
  });
  const chart = page.getByRole("img", { name: /over the run$/ });
  await chart.waitFor();
  const parts = await chart.locator("path").evaluateAll((all) => all.map((one) => (one.getAttribute("d") ?? "").split("M").length - 1));
  assert.equal(parts.filter((count) => count === 2).length, 2, "median and p99 have two parts each");
  await done(page);
});

test("a page that cannot be drawn says so, and the next one is drawn", async () => {
  const page = await open(url);
  await changedRun(page, (run) => delete run.measured.total);
  await page.getByRole("alert").getByText("This page cannot be drawn").waitFor();
  assert.ok(page.problems.length > 0);
  page.problems.length = 0;
  await page.goto(`${url}#/round/${roundOf("frameworks")}`);
  await rowsOf(page).first().waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  await done(page);
});

test("a site of files shows rounds, runs, servers and comparisons from a plain file server", async () => {
  const site = join(folder, "site");
  const written = spawnSync(paceline, ["site", join(root, "history"), "-o", site], { encoding: "utf8" });
  assert.equal(written.status, 0, written.stderr);
  const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", json: "application/json" };
  const files = createServer((request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    try {
      const bytes = readFileSync(join(site, path.endsWith("/") ? `${path}index.html` : path));
      response.writeHead(200, { "content-type": types[path.split(".").pop()] ?? "text/html" }).end(bytes);
    } catch {
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>not found</h1>");
    }
  });
  await new Promise((listening) => files.listen(0, "127.0.0.1", listening));
  const host = `http://127.0.0.1:${files.address().port}/`;
  try {
    const page = await open(host, { host });
    await page.locator(".cards > *").first().waitFor();
    assert.equal(await page.getByRole("link", { name: "Live", exact: true }).count(), 0);
    assert.match(await page.locator("p.where").innerText(), /^\d+ rounds, newest first\.$/, "a site does not say where its rounds were");
    await page.goto(`${host}#/round/${roundOf("frameworks")}`);
    await rowsOf(page).first().waitFor();
    await rowsOf(page).first().click();
    await page.getByRole("link", { name: "Everything about this run" }).first().click();
    await page.getByRole("heading", { name: "How requests ended" }).waitFor();
    assert.equal(await page.getByText("Download", { exact: true }).count(), 0, "a site has no downloads");
    await page.goto(`${host}#/server/go-nethttp`);
    await page.getByRole("img", { name: /Requests/ }).first().waitFor();
    await page.goto(`${host}#/compare`);
    await page.locator(".pairs a").filter({ hasText: "frameworks" }).click();
    await page.getByText("B relative to A").waitFor();
    // A site has no page of rounds of two plans: the other side is open again.
    const plan = (id) => rounds.find((round) => round.id === id).plan;
    const side = page.getByRole("combobox", { name: "A", exact: true });
    const now = plan(await side.inputValue());
    const ids = await side.locator("option").evaluateAll((all) => all.map((one) => one.value).filter((id) => id !== ""));
    await side.selectOption(ids.find((id) => plan(id) !== now));
    await page.getByText("Choose two rounds to see").waitFor();
    assert.equal(await page.getByRole("combobox", { name: "B", exact: true }).inputValue(), "");
    await page.goto(`${host}#/then`);
    await page.getByRole("heading", { name: "Then and now" }).waitFor();
    // Of a plan with many rounds only the newest four have pages of comparisons.
    await page.route(/\/pages\/[0-9a-f]+\/index\.json$/, async (route) => {
      const index = await (await route.fetch()).json();
      const newest = index.rounds.find((round) => round.plan === "frameworks");
      index.rounds = [newest, ...Array.from({ length: 6 }, (_, at) => ({ ...newest, id: `older-${at + 1}` })), ...index.rounds.filter((round) => round.plan !== "frameworks")];
      await route.fulfill({ json: index });
    });
    await page.goto(`${host}#/compare`);
    await page.reload();
    await page.locator(".pairs a").first().waitFor();
    const offered = await page.getByRole("combobox", { name: "A", exact: true }).locator("option").evaluateAll((all) => all.map((one) => one.value));
    assert.deepEqual(offered.filter((id) => id.startsWith("older-")), ["older-1", "older-2", "older-3"]);
    const linked = await page.locator(".pairs a").evaluateAll((all) => all.map((one) => one.href));
    assert.ok(linked.some((address) => address.includes("older-3")) && !linked.some((address) => /older-[456]/.test(address)), linked.join(" "));
    assert.deepEqual(page.problems, []);
    await page.goto(`${host}#/compare?a=${rounds[0].id}&b=nothing`);
    await page.getByText("This site does not contain that page").waitFor();
    await page.close();
  } finally {
    files.close();
  }
});
