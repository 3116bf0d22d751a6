// The dot chart as a picture and as a table of its own: what is copied from a ranking.
import type { MetricPage, RoundPage, TablePage } from "../wire";
import { loadText, logTicks, rangeText, rate, shownUnit, significant, ticks, time, valueText } from "../format";
import { rankText, type Ranking } from "../ranking";
import type { Table } from "./source";

const NS = "http://www.w3.org/2000/svg";
const ROW = 24;

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

function unitOf(metric: MetricPage, { ranked }: Ranking, price: number) {
  const sorted = ranked.map((r) => r.value.estimate).sort((a, b) => a - b);
  return shownUnit(metric.unit, sorted[Math.floor(sorted.length / 2)] ?? 1, price);
}

export function dotTable(ranking: Ranking, metric: MetricPage, price: number): Table {
  const unit = unitOf(metric, ranking, price);
  const name = unit.name ? `${metric.name} (${unit.name})` : metric.name;
  return {
    columns: ["rank", "server", "language", name, "range over launches"],
    rows: ranking.ranked.map((r) => [rankText(r.ranks), r.server.name, r.server.language, valueText(r.value, unit), rangeText(r.value, unit)]),
  };
}

/** A drawing of the chart in the colours of the page. It is put on the page, unseen, so that they can be read off. */
export function dotImage(page: RoundPage, table: TablePage, metric: MetricPage, ranking: Ranking, price: number): SVGSVGElement {
  const unit = unitOf(metric, ranking, price);
  const values = ranking.ranked.map((r) => r.value);
  const highest = Math.max(...values.map((v) => v.high), 0) || 1;
  const lowest = Math.min(...values.map((v) => v.low));
  const log = lowest > 0 && highest / lowest > 30;
  const [from, to] = log ? [lowest / 1.15, highest * 1.15] : [0, highest * 1.04];
  const [left, right, top] = [240, 800, 64];
  const x = (value: number) => left + (right - left) * (log ? Math.log(value / from) / Math.log(to / from) : value / to);
  const height = top + ranking.ranked.length * ROW + 40;
  document.getElementById("dot-image")?.remove();
  const svg = element("svg", { id: "dot-image", viewBox: `0 0 920 ${height}`, width: 920, height, class: "plot" }) as SVGSVGElement;
  svg.style.position = "absolute";
  svg.style.left = "-2000px";
  svg.style.maxWidth = "none";
  svg.append(
    element("text", { x: 16, y: 26, "font-size": 16, "font-weight": 600 }, `${metric.name}, ${table.workload}`),
    element("text", { x: 16, y: 44, "font-size": 12, opacity: 0.75 }, `${loadText(table.load)} · ${page.about.plan}, ${page.about.started_at.slice(0, 10)} · ${page.machines[0]?.environment.cpu_model ?? ""}`),
  );
  for (const tick of log ? logTicks(from, to) : ticks(0, to / unit.factor, 5).map((t) => t * unit.factor)) {
    const text = metric.unit === "ns" ? time(tick) : metric.unit === "per_s" ? rate(tick) : significant(tick / unit.factor, 3);
    svg.append(
      element("line", { x1: x(tick), x2: x(tick), y1: top - 4, y2: height - 32, stroke: "var(--rule)" }),
      element("text", { x: x(tick), y: height - 18, "text-anchor": "middle", "font-size": 11, opacity: 0.75 }, text),
    );
  }
  ranking.ranked.forEach((r, at) => {
    const y = top + at * ROW + ROW / 2;
    svg.append(
      element("text", { x: 44, y: y + 4, "text-anchor": "end", "font-size": 12, opacity: 0.75 }, table.single ? "" : rankText(r.ranks)),
      element("text", { x: 56, y: y + 4, "font-size": 13 }, `${r.server.name} (${r.server.language})`.slice(0, 30)),
      element("line", { x1: x(r.value.low), x2: x(r.value.high), y1: y, y2: y, stroke: "var(--accent)", "stroke-width": 2 }),
      element("circle", { cx: x(r.value.estimate), cy: y, r: 4.5, fill: "var(--accent)" }),
      element("text", { x: 904, y: y + 4, "text-anchor": "end", "font-size": 13, "font-weight": 600 }, `${valueText(r.value, unit)} ${unit.name}`.replace(" /s", "/s")),
    );
  });
  document.body.append(svg);
  return svg;
}
