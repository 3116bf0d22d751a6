//! Charts as SVG, compared with golden files, and cases without a chart.

use crate::built::{self, Seen};
use crate::formats::{check, stored};
use crate::grouping::SEEN;
use paceline_judge::Metric;
use paceline_record::{
    Blame, CapacityLoad, DatabaseLoad, FoundCapacity, Limit, LimitKind, Load, RateRange, Severity, Trial,
    Variant, VariantKind,
};
use paceline_report::{Chart, ErrorBar, Report, ServerRate, svg};

fn drawn(name: &str) -> Option<String> {
    let (round, trials) = stored();
    svg(Chart::parse(name).unwrap(), &Report::new(&round, &trials), &trials).map(|svg| svg.to_string())
}

#[test]
fn a_round_is_drawn_as_ranking_and_percentiles() {
    for name in ["ranking", "time_ns_p99", "percentiles"] {
        check(&format!("quick-{name}.svg"), &drawn(name).unwrap());
    }
}

#[test]
fn a_load_curve_needs_several_rates() {
    assert_eq!(drawn("load-curve"), None);
    let (round, mut trials) = stored();
    let open: Vec<_> = trials.iter().filter(|trial| trial.load.rate_per_s.is_some()).cloned().collect();
    trials.extend(open.into_iter().map(|mut trial| {
        trial.id.push_str("-faster");
        trial.load.name.push_str("-faster");
        trial.load.rate_per_s = trial.load.rate_per_s.map(|rate| rate * 2.0);
        trial
    }));
    let curve = svg(Chart::LoadCurve, &Report::new(&round, &trials), &trials).unwrap();
    assert!(curve.contains("p99.9") && curve.contains("<path fill=\"none\""), "{curve}");
}

/// A launch at a rate on one of two machines, with this p99.
fn on_machine(kernel: &str, rate: f64, p99_us: f64) -> Trial {
    let load = Load { name: format!("rate-{rate}"), rate_per_s: Some(rate), ..built::open() };
    let mut trial = built::trial("go-nethttp", &load, 0, Seen { per_s: rate, p99_us, ..SEEN });
    trial.id = format!("{kernel}-{rate}");
    trial.run.as_mut().unwrap().environment.kernel = kernel.to_owned();
    trial
}

#[test]
fn each_machine_has_panels_with_its_own_launches() {
    let mut trials = vec![
        on_machine("one", 1_000.0, 200.0),
        on_machine("one", 2_000.0, 220.0),
        on_machine("two", 1_000.0, 250.0),
        on_machine("two", 2_000.0, 290.0),
    ];
    let drawn = |chart: Chart, trials: &[Trial]| {
        svg(chart, &Report::new(&built::round(), trials), trials).unwrap().to_string()
    };
    for chart in [Chart::Ranking(None), Chart::Percentiles, Chart::LoadCurve] {
        let picture = drawn(chart, &trials);
        assert!(picture.contains(", machine A") && picture.contains(", machine B"), "{picture}");
    }
    let mut slower = trials.clone();
    slower[2] = on_machine("two", 1_000.0, 280.0);
    assert_ne!(drawn(Chart::Percentiles, &trials), drawn(Chart::Percentiles, &slower), "of machine B");
    let panels = |picture: &str| picture.matches("response time against offered requests/s").count();
    assert_eq!(panels(&drawn(Chart::LoadCurve, &trials)), 2);
    // Two databases behind a server have two curves, on one machine too.
    for (trial, database) in trials.iter_mut().zip(["mariadb", "mariadb", "postgres", "postgres"]) {
        trial.load.database = Some(DatabaseLoad { database: database.to_owned(), pool: 8 });
        trial.load.name.push_str(database);
        trial.run.as_mut().unwrap().environment.kernel = "one".to_owned();
    }
    let picture = drawn(Chart::LoadCurve, &trials);
    assert!(
        picture.contains(", mariadb<") && picture.contains(", postgres<") && panels(&picture) == 2,
        "{picture}"
    );
    // The twins of two steps have different names.
    for trial in &mut trials {
        let of = trial.load.name.clone();
        trial.load.name.push_str("-close");
        trial.load.variant = Some(Variant { of, kind: VariantKind::Close });
    }
    assert_eq!(panels(&drawn(Chart::LoadCurve, &trials)), 2);
}

