// A server over rounds: one figure with its interval for each round, lines within a machine, proven changes marked.
import type { MetricPage, TimelineLine, TimelinePoint } from "../wire";
import { day, hasRange, moment, rangeText, valueText, words } from "../format";
import { unitOf } from "../sentence";
import { shortVersion, versionChange } from "../versions";
import { Plot, draw } from "./plot";
import { colour, type ChartSource } from "./source";

/** What stands on the horizontal axis: the time of the round, or the version that it measured. */
export type Axis = "round" | "version";

interface Drawn {
  x: Date | string;
  y: number;
  low: number;
  high: number;
  machine: string;
  stroke: string;
  hollow: boolean;
  claim: string;
  better: boolean;
  title: string;
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
        x: axis === "version" ? `${shortVersion(point.versions)}${lines.length > 1 || line.points.length > 1 ? `\n${day(point.started_at)}` : ""}` : new Date(point.started_at),
        y: value.estimate / unit.factor,
        low: value.low / unit.factor,
        high: value.high / unit.factor,
        machine: line.machine,
        stroke: colour(at),
        hollow: value.launches < 2 || value.invalid === true,
        claim: claimText(point, metric.id),
        better: point.changes[metric.id]?.decision === "better",
        title: [moment(point.started_at), point.plan, `${valueText(value, unit)} ${unit.name}`.trim(), rangeText(value, unit), claimText(point, metric.id) && `${claimText(point, metric.id)} since the round before`, change || point.versions.split("\n")[0]].filter(Boolean).join("\n"),
      }];
    }),
  );
  const most = Math.max(...points.map((p) => p.y), 0);
  const top = Math.min(Math.max(...points.map((p) => p.high), 0), most * 1.6) || 1;
  const claims = points.filter((p) => p.claim);
  return {
    note: "",
    draw: (width, height) =>
      draw({
        width,
        height,
        marginLeft: 64,
        marginRight: 40,
        marginBottom: axis === "version" ? 48 : 36,
        x: axis === "version" ? { type: "point", label: null, domain: [...new Set(points.map((p) => p.x as string))] } : { type: "utc", label: null, ticks: Math.min(8, Math.floor(width / 110)), inset: 24 },
        y: { grid: true, label: unit.name ? `↑ ${unit.name}` : "↑", domain: [0, top * 1.08] },
        marks: [
          Plot.ruleY([0], { stroke: "var(--muted)" }),
          ...lines.map((line, at) => Plot.line(points.filter((p) => p.machine === line.machine), { x: "x", y: "y", stroke: colour(at), strokeOpacity: 0.6 })),
          Plot.ruleX(points.filter((p) => p.high > p.low), { x: "x", y1: "low", y2: (p: Drawn) => Math.min(p.high, top * 1.08), stroke: "stroke", strokeWidth: 2 }),
          Plot.dot(points, { x: "x", y: "y", r: 5, stroke: "stroke", strokeWidth: 2, fill: (p: Drawn) => (p.hollow ? "var(--ground)" : p.stroke), title: "title" }),
          Plot.text(claims, { x: "x", y: "y", text: (p: Drawn) => `${p.claim.startsWith("−") ? "▼" : "▲"} ${p.claim}`, dy: -16, fontWeight: 600, fill: (p: Drawn) => (p.better ? "var(--good)" : "var(--bad)") }),
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
