//! Reads a file of send times (`--schedule`): one per line, in seconds or with a unit, never decreasing.

use crate::{Inputs, RunError};
use paceline_job::{Nanos, Trace};
use std::path::Path;

/// The latest time, in seconds. Larger times usually count from 1970: the first time was not subtracted.
const LATEST_S: f64 = 30.0 * 86_400.0;

/// Reads the schedule in a file.
///
/// # Errors
/// [`RunError::Usage`] with the line of the problem.
pub fn read_schedule(path: &Path, inputs: &mut Inputs) -> Result<Trace, RunError> {
    let cannot = || RunError::usage(format!("cannot read the schedule {}", path.display()));
    let text = inputs.read_text("--schedule", path).map_err(|error| cannot().because(error))?;
    match times(&text) {
        Ok(times) => Ok(Trace { file: Some(path.to_owned()), ..times.into() }),
        Err(ScheduleProblem { line, what }) => {
            let place =
                line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()));
            Err(RunError::usage(format!("{place}: {what}")).hint(
                "each line must be a time in seconds (0.25) or with a unit (250ms), in ascending order",
            ))
        }
    }
}

/// A problem in a schedule, and its line.
#[derive(Debug, PartialEq)]
struct ScheduleProblem {
    line: Option<usize>,
    what: String,
}

/// The times of a schedule. Empty lines and comments (`#`) are skipped.
fn times(text: &str) -> Result<Vec<Nanos>, ScheduleProblem> {
    let mut times: Vec<Nanos> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let problem = |what| ScheduleProblem { line: Some(line), what };
        let time = time(text).map_err(problem)?;
        match times.last() {
            Some(before) if *before > time => {
                return Err(problem(format!("{text} is earlier than the previous time, {before}")));
            }
            _ => times.push(time),
        }
    }
    if times.is_empty() {
        return Err(ScheduleProblem { line: None, what: "the schedule is empty".to_owned() });
    }
    Ok(times)
}

/// Parses a time: in seconds unless it has a unit.
fn time(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("{text:?} is not a time");
    let nanos = match text.parse::<f64>() {
        Ok(seconds) if seconds > LATEST_S => {
            return Err(format!(
                "{text} s is more than 30 days: times count from the beginning of the run; if these are clock times, subtract the first one from all"
            ));
        }
        // A double is precise to the nanosecond over 30 days.
        Ok(seconds) if seconds >= 0.0 => Nanos((seconds * 1e9).round() as u64),
        Ok(_) => return Err(wrong()),
        Err(_) => paceline_job::parse_duration(text).map(Nanos::from).map_err(|_| wrong())?,
    };
    if nanos.as_secs_f64() > LATEST_S { Err(format!("{text} is more than 30 days")) } else { Ok(nanos) }
}

/// Reads any text as a schedule, for fuzzing; valid times never decrease and end within 30 days.
#[doc(hidden)]
pub fn fuzz_schedule(text: &str) {
    match times(text) {
        Ok(times) => {
            assert!(times.is_sorted() && times.iter().all(|time| time.as_secs_f64() <= LATEST_S));
            let trace = Trace::from(times);
            assert!(!format!("{trace:?}").is_empty());
        }
        Err(ScheduleProblem { line, what }) => {
            assert!(!what.is_empty() && line.is_none_or(|line| (1..=text.lines().count()).contains(&line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::MAX_BYTES;

    #[test]
    fn seconds_and_units() {
        let text = "# from the log of Monday\n0\n0.25\n\n300ms # a comment\r\n1e0\n1.5\n1.5\n2m\n";
        let expected = [0, 250, 300, 1_000, 1_500, 1_500, 120_000].map(Nanos::from_millis);
        assert_eq!(times(text).unwrap(), expected);
    }

    #[test]
    fn a_file_that_is_not_text_or_too_long_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = || format!("{:#}", read_schedule(file.path(), &mut Inputs::default()).unwrap_err());
        std::fs::write(file.path(), b"0\n\xe9\n").unwrap();
        assert!(
            error().contains("cannot read the schedule") && error().contains("UTF-8 at byte 3"),
            "{}",
            error()
        );
        // A sparse file, which uses no disk space.
        file.as_file().set_len(MAX_BYTES + 1).unwrap();
        assert!(error().ends_with("the input is larger than the maximum of 256 MiB"), "{}", error());
    }

    #[test]
    fn errors_name_their_line() {
        for (text, line, what) in [
            ("0\n1\nsoon\n", Some(3), "\"soon\" is not a time"),
            ("1\n\n0.5\n", Some(3), "0.5 is earlier than the previous time, 1s"),
            ("-1\n", Some(1), "\"-1\" is not a time"),
            ("nan\n", Some(1), "\"nan\" is not a time"),
            (
                "1700000000.5\n",
                Some(1),
                "1700000000.5 s is more than 30 days: times count from the beginning of the run; if these are clock times, subtract the first one from all",
            ),
            ("# nothing\n", None, "the schedule is empty"),
        ] {
            assert_eq!(times(text), Err(ScheduleProblem { line, what: what.to_owned() }), "{text:?}");
        }
    }
}
