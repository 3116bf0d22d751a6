//! The page in pieces: paired ratios, ranges, failures and the mark of a busy machine.
//!
//! The samples are made up and few, so that each expected text can be computed by hand. No program is run, and no speed
//! is asserted.

use super::*;

fn sample(row: &str, round: u32, cpu_us: f64) -> RowSample {
    let numbers = [("cpu_us", cpu_us), ("requests_per_s", 250_000.0)];
    let numbers = numbers.map(|(key, value)| (key.to_owned(), value)).into();
    RowSample { row: row.to_owned(), round, numbers, others_share: Some(0.0), ..RowSample::default() }
}

fn samples() -> Vec<RowSample> {
    [("a", 0, 3.0), ("b", 0, 6.0), ("a", 1, 4.0), ("b", 1, 5.0), ("a", 2, 9.0), ("b", 2, 9.0)]
        .map(|(name, round, cpu_us)| sample(name, round, cpu_us))
        .into()
}

fn against(at_most: Option<f64>, at_least: Option<f64>) -> ComparisonRule {
    let [of, to, number] = ["a", "b", "cpu_us"].map(str::to_owned);
    ComparisonRule { of, to: Some(to), number, at_most, at_least }
}

#[test]
fn ratios_are_paired_before_their_median() {
    // The ratio of the medians would be 4 / 6.
    assert_eq!(by_round(&against(None, None), &samples()), [0.5, 0.8, 1.0]);
    let text = comparisons(&[against(Some(0.73), None)], &samples());
    assert!(
        text.contains("| CPU us/request: a / b | 0.800 | 0.500 0.800 1.000 | at most 0.73 | **not met** |"),
        "{text}"
    );
    let text = comparisons(&[against(None, Some(0.8))], &samples());
    assert!(text.contains("| at least 0.8 | met |"), "{text}");
    let mut samples = samples();
    samples[0].is_invalid = true;
    let text = comparisons(&[against(None, Some(0.8))], &samples);
    assert!(text.contains("| at least 0.8 | **not met: a run was invalid** |"), "{text}");
}

#[test]
fn a_failed_run_leaves_its_pair_out_and_is_noted() {
    let mut samples = samples();
    samples[1] =
        RowSample { numbers: BTreeMap::new(), error: Some("it hung".to_owned()), ..samples[1].clone() };
    assert_eq!(by_round(&against(None, None), &samples), [0.8, 1.0]);
    let outcome = Outcome { samples, rounds: 3, left_out: vec!["siege: not installed".to_owned()] };
    let text = notes(&outcome);
    assert_eq!(text, "- Left out: siege: not installed.\n- b, in 1 of 3 rounds: failed: it hung.\n\n");
    let none = comparisons(&[against(Some(1.0), None)], &[]);
    assert!(none.contains("**not measured**"), "{none}");
}

#[test]
fn cells_show_median_and_range() {
    let samples = samples();
    let of_a: Vec<&RowSample> = samples.iter().filter(|sample| sample.row == "a").collect();
    let cell = |key, samples: &[&RowSample]| cell(number(key).unwrap(), samples);
    assert_eq!(cell("cpu_us", &of_a), "4.000 (3.000 to 9.000)");
    assert_eq!(cell("requests_per_s", &of_a), "250,000");
    assert_eq!(
        cell("cpu_us", &[&RowSample { error: Some(String::new()), ..RowSample::default() }]),
        "failed"
    );
    assert_eq!(cell("cpu_us", &[&RowSample::default()]), "");
}

#[test]
fn commas() {
    for (plain, with) in [("7", "7"), ("1234", "1,234"), ("-123", "-123"), ("1234567.50", "1,234,567.50")] {
        assert_eq!(with_commas(plain), with);
    }
}

#[test]
fn a_busy_machine_is_marked() {
    let mut samples = samples();
    assert!(!quietness(&samples).contains("not quiet"));
    samples.iter_mut().for_each(|sample| sample.others_share = Some(0.4));
    assert!(quietness(&samples).starts_with("Everything else on the machine used 40.0 % of a core"));
    assert!(quietness(&samples).contains("not quiet"));
}

#[test]
fn a_section_taken_again_replaces_its_predecessor_and_leaves_the_others() {
    let titles = ["One", "Two", "Three"].map(str::to_owned);
    let before = page(&["## One\n\nold 1\n".to_owned(), "## Three\n\nold 3\n".to_owned()]);
    for (section, expected) in [
        ("## Two\n\nnew 2\n", ["## One\n\nold 1\n", "## Two\n\nnew 2\n", "## Three\n\nold 3\n"].as_slice()),
        ("## Three\n\nnew 3\n\n", &["## One\n\nold 1\n", "## Three\n\nnew 3\n"]),
    ] {
        assert_eq!(merged(&titles, &before, section.to_owned()), expected);
    }
    assert_eq!(merged(&titles, "", "## One\n".to_owned()), ["## One\n"], "there was no page yet");
}
