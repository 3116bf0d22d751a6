// Numbers for people: rounded to what their interval supports, with one unit for a column.
import type { Figure, Load, MetricPage, MetricUnit, FigurePage } from "./wire";

/** A unit in which a column is shown: how many of the metric's own unit are one of it. */
export interface Shown {
  factor: number;
  name: string;
}

const TIMES: Shown[] = [
  { factor: 1e9, name: "s" },
  { factor: 1e6, name: "ms" },
  { factor: 1e3, name: "µs" },
  { factor: 1, name: "ns" },
];
const BYTES: Shown[] = [
  { factor: 1e9, name: "GB" },
  { factor: 1e6, name: "MB" },
  { factor: 1e3, name: "kB" },
  { factor: 1, name: "B" },
];

function fitting(units: Shown[], typical: number): Shown {
  return units.find((unit) => typical >= unit.factor) ?? units[units.length - 1]!;
}

/** The price of a core-hour where the reader sets none. */
export const PRICE = 0.04;

/** The price of a core-hour in the address of a page. One that is not above zero gives no unit: the usual one counts. */
export function priceOf(asked: string | undefined): number {
  const price = Number(asked);
  return price > 0 && price < Infinity ? price : PRICE;
}

/** The unit for values of this size. `price` is that of a core-hour. */
export function shownUnit(unit: MetricUnit, typical: number, price: number): Shown {
  switch (unit) {
    case "per_s":
      return { factor: 1, name: "/s" };
    case "ns":
      return fitting(TIMES, typical);
    case "us":
      return scaled(fitting(TIMES, typical * 1e3), 1e3);
    case "ms":
      return scaled(fitting(TIMES, typical * 1e6), 1e6);
    case "bytes":
      return fitting(BYTES, typical);
    case "count":
      return { factor: 1, name: "" };
    case "share":
      return { factor: 0.01, name: "%" };
    case "cpu_seconds_per_million":
      // In hundredths of the price's currency where a request costs little, as most do.
      return (typical * price) / 3600 < 0.1 ? { factor: 36 / price, name: "cents" } : { factor: 3600 / price, name: "" };
  }
}

function scaled(unit: Shown, by: number): Shown {
  return { factor: unit.factor / by, name: unit.name };
}

const grouped = new Map<number, Intl.NumberFormat>();

function digits(value: number, after: number): string {
  let format = grouped.get(after);
  if (!format) {
    format = new Intl.NumberFormat("en", { minimumFractionDigits: after, maximumFractionDigits: after });
    grouped.set(after, format);
  }
  return format.format(value);
}

/** Whether more or less of a metric is better, as a sentence. */
export const betterText = (metric: MetricPage): string =>
  metric.is_neutral ? "Neither more nor less is better." : metric.less_is_better ? "Less is better." : "More is better.";

/** A number to so many significant digits. */
export function significant(value: number, count = 3): string {
  if (value === 0 || !Number.isFinite(value)) return "0";
  const place = count - 1 - Math.floor(Math.log10(Math.abs(value)));
  const rounded = place < 0 ? Math.round(value * 10 ** place) / 10 ** place : value;
  return digits(rounded, Math.min(Math.max(place, 0), 6));
}

/**
 * A number rounded to what its interval leaves open: to the place of one or two digits of the half-width, by the rule of
 * the Particle Data Group (two digits below 355, one above). Two to four digits are shown.
 */
export function rounded(value: number, halfWidth: number | null): string {
  if (value === 0 || !Number.isFinite(value)) return "0";
  if (halfWidth === null || !(halfWidth > 0)) return significant(value, 3);
  const open = Math.floor(Math.log10(halfWidth / 3.55));
  const first = Math.floor(Math.log10(Math.abs(value)));
  return significant(value, Math.min(Math.max(first - open + 1, 2), 4));
}

/** The value of a figure as every report shows it. */
export const shownValue = (figure: Figure): number => figure.mean ?? figure.median;

/** Whether `low` and `high` are more than the figure of a single launch. */
export const hasRange = (value: FigurePage): boolean => value.launches > 1 || !value.is_range;

