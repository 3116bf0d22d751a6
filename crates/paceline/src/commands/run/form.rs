//! Bodies of forms: `--form NAME=VALUE` (URL-encoded) and `-F NAME=VALUE|NAME=@FILE` (multipart, like curl).

use crate::exit::Complaint;
use paceline_job::{Content, FormPart};
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

/// `NAME=VALUE`, or `NAME=@FILE` optionally followed by `;type=TYPE` and `;filename=NAME`.
fn form_part(part: &str) -> Result<FormPart, Complaint> {
    let (name, value) = split("-F", part)?;
    let Some(file) = value.strip_prefix('@') else {
        let content = Box::new(Content::Text(value.to_owned()));
        return Ok(FormPart { name: name.to_owned(), content, file_name: None, content_type: None });
    };
    let mut words = file.split(';');
    let path = PathBuf::from(words.next().unwrap_or_default());
    let shown = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut part = FormPart {
        name: name.to_owned(),
        file_name: shown,
        content_type: Some(type_of(&path).to_owned()),
        content: Box::new(Content::File { file: path }),
    };
    for word in words {
        match word.trim().split_once('=') {
            Some(("type", kind)) => part.content_type = Some(kind.to_owned()),
            Some(("filename", name)) => part.file_name = Some(name.to_owned()),
            _ => {
                let what = format!("-F {name}=@{file}: unknown option {word:?}");
                return Err(Complaint::usage(what).hint("use ;type=image/png or ;filename=NAME"));
            }
        }
    }
    Ok(part)
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
    fn parts_are_texts_and_files() {
        let part = form_part("image=@a/cat.png;filename=dog.png").unwrap();
        assert_eq!(part.file_name.as_deref(), Some("dog.png"));
        assert_eq!(part.content_type.as_deref(), Some("image/png"));
        assert_eq!(*part.content, Content::File { file: "a/cat.png".into() });
        assert_eq!(form_part("a=b=c").unwrap().content, Box::new(Content::Text("b=c".to_owned())));
        assert!(form_part("a=@b;size=3").unwrap_err().what.contains("size=3"));
    }
}
