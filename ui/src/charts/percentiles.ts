// Percentiles of several servers on one logarithmic axis: p50, p90, p99 and p99.9 as aligned dots, a row for each server.
import type { RoundPage, TablePage } from "../wire";
import { time } from "../format";
import { isSound } from "../ranking";
import { serverName } from "../tables";
import { Plot, roomyLog, timeAxis, timeTick, type Markish } from "./plot";
import type { ChartSource } from "./source";

export const PERCENTILES = [
  { metric: "time_ns_p50", name: "p50", share: 0.5, colour: "var(--c0)" },
  { metric: "time_ns_p90", name: "p90", share: 0.9, colour: "var(--c2)" },
  { metric: "time_ns_p99", name: "p99", share: 0.99, colour: "var(--c4)" },
  { metric: "time_ns_p99_9", name: "p99.9", share: 0.999, colour: "var(--c1)" },
] as const;

export const ROW = 26;

/** The servers of a table that have percentiles, in its order. */
export function percentileRows(table: TablePage, shown: (server: string) => boolean) {
  return table.rows.filter((row) => isSound(row) && shown(row.server) && PERCENTILES.some((p) => row.values[p.metric]));
}

export function percentileDots(round: RoundPage, table: TablePage, servers: string[]): ChartSource {
  const name = (server: string) => serverName(round, server);
  const points = servers.flatMap((server) =>
    PERCENTILES.flatMap((percentile) => {
      const value = table.rows.find((row) => row.server === server)?.values[percentile.metric];
      return value && value.estimate > 0 ? [{ ...percentile, server, value: value.estimate, sound: !value.too_few && !value.at_least }] : [];
    }),
  );
  const spans = servers.flatMap((server) => {
    const own = points.filter((p) => p.server === server).map((p) => p.value);
    return own.length > 1 ? [{ server, low: Math.min(...own), high: Math.max(...own) }] : [];
  });
  const low = Math.min(...points.map((p) => p.value)) * 0.8;
  const high = Math.max(...points.map((p) => p.value)) * 1.25;
  return {
    note: "Mean over launches, logarithmic axis. Hollow: too few requests for this percentile, or a minimum.",
    draw: (width, height) => {
      const { margin: marginLeft, fit } = Plot.nameMargin(servers.map(name), width, 0.42);
      const legend = Math.min((width - marginLeft) / 4.2, 64);
      const axis = timeAxis("", low, high);
      return Plot.draw({
        width, height, marginLeft, marginTop: 40, marginBottom: 24, marginRight: 24,
        x: { ...axis, ticks: roomyLog(axis.ticks as number[], low, high, timeTick, width - marginLeft - 24), label: null },
        y: { type: "band", domain: servers, tickFormat: (server: string) => fit(name(server)), label: null, tickSize: 0 },
        marks: [
          Plot.link(spans, { x1: "low", x2: "high", y1: "server", y2: "server", stroke: "var(--rule)", strokeWidth: 3 }),
          Plot.dot(points, { x: "value", y: "server", r: 5, stroke: "colour", strokeWidth: 2, fill: (p: { sound: boolean; colour: string }) => (p.sound ? p.colour : "var(--ground)") }),
          ...PERCENTILES.flatMap((p, at): Markish[] => [
            Plot.dot([p], { frameAnchor: "top-left", dx: 8 + at * legend, dy: -22, r: 5, fill: p.colour }),
            Plot.text([p], { frameAnchor: "top-left", dx: 16 + at * legend, dy: -22, text: () => p.name, textAnchor: "start", lineAnchor: "middle", fill: "var(--text)" }),
          ]),
        ],
        color: { type: "identity" },
      });
    },
    table: () => ({
      columns: ["server", ...PERCENTILES.map((p) => p.name)],
      rows: servers.map((server) => [name(server), ...PERCENTILES.map((p) => {
        const point = points.find((one) => one.server === server && one.metric === p.metric);
        return point ? time(point.value) : "";
      })]),
    }),
  };
}
