//! Checks a response: the status, and properties of the body.
//!
//! The binary makes a [`ResponseCheck`] from flags or a request file; the hot path compares each body with one that
//! passed and calls this module only when it differs (`hot/inspect.rs`). Bodies are judged whole. This module keeps no
//! body.

mod decode;

pub use decode::{DecodeError, decoded};
use paceline_http::ContentCoding;
use paceline_stats::counted;

use crate::Nanos;
use crate::grpc::{CallCheck, CallFault};
use crate::session::{ExtractFault, RedirectFault};
use crate::stream::{StreamFault, StreamPlan};
use paceline_job::{ExpectedValue, FormFault, JsonForm};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::sync::Arc;

/// The maximum number of characters of a value in a message.
const MAX_SHOWN: usize = 60;

/// The response expected for one kind of request.
#[derive(Clone, Debug, Default)]
pub struct ResponseCheck {
    /// The status; if there is none, any 2xx is ok.
    pub status: Option<u16>,
    /// The body.
    pub body: BodyCheck,
}

/// The condition that a body must meet.
#[derive(Clone, Debug, Default)]
pub enum BodyCheck {
    /// No condition.
    #[default]
    Any,
    /// It equals these bytes.
    Exact(Arc<[u8]>),
    /// It equals the message that it answers, each of which is different.
    Echo,
    /// Its bytes have this SHA-256.
    Sha256([u8; 32]),
    /// It is JSON, and all of these hold.
    Json(Arc<[ExpectedValue]>),
    /// It is JSON of this form.
    JsonForm(Arc<JsonForm>),
    /// It is a stream of events, which ends as asked.
    Stream(Arc<StreamPlan>),
    /// It is the message with which a call of gRPC is answered.
    Call(Arc<CallCheck>),
}

/// The way in which a body is not as expected.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyFault {
    /// It differs from the expected one, whose length in bytes this is.
    Differs(u64),
    /// It has a different SHA-256, this one.
    Digest([u8; 32]),
    /// It is not JSON.
    NotJson(String),
    /// It is JSON with another value: at this pointer, instead of this value, the one found or none.
    Value {
        /// The pointer.
        pointer: String,
        /// The expected value.
        expected: String,
        /// The value found there, if any.
        found: Option<String>,
    },
    /// It does not have the expected form.
    Form(FormFault),
    /// It exceeds this limit of bytes, above which no body is kept for judging it whole.
    TooLong(usize),
    /// A step of a session extracts a value from the response, and the extraction failed.
    NotExtracted(ExtractFault),
    /// It is a redirect that could not be followed.
    NotFollowed(RedirectFault),
    /// It has a content coding, and cannot be decoded.
    Undecodable(DecodeError),
    /// It is a stream that did not end as asked.
    Stream(StreamFault),
    /// It is not the response expected to a call of gRPC.
    Call(CallFault),
    /// A program that reads responses refuses it, for this reason.
    Refused(String),
}

impl From<CallFault> for BodyFault {
    fn from(fault: CallFault) -> Self {
        BodyFault::Call(fault)
    }
}

impl From<StreamFault> for BodyFault {
    fn from(fault: StreamFault) -> Self {
        BodyFault::Stream(fault)
    }
}

impl From<ExtractFault> for BodyFault {
    fn from(fault: ExtractFault) -> Self {
        BodyFault::NotExtracted(fault)
    }
}

impl From<RedirectFault> for BodyFault {
    fn from(fault: RedirectFault) -> Self {
        BodyFault::NotFollowed(fault)
    }
}

/// The first wrong body of its kind, kept for display.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongBody {
    /// When it was complete, on the run's clock.
    pub at: Nanos,
    /// The status it came with.
    pub status: u16,
    /// Its length in bytes.
    pub length: u64,
    /// The first byte that differs from an expected body, from 0; none if no expected body is known.
    pub differs_at: Option<u64>,
    /// An excerpt, from the difference or from the beginning.
    pub shown: Vec<u8>,
    /// The offset of the excerpt.
    pub shown_from: u64,
    /// The fault.
    pub fault: BodyFault,
}

