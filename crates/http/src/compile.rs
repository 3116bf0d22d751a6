//! Compiles a request with placeholders into its template; checks where placeholders stand and which values may replace
//! them.
//!
//! The binary calls this once for each request of a run. A placeholder may stand in the path, in a header's value and
//! in a body that is text; a body that is not UTF-8 is sent unchanged. This module reads no files: the caller asks
//! which files are named ([`Request::line_files`]) and supplies them.

use crate::body::{length_in_chunks, push_chunks};
use crate::h2::Http2Request;
use crate::placeholder::{PlaceholderPiece, check_doubled, parse_placeholders};
use crate::request::Request;
use crate::request_error::{PlaceholderError, PlaceholderProblem, RequestError};
use crate::syntax::{character_number, is_target, is_text};
use crate::template::{FileLines, LineFiles, RequestTemplate, TemplatePart, join};
use crate::url::{Scheme, check_target, check_target_bytes};
use crate::websocket::MessageType;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Connection-specific fields of HTTP/1.1 (RFC 9113 §8.2.2).
const HTTP1_FIELDS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Fields of an upgrade request that Paceline sets, or that offer what it does not support (RFC 6455 §4.1).
const HANDSHAKE_FIELDS: [&str; 6] = [
    "connection",
    "upgrade",
    "content-length",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
];

/// The place of a placeholder.
#[derive(Clone, Copy)]
enum PlaceholderPosition<'r> {
    Path,
    Header(&'r str),
    Body,
    /// A text message of a WebSocket.
    Text,
}

impl fmt::Display for PlaceholderPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceholderPosition::Path => f.write_str("path"),
            PlaceholderPosition::Header(name) => write!(f, "header {name}"),
            PlaceholderPosition::Body => f.write_str("body"),
            PlaceholderPosition::Text => f.write_str("message"),
        }
    }
}

impl PlaceholderPosition<'_> {
    /// The rule that a line of a file must meet to be sent here.
    fn rule(self) -> &'static str {
        match self {
            PlaceholderPosition::Path => {
                "a line of a file that is inserted into a path may contain only visible ASCII characters except \"#\"; percent-encode all others"
            }
            PlaceholderPosition::Header(_) => "a line used in a header must not contain control characters",
            PlaceholderPosition::Body => "any line can be used in a body",
            PlaceholderPosition::Text => {
                "a line in a text message must be UTF-8; send other messages with --ws-binary"
            }
        }
    }

    fn admits(self, line: &[u8]) -> bool {
        match self {
            PlaceholderPosition::Path => line.iter().copied().all(is_target),
            PlaceholderPosition::Header(_) => line.iter().copied().all(is_text),
            PlaceholderPosition::Body => true,
            PlaceholderPosition::Text => std::str::from_utf8(line).is_ok(),
        }
    }

    fn wrong_line(self, file: &str, lines: &FileLines, index: usize, rule: &'static str) -> RequestError {
        let text = String::from_utf8_lossy(lines.get(index)).chars().take(60).collect();
        RequestError::Line { place: self.to_string(), file: file.into(), line: index + 1, text, rule }
    }
}

impl Request {
    /// The files named by its placeholders, each once.
    ///
    /// # Errors
    /// [`RequestError::Placeholder`] for text that looks like a placeholder but is invalid.
    pub fn line_files(&self) -> Result<Vec<String>, RequestError> {
        let mut files = Vec::new();
        for (place, text) in self.texts() {
            for piece in read(place, text)? {
                if let PlaceholderPiece::Line(file) = piece
                    && !files.iter().any(|known| known == file)
                {
                    files.push(file.to_owned());
                }
            }
        }
        Ok(files)
    }

    /// The request with its placeholders, ready to be sent again and again.
    ///
    /// # Errors
    /// [`RequestError`] for a request that would not arrive as intended, with any value of its placeholders.
    pub fn compile(&self, files: &LineFiles) -> Result<RequestTemplate, RequestError> {
        self.check_method()?;
        self.check_target_of_lines(files)?;
        self.check_headers()?;
        let mut body = self.body_parts(files)?;
        self.check_body_length(&body)?;
        let mut head = self.head_parts(files)?;
        if self.sends_expect() {
            head.push(text("Expect: 100-continue\r\n"));
        }
        match (self.chunks(), self.generated) {
            (Some(size), generated) => {
                head.push(text("Transfer-Encoding: chunked\r\n"));
                body = if generated.is_some() { body } else { in_chunks(body, size) };
            }
            (None, Some(length)) if self.adds_length() => {
                head.push(text(&format!("Content-Length: {length}\r\n")));
            }
            (None, _) if self.adds_length() => {
                head.extend([text("Content-Length: "), TemplatePart::BodyLength, text("\r\n")]);
            }
            (None, _) => {}
        }
        head.push(text("\r\n"));
        Ok(RequestTemplate::from_parts(head, body))
    }

