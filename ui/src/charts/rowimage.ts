// A chart of rows as a picture: names at the left, marks on one axis, a figure at the right. What is saved as SVG or PNG of
// the charts that the page itself makes of HTML.

const NS = "http://www.w3.org/2000/svg";
const ROW = 24;

export interface ImageRow {
  /** What stands before the name: a rank. */
  before?: string;
  name: string;
  /** A bar from zero. */
  bar?: { to: number; colour: string; hollow?: boolean };
  /** A line on the axis. */
  line?: { from: number; to: number; colour: string };
  dots: { at: number; colour: string; hollow?: boolean }[];
  /** What stands at the right. */
  value: string;
}

export interface RowImage {
  title: string;
  subtitle: string;
  /** Places on the axis are from 0 to 1. */
  ticks: { at: number; text: string }[];
  /** A part of the axis that is shaded. */
  shaded?: { from: number; to: number };
  rows: ImageRow[];
}

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The picture in the colours of the page. It is put on the page, unseen, so that they can be read off. */
export function rowImage({ title, subtitle, ticks, shaded, rows }: RowImage): SVGSVGElement {
  const [left, right, top] = [260, 790, 64];
  const x = (at: number) => left + (right - left) * Math.min(Math.max(at, 0), 1);
  const height = top + rows.length * ROW + 40;
  document.getElementById("row-image")?.remove();
  const svg = element("svg", { id: "row-image", viewBox: `0 0 920 ${height}`, width: 920, height, class: "plot" }) as SVGSVGElement;
  svg.style.position = "absolute";
  svg.style.left = "-2000px";
  svg.style.maxWidth = "none";
  svg.append(
    element("text", { x: 16, y: 26, "font-size": 16, "font-weight": 600 }, title),
    element("text", { x: 16, y: 44, "font-size": 12, opacity: 0.75 }, subtitle),
  );
  if (shaded) svg.append(element("rect", { x: x(shaded.from), y: top, width: x(shaded.to) - x(shaded.from), height: height - top - 32, fill: "var(--raised)" }));
  for (const { at, text } of ticks) {
    svg.append(
      element("line", { x1: x(at), x2: x(at), y1: top - 4, y2: height - 32, stroke: "var(--rule)" }),
      element("text", { x: x(at), y: height - 18, "text-anchor": "middle", "font-size": 11, opacity: 0.75 }, text),
    );
  }
  rows.forEach((row, place) => {
    const y = top + place * ROW + ROW / 2;
    svg.append(
      element("text", { x: 44, y: y + 4, "text-anchor": "end", "font-size": 12, opacity: 0.75 }, row.before ?? ""),
      element("text", { x: row.before === undefined ? 16 : 56, y: y + 4, "font-size": 13 }, row.name.slice(0, 36)),
      element("text", { x: 904, y: y + 4, "text-anchor": "end", "font-size": 13, "font-weight": 600 }, row.value),
    );
    if (row.bar) svg.append(element("rect", { x: left, y: y - 8, width: x(row.bar.to) - left, height: 16, fill: row.bar.hollow ? "none" : row.bar.colour, stroke: row.bar.colour }));
    if (row.line) svg.append(element("line", { x1: x(row.line.from), x2: x(row.line.to), y1: y, y2: y, stroke: row.line.colour, "stroke-width": 2 }));
    for (const dot of row.dots) svg.append(element("circle", { cx: x(dot.at), cy: y, r: 4.5, fill: dot.hollow ? "var(--ground)" : dot.colour, stroke: dot.colour, "stroke-width": 2 }));
  });
  document.body.append(svg);
  return svg;
}
