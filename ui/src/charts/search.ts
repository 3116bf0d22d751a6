// The windows of a search for the capacity: what was offered in each and whether it met the objective. The
// drawing is in the file of the drawing library.
import type { FoundCapacity } from "../wire";
import { rate } from "../format";
import { Plot, rateTick } from "./plot";
import type { ChartSource } from "./source";

const COLOURS: Record<string, string> = { pass: "var(--c0)", miss: "var(--bad)" };

export function search(found: FoundCapacity): ChartSource {
  const windows = found.windows.map((one, at) => ({ ...one, number: at + 1, colour: COLOURS[one.outcome] ?? "var(--muted)" }));
  const range = found.interval_per_s;
  return {
    note: "Each window of the search in order. Blue: it met the objective. Red and hollow: it did not. Small and grey: it was disturbed and does not count. Band: the 95 % interval of the capacity.",
    draw: (width, height) => Plot.searched(windows, range, found.half_pass_per_s, rateTick, width, height),
    table: () => ({
      columns: ["window", "offered requests/s", "achieved requests/s", "outcome"],
      rows: windows.map((one) => [one.number, rate(one.offered_per_s), rate(one.achieved_per_s), one.outcome]),
    }),
  };
}
