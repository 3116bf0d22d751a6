// The ranking as a picture and as a table of its own: what is copied from it.
import type { MetricPage, RoundPage, TablePage } from "../wire";
import { loadText, logTicks, rangeText, rate, significant, ticks, time, valueText } from "../format";
import { rankText, type Ranking } from "../ranking";
import { unitOf } from "../sentence";
import { rowImage } from "./rowimage";
import type { Table } from "./source";

export function dotTable(ranking: Ranking, metric: MetricPage, price: number): Table {
  const unit = unitOf(metric, ranking.ranked.map((r) => r.value.estimate), price);
  const name = unit.name ? `${metric.name} (${unit.name})` : metric.name;
  return {
    columns: ["rank", "server", "language", name, "range over launches"],
    rows: ranking.ranked.map((r) => [rankText(r.ranks), r.server.name, r.server.language, valueText(r.value, unit), rangeText(r.value, unit)]),
  };
}

export function dotImage(page: RoundPage, table: TablePage, metric: MetricPage, ranking: Ranking, price: number): SVGSVGElement {
  const unit = unitOf(metric, ranking.ranked.map((r) => r.value.estimate), price);
  const values = ranking.ranked.map((r) => r.value);
  const highest = Math.max(...values.map((v) => v.high), 0) || 1;
  const lowest = Math.min(...values.map((v) => v.low));
  const log = lowest > 0 && highest / lowest > 30;
  const [from, to] = log ? [lowest / 1.15, highest * 1.15] : [0, highest * 1.04];
  const at = (value: number) => (log ? Math.log(value / from) / Math.log(to / from) : value / to);
  const text = (tick: number) => (metric.unit === "ns" ? time(tick) : metric.unit === "per_s" ? rate(tick) : significant(tick / unit.factor, 3));
  const colour = "var(--accent)";
  return rowImage({
    title: `${metric.name}, ${table.workload}`,
    subtitle: `${loadText(table.load)} · ${page.about.plan}, ${page.about.started_at.slice(0, 10)} · ${page.machines[0]?.environment.cpu_model ?? ""}`,
    ticks: (log ? logTicks(from, to) : ticks(0, to / unit.factor, 5).map((t) => t * unit.factor)).map((tick) => ({ at: at(tick), text: text(tick) })),
    rows: ranking.ranked.map((r) => ({
      before: rankText(r.ranks),
      name: `${r.server.name} (${r.server.language})`,
      line: { from: at(r.value.low), to: at(r.value.high), colour },
      dots: [{ at: at(r.value.estimate), colour, hollow: r.value.launches < 2 || r.value.too_few === true }],
      value: `${valueText(r.value, unit)} ${unit.name}`.replace(" /s", "/s"),
    })),
  });
}
