// Drawing and placing of labels that every chart shares. It is built into the file of the drawing library, because only
// charts need it; they find it there as `Plot.draw` and so on.
import { axisX, axisY, plot, type PlotOptions } from "@observablehq/plot";

/** Draws, without the style element that the Content-Security-Policy would refuse: theme.css has its rules. */
export function draw(options: PlotOptions): SVGElement {
  const marks = [...(options.marks ?? [])];
  const scales: Pick<PlotOptions, "x" | "y"> = {};
  // Plot leaves out labels of a logarithmic scale where it finds them too many; these are chosen to have room.
  for (const key of ["x", "y"] as const) {
    const scale = options[key];
    if (scale?.type !== "log" || !Array.isArray(scale.ticks) || typeof scale.tickFormat !== "function") continue;
    const format = scale.tickFormat as (value: number) => string;
    const labelled = { text: (value: number) => format(value), label: scale.label ?? null };
    marks.unshift(key === "x" ? axisX(scale.ticks as number[], labelled) : axisY(scale.ticks as number[], labelled));
    scales[key] = { ...scale, axis: null };
  }
  const drawn = plot({ className: "plot", marginTop: 16, marginRight: 16, marginLeft: 56, marginBottom: 36, ...options, ...scales, marks });
  const svg = drawn instanceof SVGSVGElement ? drawn : drawn.querySelector("svg");
  if (!(svg instanceof SVGSVGElement)) throw new Error("Plot drew no SVG");
  svg.querySelectorAll("style").forEach((style) => style.remove());
  // The chart is one picture with one name; labels of its groups are not announced.
  svg.querySelectorAll("[aria-label], [aria-description]").forEach((group) => {
    group.removeAttribute("aria-label");
    group.removeAttribute("aria-description");
  });
  return svg;
}

/** Moves labels apart on a logarithmic axis, so that none covers another. */
export function spread<T extends { y: number }>(labels: T[], low: number, high: number, height: number): (T & { at: number })[] {
  const scale = height / Math.log(high / low);
  const sorted = labels.map((label) => ({ ...label, at: label.y })).sort((a, b) => a.y - b.y);
  let free = -Infinity;
  for (const label of sorted) {
    const place = Math.max(Math.log(label.y / low) * scale, free);
    label.at = low * Math.exp(place / scale);
    free = place + 15;
  }
  // Those that were pushed out at the top go down again.
  let least = height;
  for (const label of sorted.reverse()) {
    const place = Math.min(Math.log(label.at / low) * scale, least);
    label.at = low * Math.exp(place / scale);
    least = place - 15;
  }
  return sorted;
}

/** The width of a letter at 12 pixels, of a wide typeface. */
const LETTER = 7;

/** The margin that names need beside a chart, at most a share of its width, and the part of a name that fits in it. */
export function nameMargin(names: string[], width: number, share: number): { margin: number; fit: (name: string) => string } {
  const letters = Math.min(Math.max(...names.map((name) => name.length), 0), Math.floor((width * share - 16) / LETTER));
  return { margin: letters * LETTER + 16, fit: (name) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name) };
}
