// Loads of a round that differ in the offered rate alone: the steps of a load curve.
import type { RoundPage, TablePage } from "./wire";

export const isStep = (table: TablePage): boolean => table.load.kind === "open" && !!table.load.rate_per_s;

/** What a load curve has in common with the closed loops and searches that stand in it. */
const setting = ({ workload, form, machine, load }: TablePage) => [workload, form, machine, load.http, load.tls, load.protocol, load.stream, load.database];

const key = (table: TablePage): string => {
  const { load } = table;
  return JSON.stringify([...setting(table), load.connections, load.depth, load.arrivals, load.no_keep_alive, load.requests_per_connection, load.balanced, load.variant?.kind, load.tool?.split(" ")[0]]);
};

export const isSameSetting = (a: TablePage, b: TablePage): boolean => JSON.stringify(setting(a)) === JSON.stringify(setting(b));

/** The steps that a table is one of, each rate once, the lowest first. */
export function stepsOf(round: RoundPage, table: TablePage | undefined): TablePage[] {
  if (!table) return [];
  const once = (other: TablePage, at: number, all: TablePage[]) => all.findIndex((t) => t.load.rate_per_s === other.load.rate_per_s) === at;
  const alike = round.tables.filter((other) => isStep(other) && key(other) === key(table));
  return alike.filter(once).sort((a, b) => (a.load.rate_per_s ?? 0) - (b.load.rate_per_s ?? 0));
}

/** Whether a table is on a load curve: it takes two rates. */
export const isOnCurve = (round: RoundPage, table: TablePage): boolean => isStep(table) && stepsOf(round, table).length > 1;
