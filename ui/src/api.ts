// Where pages come from: the server, or the file they are in.

import type { RunPage } from "./wire";

interface Contents {
  pages: Record<string, unknown>;
  start: string;
}

const element = document.getElementById("contents");

/** Whether this is a report of one file, without a server. */
export const isFile = element !== null;

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
    page = contents ? contents.then((c) => fromFile(c, path)) : fromServer(path);
    page.catch(() => loaded.delete(path));
    loaded.set(path, page);
  }
  return page as Promise<T>;
}

/** Runs that the server returns in one response. */
const RUNS_AT_ONCE = 24;

/** Runs of a round: those that are not loaded yet in one request. A report of one file has each as a page. */
export function loadRuns(round: string, ids: string[]): Promise<RunPage[]> {
  const base = `/api/rounds/${encodeURIComponent(round)}/runs`;
  const one = (id: string) => `${base}/${encodeURIComponent(id)}`;
  const missing = contents ? [] : [...new Set(ids)].filter((id) => !loaded.has(one(id)));
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
