//! Checks bodies: each is compared with a valid one, and judged only if it differs.
//!
//! A worker has an [`Inspector`] for each kind of request. An exact expected body is known from the start; if a digest
//! or values in JSON are expected, the first valid body becomes the reference, and bodies that equal it are not hashed
//! or parsed again. The reference never changes, so that a body that comes in pieces is compared with the same one
//! throughout. The first wrong body of a kind is kept for display.

use crate::check::same_digest;
use crate::grpc::{CallCheck, CallFault, CountedStatus};
use crate::{BodyCheck, BodyFault, Ending, Nanos, ResponseCheck, WrongBody, decoded};
use paceline_http::h2::ResponseFields;
use paceline_http::{ContentCoding, GrpcCode, Head, MessageCoding, MessageReader, equal};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The maximum number of bytes kept of a body that comes in pieces and has to be judged whole: enough for JSON that an
/// API sends in one response, and a bound to the memory of each connection. If a digest is expected, a longer body is
/// hashed as it arrives; if JSON is expected, it is a wrong one. Neither becomes the reference.
pub(super) const MAX_KEPT: usize = 1 << 20;
/// The number of bytes shown of a wrong body.
const MAX_SHOWN: usize = 96;
/// The number of those before the first wrong byte.
const SHOWN_BEFORE: usize = 24;

/// The facts in the head of a response by which its body is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct JudgedHead {
    /// Its status.
    pub status: u16,
    /// The coding of its body.
    pub coding: ContentCoding,
    /// The coding of its compressed messages, if it is of gRPC.
    pub messages: Option<MessageCoding>,
}

impl From<Head> for JudgedHead {
    #[inline]
    fn from(Head { status, coding, .. }: Head) -> Self {
        Self { status, coding, messages: None }
    }
}

impl From<ResponseFields> for JudgedHead {
    #[inline]
    fn from(ResponseFields { status, coding, grpc, .. }: ResponseFields) -> Self {
        Self { status, coding, messages: grpc.messages() }
    }
}

/// The state of a body that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// Bytes so far.
    pub bytes: u64,
    /// Whether they differ from the reference, or there is none.
    differs: bool,
    /// The part of it that is kept because it differs.
    kept: Option<Box<DifferingPart>>,
    /// The messages of a call of gRPC.
    messages: MessageReader,
    /// The number of whole messages.
    whole_messages: u32,
    /// The code of the call, once it has come.
    pub code: Option<GrpcCode>,
}

impl Body {
    /// Reads a piece of the response to a call, which begins at an offset.
    fn take_messages(&mut self, check: &CallCheck, begin: usize, piece: &[u8]) {
        self.whole_messages = self.whole_messages.saturating_add(self.messages.read(piece));
        if let Some(expected) = &check.message {
            let part = expected.get(begin..begin + piece.len());
            self.differs |= !part.is_some_and(|part| equal(part, piece));
        }
    }
}

/// Part of a body that differs from the reference.
#[derive(Debug)]
struct DifferingPart {
    /// The offset of the part.
    start: u64,
    bytes: Vec<u8>,
    /// Its digest so far, once it is longer than the kept part.
    digest: Option<Sha256>,
}

/// Checks the responses to one kind of request.
#[derive(Debug)]
pub(super) struct Inspector {
    check: ResponseCheck,
    /// A valid body without a content coding.
    reference: Option<Arc<[u8]>>,
    /// A valid body with a content coding, as received.
    coded: Option<(ContentCoding, Arc<[u8]>)>,
    /// The first wrong body.
    wrong: Option<WrongBody>,
}

impl Inspector {
    pub(super) fn new(check: &ResponseCheck) -> Self {
        let reference = match &check.body {
            BodyCheck::Exact(expected) => Some(Arc::clone(expected)),
            _ => None,
        };
        Self { check: check.clone(), reference, coded: None, wrong: None }
    }

