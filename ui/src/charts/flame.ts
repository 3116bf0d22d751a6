// A flame graph: each call of a profile as a box above its caller, as wide as its share of the samples. The drawing is in
// the file of the drawing library.
import type { Profile } from "../wire";
import { percent } from "../format";
import { Plot } from "./plot";
import type { ChartSource } from "./source";

const ROW = 18;

export const flameHeight = (profile: Profile): number => (Math.max(0, ...profile.calls.map((call) => call.depth)) + 1) * ROW;

export const flame = (profile: Profile): ChartSource => ({
  note: "Width: share of CPU time. Above each function: what it called. Blue: the kernel. Waiting is not included.",
  draw: (width, height) => Plot.flames(profile, ROW, (call) => percent(call.samples / profile.samples), width, height),
  table: () => ({ columns: ["depth", "function", "samples"], rows: profile.calls.map((call) => [call.depth, call.name, call.samples]) }),
});
