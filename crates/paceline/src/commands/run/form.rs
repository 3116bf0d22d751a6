//! Bodies of forms: `--form NAME=VALUE` (URL-encoded) and `-F NAME=VALUE|NAME=@FILE` (multipart, as curl reads it).

use crate::exit::Complaint;
use paceline_job::{Content, FormPart, Headers};
use std::path::{Path, PathBuf};

/// The separator of the parts of a multipart form; the code that reads the files checks that no file contains it.
const BOUNDARY: &str = "paceline-5f3a9c41d7e24b08";

/// A form as a body.
#[derive(Debug)]
pub struct FormBody {
    /// The flag that described it.
    pub flag: &'static str,
    pub body: Content,
    pub content_type: String,
}

/// The fields of an HTML form as a browser sends them (application/x-www-form-urlencoded of the URL standard).
pub fn url_encoded(fields: &[String]) -> Result<FormBody, Complaint> {
    let fields = fields.iter().map(|field| split("--form", field)).collect::<Result<Vec<_>, _>>()?;
    let content_type = "application/x-www-form-urlencoded".to_owned();
    Ok(FormBody { flag: "--form", body: Content::Text(encoded_fields(&fields)), content_type })
}

/// The text of a URL-encoded form.
pub fn encoded_fields(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| percent_encoded(text.as_bytes(), FORM_BYTES);
    let pairs: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    pairs.join("&")
}

/// The parts of a multipart form (RFC 7578).
pub fn multipart(parts: &[String]) -> Result<FormBody, Complaint> {
    let parts = parts.iter().map(|part| form_part(part)).collect::<Result<_, _>>()?;
    let (body, content_type) = multipart_of(parts);
    Ok(FormBody { flag: "-F", body, content_type })
}

/// A multipart form of these parts, and its type.
pub fn multipart_of(parts: Vec<FormPart>) -> (Content, String) {
    let body = Content::Multipart { boundary: BOUNDARY.to_owned(), parts };
    (body, format!("multipart/form-data; boundary={BOUNDARY}"))
}

/// Adds the boundary of a multipart form with this type to a given `Content-Type` that has none, as curl does: API
/// documentation (Swagger UI) writes `-H 'Content-Type: multipart/form-data'` beside the parts. Without a boundary no
/// server can read them.
pub fn add_boundary(headers: &mut Headers, content_type: &str) {
    let Some((_, boundary)) = content_type.split_once("; boundary=") else { return };
    for (name, value) in &mut headers.0 {
        let given = value.to_ascii_lowercase();
        let is_open = given.starts_with("multipart/") && !given.contains("boundary=");
        if is_open && name.eq_ignore_ascii_case("Content-Type") {
            *value = format!("{}; boundary={boundary}", value.trim_end_matches([' ', ';']));
        }
    }
}

/// `NAME=VALUE`, `NAME=@FILE` or `NAME=<FILE`, which sends the file as a value, optionally followed by `;type=TYPE` and
/// `;filename=NAME`, as curl reads it (`src/tool_formparse.c`). What it would cut off or send otherwise is an error,
/// except for a comma in the name of a file: no part has several files.
fn form_part(part: &str) -> Result<FormPart, Complaint> {
    const QUOTE: &str = "write a value with ; or ( in double quotes: NAME=\"VALUE\"";
    let (name, value) = split("-F", part)?;
    let wrong = |problem: String| Complaint::usage(format!("-F {part}: {problem}")).hint(QUOTE);
    if value.starts_with('(') {
        return Err(wrong("parts within a part are not supported".to_owned()));
    }
    let (is_upload, is_value) = (value.starts_with('@'), value.starts_with('<'));
    let (data, mut rest) = word(value.strip_prefix(['@', '<']).unwrap_or(value));
    let path = PathBuf::from(&data);
    let shown = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut made = FormPart {
        name: name.to_owned(),
        file_name: shown.filter(|_| is_upload),
        content_type: is_upload.then(|| type_of(&path).to_owned()),
        content: Box::new(if is_upload || is_value {
            Content::File { file: path }
        } else {
            Content::Text(data)
        }),
    };
    let mut has_type = false;
    while let Some(option) = rest.strip_prefix(';') {
        let option = option.trim_ascii_start();
        if let Some(name) = option.strip_prefix("filename=") {
            let (name, after) = word(name);
            (made.file_name, rest) = (Some(name), after);
            continue;
        }
        let (option, after) = option.split_at(option.find(';').unwrap_or(option.len()));
        let option = option.trim_ascii_end();
        let is_other = ["headers=", "encoder="].iter().any(|known| option.starts_with(known));
        let before = made.content_type.take().filter(|_| has_type);
        made.content_type = match (option.strip_prefix("type="), before) {
            (Some(kind), None) => Some(kind.trim_ascii_start().to_owned()),
            // A parameter of the type, such as charset=utf-8.
            (None, Some(kind)) if !is_other => Some(format!("{kind};{option}")),
            _ => return Err(wrong(format!("unknown option {option:?}; use ;type=TYPE or ;filename=NAME"))),
        };
        (has_type, rest) = (true, after);
    }
    match rest {
        "" => Ok(made),
        rest => Err(wrong(format!("{rest:?} follows a closing quote"))),
    }
}

/// The word that a text begins with, in double quotes or up to a semicolon, and the text after it.
fn word(text: &str) -> (String, &str) {
    let text = text.trim_ascii_start();
    text.strip_prefix('"').and_then(quoted).unwrap_or_else(|| {
        let (word, rest) = text.split_at(text.find(';').unwrap_or(text.len()));
        (word.trim_ascii_end().to_owned(), rest)
    })
}

