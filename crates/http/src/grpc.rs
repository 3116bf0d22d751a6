//! Reads what gRPC adds to a response over HTTP/2 (gRPC over HTTP/2, `doc/PROTOCOL-HTTP2.md` of grpc/grpc): status
//! codes, the fields that carry them, and length-prefixed messages.
//!
//! Messages are not decoded: the engine needs only their number and their framing.

use crate::event_step::EventStep;

/// The length of the prefix of a message: a flag, and the message's length in four bytes.
pub const MESSAGE_PREFIX_BYTES: usize = 5;

/// The flag of a message that is compressed with the coding of `grpc-encoding`.
pub const COMPRESSED_FLAG: u8 = 1;

/// The maximum number of bytes kept of a `grpc-message`.
const MAX_STATUS_MESSAGE_BYTES: usize = 256;

/// A status code of gRPC (`doc/statuscodes.md`), in the order of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum GrpcCode {
    /// The call ended well.
    Ok,
    /// The caller cancelled it.
    Cancelled,
    /// An unknown error; also any code that is not in this list.
    Unknown,
    /// The request is invalid.
    InvalidArgument,
    /// The deadline was over.
    DeadlineExceeded,
    /// Something requested does not exist.
    NotFound,
    /// Something to be created exists.
    AlreadyExists,
    /// The caller may not do this.
    PermissionDenied,
    /// A resource or a quota is used up.
    ResourceExhausted,
    /// The system is not in the required state.
    FailedPrecondition,
    /// The operation was aborted, for example by a conflict.
    Aborted,
    /// A range was exceeded.
    OutOfRange,
    /// The method does not exist.
    Unimplemented,
    /// The server broke an invariant.
    Internal,
    /// The service is not available; the call may be repeated.
    Unavailable,
    /// Data was lost.
    DataLoss,
    /// The caller is not authenticated.
    Unauthenticated,
}

impl GrpcCode {
    /// Every code, by its number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// Its name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The code of a number; none if the specification has none.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The code of a name, in any case, or of a number.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(number) => Self::from_number(number),
            Err(_) => Self::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(text)),
        }
    }

    /// The code in a `grpc-status` field. As in gRPC's libraries, any other value is `UNKNOWN`.
    fn from_field(value: &[u8]) -> Self {
        let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
        number.and_then(Self::from_number).unwrap_or(Self::Unknown)
    }
}

impl std::fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The coding of compressed messages (`grpc-encoding`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageCoding {
    /// None, or `identity`: no message is compressed.
    #[default]
    Identity,
    /// `gzip` (RFC 1952).
    Gzip,
    /// Any other.
    Other,
}

/// The fields of a response, or of its trailers, that belong to gRPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrpcFields {
    /// `grpc-status`.
    pub status: Option<GrpcCode>,
    /// `grpc-encoding`.
    pub coding: MessageCoding,
    /// Whether `content-type` begins with `application/grpc`, as it must.
    pub has_content_type: bool,
}

impl GrpcFields {
    /// The coding of compressed messages; none if the response is not of gRPC.
    #[inline]
    pub fn messages(self) -> Option<MessageCoding> {
        if self.has_content_type { Some(self.coding) } else { None }
    }

    /// Reads a field, if it is one of them.
    pub(crate) fn read(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"grpc-status" => self.status = Some(GrpcCode::from_field(value)),
            b"grpc-encoding" => {
                self.coding = match value {
                    b"" | b"identity" => MessageCoding::Identity,
                    b"gzip" => MessageCoding::Gzip,
                    _ => MessageCoding::Other,
                }
            }
            b"content-type" => self.has_content_type = is_content_type(value),
            _ => {}
        }
    }
}

/// Whether a media type is that of gRPC: `application/grpc`, alone or with a suffix (`+proto`) or parameters.
fn is_content_type(value: &[u8]) -> bool {
    const NAME: &[u8] = b"application/grpc";
    let Some((name, rest)) = value.split_at_checked(NAME.len()) else { return false };
    name.eq_ignore_ascii_case(NAME) && matches!(rest.first(), None | Some(b'+' | b';' | b' '))
}

