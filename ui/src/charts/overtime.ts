// Rates, times, errors, CPU, memory and threads over the seconds of one or several runs.
import type { Measured, MetricLine, RunPage, Stretch, UsagePoint } from "../wire";
import { significant, time } from "../format";
import { Plot, bytesTick, rateTick, timeAxis, timeTick, type Markish, type ScaleOptions } from "./plot";
import { markSymbol, type ChartSource, type Line } from "./source";

export interface Series extends Line {
  run: RunPage;
}

interface Point {
  x: number;
  y: number;
}

/** What can be drawn over time. */
export type Over = "rate" | "times" | "errors" | "cpu" | "memory" | "threads" | "lag" | "generator";

export const TITLES: Record<Over, string> = {
  rate: "Requests per second",
  times: "Time: median (solid), p99 (dashed)",
  errors: "Failed requests per second",
  cpu: "Server CPU, cores busy",
  memory: "Server memory",
  threads: "Server threads",
  lag: "Generator lag, p99",
  generator: "Generator CPU, cores busy, spinning included",
};

/** The least and the greatest of many values: a call with each as an argument fails from 65,536 of them. */
function range(values: number[]): { low: number; high: number } {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return { low, high };
}

const seconds = (run: RunPage): Stretch[] => (run.measured?.seconds ?? []).filter((s) => s.phase !== "drain");
const samples = (series: Series): UsagePoint[] => series.run.usage_points;

/** A value of each second. Where there is none, as in a pause without responses, it is NaN, which interrupts the line. */
function points(run: RunPage, of: (second: Stretch) => number | undefined): Point[] {
  return seconds(run).map((second) => ({ x: second.start_s + second.length_s / 2, y: of(second) ?? NaN }));
}

/** The lines of a chart: solid ones, and dashed ones for p99. */
function lines(over: Over, series: Series): { solid: Point[]; dashed: Point[] } {
  switch (over) {
    case "rate":
      return { solid: points(series.run, (s) => s.ok_per_s), dashed: [] };
    case "errors":
      return { solid: points(series.run, (s) => s.not_ok_per_s), dashed: [] };
    case "times":
      return { solid: points(series.run, (s) => s.p50), dashed: points(series.run, (s) => s.p99) };
    case "cpu":
      return { solid: samples(series).map((s) => ({ x: s.at_s, y: s.cores_busy })), dashed: [] };
    case "memory":
      return { solid: samples(series).map((s) => ({ x: s.at_s, y: s.rss_bytes })), dashed: [] };
    case "lag":
      return { solid: points(series.run, (s) => s.lag_p99), dashed: [] };
    case "generator":
      return { solid: (series.run.measured?.generator_points ?? []).map((s) => ({ x: s.at_s, y: s.cores_busy })), dashed: [] };
    case "threads":
      return { solid: samples(series).map((s) => ({ x: s.at_s, y: s.threads })), dashed: [] };
  }
}

/** Marks on a line that tell it apart in greyscale: few, and at other seconds than those of other lines. */
function marks(points: Point[], { colour, mark }: Line): Markish[] {
  if (mark === undefined) return points.length < 40 ? [Plot.dot(points, { x: "x", y: "y", r: 2.5, fill: colour })] : [];
  const step = Math.ceil(points.length / 6);
  const marked = points.filter((_, at) => at % step === Math.floor(((mark % 8) * step) / 8));
  return [Plot.dot(marked, { x: "x", y: "y", r: 4.5, symbol: markSymbol(mark), fill: colour, stroke: "var(--ground)", strokeWidth: 0.75 })];
}

export function hasData(over: Over, all: Series[]): boolean {
  // A constant number of threads is among the figures.
  if (over === "threads") return all.some((series) => new Set(samples(series).map((s) => s.threads)).size > 1);
  return all.some((series) => lines(over, series).solid.some((point) => (over === "errors" ? point.y > 0 : point.y >= 0)));
}