/// The text up to a closing quote, and the text after that; `None` if no quote closes it. A backslash before a quote or
/// a backslash is left out.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((word, text[at + 1..].trim_ascii_start())),
            '\\' if text[at + 1..].starts_with(['"', '\\']) => {
                word.extend(letters.next().map(|(_, escaped)| escaped));
            }
            other => word.push(other),
        }
    }
    None
}

fn split<'f>(flag: &str, field: &'f str) -> Result<(&'f str, &'f str), Complaint> {
    field.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        Complaint::usage(format!("{flag} {field:?} does not begin with a name and \"=\""))
            .hint("write the field as NAME=VALUE")
    })
}

/// The bytes besides letters and digits that a browser does not encode in a form (the URL standard, section 1.3).
const FORM_BYTES: &[u8] = b"-._*";

/// Percent-encodes all bytes but letters, digits and `kept`; a space becomes a plus sign.
pub fn percent_encoded(bytes: &[u8], kept: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b' ' => "+".to_owned(),
        byte if byte.is_ascii_alphanumeric() || kept.contains(byte) => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    bytes.iter().map(encode).collect()
}

/// The media type of a file, from common file extensions.
fn type_of(path: &Path) -> &'static str {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        Some("json") => "application/json",
        Some("txt" | "log" | "md") => "text/plain",
        Some("csv") => "text/csv",
        Some("html" | "htm") => "text/html",
        Some("xml") => "application/xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        Some("pdf") => "application/pdf",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_a_browser_does() {
        let fields = ["user=J\u{fc}rgen M".to_owned(), "a&b=1+1=2".to_owned()];
        let form = url_encoded(&fields).unwrap();
        assert_eq!(form.body, Content::Text("user=J%C3%BCrgen+M&a%26b=1%2B1%3D2".to_owned()));
        assert!(url_encoded(&["none".to_owned()]).is_err());
    }

    #[test]
    fn a_multipart_type_that_was_given_gets_the_boundary() {
        let (_, content_type) = multipart_of(Vec::new());
        let completed = |name: &str, value: &str, form: &str| {
            let mut headers = Headers(vec![(name.to_owned(), value.to_owned())]);
            add_boundary(&mut headers, form);
            headers.0.remove(0).1
        };
        assert_eq!(completed("content-type", "multipart/form-data", &content_type), content_type);
        let mixed = completed("Content-Type", "Multipart/Mixed;", &content_type);
        assert_eq!(mixed, format!("Multipart/Mixed; boundary={BOUNDARY}"));
        for kept in ["multipart/form-data; boundary=x", "text/plain"] {
            assert_eq!(completed("Content-Type", kept, &content_type), kept);
        }
        assert_eq!(completed("Accept", "multipart/form-data", &content_type), "multipart/form-data");
        let url_encoded = url_encoded(&["a=b".to_owned()]).unwrap().content_type;
        assert_eq!(completed("Content-Type", "multipart/form-data", &url_encoded), "multipart/form-data");
    }

    #[test]
    fn parts_are_texts_and_files() {
        let part = form_part("image=@a/cat.png;filename=dog.png").unwrap();
        assert_eq!(part.file_name.as_deref(), Some("dog.png"));
        assert_eq!(part.content_type.as_deref(), Some("image/png"));
        assert_eq!(*part.content, Content::File { file: "a/cat.png".into() });
        assert_eq!(form_part("a=b=c").unwrap().content, Box::new(Content::Text("b=c".to_owned())));
        assert!(form_part("a=@b;size=3").unwrap_err().what.contains("size=3"));
    }

    #[test]
    fn values_are_read_as_curl_reads_them() {
        let text = |part: &str| {
            let FormPart { content, content_type, .. } = form_part(part).unwrap();
            (*content, content_type)
        };
        let plain = |text: &str| Content::Text(text.to_owned());
        // Postman writes each value in quotes.
        assert_eq!(text("a=\"b;c \\\"d\\\" \\e\""), (plain("b;c \"d\" \\e"), None));
        assert_eq!(text("a=say \"b\""), (plain("say \"b\""), None));
        assert_eq!(text("a=\"b"), (plain("\"b"), None));
        let kind = |kind: &str| Some(kind.to_owned());
        let json = text("a={\"b\":1};type=application/json");
        assert_eq!(json, (plain("{\"b\":1}"), kind("application/json")));
        let parameter = text("a=b; type=text/plain;charset=utf-8");
        assert_eq!(parameter, (plain("b"), kind("text/plain;charset=utf-8")));
        assert_eq!(text("a=<b c.txt"), (Content::File { file: "b c.txt".into() }, None));
        let part = form_part("a=@\"b;c.png\";filename=\"d;e\";type=a/b").unwrap();
        assert_eq!(*part.content, Content::File { file: "b;c.png".into() });
        assert_eq!((part.file_name.as_deref(), part.content_type.as_deref()), (Some("d;e"), Some("a/b")));
        assert_eq!(form_part("a=<b;filename=c").unwrap().file_name.as_deref(), Some("c"));
        for (part, problem) in [
            ("a=b;c", "unknown option \"c\""),
            ("a=(b", "parts within a part"),
            ("a=\"b\"c", "\"c\" follows a closing quote"),
            ("a=b;type=c/d;type=e/f", "unknown option \"type=e/f\""),
            ("a=@b;type=c/d;headers=@e", "unknown option \"headers=@e\""),
        ] {
            let error = form_part(part).unwrap_err();
            assert!(error.what.contains(problem), "{part}: {}", error.what);
        }
    }
}
