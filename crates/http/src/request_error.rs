//! The errors in a user's input: a URL, or a request that cannot be sent as intended.
//!
//! The binary and the lab show these before a run begins. Each names the invalid part, the character, and the nearest
//! valid form where there is one. A server's faults are a [`crate::ProtocolError`]: the exit status depends on whose
//! fault it is, so the two are separate types.

/// A request or a URL that cannot be sent as given. Always the user's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is not a token (RFC 9110 §9.1).
    #[error("method {method:?}: {}", wrong_character(*at, "a method is a word such as GET"))]
    Method {
        /// The method as given.
        method: String,
        /// The first invalid character, counted from 1; 0 if the text is empty.
        at: usize,
    },
    /// CONNECT makes a tunnel, which leaves no HTTP to measure (RFC 9110 §9.3.6).
    #[error("method CONNECT opens a tunnel and cannot be measured; use another method")]
    Connect,
    /// The target does not begin with a slash.
    #[error("path {path:?} does not begin with \"/\"; write \"/{path}\"")]
    PathNotAbsolute {
        /// The path as given.
        path: String,
    },
    /// A blank, control or non-ASCII character, or `#`, in the target.
    #[error("path {path:?}: the character at position {at} is not allowed; percent-encode it: \"{nearest}\"")]
    Path {
        /// The path as given.
        path: String,
        /// The first invalid character, counted from 1.
        at: usize,
        /// The path with every such byte encoded.
        nearest: String,
    },
    /// A field's name is not a token (RFC 9110 §5.1).
    #[error("header {name:?}: {}", wrong_character(*at, "a name may contain only letters, digits and !#$%&'*+-.^_`|~"))]
    HeaderName {
        /// The name as given.
        name: String,
        /// The first invalid character, counted from 1; 0 if the text is empty.
        at: usize,
    },
    /// A field's value has a line end or another control character.
    #[error("header {name}: {value:?}: {}", wrong_character(*at, "a value must not contain line breaks or control characters"))]
    HeaderValue {
        /// The field.
        name: String,
        /// Its value as given.
        value: String,
        /// The first invalid character, counted from 1.
        at: usize,
    },
    /// A `Host` with a blank in it.
    #[error("header Host: {value:?}: {}", wrong_character(*at, "a host and its port must not contain spaces"))]
    HostValue {
        /// Its value as given.
        value: String,
        /// The first invalid character, counted from 1.
        at: usize,
    },
    /// A field given twice that a request may have once.
    #[error("header {name} is given twice; a request may have only one")]
    HeaderTwice {
        /// The field.
        name: String,
    },
    /// A `Content-Length` that differs from the body's length.
    #[error(
        "header Content-Length: {value:?}, but the length of the body is {bytes}; remove the header: Paceline adds it"
    )]
    ContentLength {
        /// Its value as given.
        value: String,
        /// The length of the body.
        bytes: u64,
    },
    /// A `Content-Length` beside a body whose length changes from request to request.
    #[error(
        "header Content-Length: {value:?}, but the length of the body varies with its placeholders; remove the header: Paceline adds it"
    )]
    ChangingLength {
        /// Its value as given.
        value: String,
    },
    /// Text that looks like a placeholder but is invalid.
    #[error("{place}: {error}")]
    Placeholder {
        /// Its place: `path`, `header NAME` or `body`.
        place: String,
        /// The error in it.
        error: PlaceholderError,
    },
    /// A file of lines that has no lines.
    #[error("{place}: {{line:{file}}}: the file has no lines")]
    NoLines {
        /// The place that names it.
        place: String,
        /// The file.
        file: String,
    },
    /// A file of lines that was not read: an error of the caller.
    #[error("{place}: {{line:{file}}}: the file was not read")]
    UnreadLines {
        /// The place that names it.
        place: String,
        /// The file.
        file: String,
    },
    /// A line of a file that is invalid in the place that names the file.
    #[error("{place}: {{line:{file}}}: line {line} is {text:?}: {rule}")]
    Line {
        /// The place that names it.
        place: String,
        /// The file.
        file: String,
        /// The first such line, from 1.
        line: usize,
        /// The line, or its beginning.
        text: String,
        /// The rule for a line in that place.
        rule: &'static str,
    },
    /// A `Content-Length` of a body in chunks, which has none (RFC 9112 §6.2).
    #[error("header Content-Length cannot be sent with --chunked: remove one of the two")]
    LengthWithChunks,
    /// A `Transfer-Encoding`, which the framing of the body decides.
    #[error("header Transfer-Encoding cannot be set: remove the header; --chunked sends the body in chunks")]
    TransferEncoding,
    /// An `Expect`, which only a request that waits with its body may have (RFC 9110 §10.1.1).
    #[error(
        "header Expect cannot be set: remove the header; --expect-continue sends it, and waits for 100 Continue"
    )]
    Expect,
    /// A field that HTTP/2 does not have (RFC 9113 §8.2.2).
    #[error("header {name} cannot be sent with HTTP/2; remove it")]
    Http1Field {
        /// The field.
        name: String,
    },
    /// A field that Paceline sets in the handshake of a WebSocket, or whose effect it does not support (RFC 6455 §4.1).
    #[error(
        "header {name} cannot be set for a WebSocket: Paceline sets the fields of the handshake; remove it"
    )]
    HandshakeField {
        /// The field.
        name: String,
    },
    /// The handshake of a WebSocket is a GET (RFC 6455 §4.1).
    #[error("method {method} cannot open a WebSocket: the handshake is a GET; remove the method")]
    HandshakeMethod {
        /// The method.
        method: String,
    },
    /// A text message that is not UTF-8 (RFC 6455 §5.6).
    #[error("the message is not UTF-8: send it with --ws-binary")]
    MessageText,
    /// No scheme.
    #[error("URL {url:?} has no scheme; write {nearest:?}")]
    MissingScheme {
        /// The URL as given.
        url: String,
        /// The nearest valid form.
        nearest: String,
    },
    /// A scheme without its two slashes.
    #[error("URL {url:?} lacks \"//\" after its scheme; write {nearest:?}")]
    MissingSlashes {
        /// The URL as given.
        url: String,
        /// The nearest valid form.
        nearest: String,
    },
    /// An unknown scheme.
    #[error("URL {url:?}: scheme {scheme:?} is not {expected}; write {nearest:?}")]
    Scheme {
        /// The URL as given.
        url: String,
        /// Its scheme.
        scheme: String,
        /// The schemes that are known here.
        expected: &'static str,
        /// The nearest valid form.
        nearest: String,
    },
    /// No text between the slashes.
    #[error("URL {url:?} has no host; write \"http://127.0.0.1:8080/\" for a server on this machine")]
    MissingHost {
        /// The URL as given.
        url: String,
    },
    /// `user:password@` (RFC 9110 §4.2.4), never shown, because it is a secret.
    #[error("the URL has a user name before \"@\"; write {nearest:?} and send an Authorization header")]
    UserInfo {
        /// The URL without it.
        nearest: String,
    },
    /// A host that is neither a name nor an address.
    #[error("URL {url:?}: host {host:?}: {}", wrong_character(*at, "a host name may contain only letters, digits, \"-\", \".\" and \"_\""))]
    Host {
        /// The URL as given.
        url: String,
        /// Its host.
        host: String,
        /// The first invalid character of the host, counted from 1; 0 if it is empty.
        at: usize,
    },
    /// An IPv6 address without its brackets (RFC 3986 §3.2.2).
    #[error("URL {url:?}: an IPv6 address must be in brackets; write {nearest:?}")]
    Brackets {
        /// The URL as given.
        url: String,
        /// The nearest valid form.
        nearest: String,
    },
    /// A bracket that is not closed.
    #[error("URL {url:?}: {address:?} has no closing bracket; write {nearest:?}")]
    OpenBracket {
        /// The URL as given.
        url: String,
        /// The text after the bracket.
        address: String,
        /// The nearest valid form.
        nearest: String,
    },
    /// The text in the brackets is not an IPv6 address.
    #[error(
        "URL {url:?}: {address:?} is not an IPv6 address such as \"::1\" or, with a zone, \"fe80::1%25eth0\""
    )]
    Ipv6 {
        /// The URL as given.
        url: String,
        /// The text between the brackets.
        address: String,
    },
    /// A port that is not a number from 1 to 65535.
    #[error("URL {url:?}: port {port:?} is not a number from 1 to 65535")]
    Port {
        /// The URL as given.
        url: String,
        /// Its port.
        port: String,
    },
}

