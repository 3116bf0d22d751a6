//! Bodies on the command line: the text itself, `@FILE`, or `@-` for standard input.

use crate::exit::Complaint;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No body and no file of lines is longer: a request of which each thread has a copy. A device that never ends is
/// refused with it.
const BYTES_MOST: u64 = 256 << 20;

/// What flags stand for. Standard input can be read for one of them.
#[derive(Default)]
pub(super) struct Contents {
    /// The flag that took standard input.
    input: Option<&'static str>,
}

impl Contents {
    /// The content of a flag's value, if it was given.
    pub(super) fn of(&mut self, flag: &'static str, value: Option<&str>) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(value) = value else { return Ok(None) };
        let read = match value.strip_prefix('@') {
            None => return Ok(Some(value.as_bytes().to_vec())),
            Some("") => Err("\"@\" names no file; write @FILE, or @- for standard input".to_owned()),
            Some("-") => match self.input.replace(flag) {
                None => whole(std::io::stdin().lock()).map_err(|why| format!("standard input: {why}")),
                Some(other) => {
                    Err(format!("{other} has read standard input already; give one of them a file"))
                }
            },
            Some(path) => read(Path::new(path)),
        };
        read.map(Some).map_err(|why| Complaint::usage(format!("{flag} {value}: {why}")).into())
    }
}

/// The content of a file, or why there is none.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |why: String| format!("cannot read {}: {why}", path.display());
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    whole(file).map_err(cannot)
}

fn whole(from: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(BYTES_MOST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > BYTES_MOST {
        return Err(format!("it has more than {} MiB, and no request has that many", BYTES_MOST >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(contents: &mut Contents, value: &str) -> String {
        contents.of("--body", Some(value)).unwrap_err().to_string()
    }

    #[test]
    fn a_text_is_itself_and_a_file_what_is_in_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a\0b\n").unwrap();
        let mut contents = Contents::default();
        let mut of = |value: &str| contents.of("--body", Some(value)).unwrap().unwrap();
        assert_eq!(of("a@b"), b"a@b");
        assert_eq!(of(""), b"");
        assert_eq!(of(&format!("@{}", file.path().display())), b"a\0b\n");
        assert_eq!(Contents::default().of("--body", None).unwrap(), None);
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
