//! Parses a response's head, from the status line to the blank line, into the facts that frame the response; and caches
//! it.
//!
//! The decoder calls [`read`] on a head that came in one piece; for a head in pieces it calls [`end`] first. Fields
//! that do not affect framing are checked for form and dropped. Parsed by hand: four fields matter, and each error has
//! to show the bytes that are invalid.

use super::error::{ProtocolError, Section};
use crate::syntax::{decimal, excerpt, is_text, is_token};
use crate::{ContentCoding, Method, starts_with};
use memchr::{memchr, memchr3};

/// How the lines of a head may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnds {
    /// In CR LF.
    #[default]
    CrLf,
    /// In LF alone as well, which a recipient may accept (RFC 9112 §2.2).
    LfAllowed,
}

/// The facts in a response's head about the bytes that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The three digits, 200 to 999, or below 100, which is invalid (RFC 9110 §15). 1xx are not passed on as heads.
    pub status: u16,
    /// Where the body ends.
    pub framing: Framing,
    /// Whether the connection may carry another response after this one (RFC 9112 §9.3).
    pub keep_alive: bool,
    /// Whether its framing cannot be trusted (RFC 9112 §6.1): both Content-Length and Transfer-Encoding, or chunks in
    /// HTTP/1.0. The recipient closes the connection, although the server may intend to keep it.
    pub is_suspect: bool,
    /// The `x` of `HTTP/1.x`.
    pub minor: u8,
    /// The coding of the body.
    pub coding: ContentCoding,
}

/// How the end of a body is determined (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body, whatever the fields say: the response to HEAD, 204 and 304.
    Empty,
    /// As many bytes as `Content-Length` gives; may be 0.
    Length(u64),
    /// Chunks, the last of size 0, then trailers.
    Chunked,
    /// All bytes until the peer closes.
    UntilClose,
}

/// A parsed head for either [`Method`], so that the cache serves both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ParsedHead {
    /// As the response to HEAD.
    to_head: Head,
    /// As the response to any other method.
    to_other: Head,
}

impl ParsedHead {
    /// The head as the response to a request of this method.
    #[inline]
    pub(super) fn answering(&self, method: Method) -> Head {
        match method {
            Method::Head => self.to_head,
            Method::Other => self.to_other,
        }
    }
}

/// The last complete head of a thread, byte for byte with its blank line, so that the next equal one need not be
/// parsed.
///
/// A server answers the same request with the same head while its `Date` is unchanged, up to a second. A head of 92
/// bytes costs 87 instructions to compare and 1,400 to parse. A head ends at its first blank line: input that begins
/// with these bytes begins with exactly this head. All decoders that share a cache have the same [`LineEnds`].
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    /// None before the first head.
    parsed: Option<ParsedHead>,
}

impl HeadCache {
    /// An empty cache.
    pub const fn new() -> Self {
        HeadCache { bytes: Vec::new(), parsed: None }
    }

    /// If `input` begins with the cached head: that head and its length in bytes.
    #[inline]
    pub(super) fn find(&self, method: Method, input: &[u8]) -> Option<(Head, usize)> {
        let parsed = self.parsed.as_ref()?;
        starts_with(input, &self.bytes).then(|| (parsed.answering(method), self.bytes.len()))
    }

    /// Caches a final head; the allocation grows to the longest head seen and is reused.
    pub(super) fn keep(&mut self, head: &[u8], parsed: ParsedHead) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.parsed = Some(parsed);
    }
}