    /// The first wrong body, taken out.
    pub(super) fn into_wrong(self) -> Option<WrongBody> {
        self.wrong
    }

    /// A valid body with this coding. An exact body is also expected as received.
    #[inline]
    fn reference(&self, coding: ContentCoding) -> Option<&Arc<[u8]>> {
        match &self.coded {
            _ if coding == ContentCoding::Identity => self.reference.as_ref(),
            Some((known, reference)) if *known == coding => Some(reference),
            _ if self.is_exact() => self.reference.as_ref(),
            _ => None,
        }
    }

    /// The status under which a response is counted.
    #[inline]
    pub(super) fn counted_status(&self, head: JudgedHead, body: &Body) -> u16 {
        match self.check.body.call() {
            Some(_) => CountedStatus::number_of(head.status, body.code),
            None => head.status,
        }
    }

    /// Whether a response may have this status.
    pub(super) fn admits(&self, status: u16) -> bool {
        self.check.admits(status)
    }

    fn is_exact(&self) -> bool {
        matches!(self.check.body, BodyCheck::Exact(_))
    }

    /// The ending of a request whose response has a body in one piece.
    #[inline]
    pub(super) fn ending(&mut self, head: JudgedHead, body: &[u8], now: Nanos) -> Ending {
        if !self.check.admits(head.status) {
            return Ending::BadStatus;
        }
        let is_good = match self.reference(head.coding) {
            Some(reference) if equal(reference, body) => true,
            None if self.check.body.is_none() => true,
            None if self.check.body.call().is_some() => return self.ending_of_call(head, body, now),
            // Each body is different: there is no reference, and the check is as cheap as a comparison.
            None if self.has_form(body) => true,
            _ => self.judge(head, body, now),
        };
        if is_good { Ending::Ok } else { Ending::BadBody }
    }

    /// The ending of a call whose response has a body in one piece, and so no trailers.
    #[cold]
    fn ending_of_call(&mut self, head: JudgedHead, piece: &[u8], now: Nanos) -> Ending {
        let mut body = Body::default();
        self.take(head, &mut body, piece);
        self.ending_in_pieces(head, &mut body, now)
    }

    #[inline]
    fn has_form(&self, body: &[u8]) -> bool {
        matches!(&self.check.body, BodyCheck::JsonForm(form) if form.check(body).is_ok())
    }

    /// Adds a piece of a body.
    #[inline]
    pub(super) fn take(&self, head: JudgedHead, body: &mut Body, piece: &[u8]) {
        let begin = body.bytes as usize;
        body.bytes += piece.len() as u64;
        if self.check.body.is_none() || !self.check.admits(head.status) {
            return;
        }
        let equal = |reference: &Arc<[u8]>| {
            reference.get(begin..begin + piece.len()).is_some_and(|part| equal(part, piece))
        };
        if body.differs || !self.reference(head.coding).is_some_and(equal) {
            match &self.check.body {
                BodyCheck::Call(check) => body.take_messages(check, begin, piece),
                _ => self.keep(head.coding, body, begin, piece),
            }
        }
    }

