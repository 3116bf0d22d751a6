//! Stores the cookies of one user (RFC 6265), as far as a load on one host needs them: names and values.
//!
//! Path, domain and lifetime are ignored, except that a cookie whose lifetime is over is removed.

use std::ops::Range;

/// The maximum number of cookies of a user: a server that sets a new name each time would fill the memory.
pub const MAX_COOKIES: usize = 64;
/// The maximum length of the name and the value of a cookie, in bytes: as in browsers (RFC 6265 §6.1).
pub const MAX_COOKIE_BYTES: usize = 4096;

/// The cookies of one user.
#[derive(Debug, Default)]
pub struct Cookies {
    /// Names and values, in the order in which they were set.
    kept: Vec<(Vec<u8>, Vec<u8>)>,
    /// The number that were not kept.
    dropped: u64,
}

impl Cookies {
    /// Reads the cookies set in the head of a response.
    pub fn take(&mut self, head: &[u8]) {
        for set in field(head, "Set-Cookie") {
            let mut parts = set.split(|byte| *byte == b';');
            let pair = parts.next().unwrap_or_default();
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
            let is_over = parts.any(|part| {
                let part = part.trim_ascii().to_ascii_lowercase();
                part.strip_prefix(b"max-age=").is_some_and(|age| age == b"0" || age.starts_with(b"-"))
                    || part.starts_with(b"expires=thu, 01 jan 1970")
                    || part.starts_with(b"expires=thu, 01-jan-1970")
            });
            self.kept.retain(|(known, _)| known != name);
            if is_over || name.is_empty() {
                continue;
            }
            if self.kept.len() < MAX_COOKIES && name.len() + value.len() <= MAX_COOKIE_BYTES {
                self.kept.push((name.to_vec(), value.to_vec()));
            } else {
                self.dropped += 1;
            }
        }
    }

    /// The number of cookies that were not kept, since there were too many or they were too long.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Removes all cookies.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// Appends the cookies to a request, after its other fields. Cookies from an earlier call occupy `length` bytes
    /// there and are replaced. Returns their new length in bytes. If the request has cookies of the user in a field,
    /// that becomes the last one and is continued: RFC 6265 §5.4 allows one.
    pub fn put_into(&self, request: &mut Vec<u8>, length: usize) -> usize {
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else { return 0 };
        let at = end - length;
        request.drain(at..end);
        if self.kept.is_empty() {
            return 0;
        }
        let mut text = Vec::new();
        match own_field(&request[..at]) {
            Some(own) => request[own.start..at].rotate_left(own.len()),
            None => text.extend_from_slice(b"\r\nCookie: "),
        }
        for (name, value) in &self.kept {
            text.extend_from_slice(if text.ends_with(b": ") { b"" } else { b"; " });
            text.extend_from_slice(name);
            text.push(b'=');
            text.extend_from_slice(value);
        }
        let length = text.len();
        request.splice(at..at, text);
        length
    }
}

/// The last field with cookies in the head of a request without its last line breaks, from the line break before the
/// field to its end.
fn own_field(head: &[u8]) -> Option<Range<usize>> {
    let name = b"\r\nCookie:";
    let start = head.windows(name.len()).rposition(|bytes| bytes.eq_ignore_ascii_case(name))?;
    let value = start + name.len();
    let length = head[value..].iter().position(|byte| *byte == b'\r');
    Some(start..length.map_or(head.len(), |length| value + length))
}

/// The values of a field in the head of a response that the decoder has accepted.
pub(super) fn field<'h>(head: &'h [u8], name: &'h str) -> impl Iterator<Item = &'h [u8]> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(move |line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let is_it = line[..colon].eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| line[colon + 1..].trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_set_replaced_and_removed() {
        let mut cookies = Cookies::default();
        cookies.take(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\n\r\n");
        cookies.take(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=3\r\nSet-Cookie: b=; Max-Age=0\r\n\r\n");
        let mut request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nbody".to_vec();
        let length = cookies.put_into(&mut request, 0);
        assert_eq!(cookies.put_into(&mut request, length), length, "they are there once");
        assert_eq!(request, b"GET / HTTP/1.1\r\nHost: a\r\nCookie: a=3\r\n\r\nbody");
        cookies.clear();
        let before = request.clone();
        cookies.put_into(&mut request, 0);
        assert_eq!(request, before);
    }

    #[test]
    fn cookies_of_a_request_are_continued_in_their_field() {
        let mut cookies = Cookies::default();
        let head = b"GET / HTTP/1.1\r\ncookie: own=1\r\nHost: a\r\n\r\n";
        let mut request = head.to_vec();
        let mut length = cookies.put_into(&mut request, 0);
        assert_eq!((request.as_slice(), length), (head.as_slice(), 0));
        for (set, expected) in [("a=2", "a=2"), ("b=3", "a=2; b=3"), ("a=4", "b=3; a=4")] {
            cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: {set}\r\n\r\n").as_bytes());
            length = cookies.put_into(&mut request, length);
            let whole = format!("GET / HTTP/1.1\r\nHost: a\r\ncookie: own=1; {expected}\r\n\r\n");
            assert_eq!(String::from_utf8_lossy(&request), whole);
        }
        cookies.clear();
        assert_eq!(cookies.put_into(&mut request, length), 0);
        assert_eq!(request, b"GET / HTTP/1.1\r\nHost: a\r\ncookie: own=1\r\n\r\n");
    }

    #[test]
    fn a_server_cannot_fill_the_memory() {
        let mut cookies = Cookies::default();
        for number in 0..1_000 {
            cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c{number}=1\r\n\r\n").as_bytes());
        }
        assert_eq!((cookies.kept.len(), cookies.dropped()), (MAX_COOKIES, 1_000 - MAX_COOKIES as u64));
        let long = "x".repeat(MAX_COOKIE_BYTES);
        cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c1={long}\r\n\r\n").as_bytes());
        assert_eq!(cookies.kept.len(), MAX_COOKIES - 1, "the old value is invalid too");
        cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c1={}\r\n\r\n", &long[2..]).as_bytes());
        assert_eq!((cookies.kept.len(), cookies.dropped()), (MAX_COOKIES, 1_001 - MAX_COOKIES as u64));
    }
}
