//! Any bytes as an exported round: no panic, every trial belongs to the round, and none occurs twice.
//!
//! An input is a byte, `round.json` on a line, and then the trials: compressed here if the byte is even, otherwise used
//! as `trials.ndjson.gz` without change.

use crate::scratch;
use paceline_store::archive::{ROUND, TRIALS, read};
use std::collections::HashSet;
use std::fs;
use std::io::Write as _;

pub fn run(bytes: &[u8]) {
    let [first, rest @ ..] = bytes else { return };
    let split = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (round, trials) = rest.split_at(split);
    let trials = trials.get(1..).unwrap_or_default();
    let folder = scratch::folder("archive");
    fs::write(folder.join(ROUND), round).expect("a file");
    let packed = if first % 2 == 1 {
        trials.to_vec()
    } else {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(trials).expect("memory");
        encoder.finish().expect("memory")
    };
    fs::write(folder.join(TRIALS), packed).expect("a file");
    match read(&folder) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok((round, trials)) => {
            let ids: HashSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
            assert_eq!(ids.len(), trials.len());
            assert!(trials.iter().all(|trial| trial.round == round.id));
        }
    }
}
