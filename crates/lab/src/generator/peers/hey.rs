//! hey: the lines under `Status code distribution:` and `Error distribution:`.
//!
//! The summary is for display: statuses and errors are lines that begin with a number in brackets, and differ in the
//! text after it. The histogram's bars are skipped, and so is the rate, which follows from time and counts. It prints
//! no version, so a round does not run it.

use super::peer::{PeerGenerator, PeerReport, number_after};

/// `hey`, on all cores that it may use.
pub const HEY: PeerGenerator = PeerGenerator {
    name: "hey",
    arguments: &["-z", "{duration_s}s", "-c", "{connections}", "{url}"],
    required: None,
    version_flag: "-version",
    version_prefix: "hey ",
    timeout_ns: Some(20_000_000_000),
    prints: "its summary",
    read,
};

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let elapsed_s = number_after(text, "Total:")?;
    let (mut ok, mut bad_status, mut failed) = (0u64, 0u64, 0u64);
    for line in text.lines().map(str::trim) {
        let Some((label, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
            continue;
        };
        if let Some(count) = rest.trim().strip_suffix(" responses") {
            let is_good = label.starts_with(['2', '3']);
            let counted = if is_good { &mut ok } else { &mut bad_status };
            *counted = counted.saturating_add(count.parse().ok()?);
        } else if let (Ok(count), false) = (label.parse(), rest.trim_start().starts_with('|')) {
            // `[12]  Get "http://...": dial tcp ...`: the number of failures with that reason.
            if rest.contains(char::is_alphabetic) {
                failed = failed.saturating_add(count);
            }
        }
    }
    PeerReport::from_counts(ok, bad_status, failed, elapsed_s)
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
        let report = read(SUMMARY, 200).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (13_300, 12, 64));
        assert_eq!(report.elapsed_s, 1.0012);
    }
}
