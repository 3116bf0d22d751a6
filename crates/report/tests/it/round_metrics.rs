//! Tests the metrics of a round in progress: progress, and the figures of the newest trials.

use crate::built;
use paceline_record::{Round, Trial, fixture};
use paceline_report::{LiveValues as _, RoundMetrics, Span};

#[test]
fn the_newest_usable_trial_of_a_row_gives_its_figures() {
    let round = Round { planned: 9, ..built::round() };
    let mut metrics = RoundMetrics::new(&round, &[]);
    let mut trial = Trial { run: Some(fixture::run(0)), ..fixture::trial() };
    metrics.add(&trial);
    let rate = trial.usable_run().unwrap().rate_per_s.achieved;
    trial.run = None;
    metrics.add(&trial);
    let text = metrics.prometheus();
    for line in [
        format!("paceline_trials_planned{{plan=\"{}\",round=\"{}\"}} 9", round.plan, round.id),
        format!("paceline_trials_unusable{{plan=\"{}\",round=\"{}\"}} 1", round.plan, round.id),
        format!(
            "paceline_achieved_per_s{{server=\"{}\",workload=\"{}\",load=\"{}\",form=\"{}\"}} {rate}",
            trial.server.id, trial.workload, trial.load.name, trial.form
        ),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
    }
    // Every sample has a name that was declared, once.
    let declared: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let names: std::collections::BTreeSet<&str> = declared.iter().copied().collect();
    assert_eq!(names.len(), declared.len());
    let request = metrics.otlp(Span { start_ns: 1, now_ns: 2 });
    let exported = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(exported.len(), declared.len());
    assert_eq!(exported[1]["gauge"]["dataPoints"][0]["asInt"], "1");
}
