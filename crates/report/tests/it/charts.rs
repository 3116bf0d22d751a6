//! Charts as SVG, compared with golden files, and cases without a chart.

use crate::formats::{check, stored};
use paceline_report::{Chart, Report, svg};

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
