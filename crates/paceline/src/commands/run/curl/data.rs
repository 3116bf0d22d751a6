//! The data of curl's `-d`, `--data-binary`, `--data-raw`, `--data-urlencode` and `--json`.

use crate::commands::run::form;
use crate::exit::Complaint;
use paceline_job::Content;
use paceline_run::Inputs;
use std::io;
use std::path::Path;

/// How curl reads and encodes a piece of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is; of a file without line ends and NUL bytes.
    Lines,
    /// As it is, also of a file.
    Binary,
    /// As it is; it never names a file.
    Raw,
    /// Percent-encoded, except for a name before `=` or `@`.
    Percent,
    /// As [`Encoding::Binary`], but pieces are joined without `&`.
    Json,
}

/// One piece of a body.
#[derive(Debug)]
pub struct Data {
    pub encoding: Encoding,
    pub value: String,
}

/// The body of all pieces.
pub fn content(data: &[Data], inputs: &mut Inputs) -> Result<Option<Content>, Complaint> {
    // A single file may be binary, or standard input, and is read with the other files of the job.
    if let [Data { encoding: Encoding::Binary | Encoding::Json, value }] = data
        && let Some(file) = value.strip_prefix('@')
    {
        return Ok(Some(Content::File { file: file.into() }));
    }
    let mut body = Vec::new();
    for (place, piece) in data.iter().enumerate() {
        if place > 0 && piece.encoding != Encoding::Json {
            body.push(b'&');
        }
        piece.append(&mut body, inputs)?;
    }
    Ok((!data.is_empty()).then(|| Content::of_bytes(body)))
}

impl Data {
    fn append(&self, body: &mut Vec<u8>, inputs: &mut Inputs) -> Result<(), Complaint> {
        let value = self.value.as_str();
        let file = value.strip_prefix('@');
        match self.encoding {
            Encoding::Raw => body.extend_from_slice(value.as_bytes()),
            Encoding::Percent => self.append_encoded(body, inputs)?,
            Encoding::Lines => match file {
                Some(file) => {
                    body.extend(read(file, inputs)?.iter().filter(|byte| !b"\r\n\0".contains(byte)))
                }
                None => body.extend_from_slice(value.as_bytes()),
            },
            Encoding::Binary | Encoding::Json => match file {
                Some(file) => body.append(&mut read(file, inputs)?),
                None => body.extend_from_slice(value.as_bytes()),
            },
        }
        Ok(())
    }

    /// `content`, `=content`, `name=content`, `@file` or `name@file`.
    fn append_encoded(&self, body: &mut Vec<u8>, inputs: &mut Inputs) -> Result<(), Complaint> {
        let value = self.value.as_str();
        let (name, content) = match value.find(['=', '@']) {
            Some(at) if value[at..].starts_with('@') => (&value[..at], read(&value[at + 1..], inputs)?),
            Some(at) => (&value[..at], value.as_bytes()[at + 1..].to_vec()),
            None => ("", value.as_bytes().to_vec()),
        };
        if !name.is_empty() {
            body.extend_from_slice(name.as_bytes());
            body.push(b'=');
        }
        body.extend_from_slice(form::percent_encoded(&content, b"-._~").as_bytes());
        Ok(())
    }
}

/// The bytes of a file; `-` is standard input.
fn read(file: &str, inputs: &mut Inputs) -> Result<Vec<u8>, Complaint> {
    let bytes: io::Result<Vec<u8>> = match file {
        "-" => inputs.read_standard_input("--curl"),
        file => inputs.read("--curl", Path::new(file)),
    };
    bytes.map_err(|error| Complaint::usage(format!("--curl: cannot read {file}: {error}")))
}
