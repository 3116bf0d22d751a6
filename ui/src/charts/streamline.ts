// When the events of a few streams came: a row for each, from the intended send of its request.
import type { Measured, StreamExample, StreamExamples } from "../wire";
import { counted, time, whole, words } from "../format";
import { Plot, timeTick, type Markish } from "./plot";
import type { ChartSource } from "./source";

/** The height of a row, in pixels: room for two lines of text and the marks between them. */
const ROW = 72;

export const streamsHeight = (streams: StreamExamples): number => 56 + ROW * streams.examples.length;

interface Gap {
  at: number;
  from: number;
  to: number;
  text: string;
}

/** Those whose times are kept, and the last one. */
const drawn = (e: StreamExample): number[] => (e.event_ns.includes(e.last_event_ns) || e.events < 2 ? e.event_ns : [...e.event_ns, e.last_event_ns]);

function gapOf(e: StreamExample, at: number): Gap[] {
  const gap = e.longest_gap;
  return gap && gap.length_ns > 0 ? [{ at, from: gap.start_ns, to: gap.start_ns + gap.length_ns, text: `${time(gap.length_ns)} after event ${whole(gap.after_event)}` }] : [];
}

function note(streams: StreamExamples, open: boolean, all: number): string {
  const some = streams.watched < all ? ` of ${whole(all)}; at most 64 at a time are watched on each thread of the generator` : "";
  return `Chosen from ${counted(streams.watched, "stream")}${some}. Times count from the ${open ? "intended send" : "send"}. Blue: events. Grey: first byte of the body. Shaded: the longest gap. Ring: the end.`;
}

export function streamLines(streams: StreamExamples, measured: Measured): ChartSource {
  const open = measured.loop.kind === "open";
  const examples = streams.examples.map((one, at) => ({ ...one, at }));
  const gaps = examples.flatMap((one) => gapOf(one, one.at));
  const events = examples.flatMap((one) => drawn(one).map((x) => ({ x, at: one.at })));
  const far = [...events.map((event) => event.x), ...gaps.map((gap) => gap.to), ...examples.map((one) => one.ended_ns)].reduce((most, x) => Math.max(most, x), 1);
  const name = (one: StreamExample) => `${words(one.kind)}: ${counted(one.events, "event")}${one.kept_every > 1 ? `, one in ${whole(one.kept_every)} drawn` : ""}`;
  const lines = <T extends { at: number }>(data: T[], x: (one: T) => number, half: number, stroke: string): Markish =>
    Plot.ruleX(data, { x, y1: (one: T) => one.at - half, y2: (one: T) => one.at + half, stroke });
  return {
    note: note(streams, open, measured.total.stream_events?.streams ?? 0),
    draw: (width, height) =>
      Plot.draw({
        width, height, marginLeft: 16, marginRight: 24, marginTop: 8, marginBottom: 40,
        x: { domain: [0, far], label: open ? "since the intended send" : "since the send", ticks: Math.max(Math.floor(width / 90), 3), tickFormat: (ns: number) => (ns === 0 ? "0" : timeTick(ns)) },
        // The first row is at the top.
        y: { domain: [examples.length - 0.5, -0.5], axis: null },
        marks: [
          Plot.link(examples, { x1: () => 0, x2: "ended_ns", y1: "at", y2: "at", stroke: "var(--rule)" }),
          Plot.rect(gaps, { x1: "from", x2: "to", y1: (gap: Gap) => gap.at - 0.2, y2: (gap: Gap) => gap.at + 0.2, fill: "var(--accent-pale)", stroke: "var(--accent)", strokeOpacity: 0.4 }),
          lines(examples, (one) => one.first_body_ns, 0.22, "var(--muted)"),
          lines(events, (event) => event.x, 0.14, "var(--c0)"),
          Plot.dot(examples, { x: "ended_ns", y: "at", r: 4, stroke: "var(--muted)", strokeWidth: 2, fill: "var(--ground)" }),
          Plot.text(examples, { x: () => 0, y: (one: { at: number }) => one.at - 0.36, text: (one: StreamExample) => name(one), textAnchor: "start", fontWeight: 600, fill: "var(--text)" }),
          // Beside the edge that it is near to, so that it is not cut off.
          ...gaps.map((gap): Markish => {
            const left = gap.from + gap.to < far;
            return Plot.text([gap], { x: left ? "from" : "to", y: () => gap.at + 0.36, text: "text", textAnchor: left ? "start" : "end", fill: "var(--text)" });
          }),
        ],
      }),
    table: () => ({
      columns: ["stream", open ? "due in the window after" : "sent in the window after", "first byte", "first event", "events", "longest gap", "after event", "last event", "end"],
      rows: examples.map((one) => [
        words(one.kind), time(Math.max(one.intended_ns - measured.phases.window.start_ns, 0)), time(one.first_body_ns),
        one.event_ns[0] === undefined ? "" : time(one.event_ns[0]), whole(one.events),
        one.longest_gap ? time(one.longest_gap.length_ns) : "", one.longest_gap ? whole(one.longest_gap.after_event) : "",
        time(one.last_event_ns), time(one.ended_ns),
      ]),
    }),
  };
}
