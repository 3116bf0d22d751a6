//! Decodes a chunked body: byte by byte in the syntax, slice by slice in the data (RFC 9112 §7.1).
//!
//! The decoder holds one of these for the duration of a chunked response. It keeps no bytes, so a body may arrive in
//! any pieces. Extensions and trailers are checked and skipped, since no code acts on them (RFC 9112 §7.1.1, RFC 9110
//! §6.5.1). Blanks may end a size line: the grammar has none there, but some servers pad their sizes, and curl, nginx
//! and hyper accept that.

use super::error::{ProtocolError, Section};
use crate::syntax::{excerpt, is_text, is_token};
use memchr::memchr3;

/// The maximum length of a chunk-size line, its end included. The limit of Go's net/http (`maxLineLength`).
pub const MAX_CHUNK_LINE_BYTES: usize = 4096;

/// The maximum length of a trailer section, its blank line included. The same limit as for a head.
pub const MAX_TRAILERS_BYTES: usize = crate::MAX_HEAD_BYTES;

/// The result of one [`ChunkDecoder::decode`].
pub(super) enum ChunkStep<'i> {
    /// All input was consumed; more is needed.
    NeedMore,
    /// Some data, never empty.
    Data(&'i [u8]),
    /// The body and its trailers are complete.
    End,
}

/// The syntax element that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    /// The first digit of a chunk size.
    Size,
    /// A further digit, or the byte after the size.
    Digits,
    /// Blanks before an extension's semicolon (RFC 9112 §7.1.1: BWS), or at the end of the line.
    BeforeExtension,
    /// Blanks before an extension's name, or its first byte.
    ExtensionStart,
    ExtensionName,
    /// Blanks after a name.
    AfterExtensionName,
    /// Blanks before an extension's value, or its first byte.
    ExtensionValueStart,
    ExtensionToken,
    ExtensionQuoted,
    /// After the backslash in a quoted value.
    ExtensionEscape,
    /// After the closing quote.
    ExtensionEnd,
    /// LF of a size line.
    SizeLf,
    Data,
    /// CR after data.
    DataCr,
    /// LF after data.
    DataLf,
    /// The first line after the last chunk.
    FirstTrailer,
    /// A later line, which may be folded.
    Trailer,
    TrailerName,
    TrailerValue,
    /// LF of a trailer.
    TrailerLf,
    /// LF of the blank line.
    LastLf,
}

impl ChunkState {
    fn section(self) -> Section {
        match self {
            ChunkState::FirstTrailer
            | ChunkState::Trailer
            | ChunkState::TrailerName
            | ChunkState::TrailerValue
            | ChunkState::TrailerLf
            | ChunkState::LastLf => Section::Trailers,
            _ => Section::ChunkSize,
        }
    }
}

/// The state of reading a chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkDecoder {
    /// Bytes left of this chunk; while its size is read, the size so far.
    left: u64,
    /// Bytes read of this size line, or of all trailers: for the limits.
    line_bytes: u32,
    state: ChunkState,
}

impl ChunkDecoder {
    /// Before the first chunk.
    pub(super) const fn new() -> Self {
        Self { left: 0, line_bytes: 0, state: ChunkState::Size }
    }

    /// Whether the next byte is data of the current chunk.
    pub(super) fn is_in_data(&self) -> bool {
        self.state == ChunkState::Data
    }

