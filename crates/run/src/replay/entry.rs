//! One line of an access log: the common and combined formats, and JSON as nginx, Caddy and Envoy write it.

use jiff::Timestamp;
use jiff::fmt::{strtime, temporal::Pieces};
use jiff::tz::Offset;
use serde_json::Value;
use std::str::Utf8Chunk;
use std::time::Duration;

/// The keys of a time: a number since 1970, or a text.
pub const TIME_KEYS: [&str; 8] =
    ["ts", "msec", "start_time", "time_iso8601", "@timestamp", "timestamp", "time", "time_local"];
/// The key of the first line of a request.
pub const REQUEST_KEY: &str = "request";
/// The keys of a method.
pub const METHOD_KEYS: [&str; 3] = ["method", "request_method", ":METHOD"];
/// The keys of a path with its query.
pub const TARGET_KEYS: [&str; 6] = ["request_uri", "uri", "path", "url", ":PATH", "x_envoy_origin_path"];
/// How the common format and nginx's `$time_local` write a time.
const LOCAL_TIME: &str = "%d/%b/%Y:%H:%M:%S %z";
/// The number from which on a time is in nanoseconds, in microseconds or in milliseconds, and how many of them a second
/// has. Each is March 1973 in its unit and the year 5138 in the next larger one, so that a log has no time on the wrong
/// side.
const UNITS: [(f64, f64); 3] = [(1e17, 1e9), (1e14, 1e6), (1e11, 1e3)];

/// When a request was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTime {
    /// Since 1970.
    pub at: Duration,
    /// The offset from UTC with which it was written.
    pub offset: Offset,
    /// Whether it is known to the second only.
    pub is_whole_second: bool,
}

/// A request that a log describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it was logged.
    pub time: EntryTime,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The host that was requested.
    pub host: Option<String>,
    /// The page that led to it.
    pub referer: Option<String>,
    /// The client.
    pub user_agent: Option<String>,
}

impl LogEntry {
    /// Reads a line of one of the known formats; `None` if it has another.
    pub fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('{') {
            Self::from_json(&serde_json::from_str(line).ok()?)
        } else {
            Self::from_common(line)
        }
    }

    /// `host ident user [time] "GET /path HTTP/1.1" status bytes`, with `"referer" "user agent"` if combined.
    fn from_common(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once('[')?;
        let (time, rest) = rest.split_once(']')?;
        let mut quoted = Quoted(rest);
        let (method, target) = request_line(&quoted.next()?)?;
        let field = |value: Option<String>| value.filter(|value| value != "-" && !value.is_empty());
        let (referer, user_agent) = (field(quoted.next()), field(quoted.next()));
        Some(Self { time: EntryTime::from_local(time)?, method, target, host: None, referer, user_agent })
    }

    /// Reads the values of an entry by their keys; `None` if some are missing.
    pub fn from_json(entry: &Value) -> Option<Self> {
        let request = entry.get(REQUEST_KEY).filter(|request| request.is_object()).unwrap_or(entry);
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| request.get(*key).or_else(|| entry.get(*key)));
            found.and_then(Value::as_str).filter(|text| !text.is_empty() && *text != "-").map(str::to_owned)
        };
        let header = |name: &str| {
            let fields = request.get("headers")?.as_object()?;
            let (_, values) = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            values.get(0).unwrap_or(values).as_str().map(str::to_owned)
        };
        let line = entry.get(REQUEST_KEY).and_then(Value::as_str).and_then(request_line);
        let (method, target) = line.or_else(|| Some((text(&METHOD_KEYS)?, text(&TARGET_KEYS)?)))?;
        Some(Self {
            time: EntryTime::from_json(TIME_KEYS.iter().find_map(|key| entry.get(*key))?)?,
            method,
            target,
            host: text(&["host", "http_host", "authority", ":AUTHORITY", "server_name"]),
            referer: text(&["http_referer", "referer"]).or_else(|| header("referer")),
            user_agent: text(&["http_user_agent", "user_agent"]).or_else(|| header("user-agent")),
        })
    }
}

