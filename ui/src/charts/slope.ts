// Ranks on two occasions, joined by a line for each name.
import { Plot, draw } from "./plot";
import type { ChartSource } from "./source";

export interface Slope {
  name: string;
  then: number;
  now: number;
}

/** The rank of each value, 1 for the best; equal values share one. */
export const ranksOf = (values: number[], less: boolean): number[] =>
  values.map((value) => 1 + values.filter((other) => (less ? other < value : other > value)).length);

/** Where the name of each row stands: at its rank, or below those of the same rank, whose next ranks are free. */
function places(ranks: number[]): number[] {
  return ranks.map((rank, at) => rank + ranks.slice(0, at).filter((other) => other === rank).length);
}

export function slope(all: Slope[]): ChartSource {
  const stroke = (s: Slope) => (s.then === s.now ? "var(--muted)" : s.now < s.then ? "var(--c2)" : "var(--c1)");
  const [left, right] = [places(all.map((s) => s.then)), places(all.map((s) => s.now))];
  return {
    note: "Only rows that both sides have. Green: increased. Orange: decreased. Equal figures share a rank.",
    draw: (width, height) =>
      draw({
        width, height, marginLeft: Math.min(width * 0.36, 170), marginRight: Math.min(width * 0.36, 170), marginTop: 24, marginBottom: 8,
        x: { type: "point", domain: ["then", "now"], axis: "top", label: null, padding: 0 },
        y: { axis: null, domain: [all.length + 0.5, 0.5] },
        color: { type: "identity" },
        marks: [
          Plot.link(all, { x1: () => "then", x2: () => "now", y1: "then", y2: "now", stroke, strokeWidth: 2 }),
          Plot.dot(all, { x: () => "then", y: "then", r: 4.5, fill: "var(--ground)", stroke, strokeWidth: 2 }),
          Plot.dot(all, { x: () => "now", y: "now", r: 4.5, fill: stroke }),
          Plot.text(all, { x: () => "then", y: left, text: (s: Slope) => `${s.name}  ${s.then}`, textAnchor: "end", dx: -10, fill: "var(--text)" }),
          Plot.text(all, { x: () => "now", y: right, text: (s: Slope) => `${s.now}  ${s.name}`, textAnchor: "start", dx: 10, fill: "var(--text)" }),
        ],
      }),
    table: () => ({ columns: ["name", "rank then", "rank now"], rows: all.map((s) => [s.name, s.then, s.now]) }),
  };
}
