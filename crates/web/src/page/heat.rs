//! Times over time as a heat map: how many requests of each second fell into each class of time.
//!
//! Built for the page of a run, from the histograms of its seconds; exports contain these in the classes used here, unless
//! they would be too large.

use super::series::{judged, stretches};
use paceline_record::Run;
use paceline_record::slim::CLASSES_PER_DECADE;
use schemars::JsonSchema;
use serde::Serialize;

/// Columns at most; those of a long run are joined.
const COLUMNS: usize = 400;

/// Counts of times by second and class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Heat {
    /// Lower bound of each class and the upper one of the last, in nanoseconds.
    pub bounds: Vec<f64>,
    /// One for each stretch of time.
    pub columns: Vec<Column>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// When it began, in seconds from the start of the run.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// The first class that has any.
    pub first: u32,
    /// Requests of that class and the following ones.
    pub counts: Vec<u64>,
}

impl Heat {
    /// The heat map of a run; none where its seconds have no histograms.
    pub fn from_run(run: &Run) -> Option<Self> {
        let mut groups: Vec<(u64, Vec<(i32, u64)>)> = Vec::new();
        let seconds = stretches(run);
        for group in seconds.chunks(seconds.len().div_ceil(COLUMNS).max(1)) {
            let mut classes: Vec<(i32, u64)> = Vec::new();
            let intervals = group.iter().flat_map(|(_, intervals)| intervals);
            for times in intervals.filter_map(|interval| judged(run.loop_.kind, interval)) {
                let histogram = (!times.histogram.is_empty()).then(|| times.decode().ok()).flatten()?;
                classes.extend(histogram.bars().map(|(low, high, count)| (class((low + high) / 2), count)));
            }
            groups.push((group.first()?.0.start_ns, classes));
        }
        let all = || groups.iter().flat_map(|(_, classes)| classes).map(|(class, _)| *class);
        let (lowest, highest) = (all().min()?, all().max()?);
        let end = run.phases.window.end_ns.max(groups.last()?.0.saturating_add(1));
        let ends = groups.iter().skip(1).map(|(start, _)| *start).chain([end]);
        let columns = groups.iter().zip(ends).filter_map(|((start, classes), end)| {
            let first = classes.iter().map(|(class, _)| *class).min()?;
            let last = classes.iter().map(|(class, _)| *class).max()?;
            let mut counts = vec![0_u64; (last - first + 1) as usize];
            for (class, count) in classes {
                if let Some(cell) = counts.get_mut((class - first) as usize) {
                    *cell = cell.saturating_add(*count);
                }
            }
            let (start_s, end_s) = (*start as f64 / 1e9, end as f64 / 1e9);
            Some(Column { start_s, end_s, first: (first - lowest) as u32, counts })
        });
        Some(Self { bounds: (lowest..=highest + 1).map(bound).collect(), columns: columns.collect() })
    }
}

fn class(ns: u64) -> i32 {
    ((ns.max(1) as f64).log10() * CLASSES_PER_DECADE).floor() as i32
}

fn bound(class: i32) -> f64 {
    10f64.powf(f64::from(class) / CLASSES_PER_DECADE).round()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{Block, Interval, Phase, Times};
    use paceline_stats::Histogram;

    #[test]
    fn cohorts_of_one_second_are_one_column() {
        let mut histogram = Histogram::new();
        histogram.record_n(2_000_000, 3);
        let service_time_ns = Some(Times::from_histogram(&histogram));
        let interval = |phase: Phase, start_ns: u64| {
            let block = Block { service_time_ns: service_time_ns.clone(), ..Block::default() };
            Interval::new(phase, start_ns, block)
        };
        let second = 1_000_000_000;
        let mut run = Run::default();
        run.phases.window.end_ns = 2 * second;
        run.intervals =
            vec![interval(Phase::Warmup, 0), interval(Phase::Window, 0), interval(Phase::Window, second)];
        let columns = Heat::from_run(&run).unwrap().columns;
        let spans: Vec<(f64, f64)> = columns.iter().map(|column| (column.start_s, column.end_s)).collect();
        assert_eq!(spans, [(0.0, 1.0), (1.0, 2.0)]);
        let counts: Vec<u64> = columns.iter().map(|column| column.counts.iter().sum()).collect();
        assert_eq!(counts, [6, 3]);
        // A pause without responses has no column.
        run.intervals.push(interval(Phase::Window, 6 * second));
        run.phases.window.end_ns = 7 * second;
        let columns = Heat::from_run(&run).unwrap().columns;
        let spans: Vec<(f64, f64)> = columns.iter().map(|column| (column.start_s, column.end_s)).collect();
        assert_eq!(spans, [(0.0, 1.0), (1.0, 2.0), (6.0, 7.0)]);
    }

    #[test]
    fn counts_of_any_record_add_up() {
        let mut histogram = Histogram::new();
        histogram.record_n(2_000_000, u64::MAX);
        let block = Block { service_time_ns: Some(Times::from_histogram(&histogram)), ..Block::default() };
        let interval = |phase| Interval::new(phase, u64::MAX, block.clone());
        let intervals = [Phase::Warmup, Phase::Window, Phase::Drain].map(interval).to_vec();
        let heat = Heat::from_run(&Run { intervals, ..Run::default() }).unwrap();
        assert_eq!(heat.columns[0].counts, [u64::MAX]);
    }
}