/// The length of the head in `bytes`, its blank line included, if its end is in `bytes`. No line before `from` is
/// blank.
///
/// Lines that end in LF alone count, so that a head of such lines is rejected instead of waited for.
pub(super) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b'\n', bytes.get(at..)?) {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// The head at the start of `bytes` and its length, its blank line included; None before the blank line has arrived.
///
/// # Errors
/// The fault of the head, but only once it is complete, so that a head is rejected for the same reason however it is
/// split.
pub(super) fn read(bytes: &[u8], line_ends: LineEnds) -> Result<Option<(ParsedHead, usize)>, ProtocolError> {
    parse(bytes, line_ends).or_else(|error| if end(bytes, 0).is_some() { Err(error) } else { Ok(None) })
}

/// The status of the head at the start of `bytes` and its length, as [`read`], for a caller that needs no framing. The
/// head did not end in the bytes before `from`.
pub(crate) fn read_head(
    bytes: &[u8],
    from: usize,
    line_ends: LineEnds,
) -> Result<Option<(u16, usize)>, ProtocolError> {
    // The blank line may have begun with the two bytes before it (LF CR).
    let Some(length) = end(bytes, from.saturating_sub(2)) else { return Ok(None) };
    let head = read(&bytes[..length], line_ends)?;
    Ok(head.map(|(parsed, length)| (parsed.to_other.status, length)))
}

/// [`read`], except that an error may come before the end of the head.
fn parse(bytes: &[u8], line_ends: LineEnds) -> Result<Option<(ParsedHead, usize)>, ProtocolError> {
    let Some((line, mut rest)) = split_line(bytes, line_ends)? else { return Ok(None) };
    let (minor, status) = status_line(line)?;
    let mut fields = FramingFields::default();
    loop {
        let Some((line, mut after)) = split_line(rest, line_ends)? else { return Ok(None) };
        if line.is_empty() {
            return Ok(Some((fields.finish(minor, status), bytes.len() - after.len())));
        }
        // RFC 9112 §5.2: a line that begins with a blank continues the previous line (obs-fold).
        let mut end = line.len();
        while let [b' ' | b'\t', ..] = after {
            let Some((folded, next)) = split_line(after, line_ends)? else { return Ok(None) };
            end = rest.len() - after.len() + folded.len();
            after = next;
        }
        fields.read(&rest[..end])?;
        rest = after;
    }
}

/// A line without its end, and the bytes after it.
type SplitLine<'b> = (&'b [u8], &'b [u8]);

/// The first line; None before its end has arrived. NUL, and CR anywhere but at the end, make a line mean different
/// things to different readers (RFC 9112 §2.2, RFC 9110 §5.5).
#[inline]
fn split_line(bytes: &[u8], line_ends: LineEnds) -> Result<Option<SplitLine<'_>>, ProtocolError> {
    let Some(end) = memchr3(b'\r', b'\n', 0, bytes) else { return Ok(None) };
    let section = Section::Head;
    match &bytes[end..] {
        [b'\r', b'\n', after @ ..] => Ok(Some((&bytes[..end], after))),
        [b'\n', after @ ..] if line_ends == LineEnds::LfAllowed => Ok(Some((&bytes[..end], after))),
        [b'\n', ..] => Err(ProtocolError::BareLf { section, excerpt: excerpt(&bytes[..=end]) }),
        _ => Err(ProtocolError::ControlByte { section, excerpt: excerpt(bytes) }),
    }
}

/// `HTTP/1.x NNN[ reason]`: the minor version and the status (RFC 9112 §4). The blank after the status may be missing,
/// as may the reason; servers leave both out. The first digit is the class of the response; no class is 0 (RFC 9110
/// §15), and codes from 600 on are in use.
fn status_line(line: &[u8]) -> Result<(u8, u16), ProtocolError> {
    let invalid = || ProtocolError::StatusLine { excerpt: excerpt(line) };
    let Some(version) = line.strip_prefix(b"HTTP/") else { return Err(ProtocolError::not_http(line)) };
    let Some(version) = version.strip_prefix(b"1.") else {
        let numbered = version.first().is_some_and(u8::is_ascii_digit);
        return Err(if numbered { ProtocolError::Version { excerpt: excerpt(line) } } else { invalid() });
    };
    let [minor @ b'0'..=b'9', b' ', a, b, c, reason @ ..] = version else { return Err(invalid()) };
    let digits = [*a, *b, *c];
    let plain = reason.is_empty() || reason[0] == b' ';
    if !plain || !digits.iter().all(u8::is_ascii_digit) || *a == b'0' {
        return Err(invalid());
    }
    if !reason.iter().copied().all(is_text) {
        return Err(ProtocolError::Reason { excerpt: excerpt(line) });
    }
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    Ok((minor - b'0', status))
}

