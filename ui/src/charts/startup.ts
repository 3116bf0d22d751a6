// How servers start: the time to the first response, and the rate in each second until it no longer grows.
import type { Figure, StartTable, WarmUpRow } from "../wire";
import { bytes, percent, rate, shownValue, significant, time } from "../format";
import { Plot, rateTick, roomyLog, timeAxis, timeTick, type Markish } from "./plot";
import type { ChartSource, Line, Table } from "./source";

/** The warm-up of one launch, and how its curve is drawn. */
export interface WarmUpCurve extends Line {
  warmUp: { rate_per_s: number[]; steady_after_s?: number | null };
}

export function warmUpCurves(all: WarmUpCurve[]): ChartSource {
  const drawn = all.map((curve) => ({ curve, points: curve.warmUp.rate_per_s.map((y, at) => ({ x: at + 0.5, y })) })).filter(({ points }) => points.length > 1);
  const far = Math.max(1, ...drawn.map(({ points }) => points.length));
  const most = Math.max(1, ...drawn.flatMap(({ points }) => points.map((p) => p.y))) * 1.05;
  /** The point of a line at a moment, between two seconds. */
  const at = (points: { x: number; y: number }[], x: number) => points.reduce((near, p) => (Math.abs(p.x - x) < Math.abs(near.x - x) ? p : near), points[0]!);
  const steady = drawn.flatMap(({ curve, points }) => (typeof curve.warmUp.steady_after_s === "number" ? [{ ...at(points, curve.warmUp.steady_after_s), colour: curve.colour }] : []));
  const ends = drawn.map(({ curve, points }) => ({ ...points[points.length - 1]!, curve }));
  return {
    note: "Responses per second in each second after the start, in a closed loop. Dot: from here on the rate no longer grew by more than 5 %.",
    draw: (width, height) => {
      const { margin: room, fit } = Plot.nameMargin(ends.map((end) => end.curve.name), width, 0.36);
      // Labels stand at the right end, moved apart: the shift is the same on a linear axis from 1.
      const labels = Plot.spread(ends.map((end) => ({ ...end, y: Math.exp((end.y / most) * 5) })), 1, Math.exp(5), height - 48);
      return Plot.draw({
        width, height, marginLeft: 64, marginRight: room, marginBottom: 40,
        x: { label: "seconds since the first request", domain: [0, far] },
        y: { grid: true, label: null, domain: [0, most], ticks: 5, tickFormat: rateTick },
        marks: [
          ...drawn.map(({ curve, points }) => Plot.lineY(points, { x: "x", y: "y", stroke: curve.colour, strokeWidth: 2 })),
          Plot.dot(steady, { x: "x", y: "y", r: 4.5, fill: "colour", stroke: "var(--ground)", strokeWidth: 1.5 }),
          ...labels.flatMap((l): Markish[] => {
            const y = (Math.log(l.at) / 5) * most;
            return [
              Plot.text([l], { x: () => far, y: () => y, text: () => fit(l.curve.name), dx: 14, textAnchor: "start", fill: "var(--text)" }),
              Plot.link([l], { x1: "x", y1: () => l.curve.warmUp.rate_per_s[l.curve.warmUp.rate_per_s.length - 1] ?? 0, x2: () => far, y2: () => y, stroke: l.curve.colour, strokeOpacity: 0.5 }),
            ];
          }),
          Plot.ruleY([0], { stroke: "var(--rule)" }),
        ],
        color: { type: "identity" },
      });
    },
    table: () => ({
      columns: ["launch", "second", "requests/s"],
      rows: drawn.flatMap(({ curve, points }) => points.map((p) => [curve.name, p.x - 0.5, rate(p.y)])),
    }),
  };
}

const typical = (figure: Figure | null | undefined): number | null => (figure ? shownValue(figure) : null);

export const ROW = 26;