    /// The request that opens a WebSocket (RFC 6455 §4.1), up to the value of `Sec-WebSocket-Key`, which is its last
    /// field: the key of a connection and an empty line follow.
    ///
    /// # Errors
    /// As [`Request::compile`], and for a method or fields that a handshake cannot have.
    pub fn compile_upgrade(&self, files: &LineFiles) -> Result<RequestTemplate, RequestError> {
        if self.method != "GET" {
            return Err(RequestError::HandshakeMethod { method: self.method.clone() });
        }
        let is_reserved = |name: &str| HANDSHAKE_FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field));
        if let Some((name, _)) = self.headers.iter().find(|(name, _)| is_reserved(name)) {
            return Err(RequestError::HandshakeField { name: name.clone() });
        }
        self.check_target_of_lines(files)?;
        self.check_headers()?;
        let mut head = self.head_parts(files)?;
        head.push(text(
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ",
        ));
        Ok(RequestTemplate::from_parts(head, Vec::new()))
    }

    /// The body as a message of a WebSocket.
    ///
    /// # Errors
    /// [`RequestError`] for a text message that is not UTF-8 with any value of its placeholders.
    pub fn compile_message(
        &self,
        kind: MessageType,
        files: &LineFiles,
    ) -> Result<RequestTemplate, RequestError> {
        let body = match (kind, std::str::from_utf8(&self.body)) {
            (MessageType::Binary, _) => self.body_parts(files)?,
            (MessageType::Text, Ok(text)) => parts(PlaceholderPosition::Text, text, files)?,
            (MessageType::Text, Err(_)) => return Err(RequestError::MessageText),
        };
        Ok(RequestTemplate::from_parts(Vec::new(), body))
    }

    /// The request as HTTP/2 sends it (RFC 9113 §8.3.1): the host becomes `:authority`, names are in lower case.
    ///
    /// # Errors
    /// As [`Request::compile`], and for fields that HTTP/2 does not have (RFC 9113 §8.2.2).
    pub fn compile_http2(&self, scheme: Scheme, files: &LineFiles) -> Result<Http2Request, RequestError> {
        self.check_method()?;
        self.check_target_of_lines(files)?;
        self.check_headers()?;
        let body = self.body_parts(files)?;
        self.check_body_length(&body)?;
        let mut fields = vec![
            (":method".to_owned(), vec![text(&self.method)]),
            (":scheme".to_owned(), vec![text(scheme.http_name())]),
        ];
        let mut regular = Vec::new();
        for (name, value) in self.fields() {
            let lower = name.to_ascii_lowercase();
            if HTTP1_FIELDS.contains(&lower.as_str()) || (lower == "te" && value != "trailers") {
                return Err(RequestError::Http1Field { name: name.into() });
            }
            let value = parts(PlaceholderPosition::Header(name), value, files)?;
            match lower.as_str() {
                "host" => fields.push((":authority".to_owned(), value)),
                _ => regular.push((lower, value)),
            }
        }
        fields.push((":path".to_owned(), parts(PlaceholderPosition::Path, &self.path, files)?));
        fields.extend(regular);
        if self.adds_length() {
            let length = self.generated.map_or(TemplatePart::BodyLength, |length| text(&length.to_string()));
            fields.push(("content-length".to_owned(), vec![length]));
        }
        Ok(Http2Request::new(fields, body).with_framing(self.generated, self.framing))
    }

    /// Rejects texts in which a name stands in doubled braces, which would not be replaced.
    ///
    /// # Errors
    /// [`RequestError::Placeholder`] for the first of them.
    pub fn check_doubled_braces(&self) -> Result<(), RequestError> {
        self.texts().try_for_each(|(place, text)| {
            check_doubled(text).map_err(|error| RequestError::Placeholder { place: place.to_string(), error })
        })
    }

    /// The request line and the given fields.
    fn head_parts(&self, files: &LineFiles) -> Result<Vec<TemplatePart>, RequestError> {
        let mut head = vec![text(&self.method), text(" "), text(&self.target_prefix())];
        head.extend(parts(PlaceholderPosition::Path, &self.path, files)?);
        head.extend([text(" "), text(self.version.as_str()), text("\r\n")]);
        for (name, value) in self.fields() {
            head.extend([text(name), text(": ")]);
            head.extend(parts(PlaceholderPosition::Header(name), value, files)?);
            head.push(text("\r\n"));
        }
        Ok(head)
    }

    /// The request with `{{` for each `{`, which is sent as one brace: nothing in it is a placeholder.
    #[must_use]
    pub fn with_doubled_braces(&self) -> Request {
        let doubled = |text: &str| text.replace('{', "{{");
        let body = std::str::from_utf8(&self.body);
        Request {
            path: doubled(&self.path),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), doubled(value))).collect(),
            body: body.map_or_else(|_| self.body.clone(), |text| doubled(text).into_bytes()),
            ..self.clone()
        }
    }

    /// The body; one that is not text has no placeholders.
    fn body_parts(&self, files: &LineFiles) -> Result<Vec<TemplatePart>, RequestError> {
        match std::str::from_utf8(&self.body) {
            Ok(text) => parts(PlaceholderPosition::Body, text, files),
            Err(_) => Ok(vec![TemplatePart::Text(self.body.clone())]),
        }
    }

    /// The texts that may hold placeholders.
    fn texts(&self) -> impl Iterator<Item = (PlaceholderPosition<'_>, &str)> {
        let fields =
            self.fields().into_iter().map(|(name, value)| (PlaceholderPosition::Header(name), value));
        let body = std::str::from_utf8(&self.body).ok().map(|text| (PlaceholderPosition::Body, text));
        std::iter::once((PlaceholderPosition::Path, self.path.as_str())).chain(fields).chain(body)
    }

    /// A path that begins with a line placeholder begins as the file's lines do.
    fn check_target_of_lines(&self, files: &LineFiles) -> Result<(), RequestError> {
        let begins_with = read(PlaceholderPosition::Path, &self.path)?.first().copied();
        let Some(PlaceholderPiece::Line(file)) = begins_with else {
            return check_target(&self.path, &self.method);
        };
        check_target_bytes(&self.path)?;
        let (_, lines) = found(PlaceholderPosition::Path, file, files)?;
        match (0..lines.count()).find(|index| !lines.get(*index).starts_with(b"/")) {
            None => Ok(()),
            Some(index) => {
                let rule = "each line must begin with \"/\", because the path begins with this placeholder";
                Err(PlaceholderPosition::Path.wrong_line(file, lines, index, rule))
            }
        }
    }

    /// A given length must equal the length of every possible body.
    fn check_body_length(&self, body: &[TemplatePart]) -> Result<(), RequestError> {
        let mut length: u64 = 0;
        for part in body {
            match (part, self.given_length()) {
                (TemplatePart::Text(bytes), _) => length += bytes.len() as u64,
                (_, None) => return Ok(()),
                (_, Some(value)) => return Err(RequestError::ChangingLength { value: value.into() }),
            }
        }
        self.check_length(self.generated.unwrap_or(length))
    }
}