impl ResponseCheck {
    /// Whether a response may have this status.
    #[inline]
    pub fn admits(&self, status: u16) -> bool {
        self.status.map_or_else(|| (200..300).contains(&status), |expected| expected == status)
    }
}

impl BodyCheck {
    /// Whether no byte of a body is compared or kept by its inspector.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, BodyCheck::Any | BodyCheck::Echo | BodyCheck::Stream(_))
    }

    /// Whether it is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, BodyCheck::Stream(_))
    }

    /// How the call of gRPC is judged, if it is one.
    pub fn call(&self) -> Option<&CallCheck> {
        match self {
            BodyCheck::Call(check) => Some(check),
            BodyCheck::Stream(plan) => plan.call.as_ref(),
            _ => None,
        }
    }

    /// Whether a body is as expected, as received or decoded: a server may send a compressed file with or without a
    /// `Content-Encoding`.
    ///
    /// # Errors
    /// The fault of the decoded body.
    pub fn judge(&self, coding: ContentCoding, body: &[u8]) -> Result<(), BodyFault> {
        let as_received = self.judge_content(body);
        if coding == ContentCoding::Identity || as_received.is_ok() {
            return as_received;
        }
        self.judge_content(&decoded(coding, body).map_err(BodyFault::Undecodable)?)
    }

    fn judge_content(&self, body: &[u8]) -> Result<(), BodyFault> {
        match self {
            // The events of a stream are checked as they come, an echo by the protocol, which keeps the messages; a call is
            // judged with its trailers.
            BodyCheck::Any | BodyCheck::Echo | BodyCheck::Stream(_) | BodyCheck::Call(_) => Ok(()),
            BodyCheck::Exact(expected) if **expected == *body => Ok(()),
            BodyCheck::Exact(expected) => Err(BodyFault::Differs(expected.len() as u64)),
            BodyCheck::Sha256(expected) => same_digest(expected, Sha256::digest(body).into()),
            BodyCheck::Json(checks) => {
                let value =
                    serde_json::from_slice(body).map_err(|error| BodyFault::NotJson(error.to_string()))?;
                checks.iter().try_for_each(|check| judge_value(check, &value))
            }
            BodyCheck::JsonForm(form) => form.check(body).map_err(BodyFault::Form),
        }
    }
}

/// Whether a digest is the expected one.
pub(crate) fn same_digest(expected: &[u8; 32], found: [u8; 32]) -> Result<(), BodyFault> {
    if *expected == found { Ok(()) } else { Err(BodyFault::Digest(found)) }
}

/// Checks that a document has an expected value.
fn judge_value(expected: &ExpectedValue, document: &Value) -> Result<(), BodyFault> {
    let found = document.pointer(&expected.pointer);
    if found.is_some_and(|found| is_same(found, &expected.value)) {
        return Ok(());
    }
    Err(BodyFault::Value {
        pointer: expected.pointer.clone(),
        expected: shown(&expected.value),
        found: found.map(shown),
    })
}

