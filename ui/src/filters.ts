// By what servers can be filtered, and which are shown.
import type { ServerEntry } from "./wire";
import type { Query } from "./route.svelte";

export interface Filter {
  /** Its key in the address. */
  key: string;
  name: string;
  /** Whether it is shown only when asked for: what fewer visitors filter by. */
  more?: boolean;
  of: (server: ServerEntry) => string[];
}

export const FILTERS: Filter[] = [
  { key: "language", name: "language", of: (s) => [s.language] },
  { key: "kind", name: "kind", of: (s) => (s.kind ? [s.kind] : []) },
  { key: "tag", name: "tag", of: (s) => s.tags },
  { key: "framework", name: "framework", more: true, of: (s) => (s.framework ? [s.framework] : []) },
  { key: "engine", name: "engine", more: true, of: (s) => (s.engine ? [s.engine] : []) },
  { key: "source", name: "published in source", more: true, of: (s) => s.sources },
];

export function chosen(query: Query, key: string): string[] {
  return (query[key] ?? "").split("|").filter(Boolean);
}

/** Whether a server is shown; `except` leaves one filter out, to count what it would show. */
export function matches(server: ServerEntry, query: Query, except = ""): boolean {
  const text = (query["q"] ?? "").trim().toLowerCase();
  const searched = `${server.name} ${server.id} ${server.language} ${server.framework} ${server.engine}`.toLowerCase();
  const fits = (filter: Filter) => {
    const values = chosen(query, filter.key);
    return filter.key === except || values.length === 0 || filter.of(server).some((value) => values.includes(value));
  };
  return searched.includes(text) && FILTERS.every(fits);
}
