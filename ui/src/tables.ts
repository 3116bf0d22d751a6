// Which table of a round is shown: chosen by workload, load, form and machine, each from what there is.
import type { Load, RoundPage, TablePage } from "./wire";
import type { Query } from "./route.svelte";
import { formText, loadText, words } from "./format";

export interface Choice {
  key: "workload" | "database" | "load" | "form" | "machine";
  name: string;
  value: string;
  options: { value: string; text: string }[];
}

const KEYS = ["workload", "database", "form", "load", "machine"] as const;

/** The name of a table's database; empty without one. */
export const databaseOf = (table: TablePage): string => table.load.database?.database ?? "";

/** What an address calls the database of a load: no database is a choice too. */
export const databaseKey = (load: Load): string => load.database?.database || "none";

/** The databases of a round, for a filter and for headings; empty if none or only one was measured. */
export function databasesOf(round: RoundPage): string[] {
  const found = [...new Set(round.tables.map(databaseOf))];
  return found.length > 1 ? found.sort() : [];
}

export const databaseText = (database: string): string => database || "no database";

/** The name of a server of a round; its id where the round does not know it. */
export const serverName = (round: RoundPage, server: string): string => round.servers[server]?.name ?? server;

/** The words of a load without the name of its database. */
const withoutName = (load: Load): string => loadText(load, false);

/** The words of a load without its database. */
function withoutDatabase({ database: _, ...load }: Load): string {
  return loadText(load);
}

function part(table: TablePage, key: (typeof KEYS)[number]): string {
  return key === "load" ? table.load.name : key === "database" ? databaseKey(table.load) : table[key];
}

/** The table that the address asks for, or the nearest there is; and the choices that lead to others. */
export function chooseTable(round: RoundPage, query: Query, wanted: (table: TablePage) => boolean = () => true): { table: TablePage | undefined; choices: Choice[] } {
  let left = round.tables.filter(wanted);
  // A load is named for its database too: with another database, the load of the same settings is meant.
  const alike = round.tables.find((table) => table.load.name === query["load"]);
  const choices: Choice[] = [];
  for (const key of KEYS) {
    const values = [...new Set(left.map((table) => part(table, key)))];
    const asked = query[key] ?? "";
    // The table with the most servers is shown first.
    const largest = left.reduce<TablePage | undefined>((most, table) => (table.rows.length > (most?.rows.length ?? -1) ? table : most), undefined);
    // Where none has as many connections to its database, one of the same settings otherwise.
    const match = (text: (load: Load) => string) => alike && left.find((table) => text(table.load) === text(alike.load));
    const same = key === "load" ? (match(withoutName) ?? match(withoutDatabase)) : undefined;
    const value = values.includes(asked) ? asked : same ? part(same, key) : largest ? part(largest, key) : "";
    const texts = values.map((v) => {
      const load = left.find((table) => table.load.name === v)?.load;
      return key === "load" && load ? withoutName(load) : key === "machine" ? `machine ${v}` : key === "form" ? formText(v) : words(v);
    });
    // Loads with equal settings, as in two plans of a source, differ only in their names.
    const options = values.map((value, at) => {
      const text = texts[at]!;
      return { value, text: texts.filter((other) => other === text).length > 1 ? `${text} (${words(value)})` : text };
    });
    if (values.length > 1) choices.push({ key, name: key, value, options });
    left = left.filter((table) => part(table, key) === value);
  }
  return { table: left[0], choices };
}
