// Shared by all charts drawn with Plot: the library, margins, colours of text, steps of a time axis.
import type { Markish, ScaleOptions } from "@observablehq/plot";
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

const short = (text: string): string => text.replace(/\.0+(?= )/, "").replace(/(\.[0-9]*[1-9])0+(?= )/, "$1");
export const timeTick = (ns: number): string => short(time(ns));
export const bytesTick = (count: number): string => (count === 0 ? "0" : short(bytes(count)));
export const rateTick = (perS: number): string => rate(perS);

/** Those of the labels of a logarithmic horizontal axis that have room in `width` pixels. */
export function roomyLog(labels: number[], low: number, high: number, text: (value: number) => string, width: number): number[] {
  return roomy(labels, (value) => (100 * Math.log(value / low)) / Math.log(high / low), text, width);
}

/** A logarithmic axis of times, with as many steps as have room. */
export function timeAxis(label: string, low: number, high: number): ScaleOptions {
  return { type: "log", domain: [low, high], label, tickFormat: timeTick, ticks: logTicks(low, high), grid: true };
}
