// Which rows are shown in which order. Ranks and ties are computed by the server, for the whole table.
import type { RoundPage, RowPage, ServerEntry, TablePage, FigurePage } from "./wire";

export interface Ranked {
  row: RowPage;
  /** Its place in the table. */
  place: number;
  server: ServerEntry;
  value: FigurePage;
  /** The first and last rank it may have in the table; none where one launch says nothing. */
  ranks: [number, number] | null;
  /** Places of the rows that it cannot be told apart from. */
  ties: Set<number>;
}

/** How figures are drawn: bars from zero, or dots on a linear or a logarithmic axis. */
export type Scale = "bars" | "dots" | "log";

export const SCALES: [Scale, string][] = [["bars", "Bars from zero"], ["dots", "Dots"], ["log", "Dots, logarithmic"]];

export const scaleOf = (text: string | undefined): Scale => SCALES.find(([scale]) => scale === text)?.[0] ?? "bars";

/** Rows that count, best first, and those that do not. */
export interface Ranking {
  ranked: Ranked[];
  apart: RowPage[];
}

/** Whether all of a row's figures count. */
export function isSound(row: RowPage): boolean {
  return row.standing === "ranked" || row.standing === "generator_bound";
}

/** The figure of a row, where it answers the question. */
export function validValue(row: RowPage | undefined, metric: string): FigurePage | undefined {
  const value = row?.values[metric];
  return value?.invalid ? undefined : value;
}

export function ranking(page: RoundPage, table: TablePage, metric: string, shown: (server: ServerEntry) => boolean): Ranking {
  const less = page.metrics.find((m) => m.id === metric)?.less_is_better ?? false;
  const pairs = table.ties[metric];
  const ties = new Map<number, Set<number>>();
  for (const [a, b] of pairs ?? []) {
    (ties.get(a) ?? ties.set(a, new Set()).get(a)!).add(b);
    (ties.get(b) ?? ties.set(b, new Set()).get(b)!).add(a);
  }
  const ranked: Ranked[] = [];
  const apart: RowPage[] = [];
  table.rows.forEach((row, place) => {
    const server = page.servers[row.server];
    if (!server || !shown(server)) return;
    const value = validValue(row, metric);
    if (value) ranked.push({ row, place, server, value, ranks: value.ranks ? [value.ranks[0]!, value.ranks[1]!] : null, ties: ties.get(place) ?? new Set() });
    else apart.push(row);
  });
  // The rows of a table are in the order of its own metric.
  if (metric !== table.metric) ranked.sort((a, b) => (less ? a.value.estimate - b.value.estimate : b.value.estimate - a.value.estimate));
  return { ranked, apart };
}

/** Groups of neighbouring rows that cannot be told apart from each other, as first and last place; each as large as can be. */
export function groups(ranked: Ranked[]): [number, number][] {
  const found: [number, number][] = [];
  for (let first = 0; first < ranked.length; first += 1) {
    let last = first;
    const all = (next: number) => {
      for (let at = first; at < next; at += 1) if (!ranked[at]!.ties.has(ranked[next]!.place)) return false;
      return true;
    };
    while (last + 1 < ranked.length && all(last + 1)) last += 1;
    const before = found[found.length - 1];
    if (last > first && (!before || before[1] < last)) found.push([first, last]);
  }
  return found;
}

/** `1` or `1–3`. */
export function rankText(ranks: [number, number] | null): string {
  if (!ranks) return "";
  return ranks[0] === ranks[1] ? String(ranks[0]) : `${ranks[0]}–${ranks[1]}`;
}