/** Times from the start to the first valid response, a row for each server: the first start since the build hollow. */
export function firstAnswers(table: StartTable, name: (server: string) => string): ChartSource {
  const ms = (starts: StartTable["rows"][number]["later"]) => typical(starts?.first_answer_ms);
  const key = (row: StartTable["rows"][number]) => ms(row.later) ?? ms(row.first) ?? Infinity;
  const rows = [...table.rows].sort((a, b) => key(a) - key(b));
  const points = rows.flatMap((row) =>
    [{ first: true, starts: row.first }, { first: false, starts: row.later }].flatMap(({ first, starts }) => {
      const figure = starts?.first_answer_ms;
      const at = typical(figure);
      return figure && at !== null && at > 0 ? [{ server: row.server, first, x: at * 1e6, low: figure.min * 1e6, high: figure.max * 1e6 }] : [];
    }),
  );
  const low = Math.min(...points.map((p) => p.low)) * 0.8;
  const high = Math.max(...points.map((p) => p.high)) * 1.25;
  const text = (figure: Figure | null | undefined, show: (value: number) => string) => { const value = typical(figure); return value === null ? "" : show(value); };
  const shown = (value: number) => time(value * 1e6);
  return {
    note: "From the start of the process to its first valid response, logarithmic axis. Filled: mean of later starts, with the range over launches. Hollow: the first start since the build.",
    draw: (width, height) => {
      const { margin: marginLeft, fit } = Plot.nameMargin(rows.map((row) => name(row.server)), width, 0.42);
      const axis = timeAxis("", low, high);
      return Plot.draw({
        width, height, marginLeft, marginTop: 8, marginBottom: 24, marginRight: 24,
        x: { ...axis, ticks: roomyLog(axis.ticks as number[], low, high, timeTick, width - marginLeft - 24), label: null },
        y: { type: "band", domain: rows.map((row) => row.server), tickFormat: (server: string) => fit(name(server)), label: null, tickSize: 0 },
        marks: [
          Plot.link(points, { x1: "low", x2: "high", y1: "server", y2: "server", stroke: "var(--c0)", strokeWidth: 2, strokeOpacity: 0.6 }),
          Plot.dot(points, { x: "x", y: "server", r: 5, stroke: "var(--c0)", strokeWidth: 2, fill: (p: { first: boolean }) => (p.first ? "var(--ground)" : "var(--c0)") }),
        ],
      });
    },
    table: () => filled({
      columns: ["server", "first start", "later starts", "port accepts", "memory at start", "memory after load", "read from disk"],
      rows: rows.map((row) => [
        name(row.server), text(row.first?.first_answer_ms, shown), text(row.later?.first_answer_ms, shown), text((row.later ?? row.first)?.listening_ms, shown),
        text((row.later ?? row.first)?.rss_bytes, bytes), text(row.rss_bytes_after, bytes), text(row.first?.disk_read_bytes, (count) => (count === 0 ? "0" : bytes(count))),
      ]),
    }),
  };
}

/** Without the columns that are empty in every row. */
function filled(table: Table): Table {
  const kept = table.columns.map((_, at) => at).filter((at) => table.rows.some((row) => row[at] !== ""));
  const of = <T>(row: T[]): T[] => kept.map((at) => row[at]!);
  return { columns: of(table.columns), rows: table.rows.map(of) };
}

/** How long each server took to its steady state, and how far from it the first second was. */
export function steadyTable(rows: WarmUpRow[], limitS: number, name: (server: string) => string): Table {
  const mean = (figure: Figure | null) => { const value = typical(figure); return value === null ? "" : rate(value); };
  return {
    columns: ["server", "steady after", "first second, requests/s", "last 4 s, requests/s", "first second, of last 4 s"],
    rows: rows.map((row) => [name(row.server), steadyText(row, limitS), mean(row.first_second_per_s), mean(row.last_per_s), row.first_second_share === null ? "" : percent(row.first_second_share)]),
  };
}

/** `9 s`, or the range over launches; the limit where none became steady. */
function steadyText({ steady_after_s: steady, launches_not_steady: missing, curves }: WarmUpRow, limitS: number): string {
  if (!steady) return `not within ${significant(limitS, 2)} s`;
  const [low, high] = [significant(steady.min, 2), significant(steady.max, 2)];
  const text = low === high ? `${low} s` : `${low} to ${high} s`;
  return missing > 0 ? `${text}; ${missing} of ${curves.length} launches not steady` : text;
}
