//! The requests of a job and the expected responses.

use crate::{JsonForm, StreamSpec, Think};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_http::{GrpcCode, generated_length};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Parts of the names of header fields whose value allows a reader to act as another user: `X-Api-Key`, `X-Auth-Token`.
const SECRET_PARTS: [&str; 7] =
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey"];
/// The replacement for a secret value.
pub const MASKED: &str = "***";

/// One kind of request: its content, its weight, and the expected response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSpec {
    /// The name in records; the path if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it is sent, relative to the other requests.
    pub weight: u32,
    /// The method, such as `GET`.
    pub method: String,
    /// The path with its query; that of the job's URL if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Header fields to send, in order.
    #[serde(skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The body that is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Content>,
    /// The size of the chunks in which the body is sent, in bytes; if missing, it is sent with its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<NonZeroU32>,
    /// Whether the body waits for 100 Continue.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expect_continue: bool,
    /// Where the files of `{line:FILE}` are; the working directory if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Names of fields that are otherwise sent by default, and are left out: `User-Agent`, `Accept`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
    /// Whether path, headers and body are sent as they are, without placeholders.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// The status that every response must have; any 2xx if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// The status of gRPC that every call must end with, such as `NOT_FOUND`; `OK` if missing.
    #[serde(skip_serializing_if = "Option::is_none", with = "grpc_code")]
    #[schemars(with = "Option<String>")]
    pub expect_grpc_status: Option<GrpcCode>,
    /// The expected body; for a call of gRPC, the expected message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_body: Option<BodyExpectation>,
    /// How the response is read as a stream of events; as a whole if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamSpec>,
    /// The session that contains this request as a step: the requests of a session are consecutive, and one user sends
    /// them in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// In a session: pause between the response to the previous step and this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// In a session: values of the response that later steps use as `{var:NAME}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extract: Vec<Extraction>,
}

/// A value that is extracted from a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// Name of the value, for `{var:NAME}`.
    pub name: String,
    /// The place of the value in the response.
    pub from: ExtractFrom,
}

/// A place of a value in a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractFrom {
    /// The value at this pointer (RFC 6901) of a JSON body.
    Json(String),
    /// The value of this header field.
    Header(String),
    /// The text in the body that the first group of this regular expression matches; the whole match if it has no
    /// group.
    Regex(String),
}

impl Default for RequestSpec {
    /// A GET of the job's URL.
    fn default() -> Self {
        Self {
            name: None,
            weight: 1,
            method: "GET".to_owned(),
            path: None,
            headers: Headers::default(),
            body: None,
            chunk_bytes: None,
            expect_continue: false,
            folder: None,
            omit: Vec::new(),
            literal: false,
            expect_status: None,
            expect_grpc_status: None,
            expect_body: None,
            stream: None,
            session: None,
            think: None,
            extract: Vec::new(),
        }
    }
}

impl RequestSpec {
    /// The name in records and messages.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().or(self.path.as_deref()).unwrap_or("/")
    }

    /// The length of the body if it is generated: `{bytes:SIZE}` stands for one.
    ///
    /// # Errors
    /// The size, if it is not one.
    pub fn generated_body(&self) -> Result<Option<u64>, String> {
        match &self.body {
            Some(Content::Text(text)) if !self.literal => generated_length(text),
            _ => Ok(None),
        }
    }
}

/// Bytes: given as text, or the content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Content {
    /// Text.
    Text(String),
    /// The content of a file.
    File {
        /// The path of the file; `-` is standard input.
        file: PathBuf,
    },
    /// Bytes that are not text.
    Base64 {
        /// The bytes in base64 (RFC 4648 section 4).
        base64: String,
    },
    /// The parts of a form (RFC 7578).
    Multipart {
        /// The separator between the parts; it must not occur in a part.
        boundary: String,
        /// The parts, in order.
        parts: Vec<FormPart>,
    },
}

impl Content {
    /// These bytes: as text, if they are UTF-8.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(error) => Content::Base64 { base64: BASE64_STANDARD.encode(error.as_bytes()) },
        }
    }
}

