// The servers that charts of several runs show: those in the address, else the first few of the table.
import type { RoundPage, RowPage, RunPage, TablePage } from "./wire";
import type { Query } from "./route.svelte";
import { loadRuns } from "./api";
import { matches } from "./filters";

export function pickedServers(round: RoundPage, table: TablePage, query: Query, usual: number): string[] {
  const usable = table.rows.filter((row) => row.trials.some((trial) => trial.usable) && matches(round.servers[row.server]!, query));
  const known = new Set(usable.map((row) => row.server));
  const asked = [...new Set((query["servers"] ?? "").split("|"))].filter((server) => known.has(server));
  return asked.length > 0 ? asked : usable.slice(0, usual).map((row) => row.server);
}

/** The ids of the usable runs of a row, one for each launch. */
export function runIds(row: RowPage): string[] {
  return [...new Map(row.trials.filter((trial) => trial.usable).map((trial) => [trial.repeat, trial.id])).values()];
}

/** Chosen runs of some rows, in one request. */
export async function runsOf(round: RoundPage, rows: RowPage[], chosen: (ids: string[]) => string[]): Promise<{ row: RowPage; runs: RunPage[] }[]> {
  const wanted = rows.map((row) => ({ row, ids: chosen(runIds(row)) }));
  const runs = await loadRuns(round.about.id, wanted.flatMap(({ ids }) => ids));
  let from = 0;
  return wanted.map(({ row, ids }) => ({ row, runs: runs.slice(from, (from += ids.length)) }));
}
