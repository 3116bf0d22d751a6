//! Follows redirects (RFC 9110 §15.4): makes the next request from a request and the redirect that answers it.
//!
//! Pure: bytes in, bytes out. The protocol of sessions (`mod.rs`) sends the next request on the same connection, or on
//! a new one to the same address if the server closes it, so a redirect is followed only to the same origin.

use super::cookies::field;
use paceline_http::{Scheme, Url};
use std::fmt;

/// Fields that describe a body, and are removed with it (RFC 9110 §15.4).
const BODY_FIELDS: [&str; 5] =
    ["Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Content-Location"];

/// The reason why a redirect was not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectFault {
    location: String,
    problem: RedirectProblem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RedirectProblem {
    TooMany(u16),
    OtherOrigin(String),
    NotAUrl,
    NoLocation,
}

impl fmt::Display for RedirectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = &self.location;
        match &self.problem {
            RedirectProblem::NoLocation => {
                f.write_str("the redirect was not followed: the response has no Location header")
            }
            RedirectProblem::TooMany(most) => write!(
                f,
                "the redirect to {location:?} was not followed: the maximum of {most} redirects was reached (if this is not a loop, raise --follow)"
            ),
            RedirectProblem::OtherOrigin(own) => write!(
                f,
                "the redirect to {location:?} was not followed: it leads outside {own}; run Paceline on that URL"
            ),
            RedirectProblem::NotAUrl => {
                write!(f, "the redirect to {location:?} was not followed: it is not a valid URL")
            }
        }
    }
}

/// A redirect in response to a request.
#[derive(Clone, Copy, Debug)]
pub struct Redirect<'r> {
    /// The request, as sent.
    pub request: &'r [u8],
    /// The status of the response.
    pub status: u16,
    /// The head of the response.
    pub head: &'r [u8],
    /// The number of redirects of the request that were followed before.
    pub followed: u16,
}

impl Redirect<'_> {
    /// Whether a status is a redirect.
    pub fn is_one(status: u16) -> bool {
        matches!(status, 301 | 302 | 303 | 307 | 308)
    }

    /// The next request, if at most `most` redirects may be followed.
    ///
    /// # Errors
    /// The reason why the redirect is not followed.
    pub fn next_request(&self, scheme: Scheme, most: u16) -> Result<Vec<u8>, RedirectFault> {
        let location = field(self.head, "Location").next();
        let shown = location.map(String::from_utf8_lossy);
        let fault = |problem| RedirectFault { location: shown.as_deref().unwrap_or("").to_owned(), problem };
        let Some(location) = location else { return Err(fault(RedirectProblem::NoLocation)) };
        if self.followed >= most {
            return Err(fault(RedirectProblem::TooMany(most)));
        }
        let request =
            RequestParts::from_request(self.request).ok_or_else(|| fault(RedirectProblem::NotAUrl))?;
        let origin = Url::parse_http(&format!("{}://{}{}", scheme.name(), request.host, request.path))
            .map_err(|_| fault(RedirectProblem::NotAUrl))?;
        let target = resolve(&origin, &encoded(location)).ok_or_else(|| fault(RedirectProblem::NotAUrl))?;
        let same_host = target.host.eq_ignore_ascii_case(&origin.host) && target.port == origin.port;
        if !same_host || target.scheme != origin.scheme {
            let own = format!("{}://{}", scheme.name(), origin.authority());
            return Err(fault(RedirectProblem::OtherOrigin(own)));
        }
        Ok(request.redirected(self.status, &target.path))
    }
}

/// A request in parts.
struct RequestParts<'r> {
    method: &'r str,
    /// Scheme and host of a request to a proxy; otherwise empty.
    prefix: &'r str,
    path: &'r str,
    version: &'r str,
    host: &'r str,
    /// The lines of the head after the first, each with its end.
    fields: &'r [u8],
    body: &'r [u8],
}

impl<'r> RequestParts<'r> {
    fn from_request(request: &'r [u8]) -> Option<Self> {
        let end = request.windows(4).position(|four| four == b"\r\n\r\n")? + 2;
        let head = &request[..end];
        let first_line = head.iter().position(|byte| *byte == b'\n')? + 1;
        let mut words = std::str::from_utf8(&head[..first_line]).ok()?.trim_end().splitn(3, ' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let host_from = target.find("://").map_or(0, |at| at + 3);
        let path_from =
            if target.starts_with('/') { 0 } else { host_from + target[host_from..].find('/')? };
        let (prefix, path) = target.split_at(path_from);
        let host = std::str::from_utf8(field(head, "Host").next()?).ok()?;
        Some(Self {
            method,
            prefix,
            path,
            version,
            host,
            fields: &head[first_line..],
            body: &request[end + 2..],
        })
    }

    /// The same request for another path; with GET and without its body, if the status requires it (RFC 9110 §15.4.2 to
    /// 4: 303 always, 301 and 302 for POST, as every client does).
    fn redirected(&self, status: u16, path: &str) -> Vec<u8> {
        let by_get = match status {
            303 => !matches!(self.method, "GET" | "HEAD"),
            301 | 302 => self.method == "POST",
            _ => false,
        };
        let method = if by_get { "GET" } else { self.method };
        let mut next = format!("{method} {}{path} {}\r\n", self.prefix, self.version).into_bytes();
        for line in self.fields.split_inclusive(|byte| *byte == b'\n') {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            let is_of_body = BODY_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field.as_bytes()));
            if !(by_get && is_of_body) {
                next.extend_from_slice(line);
            }
        }
        next.extend_from_slice(b"\r\n");
        if !by_get {
            next.extend_from_slice(self.body);
        }
        next
    }
}