/// One part of a form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormPart {
    /// The name of the field.
    pub name: String,
    /// Its content: a text or a file.
    pub content: Box<Content>,
    /// The file name that is sent to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// The media type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// The check of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BodyExpectation {
    /// The body must be these bytes.
    Exact(Content),
    /// The body must have this SHA-256, in hexadecimal.
    Sha256(
        #[serde(with = "hexadecimal")]
        #[schemars(with = "String")]
        [u8; 32],
    ),
    /// The body must be JSON with these values.
    Json(Vec<ExpectedValue>),
    /// The body must be JSON of this form.
    JsonForm(JsonForm),
}

/// A value that a JSON body must contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedValue {
    /// Where the value is: a JSON pointer (RFC 6901); empty for the whole document.
    pub pointer: String,
    /// The expected value.
    pub value: serde_json::Value,
}

/// Why a pointer, or the text that contains it, is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// No equals sign.
    #[error("{0:?} has no \"=\"; write POINTER=VALUE, such as /message=hello or /items/0/id=5")]
    NoValue(String),
    /// It does not begin with a slash (RFC 6901 §3).
    #[error("JSON pointer {0:?} does not begin with \"/\"; write {nearest:?}", nearest = format!("/{}", .0))]
    NoSlash(String),
    /// A tilde that is not part of an escape (RFC 6901 §3).
    #[error("JSON pointer {0:?}: write \"~\" as ~0, and a \"/\" in a name as ~1")]
    Tilde(String),
}

/// Checks a JSON pointer (RFC 6901).
///
/// # Errors
/// [`PointerError`] if it is invalid.
pub fn check_pointer(pointer: &str) -> Result<(), PointerError> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(PointerError::NoSlash(pointer.into()));
    }
    if pointer.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        return Err(PointerError::Tilde(pointer.into()));
    }
    Ok(())
}

impl ExpectedValue {
    /// Expects `value` at `pointer`.
    ///
    /// # Errors
    /// [`PointerError`] if `pointer` is invalid.
    pub fn new(pointer: &str, value: serde_json::Value) -> Result<Self, PointerError> {
        check_pointer(pointer)?;
        Ok(Self { pointer: pointer.into(), value })
    }

    /// Parses `POINTER=VALUE`, split at the first equals sign. The value is JSON, or a string if it is not valid JSON.
    ///
    /// # Errors
    /// [`PointerError`] if there is no equals sign, or no pointer before it.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let (pointer, value) = text.split_once('=').ok_or_else(|| PointerError::NoValue(text.into()))?;
        Self::new(pointer, serde_json::from_str(value).unwrap_or_else(|_| value.into()))
    }
}

/// Header fields in the given order. A name may occur more than once.
///
/// In a file: a list of `"Name: value"`, or a table of names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first value of a field; the case of its name is ignored.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Adds a field unless one with this name exists.
    pub fn set_default(&mut self, name: &str, value: impl Into<String>) {
        if self.get(name).is_none() {
            self.0.push((name.to_owned(), value.into()));
        }
    }

    /// The fields with secret values replaced.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mask = |(name, value): &(String, String)| {
            let hides = is_secret(name) && !is_placeholder(value);
            let shown = if hides { MASKED.to_owned() } else { value.clone() };
            (name.clone(), shown)
        };
        Self(self.0.iter().map(mask).collect())
    }

    /// Parses `Name: value`; `None` if there is no colon. Spaces before the colon are kept: no valid name has one, and
    /// a server could read it as another field (RFC 9112 §5.1).
    pub fn parse(field: &str) -> Option<(String, String)> {
        let (name, value) = field.split_once(':')?;
        Some((name.trim_start().to_owned(), value.trim().to_owned()))
    }
}

/// Whether the value of a header field is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Whether a value is one placeholder, after a scheme or a name: `Bearer {var:token}`, `id={var:id}`.
fn is_placeholder(value: &str) -> bool {
    let Some((before, rest)) = value.split_once('{') else { return false };
    let is_word = |word: &str| !word.contains([' ', '=', ';']);
    let leads = before.is_empty() || before.strip_suffix([' ', '=']).is_some_and(is_word);
    leads && rest.contains(':') && rest.find('}') == Some(rest.len() - 1)
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| format!("{name}: {value}")))
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeadersVisitor)
    }
}

struct HeadersVisitor;

impl<'de> de::Visitor<'de> for HeadersVisitor {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of \"Name: value\", or a table of names and values")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut fields: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some(field) = fields.next_element::<String>()? {
            let wrong =
                || de::Error::custom(format_args!("{field:?} is not a header field; write \"Name: value\""));
            headers.push(Headers::parse(&field).ok_or_else(wrong)?);
        }
        Ok(Headers(headers))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut fields: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some(field) = fields.next_entry()? {
            headers.push(field);
        }
        Ok(Headers(headers))
    }
}