/** A value of a metric, without its unit. */
export function valueText(value: FigurePage, unit: Shown): string {
  const half = hasRange(value) ? (value.high - value.low) / 2 / unit.factor : null;
  return `${value.at_least ? "≥ " : ""}${rounded(value.estimate / unit.factor, half)}`;
}

/** Both ends of the interval; empty for a single launch without one. */
export function rangeText(value: FigurePage, unit: Shown): string {
  if (!hasRange(value)) return "";
  const half = (value.high - value.low) / 2 / unit.factor;
  return `${rounded(value.low / unit.factor, half)} to ${rounded(value.high / unit.factor, half)}`;
}

export function time(ns: number): string {
  const unit = fitting(TIMES, ns);
  return `${significant(ns / unit.factor, 3)} ${unit.name}`;
}

/** A time to wait: `42 s`, `3 min 20 s`, `2 h 10 min`. */
export function span(seconds: number): string {
  const s = Math.max(Math.round(seconds), 0);
  const [minutes, hours] = [Math.floor(s / 60), Math.floor(s / 3600)];
  return s < 60 ? `${s} s` : s < 3600 ? `${minutes} min ${s % 60} s` : `${hours} h ${minutes % 60} min`;
}

export function bytes(count: number): string {
  const unit = fitting(BYTES, count);
  return `${significant(count / unit.factor, 3)} ${unit.name}`;
}

export function whole(count: number): string {
  return digits(Math.round(count), 0);
}

/** `1 launch`, `2 launches`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

export function percent(share: number, count = 2): string {
  return `${significant(share * 100, count)} %`;
}

/** A rate on an axis or in a sentence: 12,000 or 1.2 million. */
export function rate(perS: number): string {
  return perS >= 1e6 ? `${significant(perS / 1e6, 3)} M` : perS >= 100 ? whole(perS) : significant(perS, 3);
}

/** A rate that a load offers: whole from 100 per second on, below it with as few digits as it needs. */
export const offeredRate = (perS: number): string => (perS >= 100 ? whole(perS) : String(+perS.toPrecision(3)));

/** A time that no clock can have now, with a day of grace: a round with it would stay the newest. */
const future = (rfc3339: string): string => (Date.parse(rfc3339) > Date.now() + 864e5 ? " (in the future)" : "");

/** `2026-11-21 18:33 UTC`. */
export function moment(rfc3339: string): string {
  return (/^\d{4}-\d\d-\d\dT\d\d:\d\d.*Z$/.test(rfc3339) ? `${rfc3339.slice(0, 10)} ${rfc3339.slice(11, 16)} UTC` : rfc3339) + future(rfc3339);
}

/** `2026-11-21`. */
export const day = (rfc3339: string): string => rfc3339.slice(0, 10) + future(rfc3339);

/** `closed loop`, `open loop` without a known rate, `2,000/s offered`, `50 % of each server's capacity offered` or `capacity with response.p99<10ms`. */
function loadKind(load: Load): string {
  if (load.capacity) return `capacity with ${load.capacity.objective}`;
  if (load.share) return `${percent(load.share.share)} of each server's capacity offered`;
  if (load.kind === "closed") return "closed loop";
  return load.rate_per_s ? `${offeredRate(load.rate_per_s)}/s offered` : "open loop";
}

