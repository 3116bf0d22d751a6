//! Content of request bodies: text of the job, a file, or standard input.

use crate::body_file::BodyFile;
use crate::body_pieces::BodyPieces;
use crate::copied_body::{CopiedBody, MAX_COPY_BYTES, copy_body};
use crate::{Inputs, MAX_BYTES, RunError};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_job::{Content, FormPart};
use std::fs::File;
use std::io;
use std::path::Path;

/// Longer files of bodies, in bytes, are read while they are sent, if they have no placeholders. Shorter ones, such as
/// the 20 MB of upload benchmarks, are sent from memory, at less cost.
pub const KEPT_FILE_BYTES: u64 = 32 << 20;
/// The longest body.
pub(crate) const MAX_BODY_BYTES: u64 = 1 << 50;
/// Why a long text is kept in memory.
const HAS_PLACEHOLDERS: &str =
    "--literal sends it unchanged: with placeholders or {{, a body is kept in memory";

/// The content of a request body.
pub(crate) enum BodyContent {
    /// These bytes.
    Kept(Vec<u8>),
    /// It is read while it is sent.
    Read(BodyPieces),
}

/// Reads the content that a job names. Standard input can be used for one body only.
pub(crate) struct ContentReader {
    /// The flag or key that has read standard input.
    stdin_read_by: Option<String>,
    /// The longest file that is not read while it is sent.
    pub kept_bytes: u64,
    /// The number of bytes of a form that may still be kept in memory: further files are read while they are sent.
    form_room: u64,
}

impl Default for ContentReader {
    fn default() -> Self {
        Self { stdin_read_by: None, kept_bytes: KEPT_FILE_BYTES, form_room: MAX_BYTES }
    }
}

impl ContentReader {
    /// The longest file that is kept in memory now.
    fn longest_kept(&self) -> u64 {
        self.kept_bytes.min(self.form_room)
    }

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
                let form = self.form(named_by, boundary, parts, Some(named_by), inputs)?;
                return form.read_all().map_err(|error| unreadable_form(named_by, error));
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
    /// The body of a request. A long one is read while it is sent, unless it is a text with placeholders. `conflict` is
    /// the setting because of which none can be.
    pub(crate) fn body(
        &mut self,
        named_by: &str,
        content: &Content,
        is_literal: bool,
        conflict: Option<&str>,
        inputs: &mut Inputs,
    ) -> Result<BodyContent, RunError> {
        match content {
            Content::File { file: path } => {
                if conflict.is_none()
                    && let Some(stream) = self.stream(named_by, path, inputs)
                {
                    return self.copied(named_by, path, stream, is_literal);
                }
                if let Some(file) = self.file(named_by, path, is_literal, conflict, inputs)? {
                    return Ok(BodyContent::Read(file));
                }
            }
            Content::Multipart { boundary, parts } => {
                let form = self.form(named_by, boundary, parts, conflict, inputs)?;
                return form_content(named_by, form, is_literal);
            }
            Content::Text(_) | Content::Base64 { .. } => {}
        }
        self.read(named_by, content, inputs).map(BodyContent::Kept)
    }

    /// What can be read only once: standard input or a pipe. None for a file, and where reading it reports why it
    /// cannot be opened.
    fn stream(&mut self, named_by: &str, path: &Path, inputs: &mut Inputs) -> Option<File> {
        if path != Path::new("-") {
            return open_pipe(path).ok().flatten();
        }
        let unread = self.stdin_read_by.is_none().then(|| inputs.standard_input_stream(named_by))?;
        let stream = unread.ok().flatten()?;
        self.stdin_read_by = Some(named_by.to_owned());
        Some(stream)
    }

    /// The body that a stream gives.
    fn copied(
        &self,
        named_by: &str,
        path: &Path,
        stream: File,
        is_literal: bool,
    ) -> Result<BodyContent, RunError> {
        let shown = format!("{named_by} @{}", path.display());
        let (file, folder) = match copy_body(&shown, stream, self.longest_kept(), MAX_COPY_BYTES)? {
            CopiedBody::Kept(bytes) => return Ok(BodyContent::Kept(bytes)),
            CopiedBody::File(file, folder) => (file, folder),
        };
        let cannot = |error: io::Error| {
            RunError::environment(format!("{shown}: cannot read its copy in {}", folder.display()))
                .because(error)
        };
        // The name of a pipe is a number.
        let name = if path == Path::new("-") { file_name(path) } else { path.display().to_string() };
        let file = BodyFile::new(name, file).map_err(cannot)?.copied_to(folder.clone());
        read_unless_template(&format!("{shown}: the file"), file.into(), is_literal, cannot)
    }

