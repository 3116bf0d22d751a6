//! Reads a file of send times for `--schedule`: one a line, in seconds or with a unit, never falling.
//!
//! The engine gets the times as data. What is wrong is said with the number of its line.

use super::inputs::Inputs;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_job::{Nanos, Shape, Trace};
use std::path::Path;

/// The latest time, in seconds: a file of moments since 1970 is one whose first time was not subtracted.
const LATEST_S: f64 = 30.0 * 86_400.0;

/// The schedule a file tells.
pub fn trace(path: &Path, inputs: &mut Inputs) -> anyhow::Result<Shape> {
    let read = inputs.read("--schedule", path).map_err(anyhow::Error::from);
    let text = read
        .and_then(|bytes| Ok(String::from_utf8(bytes)?))
        .with_context(|| Complaint::usage(format!("cannot read the schedule {}", path.display())))?;
    match times(&text) {
        Ok(times) => Ok(Shape::Trace(Trace { file: Some(path.to_owned()), ..times.into() })),
        Err(Problem { line, what }) => {
            let place =
                line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()));
            Err(Complaint::usage(format!("{place}: {what}"))
                .hint(
                    "a schedule has one time a line, in seconds (0.25) or with a unit (250ms), never falling",
                )
                .into())
        }
    }
}

/// What is wrong with a schedule, and in which line.
#[derive(Debug, PartialEq)]
struct Problem {
    line: Option<usize>,
    what: String,
}

/// The times of a schedule. Empty lines and what follows a `#` are passed over.
fn times(text: &str) -> Result<Vec<Nanos>, Problem> {
    let mut times: Vec<Nanos> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let problem = |what| Problem { line: Some(line), what };
        let time = time(text).map_err(problem)?;
        match times.last() {
            Some(before) if *before > time => {
                return Err(problem(format!("{text} comes before {before}, the time before it")));
            }
            _ => times.push(time),
        }
    }
    if times.is_empty() {
        return Err(Problem { line: None, what: "the schedule has no time in it".to_owned() });
    }
    Ok(times)
}

/// A time: seconds where no unit says otherwise.
fn time(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("{text:?} is no time");
    let nanos = match text.parse::<f64>() {
        Ok(seconds) if seconds > LATEST_S => {
            return Err(format!(
                "{text} s is more than 30 days: times count from the beginning, subtract the first"
            ));
        }
        // A double has more digits than the nanoseconds of 30 days.
        Ok(seconds) if seconds >= 0.0 => Nanos((seconds * 1e9).round() as u64),
        Ok(_) => return Err(wrong()),
        Err(_) => super::flags::duration(text).map(Nanos::from).map_err(|_| wrong())?,
    };
    if nanos.as_secs_f64() > LATEST_S { Err(format!("{text} is more than 30 days")) } else { Ok(nanos) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::RequestFile;

    #[test]
    fn seconds_and_units() {
        let text = "# from the log of Monday\n0\n0.25\n\n300ms # a comment\r\n1e0\n1.5\n1.5\n2m\n";
        let expected = [0, 250, 300, 1_000, 1_500, 1_500, 120_000].map(Nanos::from_millis);
        assert_eq!(times(text).unwrap(), expected);
    }

    #[test]
    fn what_is_no_text_or_too_long_cannot_be_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let told = || format!("{:#}", trace(file.path(), &mut Inputs::default()).unwrap_err());
        std::fs::write(file.path(), b"0\n\xe9\n").unwrap();
        assert!(told().contains("cannot read the schedule") && told().contains("utf-8"), "{}", told());
        // A hole, which takes no room.
        file.as_file().set_len(RequestFile::BYTES_MOST + 1).unwrap();
        assert!(told().ends_with("it has more than 256 MiB"), "{}", told());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, line, what) in [
            ("0\n1\nsoon\n", Some(3), "\"soon\" is no time"),
            ("1\n\n0.5\n", Some(3), "0.5 comes before 1s, the time before it"),
            ("-1\n", Some(1), "\"-1\" is no time"),
            ("nan\n", Some(1), "\"nan\" is no time"),
            (
                "1700000000.5\n",
                Some(1),
                "1700000000.5 s is more than 30 days: times count from the beginning, subtract the first",
            ),
            ("# nothing\n", None, "the schedule has no time in it"),
        ] {
            assert_eq!(times(text), Err(Problem { line, what: what.to_owned() }), "{text:?}");
        }
    }
}
