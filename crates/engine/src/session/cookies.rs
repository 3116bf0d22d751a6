//! Stores the cookies of one user (RFC 6265), as far as a load on one host needs them: names and values.
//!
//! Path, domain and lifetime are ignored, except that a cookie whose lifetime is over when it is set is removed.

use jiff::civil::DateTime;
use jiff::tz::Offset;
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
    /// Reads the cookies set in the head of a response. One whose lifetime ended before `now_s`, in seconds since 1970,
    /// is removed.
    pub fn take(&mut self, head: &[u8], now_s: i64) {
        for set in field(head, "Set-Cookie") {
            let mut parts = set.split(|byte| *byte == b';');
            let pair = parts.next().unwrap_or_default();
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else { continue };
            let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
            let is_over = is_over(parts, now_s);
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

/// Whether the lifetime of a cookie with these attributes is over: Max-Age overrides Expires, the last of several
/// counts, and what is not valid is ignored (RFC 6265 §5.2.1, §5.2.2, §5.3).
fn is_over<'a>(attributes: impl Iterator<Item = &'a [u8]>, now_s: i64) -> bool {
    let (mut by_age, mut by_date) = (None, None);
    for attribute in attributes {
        let Some(equals) = attribute.iter().position(|byte| *byte == b'=') else { continue };
        let (name, value) = (attribute[..equals].trim_ascii(), attribute[equals + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"max-age") {
            by_age = has_no_age(value).or(by_age);
        } else if name.eq_ignore_ascii_case(b"expires") {
            by_date = seconds_of(value).map(|end_s| end_s <= now_s).or(by_date);
        }
    }
    by_age.or(by_date).unwrap_or(false)
}

/// Whether a Max-Age, in seconds, is 0 or negative; none if it is not valid.
fn has_no_age(age: &[u8]) -> Option<bool> {
    let digits = age.strip_prefix(b"-").unwrap_or(age);
    let is_valid = !age.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_valid.then(|| digits.len() < age.len() || digits.iter().all(|digit| *digit == b'0'))
}

/// The moment of a date, in seconds since 1970; none if it is not valid. Servers write it in many forms, which RFC 6265
/// §5.1.1 reads alike.
fn seconds_of(date: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in date.split(|byte| is_delimiter(*byte)) {
        if let (None, Some(found)) = (time, time_of(token)) {
            time = Some(found);
        } else if let (None, Some((found, _))) = (day, number(token, 1, 2)) {
            day = Some(found as i8);
        } else if let (None, Some(found)) = (month, month_of(token)) {
            month = Some(found);
        } else if let (None, Some((found, _))) = (year, number(token, 2, 4)) {
            year = Some(match found {
                0..70 => 2000 + found,
                70..100 => 1900 + found,
                _ => found,
            });
        }
    }
    let [hour, minute, second] = time?;
    let date = DateTime::new(year?, month?, day?, hour, minute, second, 0).ok()?;
    Some(Offset::UTC.to_timestamp(date).ok()?.as_second()).filter(|_| date.year() >= 1601)
}

/// Whether a byte stands between the parts of a date.
fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// A number of this many digits, at the start of a text, and what follows it.
fn number(text: &[u8], least: usize, most: usize) -> Option<(i16, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = (least..=most).contains(&digits).then(|| std::str::from_utf8(&text[..digits]).ok())??;
    Some((value.parse().ok()?, &text[digits..]))
}

/// Hours, minutes and seconds, at the start of a text.
fn time_of(text: &[u8]) -> Option<[i8; 3]> {
    let (hour, rest) = number(text, 1, 2)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 1, 2)?;
    let (second, _) = number(rest.strip_prefix(b":")?, 1, 2)?;
    Some([hour as i8, minute as i8, second as i8])
}

/// The month, from 1, whose name begins a text.
fn month_of(text: &[u8]) -> Option<i8> {
    let months =
        [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];
    let name = text.get(..3)?.to_ascii_lowercase();
    (1..).zip(months).find(|(_, month)| name == **month).map(|(number, _)| number)
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

    /// 1994-11-06T08:49:37Z.
    const NOW_S: i64 = 784_111_777;

    #[test]
    fn cookies_whose_lifetime_is_over_are_removed() {
        let is_kept = |attributes: &str| {
            let mut cookies = Cookies::default();
            let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: a=1{attributes}\r\n\r\n");
            cookies.take(head.as_bytes(), NOW_S);
            !cookies.kept.is_empty()
        };
        for over in [
            "; Max-Age=0",
            "; max-age=-1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
            "; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "; expires=Thu, 01-Jan-70 00:00:00 GMT",
            "; Expires=Sat, 01 Jan 2000 00:00:00 GMT; Expires=Thu, 01-Jan-1980 00:00:00 GMT",
            // The three forms of a date in HTTP (RFC 9110 §5.6.7).
            "; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
            "; Expires=Sunday, 06-Nov-94 08:49:37 GMT",
            "; Expires=Sun Nov  6 08:49:37 1994",
        ] {
            assert!(!is_kept(over), "{over}");
        }
        for valid in [
            "",
            "; Path=/",
            "; Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "; Expires=Sun, 06 Nov 1994 08:49:38 GMT",
            "; Expires=Monday, 07-Nov-94 08:49:37 GMT",
            "; Expires=Thu, 01 Jan 2026 00:00:00 GMT",
            // These are no dates, and are ignored.
            "; Expires=0",
            "; Expires=-1",
            "; Expires=Thu, 01 Jan 1970",
            "; Expires=Thu, 31 Feb 1970 00:00:00 GMT",
            "; Expires=Thu, 01 Jan 1970 24:00:00 GMT",
            "; Expires=Mon, 01 Jan 1600 00:00:00 GMT",
        ] {
            assert!(is_kept(valid), "{valid}");
        }
    }

    #[test]
    fn cookies_are_set_replaced_and_removed() {
        let mut cookies = Cookies::default();
        cookies.take(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2\r\n\r\n", NOW_S);
        cookies.take(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=3\r\nSet-Cookie: b=; Max-Age=0\r\n\r\n", NOW_S);
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
            cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: {set}\r\n\r\n").as_bytes(), NOW_S);
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
            cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c{number}=1\r\n\r\n").as_bytes(), NOW_S);
        }
        assert_eq!((cookies.kept.len(), cookies.dropped()), (MAX_COOKIES, 1_000 - MAX_COOKIES as u64));
        let long = "x".repeat(MAX_COOKIE_BYTES);
        cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c1={long}\r\n\r\n").as_bytes(), NOW_S);
        assert_eq!(cookies.kept.len(), MAX_COOKIES - 1, "the old value is invalid too");
        cookies.take(format!("HTTP/1.1 200 OK\r\nSet-Cookie: c1={}\r\n\r\n", &long[2..]).as_bytes(), NOW_S);
        assert_eq!((cookies.kept.len(), cookies.dropped()), (MAX_COOKIES, 1_001 - MAX_COOKIES as u64));
    }
}