/// Whether two values are equal. Numbers are compared by value, not by notation: 1 equals 1.0.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.is_f64() != other.is_f64() && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyFault::Differs(expected) => {
                write!(
                    f,
                    "the body differs from the expected body of {}",
                    counted(*expected, "byte", "bytes")
                )
            }
            BodyFault::Digest(found) => {
                f.write_str("the body does not have the expected SHA-256, but ")?;
                found.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            BodyFault::NotJson(why) => write!(f, "the body is not JSON: {why}"),
            BodyFault::Value { pointer, expected, found: Some(found) } => {
                write!(f, "the body has {found} at {pointer:?} instead of {expected}")
            }
            BodyFault::Value { pointer, expected, found: None } => {
                write!(f, "the body has no value at {pointer:?}, where {expected} is expected")
            }
            BodyFault::Form(fault) => write!(f, "the body does not have the expected form: {fault}"),
            BodyFault::TooLong(most) => {
                write!(f, "the body is longer than {most} bytes, too long to be checked")
            }
            BodyFault::Undecodable(error) => write!(f, "{error}"),
            BodyFault::NotExtracted(fault) => write!(f, "{fault}"),
            BodyFault::NotFollowed(fault) => write!(f, "{fault}"),
            BodyFault::Stream(fault) => write!(f, "{fault}"),
            BodyFault::Call(fault) => write!(f, "{fault}"),
            BodyFault::Refused(reason) => f.write_str(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: ContentCoding = ContentCoding::Identity;

    #[test]
    fn any_2xx_status_is_accepted_by_default() {
        let admitted = |status: Option<u16>| {
            let check = ResponseCheck { status, ..ResponseCheck::default() };
            [199, 200, 204, 304, 399, 400, 404]
                .into_iter()
                .filter(|status| check.admits(*status))
                .collect::<Vec<_>>()
        };
        assert_eq!(admitted(None), [200, 204]);
        assert_eq!(admitted(Some(404)), [404]);
    }

    #[test]
    fn bodies_are_judged_by_bytes_or_digest() {
        let exact = BodyCheck::Exact(Arc::from(*b"hello"));
        assert_eq!(exact.judge(PLAIN, b"hello"), Ok(()));
        assert_eq!(exact.judge(PLAIN, b"hell"), Err(BodyFault::Differs(5)));
        // FIPS 180-2, appendix B.1.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let bytes: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&digest[2 * at..2 * at + 2], 16).unwrap()).collect();
        let sha256 = BodyCheck::Sha256(bytes.try_into().unwrap());
        assert_eq!(sha256.judge(PLAIN, b"abc"), Ok(()));
        let fault = BodyCheck::Sha256([0; 32]).judge(PLAIN, b"abc").unwrap_err();
        assert_eq!(fault.to_string(), format!("the body does not have the expected SHA-256, but {digest}"));
        assert_eq!(BodyCheck::Any.judge(PLAIN, b"x"), Ok(()));
    }

    #[test]
    fn json_is_compared_by_value() {
        let check = BodyCheck::Json(Arc::new([
            ExpectedValue::parse("/a=1").unwrap(),
            ExpectedValue::parse("/b=x").unwrap(),
        ]));
        assert_eq!(check.judge(PLAIN, b"{\"b\": \"x\", \"a\": 1.0, \"c\": 3}"), Ok(()));
        let reported = |body: &[u8]| check.judge(PLAIN, body).unwrap_err().to_string();
        assert_eq!(reported(b"{\"a\": 2, \"b\": \"x\"}"), "the body has 2 at \"/a\" instead of 1");
        assert_eq!(reported(b"{\"a\": 1}"), "the body has no value at \"/b\", where \"x\" is expected");
        assert_eq!(reported(b"{\"a\": 1,}"), "the body is not JSON: trailing comma at line 1 column 9");
        assert!(reported(b"").starts_with("the body is not JSON"));
    }

    #[test]
    fn pointers_as_in_rfc_6901() {
        // RFC 6901 §5.
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
        });
        for (pointer, value) in [
            ("/foo", json!(["bar", "baz"])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
            ("", document.clone()),
        ] {
            assert_eq!(
                judge_value(&ExpectedValue::new(pointer, value).unwrap(), &document),
                Ok(()),
                "{pointer}"
            );
        }
        for pointer in ["/foo/2", "/foo/00", "/none", "/foo/bar"] {
            let expected = ExpectedValue::new(pointer, json!("bar")).unwrap();
            assert!(judge_value(&expected, &document).is_err(), "{pointer}");
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (one, other, equal) in [
            (json!(1), json!(1.0), true),
            (json!([1, { "a": 2.0 }]), json!([1.0, { "a": 2 }]), true),
            (json!(1), json!("1"), false),
            (json!(1), json!(1.5), false),
            (json!(u64::MAX), json!(u64::MAX - 1), false),
            (json!({ "a": 1 }), json!({ "a": 1, "b": 1 }), false),
            (json!([1]), json!([1, 2]), false),
        ] {
            assert_eq!(is_same(&one, &other), equal, "{one} {other}");
            assert_eq!(is_same(&other, &one), equal, "{other} {one}");
        }
    }
}
