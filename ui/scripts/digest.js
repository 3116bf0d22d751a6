// Writes a digest of the sources beside the built files; crates/web/tests/it/built.rs computes the same digest.
// Also writes the licences of the packages whose code is in the bundle.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SOURCES = ["src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "vite.plot.config.ts", "svelte.config.js"];
// Only types, which are not part of the built files.
const LEFT_OUT = ["src/wire.ts"];

const files = (path) =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => files(join(path, name))) : [path];

const digest = createHash("sha256");
for (const path of SOURCES.flatMap(files).filter((path) => !LEFT_OUT.includes(path)).sort((a, b) => (a < b ? -1 : 1))) {
  const bytes = readFileSync(path);
  digest.update(`${path} ${bytes.length}\n`);
  digest.update(bytes);
}
writeFileSync("dist/source.sha256", `${digest.digest("hex")}\n`);

// Svelte, Plot and Plot's dependencies at run time.
const wanted = ["svelte", "@observablehq/plot"];
const seen = new Set();
const texts = [];
while (wanted.length > 0) {
  const name = wanted.pop();
  const folder = join("node_modules", name);
  if (seen.has(name)) continue;
  if (!existsSync(folder)) throw new Error(`${folder} is missing: run npm ci before npm run build`);
  seen.add(name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  // Svelte's own dependencies are needed only by its compiler.
  if (name !== "svelte") wanted.push(...Object.keys(about.dependencies ?? {}));
  const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  const text = licence ? readFileSync(join(folder, licence), "utf8").trim() : "";
  texts.push({ name: `${name} ${about.version} (${about.license})`, text });
}
texts.sort((a, b) => (a.name < b.name ? -1 : 1));
writeFileSync("dist/licenses.txt", texts.map(({ name, text }) => `${name}\n\n${text}\n`).join("\n---\n\n"));
