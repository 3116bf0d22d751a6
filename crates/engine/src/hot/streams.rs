//! Stores the streams in flight: what has come of each, and when it ends.
//!
//! A stream is a response whose body is a sequence of events (`../stream/`). The tracker passes the pieces of its body
//! to it, and records the times of its events. A stream has ended as asked with the event that was to be the last one,
//! or at the moment that was to be its end; the response usually ends then too. If more of it comes, or nothing for
//! [`GRACE`], the protocol ends it. A run without streams has an empty table. Some streams of the window are watched,
//! to keep examples of them (`../stream/examples.rs`).

use super::exchange::ExchangeIndex;
use super::inspect::JudgedHead;
use crate::grpc::CallCheck;
use crate::stream::{
    MAX_EVENT_BYTES, StreamExamples, StreamFault, StreamMoments, StreamPlan, StreamWatch, WatchPlace, is_json,
};
use crate::{BodyCheck, Nanos, Requests, Slot};
use paceline_http::{EventFormat, EventReader, EventStep, MessageCoding};
use paceline_stats::HIGHEST;
use std::sync::Arc;

/// How long a server may take to end a response whose stream has ended as asked, so that the connection can carry the
/// next request: some round trips.
const GRACE: Nanos = Nanos::from_millis(100);

/// One stream.
#[derive(Clone, Debug)]
struct Stream {
    reader: EventReader,
    /// Whether the response is a stream, and has begun.
    is_open: bool,
    status: u16,
    /// The coding of compressed messages.
    messages: Option<MessageCoding>,
    /// When the first byte of the response came.
    first_byte: Nanos,
    /// When the first byte of the body came; [`Nanos::NEVER`] before that.
    first_body: Nanos,
    /// When the last event came.
    last_event: Nanos,
    longest_gap: Nanos,
    events: u64,
    body_bytes: u64,
    /// The bytes of the text that match so far.
    matched: u32,
    /// Whether the text has come.
    has_text: bool,
    /// When it ended as asked.
    ended_at: Option<Nanos>,
    /// When to end the response, if the server has not by then.
    cut_at: Nanos,
    fault: Option<StreamFault>,
    /// Where its events are recorded, if it is watched.
    watched: Option<WatchPlace>,
    /// The content of the current event, if that is needed.
    content: Vec<u8>,
}

/// The alarm of a connection.
#[derive(Clone, Copy, Debug)]
struct StreamAlarm {
    /// When a stream of it has to be ended, at the earliest.
    due: Nanos,
    /// The moment of the next alarm that is set.
    set: Nanos,
    /// The moment of a later alarm, which was set before.
    later: Nanos,
}

impl StreamAlarm {
    /// None is due, none is set.
    const NONE: Self = Self { due: Nanos::NEVER, set: Nanos::NEVER, later: Nanos::NEVER };
}

/// The events that came with one piece of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EventBatch {
    /// Whether it was the first piece of the body.
    pub begins_body: bool,
    /// The number of events that it completed.
    pub events: u64,
    /// When the event before them came; none if they are the first.
    pub after: Option<Nanos>,
    /// The sum of the numbers in them.
    pub counted: f64,
    /// Their delays, if they carry the times at which they were sent.
    pub delays: Delays,
    /// Whether the stream is over, although its response may not be: the protocol has to end it.
    pub is_over: bool,
}

/// The delays of some events: from the times that they carry to their arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delays {
    /// Those that are not negative.
    pub times: Vec<Nanos>,
    /// The number of events without a time, or with one so long ago that a histogram does not hold the delay.
    pub missing: u64,
    /// The number of events whose time is after their arrival.
    pub ahead: u64,
    /// The longest time by which one is.
    pub ahead_most: Nanos,
}

