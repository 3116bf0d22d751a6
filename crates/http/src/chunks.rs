//! A chunked body, byte by byte where it is syntax and slice by slice where it is data (RFC 9112 §7.1).
//!
//! The decoder holds one of these while a chunked response lasts. It keeps no bytes, so a body may arrive in any pieces;
//! extensions and trailers are skipped, for nothing here acts on them (RFC 9112 §7.1.1, RFC 9110 §6.5.1).

use memchr::memchr;

use crate::Step;
use crate::error::{ProtocolError, excerpt};
use crate::head::is_token;

/// The longest chunk-size line read, its end included. What Go's net/http allows (`maxLineLength`).
pub const CHUNK_LINE_BYTES_MAX: usize = 4096;

/// The longest trailer section read, its blank line included. As much as a head.
pub const TRAILERS_BYTES_MAX: usize = crate::HEAD_BYTES_MAX;

/// Where in the grammar the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before a chunk's first digit.
    Size,
    /// After at least one digit.
    Digits,
    /// Blanks after the digits; an extension or the line's end must follow.
    Blank,
    /// Within extensions.
    Extension,
    /// After the CR of a size line.
    SizeNewline,
    /// Within data.
    Data,
    /// After a chunk's last byte.
    DataEnd,
    /// After the CR that follows data.
    DataNewline,
    /// At the first line after the last chunk.
    FirstTrailer,
    /// At the start of a later one, which may be folded.
    Trailer,
    /// Within a trailer's name.
    TrailerName,
    /// Within its value.
    TrailerValue,
    /// After the CR of the blank line.
    LastNewline,
}

/// How far a chunked body has been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    /// Bytes left of this chunk; while its size is read, the size so far.
    left: u64,
    /// Bytes read of this size line, or of all trailers: for the limits.
    line_bytes: u32,
    place: Place,
}

impl Chunks {
    /// Before the first chunk.
    pub(crate) const fn new() -> Self {
        Chunks { left: 0, line_bytes: 0, place: Place::Size }
    }

    /// One step: a slice of data, the end, or everything consumed and more needed.
    pub(crate) fn decode<'i>(&mut self, input: &'i [u8]) -> Result<(Step<'i>, usize), ProtocolError> {
        let mut at = 0;
        while at < input.len() {
            let rest = &input[at..];
            match self.place {
                Place::Data => {
                    let data = self.take_data(rest);
                    return Ok((Step::Body(data), at + data.len()));
                }
                Place::Extension | Place::TrailerValue => at += self.skip_line(rest)?,
                _ => {
                    at += 1;
                    if self.byte(rest)? {
                        return Ok((Step::End, at));
                    }
                }
            }
        }
        Ok((Step::NeedMore, at))
    }

    /// As much of this chunk as there is.
    fn take_data<'i>(&mut self, rest: &'i [u8]) -> &'i [u8] {
        let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
        self.left -= taken as u64;
        if self.left == 0 {
            self.place = Place::DataEnd;
        }
        &rest[..taken]
    }

    /// Skips to the end of a line whose rest says nothing.
    fn skip_line(&mut self, rest: &[u8]) -> Result<usize, ProtocolError> {
        let newline = memchr(b'\n', rest);
        let skipped = newline.map_or(rest.len(), |at| at + 1);
        self.count(skipped)?;
        match (newline, self.place) {
            (None, _) => {}
            (Some(_), Place::Extension) => self.size_read(),
            (Some(_), _) => self.place = Place::Trailer,
        }
        Ok(skipped)
    }

    /// Takes the first byte of `rest` (which is what an error shows); true if it was the body's last.
    fn byte(&mut self, rest: &[u8]) -> Result<bool, ProtocolError> {
        let byte = rest[0];
        if !matches!(self.place, Place::DataEnd | Place::DataNewline) {
            self.count(1)?;
        }
        match (self.place, byte) {
            (Place::Size | Place::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(rest)?,
            (Place::Digits | Place::Blank, b' ' | b'\t') => self.place = Place::Blank,
            (Place::Digits | Place::Blank, b';') => self.place = Place::Extension,
            (Place::Digits | Place::Blank, b'\r') => self.place = Place::SizeNewline,
            // A line may end in LF alone here too, as in a head (RFC 9112 §2.2).
            (Place::Digits | Place::Blank | Place::SizeNewline, b'\n') => self.size_read(),
            (Place::DataEnd, b'\r') => self.place = Place::DataNewline,
            (Place::DataEnd | Place::DataNewline, b'\n') => *self = Chunks::new(),
            (Place::FirstTrailer | Place::Trailer | Place::LastNewline, b'\n') => return Ok(true),
            (Place::FirstTrailer | Place::Trailer, b'\r') => self.place = Place::LastNewline,
            (Place::Trailer, b' ' | b'\t') | (Place::TrailerName, b':') => self.place = Place::TrailerValue,
            (Place::FirstTrailer | Place::Trailer | Place::TrailerName, _) if is_token(byte) => {
                self.place = Place::TrailerName;
            }
            _ => return Err(self.unexpected(rest)),
        }
        Ok(false)
    }

    /// One more digit of a size.
    fn digit(&mut self, rest: &[u8]) -> Result<(), ProtocolError> {
        if self.left > u64::MAX >> 4 {
            return Err(ProtocolError::ChunkSizeOverflow { excerpt: excerpt(rest) });
        }
        let value = char::from(rest[0]).to_digit(16).unwrap_or(0);
        self.left = self.left << 4 | u64::from(value);
        self.place = Place::Digits;
        Ok(())
    }

    /// At the end of a size line: data follows, or, after size 0, the trailers.
    fn size_read(&mut self) {
        self.line_bytes = 0;
        self.place = if self.left == 0 { Place::FirstTrailer } else { Place::Data };
    }

    /// Counts bytes of a size line or of the trailers against their limit.
    fn count(&mut self, bytes: usize) -> Result<(), ProtocolError> {
        let total = self.line_bytes as usize + bytes;
        let in_size = matches!(
            self.place,
            Place::Size | Place::Digits | Place::Blank | Place::Extension | Place::SizeNewline
        );
        if in_size && total > CHUNK_LINE_BYTES_MAX {
            return Err(ProtocolError::ChunkLineTooLong { limit: CHUNK_LINE_BYTES_MAX });
        }
        if total > TRAILERS_BYTES_MAX {
            return Err(ProtocolError::TrailersTooLarge { limit: TRAILERS_BYTES_MAX });
        }
        self.line_bytes = total as u32;
        Ok(())
    }

    /// The error for a byte that has no business where it stands.
    #[cold]
    fn unexpected(&self, rest: &[u8]) -> ProtocolError {
        let excerpt = excerpt(rest);
        match self.place {
            Place::DataEnd | Place::DataNewline => ProtocolError::ChunkEnd { excerpt },
            Place::FirstTrailer | Place::Trailer | Place::TrailerName | Place::LastNewline => {
                ProtocolError::Trailer { excerpt }
            }
            _ => ProtocolError::ChunkSize { excerpt },
        }
    }
}