/** `closed loop, 64 connections, 10 s windows` or `2,000/s offered, 64 connections, 10 s windows`, with its database at the end. */
export function loadText(load: Load, withDatabase = true): string {
  const parts = [loadKind(load)];
  // Some imported reports do not say how many there were.
  if (load.connections > 0) parts.push(counted(load.connections, "connection"));
  if (load.depth > 1) parts.push(`${load.depth} deep`);
  if (load.arrivals === "poisson") parts.push("Poisson arrivals");
  if (load.requests) parts.push(counted(load.requests, "request"));
  if (load.duration_s) parts.push(`${+load.duration_s.toPrecision(3)} s windows`);
  if (load.protocol === "websocket") parts.push("WebSocket");
  if (load.protocol === "grpc") parts.push("gRPC");
  if (load.stream) parts.push(`streams of ${load.stream}`);
  if (load.http) parts.push(`HTTP/${load.http}`);
  if (load.tls && load.http !== "3") parts.push("TLS");
  if (load.no_keep_alive) parts.push("no keep-alive");
  if (load.requests_per_connection) parts.push(`${counted(load.requests_per_connection, "request")} per connection`);
  // Imported figures may not say how large it was.
  if (load.database && load.database.pool > 0) parts.push(`pool of ${counted(load.database.pool, "database connection")}`);
  if (load.variant?.kind === "first_run") parts.push("first run, no warm-up");
  if (load.balanced) {
    const { route, instances, balancer, fault } = load.balanced;
    const to = { direct: "to one instance", spread: `to ${counted(instances, "instance")} directly`, balanced: `${counted(instances, "instance")} behind ${balancer}` };
    parts.push(to[route]);
    if (fault) parts.push("one instance killed");
  }
  if (load.tool) parts.push(`as ${load.tool.split(" ")[0]}`);
  if (withDatabase && load.database?.database) parts.push(load.database.database);
  return parts.join(", ");
}

/** How a server is run, as the text of a report says it: the names of the two usual forms explain nothing. */
export const formText = (form: string): string => (form === "single" ? "one process on one core" : form === "cores" ? "all cores given to it" : words(form));

/** A verdict's or outcome's name as words. */
export function words(name: string): string {
  return name.replace(/_/g, " ");
}

const EVIDENCE_NAMES: Record<string, string> = { run_delay_share: "waited for a CPU", lowest_ns: "shortest wait", variation_share: "varied by" };

/** A figure of a verdict's evidence with its name; its unit is at the end of its key: `generator_lag_ns_p99`. */
export function evidence(key: string, value: unknown): string {
  const name = (unit: string) => EVIDENCE_NAMES[key] ?? words(key.replace(unit, ""));
  if (typeof value !== "number") {
    const entries = value && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : null;
    return `${words(key)}: ${entries ? entries.map(([of, count]) => `${of}: ${plain(count)}`).join(", ") : plain(value)}`;
  }
  if (/_ns(_|$)/.test(key)) return `${name("_ns")}: ${time(value)}`;
  if (/_per_s(_|$)/.test(key) && !/_s_per_s/.test(key)) return `${name("_per_s")}: ${rate(value)}/s`;
  if (/_s$/.test(key) && !/_per_s$/.test(key)) return `${name("_s")}: ${time(value * 1e9)}`;
  if (/share|utilization|^change$/.test(key)) return `${name("")}: ${percent(value, 3)}`;
  return `${words(key)}: ${plain(value)}`;
}

function plain(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? whole(value) : significant(value, 4);
  if (Array.isArray(value)) return list(value.map(plain));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** `a, b and c`. */
export function list(items: string[]): string {
  return items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
}

/** Those of the labels on an axis `width` wide that have room beside each other, each centred at a place from 0 to 100. */
export function roomy<T>(labels: T[], at: (label: T) => number, text: (label: T) => string, width: number): T[] {
  let free = -Infinity;
  return labels.filter((label) => {
    const half = (text(label).length * 6.8) / 2;
    const middle = (at(label) * width) / 100;
    if (middle - half < free) return false;
    free = middle + half + 8;
    return true;
  });
}

/** Steps of an axis: round numbers, about so many. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((s) => s * power).find((s) => s >= raw) ?? 10 * power;
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * (1 + 1e-9); tick += step) found.push(+tick.toPrecision(12));
  return found;
}

/** Steps of a logarithmic axis: powers of ten, with 2 and 5 between them where there are few. */
export function logTicks(low: number, high: number): number[] {
  // From zero the powers of ten would never end.
  if (!(low > 0 && high < Infinity)) return [];
  const decades = Math.log10(high / low);
  const factors = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) found.push(+tick.toPrecision(12));
    }
  }
  return found;
}
