//! Judges the responses to calls of gRPC: the status in the trailers, and the framing of the messages before it.
//!
//! The rules are those of gRPC over HTTP/2 (`doc/PROTOCOL-HTTP2.md` of grpc/grpc). `hot/inspect.rs` applies them to a
//! response with one message, `hot/streams.rs` to a stream of messages. The messages are not decoded.

use paceline_http::{COMPRESSED_FLAG, GrpcCode, MessageCoding};
use paceline_stats::counted;
use std::fmt;
use std::sync::Arc;

/// Added to the code of a call where statuses are counted: no status of HTTP has four digits.
const CODES_FROM: u16 = 1000;

/// The response expected to a call.
#[derive(Clone, Debug)]
pub struct CallCheck {
    /// The code.
    pub code: GrpcCode,
    /// Whether messages may be compressed with gzip: the request lists it in `grpc-accept-encoding`.
    pub accepts_gzip: bool,
    /// The only message, with its prefix; none if any is ok.
    pub message: Option<Arc<[u8]>>,
}

/// The status under which a response is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedStatus {
    /// That of HTTP.
    Http(u16),
    /// That of gRPC.
    Grpc(GrpcCode),
}

impl CountedStatus {
    /// The status of a number in [`crate::TallyCounts::status`].
    pub fn from_number(number: u16) -> Self {
        let code = number.checked_sub(CODES_FROM).and_then(GrpcCode::from_number);
        code.map_or(CountedStatus::Http(number), CountedStatus::Grpc)
    }

    /// The number under which the response to a call is counted: that of its code, or of HTTP's status if it has none.
    pub(crate) fn number_of(status: u16, code: Option<GrpcCode>) -> u16 {
        code.map_or(status, |code| CODES_FROM + code as u16)
    }
}

/// The way in which the response to a call is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// It has another code, with this text.
    Status(GrpcCode, String),
    /// Its `content-type` is not that of gRPC.
    ContentType,
    /// It ended without `grpc-status`.
    NoStatus,
    /// It ended in the middle of a message, after this many whole ones.
    InMessage(u64),
    /// It has this many messages instead of one.
    Messages(u64),
    /// A message has a flag that is not defined.
    Flag(u8),
    /// A message is compressed, but `grpc-encoding` names no coding.
    CompressedWithoutCoding,
    /// A message is compressed in a way that the request did not ask for.
    CompressedUnasked,
    /// The message differs from the expected one, whose length in bytes this is.
    Differs(u64),
}

impl CallCheck {
    /// Judges the code of a complete response, and the coding of its messages, if they are of gRPC.
    ///
    /// # Errors
    /// The fault.
    pub(crate) fn judge_fields(
        &self,
        code: Option<GrpcCode>,
        messages: Option<MessageCoding>,
    ) -> Result<(), CallFault> {
        match code {
            Some(code) if code != self.code => Err(CallFault::Status(code, String::new())),
            _ if messages.is_none() => Err(CallFault::ContentType),
            Some(_) => Ok(()),
            None => Err(CallFault::NoStatus),
        }
    }

    /// Judges the flags of all messages, combined.
    ///
    /// # Errors
    /// The fault.
    pub(crate) fn judge_flags(&self, flags: u8, coding: Option<MessageCoding>) -> Result<(), CallFault> {
        match (flags, coding) {
            (0, _) => Ok(()),
            (COMPRESSED_FLAG, None | Some(MessageCoding::Identity)) => {
                Err(CallFault::CompressedWithoutCoding)
            }
            (COMPRESSED_FLAG, Some(MessageCoding::Gzip)) if self.accepts_gzip => Ok(()),
            (COMPRESSED_FLAG, _) => Err(CallFault::CompressedUnasked),
            _ => Err(CallFault::Flag(flags)),
        }
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallFault::Status(code, text) if text.is_empty() => write!(f, "gRPC status {code}"),
            CallFault::Status(code, text) => write!(f, "gRPC status {code}: {text}"),
            CallFault::ContentType => f.write_str(
                "the content-type of the response is not application/grpc: is this a gRPC server?",
            ),
            CallFault::NoStatus => f.write_str("the response ended without grpc-status"),
            CallFault::InMessage(whole) => write!(
                f,
                "the response ended in the middle of a message, after {}",
                counted(*whole, "message", "messages")
            ),
            CallFault::Messages(messages) => {
                write!(f, "the response has {} instead of one", counted(*messages, "message", "messages"))
            }
            CallFault::Flag(flags) => {
                write!(f, "a message has the flags {flags:#04x}, which gRPC does not define")
            }
            CallFault::CompressedWithoutCoding => {
                f.write_str("a message is compressed, but the response has no grpc-encoding")
            }
            CallFault::CompressedUnasked => f.write_str(
                "a message is compressed, which the request did not accept (grpc-accept-encoding)",
            ),
            CallFault::Differs(expected) => {
                write!(
                    f,
                    "the message differs from the expected one of {}",
                    counted(*expected, "byte", "bytes")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Option<MessageCoding> = Some(MessageCoding::Identity);
    const CHECK: CallCheck = CallCheck { code: GrpcCode::Ok, accepts_gzip: false, message: None };

    #[test]
    fn the_code_decides_before_the_content_type() {
        let (ok, internal) = (Some(GrpcCode::Ok), Some(GrpcCode::Internal));
        assert_eq!(CHECK.judge_fields(ok, PLAIN), Ok(()));
        assert_eq!(CHECK.judge_fields(ok, None), Err(CallFault::ContentType));
        assert_eq!(CHECK.judge_fields(None, PLAIN), Err(CallFault::NoStatus));
        let failed = Err(CallFault::Status(GrpcCode::Internal, String::new()));
        assert_eq!(CHECK.judge_fields(internal, None), failed);
        let expected = CallCheck { code: GrpcCode::Internal, ..CHECK };
        assert_eq!(expected.judge_fields(internal, PLAIN), Ok(()));
    }

    #[test]
    fn only_a_requested_compression_is_accepted() {
        let gzip = CallCheck { accepts_gzip: true, ..CHECK };
        assert_eq!(CHECK.judge_flags(0, Some(MessageCoding::Gzip)), Ok(()));
        assert_eq!(CHECK.judge_flags(1, Some(MessageCoding::Gzip)), Err(CallFault::CompressedUnasked));
        assert_eq!(gzip.judge_flags(1, Some(MessageCoding::Gzip)), Ok(()));
        assert_eq!(gzip.judge_flags(1, Some(MessageCoding::Other)), Err(CallFault::CompressedUnasked));
        assert_eq!(
            gzip.judge_flags(1, Some(MessageCoding::Identity)),
            Err(CallFault::CompressedWithoutCoding)
        );
        assert_eq!(gzip.judge_flags(3, Some(MessageCoding::Gzip)), Err(CallFault::Flag(3)));
    }

    #[test]
    fn counted_statuses_are_those_of_http_or_grpc() {
        assert_eq!(CountedStatus::from_number(200), CountedStatus::Http(200));
        assert_eq!(CountedStatus::from_number(999), CountedStatus::Http(999));
        assert_eq!(CountedStatus::from_number(CountedStatus::number_of(200, None)), CountedStatus::Http(200));
        for code in GrpcCode::ALL {
            let number = CountedStatus::number_of(200, Some(code));
            assert_eq!(CountedStatus::from_number(number), CountedStatus::Grpc(code));
        }
    }
}
