// What a ranking says, in sentences: from the ranks that the server computed.
import type { MetricPage, TablePage } from "./wire";
import { betterText, list, percent, shownUnit, valueText } from "./format";
import { rankText, type Ranked } from "./ranking";

const name = (r: Ranked): string => r.server.name;

/** The unit of a column. */
export function unitOf(metric: MetricPage, values: number[], price: number) {
  const sorted = [...values].sort((a, b) => a - b);
  return shownUnit(metric.unit, sorted[Math.floor(sorted.length / 2)] ?? 1, price);
}

/** A figure with its unit. */
export function figureText(metric: MetricPage, value: Ranked["value"], unit: { factor: number; name: string }): string {
  return `${valueText(value, unit)} ${unit.name}${metric.id === "cost_per_million" ? " per million" : ""}`.replace(" /s", "/s").trim();
}

/** Up to three names, and how many more. */
export function names(all: string[]): string {
  return all.length > 4 ? `${all.slice(0, 3).join(", ")} and ${all.length - 3} more` : list(all);
}

/** Who is first, by how much, and whether that is proven; of a descriptive metric both ends. `ranked` has at least one row. */
export function leader(table: Pick<TablePage, "single">, metric: MetricPage, ranked: Ranked[], price: number, imported = false): string {
  const first = ranked[0]!;
  const unit = unitOf(metric, ranked.map((r) => r.value.estimate), price);
  const best = metric.less_is_better ? "Lowest" : "Highest";
  const figure = figureText(metric, first.value, unit);
  if (metric.is_neutral) {
    const last = ranked[ranked.length - 1]!;
    const highest = last === first ? "" : `, highest: ${name(last)} with ${figureText(metric, last.value, unit)}`;
    return `Lowest ${metric.short}: ${name(first)} with ${figure}${highest}. ${betterText(metric)}`;
  }
  if (imported) return `${best} ${metric.short}: ${name(first)} with ${figure}, as published. No difference is proven, because published figures have no intervals.`;
  if (table.single) return `${best} ${metric.short}: ${name(first)} with ${figure}. With one launch each, no difference is proven.`;
  if (!first.ranks) return `${best} ${metric.short}: ${name(first)} with ${figure}. Its rank is unknown.`;
  const top = ranked.filter((r) => r.ranks?.[0] === 1);
  const rank = rankText(first.ranks);
  if (top.length === ranked.length && ranked.length > 1) return `No difference in ${metric.short} is proven: each of the ${ranked.length} servers may be the first.`;
  if (top.length > 1) return `${best}: ${names(top.map(name))}, without a proven difference (rank ${rank}).`;
  if (rank !== "1") {
    const tied = ranked.filter((r) => first.ties.has(r.place)).map(name);
    const against = tied.length > 0 ? `, tied with ${names(tied)}` : ahead(metric, first, ranked[1]);
    return `${first.ranks[0] === 1 ? `${best} valid figure` : `${best} of the rows shown`}: ${name(first)} with ${figure}${against} (rank ${rank}).`;
  }
  return `${best}: ${name(first)} with ${figure}${ahead(metric, first, ranked[1])}.`;
}

/** By how much the first is ahead of the second; nothing where a minimum leaves that open. */
function ahead(metric: MetricPage, first: Ranked, second: Ranked | undefined): string {
  if (!second || !(first.value.estimate > 0) || second.value.at_least) return "";
  const ratio = metric.less_is_better ? first.value.estimate / second.value.estimate : second.value.estimate / first.value.estimate;
  if (!(ratio > 0) || ratio > 1) return "";
  const share = percent(metric.less_is_better ? 1 - ratio : 1 / ratio - 1);
  return `, ${first.value.at_least ? "at least " : ""}${share} ${metric.less_is_better ? "less" : "more"} than ${name(second)}`;
}