/// A body in chunks. The chunks of one that varies are made when its length is known.
fn in_chunks(body: Vec<TemplatePart>, size: NonZeroU32) -> Vec<TemplatePart> {
    match join(body).as_slice() {
        [TemplatePart::Text(bytes)] => {
            let mut chunks = Vec::new();
            push_chunks(&mut chunks, bytes, size);
            vec![TemplatePart::Text(chunks)]
        }
        parts => {
            let longest: usize = parts.iter().map(TemplatePart::longest).sum();
            let added = length_in_chunks(longest, size) - longest;
            parts.iter().cloned().chain([TemplatePart::Chunks { size, added }]).collect()
        }
    }
}

fn text(text: &str) -> TemplatePart {
    TemplatePart::Text(text.as_bytes().to_vec())
}

fn read<'t>(
    place: PlaceholderPosition<'_>,
    text: &'t str,
) -> Result<Vec<PlaceholderPiece<'t>>, RequestError> {
    parse_placeholders(text).map_err(|error| RequestError::Placeholder { place: place.to_string(), error })
}

/// The parts of a text, with their lines looked up and checked.
fn parts(
    place: PlaceholderPosition<'_>,
    value: &str,
    files: &LineFiles,
) -> Result<Vec<TemplatePart>, RequestError> {
    let part = |piece: PlaceholderPiece<'_>| {
        Ok(match piece {
            PlaceholderPiece::Text(piece) => text(piece),
            PlaceholderPiece::Random { least, most } => TemplatePart::Random { least, span: most - least },
            PlaceholderPiece::Sequence { first } => TemplatePart::Sequence { first },
            PlaceholderPiece::Variable(name) => {
                let index = files.variable(name).ok_or_else(|| unknown_variable(place, value, name))?;
                TemplatePart::Variable { index, in_path: matches!(place, PlaceholderPosition::Path) }
            }
            PlaceholderPiece::Line(name) => {
                let (file, lines) = found(place, name, files)?;
                if let Some(index) = (0..lines.count()).find(|index| !place.admits(lines.get(*index))) {
                    return Err(place.wrong_line(name, lines, index, place.rule()));
                }
                TemplatePart::Line { file, lines: Arc::clone(lines) }
            }
        })
    };
    read(place, value)?.into_iter().map(part).collect()
}

/// The error for a variable that no earlier request of the session extracts.
fn unknown_variable(place: PlaceholderPosition<'_>, value: &str, name: &str) -> RequestError {
    let text = format!("{{var:{name}}}");
    let at = value.find(&text).map_or(1, |at| character_number(value, at));
    let error = PlaceholderError { text, at, problem: PlaceholderProblem::UnknownVariable };
    RequestError::Placeholder { place: place.to_string(), error }
}

/// A file that was read and has lines, or the error.
fn found<'f>(
    place: PlaceholderPosition<'_>,
    file: &str,
    files: &'f LineFiles,
) -> Result<(usize, &'f Arc<FileLines>), RequestError> {
    let (place, file) = (place.to_string(), file.to_owned());
    match files.find(&file) {
        None => Err(RequestError::UnreadLines { place, file }),
        Some((_, lines)) if lines.count() == 0 => Err(RequestError::NoLines { place, file }),
        Some(found) => Ok(found),
    }
}
