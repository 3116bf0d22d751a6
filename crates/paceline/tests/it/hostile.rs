//! Passes hostile text through every command that prints foreign text: in no format does it control the terminal or
//! become markup or a formula.
//!
//! Every text in an exported round, a baseline, a plan, a manifest and a response contains the same hostile characters.
//! `paceline-escape` defines which bytes each format escapes; these tests check that no output bypasses it.

use crate::faults::servers::always;
use crate::reference::PACELINE;
use paceline_experiment::ComparedMetric;
use paceline_record::{Round, Trial, read_round, read_trial};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The beginning of every text: a formula, a control sequence in both forms, a direction mark, a zero-width character,
/// HTML and Markdown markup.
const HOSTILE: &str = "=\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{200b}<b>|`\r";

/// Runs a command in a folder and returns everything it printed.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new(PACELINE).args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

/// Checks for control characters. Line ends of CSV have a carriage return.
fn check(what: &dyn std::fmt::Debug, text: &str) {
    let lines = text.replace("\r\n", "\n");
    let raw = lines
        .chars()
        .find(|letter| letter.is_control() && *letter != '\n' || matches!(letter, '\u{200b}' | '\u{202e}'));
    assert!(raw.is_none(), "{what:?} has {raw:?}: {text}");
}

/// A document in which every text begins with hostile characters, as far as it can still be read. Names of rounds and
/// trials are keys for links and stay unchanged.
fn infused(document: &str, reads: impl Fn(&str) -> bool) -> String {
    /// Finds the places of all texts, as JSON pointers.
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(items) => {
                (0..)
                    .zip(items)
                    .for_each(|(place, item): (usize, _)| places(item, &format!("{at}/{place}"), found));
            }
            Value::Object(entries) => entries.iter().for_each(|(key, entry)| {
                places(entry, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut value: Value = serde_json::from_str(document).unwrap();
    let mut found = Vec::new();
    places(&value, "", &mut found);
    // A document with a time that is none is refused.
    let is_data = |at: &String| at.ends_with("/histogram") || at.ends_with("_at");
    let is_kept = |at: &String| !["/id", "/round"].contains(&at.as_str()) && !is_data(at);
    for at in found.into_iter().filter(is_kept) {
        let place = value.pointer_mut(&at).unwrap();
        let before = place.as_str().unwrap().to_owned();
        *place = format!("{HOSTILE}{before}").into();
        if !reads(&value.to_string()) {
            *value.pointer_mut(&at).unwrap() = before.into();
        }
    }
    value.to_string()
}

/// Exports a hostile round with this id into a folder.
fn export(folder: &Path, id: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/fixtures");
    let text = |name: &str| std::fs::read_to_string(fixtures.join(name)).unwrap();
    let round = infused(&text("quick.round.json"), |text| read_round(text).is_ok());
    let round = Round { id: id.to_owned(), ..read_round(&round).unwrap() };
    let trials: Vec<Trial> = text("quick.trials.jsonl")
        .lines()
        .take(8)
        .map(|line| infused(line, |text| read_trial(text).is_ok()))
        .map(|line| Trial { round: id.to_owned(), ..read_trial(&line).unwrap() })
        .collect();
    assert!(trials[0].server.id.starts_with(HOSTILE) && trials[0].workload.starts_with(HOSTILE));
    let packed = paceline_store::archive::pack(&trials).unwrap();
    paceline_store::archive::write(&folder.join(id), &round, &packed, &[]).unwrap();
}

#[test]
fn a_hostile_export_is_escaped_in_all_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    ["a", "b"].iter().for_each(|id| export(folder, id));
    let store = "--store=kept.sqlite";
    let commands: &[&[&str]] = &[
        &["report", "--from", "a"],
        &["report", "--from", "a", "--full"],
        &["report", "--from", "a", "--workload", "none"],
        &["store", "import", "a", "b", store],
        &["store", "import", "a", store],
        &["store", "check", store],
        &["store", "prune", "--keep", "0", "--dry-run", store],
        &["report", "--list", store],
        &["report", "--copies", store],
        &["report", "a", "b", store],
        &["compare", "a", "b"],
        &["store", "delete", "b", store],
    ];
    for arguments in commands {
        let text = printed(folder, arguments);
        assert!(!text.is_empty(), "{arguments:?}");
        check(arguments, &text);
    }
    for format in ["text", "markdown", "csv", "json", "html"] {
        for base in
            [&["report", "--from", "a", "--format", format][..], &["compare", "a", "b", "--format", format]]
        {
            if base[0] == "compare" && format == "csv" {
                continue;
            }
            let text = printed(folder, base);
            check(&base, &text);
            assert!(text.len() > 200, "{base:?}: {text}");
            // In JSON every text is data, and a one-file page has all its data encoded.
            let markup = if format == "text" || format == "json" { "\u{1b}" } else { "<b>" };
            assert!(format == "csv" || !text.contains(markup), "{base:?}: {text}");
            assert!(format != "csv" || !text.contains(",="), "{base:?}: {text}");
        }
    }
    for chart in ["ranking", "percentiles", "load-curve"] {
        let svg = printed(folder, &["report", "--from", "a", "--svg", chart]);
        check(&chart, &svg);
        assert!(!svg.contains("<b>"), "{svg}");
    }
    let text = printed(folder, &["store", "export", "a", "exported", store]);
    assert!(text.contains("left out"), "{text}");
    for written in ["README.md", "report.md"] {
        let text = std::fs::read_to_string(folder.join("exported").join(written)).unwrap();
        check(&written, &text);
        assert!(!text.contains("<b>"), "{text}");
    }
}

#[test]
fn hostile_baselines_are_escaped_by_gate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, rate) in [("a.json", 10.0), ("b.json", 100.0)] {
        let values = [(ComparedMetric::RatePerS, vec![rate, rate * 1.01, rate * 1.02, rate * 1.01])].into();
        let samples =
            paceline_experiment::SampleSet { values, ..paceline_experiment::SampleSet::new(HOSTILE) };
        std::fs::write(folder.join(file), serde_json::to_string(&samples).unwrap()).unwrap();
    }
    let gate = ["gate", "a.json", "--against", "b.json", "--markdown", "gate.md", "--junit", "gate.xml"];
    let mut texts = vec![printed(folder, &gate)];
    for format in ["text", "markdown", "json", "html"] {
        texts.push(printed(folder, &["compare", "a.json", "b.json", "--format", format]));
    }
    for file in ["gate.md", "gate.xml"] {
        texts.push(std::fs::read_to_string(folder.join(file)).unwrap());
    }
    for (place, text) in texts.iter().enumerate() {
        check(&place, text);
        assert!(text.contains("2J"), "{place}: {text}");
    }
}

