// Percentiles of one server against the offered rate, with the objective, the capacity that it leaves and the rate that a
// closed loop reached.
import type { RowPage, TablePage } from "../wire";
import { rate, time } from "../format";
import { isSound, validValue } from "../ranking";
import { Plot, rateTick, timeAxis, timeTick, type Markish } from "./plot";
import { PERCENTILES } from "./percentiles";
import type { ChartSource } from "./source";

/** What a server has to keep to: the time that this share of the requests may take at most. */
export interface Objective {
  metric: string;
  name: string;
  share: number;
  ns: number;
}

/** The highest rate that met the objective and the lowest that did not; the capacity lies between. */
export interface Capacity {
  met: number | null;
  missed: number | null;
  /** Whether every rate met it. */
  every: boolean;
}

const rowOf = (table: TablePage, server: string) => table.rows.find((row) => row.server === server);
const offered = (table: TablePage) => table.load.rate_per_s ?? 0;

/**
 * Whether a row met an objective; null where that is open. Every launch counts, so the upper end has to be at or below
 * the limit, and for a miss the lower end above it. A failed request counts as one that took too long: with more of them
 * than the objective leaves the row missed it, and with fewer the percentile of the others does not prove that it met it.
 */
function met(row: RowPage | undefined, objective: Objective): boolean | null {
  if (!row || !isSound(row)) return row?.standing === "overloaded" ? false : null;
  const failed = row.values["not_ok_share"]?.estimate ?? 0;
  if (failed > 1 - objective.share) return false;
  const value = validValue(row, objective.metric);
  if (!value || value.too_few) return null;
  if (value.low > objective.ns) return false;
  return failed === 0 && !value.at_least && value.high <= objective.ns ? true : null;
}

export function capacity(steps: TablePage[], server: string, objective: Objective): Capacity {
  const all = steps.map((step) => ({ rate: offered(step), is: met(rowOf(step, server), objective) }));
  const missed = all.find((step) => step.is === false)?.rate ?? null;
  const before = all.filter((step) => step.is && (missed === null || step.rate < missed));
  return { met: before[before.length - 1]?.rate ?? null, missed, every: all.every((step) => step.is) };
}

export function capacityText({ met, missed, every }: Capacity, objective: Objective): string {
  const goal = `${objective.name} ≤ ${timeTick(objective.ns)}`;
  if (met === null && missed === null) return `The capacity for ${goal} is not known.`;
  if (met === null) return `Capacity below ${rate(missed!)}/s for ${goal}.`;
  if (missed === null) return `Capacity at least ${rate(met)}/s for ${goal}${every ? ": every rate met it" : ""}.`;
  return `Capacity between ${rate(met)} and ${rate(missed)}/s for ${goal}.`;
}

/** What a search of the same cell found: the capacity and its interval. */
function searched(searches: TablePage[], server: string): { at: number; low: number; high: number; objective: string } | null {
  for (const table of searches) {
    const value = rowOf(table, server)?.values["capacity_per_s"];
    if (value) return { at: value.estimate, low: value.low, high: value.high, objective: table.load.capacity?.objective ?? "" };
  }
  return null;
}

interface Loads {
  steps: TablePage[];
  closed: TablePage[];
  searches: TablePage[];
}

type Points = ReturnType<typeof pointsOf>;

function pointsOf(steps: TablePage[], server: string) {
  return PERCENTILES.flatMap((line) =>
    steps.flatMap((step) => {
      const row = rowOf(step, server);
      const value = row?.values[line.metric];
      return row && value && value.estimate > 0 ? [{ ...line, x: offered(step), y: value.estimate, low: value.low, high: value.high, sound: isSound(row) && !value.too_few }] : [];
    }),
  );
}

/** A chart for each server, all with the same axis of times. */
export function loadCurves(loads: Loads, servers: string[], objective: Objective): ChartSource[] {
  const points = servers.map((server) => pointsOf(loads.steps, server));
  const all = points.flat();
  // An interval from few launches may be far wider than all that was seen.
  const lowest = Math.max(Math.min(...all.map((p) => p.low)), Math.min(...all.map((p) => p.y)) / 3);
  const highest = Math.max(Math.min(Math.max(...all.map((p) => p.high)), Math.max(...all.map((p) => p.y)) * 3), objective.ns);
  return servers.map((server, at) => loadCurve(loads, server, points[at]!, objective, lowest, highest));
}

