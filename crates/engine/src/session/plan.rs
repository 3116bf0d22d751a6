//! Defines sessions: steps in order, each a kind of request, with pauses between them and values extracted from
//! responses.
//!
//! Made from a job by `crates/run`; the protocol of sessions (`mod.rs`) executes it.

use super::cookies;
use crate::check::DecodeError;
use paceline_http::MAX_VARIABLE_BYTES;
use paceline_job::Think;
use regex::bytes::Regex;
use std::fmt;

/// The sessions of a run, at least one; a kind of request without a session is a session of one step.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Ordered by their first steps.
    pub sessions: Vec<Session>,
    /// By kind of request.
    pub steps: Vec<PlannedStep>,
    /// The number of variables.
    pub variables: usize,
    /// Whether users have cookies.
    pub takes_cookies: bool,
    /// Whether a user keeps its cookies from one session to the next.
    pub keeps_cookies: bool,
    /// Whether the sessions begin in their order, each once before any is drawn by weight.
    pub begins_with_each: bool,
}

/// One session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// Its share of the sessions, relative to the others'.
    pub weight: u32,
    /// The kind of its first step; those of the others follow.
    pub first: u16,
    /// The number of steps.
    pub count: u16,
}

/// One step of a session.
#[derive(Clone, Debug, Default)]
pub struct PlannedStep {
    /// The pause before it.
    pub think: Option<Think>,
    /// The values extracted from its response.
    pub extract: Vec<Extract>,
}

/// A value that is extracted from a response.
#[derive(Clone, Debug)]
pub struct Extract {
    /// The number of the variable.
    pub variable: usize,
    /// Its name.
    pub name: String,
    /// Its source.
    pub from: ExtractSource,
}

/// The source of a value.
#[derive(Clone, Debug)]
pub enum ExtractSource {
    /// At a pointer of a JSON body.
    Json(String),
    /// In a header field.
    Header(String),
    /// In the body, as the first group of a regular expression matches it.
    Regex(Regex),
}

/// The reason why a value could not be extracted from a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractFault {
    /// The variable.
    name: String,
    problem: ExtractProblem,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExtractProblem {
    Missing(String),
    NotJson,
    Undecodable(DecodeError),
    TooLong,
    ControlCharacter,
}

impl fmt::Display for ExtractFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the variable {:?} cannot be extracted: ", self.name)?;
        match &self.problem {
            ExtractProblem::Missing(place) => write!(f, "the response has no {place}"),
            ExtractProblem::NotJson => f.write_str("the body is not JSON"),
            ExtractProblem::Undecodable(error) => write!(f, "{error}"),
            ExtractProblem::TooLong => write!(f, "the value is longer than {MAX_VARIABLE_BYTES} bytes"),
            ExtractProblem::ControlCharacter => {
                f.write_str("the value has a line break or another control character")
            }
        }
    }
}

impl Extract {
    /// Extracts the value from a response, whose body is decoded.
    ///
    /// # Errors
    /// [`ExtractFault`] if it has none, or one that cannot be sent.
    pub fn value(&self, head: &[u8], content: Result<&[u8], &DecodeError>) -> Result<Vec<u8>, ExtractFault> {
        let fault = |problem| ExtractFault { name: self.name.clone(), problem };
        let missing = |place: String| fault(ExtractProblem::Missing(place));
        let body = || content.map_err(|error| fault(ExtractProblem::Undecodable(error.clone())));
        let value = match &self.from {
            ExtractSource::Json(pointer) => {
                let document: serde_json::Value =
                    serde_json::from_slice(body()?).map_err(|_| fault(ExtractProblem::NotJson))?;
                match document.pointer(pointer) {
                    None => return Err(missing(format!("value at {pointer:?}"))),
                    Some(serde_json::Value::String(text)) => text.clone().into_bytes(),
                    Some(other) => other.to_string().into_bytes(),
                }
            }
            ExtractSource::Header(name) => {
                cookies::field(head, name).next().ok_or_else(|| missing(format!("header {name}")))?.to_vec()
            }
            ExtractSource::Regex(regex) => {
                let found = regex.captures(body()?).ok_or_else(|| missing(format!("match of {regex}")))?;
                let group = found.get(1).or_else(|| found.get(0));
                group.map(|group| group.as_bytes().to_vec()).unwrap_or_default()
            }
        };
        if value.len() > MAX_VARIABLE_BYTES {
            return Err(fault(ExtractProblem::TooLong));
        }
        // It may be used in a header field, and must not begin another one.
        if value.iter().any(u8::is_ascii_control) {
            return Err(fault(ExtractProblem::ControlCharacter));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(from: ExtractSource) -> Result<String, String> {
        let head = b"HTTP/1.1 200 OK\r\nX-Id: 42\r\nLocation: /a\r\n\r\n";
        let body = br#"{"token": "t0", "id": 7, "bad": "a\nb"}"#;
        let extract = Extract { variable: 0, name: "v".to_owned(), from };
        let value = extract.value(head, Ok(body)).map_err(|fault| fault.to_string())?;
        Ok(String::from_utf8(value).unwrap())
    }

    #[test]
    fn values_are_extracted_from_their_sources() {
        assert_eq!(taken(ExtractSource::Json("/token".into())), Ok("t0".into()));
        assert_eq!(taken(ExtractSource::Json("/id".into())), Ok("7".into()));
        assert_eq!(taken(ExtractSource::Header("x-id".into())), Ok("42".into()));
        assert_eq!(taken(ExtractSource::Regex(Regex::new("\"id\": (\\d+)").unwrap())), Ok("7".into()));
        assert_eq!(taken(ExtractSource::Regex(Regex::new("t\\d").unwrap())), Ok("t0".into()));
    }

    #[test]
    fn a_value_that_is_missing_or_would_break_a_line_is_named() {
        let fault = |from| taken(from).unwrap_err();
        assert!(
            fault(ExtractSource::Json("/none".into())).ends_with("the response has no value at \"/none\"")
        );
        assert!(fault(ExtractSource::Header("X-None".into())).ends_with("the response has no header X-None"));
        assert!(fault(ExtractSource::Json("/bad".into())).contains("line break"));
    }
}
