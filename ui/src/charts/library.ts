// The functions of Observable Plot that the charts use, and what they share, built into a separate file: two thirds of
// the program, and most first visits need none of it. A script, not a module, so that a report of one file can hold it too.
import { dot, line, lineY, link, rect, rectX, ruleX, ruleY, text } from "@observablehq/plot";
import { draw, nameMargin, spread } from "./drawing";
import { flames } from "./flames";
import { searched } from "./searched";
import { slopes } from "./slopes";
import { streamed } from "./streamed";

const library = { dot, draw, flames, line, lineY, link, nameMargin, rect, rectX, ruleX, ruleY, searched, slopes, spread, streamed, text };

export type Library = typeof library;

Object.assign(globalThis, { PacelinePlot: library });
