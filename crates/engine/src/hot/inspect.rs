//! Checks bodies: each is compared with a valid one, and judged only if it differs.
//!
//! A worker has an [`Inspector`] for each kind of request. An exact expected body is known from the start; if a digest
//! or values in JSON are expected, the first valid body becomes the reference, and bodies that equal it are not hashed
//! or parsed again. The reference never changes, so that a body that comes in pieces is compared with the same one
//! throughout. The first wrong body of a kind is kept for display.

use crate::check::same_digest;
use crate::{BodyCheck, BodyFault, Ending, Nanos, ResponseCheck, WrongBody};
use paceline_http::equal;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The maximum number of bytes kept of a body that comes in pieces and has to be judged whole: enough for JSON that an
/// API sends in one response, and a bound to the memory of each connection. If a digest is expected, a longer body is
/// hashed as it arrives; if JSON is expected, it is a wrong one. Neither becomes the reference.
pub(super) const KEPT_MOST: usize = 1 << 20;
/// The number of bytes shown of a wrong body.
const SHOWN_MOST: usize = 96;
/// The number of those before the first wrong byte.
const SHOWN_BEFORE: usize = 24;

/// The state of a body that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// Bytes so far.
    pub bytes: u64,
    /// Whether they differ from the reference, or there is none.
    differs: bool,
    /// The part of it that is kept because it differs.
    kept: Option<Box<DifferingPart>>,
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
    /// A valid body.
    reference: Option<Arc<[u8]>>,
    /// The first wrong body.
    wrong: Option<WrongBody>,
}

impl Inspector {
    pub(super) fn new(check: &ResponseCheck) -> Self {
        let reference = match &check.body {
            BodyCheck::Exact(expected) => Some(Arc::clone(expected)),
            _ => None,
        };
        Self { check: check.clone(), reference, wrong: None }
    }

    /// The first wrong body, taken out.
    pub(super) fn into_wrong(self) -> Option<WrongBody> {
        self.wrong
    }

    /// The ending of a request whose response has a body in one piece.
    #[inline]
    pub(super) fn ending(&mut self, status: u16, body: &[u8], now: Nanos) -> Ending {
        if !self.check.admits(status) {
            return Ending::BadStatus;
        }
        let is_good = match &self.reference {
            Some(reference) if equal(reference, body) => true,
            None if matches!(self.check.body, BodyCheck::Any) => true,
            // Each body is different: there is no reference, and the check is as cheap as a comparison.
            None if self.has_form(body) => true,
            _ => self.judge(status, body, now),
        };
        if is_good { Ending::Ok } else { Ending::BadBody }
    }

    #[inline]
    fn has_form(&self, body: &[u8]) -> bool {
        matches!(&self.check.body, BodyCheck::JsonForm(form) if form.check(body).is_ok())
    }

    /// Adds a piece of a body.
    #[inline]
    pub(super) fn take(&self, status: u16, body: &mut Body, piece: &[u8]) {
        let begin = body.bytes as usize;
        body.bytes += piece.len() as u64;
        if matches!(self.check.body, BodyCheck::Any) || !self.check.admits(status) {
            return;
        }
        let equal = |reference: &Arc<[u8]>| {
            reference.get(begin..begin + piece.len()).is_some_and(|part| equal(part, piece))
        };
        if body.differs || !self.reference.as_ref().is_some_and(equal) {
            self.keep(body, begin, piece);
        }
    }

    /// Completes a body that came in pieces: returns the ending of its request. The next body may begin.
    pub(super) fn ending_in_pieces(&mut self, status: u16, body: &mut Body, now: Nanos) -> Ending {
        let body = std::mem::take(body);
        if !self.check.admits(status) {
            return Ending::BadStatus;
        }
        let is_good = match (&self.check.body, &self.reference, body.kept) {
            (BodyCheck::Any, ..) => true,
            (_, Some(reference), _) if !body.differs && reference.len() as u64 == body.bytes => true,
            // The whole body equals the beginning of the reference.
            (_, Some(reference), _) if !body.differs => {
                let beginning = Arc::clone(reference);
                self.judge(status, beginning.get(..body.bytes as usize).unwrap_or_default(), now)
            }
            (_, _, Some(kept)) => self.judge_kept(status, body.bytes, *kept, now),
            // It differs, and its bytes are not needed any more; or it is empty.
            (BodyCheck::Exact(_), ..) => false,
            (_, _, None) => self.judge(status, &[], now),
        };
        if is_good { Ending::Ok } else { Ending::BadBody }
    }

    /// Keeps the necessary part of a body that differs from the reference.
    #[cold]
    fn keep(&self, body: &mut Body, begin: usize, piece: &[u8]) {
        let is_exact = matches!(self.check.body, BodyCheck::Exact(_));
        let most = if is_exact { SHOWN_MOST } else { KEPT_MOST };
        if !body.differs {
            body.differs = true;
            if is_exact && self.wrong.is_some() {
                return;
            }
            let reference = self.reference.as_deref().unwrap_or_default();
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
    fn judge(&mut self, status: u16, body: &[u8], now: Nanos) -> bool {
        match self.check.body.judge(body) {
            Ok(()) => {
                let is_form = matches!(self.check.body, BodyCheck::JsonForm(_));
                if self.reference.is_none() && !is_form && body.len() <= KEPT_MOST {
                    self.reference = Some(Arc::from(body));
                }
                true
            }
            Err(fault) => {
                self.note(status, body.len() as u64, 0, body, fault, now);
                false
            }
        }
    }

    /// Judges a body that came in pieces, of which the beginning, or the part around the difference, was kept.
    fn judge_kept(&mut self, status: u16, length: u64, kept: DifferingPart, now: Nanos) -> bool {
        let is_whole = kept.start == 0 && kept.bytes.len() as u64 == length;
        let fault = match (&self.check.body, kept.digest) {
            (BodyCheck::Sha256(expected), Some(digest)) => {
                match same_digest(expected, digest.finalize().into()) {
                    Ok(()) => return true,
                    Err(fault) => fault,
                }
            }
            (BodyCheck::Exact(expected), _) if kept.start == 0 => BodyFault::differs(expected, &kept.bytes),
            (BodyCheck::Exact(expected), _) => BodyFault::Differs(expected.len() as u64),
            _ if is_whole => return self.judge(status, &kept.bytes, now),
            _ => BodyFault::TooLong(KEPT_MOST),
        };
        self.note(status, length, kept.start, &kept.bytes, fault, now);
        false
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
        let until = part.len().min(from + SHOWN_MOST);
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
