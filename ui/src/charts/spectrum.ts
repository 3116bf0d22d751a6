// Percentile spectra: time against 1/(1 - p), so that 50 %, 90 %, 99 % and 99.9 % are equally far apart.
import type { TimesPage } from "../wire";
import { time } from "../format";
import { Plot, roomyLog, timeAxis, type Markish } from "./plot";
import type { ChartSource, Line } from "./source";

export interface Spectrum extends Line {
  times: TimesPage;
  dashed?: boolean;
}

// Lines differ in their dashes too, so that they are told apart in greyscale. At most eight are drawn.
const DASHES = ["", "8 3", "2 3", "8 3 2 3", "14 4", "5 5", "2 6", "14 4 2 4"];

const LEVELS = [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
const level = (x: number): string => (x <= 1 ? "0" : String(+((1 - 1 / x) * 100).toFixed(Math.max(Math.round(Math.log10(x)) - 2, 0))));

export function spectra(all: Spectrum[]): ChartSource {
  const drawn = all.map((spectrum, place) => {
    const end = Math.max(spectrum.times.reliable_to, 2);
    const points = spectrum.times.curve.filter(([, y]) => y > 0).map(([x, y]) => ({ x: Math.max(x, 1), y }));
    return { spectrum, dashes: spectrum.dashed ? "4 3" : DASHES[place % DASHES.length]!, solid: points.filter((p) => p.x <= end), last: points.filter((p) => p.x <= end).slice(-1) };
  });
  const every = drawn.flatMap(({ solid }) => solid);
  const high = Math.max(...every.map((p) => p.y));
  const low = Math.min(...every.map((p) => p.y));
  const far = Math.max(...every.map((p) => p.x), 10);
  return {
    note: "Horizontal: 1/(1 − p), so each step to the right is ten times rarer. A line ends with a mark where the samples are too few for its percentile.",
    draw: (width, height) => {
      const labels = Plot.spread(drawn.flatMap(({ spectrum, last }) => last.map((p) => ({ ...p, spectrum }))), low * 0.9, high * 1.1, height - 48);
      const { margin: room, fit } = Plot.nameMargin(all.map((spectrum) => spectrum.name), width, 0.36);
      // Where there is little room the label of 0 % would take that of the median.
      const levels = LEVELS.filter((x) => x <= far * 1.01 && (x > 1 || width > 600));
      return Plot.draw({
        width, height, marginLeft: 64, marginRight: room, marginBottom: 36,
        x: { type: "log", domain: [1, far], label: "percentile, %", ticks: roomyLog(levels, 1, far, level, width - 64 - room), tickFormat: level, grid: true },
        y: timeAxis("↑ time", low * 0.9, high * 1.1),
        marks: drawn.flatMap(({ spectrum, dashes, solid, last }): Markish[] => [
          Plot.line(solid, { x: "x", y: "y", stroke: spectrum.colour, strokeWidth: 2, curve: "monotone-x", ...(dashes ? { strokeDasharray: dashes } : {}) }),
          Plot.dot(last, { x: "x", y: "y", r: 3.5, fill: "var(--ground)", stroke: spectrum.colour, strokeWidth: 2 }),
        ]).concat(
          labels.map((l) => Plot.text([l], { x: () => far, y: "at", text: () => fit(l.spectrum.name), dx: 14, textAnchor: "start", fill: "var(--text)", fontSize: 12 })),
          labels.map((l) => Plot.link([l], { x1: "x", y1: "y", x2: () => far, y2: "at", stroke: l.spectrum.colour, strokeWidth: 1, strokeOpacity: 0.5 })),
        ),
      });
    },
    table: () => ({
      columns: ["run", "requests", "p50", "p90", "p99", "p99.9", "highest"],
      rows: all.map(({ name, times: t }) => [name, t.count, time(t.p50), time(t.p90), time(t.p99), time(t.p99_9), time(t.max)]),
    }),
  };
}
