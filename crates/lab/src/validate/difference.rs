//! Compares an answer with the expected one, exactly: status, headers, body. For readiness, validation and `lab check`.
//!
//! Pure except for the clock that a `Date` is compared with: the answer was generated at some time between the request
//! and its end.

use crate::probe::Answer;
use brotli_decompressor::Decompressor;
use paceline_catalogue::{DATE, Expect, ExpectedBody, hex};
use paceline_stats::counted;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::io::{self, Read as _};
use std::time::{Duration, SystemTime};

/// How far a `Date` may be off. TechEmpower's rules allow rendering it once a second; the rest is for a busy machine.
const MAX_DATE_OFF: Duration = Duration::from_secs(3);

/// The longest decoded body: the longest of a workload.
const MAX_DECODED_BYTES: u64 = 64 << 20;
/// The buffer for the input of brotli, which is in memory already.
const BROTLI_BUFFER: usize = 4096;

/// The first difference in an answer; `None` if it is right.
pub(crate) fn difference(expect: &Expect, answer: &Answer) -> Option<String> {
    let mut wrong = Vec::new();
    if answer.status != expect.status {
        wrong.push(format!("status {} instead of {}", answer.status, expect.status));
    }
    wrong.extend(expect.content_type.as_deref().and_then(|wanted| type_difference(wanted, answer)));
    wrong.extend(expect.charset.as_deref().and_then(|wanted| charset_difference(wanted, answer)));
    let content = content(expect, answer);
    wrong.extend(content.as_ref().err().cloned());
    wrong.extend(expect.headers.iter().filter_map(|wanted| header_difference(wanted, answer)));
    wrong.extend(content.ok().and_then(|content| body_difference(&expect.body, &content)));
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// The body of an answer without its content coding, which the request must have accepted: RFC 9110, section 12.5.3.
///
/// # Errors
/// The difference, if the coding is not one that is expected, or cannot be decoded.
pub(super) fn content<'a>(expect: &Expect, answer: &'a Answer) -> Result<Cow<'a, [u8]>, String> {
    let accepted = &expect.coding.accepted;
    let coding = answer.header("content-encoding").map(str::to_ascii_lowercase);
    let Some(coding) = coding.filter(|coding| coding != "identity") else {
        return match expect.coding.is_required {
            true => Err(format!(
                "the response is not compressed, although the request accepts {}",
                accepted.join(" and ")
            )),
            false => Ok(Cow::Borrowed(&answer.body)),
        };
    };
    if !accepted.contains(&coding) {
        return Err(format!("content-encoding {coding}, which the request did not accept"));
    }
    let decoded = match coding.as_str() {
        "br" => brotli(&answer.body),
        _ => paceline_files::gunzip(&answer.body, MAX_DECODED_BYTES),
    };
    decoded
        .map(Cow::Owned)
        .map_err(|error| format!("content-encoding {coding}, but the body is not valid {coding}: {error}"))
}

/// At most one byte more than the longest body: the difference says that it is too long.
fn brotli(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    Decompressor::new(body, BROTLI_BUFFER).take(MAX_DECODED_BYTES + 1).read_to_end(&mut decoded)?;
    Ok(decoded)
}

fn type_difference(wanted: &str, answer: &Answer) -> Option<String> {
    let said = answer.header("content-type");
    let plain = |value: &str| value.to_ascii_lowercase().replace([' ', '"'], "");
    let media = |value: &str| plain(value.split(';').next().unwrap_or_default());
    let is = |said: &str, wanted: &str| match wanted.contains(';') {
        true => plain(said) == plain(wanted),
        false => media(said) == media(wanted),
    };
    let same = said.is_some_and(|said| wanted.split('|').any(|wanted| is(said, wanted)));
    let wanted = wanted.replace('|', " or ");
    (!same).then(|| format!("content type {} instead of {wanted}", said.unwrap_or("(none)")))
}

