// The servers that charts of several runs show: those in the address, else the first few of the table.
import type { RoundPage, RowPage, RunPage, TablePage, TrialEntry } from "./wire";
import type { Query } from "./route.svelte";
import { loadRuns } from "./api";
import { matches } from "./filters";

export function pickedServers(round: RoundPage, table: TablePage, query: Query, usual: number): string[] {
  const usable = table.rows.filter((row) => row.trials.some((trial) => trial.counts) && matches(round.servers[row.server]!, query));
  const known = new Set(usable.map((row) => row.server));
  const asked = [...new Set((query["servers"] ?? "").split("|"))].filter((server) => known.has(server));
  return asked.length > 0 ? asked : usable.slice(0, usual).map((row) => row.server);
}

/** The trials of a row, one for each launch: the one that counts, or the last attempt where none does. */
export function launchesOf(row: RowPage): TrialEntry[] {
  const launches = new Map<number, TrialEntry>();
  for (const trial of row.trials) if (!launches.get(trial.repeat)?.counts) launches.set(trial.repeat, trial);
  return [...launches.values()].sort((a, b) => a.repeat - b.repeat);
}

/** The trial of a row to look at: the first that counts, if there is one. */
export const firstTrial = (row: RowPage): TrialEntry | undefined => {
  const launches = launchesOf(row);
  return launches.find((trial) => trial.counts) ?? launches[0];
};

/** The ids of the runs of a row that count, one for each launch. */
export const runIds = (row: RowPage): string[] => launchesOf(row).filter((trial) => trial.counts).map((trial) => trial.id);

/** Chosen runs of some rows, in one request. */
export async function runsOf(round: RoundPage, rows: RowPage[], chosen: (ids: string[]) => string[]): Promise<{ row: RowPage; runs: RunPage[] }[]> {
  const wanted = rows.map((row) => ({ row, ids: chosen(runIds(row)) }));
  const runs = await loadRuns(round.about.id, wanted.flatMap(({ ids }) => ids));
  let from = 0;
  return wanted.map(({ row, ids }) => ({ row, runs: runs.slice(from, (from += ids.length)) }));
}