    /// The file of a body, if it is to be read while it is sent: it is long and, unless the body is literal, has no
    /// placeholders. `conflict` is the setting because of which none can be.
    pub(crate) fn file(
        &mut self,
        named_by: &str,
        path: &Path,
        is_literal: bool,
        conflict: Option<&str>,
        inputs: &mut Inputs,
    ) -> Result<Option<BodyPieces>, RunError> {
        let shown = path.display();
        let wrong = |problem: &str| RunError::usage(format!("{named_by} @{shown}: {problem}"));
        let cannot = |error: io::Error| wrong(&format!("cannot read {shown}")).because(error);
        let is_long = |about: io::Result<std::fs::Metadata>| {
            about.is_ok_and(|about| about.is_file() && about.len() > self.longest_kept())
        };
        let is_standard_input = path == Path::new("-");
        let file = if is_standard_input {
            // Where it cannot be opened in this way, reading it reports why.
            let unread = self.stdin_read_by.is_none().then(|| inputs.open_standard_input(named_by));
            unread.and_then(|file| file.ok().flatten()).filter(|file| is_long(file.metadata()))
        } else if is_long(std::fs::metadata(path)) {
            Some(inputs.open(named_by, path).map_err(cannot)?)
        } else {
            None
        };
        let Some(file) = file else { return Ok(None) };
        let file = BodyPieces::from(BodyFile::new(file_name(path), file).map_err(cannot)?);
        let is_template = conflict.is_none() && !is_literal && file.may_have_placeholder().map_err(cannot)?;
        let kept = match conflict {
            Some(conflict) => Some(format!("a larger file cannot be combined with {conflict}")),
            None => is_template.then(|| HAS_PLACEHOLDERS.to_owned()),
        };
        match kept {
            Some(reason) if file.length() > MAX_BYTES => {
                Err(too_long_to_keep(&format!("{named_by} @{shown}: the file"), reason))
            }
            Some(_) => Ok(None),
            None if file.length() > MAX_BODY_BYTES => {
                Err(wrong("the file is too large").hint("the maximum is 1 PiB"))
            }
            None => {
                if is_standard_input {
                    self.stdin_read_by = Some(named_by.to_owned());
                }
                Ok(Some(file))
            }
        }
    }

    /// Encodes a form from its parts (RFC 7578, RFC 2046 section 5.1.1). A part is kept in memory or read while it is
    /// sent, as a literal body with its content would be. All parts together are kept up to the maximum of one.
    fn form(
        &mut self,
        named_by: &str,
        boundary: &str,
        parts: &[FormPart],
        conflict: Option<&str>,
        inputs: &mut Inputs,
    ) -> Result<BodyPieces, RunError> {
        // A form may be a part of another one.
        let room = self.form_room;
        let form = self.encode_form(named_by, boundary, parts, conflict, inputs);
        self.form_room = room;
        form
    }

    /// As [`Self::form`], and uses up the room.
    fn encode_form(
        &mut self,
        named_by: &str,
        boundary: &str,
        parts: &[FormPart],
        conflict: Option<&str>,
        inputs: &mut Inputs,
    ) -> Result<BodyPieces, RunError> {
        let mut form = BodyPieces::default();
        for part in parts {
            let content = match self.body(named_by, &part.content, true, conflict, inputs)? {
                BodyContent::Kept(bytes) => BodyPieces::from(bytes),
                BodyContent::Read(pieces) => pieces,
            };
            let kept_bytes = content.kept_bytes();
            if let Some(conflict) = conflict
                && kept_bytes > self.form_room
            {
                let reason = format!("a larger form cannot be combined with {conflict}");
                return Err(too_long_to_keep(&format!("{named_by}: the form"), reason));
            }
            self.form_room = self.form_room.saturating_sub(kept_bytes);
            let has_boundary = content.contains(boundary.as_bytes()).map_err(|error| {
                RunError::usage(format!("{named_by}: cannot read the part {:?}", part.name)).because(error)
            })?;
            if has_boundary {
                let what = format!("{named_by}: the part {:?} contains the boundary {boundary}", part.name);
                return Err(RunError::usage(what)
                    .hint("encode the whole form in a file, and send it with --body @FILE"));
            }
            form.push_bytes(part_head(boundary, part).as_bytes());
            form.append(content);
            form.push_bytes(b"\r\n");
        }
        form.push_bytes(format!("--{boundary}--\r\n").as_bytes());
        Ok(form)
    }
}

