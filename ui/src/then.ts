// Figures that a source published, in groups that share an axis: one source, one workload and load, one thing counted.
import type { Beside, Load } from "./wire";
import { formText, loadText, words } from "./format";

export interface Group {
  id: string;
  source: string;
  /** What is counted. */
  what: string;
  /** Of which workload, under what load. */
  of: string;
  unit: string;
  less: boolean;
  /** The highest published first. */
  rows: Beside[];
}

const NAMES: Record<string, string> = {
  requests_per_s: "Requests per second", requests_per_s_per_core: "Requests per second and core", time_ms_p50: "Time, median", time_ms_p99: "Time, p99",
  bytes_per_response: "Bytes per response", kept_alive_percent: "Connections kept alive", rss_mb: "Memory, peak", cpu_percent: "CPU", failed: "Failed requests",
};

/** `loads` has those of the round by name; a figure of which it measured none keeps the name. */
export function groupsOf(observed: Beside[], loads: Record<string, Load>): Group[] {
  const all = new Map<string, Beside[]>();
  for (const beside of observed) {
    const o = beside.observed;
    const id = [o.source, o.workload ?? "", o.load ?? "", o.form ?? "", o.what].join(" ");
    all.set(id, [...(all.get(id) ?? []), beside]);
  }
  const several = new Set(observed.map((beside) => beside.observed.form)).size > 1;
  return [...all].map(([id, rows]) => {
    const o = rows[0]!.observed;
    const load = loads[o.load ?? ""];
    return {
      id,
      source: o.source,
      what: NAMES[o.what] ?? words(o.what),
      of: [o.workload, load ? loadText(load) : o.load, o.form && several ? formText(o.form) : ""].filter(Boolean).join(", "),
      unit: o.unit,
      less: !/^requests_per_s|kept_alive/.test(o.what),
      rows: [...rows].sort((a, b) => b.observed.value - a.observed.value),
    };
  });
}

export const isMeasured = (b: Beside): boolean => b.now !== null && (b.standing === "measured" || b.standing === "at_least");
