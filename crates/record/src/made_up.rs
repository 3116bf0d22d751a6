//! A run that never was, for the tests of verdicts, gates and slim trials.
//!
//! They start from it and spoil it as they need. It is compiled for tests alone; a trial for the judges of trials is
//! made up beside them (`verdict/trial/tests.rs`).

use crate::{Block, Connections, Counts, Environment, Generator, Interval, Phase, Phases, Run, Span, Times};
use paceline_stats::Histogram;
use serde_json::json;

const SECOND_NS: u64 = 1_000_000_000;

/// An open loop of 1,000/s for 10 s in which request i took i microseconds, but for those that failed. The window
/// begins 200 ms after the warm-up did, so that no second of the run begins or ends with it. A sound run, but for what
/// failed.
pub fn run(failed: u64) -> Run {
    let mut histogram = Histogram::new();
    (1..=10_000 - failed).for_each(|micros| histogram.record(micros * 1_000));
    let times = Some(Times::of(&histogram));
    let counts = Counts { scheduled: 10_000, ok: 10_000 - failed, bad_status: failed, ..Counts::default() };
    let mut run: Run = serde_json::from_value(json!({
        "schema": 1, "id": "", "tool": {"name": "", "version": "", "commit": null}, "argv": [], "seed": 1,
        "started_at": "", "target": {"url": "", "protocol": "", "address": ""},
        "loop": {"kind": "open", "connections": 4, "depth": 1, "offered_per_s": 1000.0},
        "pace": {"asked": "auto", "used": "sleep", "spin_before_ns": 0}, "expectations": {},
        "timeout_ns": 10 * SECOND_NS, "window_s": 10.0, "phases": Phases::default(),
        "connections": Connections { asked: 20, had: 20, ..Connections::default() },
        "environment": Environment { cores: 2, ..Environment::default() },
        "generator": Generator { threads: 1, cores: vec![1], ..Generator::default() },
        "total": Block::default(), "intervals": [],
        "rate_per_s": {"offered": 1000.0, "sent": 1000.0, "achieved": counts.ok as f64 / 10.0}, "verdicts": []
    }))
    .unwrap();
    run.phases = phases(SECOND_NS / 2, SECOND_NS / 5, 10 * SECOND_NS);
    run.intervals = intervals(&run.phases, counts.ok / 10);
    run.total = Block {
        counts,
        completed_in_window: counts.ok,
        response_time_ns: times.clone(),
        service_time_ns: times.clone(),
        first_byte_ns: times.clone(),
        generator_lag_ns: times,
        ..Block::default()
    };
    run
}

/// Phases of these lengths, and no drain.
fn phases(connect_ns: u64, warmup_ns: u64, window_ns: u64) -> Phases {
    let span = |start_ns, length_ns| Span { start_ns, end_ns: start_ns + length_ns };
    let warmup = span(connect_ns, warmup_ns);
    let window = span(warmup.end_ns, window_ns);
    Phases { connect: span(0, connect_ns), warmup, window, drain: span(window.end_ns, 0) }
}

/// Seconds from the beginning of the warm-up on in which the window's cohort had so many answers.
fn intervals(phases: &Phases, ok: u64) -> Vec<Interval> {
    let starts = (phases.warmup.start_ns..phases.window.end_ns).step_by(SECOND_NS as usize);
    let block = Block { counts: Counts { scheduled: ok, ok, ..Counts::default() }, ..Block::default() };
    starts.map(|start_ns| Interval { phase: Phase::Window, start_ns, block: block.clone() }).collect()
}