impl EntryTime {
    fn new(at: Duration, offset: Offset) -> Self {
        Self { at, offset, is_whole_second: at.subsec_nanos() == 0 }
    }

    /// A time in milliseconds since 1970, UTC.
    #[cfg(test)]
    pub fn from_millis(millis: u64) -> Self {
        Self::new(Duration::from_millis(millis), Offset::UTC)
    }

    /// A number since 1970, also as a text, in the unit that its size tells; or another text.
    fn from_json(value: &Value) -> Option<Self> {
        let number: f64 = match value {
            Value::Number(number) => number.as_f64()?,
            Value::String(text) => match text.parse() {
                Ok(number) => number,
                Err(_) => return Self::from_text(text),
            },
            _ => return None,
        };
        let unit = UNITS.iter().find(|(from, _)| number >= *from);
        let seconds = number / unit.map_or(1.0, |(_, per_second)| *per_second);
        Some(Self::new(Duration::try_from_secs_f64(seconds).ok()?, Offset::UTC))
    }

    /// RFC 3339, or as in the common format.
    pub fn from_text(text: &str) -> Option<Self> {
        let Ok(at) = text.parse::<Timestamp>() else { return Self::from_local(text) };
        let offset = Pieces::parse(text).ok().and_then(|pieces| pieces.to_numeric_offset());
        Some(Self::new(since_1970(at)?, offset.unwrap_or(Offset::UTC)))
    }

    fn from_local(text: &str) -> Option<Self> {
        let parsed = strtime::parse(LOCAL_TIME, text).ok()?;
        Some(Self::new(since_1970(parsed.to_timestamp().ok()?)?, parsed.offset()?))
    }
}

/// The time since 1970; `None` before.
pub fn since_1970(at: Timestamp) -> Option<Duration> {
    at.duration_since(Timestamp::UNIX_EPOCH).try_into().ok()
}

/// The method and the target of `GET /path HTTP/1.1`.
fn request_line(line: &str) -> Option<(String, String)> {
    let (method, rest) = line.split_once(' ')?;
    let (target, version) = rest.rsplit_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && version.starts_with("HTTP/")).then(|| (method.to_owned(), target.to_owned()))
}

/// The quoted parts of a line, without escapes.
struct Quoted<'l>(&'l str);

impl Iterator for Quoted<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (_, rest) = self.0.split_once('"')?;
        let mut is_escaped = false;
        let end = rest.find(|letter| {
            let is_end = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            is_end
        })?;
        self.0 = &rest[end + 1..];
        Some(unescaped(&rest[..end]))
    }
}

