//! Two stored runs as text, at the width of a terminal, of half of one, and in colours: an open loop of three steps of
//! which the last is far too much, and a closed loop.

use crate::formats::{check, path};
use paceline_record::read_run;
use paceline_report::{RunTextOptions, run_text};

fn text(name: &str, width: usize, colour: bool, percentiles: bool) -> String {
    let stored = std::fs::read_to_string(path(&format!("fixtures/run-{name}.json"))).unwrap();
    run_text(&read_run(&stored).unwrap(), RunTextOptions { colour, width, percentiles })
}

#[test]
fn runs_at_80_and_40_columns() {
    for name in ["over", "closed"] {
        for width in [80, 40] {
            let text = text(name, width, false, false);
            check(&format!("run-{name}-{width}.txt"), &text);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} columns:\n{text}");
        }
    }
}

#[test]
fn the_whole_spectrum() {
    check("run-closed-percentiles.txt", &text("closed", 80, false, true));
}

#[test]
fn colours_change_nothing_but_colours() {
    for name in ["over", "closed"] {
        let coloured = text(name, 80, true, false);
        assert!(coloured.contains("\x1b[1m"));
        let mut plain = String::new();
        for part in coloured.split('\x1b') {
            // What follows an escape begins with its parameters, up to the letter m.
            let is_sequence = part.starts_with('[');
            plain.push_str(if is_sequence { part.split_once('m').unwrap().1 } else { part });
        }
        assert_eq!(plain, text(name, 80, false, false));
    }
}