/// The charset may be omitted; if there is one, or another parameter, it must be this.
fn charset_difference(wanted: &str, answer: &Answer) -> Option<String> {
    let said = answer.header("content-type")?;
    let right = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim().eq_ignore_ascii_case("charset")
            && value.trim().trim_matches('"').eq_ignore_ascii_case(wanted)
    };
    let wrong = said.split(';').skip(1).find(|parameter| !right(parameter))?;
    Some(format!(
        "content type {said} has the parameter {:?}, but only charset={wanted} is allowed",
        wrong.trim()
    ))
}

/// `wanted` is a header's name in lower case, or several separated by `|`, one of which is required, or `name: value`.
fn header_difference(wanted: &str, answer: &Answer) -> Option<String> {
    if let Some((name, value)) = wanted.split_once(": ") {
        let said = answer.header(name);
        return (said != Some(value))
            .then(|| format!("header {name}: {} instead of {value}", said.unwrap_or("(none)")));
    }
    let found = wanted.split('|').find_map(|name| answer.header(name).filter(|value| !value.is_empty()));
    match found {
        None => Some(format!("no {} header", wanted.replace('|', " or "))),
        Some(value) if wanted == DATE => date_difference(value, SystemTime::now(), answer.took),
        Some(_) => None,
    }
}

/// RFC 9110, section 5.6.7: a sender writes the one fixed form. Some servers read the time when the request begins: the
/// date of an answer that `took` a while may be older by as much.
fn date_difference(value: &str, now: SystemTime, took: Duration) -> Option<String> {
    let Some(date) =
        httpdate::parse_http_date(value).ok().filter(|date| httpdate::fmt_http_date(*date) == value)
    else {
        return Some(format!("date {value:?} does not have the format {:?}", httpdate::fmt_http_date(now)));
    };
    let early = now.duration_since(date).map(|early| early.saturating_sub(took));
    let off = early.or(date.duration_since(now)).unwrap_or_default();
    (off > MAX_DATE_OFF + SECOND).then(|| {
        format!(
            "the Date header {value:?} differs by {} s from this machine's clock, {:?}",
            off.as_secs(),
            httpdate::fmt_http_date(now)
        )
    })
}

/// How early a date without fractions may be.
const SECOND: Duration = Duration::from_secs(1);

fn body_difference(expected: &ExpectedBody, body: &[u8]) -> Option<String> {
    if expected.matches(body) {
        return None;
    }
    Some(match expected {
        ExpectedBody::Exact(wanted) => byte_difference(wanted, body),
        ExpectedBody::Digest { length, .. } if body.len() as u64 != *length => {
            format!("the body has {} instead of {length}", counted(body.len(), "byte", "bytes"))
        }
        ExpectedBody::Digest { sha256, .. } => {
            format!("the body has SHA-256 {} instead of {}", hex(&Sha256::digest(body)), hex(sha256))
        }
        ExpectedBody::JsonForm(form) => match form.check(body) {
            Ok(()) => return None,
            Err(fault) => format!("the body has {} {fault}", excerpt(body, fault.at)),
        },
        ExpectedBody::Html(page) => return page.difference(body),
        ExpectedBody::Any => return None,
        ExpectedBody::Json(wanted) => {
            format!("the body has {} instead of the JSON value {wanted}", excerpt(body, 0))
        }
    })
}

fn byte_difference(wanted: &[u8], body: &[u8]) -> String {
    let at = wanted.iter().zip(body).position(|(a, b)| a != b).unwrap_or(wanted.len().min(body.len()));
    let length = if wanted.len() == body.len() {
        String::new()
    } else {
        format!("{} instead of {}, and ", counted(body.len(), "byte", "bytes"), wanted.len())
    };
    format!("the body has {length}{} instead of {} at byte {at}", excerpt(body, at), excerpt(wanted, at))
}

/// The bytes at an offset, in quotes, for messages.
fn excerpt(bytes: &[u8], at: usize) -> String {
    const LENGTH: usize = 40;
    let rest = &bytes[at.min(bytes.len())..];
    if rest.is_empty() {
        return "nothing".to_owned();
    }
    format!("\"{}\"", rest[..rest.len().min(LENGTH)].escape_ascii())
}

#[cfg(test)]
mod tests;
