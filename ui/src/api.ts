// Where pages come from: the server, the file they are in, or the files of a published site.

import type { RunPage } from "./wire";

interface Contents {
  pages: Record<string, unknown>;
  start: string;
}

const element = document.getElementById("contents");

/** Whether this is a report of one file, without a server. */
export const isFile = element !== null;

/** The folder of the pages of a published site (`crates/web/src/site.rs`); empty elsewhere. */
const folder = document.querySelector<HTMLMetaElement>('meta[name="paceline-pages"]')?.content ?? "";

/** Whether a server computes what a visitor chooses; a file or a site has only what was written into it. */
export const isServed = !isFile && folder === "";

async function unpack(text: string): Promise<Contents> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Contents;
}

const contents = element ? unpack(element.textContent ?? "") : null;
const loaded = new Map<string, Promise<unknown>>();

/** The page at a path. Each is loaded once; `forget` makes the next call load it again. */
export function load<T>(path: string): Promise<T> {
  let page = loaded.get(path);
  if (!page) {
    page = contents ? contents.then((c) => fromFile(c, path)) : folder ? fromSite(path) : fromServer(path);
    page.catch(() => loaded.delete(path));
    loaded.set(path, page);
  }
  return page as Promise<T>;
}

/** Runs that the server returns in one response. */
const RUNS_AT_ONCE = 24;

/** Runs of a round: those that are not loaded yet in one request. A file or a site has each as a page. */
export function loadRuns(round: string, ids: string[]): Promise<RunPage[]> {
  const base = `/api/rounds/${encodeURIComponent(round)}/runs`;
  const one = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const missing = !isServed ? [] : [...new Set(ids)].filter((id) => !loaded.has(one(id)));
  for (let at = 0; at < missing.length; at += RUNS_AT_ONCE) {
    const wanted = missing.slice(at, at + RUNS_AT_ONCE);
    const all = fromServer(`${base}?ids=${wanted.map(encodeURIComponent).join(",")}`) as Promise<RunPage[]>;
    wanted.forEach((id, place) => {
      const page = all.then((runs) => runs[place]);
      page.catch(() => loaded.delete(one(id)));
      loaded.set(one(id), page);
    });
  }
  return Promise.all(ids.map((id) => load<RunPage>(one(id))));
}

export function forget(): void {
  loaded.clear();
}

/** What a file opens with. */
export async function start(): Promise<string> {
  return contents ? (await contents).start : "/";
}

function fromFile(contents: Contents, path: string): unknown {
  const page = contents.pages[path];
  if (page === undefined) throw new Error("This report does not contain that page. Open the results with `paceline view`.");
  return page;
}

/** The file of a page, as `file_name` in `crates/web/src/site.rs` names it. */
function fileOf(path: string): string {
  const bytes = new TextEncoder().encode(decodeURIComponent(path.replaceAll("+", " ").replace(/^\/api\//, "")));
  const text = [...bytes].map((byte) => {
    const letter = String.fromCharCode(byte);
    return /[A-Za-z0-9_/-]/.test(letter) ? letter : `~${byte.toString(16).padStart(2, "0")}`;
  });
  return `${folder}/${text.join("").replaceAll("//", "/~2f")}.json`;
}

async function fromSite(path: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(fileOf(path));
  } catch {
    throw new Error("The site does not answer. Reload this page.");
  }
  if (response.ok) return response.json();
  if (response.status === 404) throw new Error("This site does not contain that page, or was published again since this page was opened: reload it. `paceline view` makes pages of every choice.");
  throw new Error(`The site answered with status ${response.status}.`);
}

async function fromServer(path: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(path);
  } catch {
    throw new Error("The server does not answer. Start `paceline view` again, then reload this page.");
  }
  const body: unknown = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const what = (body as { error?: string }).error ?? `The server answered with status ${response.status}.`;
  throw new Error(what);
}
