// The address holds every choice, behind `#`: it works the same on a server and in a file opened from disk.

export type Query = Record<string, string>;

function parse(hash: string): { path: string; query: Query } {
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  return { path: path || "/", query: Object.fromEntries(new URLSearchParams(search)) };
}

export const route = $state(parse(location.hash));

addEventListener("hashchange", () => Object.assign(route, parse(location.hash)));

/** The parts of a path, as `path` wrote them; none where the address is malformed. */
export function partsOf(path: string): string[] {
  try {
    return path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return [""];
  }
}

/** The address of a page with these choices; empty ones are left out. */
export function href(path: string, query: Query = {}): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return `#${path}${search ? `?${search}` : ""}`;
}

/** Changes some choices of this page. A step that back undoes, unless it replaces the last one. */
export function choose(changes: Query, replace = false): void {
  const address = href(route.path, { ...route.query, ...changes });
  if (address === location.hash) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  Object.assign(route, parse(address));
}

addEventListener("popstate", () => Object.assign(route, parse(location.hash)));

/** A path made of parts that may hold any character. */
export function path(...parts: string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}