impl Delays {
    /// Adds the delay of an event, in nanoseconds, if it has one.
    fn add(&mut self, delay: Option<i128>) {
        let Some(delay) = delay else { return self.missing += 1 };
        let length = Nanos(u64::try_from(delay.unsigned_abs()).unwrap_or(u64::MAX));
        if delay < 0 {
            self.ahead += 1;
            self.ahead_most = self.ahead_most.max(length);
        } else if length.0 > HIGHEST {
            self.missing += 1;
        } else {
            self.times.push(length);
        }
    }
}

/// The result of a stream whose response has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StreamResult {
    /// Why it did not end as asked.
    pub fault: Option<StreamFault>,
    /// An event that ended with the response.
    pub last: EventBatch,
    /// When it ended.
    pub ended_at: Nanos,
    /// When the first byte of the body came, if one did.
    pub first_body: Option<Nanos>,
    pub events: u64,
    /// The longest time between two events, if there were two.
    pub longest_gap: Option<Nanos>,
}

/// All streams of a worker.
#[derive(Debug)]
pub(super) struct Streams {
    /// By kind of request; none where responses are no streams.
    plans: Box<[Option<Arc<StreamPlan>>]>,
    /// Places of each connection.
    places: usize,
    table: Box<[Stream]>,
    alarms: Box<[StreamAlarm]>,
    /// Keeps examples; none without streams.
    watch: Option<Box<StreamWatch>>,
}

impl Stream {
    fn new(plan: &StreamPlan) -> Self {
        Self {
            reader: EventReader::new(plan.format),
            is_open: false,
            status: 0,
            messages: None,
            first_byte: Nanos::ZERO,
            first_body: Nanos::NEVER,
            last_event: Nanos::ZERO,
            longest_gap: Nanos::ZERO,
            events: 0,
            body_bytes: 0,
            matched: 0,
            has_text: false,
            ended_at: None,
            cut_at: Nanos::NEVER,
            fault: None,
            watched: None,
            content: Vec::new(),
        }
    }

    /// Whether it has ended, as asked or not; its response may continue.
    fn is_over(&self) -> bool {
        self.ended_at.is_some() || self.fault.is_some()
    }

    /// It ends as asked.
    fn end_as_asked(&mut self, at: Nanos, now: Nanos) {
        self.ended_at = Some(at);
        self.cut_at = now + GRACE;
    }

    /// Reads a piece of the body up to the end of the stream. Returns the number of bytes read.
    fn read(&mut self, plan: &StreamPlan, piece: &[u8], now: Nanos, batch: &mut EventBatch) -> usize {
        let mut at = 0;
        while !self.is_over() {
            let (step, consumed) = self.reader.next(&piece[at..]);
            let read = &piece[at..at + consumed];
            at += consumed;
            if !self.has_text
                && let Some(until) = &plan.until
            {
                self.has_text = until.find(&mut self.matched, read).is_some();
            }
            match step {
                EventStep::NeedMore => break,
                EventStep::Data(data) if plan.reads_content() => self.keep(data),
                EventStep::Data(_) => {}
                EventStep::End => self.end_event(plan, now, batch),
            }
        }
        at
    }

    /// Keeps a part of the content of the current event.
    fn keep(&mut self, data: &[u8]) {
        if self.content.len() + data.len() > MAX_EVENT_BYTES {
            self.fault = Some(StreamFault::TooLong(self.events + 1));
            self.content = Vec::new();
        } else {
            self.content.extend_from_slice(data);
        }
    }

    /// An event is complete.
    fn end_event(&mut self, plan: &StreamPlan, now: Nanos, batch: &mut EventBatch) {
        if self.events > 0 {
            self.longest_gap = self.longest_gap.max(now.since(self.last_event));
        }
        self.events += 1;
        self.last_event = now;
        batch.events += 1;
        if let Some(count) = &plan.count {
            batch.counted += count.read::<f64>(&self.content).unwrap_or(0.0);
        }
        if let Some(time) = &plan.time {
            batch.delays.add(time.delay(&self.content, now));
        }
        if plan.must_be_json && !is_json(&self.content) {
            self.fault = Some(StreamFault::NotJson(self.events));
        }
        self.content.clear();
        // No byte stands between two chunks or messages of a WebSocket: one has to contain the whole text.
        if matches!(plan.format, EventFormat::Chunks | EventFormat::Messages) {
            self.matched = 0;
        }
        if self.has_text || plan.events == Some(self.events) {
            self.end_as_asked(now, now);
        }
    }

