//! Reads what `perf trace -s` prints: messages, then a table of system calls for each thread.
//!
//! ```text
//!  Summary of events:
//!
//!  server (21284), 6 events, 85.7%
//!
//!    syscall            calls  errors  total       min       avg       max       stddev
//!                                      (msec)    (msec)    (msec)    (msec)        (%)
//!    --------------- --------  ------ -------- --------- --------- ---------     ------
//!    close                  2      0     0.021     0.008     0.010     0.013     24.96%
//! ```
//!
//! Names of threads come from the programs that are traced and may contain anything. A line that is not understood is
//! skipped.

use std::collections::BTreeMap;

/// The system calls of all threads.
#[derive(Debug, Default)]
pub(crate) struct TraceSummary {
    /// Whether there is a summary: perf prints one when it has counted.
    pub is_there: bool,
    /// Whether there is a table, whatever its rows are.
    pub has_table: bool,
    /// Events that perf lost.
    pub lost_events: u64,
    /// The calls by name.
    pub calls: BTreeMap<String, CallCount>,
}

/// The calls of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallCount {
    pub calls: u64,
    /// Those that returned an error.
    pub errors: u64,
    /// Time between the starts and the ends of these calls, in milliseconds.
    pub time_ms: f64,
}

impl TraceSummary {
    /// Adds the tables up.
    pub(crate) fn from_text(text: &str) -> Self {
        let mut summary = Self::default();
        let mut is_in_table = false;
        for line in text.lines() {
            match row(line).filter(|_| is_in_table) {
                Some((name, count)) => summary.add(name, count),
                None => is_in_table = line.trim_start().starts_with("---"),
            }
            summary.has_table |= is_in_table;
            summary.is_there |= line.trim() == "Summary of events:";
            if !summary.is_there {
                summary.lost_events = summary.lost_events.saturating_add(lost_events(line).unwrap_or(0));
            }
        }
        summary
    }

    fn add(&mut self, name: &str, count: CallCount) {
        let sum = self.calls.entry(name.to_owned()).or_default();
        sum.calls = sum.calls.saturating_add(count.calls);
        sum.errors = sum.errors.saturating_add(count.errors);
        sum.time_ms += count.time_ms;
    }
}

/// A row of a table: the name, the calls, the errors, the time of all, and four figures of the time of one.
fn row(line: &str) -> Option<(&str, CallCount)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, calls, errors, total, _, _, _, spread] = fields[..] else { return None };
    let time_ms = total.parse().ok().filter(|total: &f64| total.is_finite() && *total >= 0.0)?;
    let count = CallCount { calls: calls.parse().ok()?, errors: errors.parse().ok()?, time_ms };
    spread.ends_with('%').then_some((name, count))
}

/// The number in `LOST 12 events!`, which may be coloured.
fn lost_events(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("LOST ")?;
    let (number, rest) = rest.split_once(' ')?;
    number.parse().ok().filter(|_| rest.starts_with("events"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
LOST 7 events!
\u{1b}[31mLOST 5 events!
\u{1b}[m
 Summary of events:

 server (21284), 612 events, 85.7%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   epoll_wait           100      0  2000.000     0.008    20.000    30.013     24.96%
   read                 200    100     2.500     0.008     0.010     0.013     24.96%


 LOST 9 events! (21285), 6 events, 14.3%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   read                  50      1     0.500     0.008     0.010     0.013      0.00%

   write                  9      0     0.021     0.008     0.010     0.013     24.96%
";

    #[test]
    fn the_tables_of_all_threads_are_added_up() {
        let summary = TraceSummary::from_text(SUMMARY);
        assert!(summary.is_there);
        assert_eq!(summary.calls.keys().collect::<Vec<_>>(), ["epoll_wait", "read"], "rows of tables only");
        assert_eq!(summary.calls["read"], CallCount { calls: 250, errors: 101, time_ms: 3.0 });
    }

    #[test]
    fn lost_events_are_those_of_messages_and_not_of_a_threads_name() {
        assert_eq!(TraceSummary::from_text(SUMMARY).lost_events, 12);
        let twice = format!("LOST {0} events!\nLOST {0} events!\n", u64::MAX);
        assert_eq!(TraceSummary::from_text(&twice).lost_events, u64::MAX);
    }

    #[test]
    fn a_failure_is_no_summary_and_an_idle_server_has_an_empty_one() {
        let failed = TraceSummary::from_text("Error:\tNo permissions to read /sys/kernel/tracing\n");
        assert!(!failed.is_there && failed.calls.is_empty());
        let idle = TraceSummary::from_text("\n Summary of events:\n\n");
        assert!(idle.is_there && !idle.has_table && idle.calls.is_empty());
    }

    #[test]
    fn the_table_of_perf_before_linux_5_5_is_not_understood() {
        let older = TraceSummary::from_text(
            "\n Summary of events:\n\n server (7), 6 events, 85.7%\n\n\
             \x20  syscall            calls    total       min       avg       max      stddev\n\
             \x20                              (msec)    (msec)    (msec)    (msec)        (%)\n\
             \x20  --------------- -------- --------- --------- --------- ---------     ------\n\
             \x20  read              69861   212.213     0.001     0.003     0.069      0.23%\n",
        );
        assert!(older.is_there && older.has_table && older.calls.is_empty(), "{older:?}");
    }

    #[test]
    fn damaged_rows_are_skipped() {
        let table = "   --------------- --------\n";
        for damaged in [
            "   read 1 0 nan 0 0 0 0%\n",
            "   read 1 0 -1 0 0 0 0%\n",
            "   read -1 0 1 0 0 0 0%\n",
            "   read 99999999999999999999 0 1 0 0 0 0%\n",
            "   read 1 0 1 0 0 0 0\n",
            "   read 1 0 1 0 0 0%\n",
            "   \u{0} %\n",
        ] {
            let summary = TraceSummary::from_text(&format!("{table}{damaged}"));
            assert!(summary.calls.is_empty(), "{damaged}: {summary:?}");
        }
        let sound = TraceSummary::from_text(&format!("{table}   read 1 0 1 0 0 0 -nan%\n"));
        assert_eq!(sound.calls.len(), 1);
    }
}
