//! Any text as a round and its trials: no panic while a report of them is made and rendered in one of the formats.
//!
//! An input is a round on the first line and a trial on each further one.

use paceline_record::{read_round, read_trial};
use paceline_report::{Options, Report};

pub fn run(text: &str) {
    let mut lines = text.lines();
    let Ok(round) = read_round(lines.next().unwrap_or_default()) else { return };
    let trials: Vec<_> = lines.filter_map(|line| read_trial(line).ok()).collect();
    let report = Report::new(&round, &trials);
    // One format for each input, so that there are eight times as many inputs.
    let choice = text.len();
    let (width, full) = [(40, false), (180, true)][choice / 4 % 2];
    let page = match choice % 4 {
        0 => report.text(Options { width, colour: false, full }),
        1 => report.markdown(),
        2 => report.csv(),
        _ => report.json(),
    };
    assert!(page.ends_with('\n'));
}