/// Resolves a reference against the URL that contained it (RFC 3986 §5.2).
fn resolve(base: &Url, reference: &str) -> Option<Url> {
    let reference = reference.split('#').next().unwrap_or_default();
    let (base_path, _) = base.path.split_once('?').unwrap_or((&base.path, ""));
    let at_origin = |path: &str| format!("{}://{}{path}", base.scheme.name(), base.authority());
    let scheme_end = reference.find(':').filter(|end| !reference[..*end].contains(['/', '?']));
    let url = match reference {
        "" => at_origin(&base.path),
        _ if scheme_end.is_some() => reference.to_owned(),
        text if text.starts_with("//") => format!("{}:{text}", base.scheme.name()),
        text if text.starts_with('/') => at_origin(text),
        text if text.starts_with('?') => at_origin(&format!("{base_path}{text}")),
        text => {
            let folder = base_path.rfind('/').map_or("/", |end| &base_path[..=end]);
            at_origin(&format!("{folder}{text}"))
        }
    };
    let url = Url::parse_http(&url).ok()?;
    Some(Url { path: without_dots(&url.path), ..url })
}

/// Percent-encodes bytes that are invalid in a URL: servers send them unencoded.
fn encoded(text: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text {
        match byte.is_ascii_graphic() {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A path without its `.` and `..` (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    let is_folder = path.ends_with("/.") || path.ends_with("/..");
    let end = if is_folder && !kept.is_empty() { "/" } else { "" };
    format!("/{}{end}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &[u8] = b"POST /a/b?c HTTP/1.1\r\nHost: a:8080\r\nContent-Type: text/plain\r\nX: 1\r\nContent-Length: 2\r\n\r\nhi";

    fn next(request: &[u8], status: u16, location: &str) -> Result<String, String> {
        let head = format!("HTTP/1.1 {status} X\r\nlocation: {location}\r\n\r\n");
        let redirect = Redirect { request, status, head: head.as_bytes(), followed: 0 };
        let next = redirect.next_request(Scheme::Http, 3).map_err(|fault| fault.to_string())?;
        Ok(String::from_utf8(next).unwrap())
    }

    #[test]
    fn the_method_follows_the_status() {
        let kept = "POST /d HTTP/1.1\r\nHost: a:8080\r\nContent-Type: text/plain\r\nX: 1\r\nContent-Length: 2\r\n\r\nhi";
        let by_get = "GET /d HTTP/1.1\r\nHost: a:8080\r\nX: 1\r\n\r\n";
        for (status, expected) in [(301, by_get), (302, by_get), (303, by_get), (307, kept), (308, kept)] {
            assert_eq!(next(POST, status, "/d").unwrap(), expected, "{status}");
        }
        let put = b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
        assert!(next(put, 302, "/d").unwrap().starts_with("PUT /d "));
        assert!(next(put, 303, "/d").unwrap().starts_with("GET /d "));
        assert!(!Redirect::is_one(304) && !Redirect::is_one(300) && !Redirect::is_one(200));
    }

    #[test]
    fn locations_are_resolved() {
        for (location, path) in [
            ("http://a:8080/x?y#z", "/x?y"),
            ("HTTP://A:8080", "/"),
            ("//a:8080/x", "/x"),
            ("x", "/a/x"),
            ("../x/./y/..", "/x/"),
            ("?q", "/a/b?q"),
            ("", "/a/b?c"),
            ("/caf\u{e9} x", "/caf%C3%A9%20x"),
            ("/../../x", "/x"),
        ] {
            let sent = next(POST, 307, location).unwrap();
            assert_eq!(sent.split(' ').nth(1), Some(path), "{location}");
        }
    }

    #[test]
    fn bytes_of_a_location_are_encoded_as_they_are() {
        let head = b"HTTP/1.1 302 X\r\nLocation: /caf\xe9\r\n\r\n";
        let redirect = Redirect { request: POST, status: 302, head, followed: 0 };
        assert!(redirect.next_request(Scheme::Http, 3).unwrap().starts_with(b"GET /caf%E9 HTTP"));
    }

    #[test]
    fn a_proxy_still_gets_the_whole_url() {
        let request = b"GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!(next(request, 302, "c").unwrap().starts_with("GET http://a/c HTTP/1.1\r\n"));
    }

    #[test]
    fn a_redirect_that_is_not_followed_has_a_reason() {
        for (location, why) in [
            ("http://b:8080/", "leads outside http://a:8080"),
            ("https://a:8080/", "leads outside http://a:8080"),
            ("http://a/", "leads outside"),
            ("ftp://a/", "not a valid URL"),
            ("http://", "not a valid URL"),
        ] {
            assert!(next(POST, 302, location).unwrap_err().contains(why), "{location}");
        }
        let head = b"HTTP/1.1 302 X\r\nLocation: /\r\n\r\n";
        let redirect = Redirect { request: POST, status: 302, head, followed: 3 };
        let refused =
            |redirect: Redirect<'_>| redirect.next_request(Scheme::Http, 3).unwrap_err().to_string();
        assert!(refused(redirect).contains("the maximum of 3 redirects was reached"));
        assert!(refused(Redirect { head: b"HTTP/1.1 302 X\r\n\r\n", ..redirect }).contains("no Location"));
    }
}
