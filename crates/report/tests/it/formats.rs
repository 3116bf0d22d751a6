//! A stored round in every format, compared with golden files.
//!
//! Also tests the published schema of a report, and that colours change nothing else. `grouping.rs` tests the grouping
//! of trials into tables and the standing of rows, `run_text.rs` the text of a single run.

use crate::built::{self, Seen};
use paceline_record::{Blame, Round, Severity, Stage, Trial, read_round, read_trial};
use paceline_report::{Options, Report};
use std::path::PathBuf;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// The stored round: written once with hand-chosen numbers, and kept permanently as a record of schema 1.
pub fn stored() -> (Round, Vec<Trial>) {
    let (round_at, trials_at) = (path("fixtures/quick.round.json"), path("fixtures/quick.trials.jsonl"));
    if !round_at.exists() && blessing() {
        let lines: Vec<String> = quick().iter().map(|trial| serde_json::to_string(trial).unwrap()).collect();
        std::fs::write(&round_at, serde_json::to_string_pretty(&built::round()).unwrap() + "\n").unwrap();
        std::fs::write(&trials_at, lines.join("\n") + "\n").unwrap();
    }
    let round = read_round(&std::fs::read_to_string(round_at).unwrap()).unwrap();
    let trials = std::fs::read_to_string(trials_at).unwrap();
    (round, trials.lines().map(|line| read_trial(line).unwrap()).collect())
}

pub fn check(name: &str, text: &str) {
    let at = path(&format!("golden/{name}"));
    if blessing() {
        std::fs::write(&at, text).unwrap();
    }
    let golden = std::fs::read_to_string(&at).unwrap_or_default();
    assert!(text == golden, "{name} differs from its golden file; BLESS=1 rewrites it. It is now:\n{text}");
}

fn report() -> Report {
    let (round, trials) = stored();
    Report::new(&round, &trials)
}

fn text(width: usize, colour: bool) -> String {
    report().text(Options { width, colour, full: width > 100 }).to_string()
}

#[test]
fn text_in_80_columns() {
    let text = text(80, false);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    check("quick-80.txt", &text);
}

#[test]
fn text_in_160_columns() {
    check("quick-160.txt", &text(160, false));
}

#[test]
fn colours_add_only_escape_sequences() {
    let coloured = text(120, true);
    assert!(coloured.contains('\u{1b}'));
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    let trimmed: Vec<&str> = bare.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", text(120, false));
}

#[test]
fn markdown() {
    check("quick.md", &report().markdown().to_string());
}

#[test]
fn csv() {
    let text = report().csv().to_string();
    let fields = |line: &str| line.split(',').count();
    let header = text.lines().next().unwrap();
    // No field before the last two contains a comma in this fixture, so plain lines have as many fields as the header.
    let plain = text.lines().skip(1).filter(|line| !line.contains('"'));
    assert!(plain.map(fields).all(|count| count == fields(header)));
    check("quick.csv", &text);
}

#[test]
fn json() {
    let text = report().json().to_string();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], 2);
    check("quick.json", &text);
}

#[test]
fn the_published_schema_matches_the_code() {
    let text = serde_json::to_string_pretty(&paceline_report::schema()).unwrap() + "\n";
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/report.schema.json");
    if blessing() {
        std::fs::write(&at, &text).unwrap();
    }
    let published = std::fs::read_to_string(at).unwrap_or_default();
    assert!(
        text == published,
        "docs/schema/report.schema.json is not the schema of a report; BLESS=1 rewrites it"
    );
}

