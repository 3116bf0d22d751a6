//! Every time of the record's table is in every format of a run.

use crate::root;
use paceline_record::{LoopKind, Run, TimeKind, TimeLoops, Times};
use paceline_report::{RunTextOptions, run_csv, run_hgrm, run_hlog, run_markdown, run_svg, run_text};
use paceline_stats::Histogram;
use paceline_web::page::RunPage;

/// A stored run, with each time that its loop may have: the place of the time in the table, in seconds.
fn run(kind: LoopKind) -> Run {
    let name = match kind {
        LoopKind::Open => "run-over.json",
        LoopKind::Closed => "run-closed.json",
    };
    let text = std::fs::read_to_string(root().join("crates/report/tests/fixtures").join(name)).unwrap();
    let mut run = paceline_record::read_run(&text).unwrap();
    for time in TimeKind::ALL.into_iter().filter(|time| is_in(*time, kind)) {
        let mut histogram = Histogram::new();
        (1..=1_000).for_each(|step| histogram.record(step * (time as u64 + 1) * 1_000_000));
        *run.total.times_mut(time) = Some(Times::from_histogram(&histogram));
    }
    run
}

fn is_in(time: TimeKind, kind: LoopKind) -> bool {
    match time.loops() {
        TimeLoops::Both => true,
        TimeLoops::Open => kind == LoopKind::Open,
        TimeLoops::Closed => kind == LoopKind::Closed,
    }
}

#[test]
fn every_time_is_in_every_format() {
    let documents = std::fs::read_to_string(root().join("docs/reference/metrics.md")).unwrap();
    for kind in [LoopKind::Open, LoopKind::Closed] {
        let run = run(kind);
        let options = RunTextOptions { colour: false, width: 200, full: false, time_unit: None };
        let text = run_text(&run, options).to_string();
        let markdown = run_markdown(&run, None).to_string();
        let csv = run_csv(&run).to_string();
        let json = serde_json::to_value(&run).unwrap();
        let page = serde_json::to_value(RunPage::of_run(&run)).unwrap();
        let pages = page["measured"]["times"].as_array().unwrap();
        let svg = String::from_utf8(run_svg(&run).as_bytes().to_vec()).unwrap();
        let (hgrm, hlog) = (run_hgrm(&run), run_hlog(&run));
        let cells: Vec<(&str, &str)> = {
            let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let (keys, values) = (lines.next().unwrap(), lines.next().unwrap());
            keys.into_iter().zip(values).collect()
        };
        for time in TimeKind::ALL {
            let (name, key) = (time.name(), time.key());
            let times = run.total.times(time);
            let p99 = times.map_or(String::new(), |times| times.p99.to_string());
            let column = format!("{key}_p99");
            assert!(cells.contains(&(column.as_str(), p99.as_str())), "{column}: {csv}");
            assert!(documents.contains(&format!("| `{key}` | {name} |")), "{key}");
            let Some(times) = times else { continue };
            assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {text}");
            assert!(markdown.contains(&format!("| {name}, p")), "{name}: {markdown}");
            assert_eq!(json["total"][key]["p99"], times.p99);
            let shown = pages.iter().find(|page| page["id"] == time.id()).unwrap();
            assert_eq!((&shown["p99"], &shown["count"]), (&times.p99.into(), &times.count.into()));
            assert!(svg.contains(&format!(">{name}<")), "{name}: {svg}");
            assert!(
                hgrm.contains(&format!("#[{name}")) || hgrm.contains(&format!("#[{} of ", time.title())),
                "{name}: {hgrm}"
            );
            assert!(hlog.lines().any(|line| line.starts_with(&format!("Tag={},", time.tag()))), "{hlog}");
        }
    }
}
