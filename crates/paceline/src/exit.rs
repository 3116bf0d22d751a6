//! Exit codes and the one place that renders an error: the chain of causes, then a hint at the remedy.
//!
//! `main` ends with [`code_of`]. Commands attach a [`Complaint`] where they know the cause of an error; its status is
//! never derived from a message text. Results are printed by [`print()`] and messages by [`say`]: both escape control
//! sequences. A closed or full standard error changes no result. A failed write to standard output is an error, unless
//! its reader closed it.

use anyhow::Context as _;
pub use paceline_escape::error_text;
use paceline_escape::{JsonText, Printable, TerminalText};
use paceline_report::wrap;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two attempts to write to a descriptor that does not block and has no room.
const ROOM_AWAITED: Duration = Duration::from_millis(5);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Done,
    /// Done, and a check failed: an invalid run, a gate, a validation.
    Failed,
    /// Usage, manifest or plan is wrong.
    Usage,
    /// The environment: build, start, port, permission.
    Environment,
    /// A gate could neither prove nor exclude a loss: the machine was too noisy for its budget.
    Undecided,
    /// Interrupted; the results so far are kept.
    Interrupted,
}

impl Status {
    fn number(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Environment => 3,
            Status::Undecided => 4,
            Status::Interrupted => 130,
        }
    }
}

/// An error with its exit status and a hint at the remedy. Attach it anywhere in a chain with
/// [`anyhow::Context::context`]; the outermost one counts.
#[derive(Debug)]
pub struct Complaint {
    /// What happened, as text.
    pub what: String,
    /// What to do about it: the remedy as a sentence.
    pub hint: Option<String>,
    /// The exit status.
    pub status: Status,
}

impl Complaint {
    /// An error in the input: flags, a plan, a manifest.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Usage }
    }

    /// An error of the environment.
    pub fn environment(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Environment }
    }

    /// A check that failed: the server's fault.
    pub fn failed(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Failed }
    }

    /// Stopped by the user.
    pub fn interrupted(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, status: Status::Interrupted }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Complaint {}

/// Renders an error on standard error and turns the outcome of a command into an exit code.
pub fn code_of(outcome: anyhow::Result<Status>) -> ExitCode {
    ExitCode::from(number_of(outcome))
}

/// Like [`code_of`], as a number.
pub fn number_of(outcome: anyhow::Result<Status>) -> u8 {
    let status = outcome.unwrap_or_else(|error| {
        let status = status_of(&error);
        if status != Status::Done {
            render(&error);
        }
        status
    });
    status.number()
}

/// The status of an error. A broken pipe without a [`Complaint`] is a success: the reader of the output closed it
/// early. One with a [`Complaint`] occurred elsewhere, such as on a connection to a server, and has that status.
pub fn status_of(error: &anyhow::Error) -> Status {
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    };
    match error.downcast_ref::<Complaint>() {
        Some(complaint) => complaint.status,
        None if error.chain().any(broken_pipe) => Status::Done,
        None => Status::Environment,
    }
}

fn render(error: &anyhow::Error) {
    let complaint = error.downcast_ref::<Complaint>();
    let hint = complaint.and_then(|complaint| complaint.hint.as_deref());
    print_error_with(&error_text(error.as_ref()), hint, status_of(error));
}

/// Whether errors are printed as JSON: the user asked for JSON. Set once, before the command line is parsed, because its
/// errors are printed in the same form.
static JSON_ERRORS: AtomicBool = AtomicBool::new(false);

/// Prints errors as JSON from now on.
pub fn print_errors_as_json() {
    JSON_ERRORS.store(true, Ordering::Relaxed);
}

/// An error on standard error, as `docs/schema/error.schema.json` describes it.
#[derive(serde::Serialize)]
struct JsonError<'a> {
    error: &'a str,
    hint: Option<&'a str>,
    exit_status: u8,
}

/// Prints an error to standard error: what happened, then a hint at the remedy.
pub fn print_error(what: &str, hint: Option<&str>) {
    print_error_with(what, hint, Status::Usage);
}

fn print_error_with(what: &str, hint: Option<&str>, status: Status) {
    if JSON_ERRORS.load(Ordering::Relaxed) {
        let error = JsonError { error: what, hint, exit_status: status.number() };
        let line = serde_json::to_string(&error).unwrap_or_default();
        // Not eprintln, which panics when standard error is closed or full.
        let _ = io::stderr().write_all(Printable::from(JsonText::of_document(&line)).as_bytes());
        return;
    }
    let width = crate::terminal::width_of_stderr();
    say(&fitted(&format!("paceline: {what}"), "  ", width));
    if let Some(hint) = hint {
        say(&fitted(&format!("  hint: {hint}"), "        ", width));
    }
}

/// Breaks lines that are too wide for a terminal at spaces, and indents the rest. Without a terminal they stay whole,
/// so that programs can search them.
pub fn fitted(text: &str, indent: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let fit = |line: &str| {
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let (lead, words) = line.split_at(lead(line));
        let hanging = " ".repeat(lead.chars().count());
        let indent = if lead.trim().is_empty() { indent } else { &hanging };
        let lines = wrap(words, width.saturating_sub(indent.len().max(hanging.len())));
        format!("{lead}{}", lines.join(&format!("\n{indent}")))
    };
    text.lines().map(fit).collect::<Vec<_>>().join("\n")
}

