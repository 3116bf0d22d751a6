// The servers that charts of several runs show: those in the address, else the first few of the table.
import type { RoundPage, RowPage, RunPage, TablePage, TrialEntry } from "./wire";
import type { Query } from "./route.svelte";
import { loadRuns } from "./api";
import { matches } from "./filters";

/** The servers that are drawn at most: more lines cannot be told apart. */
export const MOST = 8;

export function pickedServers(round: RoundPage, table: TablePage, query: Query, usual: number): string[] {
  const usable = table.rows.filter((row) => row.trials.some((trial) => trial.counts) && matches(round.servers[row.server]!, query));
  const known = new Set(usable.map((row) => row.server));
  const asked = [...new Set((query["servers"] ?? "").split("|"))].filter((server) => known.has(server));
  return asked.length > 0 ? asked.slice(0, MOST) : usable.slice(0, usual).map((row) => row.server);
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

const countedOf = (row: RowPage): TrialEntry[] => launchesOf(row).filter((trial) => trial.counts);

/** The number of a launch, by which every page names it: that of its repeat, also where an earlier one has no result. */
export const launchNumber = (trial: { repeat: number }): number => trial.repeat + 1;

/** The numbers of the launches that count of some rows, in order. */
export const launchNumbers = (rows: RowPage[]): number[] => [...new Set(rows.flatMap(countedOf).map(launchNumber))].sort((a, b) => a - b);

/** Chosen ones of the launches that count of some rows, in one request. */
export async function runsOf(round: RoundPage, rows: RowPage[], chosen: (launches: TrialEntry[]) => TrialEntry[]): Promise<{ row: RowPage; runs: RunPage[] }[]> {
  const wanted = rows.map((row) => ({ row, ids: chosen(countedOf(row)).map((trial) => trial.id) }));
  const runs = await loadRuns(round.about.id, wanted.flatMap(({ ids }) => ids));
  let from = 0;
  return wanted.map(({ row, ids }) => ({ row, runs: runs.slice(from, (from += ids.length)) }));
}
