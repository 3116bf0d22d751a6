//! siege's URLs: alone, with `POST` and data, or many in a file with variables.

use paceline_http::Url;
use std::collections::BTreeMap;

/// Most bytes of a line with the values of its variables: a value may repeat earlier ones, so that it would double with
/// each line. Servers accept URLs of a few KB; data may be longer.
const MAX_LINE: usize = 1 << 20;

/// A URL with what is sent to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The URL.
    pub url: Url,
    /// The method.
    pub method: String,
    /// The data, or the name of a file with them.
    pub data: Option<Data>,
}

/// What a request sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// This text.
    Text(String),
    /// The content of this file.
    File(String),
}

/// The type of data without another one.
const FORM: &str = "application/x-www-form-urlencoded";

/// Endings of files' names, each with the type of the content and whether that is text: from siege's list (`tmap` in
/// `src/load.c` of 4.0.7) the types that requests usually have.
const FILE_TYPES: [(&str, &str, bool); 20] = [
    ("json", "application/json", false),
    ("xml", "text/xml", true),
    ("yml", "application/x-yaml", true),
    ("csv", "text/csv", true),
    ("txt", "text/plain", true),
    ("asc", "text/plain", true),
    ("html", "text/html", true),
    ("htm", "text/html", true),
    ("md", "text/x-markdown", true),
    ("js", "application/x-javascript", false),
    ("proto", "application/x-protobuf", false),
    ("bin", "application/octet-stream", false),
    ("gz", "application/x-gzip", false),
    ("zip", "application/zip", false),
    ("pdf", "application/pdf", false),
    ("png", "image/png", false),
    ("jpg", "image/jpeg", false),
    ("jpeg", "image/jpeg", false),
    ("gif", "image/gif", false),
    ("svg", "image/svg+xml", true),
];

impl Data {
    /// The type without `-T`. That of a file follows from the ending of its name.
    pub fn content_type(&self) -> &'static str {
        self.file_type().0
    }

    /// Whether siege removes white space around the content: that of a file of text. A name with an unknown ending is
    /// that of a text.
    pub fn is_trimmed(&self) -> bool {
        self.file_type().1
    }

    fn file_type(&self) -> (&'static str, bool) {
        let Self::File(file) = self else { return (FORM, false) };
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
        let known = FILE_TYPES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(ending));
        known.map_or((FORM, true), |(_, content_type, is_text)| (*content_type, *is_text))
    }
}

/// The methods that may follow a URL.
const METHODS: [&str; 6] = ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

impl Target {
    /// Reads `URL`, `URL POST data` or `URL POST <file`.
    ///
    /// # Errors
    /// The problem of the URL.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_matches('"');
        let (url, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let url = Url::parse_http(&whole).map_err(|problem| format!("{url}: {problem}"))?;
        let (word, data) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let method = METHODS.iter().find(|method| method.eq_ignore_ascii_case(word));
        let data = match (method, data.trim()) {
            (None, _) | (_, "") => None,
            (Some(_), data) => Some(
                data.strip_prefix('<')
                    .map_or_else(|| Data::Text(data.to_owned()), |file| Data::File(file.trim().to_owned())),
            ),
        };
        Ok(Self { url, method: method.map_or("GET", |method| method).to_owned(), data })
    }
}

/// Reads a file of URLs. `NAME = value` sets a variable, `$(NAME)` or `${NAME}` is its value.
///
/// # Errors
/// The problem, with its line.
pub fn parse_file(text: &str) -> Result<Vec<Target>, String> {
    let mut variables = BTreeMap::new();
    let mut targets = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at_line = |problem: String| format!("line {}: {problem}", number + 1);
        if let Some((name, value)) = assignment(line) {
            let value = replaced(value, &variables).map_err(at_line)?;
            variables.insert(name.to_owned(), value);
            continue;
        }
        let target = replaced(line, &variables).and_then(|line| Target::parse(&line));
        targets.push(target.map_err(at_line)?);
    }
    Ok(targets)
}

/// `NAME = value`: a URL has other letters before its first `=`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !name.is_empty()).then(|| (name, value.trim()))
}

/// `text` with the values of its variables; other names stay.
fn replaced(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let (mut done, mut rest, sign) = (String::new(), text, "$".to_owned());
    while let Some((before, after)) = rest.split_once('$') {
        done.push_str(before);
        let inner = match after.chars().next() {
            Some('(') => after[1..].split_once(')'),
            Some('{') => after[1..].split_once('}'),
            _ => None,
        };
        let value = inner.and_then(|(name, after)| Some((variables.get(name)?, after)));
        let (value, after) = value.unwrap_or((&sign, after));
        done.push_str(value);
        rest = after;
        if done.len() > MAX_LINE {
            return Err(format!("longer than {MAX_LINE} bytes with the values of its variables"));
        }
    }
    Ok(done + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_have_a_method_and_data() {
        let target = |text| Target::parse(text).unwrap();
        let plain = target("127.0.0.1:8080/a?b=c");
        assert_eq!((plain.url.port, plain.url.path.as_str(), plain.method.as_str()), (8080, "/a?b=c", "GET"));
        let post = target("\"http://a/b POST x=1&y=2\"");
        assert_eq!((post.method.as_str(), post.data), ("POST", Some(Data::Text("x=1&y=2".to_owned()))));
        assert_eq!(target("http://a/ put <f.json").data, Some(Data::File("f.json".to_owned())));
        assert!(Target::parse("http://").is_err());
    }

    #[test]
    fn a_file_has_variables_and_comments() {
        let text = "# all\nHOST=http://a:81\n\n$(HOST)/one\n${HOST}/two?x=1 POST q\nhttp://a:81/three?y=2\n";
        let targets = parse_file(text).unwrap();
        let paths: Vec<_> = targets.iter().map(|target| target.url.path.as_str()).collect();
        assert_eq!(paths, ["/one", "/two?x=1", "/three?y=2"]);
        assert!(parse_file("http://a/\nhttp://[\n").unwrap_err().starts_with("line 2: "));
        let kept = parse_file("A=x\nhttp://a/$B$(A)$(B)?${A}$\n").unwrap();
        assert_eq!(kept[0].url.path, "/$Bx$(B)?x$");
    }

    #[test]
    fn values_that_repeat_others_do_not_grow_without_a_limit() {
        let lines: String = (0..100).map(|n| format!("A{}=$(A{n})$(A{n})\n", n + 1)).collect();
        let problem = parse_file(&format!("A0=abcdefgh\n{lines}http://a/$(A100)\n")).unwrap_err();
        assert!(problem.starts_with("line 19: longer than"), "{problem}");
    }
}
