// The functions of Observable Plot that the charts use, built into a separate file: two thirds of the program, and
// most first visits need none of it. A script, not a module, so that a report of one file can hold it too.
import { axisX, axisY, dot, line, lineY, link, plot, rect, rectX, ruleX, ruleY, text } from "@observablehq/plot";

const library = { axisX, axisY, dot, line, lineY, link, plot, rect, rectX, ruleX, ruleY, text };

export type Library = typeof library;

Object.assign(globalThis, { PacelinePlot: library });