/// The separator before a part of a form, and the part's fields.
fn part_head(boundary: &str, part: &FormPart) -> String {
    let on_one_line = |text: &str| text.replace('\r', "%0D").replace('\n', "%0A");
    let quoted = |text: &str| on_one_line(text).replace('"', "%22");
    let mut head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
    if let Some(name) = &part.file_name {
        head += &format!("; filename=\"{}\"", quoted(name));
    }
    if let Some(kind) = &part.content_type {
        head += &format!("\r\nContent-Type: {}", on_one_line(kind));
    }
    head + "\r\n\r\n"
}

/// The content of a form: in memory, if it has no file that is read while it is sent.
fn form_content(named_by: &str, form: BodyPieces, is_literal: bool) -> Result<BodyContent, RunError> {
    let form = match form.into_kept() {
        Ok(bytes) => return Ok(BodyContent::Kept(bytes)),
        Err(form) => form,
    };
    if form.length() > MAX_BODY_BYTES {
        let what = format!("{named_by}: the form is too large");
        return Err(RunError::usage(what).hint("the maximum is 1 PiB"));
    }
    let cannot = |error| unreadable_form(named_by, error);
    read_unless_template(&format!("{named_by}: the form"), form, is_literal, cannot)
}

/// The error for a form whose files cannot be read.
fn unreadable_form(named_by: &str, error: io::Error) -> RunError {
    RunError::usage(format!("{named_by}: cannot read the files of the form")).because(error)
}

/// A body that is read while it is sent, unless it is a text with placeholders, which is kept in memory. `shown` names
/// it in the error if it is too long for that, `cannot` is the error if it cannot be read.
fn read_unless_template(
    shown: &str,
    body: BodyPieces,
    is_literal: bool,
    cannot: impl Fn(io::Error) -> RunError,
) -> Result<BodyContent, RunError> {
    if is_literal || !body.may_have_placeholder().map_err(&cannot)? {
        return Ok(BodyContent::Read(body));
    }
    if body.length() > MAX_BYTES {
        return Err(too_long_to_keep(shown, HAS_PLACEHOLDERS));
    }
    body.read_all().map(BodyContent::Kept).map_err(cannot)
}

/// Opens a pipe that is open already, or another input that can be read only once; none for a file or a folder.
fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    let about = std::fs::metadata(path)?;
    if about.is_file() || about.is_dir() {
        return Ok(None);
    }
    paceline_files::open_input(path).map(Some)
}

/// The name of a file without its folder.
fn file_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    }
}

/// The error for what must be kept in memory, for this reason, and is too long for it.
fn too_long_to_keep(shown: &str, reason: impl Into<String>) -> RunError {
    let what = format!("{shown} is larger than the maximum of {} MiB", MAX_BYTES >> 20);
    RunError::usage(what).hint(reason)
}

