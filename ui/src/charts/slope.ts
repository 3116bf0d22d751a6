// Ranks on two occasions, joined by a line for each name. The drawing is in the file of the drawing library.
import { Plot } from "./plot";
import type { ChartSource } from "./source";

export interface Slope {
  name: string;
  then: number;
  now: number;
}

/** The rank of each value, 1 for the best; equal values share one. */
export const ranksOf = (values: number[], less: boolean): number[] =>
  values.map((value) => 1 + values.filter((other) => (less ? other < value : other > value)).length);

export function slope(all: Slope[]): ChartSource {
  return {
    note: "Only rows that both sides have. Green: increased. Orange: decreased. Equal figures share a rank.",
    draw: (width, height) => Plot.slopes(all, width, height),
    table: () => ({ columns: ["name", "rank then", "rank now"], rows: all.map((s) => [s.name, s.then, s.now]) }),
  };
}
