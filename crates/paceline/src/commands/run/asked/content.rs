//! Bodies on the command line: the text itself, `@FILE`, or `@-` for standard input.
//!
//! Called by `mod.rs` for `--body` and `--expect-body`, and for the files of lines that placeholders name. What a
//! request file says of its bodies is read by the lab, to the same limit of length.

use crate::commands::run::inputs::Inputs;
use crate::exit::Complaint;
use std::path::Path;

/// What flags stand for. Standard input can be read for one of them.
#[derive(Default)]
pub(super) struct Contents {
    /// The flag that took standard input.
    input: Option<&'static str>,
}

impl Contents {
    /// The content of a flag's value, if it was given.
    pub(super) fn of(
        &mut self,
        flag: &'static str,
        value: Option<&str>,
        inputs: &mut Inputs,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(value) = value else { return Ok(None) };
        let read = match value.strip_prefix('@') {
            None => return Ok(Some(value.as_bytes().to_vec())),
            Some("") => Err("\"@\" names no file; write @FILE, or @- for standard input".to_owned()),
            Some("-") => match self.input.replace(flag) {
                None => inputs.read_standard_input(flag).map_err(|error| format!("standard input: {error}")),
                Some(other) => {
                    Err(format!("{other} has read standard input already; give one of them a file"))
                }
            },
            Some(path) => read(flag, Path::new(path), inputs),
        };
        read.map(Some).map_err(|why| Complaint::usage(format!("{flag} {value}: {why}")).into())
    }
}

/// The content of a file, or why there is none.
pub(super) fn read(named_by: &str, path: &Path, inputs: &mut Inputs) -> Result<Vec<u8>, String> {
    inputs.read(named_by, path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(contents: &mut Contents, value: &str) -> String {
        contents.of("--body", Some(value), &mut Inputs::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_text_is_itself_and_a_file_what_is_in_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a\0b\n").unwrap();
        let (mut contents, mut inputs) = (Contents::default(), Inputs::default());
        let mut of = |value: &str| contents.of("--body", Some(value), &mut inputs).unwrap().unwrap();
        assert_eq!(of("a@b"), b"a@b");
        assert_eq!(of(""), b"");
        assert_eq!(of(&format!("@{}", file.path().display())), b"a\0b\n");
        assert_eq!(Contents::default().of("--body", None, &mut inputs).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let mut contents = Contents { input: Some("--expect-body") };
        assert_eq!(
            told(&mut contents, "@"),
            "--body @: \"@\" names no file; write @FILE, or @- for standard input"
        );
        assert_eq!(
            told(&mut contents, "@no/such/file"),
            "--body @no/such/file: cannot read no/such/file: No such file or directory (os error 2)"
        );
        assert!(told(&mut contents, "@-").contains("--expect-body has read standard input already"));
        let endless = told(&mut contents, "@/dev/zero");
        assert!(endless.contains("more than 256 MiB"), "{endless}");
    }
}
