//! A second implementation of RFC 9112, simple enough to check by eye: all bytes at once, strings and lists, no state.
//!
//! It says what a stream means, or that it is invalid somewhere; not why.

use paceline_http::{
    ContentCoding, Framing, Head, MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_INTERIM_RESPONSES,
    MAX_TRAILERS_BYTES, Method,
};

/// An event of [`crate::observe`], errors without their reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OracleEvent {
    Interim(u16),
    Head(Head),
    Body(Vec<u8>),
    End,
    Invalid,
}

/// All events of a stream until the peer closes it.
pub fn read(method: Method, mut bytes: &[u8]) -> Vec<OracleEvent> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        match response(method, bytes, &mut events) {
            Some(rest) => bytes = rest,
            None => {
                events.push(OracleEvent::Invalid);
                break;
            }
        }
    }
    events
}

/// Reads one response and the interim ones before it; returns the bytes after it.
fn response<'b>(method: Method, mut bytes: &'b [u8], events: &mut Vec<OracleEvent>) -> Option<&'b [u8]> {
    for interims in 0..=MAX_INTERIM_RESPONSES {
        let (head, rest) = head(method, bytes)?;
        bytes = rest;
        match head.status {
            101 => return None,
            100..=199 if interims == MAX_INTERIM_RESPONSES => return None,
            100..=199 => events.push(OracleEvent::Interim(head.status)),
            _ => {
                events.push(OracleEvent::Head(head));
                return body(head.framing, bytes, events);
            }
        }
    }
    None
}

/// A head and the bytes after it.
fn head(method: Method, bytes: &[u8]) -> Option<(Head, &[u8])> {
    let end = (0..bytes.len()).find_map(|at| match &bytes[at..] {
        [b'\n', b'\n', ..] => Some(at + 2),
        [b'\n', b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })?;
    if end > MAX_HEAD_BYTES {
        return None;
    }
    let text: String = bytes[..end].iter().map(|&byte| char::from(byte)).collect();
    let lines: Vec<&str> = text.split("\r\n").collect();
    if lines.iter().any(|line| line.contains(['\r', '\n', '\0'])) {
        return None;
    }
    let (minor, status) = status_line(lines[0])?;
    let mut unfolded: Vec<String> = Vec::new();
    for line in lines[1..].iter().filter(|line| !line.is_empty()) {
        match unfolded.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => *last += line,
            _ => unfolded.push(line.to_string()),
        }
    }
    let fields: Vec<(String, &str)> = unfolded.iter().map(|line| field(line)).collect::<Option<_>>()?;
    Some((meaning(method, minor, status, &fields)?, &bytes[end..]))
}

fn status_line(line: &str) -> Option<(u8, u16)> {
    let line = line.strip_prefix("HTTP/1.")?;
    let (minor, line) = line.split_once(' ')?;
    let (status, reason) = line.split_once(' ').unwrap_or((line, ""));
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(minor, 1) && digits(status, 3) && !status.starts_with('0') && is_text(reason))
        .then(|| (minor.parse().unwrap(), status.parse().unwrap()))
}

fn field(line: &str) -> Option<(String, &str)> {
    let (name, value) = line.split_once(':')?;
    (!name.is_empty() && name.chars().all(is_token))
        .then(|| (name.to_ascii_lowercase(), blank_trimmed(value)))
}

fn blank_trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

fn meaning(method: Method, minor: u8, status: u16, fields: &[(String, &str)]) -> Option<Head> {
    let all = |name: &str| -> Vec<&str> {
        let same = fields.iter().filter(|(given, _)| given == name);
        same.flat_map(|(_, value)| value.split(',')).map(blank_trimmed).collect()
    };
    let plain = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let lengths: Vec<u64> = all("content-length")
        .iter()
        .map(|text| Some(text).filter(|text| plain(text))?.parse().ok())
        .collect::<Option<_>>()?;
    if lengths.windows(2).any(|two| two[0] != two[1]) {
        return None;
    }
    // A field that says only `identity` names no coding.
    let names_coding = |(name, value): &&(String, &str)| {
        name == "transfer-encoding" && !blank_trimmed(value).eq_ignore_ascii_case("identity")
    };
    let codings: Vec<&str> = fields
        .iter()
        .filter(names_coding)
        .flat_map(|(_, value)| value.split(','))
        .map(blank_trimmed)
        .collect();
    if codings.len() > 1 || codings.iter().any(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        return None;
    }
    let chunked = !codings.is_empty();
    let says = |option: &str| all("connection").iter().any(|given| given.eq_ignore_ascii_case(option));
    let bodiless = method == Method::Head || matches!(status, 100..=199 | 204 | 304);
    let framing = match lengths.first() {
        _ if bodiless => Framing::Empty,
        _ if chunked => Framing::Chunked,
        Some(length) => Framing::Length(*length),
        None => Framing::UntilClose,
    };
    let wanted = !says("close") && (minor > 0 || says("keep-alive"));
    let suspect = chunked && (minor == 0 || !lengths.is_empty());
    let keep_alive = wanted && !suspect && framing != Framing::UntilClose;
    let codings: Vec<String> =
        all("content-encoding").iter().map(|coding| coding.to_ascii_lowercase()).collect();
    let mut codings: Vec<&str> = codings.iter().map(String::as_str).collect();
    codings.retain(|coding| !["", "identity", "none"].contains(coding));
    let coding = match codings.as_slice() {
        [] => ContentCoding::Identity,
        ["gzip" | "x-gzip"] => ContentCoding::Gzip,
        ["deflate"] => ContentCoding::Deflate,
        ["br"] => ContentCoding::Brotli,
        ["zstd"] => ContentCoding::Zstd,
        ["compress" | "x-compress" | "dcb" | "dcz" | "exi" | "pack200-gzip"] => {
            ContentCoding::OtherCompression
        }
        [_] => ContentCoding::Unknown,
        _ => ContentCoding::Several,
    };
    Some(Head { status, framing, keep_alive, is_suspect: suspect, minor, coding })
}

