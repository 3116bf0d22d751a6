// The drawing of ranks on two occasions, built into the file of the drawing library: pages find it as `Plot.slopes`.
import { dot, link, text } from "@observablehq/plot";
import { draw } from "./drawing";
import type { Slope } from "./slope";

/** Where the name of each row stands: at its rank, or below those of the same rank, whose next ranks are free. */
function places(ranks: number[]): number[] {
  return ranks.map((rank, at) => rank + ranks.slice(0, at).filter((other) => other === rank).length);
}

/** Draws a line from each rank then to that of now, with the names at both ends. */
export function slopes(all: Slope[], width: number, height: number): SVGElement {
  const stroke = (s: Slope) => (s.then === s.now ? "var(--muted)" : s.now < s.then ? "var(--c2)" : "var(--c1)");
  const [left, right] = [places(all.map((s) => s.then)), places(all.map((s) => s.now))];
  return draw({
    width, height, marginLeft: Math.min(width * 0.36, 170), marginRight: Math.min(width * 0.36, 170), marginTop: 24, marginBottom: 8,
    x: { type: "point", domain: ["then", "now"], axis: "top", label: null, padding: 0 },
    y: { axis: null, domain: [all.length + 0.5, 0.5] },
    color: { type: "identity" },
    marks: [
      link(all, { x1: () => "then", x2: () => "now", y1: "then", y2: "now", stroke, strokeWidth: 2 }),
      dot(all, { x: () => "then", y: "then", r: 4.5, fill: "var(--ground)", stroke, strokeWidth: 2 }),
      dot(all, { x: () => "now", y: "now", r: 4.5, fill: stroke }),
      text(all, { x: () => "then", y: left, text: (s: Slope) => `${s.name}  ${s.then}`, textAnchor: "end", dx: -10, fill: "var(--text)" }),
      text(all, { x: () => "now", y: right, text: (s: Slope) => `${s.now}  ${s.name}`, textAnchor: "start", dx: 10, fill: "var(--text)" }),
    ],
  });
}