impl JsonSchema for Headers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Headers".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<String>::json_schema(generator)
    }
}

/// A status of gRPC by its name; numbers are also read.
mod grpc_code {
    use paceline_http::GrpcCode;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(
        code: &Option<GrpcCode>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match code {
            Some(code) => serializer.serialize_str(code.name()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<GrpcCode>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let unknown =
            || de::Error::custom(format_args!("{text:?} is not a status of gRPC, such as NOT_FOUND"));
        GrpcCode::parse(&text).map(Some).ok_or_else(unknown)
    }
}

/// A SHA-256 as 64 hexadecimal digits.
pub mod hexadecimal {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    /// Serializes the digits.
    pub fn serialize<S: Serializer>(digest: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format(digest))
    }

    /// Deserializes the digits.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| de::Error::custom("a SHA-256 has 64 hexadecimal digits"))
    }

    /// Formats bytes as digits.
    pub fn format(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Parses a digest; `None` if the text is not 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<[u8; 32]> {
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
        let bytes: Vec<u8> =
            digits?.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum * 16 + digit)).collect();
        if text.len() == 64 { bytes.try_into().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn headers_are_read_from_a_list_or_a_table_and_masked() {
        let list: Headers =
            serde_json::from_value(json!(["Accept: */*", "cookie: a=b", "X: 1", "X: 2"])).unwrap();
        let table: Headers = serde_json::from_value(json!({ "Accept": "*/*" })).unwrap();
        assert_eq!((list.get("accept"), table.get("ACCEPT")), (Some("*/*"), Some("*/*")));
        let masked = serde_json::to_value(list.masked()).unwrap();
        assert_eq!(masked, json!(["Accept: */*", "cookie: ***", "X: 1", "X: 2"]));
        assert!(serde_json::from_value::<Headers>(json!(["no colon"])).is_err());
    }

    #[test]
    fn placeholders_are_no_secrets() {
        for (value, is_masked) in [
            ("Bearer {var:token}", false),
            ("{line:keys.txt}", false),
            ("id={var:id}", false),
            ("Bearer abc", true),
            ("Bearer abc {var:token}", true),
            ("sk-123{var:rest}", true),
            ("a=secret; id={var:id}", true),
            ("{var:token}abc", true),
        ] {
            let masked = Headers(vec![("X-Api-Key".to_owned(), value.to_owned())]).masked();
            assert_eq!(masked.get("X-Api-Key") == Some(MASKED), is_masked, "{value}");
        }
    }

    #[test]
    fn a_value_is_json_or_a_string() {
        for (text, pointer, value) in [
            ("/a=1", "/a", json!(1)),
            ("/a=one", "/a", json!("one")),
            ("/a=\"1\"", "/a", json!("1")),
            ("/a=", "/a", json!("")),
            ("/a=b=c", "/a", json!("b=c")),
            ("/a={\"b\": [null]}", "/a", json!({ "b": [null] })),
            ("=true", "", json!(true)),
        ] {
            let check = ExpectedValue::parse(text).unwrap();
            assert_eq!((check.pointer.as_str(), &check.value), (pointer, &value), "{text}");
        }
    }

    #[test]
    fn invalid_pointers_are_explained() {
        let error = |text| ExpectedValue::parse(text).unwrap_err().to_string();
        assert_eq!(error("a=1"), "JSON pointer \"a\" does not begin with \"/\"; write \"/a\"");
        assert_eq!(error("/a~2=1"), "JSON pointer \"/a~2\": write \"~\" as ~0, and a \"/\" in a name as ~1");
        assert!(error("/a").starts_with("\"/a\" has no \"=\"; write POINTER=VALUE"));
    }

    #[test]
    fn a_digest_has_64_digits() {
        let digits = "00fF".repeat(16);
        let digest = hexadecimal::parse(&digits).unwrap();
        assert_eq!(hexadecimal::format(&digest), digits.to_lowercase());
        for wrong in
            ["", &digits[1..], &format!("{digits}0"), &digits.replace('f', "g"), &"\u{e9}".repeat(32)]
        {
            assert_eq!(hexadecimal::parse(wrong), None, "{wrong:?}");
        }
    }
}
