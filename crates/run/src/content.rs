//! Content of request bodies: text of the job, a file, or standard input.

use crate::{Inputs, RunError};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_job::{Content, FormPart};
use std::path::Path;

/// Reads the content that a job names. Standard input can be used for one body only.
#[derive(Default)]
pub(crate) struct ContentReader {
    /// The flag or key that has read standard input.
    stdin_read_by: Option<String>,
}

impl ContentReader {
    /// The bytes of a body. `named_by` is the flag or key that specifies it.
    pub(crate) fn read(
        &mut self,
        named_by: &str,
        content: &Content,
        inputs: &mut Inputs,
    ) -> Result<Vec<u8>, RunError> {
        let path = match content {
            Content::Text(text) => return Ok(text.as_bytes().to_vec()),
            Content::Multipart { boundary, parts } => {
                return self.multipart(named_by, boundary, parts, inputs);
            }
            Content::Base64 { base64 } => {
                return BASE64_STANDARD.decode(base64).map_err(|error| {
                    RunError::usage(format!("{named_by}: the body is not valid base64")).because(error)
                });
            }
            Content::File { file } => file,
        };
        let shown = path.display();
        if path.as_os_str().is_empty() {
            return Err(RunError::usage(format!("{named_by} @: the file name is missing"))
                .hint("write @FILE, or @- for standard input"));
        }
        if path == Path::new("-") {
            if let Some(other) = self.stdin_read_by.replace(named_by.to_owned()) {
                return Err(RunError::usage(format!(
                    "{named_by} @-: {other} has already read standard input"
                ))
                .hint("standard input (@-) can be used only once: use a file (@FILE) for the others"));
            }
            return inputs.read_standard_input(named_by).map_err(|error| {
                RunError::usage(format!("{named_by} @-: cannot read standard input")).because(error)
            });
        }
        read(named_by, path, inputs).map_err(|error| {
            RunError::usage(format!("{named_by} @{shown}: cannot read {shown}")).because(error)
        })
    }
}

impl ContentReader {
    /// Encodes a form from its parts (RFC 7578, RFC 2046 section 5.1.1).
    fn multipart(
        &mut self,
        named_by: &str,
        boundary: &str,
        parts: &[FormPart],
        inputs: &mut Inputs,
    ) -> Result<Vec<u8>, RunError> {
        let mut body = Vec::new();
        for part in parts {
            let content = self.read(named_by, &part.content, inputs)?;
            if memchr::memmem::find(&content, boundary.as_bytes()).is_some() {
                let what = format!("{named_by}: the part {:?} contains the boundary {boundary}", part.name);
                return Err(RunError::usage(what)
                    .hint("encode the whole form in a file, and send it with --body @FILE"));
            }
            let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
            let mut head =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
            if let Some(name) = &part.file_name {
                head += &format!("; filename=\"{}\"", quoted(name));
            }
            if let Some(kind) = &part.content_type {
                head += &format!("\r\nContent-Type: {}", quoted(kind));
            }
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(b"\r\n\r\n");
            body.extend_from_slice(&content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Ok(body)
    }
}

/// The content of a file.
pub(crate) fn read(named_by: &str, path: &Path, inputs: &mut Inputs) -> std::io::Result<Vec<u8>> {
    inputs.read(named_by, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Content {
        Content::File { file: path.into() }
    }

    fn error(contents: &mut ContentReader, content: &Content) -> String {
        contents.read("--body", content, &mut Inputs::default()).unwrap_err().to_string()
    }

    #[test]
    fn text_and_file_contents_are_read() {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), b"a\0b\n").unwrap();
        let (mut contents, mut inputs) = (ContentReader::default(), Inputs::default());
        let mut of = |content: &Content| contents.read("--body", content, &mut inputs).unwrap();
        assert_eq!(of(&Content::Text("a@b".into())), b"a@b");
        assert_eq!(of(&file(named.path().to_str().unwrap())), b"a\0b\n");
        assert_eq!(inputs.named_by(&named.path().metadata().unwrap()), Some("--body"));
    }

    #[test]
    fn unreadable_contents_are_errors() {
        let mut contents = ContentReader { stdin_read_by: Some("--expect-body".into()) };
        assert_eq!(error(&mut contents, &file("")), "--body @: the file name is missing");
        assert_eq!(
            error(&mut contents, &file("no/such/file")),
            "--body @no/such/file: cannot read no/such/file: No such file or directory (os error 2)"
        );
        assert!(error(&mut contents, &file("-")).contains("--expect-body has already read standard input"));
        assert!(error(&mut contents, &file("/dev/zero")).ends_with("a device, not a regular file"));
    }
}