/// Records the body and its end; returns the bytes after it.
fn body<'b>(framing: Framing, bytes: &'b [u8], events: &mut Vec<OracleEvent>) -> Option<&'b [u8]> {
    let (body, rest) = match framing {
        Framing::Empty => (Vec::new(), Some(bytes)),
        Framing::UntilClose => (bytes.to_vec(), Some(&[][..])),
        Framing::Chunked => chunks(bytes),
        Framing::Length(length) => {
            let taken = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            (bytes[..taken].to_vec(), (taken as u64 == length).then(|| &bytes[taken..]))
        }
    };
    if !body.is_empty() {
        events.push(OracleEvent::Body(body));
    }
    let rest = rest?;
    events.push(OracleEvent::End);
    Some(rest)
}

/// The data of all chunks up to the end or the first fault; the bytes after it unless there is a fault.
fn chunks(mut bytes: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let mut body = Vec::new();
    loop {
        let Some((size, after)) = size_line(bytes) else { return (body, None) };
        if size == 0 {
            return (body, trailers(after));
        }
        let taken = after.len().min(usize::try_from(size).unwrap_or(usize::MAX));
        body.extend_from_slice(&after[..taken]);
        bytes = match &after[taken..] {
            [b'\r', b'\n', rest @ ..] => rest,
            _ => return (body, None),
        };
    }
}

fn size_line(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let newline = bytes.iter().position(|byte| *byte == b'\n').filter(|at| *at < MAX_CHUNK_LINE_BYTES)?;
    let line: String = bytes[..newline].iter().map(|&byte| char::from(byte)).collect();
    let line = line.strip_suffix('\r')?;
    let end = line.find([' ', '\t', ';']).unwrap_or(line.len());
    let (digits, mut rest) = line.split_at(end);
    while !blank_trimmed(rest).is_empty() {
        rest = extension(rest)?;
    }
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let significant = digits.trim_start_matches('0');
    let size = if significant.is_empty() { Ok(0) } else { u64::from_str_radix(significant, 16) };
    plain.then_some((size.ok()?, &bytes[newline + 1..]))
}

/// Reads one chunk extension; returns the text after it.
fn extension(text: &str) -> Option<&str> {
    let blank = |text: &'_ str| text.len() - text.trim_start_matches([' ', '\t']).len();
    let text = text[blank(text)..].strip_prefix(';')?;
    let text = &text[blank(text)..];
    let (name, rest) = text.split_at(text.find(|c| !is_token(c)).unwrap_or(text.len()));
    if name.is_empty() {
        return None;
    }
    let Some(value) = rest[blank(rest)..].strip_prefix('=') else { return Some(rest) };
    let value = &value[blank(value)..];
    if let Some(quoted) = value.strip_prefix('"') {
        let mut escaped = false;
        let end = quoted.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        return is_text(&quoted[..end]).then_some(&quoted[end + 1..]);
    }
    let (token, rest) = value.split_at(value.find(|c| !is_token(c)).unwrap_or(value.len()));
    (!token.is_empty()).then_some(rest)
}

fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)
}

fn is_text(text: &str) -> bool {
    text.chars().all(|char| char == '\t' || (char >= ' ' && char != '\u{7f}'))
}

fn trailers(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let newline = at + bytes[at..].iter().position(|byte| *byte == b'\n')?;
        let line: String = bytes[at..newline].iter().map(|&byte| char::from(byte)).collect();
        if newline >= MAX_TRAILERS_BYTES {
            return None;
        }
        let line = line.strip_suffix('\r').filter(|line| !line.contains(['\r', '\0']))?;
        if line.is_empty() {
            return Some(&bytes[newline + 1..]);
        }
        let folded = at > 0 && line.starts_with([' ', '\t']);
        if !folded {
            field(line)?;
        }
        at = newline + 1;
    }
}
