// By what servers can be filtered, and which are shown.
import type { ServerEntry } from "./wire";
import type { Query } from "./route.svelte";

export interface Filter {
  /** Its key in the address. */
  key: string;
  name: string;
  /** What its values mean. */
  about: string;
  /** Whether it is shown only when asked for: what fewer visitors filter by. */
  more?: boolean;
  of: (server: ServerEntry) => string[];
}

export const FILTERS: Filter[] = [
  { key: "language", name: "language", about: "The language in which the server's program is written.", of: (s) => [s.language] },
  { key: "kind", name: "kind", about: "How much the server's framework does. platform: the language's own HTTP library, or one as low. micro: a small framework with routing. full: a framework with routing, templates, sessions and access to a database.", of: (s) => (s.kind ? [s.kind] : []) },
  { key: "tag", name: "tag", about: "idiomatic: written and deployed as the framework's documentation recommends. tuned: with settings that most users do not make. quick: in the plan of the first minutes. Other tags name a variant of a server, such as its event loop or a mode for development.", of: (s) => s.tags },
  { key: "framework", name: "framework", about: "The framework that the program uses.", more: true, of: (s) => (s.framework ? [s.framework] : []) },
  { key: "engine", name: "engine", about: "What speaks HTTP underneath the framework.", more: true, of: (s) => (s.engine ? [s.engine] : []) },
  { key: "source", name: "published in source", about: "The sources: documents that published a figure of this server.", more: true, of: (s) => s.sources },
];

export function chosen(query: Query, key: string): string[] {
  return (query[key] ?? "").split("|").filter(Boolean);
}

/** The names of the filters that an address chooses values of. */
export const activeFilters = (query: Query): string[] => FILTERS.filter(({ key }) => chosen(query, key).length > 0).map(({ name }) => name);

/** The choices of a page without those that filter servers by what they are or what they are called. */
export const withoutFilters = (query: Query): Query => ({ ...query, ...Object.fromEntries(FILTERS.map(({ key }) => [key, ""])), q: "" });

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