    /// Why it did not end as asked, although its response is complete.
    fn fault(&self, plan: &StreamPlan) -> Option<StreamFault> {
        let flags = |call: &CallCheck| call.judge_flags(self.reader.message_flags(), self.messages).err();
        let of_messages = || plan.call.as_ref().and_then(flags).map(StreamFault::Messages);
        match self.fault.clone().or_else(of_messages) {
            Some(fault) => Some(fault),
            None if self.ended_at.is_some() => (self.events == 0).then_some(StreamFault::NoEvent),
            None if self.reader.is_in_event() => Some(StreamFault::InEvent(self.events)),
            // A call may end well without a message.
            None if self.events == 0 && plan.call.is_none() => Some(StreamFault::NoEvent),
            None => plan.has_end().then_some(StreamFault::EndedEarly(self.events)),
        }
    }
}

/// Records the events of a stream that came together, if it is watched.
fn note_events(watch: &mut Option<Box<StreamWatch>>, stream: &Stream, batch: &EventBatch, now: Nanos) {
    if let Some((watch, watched)) = watch.as_mut().zip(stream.watched) {
        watch.add(watched, batch.events, now);
    }
}

/// A stream is not an example, and no longer watched.
fn stop_watching(watch: &mut Option<Box<StreamWatch>>, stream: &mut Stream) {
    if let Some((watch, watched)) = watch.as_mut().zip(stream.watched.take()) {
        watch.release(watched);
    }
}

impl Streams {
    /// A table for connections with this many places each.
    pub(super) fn new(requests: &Requests, connections: u32, places: u16) -> Self {
        let plan_of = |check: &BodyCheck| match check {
            BodyCheck::Stream(plan) => Some(Arc::clone(plan)),
            _ => None,
        };
        let plans: Box<[_]> = requests.kinds().iter().map(|kind| plan_of(&kind.check.body)).collect();
        let vacant = plans.iter().flatten().next().map(|plan| Stream::new(plan));
        let (connections, places) = (connections as usize, usize::from(places));
        let alarms = if vacant.is_some() { connections } else { 0 };
        let watch = vacant.is_some().then(|| Box::new(StreamWatch::new(connections * places)));
        Self {
            plans,
            places,
            table: vacant.map_or_else(Box::default, |vacant| vec![vacant; connections * places].into()),
            alarms: vec![StreamAlarm::NONE; alarms].into(),
            watch,
        }
    }