/// The content of a file.
pub(crate) fn read(named_by: &str, path: &Path, inputs: &mut Inputs) -> std::io::Result<Vec<u8>> {
    inputs.read(named_by, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

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
        let mut contents =
            ContentReader { stdin_read_by: Some("--expect-body".into()), ..ContentReader::default() };
        assert_eq!(error(&mut contents, &file("")), "--body @: the file name is missing");
        assert_eq!(
            error(&mut contents, &file("no/such/file")),
            "--body @no/such/file: cannot read no/such/file: No such file or directory (os error 2)"
        );
        assert!(error(&mut contents, &file("-")).contains("--expect-body has already read standard input"));
        assert!(error(&mut contents, &file("/dev/zero")).ends_with("a device, not a regular file"));
    }

    #[test]
    fn a_long_file_is_read_while_it_is_sent_unless_it_has_placeholders() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let mut contents = ContentReader { kept_bytes: 4, ..ContentReader::default() };
        let mut length = |content: &str, is_literal, conflict| {
            std::fs::write(named.path(), content).unwrap();
            let file = contents.file("--body", named.path(), is_literal, conflict, &mut Inputs::default());
            file.map(|file| file.map(|file| file.length())).map_err(|error| error.to_string())
        };
        assert_eq!(length("abcd", false, None), Ok(None));
        assert_eq!(length("abcde", false, None), Ok(Some(5)));
        assert_eq!(length("{seq}", false, None), Ok(None), "it is kept, and changes");
        assert_eq!(length("{seq}", true, None), Ok(Some(5)));
        assert_eq!(length("abcde", false, Some("--cookies")), Ok(None));
        let mut other =
            |path: &str| contents.file("--body", Path::new(path), false, None, &mut Inputs::default());
        for path in ["no/such/file", "/dev/zero", "/", ""] {
            assert!(other(path).unwrap().is_none(), "{path}: reading it reports the error");
        }
    }

    /// The bytes of a body, and whether they are kept in memory, as those of files up to this length are.
    fn sent(
        kept_bytes: u64,
        content: &Content,
        is_literal: bool,
        conflict: Option<&str>,
    ) -> Result<(bool, Vec<u8>), String> {
        let mut contents = ContentReader { kept_bytes, ..ContentReader::default() };
        match contents.body("--body", content, is_literal, conflict, &mut Inputs::default()) {
            Ok(BodyContent::Kept(bytes)) => Ok((true, bytes)),
            Ok(BodyContent::Read(pieces)) => Ok((false, pieces.read_all().unwrap())),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A pipe with this content, and how it is named.
    fn pipe(text: &str) -> (io::PipeReader, Content) {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        let content = file(&format!("/dev/fd/{}", reader.as_raw_fd()));
        (reader, content)
    }

    /// A file with this content, and how it is named.
    fn named_file(bytes: &[u8]) -> (tempfile::NamedTempFile, Content) {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), bytes).unwrap();
        let content = file(named.path().to_str().unwrap());
        (named, content)
    }

    /// A form with these parts, whose names are numbers.
    fn form(contents: impl IntoIterator<Item = Content>) -> Content {
        let part = |(number, content): (usize, Content)| FormPart {
            name: number.to_string(),
            content: Box::new(content),
            file_name: None,
            content_type: None,
        };
        let parts = contents.into_iter().enumerate().map(part).collect();
        Content::Multipart { boundary: "limit".to_owned(), parts }
    }

    /// The bytes of such a form.
    fn form_bytes(contents: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, content) in contents.iter().enumerate() {
            let head = format!("--limit\r\nContent-Disposition: form-data; name=\"{number}\"\r\n\r\n");
            bytes.extend([head.as_bytes(), *content, b"\r\n"].concat());
        }
        bytes.extend_from_slice(b"--limit--\r\n");
        bytes
    }

    #[test]
    fn quotes_are_encoded_in_names_and_kept_in_types() {
        let part = FormPart {
            name: "a\"b".to_owned(),
            content: Box::new(Content::Text(String::new())),
            file_name: Some("c\r\nd".to_owned()),
            content_type: Some("a/b; c=\"d\"\n".to_owned()),
        };
        let fields = "form-data; name=\"a%22b\"; filename=\"c%0D%0Ad\"\r\nContent-Type: a/b; c=\"d\"%0A";
        assert_eq!(part_head("limit", &part), format!("--limit\r\nContent-Disposition: {fields}\r\n\r\n"));
    }

    #[test]
    fn a_pipe_is_copied_unless_it_is_short_or_has_placeholders() {
        for (text, is_literal, conflict, is_kept) in [
            ("", false, None, true),
            ("abcd", false, None, true),
            ("abcde", false, None, false),
            ("a {seq}", false, None, true),
            ("a {seq}", true, None, false),
            ("abcde", false, Some("--cookies"), true),
        ] {
            let (_reader, content) = pipe(text);
            let found = sent(4, &content, is_literal, conflict).unwrap();
            assert_eq!(found, (is_kept, text.as_bytes().to_vec()), "{text:?} {is_literal} {conflict:?}");
        }
    }

    #[test]
    fn a_form_has_the_same_bytes_in_memory_and_from_files() {
        let (short_bytes, long_bytes) = (b"\0 {seq} \xff", b"12345".repeat(20_000));
        let (_short, short) = named_file(short_bytes);
        let (_long, long) = named_file(&long_bytes);
        let (_empty, empty) = named_file(b"");
        let bytes = Content::Base64 { base64: "AP8=".to_owned() };
        let text = Content::Text("a text".to_owned());
        let files = form([text, short.clone(), empty, long.clone(), bytes, short, long]);
        let expected: [&[u8]; 7] =
            [b"a text", short_bytes, b"", &long_bytes, b"\0\xff", short_bytes, &long_bytes];
        let expected = form_bytes(&expected);
        for (kept_bytes, conflict, is_kept) in [
            (100_000, None, true),
            (99_999, None, false),
            (4, None, false),
            (0, None, false),
            (4, Some("--cookies"), true),
        ] {
            let found = sent(kept_bytes, &files, false, conflict);
            assert!(found == Ok((is_kept, expected.clone())), "{kept_bytes} {conflict:?}");
        }
        let nested = sent(4, &form([form([])]), false, None).unwrap_err();
        assert!(nested.contains("the part \"0\" contains the boundary limit"), "{nested}");
    }

    #[test]
    fn the_parts_of_a_form_are_kept_up_to_a_sum() {
        let (_file, content) = named_file(b"12345");
        let expected = form_bytes(&[&b"12345"[..]; 4]);
        for (form_room, conflict, files) in
            [(20, None, 0), (19, None, 1), (9, None, 3), (4, None, 4), (20, Some("--cookies"), 0)]
        {
            let mut contents = ContentReader { kept_bytes: 5, form_room, ..ContentReader::default() };
            let form = form(vec![content.clone(); 4]);
            // Each form has all of the room.
            for _ in 0..2 {
                let body = contents.body("--body", &form, false, conflict, &mut Inputs::default()).unwrap();
                let (read_files, bytes) = match body {
                    BodyContent::Kept(bytes) => (0, bytes),
                    BodyContent::Read(pieces) => (pieces.files().count(), pieces.read_all().unwrap()),
                };
                assert_eq!((read_files, &bytes), (files, &expected), "{form_room}");
            }
        }
        let mut contents = ContentReader { form_room: 19, ..ContentReader::default() };
        let form = form(vec![content; 4]);
        let body = contents.body("--body", &form, false, Some("--cookies"), &mut Inputs::default());
        let Err(RunError::Usage(problem)) = body else { panic!("it is kept") };
        assert_eq!(problem.hint.as_deref(), Some("a larger form cannot be combined with --cookies"));
    }

    #[test]
    fn a_pipe_is_a_part_of_a_form() {
        for (text, conflict, is_kept) in
            [("abcd", None, true), ("abcde", None, false), ("abcde", Some("--cookies"), true)]
        {
            let (_reader, content) = pipe(text);
            let found = sent(4, &form([content]), false, conflict).unwrap();
            assert_eq!(found, (is_kept, form_bytes(&[text.as_bytes()])), "{text} {conflict:?}");
        }
    }

    #[test]
    fn a_form_of_texts_with_placeholders_is_kept() {
        let (_file, template) = named_file(b"a {seq}");
        let (_other, bytes) = named_file(b"not text: \xff");
        let (_plain, plain) = named_file(b"a text");
        let field = Content::Text("{seq}".to_owned());
        let is_kept = |parts: &[&Content], is_literal| {
            let parts = parts.iter().map(|content| (*content).clone());
            sent(4, &form(parts), is_literal, None).map(|(is_kept, _)| is_kept)
        };
        assert_eq!(is_kept(&[&template, &plain], false), Ok(true));
        assert_eq!(is_kept(&[&plain, &field], false), Ok(true), "a short text has one");
        assert_eq!(is_kept(&[&template, &plain], true), Ok(false));
        assert_eq!(is_kept(&[&plain, &plain], false), Ok(false));
        assert_eq!(is_kept(&[&template, &bytes, &field], false), Ok(false), "the form is not text");
    }

    #[test]
    fn parts_that_cannot_be_sent_are_errors() {
        let (_file, content) = named_file(b"a limit of a form");
        for kept_bytes in [4, 100] {
            let error = |content: Content| sent(kept_bytes, &form([content]), false, None).unwrap_err();
            assert_eq!(
                error(file("no/such/file")),
                "--body @no/such/file: cannot read no/such/file: No such file or directory (os error 2)"
            );
            assert_eq!(error(file("")), "--body @: the file name is missing");
            assert!(error(file("/dev/zero")).ends_with("a device, not a regular file"));
            assert_eq!(error(content.clone()), "--body: the part \"0\" contains the boundary limit");
        }
        let long = tempfile::NamedTempFile::new().unwrap();
        long.as_file().set_len(MAX_BYTES + 1).unwrap();
        let long = form([file(long.path().to_str().unwrap())]);
        let error = sent(KEPT_FILE_BYTES, &long, false, Some("--cookies")).unwrap_err();
        assert!(error.ends_with("the file is larger than the maximum of 256 MiB"), "{error}");
    }

    #[test]
    fn a_file_that_is_too_long_to_be_kept_is_explained() {
        let named = tempfile::NamedTempFile::new().unwrap();
        named.as_file().set_len(MAX_BYTES + 1).unwrap();
        let mut contents = ContentReader::default();
        let mut file =
            |conflict| contents.file("--body", named.path(), true, conflict, &mut Inputs::default());
        let error = file(Some("--cookies")).unwrap_err();
        let RunError::Usage(problem) = &error else { panic!("{error}") };
        assert!(problem.what.ends_with("the file is larger than the maximum of 256 MiB"), "{error}");
        assert_eq!(problem.hint.as_deref(), Some("a larger file cannot be combined with --cookies"));
        assert_eq!(file(None).unwrap().unwrap().length(), MAX_BYTES + 1);
    }
}
