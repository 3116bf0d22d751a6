// Percentiles of one server against the offered rate.
import * as Plot from "@observablehq/plot";
import type { TablePage } from "../wire";
import { rate, time } from "../format";
import { counts } from "../ranking";
import { draw, rateTick, timeAxis } from "./plot";
import type { ChartSource } from "./source";

const LINES = [
  { metric: "time_ns_p50", name: "p50", colour: "var(--c0)" },
  { metric: "time_ns_p99", name: "p99", colour: "var(--c4)" },
  { metric: "time_ns_p99_9", name: "p99.9", colour: "var(--c1)" },
] as const;

export function loadCurve(steps: TablePage[], closed: TablePage[], server: string): ChartSource {
  const rowOf = (table: TablePage) => table.rows.find((row) => row.server === server);
  const points = LINES.flatMap((line) =>
    steps.flatMap((step) => {
      const row = rowOf(step);
      const value = row?.values[line.metric];
      return row && value ? [{ ...line, x: step.load.rate_per_s ?? 0, y: value.estimate, low: value.low, high: value.high, sound: counts(row) && !value.too_few }] : [];
    }),
  );
  const reached = closed.flatMap((table) => rowOf(table)?.values["achieved_per_s"]?.estimate ?? []);
  // An interval from few launches may be far wider than all that was seen.
  const lowest = Math.max(Math.min(...points.map((p) => p.low)), Math.min(...points.map((p) => p.y)) / 3);
  const highest = Math.min(Math.max(...points.map((p) => p.high)), Math.max(...points.map((p) => p.y)) * 3);
  const within = (time: number) => Math.min(Math.max(time, lowest * 0.8), highest * 1.2);
  const far = Math.max(...steps.map((step) => step.load.rate_per_s ?? 0), ...reached) * 1.05;
  return {
    draw: (width, height) =>
      draw({
        width, height, marginLeft: 64, marginRight: 48,
        x: { domain: [0, far], label: "offered requests/s", tickFormat: rateTick, ticks: Math.max(Math.floor(width / 90), 3) },
        y: points.length > 0 ? timeAxis("↑ time", lowest * 0.8, highest * 1.2) : {},
        marks: [
          Plot.ruleX(reached, { y1: 0, stroke: "var(--muted)", strokeDasharray: "2 3" }),
          ...LINES.flatMap((line): Plot.Markish[] => {
            const own = points.filter((p) => p.metric === line.metric);
            return [
              Plot.line(own, { x: "x", y: "y", stroke: line.colour, strokeWidth: 2 }),
              Plot.link(own, { x1: "x", x2: "x", y1: (p: { low: number }) => within(p.low), y2: (p: { high: number }) => within(p.high), stroke: line.colour, strokeWidth: 1.5 }),
              Plot.dot(own, { x: "x", y: "y", r: 4, fill: (p: { sound: boolean }) => (p.sound ? line.colour : "var(--ground)"), stroke: line.colour, strokeWidth: 2 }),
              Plot.text(own.slice(-1), { x: "x", y: "y", text: () => line.name, dx: 8, textAnchor: "start", fill: "var(--text)" }),
            ];
          }),
        ],
        color: { type: "identity" },
      }),
    table: () => ({ columns: ["offered requests/s", "percentile", "time", "lowest launch", "highest launch"], rows: points.map((p) => [rate(p.x), p.name, time(p.y), time(p.low), time(p.high)]) }),
  };
}