    /// Whether no response is a stream.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn index(&self, slot: Slot, place: ExchangeIndex) -> usize {
        slot as usize * self.places + usize::from(place)
    }

    /// The stream at a place, if one has begun there.
    fn get(&self, slot: Slot, place: ExchangeIndex) -> Option<&Stream> {
        self.table.get(self.index(slot, place)).filter(|stream| stream.is_open)
    }

    /// The head of a response to a request of this kind has come. A stream begins if its status is the expected one.
    pub(super) fn begin(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        head: JudgedHead,
        times: (Nanos, Nanos),
    ) {
        let (first_byte, now) = times;
        let index = self.index(slot, place);
        let Some(plan) = &self.plans[kind] else { return };
        let stream = &mut self.table[index];
        stop_watching(&mut self.watch, stream);
        let mut content = std::mem::take(&mut stream.content);
        content.clear();
        *stream = Stream {
            is_open: true,
            status: head.status,
            messages: head.messages,
            first_byte,
            fault: head.coding.is_compressed().then_some(StreamFault::Coded),
            cut_at: plan.length.map_or(Nanos::NEVER, |length| now + length),
            content,
            ..Stream::new(plan)
        };
        let due = stream.cut_at;
        self.note_due(slot, due);
    }

    /// Watches the stream that has begun at a place, if one has and there is room.
    pub(super) fn watch(&mut self, slot: Slot, place: ExchangeIndex) {
        let index = self.index(slot, place);
        let stream = self.table.get_mut(index).filter(|stream| stream.is_open && stream.watched.is_none());
        if let Some((stream, watch)) = stream.zip(self.watch.as_mut()) {
            stream.watched = watch.begin();
        }
    }

    /// Reads a piece of a body, which ends a chunk or not.
    pub(super) fn read(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        (piece, ends_chunk): (&[u8], bool),
        now: Nanos,
    ) -> EventBatch {
        let index = self.index(slot, place);
        let Some(plan) = &self.plans[kind] else { return EventBatch::default() };
        let stream = &mut self.table[index];
        if !stream.is_open {
            return EventBatch::default();
        }
        // Its time was over before the alarm could ring.
        if stream.cut_at <= now {
            stream.ended_at.get_or_insert(stream.cut_at);
            return EventBatch { is_over: true, ..EventBatch::default() };
        }
        // A frame without content is no byte of the body; a message of a WebSocket is an event, even if it is empty.
        let has_content = !piece.is_empty() || ends_chunk && plan.format == EventFormat::Messages;
        let mut batch = EventBatch {
            begins_body: has_content && stream.first_body == Nanos::NEVER,
            after: (stream.events > 0).then_some(stream.last_event),
            ..EventBatch::default()
        };
        if has_content {
            stream.first_body = stream.first_body.min(now);
        }
        stream.body_bytes += piece.len() as u64;
        let read = stream.read(plan, piece, now, &mut batch);
        if !stream.is_over() && ends_chunk && stream.reader.end_chunk() {
            stream.end_event(plan, now, &mut batch);
        }
        note_events(&mut self.watch, stream, &batch, now);
        // Line ends behind the last event of a text belong to it.
        let is_text = plan.format != EventFormat::LengthPrefixed;
        let has_more = piece[read..].iter().any(|byte| !is_text || !matches!(byte, b'\r' | b'\n'));
        batch.is_over = stream.fault.is_some() || has_more;
        let due = stream.cut_at;
        self.note_due(slot, due);
        batch
    }

    /// The response at a place has ended: by the server, at an end that is known to be complete or not, or because the
    /// stream is over. None if it was no stream.
    pub(super) fn end(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        kind: usize,
        is_complete: bool,
        now: Nanos,
    ) -> Option<StreamResult> {
        let index = self.index(slot, place);
        let plan = self.plans[kind].as_ref()?;
        let stream = self.table.get_mut(index).filter(|stream| stream.is_open)?;
        stream.is_open = false;
        // Its time was over before the alarm could ring.
        if stream.cut_at <= now {
            stream.ended_at.get_or_insert(stream.cut_at);
        }
        let after = (stream.events > 0).then_some(stream.last_event);
        let mut last = EventBatch { after, ..EventBatch::default() };
        if is_complete && !stream.is_over() && stream.reader.end_body() {
            stream.end_event(plan, now, &mut last);
        }
        note_events(&mut self.watch, stream, &last, now);
        Some(StreamResult {
            fault: stream.fault(plan),
            last,
            ended_at: stream.ended_at.unwrap_or(now),
            first_body: (stream.first_body != Nanos::NEVER).then_some(stream.first_body),
            events: stream.events,
            longest_gap: (stream.events > 1).then_some(stream.longest_gap),
        })
    }

    /// The stream at a place, whose request was due at `intended`, has this result: keeps it if it is an example.
    pub(super) fn settle(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        intended: Nanos,
        result: &StreamResult,
    ) {
        let index = self.index(slot, place);
        let Some((stream, watch)) = self.table.get_mut(index).zip(self.watch.as_mut()) else { return };
        let Some(watched) = stream.watched.take() else { return };
        if let (None, Some(first_body)) = (&result.fault, result.first_body) {
            watch.offer(watched, StreamMoments { intended, first_body, ended: result.ended_at });
        }
        watch.release(watched);
    }

    /// Returns the examples of streams; a run without streams has none.
    pub(super) fn take_examples(&mut self) -> StreamExamples {
        self.watch.take().map_or_else(StreamExamples::default, |watch| watch.into_examples())
    }

    /// The exchange at a place has ended without a complete response.
    pub(super) fn discard(&mut self, slot: Slot, place: ExchangeIndex) {
        let index = self.index(slot, place);
        if let Some(stream) = self.table.get_mut(index) {
            stream.is_open = false;
            stop_watching(&mut self.watch, stream);
        }
    }

    /// When a place last made progress, if a stream has begun there: its last event came.
    pub(super) fn last_event(&self, slot: Slot, place: ExchangeIndex) -> Nanos {
        self.get(slot, place).map_or(Nanos::ZERO, |stream| stream.last_event)
    }

    /// Whether a stream is in progress at a place.
    pub(super) fn is_open(&self, slot: Slot, place: ExchangeIndex) -> bool {
        self.get(slot, place).is_some()
    }

    /// Whether the stream at a place has ended as asked: by an event, or because its time is over at `now`.
    pub(super) fn has_ended(&self, slot: Slot, place: ExchangeIndex, now: Nanos) -> bool {
        let has_ended = |stream: &Stream| stream.ended_at.is_some() || stream.cut_at <= now;
        self.get(slot, place).is_some_and(|stream| has_ended(stream) && stream.fault.is_none())
    }

    /// The status of the response at a place, when its first byte came, and the length of its body so far.
    pub(super) fn received(&self, slot: Slot, place: ExchangeIndex) -> (u16, Nanos, u64) {
        let of_one = |stream: &Stream| (stream.status, stream.first_byte, stream.body_bytes);
        self.get(slot, place).map_or_else(Default::default, of_one)
    }

    /// Whether the stream at a place has to be ended. If its time is over, it ends as asked.
    pub(super) fn is_due(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> bool {
        let index = self.index(slot, place);
        let stream = &mut self.table[index];
        let is_due = stream.is_open && stream.cut_at <= now;
        if is_due {
            stream.ended_at.get_or_insert(stream.cut_at);
        }
        is_due
    }

    fn note_due(&mut self, slot: Slot, due: Nanos) {
        let alarm = &mut self.alarms[slot as usize];
        alarm.due = alarm.due.min(due);
    }

    /// The moment for which an alarm has to be set on a connection; none if a sufficient one is set.
    pub(super) fn take_alarm(&mut self, slot: Slot) -> Option<Nanos> {
        let alarm = self.alarms.get_mut(slot as usize)?;
        (alarm.due < alarm.set).then(|| {
            alarm.later = alarm.later.min(alarm.set);
            alarm.set = alarm.due;
            alarm.due
        })
    }

    /// Whether an alarm that rings now was replaced by one for another moment.
    pub(super) fn is_stale_alarm(&self, slot: Slot, now: Nanos) -> bool {
        self.alarms[slot as usize].set > now
    }

    /// The alarm of a connection has rung: computes when the next one is due.
    pub(super) fn alarm_rang(&mut self, slot: Slot) {
        let start = self.index(slot, 0);
        let open = self.table[start..start + self.places].iter().filter(|stream| stream.is_open);
        let due = open.map(|stream| stream.cut_at).min().unwrap_or(Nanos::NEVER);
        let alarm = &mut self.alarms[slot as usize];
        *alarm = StreamAlarm { due, set: alarm.later, ..StreamAlarm::NONE };
    }
}
