// Which round another is compared with where none is chosen: one of the same plan.
import { isServed } from "./api";
import type { RoundEntry } from "./wire";

export interface Pair {
  a: RoundEntry;
  b: RoundEntry;
}

/** The newest rounds of a plan that a site compares with each other: `COMPARED` in `crates/web/src/site.rs`. */
const COMPARED = 4;

/** The rounds that can be compared: a server compares any two, a site has pages of the newest ones of each plan. */
export function comparable(rounds: RoundEntry[]): RoundEntry[] {
  if (isServed) return rounds;
  const known = new Map<string, number>();
  return rounds.filter(({ plan, imported }) => {
    if (imported) return false;
    const newer = known.get(plan) ?? 0;
    known.set(plan, newer + 1);
    return newer < COMPARED;
  });
}

/**
 * A measured round and the one of its plan before it, or after it where it is the first; one of the same machine rather
 * than the next one, because machines differ more than versions. None where the two cannot be compared. `all` are newest
 * first.
 */
export function pairOf(all: RoundEntry[], id: string): Pair | null {
  const rounds = comparable(all);
  const at = rounds.findIndex((round) => round.id === id);
  const round = rounds[at];
  if (!round || round.imported) return null;
  const same = (other: RoundEntry) => other.plan === round.plan && !other.imported;
  const isHere = (other: RoundEntry) => same(other) && other.cpu_model === round.cpu_model && other.cores === round.cores;
  const nearest = (others: RoundEntry[]) => others.find(isHere) ?? others.find(same);
  const before = nearest(rounds.slice(at + 1));
  if (before) return { a: before, b: round };
  const after = nearest(rounds.slice(0, at).reverse());
  return after ? { a: round, b: after } : null;
}
