// A run in progress: rate and times of the seconds so far.
import type { LiveSecond } from "../wire";
import { Plot, bytesTick, rateTick, timeAxis } from "./plot";
import { significant } from "../format";
import type { ChartSource } from "./source";

const shown = (seconds: LiveSecond[]) => seconds.filter((s) => s.phase === "window" || s.phase === "warmup");

export function liveRate(all: LiveSecond[]): ChartSource {
  const seconds = shown(all);
  return {
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64,
        x: { label: "seconds" },
        y: { grid: true, label: null, domain: [0, Math.max(1, ...seconds.map((s) => Math.max(s.achieved_per_s, s.offered_per_s ?? 0))) * 1.05], tickFormat: rateTick, ticks: 5 },
        marks: [
          Plot.lineY(seconds.filter((s) => s.offered_per_s), { x: "start_s", y: "offered_per_s", stroke: "var(--muted)", strokeDasharray: "4 3" }),
          Plot.lineY(seconds, { x: "start_s", y: "achieved_per_s", stroke: "var(--c0)", strokeWidth: 2 }),
          Plot.ruleY([0], { stroke: "var(--rule)" }),
        ],
      }),
    table: () => ({ columns: ["second", "requests/s"], rows: seconds.map((s) => [s.start_s, s.achieved_per_s]) }),
  };
}

/** Requests of a second that did not end well. */
export const failedIn = (s: LiveSecond): number => s.bad_status + s.bad_body + s.connect_failed + s.io_failed + s.timed_out + s.unsent;

/** One line over the seconds, from zero on. */
function live(all: LiveSecond[], column: string, least: number, tick: (value: number) => string, of: (s: LiveSecond) => number | undefined): ChartSource {
  const points = shown(all).flatMap((s) => {
    const y = of(s);
    return y === undefined ? [] : [{ x: s.start_s, y }];
  });
  return {
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64,
        x: { label: "seconds" },
        y: { grid: true, label: null, domain: [0, Math.max(least, ...points.map((p) => p.y)) * 1.05], tickFormat: tick, ticks: 5 },
        marks: [Plot.lineY(points, { x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 2 }), Plot.ruleY([0], { stroke: "var(--rule)" })],
      }),
    table: () => ({ columns: ["second", column], rows: points.map((p) => [p.x, p.y]) }),
  };
}

export const liveFailed = (all: LiveSecond[]): ChartSource => live(all, "failed", 1, rateTick, failedIn);

/** Cores that the server kept busy. */
export const liveCpu = (all: LiveSecond[]): ChartSource => live(all, "cores busy", 0.1, (v) => significant(v, 2), (s) => s.server_cores_used);

/** Resident memory of the server. */
export const liveMemory = (all: LiveSecond[]): ChartSource => live(all, "bytes", 1, bytesTick, (s) => s.server_rss_bytes);

export function liveTimes(all: LiveSecond[]): ChartSource {
  const seconds = shown(all).flatMap((s) => {
    const p50 = s.response_time_ns_p50 ?? s.service_time_ns_p50;
    const p99 = s.response_time_ns_p99 ?? s.service_time_ns_p99;
    return p50 && p99 ? [{ x: s.start_s, p50, p99 }] : [];
  });
  return {
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 64,
        x: { label: "seconds" },
        y: timeAxis("↑ time", Math.min(...seconds.map((s) => s.p50)) * 0.8, Math.max(...seconds.map((s) => s.p99)) * 1.3),
        marks: [
          Plot.lineY(seconds, { x: "x", y: "p99", stroke: "var(--c1)", strokeDasharray: "3 3", strokeWidth: 1.5 }),
          Plot.lineY(seconds, { x: "x", y: "p50", stroke: "var(--c0)", strokeWidth: 2 }),
        ],
      }),
    table: () => ({ columns: ["second", "p50 ns", "p99 ns"], rows: seconds.map((s) => [s.x, s.p50, s.p99]) }),
  };
}
