//! Counts the requests in the text that a script makes, as HTTP/1.1 sends them.

use crate::error::ScriptError;
use memchr::memmem;
use std::str;

/// The number of requests in a text.
///
/// # Errors
/// [`ScriptError::Request`] with the place at which it is not a request, or where it ends too early.
pub fn count(text: &[u8]) -> Result<u16, ScriptError> {
    let (mut count, mut start) = (0u16, 0);
    while start < text.len() {
        let length = length(&text[start..]).map_err(|(at, reason)| fault(text, start + at, reason))?;
        start += length;
        count = count.checked_add(1).ok_or_else(|| fault(text, start, "too many requests"))?;
    }
    if count == 0 { Err(fault(text, 0, "incomplete request")) } else { Ok(count) }
}

/// Whether two requests differ at most in the order of their fields, which is that of a Lua table: in each state
/// another.
pub fn are_alike(one: &[u8], other: &[u8]) -> bool {
    let parts = |text: &[u8]| {
        let head_end = memmem::find(text, b"\r\n\r\n").unwrap_or(text.len());
        let mut lines: Vec<Vec<u8>> =
            text[..head_end].split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec()).collect();
        lines.sort_unstable();
        (lines, text[head_end..].to_vec())
    };
    one == other || parts(one) == parts(other)
}

type Fault = (usize, &'static str);

/// The length of the request that a text begins with.
fn length(text: &[u8]) -> Result<usize, Fault> {
    let head_end = memmem::find(text, b"\r\n\r\n").map(|at| at + 4);
    let line_end = memmem::find(text, b"\r\n").ok_or((text.len(), "incomplete request"))?;
    check_line(&text[..line_end])?;
    let head_end = head_end.ok_or((text.len(), "incomplete request"))?;
    let head = &text[line_end..head_end];
    let rest = &text[head_end..];
    let body = match (value(head, "transfer-encoding"), value(head, "content-length")) {
        (Some(_), _) => {
            memmem::find(rest, b"0\r\n\r\n").map(|at| at + 5).ok_or((text.len(), "incomplete request"))?
        }
        (None, Some(digits)) => {
            digits.parse::<usize>().map_err(|_| (line_end, "invalid character in content-length header"))?
        }
        (None, None) => 0,
    };
    if body > rest.len() {
        return Err((text.len(), "incomplete request"));
    }
    Ok(head_end + body)
}

/// Checks that a line is `METHOD target HTTP/1.x`.
fn check_line(line: &[u8]) -> Result<(), Fault> {
    let method = line.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    if method == 0 || line.get(method) != Some(&b' ') {
        return Err((method, "invalid HTTP method"));
    }
    let target = line[method + 1..].iter().position(|byte| *byte == b' ');
    match target {
        Some(length) if length > 0 && line[method + 2 + length..].starts_with(b"HTTP/1.") => Ok(()),
        Some(0) => Err((method + 1, "invalid URL")),
        Some(length) => Err((method + 2 + length, "invalid HTTP version")),
        None => Err((line.len(), "invalid HTTP version")),
    }
}

/// The value of a field.
fn value<'t>(head: &'t [u8], name: &str) -> Option<&'t str> {
    let lines = head.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// The error at an offset.
fn fault(text: &[u8], at: usize, reason: &'static str) -> ScriptError {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = before.len() - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + 1;
    ScriptError::Request { reason, line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelined_requests_are_counted() {
        let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST /b HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc";
        for (text, expected) in [
            (get.to_owned(), 1),
            (post.to_owned(), 1),
            (format!("{get}{post}{get}"), 3),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n".to_owned(), 1),
        ] {
            assert_eq!(count(text.as_bytes()).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_order_of_fields_is_no_difference() {
        let first = b"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\nbody";
        assert!(are_alike(first, b"GET / HTTP/1.1\r\nB: 2\r\nA: 1\r\n\r\nbody"));
        assert!(!are_alike(first, b"GET / HTTP/1.1\r\nB: 1\r\nA: 2\r\n\r\nbody"));
        assert!(!are_alike(first, b"GET / HTTP/1.1\r\nB: 2\r\nA: 1\r\n\r\nother"));
    }

    #[test]
    fn what_is_not_a_request_is_located() {
        for (text, expected) in [
            ("", "incomplete request at 1:1"),
            ("GET / HTTP/1.1\r\nHost: a\r\n", "incomplete request at 3:1"),
            ("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab", "incomplete request at 4:3"),
            ("G\u{1}T / HTTP/1.1\r\n\r\n", "invalid HTTP method at 1:2"),
            ("GET / HTTP/1.1\r\n\r\nnonsense\r\n\r\n", "invalid HTTP method at 3:9"),
            ("GET /\r\n\r\n", "invalid HTTP version at 1:6"),
            ("GET  HTTP/1.1\r\n\r\n", "invalid URL at 1:5"),
        ] {
            assert_eq!(count(text.as_bytes()).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}
