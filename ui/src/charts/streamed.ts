// The drawing of the events of streams, built into the file of the drawing library: pages find it as `Plot.streamed`.
import { dot, link, rect, ruleX, text, type Markish } from "@observablehq/plot";
import type { StreamExample } from "../wire";
import { draw } from "./drawing";

/** A stream with its place and the words above it. */
export type Row = StreamExample & { at: number; name: string };

/** The longest gap of a row. */
export interface Gap {
  at: number;
  from: number;
  to: number;
  text: string;
}

export interface Streamed {
  rows: Row[];
  gaps: Gap[];
  events: { x: number; at: number }[];
  /** The end of the axis, in nanoseconds. */
  far: number;
  label: string;
}

/** Draws a row for each stream: its events as lines, its longest gap as a box. */
export function streamed({ rows, gaps, events, far, label }: Streamed, tickFormat: (ns: number) => string, width: number, height: number): SVGElement {
  const lines = <T extends { at: number }>(data: T[], x: (one: T) => number, half: number, stroke: string): Markish =>
    ruleX(data, { x, y1: (one: T) => one.at - half, y2: (one: T) => one.at + half, stroke });
  return draw({
    width, height, marginLeft: 16, marginRight: 24, marginTop: 8, marginBottom: 40,
    x: { domain: [0, far], label, ticks: Math.max(Math.floor(width / 90), 3), tickFormat: (ns: number) => (ns === 0 ? "0" : tickFormat(ns)) },
    // The first row is at the top.
    y: { domain: [rows.length - 0.5, -0.5], axis: null },
    marks: [
      link(rows, { x1: () => 0, x2: "ended_ns", y1: "at", y2: "at", stroke: "var(--rule)" }),
      rect(gaps, { x1: "from", x2: "to", y1: (gap: Gap) => gap.at - 0.2, y2: (gap: Gap) => gap.at + 0.2, fill: "var(--accent-pale)", stroke: "var(--accent)", strokeOpacity: 0.4 }),
      lines(rows, (one) => one.first_body_ns, 0.22, "var(--muted)"),
      lines(events, (event) => event.x, 0.14, "var(--c0)"),
      dot(rows, { x: "ended_ns", y: "at", r: 4, stroke: "var(--muted)", strokeWidth: 2, fill: "var(--ground)" }),
      text(rows, { x: () => 0, y: (one: Row) => one.at - 0.36, text: (one: Row) => one.name, textAnchor: "start", fontWeight: 600, fill: "var(--text)" }),
      // Beside the edge that it is near to, so that it is not cut off.
      ...gaps.map((gap): Markish => {
        const left = gap.from + gap.to < far;
        return text([gap], { x: left ? "from" : "to", y: () => gap.at + 0.36, text: "text", textAnchor: left ? "start" : "end", fill: "var(--text)" });
      }),
    ],
  });
}
