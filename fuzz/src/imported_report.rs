//! Any text as a report of another load generator or a result board (`store import`): no panic, errors name the file,
//! and an accepted text becomes a round with its own trials that can be written, read and judged, and can be audited.
//!
//! The reader detects the format of a text, as for a file.

use paceline_judge::trial_verdicts;
use paceline_record::{read_round, read_trial};

pub fn run(text: &str) {
    match paceline_import::read("a.txt", text) {
        Err(error) => assert!(error.to_string().starts_with("a.txt: "), "{error}"),
        Ok((round, trials)) => {
            assert!(!trials.is_empty());
            let audit = paceline_import::audit("a.txt", text).expect("what is imported can be audited");
            assert_eq!(audit.rows, trials.len());
            let written = serde_json::to_string(&round).expect("a round can be written");
            assert!(read_round(&written).is_ok());
            for trial in &trials {
                assert!(trial.round == round.id && trial.imported.is_some());
                let written = serde_json::to_string(trial).expect("a trial can be written");
                let again = read_trial(&written).expect("what was written can be read");
                let _ = trial_verdicts(&again);
            }
        }
    }
}
