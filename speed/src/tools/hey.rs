//! hey: the lines under `Status code distribution:` and `Error distribution:`.
//!
//! For `peers`. The summary is for people: statuses and errors are lines that begin with a number in brackets, and what
//! follows tells them apart. Bars of the histogram are passed over, and its rate: time and counts say as much.

use super::{Report, number_after};
use crate::plan::Command;
use anyhow::Context as _;

/// A closed loop; hey asks for all cores it may use.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("hey", &format!("-z {seconds}s -c {connections} {{url}}"))
}

/// Reads the summary.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let mut report = Report { wall_s: Some(number_after(output, "Total:")?), ..Report::default() };
    for line in output.lines().map(str::trim) {
        let Some((label, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
            continue;
        };
        if let Some(count) = rest.trim().strip_suffix(" responses") {
            let count: u64 = count.parse().with_context(|| format!("no count in {line:?}"))?;
            let good = label.starts_with(['2', '3']);
            *(if good { &mut report.requests } else { &mut report.failures }) += count;
        } else if let (Ok(count), false) = (label.parse::<u64>(), rest.trim_start().starts_with('|')) {
            // `[12]  Get "http://...": dial tcp ...`: so many failed for that reason.
            if rest.contains(char::is_alphabetic) {
                report.failures += count;
            }
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "
Summary:
  Total:\t1.0012 secs
  Requests/sec:\t13284.6581

  Total data:\t159600 bytes

Response time histogram:
  0.000 [1]\t|
  0.003 [3863]\t|■■■■■■■■

Status code distribution:
  [200]\t13300 responses
  [503]\t12 responses

Error distribution:
  [64]\tGet \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused
";

    #[test]
    fn a_summary() {
        let report = read(SUMMARY).unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (13_300, 76, Some(1.0012)));
    }
}