#[test]
fn hostile_files_of_a_catalogue_are_escaped_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in ["servers/s", "workloads", "plans", "balancers", "databases"] {
        std::fs::create_dir_all(folder.join(place)).unwrap();
    }
    // As a key, as the value of a known key, and as invalid TOML.
    let texts = [format!("name = {0:?}\n{0:?} = 1\n", HOSTILE), format!("name = {HOSTILE}")];
    let places =
        ["--servers-dir=servers", "--workloads-dir=workloads", "--plans-dir=plans", "--state-dir=state"];
    for text in texts {
        // Rust's escapes of some characters differ from those of TOML.
        let text = text.replace("\\u{", "\\U{").replace("\\U{1b}", "\\u001b").replace("\\U{7}", "\\u0007");
        let text = text
            .replace("\\U{9b}", "\\u009b")
            .replace("\\U{202e}", "\\u202e")
            .replace("\\U{200b}", "\\u200b");
        for file in
            ["servers/s/server.toml", "workloads/w.toml", "plans/p.toml", "job.toml", "mix.toml", "schedule"]
        {
            std::fs::write(folder.join(file), &text).unwrap();
        }
        let commands: &[&[&str]] = &[
            &["lab", "list"],
            &["lab", "list", "--format", "json"],
            &["lab", "check", "s"],
            &["round", "plans/p.toml", "--estimate"],
            &["run", "--job", "job.toml", "--print-job"],
            &["run", "http://127.0.0.1:9/", "--mix", "mix.toml", "--print-job"],
            &["run", "http://127.0.0.1:9/", "--schedule", "schedule", "--print-job"],
        ];
        for arguments in commands {
            let of_lab = ["lab", "round"].contains(&arguments[0]);
            let arguments = [*arguments, if of_lab { &places } else { &[] }].concat();
            let text = printed(folder, &arguments);
            assert!(!text.is_empty(), "{arguments:?}");
            check(&arguments, &text);
        }
    }
    for arguments in [["run", HOSTILE], ["round", HOSTILE], ["report", HOSTILE], [HOSTILE, HOSTILE]] {
        check(&arguments, &printed(folder, &arguments));
    }
}

#[test]
fn a_hostile_response_is_escaped_in_all_output() {
    let body = HOSTILE.replace('\r', "");
    let head = "HTTP/1.1 500 \u{9b}2J\u{202e}<b>|`\r\nServer: \u{9b}2J\u{202e}<b>|`\r\n";
    let response = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let url = format!("http://{}/", always(response.leak().as_bytes()));
    let expected = ["-n", "3", "-c", "1", "--expect-body", "other", "--allow-invalid"];
    let formats = ["text", "json", "csv", "markdown", "hgrm", "html"].map(|format| ["--format", format]);
    for flags in formats.iter().map(|format| &format[..]).chain([&["--debug"][..]]) {
        let arguments = [&["run", &url][..], &expected, flags].concat();
        let text = printed(Path::new("."), &arguments);
        assert!(!text.is_empty());
        check(&arguments, &text);
    }
}
