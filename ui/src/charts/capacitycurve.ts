// Response times of a search for the capacity against the offered rate: the load-response curve, the windows of the
// search, the interval of the capacity and the objective.
import type { CapacityPage } from "../wire";
import { rate, significant, time } from "../format";
import { Plot, rateTick, timeAxis, timeTick, type Markish } from "./plot";
import type { ChartSource } from "./source";

const OUTCOMES: Record<string, string> = { pass: "met", miss: "missed", void: "disturbed" };
const UNITS: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9 };

/** The limits on times of all responses: `response.p99<10ms`. */
export function limits({ objective }: CapacityPage): { name: string; ns: number }[] {
  return objective.slos.flatMap((slo) => {
    const found = /^response\.(\S+?)<=?([\d.]+)(ns|us|µs|ms|s|m)$/.exec(slo);
    return found ? [{ name: found[1]!, ns: Number(found[2]) * UNITS[found[3]!]! }] : [];
  });
}

interface Point {
  x: number;
  p50: number;
  p99: number;
  outcome: string;
  source: string;
}

export function capacityCurve(page: CapacityPage): ChartSource | null {
  const of = (source: string, all: { offered_per_s: number; outcome: string; response_time_ns: { p50: number; p99: number } | null }[]): Point[] =>
    all.flatMap(({ offered_per_s, outcome, response_time_ns: times }) => (times && times.p50 > 0 ? [{ x: offered_per_s, p50: times.p50, p99: times.p99, outcome, source }] : []));
  const curve = of("curve", page.curve);
  const windows = of("search", page.windows);
  const points = [...curve, ...windows];
  if (points.length === 0) return null;
  const asked = limits(page);
  const low = Math.min(...points.map((p) => p.p50)) * 0.8;
  const high = Math.max(...points.map((p) => p.p99), ...asked.map((limit) => limit.ns)) * 1.3;
  const range = page.interval_per_s;
  const marked = [
    { name: "closed loop", x: page.closed_loop_per_s },
    ...(page.knee_per_s === null ? [] : [{ name: "knee", x: page.knee_per_s }]),
  ];
  const far = Math.max(...points.map((p) => p.x), page.closed_loop_per_s, range?.high ?? 0) * 1.05;
  const middle = curve[Math.floor(curve.length / 2)];
  return {
    note: `Lines: the load-response curve, median and p99. Dots: p99 of each window of the search; filled: it met the objective, hollow: it did not, small and grey: disturbed.${range ? " Band: the 95 % interval of the capacity." : ""}`,
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64, marginRight: 48, marginTop: 24, marginBottom: 40,
        x: { domain: [0, far], label: `offered ${page.unit}/s`, tickFormat: rateTick, ticks: Math.max(Math.floor(width / 90), 3) },
        y: timeAxis("↑ time", low, high),
        marks: [
          ...(range ? [Plot.rect([range], { x1: "low", x2: "high", y1: () => low, y2: () => high, fill: "var(--accent-pale)" })] : []),
          ...(page.half_pass_per_s === null ? [] : [Plot.ruleX([page.half_pass_per_s], { stroke: "var(--accent)", strokeWidth: 2 })]),
          Plot.ruleX(marked, { x: "x", stroke: "var(--muted)", strokeDasharray: "2 3" }),
          ...marked.map((one, at) => Plot.text([one], { x: "x", frameAnchor: "top", text: () => one.name, dy: at === 0 ? -10 : -20, textAnchor: one.x > far * 0.85 ? "end" : "middle", fill: "var(--muted)" })),
          ...asked.map((limit): Markish => Plot.ruleY([limit.ns], { stroke: "var(--bad)", strokeDasharray: "6 3" })),
          Plot.line(curve, { x: "x", y: "p99", stroke: "var(--c4)", strokeWidth: 2 }),
          Plot.line(curve, { x: "x", y: "p50", stroke: "var(--c0)", strokeWidth: 2 }),
          Plot.dot(curve, { x: "x", y: "p50", r: 3, fill: "var(--c0)" }),
          Plot.dot(points, { x: "x", y: "p99", r: (p: Point) => (p.outcome === "void" ? 2.5 : 4), strokeWidth: 2, stroke: (p: Point) => (p.outcome === "void" ? "var(--muted)" : "var(--c4)"), fill: (p: Point) => (p.outcome === "pass" ? "var(--c4)" : "var(--ground)") }),
          ...asked.map((limit): Markish => Plot.text([limit], { x: 0, y: "ns", text: () => `objective ${limit.name} < ${timeTick(limit.ns)}`, dy: -7, dx: 4, textAnchor: "start", fill: "var(--bad)", stroke: "var(--ground)", strokeWidth: 4 })),
          ...(middle ? (["p50", "p99"] as const).map((name) => Plot.text([middle], { x: "x", y: name, text: () => name, dy: name === "p50" ? -11 : 13, fill: "var(--text)", stroke: "var(--ground)", strokeWidth: 3 })) : []),
        ],
        color: { type: "identity" },
      }),
    table: () => ({
      columns: [`offered ${page.unit}/s`, "part", "objective", "p50", "p99"],
      rows: [...points].sort((a, b) => a.x - b.x).map((p) => [rate(p.x), p.source, OUTCOMES[p.outcome] ?? p.outcome, time(p.p50), time(p.p99)]),
    }),
  };
}

/** Cores that the server used at each rate of the curve. */
export function coresCurve(page: CapacityPage): ChartSource | null {
  const points = page.curve.flatMap(({ offered_per_s: x, server_cores_used: y }) => (y === null || y === undefined ? [] : [{ x, y }]));
  if (points.length < 2) return null;
  return {
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64, marginBottom: 40,
        x: { domain: [0, Math.max(...points.map((p) => p.x)) * 1.05], label: `offered ${page.unit}/s`, tickFormat: rateTick, ticks: Math.max(Math.floor(width / 90), 3) },
        y: { grid: true, label: null, domain: [0, Math.max(...points.map((p) => p.y)) * 1.05], ticks: 5, tickFormat: (v: number) => significant(v, 2) },
        marks: [Plot.line(points, { x: "x", y: "y", stroke: "var(--c0)", strokeWidth: 2 }), Plot.dot(points, { x: "x", y: "y", r: 3.5, fill: "var(--c0)" }), Plot.ruleY([0], { stroke: "var(--rule)" })],
      }),
    table: () => ({ columns: [`offered ${page.unit}/s`, "cores busy"], rows: points.map((p) => [rate(p.x), p.y]) }),
  };
}
