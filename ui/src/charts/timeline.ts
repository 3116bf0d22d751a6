// A server over rounds: one figure with its interval for each round, lines within a machine, proven changes marked.
import type { MetricPage, TimelineLine, TimelinePoint } from "../wire";
import { day, hasRange, moment, rangeText, valueText, words } from "../format";
import { unitOf } from "../sentence";
import { shortVersion, versionChange } from "../versions";
import { Plot } from "./plot";
import { colour, markSymbol, type ChartSource } from "./source";

/** What stands on the horizontal axis: the time of the round, or the version that it measured. */
export type Axis = "round" | "version";

interface Drawn {
  x: Date | string;
  y: number;
  low: number;
  high: number;
  /** The place of its line. */
  line: number;
  stroke: string;
  hollow: boolean;
  claim: string;
  claimed: string;
  started: string;
  title: string;
}

const CLAIMED: Record<string, string> = { better: "var(--good)", worse: "var(--bad)" };

/** What stands below a point: its version, and the day; with the time where the line has another point on that day. */
function versionText(line: TimelineLine, point: TimelinePoint, lines: number): string {
  const version = shortVersion(point.versions);
  if (lines === 1 && line.points.length === 1) return version;
  const isOne = line.points.filter((other) => day(other.started_at) === day(point.started_at)).length === 1;
  return `${version}\n${day(point.started_at)}${isOne ? "" : ` ${point.started_at.slice(11, 16)}`}`;
}

/** Those of the texts below an axis that have room beside each other: every one, or every second, and so on. */
function roomyTexts(all: string[], width: number): string[] {
  const letters = Math.max(1, ...all.flatMap((text) => text.split("\n").map((line) => line.length)));
  const step = Math.max(1, Math.ceil((all.length * (letters * 7 + 8)) / Math.max(width, 1)));
  return all.filter((_, at) => at % step === 0);
}

/** `+12 %` where a difference from the round before is proven, else nothing. */
export function claimText(point: TimelinePoint, metric: string): string {
  const change = point.changes[metric];
  if (!change || !["better", "worse", "higher", "lower"].includes(change.decision)) return "";
  const share = change.estimate - 1;
  return `${share < 0 ? "−" : "+"}${(Math.abs(share) * 100).toFixed(Math.abs(share) < 0.1 ? 1 : 0)} %`;
}

export function timeline(lines: TimelineLine[], metric: MetricPage, axis: Axis, price: number): ChartSource {
  const all = lines.flatMap((line) => line.points.flatMap((point) => point.values[metric.id] ?? []));
  const unit = unitOf(metric, all.map((value) => value.estimate), price);
  const points: Drawn[] = lines.flatMap((line, at) =>
    line.points.flatMap((point, place): Drawn[] => {
      const value = point.values[metric.id];
      if (!value) return [];
      const before = line.points[place - 1];
      const change = before ? versionChange(before.versions, point.versions) : "";
      return [{
        x: axis === "version" ? versionText(line, point, lines.length) : new Date(point.started_at),
        y: value.estimate / unit.factor,
        low: value.low / unit.factor,
        high: value.high / unit.factor,
        line: at,
        stroke: colour(at),
        hollow: value.launches < 2 || value.invalid === true,
        claim: claimText(point, metric.id),
        claimed: CLAIMED[point.changes[metric.id]?.decision ?? ""] ?? "var(--muted)",
        started: point.started_at,
        title: [moment(point.started_at), point.plan, lines.length > 1 && line.machine, `${valueText(value, unit)} ${unit.name}`.trim(), rangeText(value, unit), claimText(point, metric.id) && `${claimText(point, metric.id)} since the round before`, change || point.versions.split("\n")[0]].filter(Boolean).join("\n"),
      }];
    }),
  );
  const most = Math.max(...points.map((p) => p.y), 0);
  const top = Math.min(Math.max(...points.map((p) => p.high), 0), most * 1.6) || 1;
  const claims = points.filter((p) => p.claim);
  // The rounds of all lines in the order of time.
  const versions = [...new Set([...points].sort((a, b) => (a.started < b.started ? -1 : a.started > b.started ? 1 : 0)).map((p) => String(p.x)))];
  const of = (line: number) => points.filter((p) => p.line === line);
  return {
    note: "",
    draw: (width, height) =>
      Plot.draw({
        width,
        height,
        marginLeft: 64,
        marginRight: 40,
        marginBottom: axis === "version" ? 48 : 36,
        x: axis === "version" ? { type: "point", label: null, domain: versions, ticks: roomyTexts(versions, width - 104) } : { type: "utc", label: null, ticks: Math.min(8, Math.floor(width / 110)), inset: 24 },
        y: { grid: true, label: unit.name ? `↑ ${unit.name}` : "↑", domain: [0, top * 1.08] },
        marks: [
          Plot.ruleY([0], { stroke: "var(--muted)" }),
          ...lines.map((_, at) => Plot.line(of(at), { x: "x", y: "y", stroke: colour(at), strokeOpacity: 0.6 })),
          Plot.ruleX(points.filter((p) => p.high > p.low), { x: "x", y1: "low", y2: (p: Drawn) => Math.min(p.high, top * 1.08), stroke: "stroke", strokeWidth: 2 }),
          ...lines.map((_, at) => Plot.dot(of(at), { x: "x", y: "y", r: 5, symbol: markSymbol(at), stroke: "stroke", strokeWidth: 2, fill: (p: Drawn) => (p.hollow ? "var(--ground)" : p.stroke), title: "title" })),
          Plot.text(claims, { x: "x", y: "y", text: (p: Drawn) => `${p.claim.startsWith("−") ? "▼" : "▲"} ${p.claim}`, dy: -16, fontWeight: 600, fill: "claimed" }),
        ],
      }),
    table: () => ({
      columns: ["round", "plan", "machine", "version", `${metric.name}${unit.name ? ` (${unit.name})` : ""}`, "interval", "change", "standing"],
      rows: lines.flatMap((line) => line.points.map((point) => {
        const value = point.values[metric.id];
        return [moment(point.started_at), point.plan, line.machine, point.versions.split("\n").join(" · "), value ? valueText(value, unit) : "", value && hasRange(value) ? rangeText(value, unit) : "", claimText(point, metric.id), words(point.standing)];
      })),
    }),
  };
}
