// When the events of a few streams came: a row for each, from the intended send of its request. The drawing is in the
// file of the drawing library.
import type { Measured, StreamExample, StreamExamples } from "../wire";
import { counted, time, whole, words } from "../format";
import { Plot, timeTick } from "./plot";
import type { ChartSource } from "./source";
import type { Gap } from "./streamed";

/** The height of a row, in pixels: room for two lines of text and the marks between them. */
const ROW = 72;

export const streamsHeight = (streams: StreamExamples): number => 56 + ROW * streams.examples.length;

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
  const name = (one: StreamExample) => `${words(one.kind)}: ${counted(one.events, "event")}${one.kept_every > 1 ? `, one in ${whole(one.kept_every)} drawn` : ""}`;
  const rows = streams.examples.map((one, at) => ({ ...one, at, name: name(one) }));
  const gaps = rows.flatMap((one) => gapOf(one, one.at));
  const events = rows.flatMap((one) => drawn(one).map((x) => ({ x, at: one.at })));
  const far = [...events.map((event) => event.x), ...gaps.map((gap) => gap.to), ...rows.map((one) => one.ended_ns)].reduce((most, x) => Math.max(most, x), 1);
  return {
    note: note(streams, open, measured.total.stream_events?.streams ?? 0),
    draw: (width, height) => Plot.streamed({ rows, gaps, events, far, label: open ? "since the intended send" : "since the send" }, timeTick, width, height),
    table: () => ({
      columns: ["stream", open ? "due in the window after" : "sent in the window after", "first byte", "first event", "events", "longest gap", "after event", "last event", "end"],
      rows: rows.map((one) => [
        words(one.kind), time(Math.max(one.intended_ns - measured.phases.window.start_ns, 0)), time(one.first_body_ns),
        one.event_ns[0] === undefined ? "" : time(one.event_ns[0]), whole(one.events),
        one.longest_gap ? time(one.longest_gap.length_ns) : "", one.longest_gap ? whole(one.longest_gap.after_event) : "",
        time(one.last_event_ns), time(one.ended_ns),
      ]),
    }),
  };
}