/// A text without the escapes of the servers (`\"`, `\\`, `\x22`). Each `\x` is a byte, of which a character has
/// several; bytes that are not UTF-8 are read as Latin-1.
pub fn unescaped(text: &str) -> String {
    let (mut plain, mut letters) = (Vec::with_capacity(text.len()), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        let (mut kept, mut byte) = (letter, None);
        if letter == '\\' {
            let Some((_, escaped)) = letters.next() else { break };
            let digits = text.get(at + 2..at + 4).filter(|_| escaped == 'x');
            (kept, byte) = (escaped, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()));
        }
        match byte {
            Some(byte) => {
                plain.push(byte);
                letters.nth(1);
            }
            None => plain.extend_from_slice(kept.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    let chunks = plain.utf8_chunks();
    let letters = |chunk: Utf8Chunk<'_>| -> String {
        chunk.valid().chars().chain(chunk.invalid().iter().copied().map(char::from)).collect()
    };
    chunks.map(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LogEntry {
        LogEntry::read(line).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn common_and_combined() {
        let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?b=1 HTTP/1.0" 200 2326"#;
        let entry = read(common);
        assert_eq!((entry.method.as_str(), entry.target.as_str()), ("GET", "/a.gif?b=1"));
        assert_eq!(
            (entry.time.at.as_secs(), entry.time.is_whole_second, entry.referer),
            (971_211_336, true, None)
        );
        let entry = read(&format!(r#"{common} "http://example.com/\x22q" "Mozilla \"x\"""#));
        assert_eq!(entry.referer.as_deref(), Some("http://example.com/\"q"));
        assert_eq!(entry.user_agent.as_deref(), Some("Mozilla \"x\""));
        assert_eq!(read(&format!(r#"{common} "-" "-""#)).user_agent, None);
        // nginx and Apache write every byte of a character that is not ASCII.
        let common = common.replace("/a.gif?b=1", r"/caf\xC3\xA9/\xe9");
        let entry = read(&format!(r#"{common} "-" "\xE2\x82\xAC""#));
        assert_eq!(
            (entry.target.as_str(), entry.user_agent.as_deref()),
            ("/caf\u{e9}/\u{e9}", Some("\u{20ac}"))
        );
    }

    #[test]
    fn json_of_nginx_caddy_and_envoy() {
        let nginx = read(
            r#"{"msec":"1700000000.250","request":"GET /n HTTP/1.1","http_host":"a","http_user_agent":"u"}"#,
        );
        assert_eq!(
            (nginx.target.as_str(), nginx.host.as_deref(), nginx.user_agent.as_deref()),
            ("/n", Some("a"), Some("u"))
        );
        assert_eq!(
            (nginx.time.at, nginx.time.is_whole_second),
            (Duration::from_millis(1_700_000_000_250), false)
        );
        let nginx = read(
            r#"{"time_iso8601":"2023-11-14T22:13:20+00:00","request_method":"POST","request_uri":"/m"}"#,
        );
        assert_eq!(
            (nginx.time.at.as_secs(), nginx.time.is_whole_second, nginx.method.as_str()),
            (1_700_000_000, true, "POST")
        );
        let caddy = read(
            r#"{"level":"info","ts":1700000000.5,"request":{"method":"GET","host":"c","uri":"/c?d","headers":{"User-Agent":["v"],"Referer":["w"]}},"status":200}"#,
        );
        assert_eq!((caddy.target.as_str(), caddy.host.as_deref()), ("/c?d", Some("c")));
        assert_eq!((caddy.user_agent.as_deref(), caddy.referer.as_deref()), (Some("v"), Some("w")));
        let envoy = read(
            r#"{"start_time":"2023-11-14T22:13:20.125Z","method":"GET","path":"/e","authority":"h","user_agent":null,"response_code":200}"#,
        );
        assert_eq!((envoy.target.as_str(), envoy.host.as_deref(), envoy.user_agent), ("/e", Some("h"), None));
        assert_eq!(envoy.time.at, Duration::from_millis(1_700_000_000_125));
    }

    #[test]
    fn the_unit_of_a_number_is_told_by_its_size() {
        let time = |number: &str| read(&format!(r#"{{"ts":{number},"method":"GET","uri":"/"}}"#)).time;
        for number in ["1700000000.5", "1700000000500", "1700000000500000", "1700000000500000000"] {
            for number in [number.to_owned(), format!("\"{number}\"")] {
                assert_eq!(time(&number).at, Duration::from_millis(1_700_000_000_500), "{number}");
            }
        }
        assert!(time("1700000000000").is_whole_second && !time("1700000000001").is_whole_second);
    }

    #[test]
    fn what_is_no_entry() {
        for line in [
            "",
            "some words",
            "{}",
            r#"{"ts":1,"method":"GET"}"#,
            r#"a [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 0"#,
            r#"a [nonsense] "GET / HTTP/1.1" 200 1"#,
            r#"a [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"#.trim_end_matches('1'),
            "{\"ts\":-1e400}",
            "a [10/Oct/2000:13:55:36 -0700] \"\\",
        ] {
            assert_eq!(LogEntry::read(line), None, "{line}");
        }
    }
}