/// Where the text of a line begins: after its margin, and after a label that two spaces or more separate from the text.
fn lead(line: &str) -> usize {
    let margin = line.len() - line.trim_start_matches(' ').len();
    let Some(label) = line[margin..].find("  ") else { return margin };
    let rest = &line[margin + label..];
    line.len() - rest.trim_start_matches(' ').len()
}

/// Lines of a result, broken at spaces where they are too wide for the terminal on standard output.
pub fn fitted_lines(text: &str) -> String {
    let (lines, end) = text.strip_suffix('\n').map_or((text, ""), |lines| (lines, "\n"));
    fitted(lines, "  ", crate::terminal::width_of_stdout()) + end
}

/// An error with its causes and its remedy in one line: why a part of a result is missing.
pub fn failure_text(error: &anyhow::Error) -> String {
    let hint = error.downcast_ref::<Complaint>().and_then(|complaint| complaint.hint.as_ref());
    error_text(error.as_ref()) + &hint.map_or_else(String::new, |hint| format!(": {hint}"))
}

/// Prints a document or lines to standard output, with foreign text escaped. Output closed early by its reader is not
/// an error: the status is that of the command.
pub fn print(text: impl Into<Printable>) -> anyhow::Result<()> {
    let text = text.into();
    let written = standard_output().and_then(|mut stdout| hand_over(&mut stdout, text.as_bytes()));
    written.context("cannot write to standard output")
}

/// Prints a file that this program can read again. Its syntax escapes control characters; other characters that change
/// the display are escaped only on a terminal.
pub fn print_source(text: String) -> anyhow::Result<()> {
    match io::stdout().is_terminal() {
        true => print(&text),
        false => print(Printable::generated(text)),
    }
}

/// A value as a JSON document of several lines.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<Printable> {
    Ok(JsonText::of_document(&serde_json::to_string_pretty(value)?).into())
}

/// Checks that standard output is writable, before the work starts.
pub fn check_printable() -> anyhow::Result<()> {
    standard_output().map(drop).context("cannot write to standard output")
}

/// Standard output without the standard library's wrapper, which reports success for writes to a closed stream.
fn standard_output() -> io::Result<std::fs::File> {
    crate::descriptors::duplicate(libc::STDOUT_FILENO)
}

/// Writes a whole result. A reader that closes the stream early is not an error.
pub fn hand_over(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match write_waiting(to, bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes all bytes, also to a descriptor that does not block: a program that shares it (Node.js, an event loop) may have
/// set that for all, and a full pipe or terminal is then an error of write(2), not a wait.
pub fn write_waiting(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match to.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(ROOM_AWAITED),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Prints a whole text to standard error, without breaking its lines. A failure cannot be reported anywhere.
pub fn print_to_stderr(text: &TerminalText) {
    let _ = io::stderr().write_all(text.as_str().as_bytes());
}

/// Prints a message to standard error. Errors quote files and servers, so control sequences are escaped.
pub fn say(line: &str) {
    let line = TerminalText::lines(&fitted(line, "  ", crate::terminal::width_of_stderr()));
    // Not eprintln, which panics when standard error is closed or full. A failure cannot be reported anywhere.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_on_a_terminal() {
        let text = "paceline: one two three\nshort";
        assert_eq!(fitted(text, "  ", Some(16)), "paceline: one\n  two three\nshort");
        let hint = "  hint: one two three four five";
        assert_eq!(fitted(hint, "        ", Some(24)), "  hint: one two\n        three four five");
        assert_eq!(fitted(text, "  ", None), text);
        assert_eq!(fitted_lines("\none\n"), "\none\n");
        let label = "limit   one two three four\n  warn  five six seven";
        assert_eq!(
            fitted(label, "  ", Some(18)),
            "limit   one two\n        three four\n  warn  five six\n        seven"
        );
    }

    #[test]
    fn a_cause_is_not_printed_twice() {
        let cause = anyhow::anyhow!("code 11").context("malformed: code 11").context("it is damaged");
        assert_eq!(error_text(cause.as_ref()), "it is damaged: malformed: code 11");
    }

    #[test]
    fn a_broken_pipe_is_a_success_unless_it_was_given_a_status() {
        let broken = || anyhow::Error::new(io::Error::from(ErrorKind::BrokenPipe));
        assert_eq!(status_of(&broken().context("cannot write x")), Status::Done);
        assert_eq!(status_of(&broken().context(Complaint::usage("x")).context("y")), Status::Usage);
        assert_eq!(status_of(&anyhow::anyhow!("x")), Status::Environment);
    }

    #[test]
    fn a_descriptor_that_does_not_block_gets_all() {
        use std::io::Read as _;
        let (mut reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        // More than the socket has room for.
        let bytes = vec![b'x'; 4 << 20];
        let reading = std::thread::spawn(move || {
            let mut read = Vec::new();
            reader.read_to_end(&mut read).map(|_| read)
        });
        hand_over(&mut writer, &bytes).unwrap();
        drop(writer);
        assert!(reading.join().unwrap().unwrap() == bytes);
    }

    #[test]
    fn a_closed_pipe_is_not_an_error() {
        /// Fails on every write.
        struct FailingWriter(ErrorKind);

        impl Write for FailingWriter {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        assert!(hand_over(&mut FailingWriter(ErrorKind::BrokenPipe), b"x").is_ok());
        assert!(hand_over(&mut FailingWriter(ErrorKind::StorageFull), b"x").is_err());
    }
}