    /// Completes a body that came in pieces: returns the ending of its request. The next body may begin.
    pub(super) fn ending_in_pieces(&mut self, head: JudgedHead, body: &mut Body, now: Nanos) -> Ending {
        let is_length = |reference: &Arc<[u8]>| reference.len() as u64 == body.bytes;
        let is_reference = !body.differs && self.reference(head.coding).is_some_and(is_length);
        if is_reference && self.check.admits(head.status) {
            // No part of it was kept.
            body.bytes = 0;
            return Ending::Ok;
        }
        let body = std::mem::take(body);
        if !self.check.admits(head.status) {
            return Ending::BadStatus;
        }
        if let Some(call) = self.check.body.call() {
            let judged = call.judge_fields(body.code, head.messages);
            let judged = judged.and_then(|()| judge_messages(&self.check.body, head, &body));
            return self.call_ending(head, body.bytes, judged, now);
        }
        let is_good = match (&self.check.body, self.reference(head.coding), body.kept) {
            (BodyCheck::Any | BodyCheck::Echo | BodyCheck::Stream(_), ..) => true,
            // The whole body equals the beginning of the reference.
            (_, Some(reference), _) if !body.differs => {
                let beginning = Arc::clone(reference);
                self.judge(head, beginning.get(..body.bytes as usize).unwrap_or_default(), now)
            }
            (_, _, Some(kept)) => self.judge_kept(head, body.bytes, *kept, now),
            // It differs, and its bytes are not needed any more; or it is empty.
            (BodyCheck::Exact(_), ..) => false,
            (_, _, None) => self.judge(head, &[], now),
        };
        if is_good { Ending::Ok } else { Ending::BadBody }
    }

    /// The ending of a call with this result. The first fault is kept.
    fn call_ending(
        &mut self,
        head: JudgedHead,
        length: u64,
        judged: Result<(), CallFault>,
        now: Nanos,
    ) -> Ending {
        let Err(fault) = judged else { return Ending::Ok };
        let ending = if matches!(fault, CallFault::Status(..)) { Ending::BadStatus } else { Ending::BadBody };
        self.note(head.status, length, 0, &[], fault.into(), now);
        ending
    }

    /// Keeps the text with the status of a call, if the status is not the expected one.
    #[cold]
    pub(super) fn note_status_text(&mut self, status: u16, code: GrpcCode, text: String, now: Nanos) {
        if self.check.body.call().is_some_and(|call| call.code != code) {
            self.note(status, 0, 0, &[], CallFault::Status(code, text).into(), now);
        }
    }

    /// Keeps the necessary part of a body that differs from the reference.
    #[cold]
    fn keep(&self, coding: ContentCoding, body: &mut Body, begin: usize, piece: &[u8]) {
        // A body that has to be decoded is needed whole.
        let is_exact = self.is_exact() && coding == ContentCoding::Identity;
        let most = if is_exact { MAX_SHOWN } else { MAX_KEPT };
        if !body.differs {
            body.differs = true;
            if is_exact && self.wrong.is_some() {
                return;
            }
            let reference = self.reference(coding).map_or(&[][..], |reference| reference);
            let rest = reference.get(begin..).unwrap_or_default();
            let at = begin + first_difference(rest, piece).unwrap_or(0);
            let start = if is_exact { at.saturating_sub(SHOWN_BEFORE) } else { 0 };
            let before = reference.get(start..begin).unwrap_or_default();
            body.kept =
                Some(Box::new(DifferingPart { start: start as u64, bytes: before.to_vec(), digest: None }));
            if let Some(kept) = &mut body.kept {
                kept.add(&piece[start.saturating_sub(begin)..], most, &self.check.body);
            }
        } else if let Some(kept) = &mut body.kept {
            kept.add(piece, most, &self.check.body);
        }
    }

    /// Judges a whole body that is not the reference.
    #[cold]
    fn judge(&mut self, head: JudgedHead, body: &[u8], now: Nanos) -> bool {
        let JudgedHead { status, coding, .. } = head;
        match self.check.body.judge(coding, body) {
            Ok(()) => {
                let is_form = matches!(self.check.body, BodyCheck::JsonForm(_));
                if !is_form && body.len() <= MAX_KEPT {
                    self.refer_to(coding, body);
                }
                true
            }
            Err(fault) => {
                let content = decoded(coding, body).unwrap_or(body.into());
                self.note(status, body.len() as u64, 0, &content, fault, now);
                false
            }
        }
    }

    /// Makes the first valid body with or without a coding the reference.
    fn refer_to(&mut self, coding: ContentCoding, body: &[u8]) {
        match coding {
            ContentCoding::Identity => _ = self.reference.get_or_insert_with(|| Arc::from(body)),
            coding => _ = self.coded.get_or_insert_with(|| (coding, Arc::from(body))),
        }
    }

