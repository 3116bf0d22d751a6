// The servers that charts of several runs show: those in the address, else the first few of the table.
import type { RoundPage, RowPage, RunPage, TablePage } from "./wire";
import type { Query } from "./route.svelte";
import { load } from "./api";
import { matches } from "./filters";

export function pickedServers(round: RoundPage, table: TablePage, query: Query, usual: number): string[] {
  const usable = table.rows.filter((row) => row.trials.some((trial) => trial.usable) && matches(round.servers[row.server]!, query));
  const known = new Set(usable.map((row) => row.server));
  const asked = (query["servers"] ?? "").split("|").filter((server) => known.has(server));
  return asked.length > 0 ? asked : usable.slice(0, usual).map((row) => row.server);
}

/** The usable runs of a row, one for each launch. */
export function runsOf(round: RoundPage, row: RowPage): Promise<RunPage[]> {
  const base = `/api/rounds/${encodeURIComponent(round.about.id)}/runs/`;
  const byRepeat = new Map(row.trials.filter((trial) => trial.usable).map((trial) => [trial.repeat, trial.id]));
  return Promise.all([...byRepeat.values()].map((id) => load<RunPage>(base + encodeURIComponent(id))));
}
