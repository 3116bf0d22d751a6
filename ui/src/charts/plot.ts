// Shared by all charts drawn with Plot: the library, margins, colours of text, steps of a time axis.
import type { Markish, PlotOptions, ScaleOptions } from "@observablehq/plot";
import type { Library } from "./library";
import { bytes, logTicks, rate, roomy, time } from "../format";

export type { Markish, ScaleOptions };

/** The drawing library; unset until `loadPlot` ends. */
export let Plot: Library;
let loading: Promise<void> | null = null;

const here = import.meta.url;

const loaded = (): boolean => {
  Plot ??= (globalThis as { PacelinePlot?: Library }).PacelinePlot as Library;
  return Plot !== undefined;
};

/** Loads the drawing library once; a report of one file has it already. */
export function loadPlot(): Promise<void> {
  loading ??= loaded()
    ? Promise.resolve()
    : new Promise<void>((resolve, reject) => {
        const script = document.createElement("script");
        // Beside the program: in a folder whose name changes with its files.
        script.src = new URL("plot.js", here).href;
        script.onload = () => (loaded() ? resolve() : reject(new Error("plot.js is not the drawing library.")));
        script.onerror = () => {
          loading = null;
          reject(new Error("The drawing library cannot be loaded. Start `paceline view` again, then reload this page."));
        };
        // After the words and figures of the page are painted.
        requestAnimationFrame(() => setTimeout(() => document.head.append(script)));
      });
  return loading;
}

/** Draws a chart: the part of it that needs nothing else of the program is in the library. */
export const draw = (options: PlotOptions): SVGElement => Plot.draw(options);

const short = (text: string): string => text.replace(/\.0+(?= )/, "").replace(/(\.[0-9]*[1-9])0+(?= )/, "$1");
export const timeTick = (ns: number): string => short(time(ns));
export const bytesTick = (count: number): string => (count === 0 ? "0" : short(bytes(count)));
export const rateTick = (perS: number): string => rate(perS);

/** The width of a letter at 12 pixels, of a wide typeface. */
const LETTER = 7;

/** The margin that names need beside a chart, at most a share of its width, and the part of a name that fits in it. */
export function nameMargin(names: string[], width: number, share: number): { margin: number; fit: (name: string) => string } {
  const letters = Math.min(Math.max(...names.map((name) => name.length), 0), Math.floor((width * share - 16) / LETTER));
  return { margin: letters * LETTER + 16, fit: (name) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name) };
}

/** Those of the labels of a logarithmic horizontal axis that have room in `width` pixels. */
export function roomyLog(labels: number[], low: number, high: number, text: (value: number) => string, width: number): number[] {
  return roomy(labels, (value) => (100 * Math.log(value / low)) / Math.log(high / low), text, width);
}

/** A logarithmic axis of times, with as many steps as have room. */
export function timeAxis(label: string, low: number, high: number): ScaleOptions {
  return { type: "log", domain: [low, high], label, tickFormat: timeTick, ticks: logTicks(low, high), grid: true };
}
