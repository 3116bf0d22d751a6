//! The header fields of a workload's requests and responses, and the content codings that the requests accept.

use crate::CatalogueError;
use crate::document::Document;
use paceline_job::Headers;
use paceline_record::WorkloadProtocol;
use toml::Spanned;

/// Fields that follow from the request and its connection: the sender writes them.
const SENDERS_FIELDS: [&str; 5] = ["host", "connection", "content-length", "transfer-encoding", "expect"];

/// The codings that the lab can decode.
const CODINGS: [&str; 2] = ["gzip", "br"];

/// The fields that a workload gives to all of its requests.
///
/// # Errors
/// [`CatalogueError::Document`] for a field that cannot be sent.
pub(super) fn workload_headers(
    headers: Option<Spanned<Headers>>,
    protocol: WorkloadProtocol,
    document: &Document,
) -> Result<Headers, CatalogueError> {
    let Some(headers) = headers else { return Ok(Headers::default()) };
    let at = headers.span().start;
    let headers = headers.into_inner();
    let problem = match protocol {
        WorkloadProtocol::Http => problem_of(&headers),
        WorkloadProtocol::WebSocket | WorkloadProtocol::Grpc => {
            Some(format!("`headers` needs the protocol HTTP, and this workload has {}", protocol.name()))
        }
    };
    problem.map_or(Ok(headers), |problem| Err(document.complain(Some(at), problem)))
}

/// The fields of a request: its own, and those of its workload with other names.
///
/// # Errors
/// As [`workload_headers`].
pub(super) fn request_headers(
    own: Option<Spanned<Headers>>,
    of_workload: &Headers,
    protocol: WorkloadProtocol,
    document: &Document,
) -> Result<Headers, CatalogueError> {
    let mut headers = workload_headers(own, protocol, document)?;
    for (name, value) in &of_workload.0 {
        headers.set_default(name, value.clone());
    }
    Ok(headers)
}

/// The codings that a request accepts (RFC 9110, section 12.5.3), in lower case.
pub(super) fn accepted_codings(headers: &Headers) -> Vec<String> {
    let items = headers.get("accept-encoding").unwrap_or_default().split(',');
    let parts = items.map(|item| item.split_once(';').unwrap_or((item, "")));
    // A quality of 0 refuses a coding.
    let is_refused = |quality: &str| {
        let quality: Option<f64> = quality.trim().strip_prefix("q=").and_then(|number| number.parse().ok());
        quality == Some(0.0)
    };
    let accepted = parts.filter(|(_, quality)| !is_refused(quality));
    let names = accepted.map(|(coding, _)| coding.trim().to_ascii_lowercase());
    names.filter(|coding| !coding.is_empty() && coding != "identity").collect()
}

/// A header name, or several of which one is required: `Content-Length|Transfer-Encoding`; or one with its value:
/// `X-Cache: HIT`. Returns it with the name in lower case.
///
/// # Errors
/// [`CatalogueError::Document`] for another text.
pub(super) fn expected_header(
    header: &Spanned<String>,
    document: &Document,
) -> Result<String, CatalogueError> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_value = |value: &str| !value.is_empty() && value.chars().all(|c| c.is_ascii_graphic());
    let text = header.get_ref();
    let right = match text.split_once(": ") {
        None => text.split('|').all(is_name).then(|| text.to_ascii_lowercase()),
        Some((name, value)) => {
            (is_name(name) && is_value(value)).then(|| format!("{}: {value}", name.to_ascii_lowercase()))
        }
    };
    right.ok_or_else(|| {
        let problem = format!(
            "`{text}` is not a header name: write one name, several names separated by `|`, or `Name: value`"
        );
        document.complain(Some(header.span().start), problem)
    })
}

/// Why these fields cannot be sent.
fn problem_of(headers: &Headers) -> Option<String> {
    for (index, (name, value)) in headers.0.iter().enumerate() {
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let is_value = value.chars().all(|c| c == ' ' || c.is_ascii_graphic());
        if !is_name || !is_value {
            let field = format!("{name}: {value}").escape_debug().to_string();
            return Some(format!(
                "`{field}` is not a header field: use ASCII characters, without line feeds"
            ));
        }
        if SENDERS_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field)) {
            return Some(format!("`{name}` cannot be set: it follows from the request"));
        }
        if headers.0.iter().take(index).any(|(earlier, _)| earlier.eq_ignore_ascii_case(name)) {
            return Some(format!("`{name}` is given twice: write one field"));
        }
    }
    let accepted = accepted_codings(headers);
    let unknown = accepted.iter().find(|coding| !CODINGS.contains(&coding.as_str()))?;
    Some(format!("the lab cannot decode the coding `{unknown}`: accept {}", CODINGS.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> Headers {
        Headers(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn accepted_codings_are_those_with_a_quality_above_zero() {
        for (value, accepted) in [
            ("gzip, br", &["gzip", "br"][..]),
            ("BR;q=1, gzip; q=0.8", &["br", "gzip"]),
            ("gzip;q=0, br;q=0.000, identity", &[]),
            ("", &[]),
        ] {
            assert_eq!(accepted_codings(&headers(&[("Accept-Encoding", value)])), accepted, "{value}");
        }
        assert_eq!(accepted_codings(&Headers::default()), [""; 0]);
    }

    #[test]
    fn fields_that_cannot_be_sent_are_refused() {
        assert_eq!(problem_of(&headers(&[("Accept-Encoding", "br;q=1, gzip;q=0.8"), ("X-A", "b c")])), None);
        for (fields, reported) in [
            (&[("X A", "b")][..], "`X A: b` is not a header field"),
            (&[("X-A", "b\r\nC: d")], "`X-A: b\\r\\nC: d` is not a header field"),
            (&[("content-length", "3")], "`content-length` cannot be set"),
            (&[("X-A", "b"), ("x-a", "c")], "`x-a` is given twice"),
            (&[("Accept-Encoding", "gzip, zstd")], "cannot decode the coding `zstd`: accept gzip or br"),
        ] {
            let problem = problem_of(&headers(fields)).unwrap();
            assert!(problem.contains(reported), "{problem}");
        }
    }
}