/// "character N is invalid; rule", or a message that the text is empty.
fn wrong_character(at: usize, rule: &str) -> String {
    if at == 0 { format!("it is empty; {rule}") } else { format!("character {at} is invalid; {rule}") }
}

/// Text that looks like a placeholder but is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} at character {at} {problem}")]
pub struct PlaceholderError {
    /// The text.
    pub text: String,
    /// Its first character, counted from 1.
    pub at: usize,
    /// The error in it.
    pub problem: PlaceholderProblem,
}

/// The errors that a placeholder can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderProblem {
    /// No placeholder has this name or this form.
    #[error(
        "is not a placeholder; the placeholders are {{rand:MIN:MAX}}, {{seq}}, {{line:FILE}} and {{var:NAME}}; write {{{{ for a literal {{"
    )]
    Unknown,
    /// A name in doubled braces, as other tools write placeholders: it would be sent as text in single braces.
    #[error(
        "has doubled braces; write single ones: the placeholders are {{rand:MIN:MAX}}, {{seq}}, {{line:FILE}} and {{var:NAME}}"
    )]
    Doubled,
    /// `bytes` inside a text: it stands for a whole body.
    #[error("stands for a whole body: write a size and nothing else, such as {{{{bytes:20MB}}}}")]
    Bytes,
    /// No `}` follows.
    #[error("has no closing brace; write {{{{ for a literal {{")]
    Unclosed,
    /// A bound of `rand` is missing, or is not a whole number from 0 to 18446744073709551615.
    #[error(
        "is not valid: write {{rand:MIN:MAX}} with two whole numbers of 0 or more, such as {{rand:1:100000}}"
    )]
    Bounds,
    /// The bounds are in the wrong order.
    #[error("has its bounds in the wrong order; write {{rand:{most}:{least}}}")]
    Order {
        /// The first bound.
        least: u64,
        /// The second, which is lower.
        most: u64,
    },
    /// `var` without a name.
    #[error("has no variable name; write {{var:NAME}}")]
    NoVariable,
    /// No earlier step of the session extracts a variable of that name.
    #[error(
        "names a variable that no earlier request of the session extracts; add it to `extract` of an earlier request"
    )]
    UnknownVariable,
    /// `line` without a file.
    #[error("has no file name; write {{line:FILE}}")]
    NoFile,
}