    /// Reads some of `input`; returns the step and the number of bytes consumed.
    pub(super) fn decode<'i>(&mut self, input: &'i [u8]) -> Result<(ChunkStep<'i>, usize), ProtocolError> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match self.state {
                ChunkState::Data => {
                    let data = self.take_data(rest);
                    return Ok((ChunkStep::Data(data), at + data.len()));
                }
                ChunkState::TrailerValue => at += self.skip_trailer_value(rest)?,
                _ => {
                    at += 1;
                    if self.byte(rest)? {
                        return Ok((ChunkStep::End, at));
                    }
                }
            }
        }
        Ok((ChunkStep::NeedMore, at))
    }

    /// The data of this chunk that is at the start of `rest`.
    fn take_data<'i>(&mut self, rest: &'i [u8]) -> &'i [u8] {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
        self.left -= taken as u64;
        if self.left == 0 {
            self.state = ChunkState::DataCr;
        }
        &rest[..taken]
    }

    /// Skips a trailer's value, its CR included.
    fn skip_trailer_value(&mut self, rest: &[u8]) -> Result<usize, ProtocolError> {
        let Some(end) = memchr3(b'\r', b'\n', 0, rest) else {
            self.count(rest.len())?;
            return Ok(rest.len());
        };
        self.count(end + 1)?;
        if rest[end] != b'\r' {
            return Err(self.unexpected(&rest[end..]));
        }
        self.state = ChunkState::TrailerLf;
        Ok(end + 1)
    }

    /// Consumes the first byte of `rest` (an error shows `rest`); true if it was the last byte of the body.
    fn byte(&mut self, rest: &[u8]) -> Result<bool, ProtocolError> {
        let byte = rest[0];
        if !matches!(self.state, ChunkState::DataCr | ChunkState::DataLf) {
            self.count(1)?;
        }
        self.state = match (self.state, byte) {
            (ChunkState::Size | ChunkState::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(rest)?;
                ChunkState::Digits
            }
            (ChunkState::SizeLf, b'\n') => {
                self.line_bytes = 0;
                if self.left == 0 { ChunkState::FirstTrailer } else { ChunkState::Data }
            }
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size,
            (ChunkState::FirstTrailer | ChunkState::Trailer, b'\r') => ChunkState::LastLf,
            (ChunkState::LastLf, b'\n') => return Ok(true),
            (ChunkState::Trailer, b' ' | b'\t') | (ChunkState::TrailerName, b':') => ChunkState::TrailerValue,
            (ChunkState::TrailerLf, b'\n') => ChunkState::Trailer,
            (ChunkState::FirstTrailer | ChunkState::Trailer | ChunkState::TrailerName, _)
                if is_token(byte) =>
            {
                ChunkState::TrailerName
            }
            (state, _) => extension(state, byte).ok_or_else(|| self.unexpected(rest))?,
        };
        Ok(false)
    }

    /// Adds one digit to a size.
    fn digit(&mut self, rest: &[u8]) -> Result<(), ProtocolError> {
        if self.left > u64::MAX >> 4 {
            return Err(ProtocolError::ChunkSizeOverflow { excerpt: excerpt(rest) });
        }
        let value = char::from(rest[0]).to_digit(16).unwrap_or(0);
        self.left = self.left << 4 | u64::from(value);
        Ok(())
    }

    /// Counts bytes of a size line or of the trailers against their limit.
    fn count(&mut self, bytes: usize) -> Result<(), ProtocolError> {
        let total = self.line_bytes as usize + bytes;
        match self.state.section() {
            Section::Trailers if total > MAX_TRAILERS_BYTES => {
                Err(ProtocolError::TrailersTooLarge { limit: MAX_TRAILERS_BYTES })
            }
            Section::ChunkSize | Section::Head if total > MAX_CHUNK_LINE_BYTES => {
                Err(ProtocolError::ChunkLineTooLong { limit: MAX_CHUNK_LINE_BYTES })
            }
            _ => {
                self.line_bytes = total as u32;
                Ok(())
            }
        }
    }

    /// The error for a byte that is not allowed in this state.
    #[cold]
    fn unexpected(&self, rest: &[u8]) -> ProtocolError {
        let (excerpt, section) = (excerpt(rest), self.state.section());
        match (self.state, rest.first()) {
            (ChunkState::DataCr | ChunkState::DataLf, _) => ProtocolError::ChunkEnd { excerpt },
            (ChunkState::SizeLf | ChunkState::TrailerLf | ChunkState::LastLf, _) => {
                ProtocolError::ControlByte { section, excerpt }
            }
            (ChunkState::Size, _) => ProtocolError::ChunkSize { excerpt },
            (_, Some(b'\n')) => ProtocolError::BareLf { section, excerpt },
            (_, Some(0)) => ProtocolError::ControlByte { section, excerpt },
            (ChunkState::Digits | ChunkState::BeforeExtension, _) => ProtocolError::ChunkSize { excerpt },
            _ if section == Section::Trailers => ProtocolError::Trailer { excerpt },
            _ => ProtocolError::ChunkExtension { excerpt },
        }
    }
}

/// The next state after a byte that follows a chunk's size; none if the byte is not allowed there (RFC 9112 §7.1.1).
fn extension(state: ChunkState, byte: u8) -> Option<ChunkState> {
    let is_blank = matches!(byte, b' ' | b'\t');
    Some(match (state, byte) {
        (
            ChunkState::Digits
            | ChunkState::BeforeExtension
            | ChunkState::ExtensionName
            | ChunkState::AfterExtensionName
            | ChunkState::ExtensionToken
            | ChunkState::ExtensionEnd,
            b'\r',
        ) => ChunkState::SizeLf,
        (
            ChunkState::Digits
            | ChunkState::BeforeExtension
            | ChunkState::ExtensionName
            | ChunkState::AfterExtensionName
            | ChunkState::ExtensionToken
            | ChunkState::ExtensionEnd,
            b';',
        ) => ChunkState::ExtensionStart,
        (
            ChunkState::Digits
            | ChunkState::BeforeExtension
            | ChunkState::ExtensionToken
            | ChunkState::ExtensionEnd,
            _,
        ) if is_blank => ChunkState::BeforeExtension,
        (ChunkState::ExtensionStart, _) if is_blank => ChunkState::ExtensionStart,
        (ChunkState::ExtensionStart | ChunkState::ExtensionName, _) if is_token(byte) => {
            ChunkState::ExtensionName
        }
        (ChunkState::ExtensionName | ChunkState::AfterExtensionName, _) if is_blank => {
            ChunkState::AfterExtensionName
        }
        (ChunkState::ExtensionName | ChunkState::AfterExtensionName, b'=') => ChunkState::ExtensionValueStart,
        (ChunkState::ExtensionValueStart, _) if is_blank => ChunkState::ExtensionValueStart,
        (ChunkState::ExtensionValueStart, b'"') => ChunkState::ExtensionQuoted,
        (ChunkState::ExtensionValueStart | ChunkState::ExtensionToken, _) if is_token(byte) => {
            ChunkState::ExtensionToken
        }
        (ChunkState::ExtensionQuoted, b'"') => ChunkState::ExtensionEnd,
        (ChunkState::ExtensionQuoted, b'\\') => ChunkState::ExtensionEscape,
        (ChunkState::ExtensionQuoted | ChunkState::ExtensionEscape, _) if is_text(byte) => {
            ChunkState::ExtensionQuoted
        }
        _ => return None,
    })
}
