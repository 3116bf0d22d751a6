//! Sends requests whose body does not follow their head at once: it is generated or read, or it waits for 100 Continue.
//!
//! A generated body is sent in pieces of memory that all connections share, and a body that is read through one buffer
//! of the worker, so that their length costs no memory. A body that waits is sent when 100 Continue comes, or when the
//! limit of the wait is over; after a final status it is never sent, and then the connection can carry no other request:
//! the server may still expect the body.

use super::connection::SentRequests;
use crate::hot::RequestOrder;
use crate::outcome::{ConnectionFailure, ContinueCounts};
use crate::read_body::{BodyReader, Unreadable};
use crate::{Nanos, RequestKind, Requests, Slot, UploadBody};
use paceline_http::Expander;
use std::collections::HashMap;
use std::sync::Arc;

/// How long a body waits for 100 Continue: as long as in curl. A server may not know it (RFC 9110 §10.1.1).
const CONTINUE_LIMIT: Nanos = Nanos::from_secs(1);
/// The maximum number of bytes that are sent on one connection before others get their turn.
const MAX_TURN_BYTES: u64 = 1 << 20;

/// The requests of a worker.
#[derive(Debug)]
pub(super) struct Uploads {
    requests: Arc<Requests>,
    order: RequestOrder,
    /// Kind and number of the next request, if it is made.
    next: Option<(u16, u64)>,
    /// Its bytes, if they are not the same in every request of its kind.
    text: Vec<u8>,
    slots: HashMap<Slot, SlotUpload>,
    reader: BodyReader,
    counts: ContinueCounts,
}

/// The request that is being sent on a connection.
#[derive(Debug)]
struct SlotUpload {
    kind: u16,
    /// Its bytes, if they are not the same in every request of its kind.
    text: Vec<u8>,
    /// The number of its bytes that were sent.
    sent: u64,
    /// The number of all its bytes.
    length: u64,
    state: BodyState,
    /// The bytes sent in this turn.
    turn: u64,
    /// When the next alarm rings that was set for the connection.
    alarm: Nanos,
}

impl Default for SlotUpload {
    fn default() -> Self {
        let state = BodyState::Sending;
        Self { kind: 0, text: Vec::new(), sent: 0, length: 0, state, turn: 0, alarm: Nanos::NEVER }
    }
}

/// Whether the body of a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyState {
    /// It waits for 100 Continue, since its head was sent at this time.
    Held(Nanos),
    /// 100 Continue has come, and no byte was sent since.
    Released,
    /// It is being sent.
    Sending,
    /// It could not be read to its end: the connection must be closed.
    Unreadable,
}

/// The bytes of a request that come before a body that is made while it is sent.
fn text_of<'u>(kind: &'u RequestKind, varying: &'u [u8]) -> &'u [u8] {
    kind.template.as_fixed().unwrap_or(varying)
}

/// The length of a head, with its empty line.
fn head_bytes(text: &[u8]) -> usize {
    text.windows(4).position(|four| four == b"\r\n\r\n").map_or(text.len(), |at| at + 4)
}

impl Uploads {
    /// The requests of worker `worker` of `workers`.
    pub(super) fn new(requests: &Arc<Requests>, seed: u64, worker: u32, workers: u32) -> Self {
        let templates = requests.kinds().iter().map(|kind| &kind.template);
        let expander = |values| Expander::new(worker, workers, values, requests.files(), templates);
        Self {
            order: RequestOrder::new(requests, seed, worker, expander),
            requests: Arc::clone(requests),
            next: None,
            text: Vec::new(),
            slots: HashMap::new(),
            reader: BodyReader::new(requests.read_bodies()),
            counts: ContinueCounts::default(),
        }
    }

    /// The bytes with which the next request begins: its head, and a body that is in memory and does not wait.
    pub(super) fn next(&mut self) -> &[u8] {
        let kind = match self.next {
            Some((kind, _)) => kind,
            None => {
                let kind = self.order.next_kind();
                let expander = &mut self.order.expander;
                self.next = Some((kind, expander.number()));
                let template = &self.requests.kinds()[usize::from(kind)].template;
                match template.as_fixed() {
                    Some(_) => expander.skip_number(),
                    None => {
                        self.text.clear();
                        expander.expand(template, &mut self.text);
                    }
                }
                kind
            }
        };
        let text = text_of(&self.requests.kinds()[usize::from(kind)], &self.text);
        if self.requests.awaits_continue(kind) { &text[..head_bytes(text)] } else { text }
    }

    /// Some of those bytes were sent on a slot at this time: returns the request and its number.
    pub(super) fn begun(&mut self, slot: Slot, sent: usize) -> (SentRequests, u64) {
        let Some((kind, number)) = self.next.take() else {
            return (SentRequests { kind: 0, count: 1, bytes: sent, unsent: 0 }, 0);
        };
        let upload = self.slots.entry(slot).or_default();
        std::mem::swap(&mut upload.text, &mut self.text);
        let text = text_of(&self.requests.kinds()[usize::from(kind)], &upload.text);
        let following = self.requests.upload_body(kind).map_or(0, UploadBody::length);
        (upload.kind, upload.sent, upload.turn) = (kind, sent as u64, 0);
        upload.length = text.len() as u64 + following;
        let is_held = self.requests.awaits_continue(kind) && upload.length > head_bytes(text) as u64;
        upload.state = if is_held { BodyState::Held(Nanos::NEVER) } else { BodyState::Sending };
        (SentRequests { kind, count: 1, bytes: sent, unsent: upload.unsent() as usize }, number)
    }

