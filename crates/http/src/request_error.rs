//! What a person can ask wrongly: a URL, or a request that cannot be sent as it was meant.
//!
//! The binary and the lab show these before a run begins. Each says which part is at fault, at which character, and the
//! nearest right form where there is one. A server's faults are a [`crate::ProtocolError`]: whose fault it is decides
//! the exit status, so the two are never one type.

/// A request or a URL that cannot be sent as it was asked. Always the user's doing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is not a token (RFC 9110 §9.1).
    #[error("method {method:?}: {}", wrong_character(*at, "a method is a word such as GET"))]
    Method {
        /// The method as given.
        method: String,
        /// The first wrong character, counted from 1; 0 if there is none at all.
        at: usize,
    },
    /// CONNECT makes a tunnel, after which there is no HTTP to measure (RFC 9110 §9.3.6).
    #[error("method CONNECT opens a tunnel and cannot be measured; use another method")]
    Connect,
    /// The target does not begin with a slash.
    #[error("path {path:?} does not begin with \"/\"; write \"/{path}\"")]
    PathNotAbsolute {
        /// The path as given.
        path: String,
    },
    /// A blank, control or non-ASCII character, or `#`, in the target.
    #[error("path {path:?}: {}; write it percent-encoded: \"{nearest}\"", wrong_character(*at, "it cannot be sent as it is"))]
    Path {
        /// The path as given.
        path: String,
        /// The first wrong character, counted from 1.
        at: usize,
        /// The path with every such byte encoded.
        nearest: String,
    },
    /// A field's name is not a token (RFC 9110 §5.1).
    #[error("header {name:?}: {}", wrong_character(*at, "a name has no blank, colon or control character"))]
    HeaderName {
        /// The name as given.
        name: String,
        /// The first wrong character, counted from 1; 0 if there is none at all.
        at: usize,
    },
    /// A field's value has a line end or another control character.
    #[error("header {name}: {value:?}: {}", wrong_character(*at, "a value has no line end or control character"))]
    HeaderValue {
        /// The field.
        name: String,
        /// Its value as given.
        value: String,
        /// The first wrong character, counted from 1.
        at: usize,
    },
    /// A `Host` with a blank in it.
    #[error("header Host: {value:?}: {}", wrong_character(*at, "a host and its port have no blank"))]
    HostValue {
        /// Its value as given.
        value: String,
        /// The first wrong character, counted from 1.
        at: usize,
    },
    /// A field given twice that a request may have once.
    #[error("header {name} is given twice; a request may have one")]
    HeaderTwice {
        /// The field.
        name: String,
    },
    /// A `Content-Length` that is not the body's.
    #[error(
        "header Content-Length: {value:?}, but the body has {bytes} bytes; remove the header: it is added"
    )]
    ContentLength {
        /// Its value as given.
        value: String,
        /// The body's length.
        bytes: usize,
    },
    /// A `Content-Length` beside a body whose length changes from request to request.
    #[error(
        "header Content-Length: {value:?}, but the body's placeholders make its length change; remove the header: it is added"
    )]
    ChangingLength {
        /// Its value as given.
        value: String,
    },
    /// Something that looks like a placeholder and is none.
    #[error("{place}: {error}")]
    Placeholder {
        /// Where it stands: `path`, `header NAME` or `body`.
        place: String,
        /// What is wrong with it.
        error: PlaceholderError,
    },
    /// A file of lines that has none, so that there is nothing to send.
    #[error("{place}: {{line:{file}}}: the file has no lines")]
    NoLines {
        /// Where it is named.
        place: String,
        /// The file.
        file: String,
    },
    /// A file of lines that was not read: an error of the caller.
    #[error("{place}: {{line:{file}}}: the file was not read")]
    UnreadLines {
        /// Where it is named.
        place: String,
        /// The file.
        file: String,
    },
    /// A line of a file that cannot stand where the file is named.
    #[error("{place}: {{line:{file}}}: line {line} is {text:?}: {rule}")]
    Line {
        /// Where it is named.
        place: String,
        /// The file.
        file: String,
        /// The first such line, from 1.
        line: usize,
        /// What it says, or how it begins.
        text: String,
        /// What a line there has to be.
        rule: &'static str,
    },
    /// A `Transfer-Encoding`, which would contradict the length.
    #[error(
        "header Transfer-Encoding cannot be set: bodies are sent with a Content-Length; remove the header"
    )]
    TransferEncoding,
    /// A field that HTTP/2 does not have (RFC 9113 §8.2.2).
    #[error("header {name} cannot be sent with HTTP/2; remove it")]
    Http1Field {
        /// The field.
        name: String,
    },
    /// No scheme.
    #[error("URL {url:?} has no scheme; write {nearest:?}")]
    MissingScheme {
        /// The URL as given.
        url: String,
        /// The nearest right form.
        nearest: String,
    },
    /// A scheme without its two slashes.
    #[error("URL {url:?} lacks \"//\" after its scheme; write {nearest:?}")]
    MissingSlashes {
        /// The URL as given.
        url: String,
        /// The nearest right form.
        nearest: String,
    },
    /// A scheme that is neither `http` nor `https`.
    #[error("URL {url:?}: scheme {scheme:?} is not http or https; write {nearest:?}")]
    Scheme {
        /// The URL as given.
        url: String,
        /// Its scheme.
        scheme: String,
        /// The nearest right form.
        nearest: String,
    },
    /// Nothing between the slashes.
    #[error("URL {url:?} names no host; write \"http://127.0.0.1:8080/\" for a server on this machine")]
    MissingHost {
        /// The URL as given.
        url: String,
    },
    /// `user:password@` (RFC 9110 §4.2.4), shown nowhere, for it is a secret.
    #[error("the URL has a user name before \"@\"; write {nearest:?} and send an Authorization header")]
    UserInfo {
        /// The URL without it.
        nearest: String,
    },
    /// A host that is neither a name nor an address.
    #[error("URL {url:?}: host {host:?}: {}", wrong_character(*at, "a name has letters, digits, \"-\", \".\" and \"_\""))]
    Host {
        /// The URL as given.
        url: String,
        /// Its host.
        host: String,
        /// The first wrong character of the host, counted from 1; 0 if there is none at all.
        at: usize,
    },
    /// An IPv6 address without its brackets (RFC 3986 §3.2.2).
    #[error("URL {url:?}: an IPv6 address stands in brackets; write {nearest:?}")]
    Brackets {
        /// The URL as given.
        url: String,
        /// The nearest right form.
        nearest: String,
    },
    /// A bracket that is not closed.
    #[error("URL {url:?}: {address:?} has no closing bracket; write {nearest:?}")]
    OpenBracket {
        /// The URL as given.
        url: String,
        /// What stands behind the bracket.
        address: String,
        /// The nearest right form.
        nearest: String,
    },
    /// What stands in the brackets is no IPv6 address.
    #[error(
        "URL {url:?}: {address:?} is not an IPv6 address such as \"::1\" or, with a zone, \"fe80::1%25eth0\""
    )]
    Ipv6 {
        /// The URL as given.
        url: String,
        /// What stands between the brackets.
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

/// "wrong character N: rule", or that there is nothing at all.
fn wrong_character(at: usize, rule: &str) -> String {
    if at == 0 { format!("it is empty; {rule}") } else { format!("wrong at character {at}; {rule}") }
}

/// Something that looks like a placeholder and is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} at character {at} {problem}")]
pub struct PlaceholderError {
    /// What stands there.
    pub text: String,
    /// Where it begins, in characters from 1.
    pub at: usize,
    /// What is wrong with it.
    pub problem: PlaceholderProblem,
}

/// What can be wrong with a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderProblem {
    /// No placeholder is called so, or none is written so.
    #[error(
        "is no placeholder; there are {{rand:LEAST:MOST}}, {{seq}}, {{line:FILE}} and {{var:NAME}}, and {{{{ stands for a brace"
    )]
    Unknown,
    /// No `}` follows.
    #[error("has no closing brace; write {{{{ for a literal brace")]
    Unclosed,
    /// A bound of `rand` is missing, or no whole number from 0 to 18446744073709551615.
    #[error("is not written {{rand:LEAST:MOST}} with two whole numbers from 0 up, such as {{rand:1:100000}}")]
    Bounds,
    /// The bounds are the wrong way round.
    #[error("has its bounds the wrong way round; write {{rand:{most}:{least}}}")]
    Order {
        /// The first bound.
        least: u64,
        /// The second, which is lower.
        most: u64,
    },
    /// `var` names nothing.
    #[error("names no variable; write {{var:NAME}}")]
    NoVariable,
    /// No earlier step of the session extracts a variable of that name.
    #[error("names a variable that no earlier request of the session extracts; add it to `extract`")]
    UnknownVariable,
    /// `line` names no file.
    #[error("names no file; write {{line:FILE}}")]
    NoFile,
}
