// The windows of a search for the capacity: what was offered in each and whether it met the objective.
import type { FoundCapacity } from "../wire";
import { rate } from "../format";
import { Plot, draw, rateTick } from "./plot";
import type { ChartSource } from "./source";

const COLOURS: Record<string, string> = { pass: "var(--c0)", miss: "var(--bad)" };

export function search(found: FoundCapacity): ChartSource {
  const windows = found.windows.map((one, at) => ({ ...one, number: at + 1, colour: COLOURS[one.outcome] ?? "var(--muted)" }));
  const range = found.interval_per_s;
  const most = Math.max(1, ...windows.map((one) => one.offered_per_s), range?.high ?? 0) * 1.05;
  return {
    note: "Each window of the search in order. Blue: it met the objective. Red and hollow: it did not. Small and grey: it was disturbed and does not count. Band: the 95 % interval of the capacity.",
    draw: (width, height) =>
      draw({
        width, height, marginLeft: 64,
        x: { label: "window", domain: [0.5, windows.length + 0.5], ticks: Math.min(windows.length, Math.floor(width / 48)), tickFormat: (at: number) => (Number.isInteger(at) ? String(at) : "") },
        y: { grid: true, label: "↑ offered requests/s", domain: [0, most], ticks: 5, tickFormat: rateTick },
        marks: [
          ...(range ? [Plot.rect([range], { x1: () => 0.5, x2: () => windows.length + 0.5, y1: "low", y2: "high", fill: "var(--accent-pale)" })] : []),
          ...(found.half_pass_per_s === null ? [] : [Plot.ruleY([found.half_pass_per_s], { stroke: "var(--accent)", strokeDasharray: "4 3" })]),
          Plot.dot(windows, { x: "number", y: "offered_per_s", r: (one: { outcome: string }) => (one.outcome === "void" ? 2.5 : 4.5), stroke: "colour", strokeWidth: 2, fill: (one: { outcome: string; colour: string }) => (one.outcome === "pass" ? one.colour : "var(--ground)") }),
          Plot.ruleY([0], { stroke: "var(--rule)" }),
        ],
        color: { type: "identity" },
      }),
    table: () => ({
      columns: ["window", "offered requests/s", "achieved requests/s", "outcome"],
      rows: windows.map((one) => [one.number, rate(one.offered_per_s), rate(one.achieved_per_s), one.outcome]),
    }),
  };
}
