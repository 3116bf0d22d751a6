//! The server, or the generator, once a second: for the rows of the seconds, and for the record.
//!
//! The thread in `mod.rs` reads it when the warm-up begins and at every whole second after that, which is when the
//! seconds of the workers end. The record keeps a bounded number of samples, at longer intervals in a long run.

use crate::even_samples::EvenSamples;
use paceline_engine::Nanos;
use paceline_host::{WatchedProcesses, WatchedSample};
use paceline_record::{Second, ServerSample};
use std::collections::VecDeque;

const SECOND: Nanos = Nanos(1_000_000_000);
/// A sample this far from the end of a second belongs to it, and no shorter second has one.
const NEAR: Nanos = Nanos(500_000_000);
/// Samples that are kept for rows that are still to come.
const RECENT: usize = 120;

/// The samples of processes, and when the next one is due.
#[derive(Debug)]
pub(crate) struct UsageSeries {
    processes: WatchedProcesses,
    /// The start of the run.
    start: Nanos,
    /// When the next sample is due; never before the warm-up.
    due: Nanos,
    /// CPU time at the first sample, in seconds.
    cpu_s_before: f64,
    recent: VecDeque<ServerSample>,
    kept: EvenSamples<ServerSample>,
}

impl UsageSeries {
    /// Takes the first sample, before the first connection.
    pub(crate) fn begin(processes: WatchedProcesses, now: Nanos) -> Self {
        let mut series = Self {
            processes,
            start: now,
            due: Nanos::NEVER,
            cpu_s_before: 0.0,
            recent: VecDeque::with_capacity(RECENT),
            kept: EvenSamples::default(),
        };
        if let Some(first) = series.processes.read() {
            series.cpu_s_before = first.cpu_s;
            series.add(now, first);
        }
        series
    }

    /// The run started then.
    pub(crate) fn started(&mut self, at: Nanos) {
        self.start = at;
    }

    /// The warm-up began then, and the seconds of the run with it.
    pub(crate) fn warmed_from(&mut self, at: Nanos) {
        self.due = at;
    }

    /// When the next sample is due.
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// Takes a sample if one is due.
    pub(crate) fn sample_if_due(&mut self, now: Nanos) {
        if now < self.due {
            return;
        }
        let missed = now.since(self.due).0 / SECOND.0;
        self.due += Nanos((missed + 1) * SECOND.0);
        if let Some(sample) = self.processes.read() {
            self.add(now, sample);
        }
    }

    fn add(&mut self, now: Nanos, read: WatchedSample) {
        let sample = ServerSample {
            at_ns: now.since(self.start).0,
            cpu_s: (read.cpu_s - self.cpu_s_before).max(0.0),
            rss_bytes: read.rss_bytes,
            processes: read.processes,
            threads: read.threads,
        };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(sample);
        self.kept.add(sample);
    }

    /// Adds the server's figures to the row of a second that began and ended then.
    pub(crate) fn fill(&self, row: &mut Second, start: Nanos, end: Nanos) {
        let end_ns = end.since(self.start).0;
        if end.since(start) < NEAR {
            return;
        }
        let is_near = |sample: &ServerSample| sample.at_ns.abs_diff(end_ns) <= NEAR.0;
        let Some(at) = self.recent.iter().rposition(is_near) else { return };
        let now = &self.recent[at];
        row.server_rss_bytes = Some(now.rss_bytes);
        row.server_threads = Some(now.threads);
        let before = at.checked_sub(1).map(|before| &self.recent[before]);
        // Three digits are more than clock ticks give.
        row.server_cores_used = before.map(|before| (now.cores_used_since(before) * 1e3).round() / 1e3);
    }

    /// The samples for the record.
    pub(crate) fn into_samples(self) -> Vec<ServerSample> {
        self.kept.into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: u64) -> Nanos {
        Nanos(seconds * SECOND.0)
    }

    /// A series of this process, without samples.
    fn series() -> UsageSeries {
        let mut series = UsageSeries::begin(WatchedProcesses::new(Vec::new()), at_s(0));
        series.started(at_s(100));
        series
    }

    fn read(cpu_s: f64) -> WatchedSample {
        WatchedSample { cpu_s, rss_bytes: (cpu_s * 1e6) as u64, processes: 1, threads: 3 }
    }

    #[test]
    fn a_row_has_the_sample_at_its_end_and_the_cores_since_the_one_before() {
        let mut series = series();
        series.add(at_s(101), read(1.0));
        series.add(at_s(102), read(2.5));
        let row = |start: u64, end: Nanos| {
            let mut row = Second::default();
            series.fill(&mut row, at_s(start), end);
            (row.server_cores_used, row.server_rss_bytes, row.server_threads)
        };
        assert_eq!(row(101, at_s(102)), (Some(1.5), Some(2_500_000), Some(3)));
        assert_eq!(row(100, at_s(101)), (None, Some(1_000_000), Some(3)), "there is no sample before it");
        assert_eq!(row(102, at_s(103)), (None, None, None), "its end was not sampled");
        assert_eq!(row(102, at_s(102) + Nanos(9)), (None, None, None), "too short for clock ticks");
    }

    #[test]
    fn a_late_sample_does_not_move_the_next_ones() {
        let mut series = series();
        assert_eq!(series.due(), Nanos::NEVER);
        series.warmed_from(at_s(101));
        series.sample_if_due(at_s(101) + Nanos(7));
        assert_eq!(series.due(), at_s(102));
        series.sample_if_due(at_s(104) + Nanos(7));
        assert_eq!(series.due(), at_s(105));
    }
}
