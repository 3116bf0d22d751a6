// The ranking as a picture and as a table of its own: what is copied from it.
import type { MetricPage, RoundPage, TablePage } from "../wire";
import { loadText, logTicks, rangeText, rate, significant, ticks, time, valueText } from "../format";
import { rankText, type Ranked, type Ranking, type Scale } from "../ranking";
import { unitOf } from "../sentence";
import { rowImage } from "./rowimage";
import type { Table } from "./source";

export function dotTable(ranking: Ranking, metric: MetricPage, price: number): Table {
  const unit = unitOf(metric, ranking.ranked.map((r) => r.value.estimate), price);
  // A descriptive metric has no ranks.
  const ranks = (text: string): string[] => (metric.is_neutral ? [] : [text]);
  const name = unit.name ? `${metric.name} (${unit.name})` : metric.name;
  return {
    columns: [...ranks("rank"), "server", "language", name, ranking.ranked.every((r) => r.value.is_range) ? "lowest to highest launch" : "95 % interval"],
    rows: ranking.ranked.map((r) => [...ranks(rankText(r.ranks)), r.server.name, r.server.language, valueText(r.value, unit), rangeText(r.value, unit)]),
  };
}

/** The picture, on the axis that the visitor sees. */
export function dotImage(page: RoundPage, table: TablePage, metric: MetricPage, ranking: Ranking, price: number, scale: Scale): SVGSVGElement {
  const unit = unitOf(metric, ranking.ranked.map((r) => r.value.estimate), price);
  const values = ranking.ranked.map((r) => r.value);
  const estimates = values.map((v) => v.estimate);
  // An interval from few launches may be far wider than all that was seen: the axis ends before that.
  const highest = Math.min(Math.max(...values.map((v) => v.high), 0), 1.6 * Math.max(...estimates, 0)) || 1;
  const lowest = Math.min(...values.map((v) => v.low));
  const least = Math.max(lowest, Math.min(...estimates) / 2);
  const log = scale === "log" && values.length > 0 && lowest > 0;
  const [from, to] = log ? [least / 1.15, highest * 1.15] : [0, highest * 1.04];
  const at = (value: number) => (log ? Math.log(value / from) / Math.log(to / from) : value / to);
  const text = (tick: number) => (metric.unit === "ns" ? time(tick) : metric.unit === "per_s" ? rate(tick) : significant(tick / unit.factor, 3));
  const colour = scale === "bars" ? "var(--text)" : "var(--accent)";
  const hollow = (r: Ranked) => r.value.launches < 2 || r.value.too_few === true;
  return rowImage({
    title: `${metric.name}, ${table.workload}`,
    subtitle: `${loadText(table.load)} · ${page.about.plan}, ${page.about.started_at.slice(0, 10)} · ${page.machines.find((machine) => machine.label === table.machine)?.environment.cpu_model ?? ""}${log ? " · logarithmic axis" : ""}`,
    ticks: (log ? logTicks(from, to) : ticks(0, to / unit.factor, 5).map((t) => t * unit.factor)).map((tick) => ({ at: at(tick), text: text(tick) })),
    rows: ranking.ranked.map((r) => ({
      before: rankText(r.ranks),
      name: `${r.server.name} (${r.server.language})`,
      ...(scale === "bars" && { bar: { to: at(r.value.estimate), colour: "var(--bar)", hollow: hollow(r) } }),
      line: { from: at(r.value.low), to: at(r.value.high), colour },
      dots: scale === "bars" ? [] : [{ at: at(r.value.estimate), colour, hollow: hollow(r) }],
      value: `${valueText(r.value, unit)} ${unit.name}`.replace(" /s", "/s"),
    })),
  });
}
