//! The form of a log's lines, as in nginx's `log_format`: text with variables such as `$request`.

use super::entry::{LogEntry, METHOD_KEYS, REQUEST_KEY, TARGET_KEYS, TIME_KEYS, unescaped};
use serde_json::{Map, Value};

/// The form of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// The text before the first variable.
    before: String,
    /// Each variable, and the text that ends its value; empty for the last one if it has the rest of the line.
    variables: Vec<(String, String)>,
}

impl LogFormat {
    /// Parses a format.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(format: &str) -> Result<Self, String> {
        let (before, mut rest) = format.split_once('$').ok_or("it has no variables, such as $request")?;
        let mut variables: Vec<(String, String)> = Vec::new();
        loop {
            let (name, after) = variable(rest)?;
            let (text, next) = after.split_once('$').map_or((after, None), |(text, next)| (text, Some(next)));
            if text.is_empty() && next.is_some() {
                return Err(format!("after ${name} comes another variable: where it ends cannot be known"));
            }
            variables.push((name.to_owned(), text.to_owned()));
            let Some(next) = next else { break };
            rest = next;
        }
        let format = Self { before: before.to_owned(), variables };
        let has = |keys: &[&str]| keys.iter().any(|key| format.variables.iter().any(|(name, _)| name == key));
        if !has(&TIME_KEYS) {
            return Err("it has no time: $time_local, $time_iso8601 or $msec".to_owned());
        }
        let has_parts = has(&METHOD_KEYS) && has(&TARGET_KEYS);
        if !has_parts && !has(&[REQUEST_KEY]) {
            return Err("it has no request: $request, or $request_method and $request_uri".to_owned());
        }
        Ok(format)
    }

    /// Reads a line; `None` if it has another form.
    pub fn read(&self, line: &str) -> Option<LogEntry> {
        LogEntry::from_json(&self.values(line.trim())?)
    }

    /// The values of a line, by the names of the variables.
    fn values(&self, line: &str) -> Option<Value> {
        let mut rest = line.strip_prefix(self.before.as_str())?;
        let mut values = Map::new();
        for (name, end) in &self.variables {
            let (value, after) = if end.is_empty() { (rest, "") } else { rest.split_once(end.as_str())? };
            values.insert(name.clone(), Value::String(unescaped(value)));
            rest = after;
        }
        rest.is_empty().then_some(Value::Object(values))
    }
}

/// The name of a variable, `name` or `{name}`, and the text after it.
fn variable(text: &str) -> Result<(&str, &str), String> {
    let (name, after) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or("a `{` has no `}`")?,
        None => {
            text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()))
        }
    };
    match name.is_empty() {
        true => Err("a `$` has no name after it".to_owned()),
        false => Ok((name, after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_by_its_format() {
        let format = LogFormat::parse(
            "$remote_addr [$time_local] ${request_time}s \"$request\" \"$http_user_agent\" $host",
        );
        let read = |line: &str| format.as_ref().unwrap().read(line);
        let line = r#"10.0.0.1 [10/Oct/2000:13:55:36 -0700] 0.010s "GET /a?b HTTP/1.1" "an \x22agent\x22" example.org"#;
        let entry = read(line).unwrap();
        assert_eq!((entry.method.as_str(), entry.target.as_str()), ("GET", "/a?b"));
        assert_eq!(entry.user_agent.as_deref(), Some("an \"agent\""));
        assert_eq!((entry.host.as_deref(), entry.time.at.as_secs()), (Some("example.org"), 971_211_336));
        for other in ["", "10.0.0.1", &line.replace("0.010s", "0.010"), &line.replace("GET ", "")] {
            assert_eq!(read(other), None, "{other}");
        }
        let parts = LogFormat::parse("$msec $request_method $request_uri").unwrap();
        let entry = parts.read("1700000000.250 POST /n").unwrap();
        assert_eq!((entry.method.as_str(), entry.target.as_str()), ("POST", "/n"));
        assert!(parts.read("1700000000.250 POST").is_none());
    }

    #[test]
    fn other_formats_are_explained() {
        for (format, why) in [
            ("", "no variables"),
            ("$msec $", "no name after it"),
            ("${msec $request", "no `}`"),
            ("$msec$request", "after $msec comes another variable"),
            ("$request $status", "no time"),
            ("$msec $request_method", "no request"),
        ] {
            let problem = LogFormat::parse(format).unwrap_err();
            assert!(problem.contains(why), "{format}: {problem}");
        }
    }
}