export function overTime(over: Over, all: Series[]): ChartSource {
  const phases = all[0]?.run.measured?.phases;
  const window = phases ? { from: phases.window.start_ns / 1e9, to: phases.window.end_ns / 1e9, begin: phases.warmup.start_ns / 1e9 } : null;
  // A search samples the server during all of its windows; the last one is drawn.
  const inside = (points: Point[]) => points.filter((point) => !window || (point.x >= window.begin && point.x <= window.to));
  const drawn = all.map((series) => { const { solid, dashed } = lines(over, series); return { series, solid: inside(solid), dashed: inside(dashed) }; });
  const { low, high } = range(drawn.flatMap(({ solid, dashed }) => [...solid, ...dashed].map((p) => p.y)).filter((y) => y > 0));
  const y: ScaleOptions =
    over === "times"
      ? timeAxis("↑ time", low * 0.8, high * 1.3)
      : {
          grid: true,
          label: null,
          domain: [0, (Math.max(high, 0) || 1) * 1.05],
          ticks: 5,
          tickFormat: over === "memory" ? bytesTick : over === "lag" ? timeTick : over === "cpu" || over === "generator" ? (v: number) => significant(v, 2) : rateTick,
        };
  return {
    draw: (width, height) => {
      const shade = window && window.from > window.begin ? [Plot.rectX([window], { x1: "begin", x2: "from", fill: "var(--text)", fillOpacity: 0.05 })] : [];
      const label = window && window.from - window.begin > (window.to - window.begin) * 0.12
        ? [Plot.text([window], { x: (w: { begin: number; from: number }) => (w.begin + w.from) / 2, text: () => "warm-up", frameAnchor: "top", dy: -13, fill: "var(--muted)", fontSize: 11 })]
        : [];
      return Plot.draw({
        width, height, marginLeft: 64,
        x: { label: "seconds", grid: false, ...(window ? { domain: [window.begin, window.to] } : {}) },
        y,
        marks: [
          ...shade, ...label,
          ...drawn.flatMap(({ series, solid, dashed }) => [
            Plot.lineY(dashed, { x: "x", y: "y", stroke: series.colour, strokeWidth: 1.5, strokeDasharray: "3 3" }),
            Plot.lineY(solid, { x: "x", y: "y", stroke: series.colour, strokeWidth: 2 }),
            ...(series.mark === undefined ? [] : marks(dashed, series)),
            ...marks(solid, series),
          ]),
          Plot.ruleY([over === "times" ? (y.domain as number[])[0]! : 0], { stroke: "var(--rule)" }),
        ],
      });
    },
    table: () => ({
      columns: ["run", "second", TITLES[over], ...(over === "times" ? ["p99"] : [])],
      rows: drawn.flatMap(({ series, solid, dashed }) => solid.map((p, at) => [series.name, p.x, ...[p, ...dashed.slice(at, at + 1)].map(({ y }) => (y >= 0 ? y : ""))])),
    }),
  };
}

/** A series that the server published, over the same seconds. */
export function metricLine(run: RunPage, line: MetricLine): ChartSource {
  const phases = run.measured?.phases;
  const points = line.points.map(([x, y]) => ({ x, y }));
  const { low, high } = range(points.map((p) => p.y));
  return {
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64,
        x: { label: "seconds", grid: false, ...(phases ? { domain: [phases.warmup.start_ns / 1e9, phases.window.end_ns / 1e9] } : {}) },
        y: { grid: true, label: null, domain: [Math.min(low, 0), Math.max(high, 0) * 1.05], ticks: 4, tickFormat: line.name.includes("bytes") ? bytesTick : (v: number) => significant(v, 2) },
        marks: [
          Plot.lineY(points, { x: "x", y: "y", stroke: "var(--c2)", strokeWidth: 2, clip: true }),
          ...(points.length < 40 ? [Plot.dot(points, { x: "x", y: "y", r: 2.5, fill: "var(--c2)", clip: true })] : []),
          Plot.ruleY([0], { stroke: "var(--rule)" }),
        ],
      }),
    table: () => ({ columns: ["second", metricTitle(line)], rows: points.map((p) => [p.x, p.y]) }),
  };
}

/** `jvm_gc_pause_seconds_sum, per second`. */
export const metricTitle = (line: MetricLine): string => (line.per_second ? `${line.name}, per second` : line.name);

/** Pauses of the garbage collector, at their length where that is in the chart. */
function collections(run: RunPage, low: number, high: number): Markish[] {
  const pauses = (run.measured?.gc_log?.pauses ?? []).map((p) => ({ x: p.at_ns / 1e9, y: p.length_ns })).filter((p) => p.y >= low && p.y <= high);
  return [Plot.dot(pauses, { x: "x", y: "y", symbol: "triangle", r: 3, fill: "var(--bad)", clip: true })];
}
const collectionsText = (measured: Measured): string => ((measured.gc_log?.pauses ?? []).length > 0 ? " Triangles: pauses of the garbage collector, at their length." : "");

/** Each pause of the server, where the responses that waited for it ended; the words stand at the longest. */
function pauses(run: RunPage): Markish[] {
  const all = run.measured?.pauses_at_s ?? [];
  const evidence = run.verdicts.find((verdict) => verdict.name === "outage")?.evidence as Record<string, unknown> | undefined;
  const longest = significant(Number(evidence?.["longest_s"]), 2);
  return [
    Plot.ruleX(all, { stroke: "var(--bad)", strokeDasharray: "2 2" }),
    Plot.text(all.slice(0, 1), { x: (at: number) => at, frameAnchor: "top", text: () => (all.length > 1 ? `longest of ${all.length} pauses: ${longest} s` : `server paused ${longest} s`), dy: -9, fill: "var(--bad)" }),
  ];
}

const isWarmedUp = ({ phases }: Measured): boolean => phases.window.start_ns > phases.warmup.start_ns;
const warmUpText = (measured: Measured): string => (isWarmedUp(measured) ? " The warm-up is left of the vertical line." : "");
const warmUpEnd = (measured: Measured): Markish[] => (isWarmedUp(measured) ? [Plot.ruleX([measured.phases.window.start_ns / 1e9], { stroke: "var(--muted)", strokeDasharray: "2 2" })] : []);