/// The text of a `grpc-message` field, which is percent-encoded UTF-8. An invalid escape is kept as it is, as the
/// specification demands. Only the beginning of a long text is returned.
pub fn status_message(value: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = value;
    while let [first, after @ ..] = rest {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, next) = match (*first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => ((high * 16 + low) as u8, &after[2..]),
            (other, ..) => (other, after),
        };
        bytes.push(byte);
        rest = next;
        if bytes.len() == MAX_STATUS_MESSAGE_BYTES {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads the framing of length-prefixed messages. The same bytes give the same messages however they are split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageReader {
    /// The length in the prefix as far as it has come, then the bytes of the message that are missing.
    missing: u32,
    /// Bytes of the prefix that have come.
    prefix: u8,
    /// All flags so far, combined.
    flags: u8,
}

impl MessageReader {
    /// A reader at the beginning of a body.
    pub const fn new() -> Self {
        Self { missing: 0, prefix: 0, flags: 0 }
    }

    /// Reads some of `input`; returns the step and the number of bytes consumed. Call it again with the remaining input
    /// until it returns [`EventStep::NeedMore`].
    #[inline]
    pub fn next<'i>(&mut self, input: &'i [u8]) -> (EventStep<'i>, usize) {
        let mut at = 0;
        while usize::from(self.prefix) < MESSAGE_PREFIX_BYTES {
            let Some(byte) = input.get(at) else { return (EventStep::NeedMore, at) };
            if self.prefix == 0 {
                self.flags |= byte;
            } else {
                self.missing = self.missing << 8 | u32::from(*byte);
            }
            self.prefix += 1;
            at += 1;
        }
        if self.missing == 0 {
            self.prefix = 0;
            return (EventStep::End, at);
        }
        let rest = &input[at..];
        if rest.is_empty() {
            return (EventStep::NeedMore, at);
        }
        let length = rest.len().min(self.missing as usize);
        self.missing -= length as u32;
        (EventStep::Data(&rest[..length]), at + length)
    }

    /// Reads all of `input`; returns the number of messages that it completes.
    #[inline]
    pub fn read(&mut self, mut input: &[u8]) -> u32 {
        let mut messages = 0;
        loop {
            let (step, consumed) = self.next(input);
            input = &input[consumed..];
            match step {
                EventStep::NeedMore => return messages,
                EventStep::Data(_) => {}
                EventStep::End => messages += 1,
            }
        }
    }

    /// Whether the bytes so far end in the middle of a message.
    pub fn is_in_message(&self) -> bool {
        self.prefix > 0
    }

    /// The flags of all messages, combined with OR: [`COMPRESSED_FLAG`] is the only one that is defined.
    pub fn flags(&self) -> u8 {
        self.flags
    }
}

/// A message with its prefix.
pub fn framed_message(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut frame = vec![flag];
    frame.extend_from_slice(&(message.len() as u32).to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names_and_numbers() {
        for (number, code) in GrpcCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, number);
            assert_eq!(GrpcCode::parse(code.name()), Some(code));
            assert_eq!(GrpcCode::parse(&number.to_string()), Some(code));
            assert_eq!(GrpcCode::from_field(number.to_string().as_bytes()), code);
        }
        assert_eq!(GrpcCode::parse("not_found"), Some(GrpcCode::NotFound));
        assert_eq!((GrpcCode::parse("17"), GrpcCode::parse("NOT"), GrpcCode::parse("")), (None, None, None));
        for invalid in [&b"17"[..], b"-1", b"", b"x", b"\xff", b"99999999999"] {
            assert_eq!(GrpcCode::from_field(invalid), GrpcCode::Unknown, "{}", invalid.escape_ascii());
        }
    }

    #[test]
    fn content_types_of_grpc() {
        for (value, is_grpc) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("Application/gRPC; charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/json", false),
            ("text/html", false),
            ("", false),
        ] {
            assert_eq!(is_content_type(value.as_bytes()), is_grpc, "{value}");
        }
    }

    #[test]
    fn status_messages_are_percent_decoded() {
        for (field, text) in [
            (&b"no such user"[..], "no such user"),
            (b"caf%C3%A9 100%25", "caf\u{e9} 100%"),
            (b"%", "%"),
            (b"%4", "%4"),
            (b"%zz%41", "%zzA"),
            (b"%ff", "\u{fffd}"),
            (b"%%20", "% "),
        ] {
            assert_eq!(status_message(field), text);
        }
        assert_eq!(status_message(&[b'a'; 1000]).len(), MAX_STATUS_MESSAGE_BYTES);
    }

    /// The messages of a body in pieces of a length.
    fn messages(body: &[u8], piece: usize) -> (Vec<Vec<u8>>, MessageReader) {
        let (mut reader, mut messages, mut current) = (MessageReader::default(), Vec::new(), Vec::new());
        for mut input in body.chunks(piece) {
            loop {
                let (step, consumed) = reader.next(input);
                input = &input[consumed..];
                match step {
                    EventStep::NeedMore => break,
                    EventStep::Data(data) => current.extend_from_slice(data),
                    EventStep::End => messages.push(std::mem::take(&mut current)),
                }
            }
            assert!(input.is_empty());
        }
        (messages, reader)
    }

    #[test]
    fn messages_are_the_same_in_pieces_of_any_length() {
        let long = vec![7; 70_000];
        let body = [framed_message(0, b"one"), framed_message(1, b""), framed_message(0, &long)].concat();
        for piece in [1, 2, 3, 4, 5, 6, 7, 8, 1_000, body.len()] {
            let (read, reader) = messages(&body, piece);
            assert_eq!(read, [&b"one"[..], b"", &long], "pieces of {piece}");
            assert!(!reader.is_in_message());
            assert_eq!(reader.flags(), COMPRESSED_FLAG);
            let mut counter = MessageReader::default();
            assert_eq!(body.chunks(piece).map(|piece| counter.read(piece)).sum::<u32>(), 3);
        }
        for cut in [1, 4, 6, 9, 14, body.len() - 1] {
            let (_, reader) = messages(&body[..cut], 3);
            assert_eq!(reader.is_in_message(), !matches!(cut, 8 | 13), "{cut} bytes");
        }
    }
}