    /// Judges a body that came in pieces, of which the beginning, or the part around the difference, was kept.
    fn judge_kept(&mut self, head: JudgedHead, length: u64, kept: DifferingPart, now: Nanos) -> bool {
        let is_whole = kept.start == 0 && kept.bytes.len() as u64 == length;
        let fault = match (&self.check.body, kept.digest) {
            (BodyCheck::Sha256(expected), Some(digest)) => {
                match same_digest(expected, digest.finalize().into()) {
                    Ok(()) => return true,
                    Err(fault) => fault,
                }
            }
            (BodyCheck::Exact(expected), _) if head.coding == ContentCoding::Identity => {
                BodyFault::Differs(expected.len() as u64)
            }
            _ if is_whole => return self.judge(head, &kept.bytes, now),
            _ => BodyFault::TooLong(MAX_KEPT),
        };
        self.note(head.status, length, kept.start, &kept.bytes, fault, now);
        false
    }

    /// Counts a body of which no byte was kept as wrong.
    pub(super) fn reject_unkept(&mut self, status: u16, length: u64, fault: BodyFault, now: Nanos) {
        self.note(status, length, 0, &[], fault, now);
    }

    /// Counts a body as wrong, whatever its check says.
    pub(super) fn reject(&mut self, status: u16, body: &[u8], fault: BodyFault, now: Nanos) {
        self.note(status, body.len() as u64, 0, body, fault, now);
    }

    /// Keeps the first wrong body: `part` of it, from `start`.
    fn note(&mut self, status: u16, length: u64, start: u64, part: &[u8], fault: BodyFault, now: Nanos) {
        if self.wrong.is_some() {
            return;
        }
        let rest =
            self.reference.as_deref().map(|reference| reference.get(start as usize..).unwrap_or_default());
        let difference = rest.and_then(|rest| first_difference(rest, part));
        let from = difference.unwrap_or(0).saturating_sub(SHOWN_BEFORE);
        let until = part.len().min(from + MAX_SHOWN);
        self.wrong = Some(WrongBody {
            at: now,
            status,
            length,
            differs_at: difference.map(|at| start + at as u64),
            shown: part[from..until].to_vec(),
            shown_from: start + from as u64,
            fault,
        });
    }
}

/// Judges the messages of a complete response to a call. Those of a stream were judged as they came.
fn judge_messages(check: &BodyCheck, head: JudgedHead, body: &Body) -> Result<(), CallFault> {
    let BodyCheck::Call(call) = check else { return Ok(()) };
    call.judge_flags(body.messages.flags(), head.messages)?;
    let whole = u64::from(body.whole_messages);
    if body.messages.is_in_message() {
        return Err(CallFault::InMessage(whole));
    }
    // A call that fails as expected may have no message.
    if whole != 1 && (call.code == GrpcCode::Ok || whole > 1) {
        return Err(CallFault::Messages(whole));
    }
    match &call.message {
        Some(expected) if body.differs || expected.len() as u64 != body.bytes => {
            Err(CallFault::Differs(expected.len() as u64))
        }
        _ => Ok(()),
    }
}

impl DifferingPart {
    fn add(&mut self, piece: &[u8], most: usize, check: &BodyCheck) {
        if let Some(digest) = &mut self.digest {
            return digest.update(piece);
        }
        let room = most - self.bytes.len().min(most);
        if piece.len() > room && matches!(check, BodyCheck::Sha256(_)) {
            let digest = self.digest.insert(Sha256::new());
            digest.update(&self.bytes);
            digest.update(piece);
        }
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
    }
}

/// The offset at which two texts first differ, or where the shorter ends. None if they are equal.
fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    (common < one.len().max(other.len())).then_some(common)
}

#[cfg(test)]
mod tests;