/// The values of the fields that affect framing.
#[derive(Default)]
struct FramingFields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    coding: ContentCoding,
}

impl FramingFields {
    /// Reads one field, including its folds, without its line end.
    #[inline]
    fn read(&mut self, field: &[u8]) -> Result<(), ProtocolError> {
        let name_len = field.iter().position(|&byte| !is_token(byte)).unwrap_or(0);
        let (name, rest) = field.split_at(name_len);
        // No blank may stand between name and colon (RFC 9112 §5.1).
        let (1.., [b':', value @ ..]) = (name_len, rest) else {
            return Err(ProtocolError::Field { excerpt: excerpt(field) });
        };
        match name_len {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.read_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.read_coding(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.read_connection(value);
                Ok(())
            }
            16 if name.eq_ignore_ascii_case(b"content-encoding") => {
                self.coding.add(value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// RFC 9112 §6.3: several equal lengths, in one field or many, count as one; different lengths cannot be trusted.
    fn read_length(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        for member in members(value) {
            let Some(second) = decimal(member) else {
                return Err(ProtocolError::ContentLength { excerpt: excerpt(trim(value)) });
            };
            match self.length {
                Some(first) if first != second => {
                    return Err(ProtocolError::ContentLengthsDiffer { first, second });
                }
                _ => self.length = Some(second),
            }
        }
        Ok(())
    }

    /// RFC 9112 §6.1 and §7: only `chunked`, once, since no request allows more. `identity` (RFC 2616 §3.6, removed by RFC
    /// 7230) is no coding, and servers still send it; clients accept it.
    fn read_coding(&mut self, value: &[u8]) -> Result<(), ProtocolError> {
        if trim(value).eq_ignore_ascii_case(b"identity") {
            return Ok(());
        }
        if self.chunked || !trim(value).eq_ignore_ascii_case(b"chunked") {
            return Err(ProtocolError::TransferCoding { excerpt: excerpt(trim(value)) });
        }
        self.chunked = true;
        Ok(())
    }

    /// RFC 9110 §7.6.1: a list of options, of which two matter.
    fn read_connection(&mut self, value: &[u8]) {
        for option in members(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Applies RFC 9112 §6.3 (length) and §9.3 (persistence).
    fn finish(&self, minor: u8, status: u16) -> ParsedHead {
        // Both lengths, or chunks from HTTP/1.0: read as chunked, then close: the framing is suspect (§6.1, §6.3).
        let suspect = self.chunked && (self.length.is_some() || minor == 0);
        let persists = !self.close && (minor >= 1 || self.keep_alive) && !suspect;
        let framing = match (status, self.chunked, self.length) {
            (100..=199 | 204 | 304, _, _) => Framing::Empty,
            (_, true, _) => Framing::Chunked,
            (_, false, Some(length)) => Framing::Length(length),
            (_, false, None) => Framing::UntilClose,
        };
        let to_head = Head {
            status,
            framing: Framing::Empty,
            keep_alive: persists,
            is_suspect: suspect,
            minor,
            coding: self.coding,
        };
        let keep_alive = persists && framing != Framing::UntilClose;
        ParsedHead { to_head, to_other: Head { framing, keep_alive, ..to_head } }
    }
}

/// The members of a comma-separated value, without the blanks around them.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// Strips the blanks at both ends; a fold counts as blank (RFC 9112 §5.2).
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = value {
        value = rest;
    }
    value
}