#[test]
fn percentile_curves_are_of_the_attempt_that_counts() {
    let attempt = |id: &str, minute: u32, p99_us: f64| Trial {
        id: id.to_owned(),
        started_at: format!("2026-11-21T01:0{minute}:00.000Z"),
        ..built::trial("go-nethttp", &built::open(), 0, Seen { per_s: 2000.0, p99_us, ..SEEN })
    };
    let drawn = |trials: &[Trial]| {
        svg(Chart::Percentiles, &Report::new(&built::round(), trials), trials).unwrap().to_string()
    };
    let mut spoiled = attempt("a", 1, 290.0);
    spoiled.verdicts.push(built::verdict("steal", Blame::Environment, Severity::Invalid, "Repeat it."));
    let sound = attempt("b", 2, 200.0);
    let alone = drawn(std::slice::from_ref(&sound));
    assert_eq!(drawn(&[spoiled.clone(), sound.clone()]), alone, "the repeated attempt is not drawn");
    // The order of the trials in a file does not matter.
    assert_eq!(drawn(&[sound, spoiled]), alone);
}

/// A launch of a search that found a capacity of 1,000 per second.
fn searched(repeat: u32, interval_per_s: Option<RateRange>) -> Trial {
    let capacity = CapacityLoad { objective: "response.p99<10ms".into(), confirm_s: 20.0, windows_most: 40 };
    let load = Load { rate_per_s: None, capacity: Some(capacity), ..built::open() };
    let found = FoundCapacity {
        window_s: 5.0,
        closed_loop_per_s: 1_200.0,
        half_pass_per_s: Some(1_000.0 + f64::from(repeat)),
        interval_per_s,
        is_precise: true,
        stalls_decide: None,
        long_run_per_s: None,
        limit: Limit { kind: LimitKind::Waiting, evidence: String::new() },
        ended_early: None,
        windows: Vec::new(),
    };
    Trial { capacity: Some(found), ..built::trial("go-nethttp", &load, repeat, SEEN) }
}

#[test]
fn the_capacity_of_one_launch_is_drawn_with_the_interval_of_its_search() {
    let interval = Some(RateRange { low: 900.0, high: 1_100.0 });
    let report = |trials: &[Trial]| Report::new(&built::round(), trials);
    let bar =
        |trials: &[Trial]| report(trials).tables[0].rows[0].figures.error_bar(&Metric::CAPACITY).unwrap();
    let one = [searched(0, interval)];
    assert_eq!(bar(&one), ErrorBar::Interval([900.0, 1_100.0]));
    assert_eq!(bar(&[searched(0, None)]), ErrorBar::Range([1_000.0, 1_000.0]));
    // The interval between launches is the one that compares servers.
    let [low, high] = bar(&[searched(0, interval), searched(1, interval)]).ends();
    assert!(low > 900.0 && high < 1_100.0, "{low} to {high}");
    let drawn = |trials: &[Trial]| svg(Chart::Ranking(None), &report(trials), trials).unwrap().to_string();
    assert_ne!(drawn(&one), drawn(&[searched(0, None)]));
}

#[test]
fn a_chart_that_does_not_exist_has_no_name() {
    assert_eq!(Chart::parse("pie"), None);
}

#[test]
fn a_hostile_name_is_escaped() {
    let (round, mut trials) = stored();
    for trial in &mut trials {
        trial.server.name = "</text><script>alert(1)</script>\u{202e}".to_owned();
        trial.workload = "\"><svg onload=alert(1)>".to_owned();
    }
    for chart in [Chart::Ranking(None), Chart::Percentiles] {
        let drawn = svg(chart, &Report::new(&round, &trials), &trials).unwrap();
        assert!(!drawn.contains("<script") && !drawn.contains("<svg onload") && !drawn.contains('\u{202e}'));
    }
}

