//! Any text as a stored run, trial or round: no panic, also when verdicts, sums and histograms are computed from it.
//!
//! Records are untrusted input: any number in them may be wrong.

use paceline_judge::{run_verdicts, trial_verdicts};
use paceline_record::{read_round, read_run, read_trial};

pub fn run(text: &str) {
    let _ = read_round(text);
    if let Ok(trial) = read_trial(text) {
        let _ = trial.usable_run();
        let _ = trial_verdicts(&trial);
    }
    if let Ok(run) = read_run(text) {
        let _ = run_verdicts(&run);
        let _ = run.total.merge(&run.total);
        for interval in &run.intervals {
            let _ = interval.block.merge(&run.total);
        }
    }
}