function loadCurve({ steps, closed, searches }: Loads, server: string, points: Points, objective: Objective, lowest: number, highest: number): ChartSource {
  const reached = closed.flatMap((table) => rowOf(table, server)?.values["achieved_per_s"]?.estimate ?? []);
  const within = (ns: number) => Math.min(Math.max(ns, lowest * 0.8), highest * 1.2);
  const search = searched(searches, server);
  // Of the label of the objective, which stands at the left: above the line unless a point is there.
  const above = (ns: number) => ns >= objective.ns * 0.9 && Math.log(ns / objective.ns) < (22 / 260) * Math.log((highest * 1.2) / (lowest * 0.8));
  const far = Math.max(...steps.map(offered), ...reached, search?.high ?? 0) * 1.05;
  const limits = capacity(steps, server, objective);
  const range = search && (search.high > search.low ? ` (${rate(search.low)} to ${rate(search.high)})` : "");
  return {
    note: `${capacityText(limits, objective)}${search ? ` A search found ${rate(search.at)}/s${range} for ${search.objective}.` : ""}`,
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64, marginRight: 48, marginBottom: 40,
        x: { domain: [0, far], label: "offered requests/s", tickFormat: rateTick, ticks: Math.max(Math.floor(width / 90), 3) },
        y: points.length > 0 ? timeAxis("↑ time", lowest * 0.8, highest * 1.2) : {},
        marks: [
          ...(points.length > 0 && limits.missed !== null
            ? [Plot.rect([{ x1: limits.met ?? 0, x2: limits.missed, y1: lowest * 0.8, y2: highest * 1.2 }], { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--accent-pale)" })]
            : []),
          ...(points.length > 0 && search
            ? [
                Plot.rect([search], { x1: "low", x2: "high", y1: () => lowest * 0.8, y2: () => highest * 1.2, fill: "var(--c2)", fillOpacity: 0.16 }),
                Plot.ruleX([search.at], { stroke: "var(--c2)", strokeWidth: 2 }),
                Plot.text([search.at], { x: (x: number) => x, frameAnchor: "bottom", text: () => "search", dy: -6, dx: -4, textAnchor: "end", fill: "var(--text)" }),
              ]
            : []),
          ...(points.length > 0 ? [Plot.ruleY([objective.ns], { stroke: "var(--bad)", strokeDasharray: "6 3" })] : []),
          // The tick of the closed loop stands on the axis.
          Plot.ruleX(reached, { stroke: "var(--muted)", strokeDasharray: "2 3" }),
          Plot.text(reached.slice(0, 1), { x: (x: number) => x, frameAnchor: "top", text: () => "closed loop", dy: -8, fill: "var(--muted)" }),
          ...PERCENTILES.flatMap((line): Markish[] => {
            const own = points.filter((p) => p.metric === line.metric);
            return [
              Plot.line(own, { x: "x", y: "y", stroke: line.colour, strokeWidth: 2 }),
              Plot.link(own, { x1: "x", x2: "x", y1: (p: { low: number }) => within(p.low), y2: (p: { high: number }) => within(p.high), stroke: line.colour, strokeWidth: 1.5 }),
              Plot.dot(own, { x: "x", y: "y", r: 4, fill: (p: { sound: boolean }) => (p.sound ? line.colour : "var(--ground)"), stroke: line.colour, strokeWidth: 2 }),
            ];
          }),
          // Over the lines, with an edge in the colour of the ground, so that they do not cross it.
          ...(points.length > 0
            ? [Plot.text([objective.ns], { x: 0, y: (ns: number) => ns, text: () => `objective ${objective.name} ≤ ${timeTick(objective.ns)}`, dy: points.some((p) => p.x < far * 0.4 && above(p.y)) ? 9 : -7, dx: 4, textAnchor: "start", fill: "var(--bad)", stroke: "var(--ground)", strokeWidth: 4 })]
            : []),
          ...labels(points, lowest, highest, height).map((l) => Plot.text([l], { x: "x", y: "at", text: () => l.name, dx: 8, textAnchor: "start", fill: "var(--text)" })),
        ],
        color: { type: "identity" },
      }),
    table: () => ({ columns: ["offered requests/s", "percentile", "time", "lower end", "upper end"], rows: points.map((p) => [rate(p.x), p.name, time(p.y), time(p.low), time(p.high)]) }),
  };
}

/** The name of each line at its right end, moved apart. */
function labels<T extends { metric: string; y: number }>(points: T[], low: number, high: number, height: number): (T & { at: number })[] {
  const ends = PERCENTILES.flatMap((line) => points.filter((p) => p.metric === line.metric).slice(-1));
  return Plot.spread(ends, low * 0.8, high * 1.2, height - 48);
}
