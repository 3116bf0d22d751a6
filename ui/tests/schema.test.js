// Printed JSON conforms to the schemas published under docs/schema/, for real runs of every kind: a run's record and its seconds.
//
// The record crate's `schemas.rs` tests that the published schemas equal those of the code; trials and reports are not
// printed by a run. `node --test tests/` in ui/, after `npm ci`; PACELINE is the binary.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import Ajv from "ajv/dist/2020.js";

const root = resolve(import.meta.dirname, "../..");
const paceline = process.env.PACELINE ?? join(root, "target/debug/paceline");
const folder = mkdtempSync(join(tmpdir(), "paceline-schema-"));

// `format` names the width of an integer (uint64), which no standard defines.
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });
const validator = (name) => ajv.compile(JSON.parse(readFileSync(join(root, "docs/schema", name), "utf8")));

function check(validate, value) {
  assert.ok(validate(value), JSON.stringify(validate.errors?.slice(0, 5), null, 2));
}

let server, url;

before(async () => {
  server = spawn(paceline, ["reference-server", "--service", "immediate"], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(createInterface({ input: server.stdout }), "line");
  url = `http://127.0.0.1:${port.trim()}/`;
});

after(() => {
  // It ends when its standard input closes.
  server?.stdin.end();
  rmSync(folder, { recursive: true, force: true });
});

const KINDS = [
  ["-n", "200"],
  ["-d", "200ms", "--warmup", "50ms", "--pipeline", "4", "-t", "2", "--timestamps", "kernel"],
  ["-r", "1000", "-d", "300ms", "--expect-body", "Hello World\n", "--expect-status", "200"],
  ["-r", "1000", "-d", "300ms", "--arrivals", "poisson", "--slo", "response.p99<1s", "--max-errors", "1%"],
  ["-n", "50", "--expect-status", "404", "--max-errors", "0"],
  ["-n", "50", "--expect-body", "no", "--slo", "service.max<1s"],
];

test("every kind of run conforms to the published schema", () => {
  const [run, second] = [validator("run.schema.json"), validator("second.schema.json")];
  const ndjson = join(folder, "seconds.ndjson");
  for (const flags of KINDS) {
    const arguments_ = ["run", url, "-c", "3", ...flags, "--format", "json", "--ndjson", ndjson];
    const { status, stdout, stderr } = spawnSync(paceline, arguments_, { encoding: "utf8", maxBuffer: 1 << 26 });
    assert.ok(status === 0 || status === 1, `${flags.join(" ")}: ${stderr}`);
    const record = JSON.parse(stdout);
    check(run, record);
    const seconds = readFileSync(ndjson, "utf8").split("\n").filter((line) => line !== "");
    assert.ok(seconds.length > 0, flags.join(" "));
    for (const line of seconds) check(second, JSON.parse(line));
    // A schema that accepts everything would prove nothing.
    delete record.total.counts.scheduled;
    assert.ok(!run(record), flags.join(" "));
  }
});

test("documents of commands conform to their schemas", () => {
  for (const name of ["help", "explain"]) {
    const { stdout } = spawnSync(paceline, [name, "--json"], { encoding: "utf8", maxBuffer: 1 << 26 });
    const validate = validator(`${name}.schema.json`);
    check(validate, JSON.parse(stdout));
    assert.ok(!validate({}), `${name}: its schema accepts an empty document`);
  }
});