/// Seven servers, three launches each, closed and open; one case of every failure.
fn quick() -> Vec<Trial> {
    let seen = |per_s, server_cpu_us, p50_us, p99_us, p99_9_us, rss_mb, start_ms, generator| Seen {
        per_s,
        server_cpu_us,
        p50_us,
        p99_us,
        p99_9_us,
        rss_mb,
        start_ms,
        generator,
    };
    let closed = [
        ("rust-hyper", seen(91_200.0, 9.8, 640.0, 1210.0, 2900.0, 5.2, 12.0, 0.97)),
        ("c-libuv", seen(93_400.0, 8.9, 655.0, 1150.0, 2100.0, 2.9, 8.0, 0.98)),
        ("go-nethttp", seen(41_250.0, 24.0, 1500.0, 3900.0, 8100.0, 14.8, 21.0, 0.52)),
        ("java-undertow", seen(40_310.0, 24.4, 1480.0, 4700.0, 16_200.0, 211.0, 840.0, 0.51)),
        ("node-http", seen(19_870.0, 50.1, 3120.0, 5400.0, 11_000.0, 68.3, 96.0, 0.27)),
        ("python-tornado", seen(2_914.0, 342.0, 21_700.0, 30_100.0, 41_000.0, 31.5, 410.0, 0.05)),
    ];
    let open = [
        ("rust-hyper", seen(2000.0, 21.2, 61.0, 143.0, 410.0, 5.2, 12.0, 0.21)),
        ("c-libuv", seen(2000.0, 19.9, 58.0, 131.0, 390.0, 2.9, 8.0, 0.2)),
        ("go-nethttp", seen(2000.0, 43.0, 77.0, 214.0, 890.0, 14.8, 21.0, 0.22)),
        ("java-undertow", seen(1999.6, 42.4, 81.0, 260.0, 1900.0, 211.0, 840.0, 0.23)),
        ("node-http", seen(2000.0, 72.0, 102.0, 380.0, 1300.0, 68.3, 96.0, 0.22)),
        ("python-tornado", seen(1604.0, 610.0, 290_000.0, 610_000.0, 640_000.0, 31.9, 410.0, 0.14)),
    ];
    let loads = [(built::closed(), closed), (built::open(), open)];
    let mut trials = Vec::new();
    for (load, rows) in loads {
        for (server, seen) in rows {
            trials.extend(
                (0..3).map(|repeat| built::trial(server, &load, repeat, jittered(seen, repeat, &load))),
            );
        }
        let message = "it did not answer within 10 s; the last lines of its log: ModuleNotFoundError: No module named 'twisted'";
        trials.extend(
            (0..3).map(|repeat| built::failed("python-twisted", &load, repeat, Stage::Start, message)),
        );
    }
    afflict(&mut trials);
    trials
}

/// Three launches around a figure: a little above, a little below, and itself.
fn jittered(seen: Seen, repeat: u32, load: &paceline_record::Load) -> Seen {
    let share = [1.0, 1.021, 0.983][repeat as usize];
    let open = load.rate_per_s.is_some();
    Seen {
        per_s: if open { seen.per_s } else { seen.per_s * share },
        server_cpu_us: seen.server_cpu_us / share,
        p50_us: seen.p50_us / share,
        p99_us: seen.p99_us / share.powi(3),
        p99_9_us: seen.p99_9_us / share.powi(9),
        start_ms: seen.start_ms * share.powi(2),
        ..seen
    }
}

/// Verdicts, a launch that failed under load, and one that a verdict makes invalid.
fn afflict(trials: &mut [Trial]) {
    for trial in trials.iter_mut() {
        let Some(run) = trial.run.as_mut() else { continue };
        if run.generator.utilization > 0.9 {
            run.verdicts.push(built::verdict(
                "generator_bound",
                Blame::Generator,
                Severity::Caution,
                "Give the generator more cores (--threads), or compare CPU per request at a fixed rate.",
            ));
        }
        if trial.server.id == "node-http" && trial.repeat == 1 {
            trial.verdicts.push(built::verdict(
                "steal",
                Blame::Environment,
                Severity::Note,
                "The hypervisor took 2 % of the cores; repeat on a quieter machine.",
            ));
        }
        if trial.server.id == "python-tornado" && run.rate_per_s.offered.is_some() {
            run.verdicts.push(built::verdict(
                "saturated",
                Blame::Server,
                Severity::Caution,
                "Offer less than it can serve, or read the achieved rate instead of the times.",
            ));
        }
    }
    if let Some(trial) = trials.iter_mut().find(|t| t.server.id == "java-undertow" && t.repeat == 2) {
        *trial = built::failed(
            "java-undertow",
            &built::closed(),
            2,
            Stage::Load,
            "the server ended with status 137 after 1.2 s of load",
        );
    }
}
