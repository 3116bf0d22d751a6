//! Whether the counts of a record add up: the outcomes of a block, the parts of a run, the values of a histogram, the
//! achieved rate.
//!
//! A record of this process adds up; one that another process or person wrote may not. The store's check and the
//! coordinator of loaders use this. What a record leaves out (an imported one has no histograms) is not judged.

use crate::block::total;
use crate::{Block, Counts, Phase, Run, Times};
use paceline_stats::ratio;

/// The share by which a rate may differ from the quotient of its counts: far more than floating point leaves, and far
/// less than any claim.
const RATE_TOLERANCE: f64 = 1e-6;

impl Run {
    /// Every block, with its place in the record.
    pub fn blocks(&self) -> impl Iterator<Item = (String, &Block)> {
        let named = |name: &'static str| move |(place, block)| (format!("{name}[{place}]"), block);
        std::iter::once(("total".to_owned(), &self.total))
            .chain(self.segment_blocks().enumerate().map(named("by_segment")))
            .chain(self.request_blocks().enumerate().map(named("by_request")))
            .chain(self.by_generator.iter().flatten().enumerate().map(named("by_generator")))
            .chain(self.intervals.iter().map(|interval| &interval.block).enumerate().map(named("intervals")))
    }

    fn segment_blocks(&self) -> impl Iterator<Item = &Block> {
        self.by_segment.iter().flatten().map(|segment| &segment.block)
    }

    fn request_blocks(&self) -> impl Iterator<Item = &Block> {
        self.by_request.iter().flatten().map(|request| &request.block)
    }

    /// What does not add up, each with its place in the record.
    pub fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (place, block) in self.blocks() {
            // An interval counts the requests that fell due in it and those that ended in it: only the sums over
            // intervals are equal.
            let is_interval = place.starts_with("intervals");
            found.extend(
                block.contradictions(!is_interval).into_iter().map(|what| format!("{place}: {what}")),
            );
        }
        let window = self.intervals.iter().filter(|interval| interval.phase == Phase::Window);
        found.extend(self.of_parts("by_segment", self.segment_blocks()));
        found.extend(self.of_parts("by_request", self.request_blocks()));
        found.extend(self.of_parts("by_generator", self.by_generator.iter().flatten()));
        found.extend(self.of_parts("intervals of the window", window.map(|interval| &interval.block)));
        found
    }

    /// What is wrong with the achieved rate, by which servers are ranked: it is that of the valid responses that
    /// completed in the window. An imported report may give a rate alone, so its run is not to be judged by this.
    pub fn rate_contradiction(&self) -> Option<String> {
        let (achieved, completed) = (self.rate_per_s.achieved, self.total.completed_in_window);
        let counted = ratio(completed as f64, self.window_s);
        let is_same = (achieved - counted).abs() <= RATE_TOLERANCE * counted.abs();
        (!is_same).then(|| {
            format!(
                "rate_per_s.achieved is {achieved}, but {completed} responses completed in a window of {} s, which is \
                 {counted} per second",
                self.window_s
            )
        })
    }

    /// The difference between the counts of the parts and those of the run; none if the record has no such parts.
    fn of_parts<'a>(&self, name: &str, parts: impl Iterator<Item = &'a Block>) -> Option<String> {
        let parts: Vec<&Counts> = parts.map(|block| &block.counts).collect();
        let differs = |(what, of): &NamedCount| {
            let (sum, all) = (total(parts.iter().map(|counts| of(counts))), of(&self.total.counts));
            (sum != all).then(|| format!("{name}: the sum of {what} is {sum}, but the run has {all}"))
        };
        if parts.is_empty() { None } else { OUTCOMES.iter().find_map(differs) }
    }
}

/// A count, by its key in the record.
type NamedCount = (&'static str, fn(&Counts) -> u64);

/// Each count.
const OUTCOMES: [NamedCount; 8] = [
    ("scheduled", |counts| counts.scheduled),
    ("ok", |counts| counts.ok),
    ("bad_status", |counts| counts.bad_status),
    ("bad_body", |counts| counts.bad_body),
    ("connect_failed", |counts| counts.connect_failed),
    ("io_failed", |counts| counts.io_failed),
    ("timed_out", |counts| counts.timed_out),
    ("unsent", |counts| counts.unsent),
];

impl Block {
    /// What does not add up in it. `has_all` is whether each request that fell due in the block ended in it too.
    fn contradictions(&self, has_all: bool) -> Vec<String> {
        let mut found = Vec::new();
        let counts = &self.counts;
        if has_all && counts.scheduled != counts.ended() {
            found.push(format!(
                "the number of requests ({}) differs from the number of outcomes ({})",
                counts.scheduled,
                counts.ended()
            ));
        }
        let times = [&self.service_time_ns, &self.response_time_ns, &self.failed_time_ns];
        let most = times.into_iter().flatten().map(|times| times.count).max().unwrap_or(0);
        if has_all && most > counts.scheduled {
            found.push(format!("{most} times were recorded of {} requests", counts.scheduled));
        }
        found.extend(self.distributions().filter_map(|(_, times)| times.contradiction()));
        found
    }
}

impl Times {
    fn contradiction(&self) -> Option<String> {
        if self.histogram.is_empty() {
            return None;
        }
        match self.decode().map(|histogram| histogram.count()) {
            Ok(found) if found == self.count => None,
            Ok(found) => Some(format!("a histogram has {found} values instead of {}", self.count)),
            Err(error) => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, fixture};

    fn found(change: impl FnOnce(&mut Run)) -> Vec<String> {
        let mut run = fixture::run(100);
        let (head, tail) = (Block::default(), run.total.clone());
        let interval = |block| Interval::new(Phase::Window, 0, block);
        run.intervals = vec![interval(head), interval(tail)];
        change(&mut run);
        run.contradictions()
    }

    #[test]
    fn a_record_that_adds_up_has_no_contradiction() {
        assert_eq!(found(|_| {}), [] as [&str; 0]);
    }

    #[test]
    fn more_answers_than_requests_are_found() {
        let problems = found(|run| run.total.counts.ok += 5);
        assert!(problems[0].starts_with("total: the number of requests ("), "{problems:?}");
        assert!(problems[1].starts_with("intervals of the window: the sum of ok is "), "{problems:?}");
    }

    #[test]
    fn parts_that_are_not_the_whole_are_found() {
        let problems = found(|run| run.by_generator = Some(vec![Block::default()]));
        let ok = fixture::run(100).total.counts.scheduled;
        assert_eq!(problems, [format!("by_generator: the sum of scheduled is 0, but the run has {ok}")]);
    }

    #[test]
    fn a_rate_that_its_responses_do_not_give_is_found() {
        let mut run = fixture::run(100);
        assert_eq!(run.rate_contradiction(), None);
        run.rate_per_s.achieved *= 10.0;
        let problem = run.rate_contradiction().unwrap();
        let expected = "rate_per_s.achieved is 9900, but 9900 responses completed in a window of 10 s";
        assert!(problem.starts_with(expected), "{problem}");
        run.window_s = 0.0;
        assert!(run.rate_contradiction().is_some(), "no time gives no rate");
        run.rate_per_s.achieved = 0.0;
        assert_eq!(run.rate_contradiction(), None);
    }

    #[test]
    fn a_histogram_with_other_values_is_found() {
        let mut times = Times::from_histogram(&paceline_stats::Histogram::new());
        times.count = 7;
        let problems = found(|run| run.total.first_byte_ns = Some(times));
        assert!(
            problems.iter().any(|problem| problem.ends_with("has 0 values instead of 7")),
            "{problems:?}"
        );
    }
}
