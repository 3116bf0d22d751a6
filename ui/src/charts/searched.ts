// The drawing of a search for the capacity, built into the file of the drawing library: pages find it as `Plot.searched`.
import { dot, rect, ruleY } from "@observablehq/plot";
import { draw } from "./drawing";

/** A window of the search, with its number from 1 and its colour. */
interface Window {
  number: number;
  offered_per_s: number;
  outcome: string;
  colour: string;
}

/** Draws the windows in order, the 95 % interval of the capacity as a band, and the capacity as a line; rates per second. */
export function searched(windows: Window[], range: { low: number; high: number } | null, capacity: number | null, tickFormat: (perS: number) => string, width: number, height: number): SVGElement {
  const most = Math.max(1, ...windows.map((one) => one.offered_per_s), range?.high ?? 0) * 1.05;
  return draw({
    width, height, marginLeft: 64,
    x: { label: "window", domain: [0.5, windows.length + 0.5], ticks: Math.min(windows.length, Math.floor(width / 48)), tickFormat: (at: number) => (Number.isInteger(at) ? String(at) : "") },
    y: { grid: true, label: "↑ offered requests/s", domain: [0, most], ticks: 5, tickFormat },
    marks: [
      ...(range ? [rect([range], { x1: () => 0.5, x2: () => windows.length + 0.5, y1: "low", y2: "high", fill: "var(--accent-pale)" })] : []),
      ...(capacity === null ? [] : [ruleY([capacity], { stroke: "var(--accent)", strokeDasharray: "4 3" })]),
      dot(windows, { x: "number", y: "offered_per_s", r: (one: Window) => (one.outcome === "void" ? 2.5 : 4.5), stroke: "colour", strokeWidth: 2, fill: (one: Window) => (one.outcome === "pass" ? one.colour : "var(--ground)") }),
      ruleY([0], { stroke: "var(--rule)" }),
    ],
    color: { type: "identity" },
  });
}
