// Figures that a source published, in groups that share an axis: one source, one workload and load, one thing counted.
import type { Beside } from "./wire";
import { words } from "./format";

export interface Group {
  id: string;
  source: string;
  /** What is counted, and under what load. */
  name: string;
  unit: string;
  less: boolean;
  /** The highest published first. */
  rows: Beside[];
}

const NAMES: Record<string, string> = {
  requests_per_s: "Requests per second", requests_per_s_per_core: "Requests per second and core", time_ms_p50: "Time, median", time_ms_p99: "Time, p99",
  bytes_per_response: "Bytes per response", kept_alive_percent: "Connections kept alive", rss_mb: "Memory, peak", cpu_percent: "CPU", failed: "Failed requests",
};

export function groupsOf(observed: Beside[]): Group[] {
  const all = new Map<string, Beside[]>();
  for (const beside of observed) {
    const o = beside.observed;
    const id = [o.source, o.workload ?? "", o.load ?? "", o.form ?? "", o.what].join(" ");
    all.set(id, [...(all.get(id) ?? []), beside]);
  }
  return [...all].map(([id, rows]) => {
    const o = rows[0]!.observed;
    return {
      id,
      source: o.source,
      name: `${NAMES[o.what] ?? words(o.what)}, ${[o.workload, o.load, o.form].filter(Boolean).join(", ")}`,
      unit: o.unit,
      less: !/^requests_per_s|kept_alive/.test(o.what),
      rows: [...rows].sort((a, b) => b.observed.value - a.observed.value),
    };
  });
}

export const isMeasured = (b: Beside): boolean => b.now !== null && (b.standing === "measured" || b.standing === "at_least");