    /// The head of the request on a slot was handed over at this time: its wait begins.
    pub(super) fn begins_wait(&mut self, slot: Slot, at: Nanos) {
        if let Some(SlotUpload { state: BodyState::Held(since), .. }) = self.slots.get_mut(&slot) {
            *since = at;
        }
    }

    /// The next bytes of the request on a slot that may be sent; none if it waits, if all were sent, or if others have
    /// their turn.
    ///
    /// # Errors
    /// [`ConnectionFailure::BodyUnreadable`].
    pub(super) fn piece(&mut self, slot: Slot) -> Result<&[u8], ConnectionFailure> {
        let Some(upload) = self.slots.get_mut(&slot).filter(|upload| upload.turn < MAX_TURN_BYTES) else {
            return Ok(&[]);
        };
        let text = text_of(&self.requests.kinds()[usize::from(upload.kind)], &upload.text);
        let is_held = upload.is_held();
        let end = if is_held { head_bytes(text) } else { text.len() };
        if let Some(rest) = text[..end].get(upload.sent as usize..)
            && !rest.is_empty()
        {
            return Ok(rest);
        }
        if is_held || upload.sent >= upload.length {
            return Ok(&[]);
        }
        let at = upload.sent - text.len() as u64;
        match self.requests.upload_body(upload.kind) {
            None => Ok(&[]),
            Some(UploadBody::Generated(body)) => Ok(body.piece_at(at)),
            Some(UploadBody::Read(_)) => {
                let state = &mut upload.state;
                self.reader.piece_at(upload.kind, at).map_err(|Unreadable| {
                    *state = BodyState::Unreadable;
                    ConnectionFailure::BodyUnreadable
                })
            }
        }
    }

    /// Bytes of the request on a slot were sent. Returns the number of those that were not, or `u32::MAX` if there are
    /// more.
    pub(super) fn advance(&mut self, slot: Slot, sent: usize) -> u32 {
        let Some(upload) = self.slots.get_mut(&slot) else { return 0 };
        upload.sent += sent as u64;
        upload.turn += sent as u64;
        upload.unsent()
    }

    /// The connection has its turn at `now`: it may send again, and also a body that has waited long enough.
    pub(super) fn begins_turn(&mut self, slot: Slot, is_windows: bool, now: Nanos) {
        let Some(upload) = self.slots.get_mut(&slot) else { return };
        upload.turn = 0;
        match upload.state {
            BodyState::Held(since) if now >= since + CONTINUE_LIMIT => {
                upload.state = BodyState::Sending;
                self.counts.silent += u64::from(is_windows);
            }
            // A body that still cannot be read is reported again.
            BodyState::Released | BodyState::Unreadable => upload.state = BodyState::Sending,
            BodyState::Held(_) | BodyState::Sending => {}
        }
    }

    /// An interim response has come on a slot.
    pub(super) fn interim(&mut self, slot: Slot, status: u16, is_windows: bool, now: Nanos) {
        if let Some(upload) = self.slots.get_mut(&slot)
            && let BodyState::Held(since) = upload.state
            && status == 100
        {
            upload.state = BodyState::Released;
            if is_windows {
                self.counts.continued += 1;
                self.counts.waits.record(now.since(since).0);
            }
        }
    }

    /// A final response has come on a slot. Returns whether no byte of the body was sent, and none will be.
    pub(super) fn answered(&mut self, slot: Slot, is_windows: bool) -> bool {
        match self.slots.get(&slot).map(|upload| upload.state) {
            Some(BodyState::Held(_)) => {
                self.counts.answered += u64::from(is_windows);
                true
            }
            Some(BodyState::Released) => true,
            Some(BodyState::Sending | BodyState::Unreadable) | None => false,
        }
    }

    /// When to call [`Uploads::begins_turn`] for a slot although its socket may have had room all the time;
    /// [`Nanos::ZERO`] for at once. None if it need not be, or an earlier alarm is set.
    pub(super) fn take_alarm(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let upload = self.slots.get_mut(&slot).filter(|upload| upload.sent < upload.length)?;
        let at = match upload.state {
            BodyState::Released | BodyState::Unreadable => return Some(Nanos::ZERO),
            BodyState::Held(since) => since + CONTINUE_LIMIT,
            BodyState::Sending if upload.turn >= MAX_TURN_BYTES => now + Nanos(1),
            BodyState::Sending => return None,
        };
        (at < upload.alarm).then(|| {
            upload.alarm = at;
            at
        })
    }

    /// An alarm has rung.
    pub(super) fn alarm_rang(&mut self, slot: Slot) {
        if let Some(upload) = self.slots.get_mut(&slot) {
            upload.alarm = Nanos::NEVER;
        }
    }

    /// The rest of the request on a slot will not be sent.
    pub(super) fn forget(&mut self, slot: Slot) {
        if let Some(upload) = self.slots.get_mut(&slot) {
            (upload.sent, upload.length, upload.state) = (0, 0, BodyState::Sending);
        }
    }

    /// The server has not processed a request: it is sent again, with its number.
    pub(super) fn give_back(&mut self, kind: u16, number: u64) {
        self.order.give_back(kind, number);
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(super) fn skip(&mut self) -> u16 {
        match self.next.take() {
            Some((kind, _)) => kind,
            None => self.order.skip(),
        }
    }

    /// How waits for 100 Continue have ended.
    pub(super) fn counts(&self) -> &ContinueCounts {
        &self.counts
    }
}

impl SlotUpload {
    fn is_held(&self) -> bool {
        matches!(self.state, BodyState::Held(_))
    }

    /// The number of bytes that were not sent, at most `u32::MAX`.
    fn unsent(&self) -> u32 {
        u32::try_from(self.length - self.sent).unwrap_or(u32::MAX)
    }
}