/** How many requests of each second fell into each class of time, with the median and p99 on it. */
export function heatMap(run: RunPage): ChartSource | null {
  const measured = run.measured;
  const heat = measured?.heat;
  if (!measured || !heat) return null;
  const cells = heat.columns.flatMap((column) =>
    column.counts.map((count, at) => ({
      x1: column.start_s, x2: column.end_s, y1: heat.bounds[column.first + at] ?? 1, y2: heat.bounds[column.first + at + 1] ?? 1, count,
    })),
  ).filter((cell) => cell.count > 0);
  const { low, high } = range(cells.flatMap((c) => [c.y1, c.y2]));
  const line = (of: (s: Stretch) => number | undefined) => points(run, (s) => of(s) || NaN);
  const last = (of: (s: Stretch) => number | undefined) => line(of).filter((p) => p.y > 0).slice(-1);
  return {
    note: `Each cell: requests that took this long in this part of the run. A stronger colour means more requests (logarithmic scale). Lines: median and p99.${collectionsText(measured)}${warmUpText(measured)}`,
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64, marginRight: 40,
        x: { label: "seconds", domain: [measured.phases.warmup.start_ns / 1e9, measured.phases.window.end_ns / 1e9] },
        y: timeAxis("↑ time", low, high),
        opacity: { type: "log", range: [0.12, 1] },
        marks: [
          Plot.rect(cells, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fillOpacity: "count", fill: "var(--c0)", insetLeft: 0.5, insetTop: 0.5, clip: true }),
          Plot.lineY(line((s) => s.p99), { x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 1.5, strokeDasharray: "4 3" }),
          Plot.lineY(line((s) => s.p50), { x: "x", y: "y", stroke: "var(--text)", strokeWidth: 1.5 }),
          ...Plot.spread([...last((s) => s.p99).map((p) => ({ ...p, name: "p99" })), ...last((s) => s.p50).map((p) => ({ ...p, name: "p50" }))], low, high, height - 52)
            .map((l) => Plot.text([l], { x: "x", y: "at", text: () => l.name, dx: 8, textAnchor: "start", fill: "var(--text)" })),
          ...warmUpEnd(measured),
          ...collections(run, low, high),
          ...pauses(run),
        ],
      }),
    table: () => ({ columns: ["from second", "to second", "from ns", "to ns", "requests"], rows: cells.map((c) => [c.x1, c.x2, c.y1, c.y2, c.count]) }),
  };
}

/** The names of a fan's lines at its right end, moved apart. */
function names(last: { x2: number; p50: number; p99: number; max: number }, low: number, high: number, height: number) {
  return Plot.spread((["p50", "p99", "max"] as const).map((name) => ({ name, x: last.x2, y: last[name] })), low, high, height - 52);
}

/** Where a run's seconds have no histograms: the range between median and p90, p99 and the maximum, over time. */
export function fan(run: RunPage): ChartSource | null {
  const measured = run.measured;
  const known = (measured?.seconds ?? []).flatMap((s) =>
    s.p50 && s.p99 && s.p90 && s.max && s.phase !== "drain" ? [{ x1: s.start_s, x2: s.start_s + s.length_s, x: s.start_s + s.length_s / 2, p50: s.p50, p90: s.p90, p99: s.p99, max: s.max }] : [],
  );
  if (!measured || known.length < 2) return null;
  const [low, high] = [range(known.map((k) => k.p50)).low * 0.8, range(known.map((k) => k.max)).high * 1.1];
  return {
    note: `Bands: median to p90, p90 to p99, p99 to the highest time of each second.${collectionsText(measured)}${warmUpText(measured)}`,
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64, marginRight: 48,
        x: { label: "seconds" },
        y: timeAxis("↑ time", low, high),
        marks: [
          Plot.rect(known, { x1: "x1", x2: "x2", y1: "p99", y2: "max", fill: "var(--c0)", fillOpacity: 0.13 }),
          Plot.rect(known, { x1: "x1", x2: "x2", y1: "p90", y2: "p99", fill: "var(--c0)", fillOpacity: 0.3 }),
          Plot.rect(known, { x1: "x1", x2: "x2", y1: "p50", y2: "p90", fill: "var(--c0)", fillOpacity: 0.55 }),
          Plot.lineY(points(run, (s) => s.p99), { x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 1.5 }),
          Plot.lineY(points(run, (s) => s.p50), { x: "x", y: "y", stroke: "var(--text)", strokeWidth: 1.5 }),
          ...names(known[known.length - 1]!, low, high, height).map((l) => Plot.text([l], { x: "x", y: "at", text: () => l.name, dx: 4, textAnchor: "start", fill: "var(--text)" })),
          ...warmUpEnd(measured),
          ...collections(run, low, high),
          ...pauses(run),
        ],
      }),
    table: () => ({ columns: ["second", "p50", "p90", "p99", "max"], rows: known.map((k) => [k.x1, time(k.p50), time(k.p90), time(k.p99), time(k.max)]) }),
  };
}