#[test]
fn a_badge_names_the_machine_of_its_table() {
    let (round, mut trials) = stored();
    let id = trials.iter().find(|trial| trial.run.is_some()).unwrap().server.id.clone();
    assert!(trials.iter().any(|trial| trial.server.id != id && trial.run.is_some()));
    // One server ran on one machine, all others in another sitting on another one.
    for trial in &mut trials {
        let is_other = trial.server.id != id;
        trial.sitting = if is_other { "other" } else { "one" }.to_owned();
        if let (true, Some(run)) = (is_other, &mut trial.run) {
            run.environment.cpu_model = "Other processor".to_owned();
        }
    }
    let report = Report::new(&round, &trials);
    assert_eq!(report.machines.len(), 2);
    for table in report.tables.iter().filter(|table| table.ranked_by.metric() == &Metric::ACHIEVED_PER_S) {
        for row in &table.rows {
            let sentence = ServerRate::of_server(&report, &row.server.id).unwrap().sentence(&report);
            let is_other = row.server.id != id;
            assert_eq!(sentence.contains("on Other processor"), is_other, "{sentence}");
        }
    }
}

#[test]
fn a_badge_has_the_rate_with_its_interval_or_the_reason_why_there_is_none() {
    let (round, trials) = stored();
    let report = Report::new(&round, &trials);
    let table = &report.tables[0];
    let row = table.rows.iter().find(|row| row.is_sound()).unwrap();
    let rate = ServerRate::of_server(&report, &row.server.id).unwrap();
    let figure = row.figures.get(&Metric::ACHIEVED_PER_S).unwrap();
    let [low, high] = figure.interval.unwrap();
    // As the badge writes them: digits with separators, to three significant ones.
    let numbers: Vec<f64> = rate
        .figure()
        .split(|letter: char| !letter.is_ascii_digit() && letter != ',')
        .filter_map(|text| text.replace(',', "").parse().ok())
        .collect();
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.005;
    assert_eq!(numbers.len(), 3, "{}", rate.figure());
    assert!(
        close(numbers[0], figure.shown()) && close(numbers[1], low) && close(numbers[2], high),
        "{numbers:?}"
    );
    let badge = rate.badge(&report).to_string();
    assert!(badge.contains(&format!(">{}</text>", rate.figure())) && badge.contains("#0072b2"), "{badge}");
    assert!(badge.contains(&format!("<title>{}, {}: ", row.server.id, table.workload)), "{badge}");
    let says_what_the_ends_are = |rate: &ServerRate<'_>, report: &Report| {
        let sentence = rate.sentence(report);
        sentence.contains("interval between launches") || sentence.contains("lowest and highest launch")
    };
    assert!(says_what_the_ends_are(&rate, &report));
    // One launch has no ends to be named.
    let first: Vec<Trial> = trials.iter().filter(|trial| trial.repeat == 0).cloned().collect();
    let once = Report::new(&round, &first);
    let alone = ServerRate::of_server(&once, &row.server.id).unwrap();
    assert!(!alone.figure().contains(" to ") && !says_what_the_ends_are(&alone, &once), "{}", alone.figure());

    assert_eq!(ServerRate::of_server(&report, "no-server"), None);
    let mut failed = trials.clone();
    for trial in &mut failed {
        trial.run = None;
        trial.error = Some(paceline_record::Fault {
            stage: paceline_record::Stage::Load,
            message: "no answer".into(),
            transient: false,
        });
    }
    let report = Report::new(&round, &failed);
    let rate = ServerRate::of_server(&report, &row.server.id).unwrap();
    assert_eq!((rate.figure().as_str(), rate.is_sound()), ("no rate: failed", false));
    assert!(!says_what_the_ends_are(&rate, &report));
    assert!(rate.badge(&report).to_string().contains("#6b6b6b"));
}
