//! The header fields of calls: those that gRPC requires, the deadline, and the compression of messages.

use crate::RunError;
use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_http::{COMPRESSED_FLAG, framed_message};
use paceline_job::{Headers, RequestSpec};
use std::io::Write as _;

/// The fields that calls add to their requests.
pub(super) struct CallFields<'s> {
    spec: &'s RequestSpec,
    compresses: bool,
}

impl<'s> CallFields<'s> {
    /// Reads the given fields that belong to gRPC.
    pub(super) fn of_request(spec: &'s RequestSpec) -> Result<Self, RunError> {
        if let Some(deadline) = spec.headers.get("grpc-timeout").filter(|deadline| !is_deadline(deadline)) {
            return Err(RunError::usage(format!("grpc-timeout {deadline:?} is invalid"))
                .hint("write up to 8 digits and a unit, H, M, S, m (milliseconds), u or n: 500m"));
        }
        let compresses = match spec.headers.get("grpc-encoding") {
            None | Some("identity") => false,
            Some("gzip") => true,
            Some(other) => {
                return Err(RunError::usage(format!(
                    "grpc-encoding {other:?}: Paceline compresses only with gzip"
                ))
                .hint("write -H 'grpc-encoding: gzip'"));
            }
        };
        Ok(Self { spec, compresses })
    }

    /// Whether responses may be compressed with gzip.
    pub(super) fn accepts_gzip(&self) -> bool {
        let accepted = self.spec.headers.get("grpc-accept-encoding");
        accepted.map_or(self.compresses, |codings| codings.split(',').any(|coding| coding.trim() == "gzip"))
    }

    /// A message with its prefix, compressed if that is requested.
    pub(super) fn frame(&self, message: &[u8]) -> Result<Vec<u8>, RunError> {
        if !self.compresses {
            return Ok(framed_message(0, message));
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let written = encoder.write_all(message).and_then(|()| encoder.finish());
        let compressed = written
            .map_err(|error| RunError::environment("the message cannot be compressed").because(error))?;
        Ok(framed_message(COMPRESSED_FLAG, &compressed))
    }

    /// The fields of a request: those that gRPC requires, unless they are given.
    pub(super) fn all(&self, headers: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut headers = with_required(headers);
        if self.compresses {
            headers.set_default("grpc-accept-encoding", "gzip");
        }
        headers.0
    }
}

/// Header fields with those that every call has, unless they are given.
pub(super) fn with_required(headers: Vec<(String, String)>) -> Headers {
    let mut headers = Headers(headers);
    headers.set_default("Content-Type", "application/grpc");
    headers.set_default("TE", "trailers");
    headers
}

/// Whether it is a value of `grpc-timeout`.
fn is_deadline(text: &str) -> bool {
    let Some(digits) = text.strip_suffix(['H', 'M', 'S', 'm', 'u', 'n']) else { return false };
    (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(headers: &[&str]) -> RequestSpec {
        let headers = Headers(headers.iter().filter_map(|field| Headers::parse(field)).collect());
        RequestSpec { headers, ..RequestSpec::default() }
    }

    #[test]
    fn deadlines_are_checked() {
        for (text, is_valid) in [
            ("500m", true),
            ("1S", true),
            ("99999999n", true),
            ("", false),
            ("5", false),
            ("100000000n", false),
            ("1s", false),
            ("-1S", false),
        ] {
            assert_eq!(is_deadline(text), is_valid, "{text}");
            let spec = spec(&[&format!("grpc-timeout: {text}")]);
            assert_eq!(CallFields::of_request(&spec).is_ok(), is_valid, "{text}");
        }
    }

    #[test]
    fn compression_is_requested_by_a_field() {
        let gzip = spec(&["grpc-encoding: gzip"]);
        let fields = CallFields::of_request(&gzip).unwrap();
        let frame = fields.frame(b"hello").unwrap();
        assert_eq!((frame[0], fields.accepts_gzip()), (COMPRESSED_FLAG, true));
        let decoded =
            paceline_engine::decoded(paceline_http::ContentCoding::Gzip, &frame[5..]).unwrap().into_owned();
        assert_eq!(decoded, b"hello");
        let plain = spec(&[]);
        let fields = CallFields::of_request(&plain).unwrap();
        assert_eq!(
            (fields.frame(b"hello").unwrap(), fields.accepts_gzip()),
            (framed_message(0, b"hello"), false)
        );
        assert!(CallFields::of_request(&spec(&["grpc-encoding: zstd"])).is_err());
        assert!(
            CallFields::of_request(&spec(&["grpc-accept-encoding: identity, gzip"])).unwrap().accepts_gzip()
        );
    }
}
