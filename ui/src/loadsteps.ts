// Loads of a round that differ in the offered rate alone: the steps of a load curve.
import type { RoundPage, TablePage } from "./wire";

export const isStep = (table: TablePage): boolean => table.load.kind === "open" && !!table.load.rate_per_s;

const key = ({ workload, form, machine, load }: TablePage): string =>
  JSON.stringify([workload, form, machine, load.connections, load.depth, load.http, load.tls, load.protocol, load.no_keep_alive, load.requests_per_connection, load.balanced, load.variant?.kind]);

/** The steps that a table is one of, each rate once, the lowest first. */
export function stepsOf(round: RoundPage, table: TablePage | undefined): TablePage[] {
  if (!table) return [];
  const once = (other: TablePage, at: number, all: TablePage[]) => all.findIndex((t) => t.load.rate_per_s === other.load.rate_per_s) === at;
  const alike = round.tables.filter((other) => isStep(other) && key(other) === key(table));
  return alike.filter(once).sort((a, b) => (a.load.rate_per_s ?? 0) - (b.load.rate_per_s ?? 0));
}

/** Whether a table is on a load curve: it takes two rates. */
export const isOnCurve = (round: RoundPage, table: TablePage): boolean => isStep(table) && stepsOf(round, table).length > 1;
