// Which round another is compared with where none is chosen: one of the same plan.
import type { RoundEntry } from "./wire";

export interface Pair {
  a: RoundEntry;
  b: RoundEntry;
}

/** A measured round and the one of its plan before it, or after it where it is the first. `rounds` are newest first. */
export function pairOf(rounds: RoundEntry[], id: string): Pair | null {
  const at = rounds.findIndex((round) => round.id === id);
  const round = rounds[at];
  if (!round || round.imported) return null;
  const same = (other: RoundEntry) => other.plan === round.plan && !other.imported;
  const before = rounds.slice(at + 1).find(same);
  if (before) return { a: before, b: round };
  const after = rounds.slice(0, at).reverse().find(same);
  return after ? { a: round, b: after } : null;
}
