//! Reads the files of released versions, and checks that what they promised still holds (CONTRIBUTING, "Stability").
//!
//! `tests/fixtures/VERSION/` has the records, the exported round, the plan, the manifests, the request file and the job
//! of that version, and `keys.txt` with the keys of its JSON outputs. A release adds a folder; existing ones are never
//! changed. `UPDATE=1` writes the `keys.txt` that a new folder lacks.

use crate::reference::{PACELINE, ReferenceServer};
use paceline_store::archive;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Outputs with a published schema, `docs/schema/NAME.schema.json`.
const SCHEMAS: [&str; 4] = ["run", "trial", "second", "report"];

/// The folders of the released versions.
fn versions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let versions: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!versions.is_empty());
    versions
}

#[test]
fn files_that_name_the_latest_release_agree() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, named) in [
        ("action.yml", format!("default: {version}\n")),
        ("docs/ci/github.yml", format!("/paceline@v{version}\n")),
        ("README.md", format!("paceline-{version}-x86_64-linux.tar.gz")),
        ("docs/installing.md", format!("paceline_{version}_amd64.deb")),
        ("CHANGELOG.md", format!("\n## {version}\n")),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        assert!(fs::read_to_string(path).unwrap().contains(&named), "{file} does not contain {named:?}");
    }
}

/// Runs the binary in a folder; its results, if any, go to another one.
fn paceline(folder: &Path, arguments: &[&str]) -> Output {
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(PACELINE);
    command.args(arguments).current_dir(folder).env("PACELINE_HOME", state.path()).stdin(Stdio::null());
    command.output().unwrap()
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = paceline(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments:?} in {}: {error}", folder.display());
    String::from_utf8(output.stdout).unwrap() + &error
}

/// Lists the values of `old` that `new` lacks or has differently; `new` may have more keys.
fn changed(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            // Null and a missing key mean the same: not measured.
            for (key, value) in old.iter().filter(|(_, value)| !value.is_null()) {
                changed(value, new.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                changed(old, new, &format!("{at}[{index}]"), found);
            }
        }
        (Value::Number(old), Value::Number(new)) if old.as_f64() == new.as_f64() => {}
        (old, new) if old == new => {}
        (old, new) => found.push(format!("{at}: {old} became {new}")),
    }
}

fn assert_unchanged(old: &Value, new: &impl serde::Serialize, what: &str) {
    let mut found = Vec::new();
    changed(old, &serde_json::to_value(new).unwrap(), "", &mut found);
    assert!(found.is_empty(), "{what} loses values when it is read:\n{}", found.join("\n"));
}

#[test]
fn records_of_released_versions_are_read_without_loss() {
    for version in versions() {
        for name in ["run-closed.json", "run-open.json", "run-sessions.json"] {
            let text = fs::read_to_string(version.join(name)).unwrap();
            let run = paceline_record::read_run(&text).unwrap();
            assert_unchanged(&serde_json::from_str(&text).unwrap(), &run, name);
            assert!(printed(&version, &["report", name]).contains("requests/s"), "{name}");
        }
    }
}

#[test]
fn exported_rounds_of_released_versions_are_read_without_loss() {
    for version in versions() {
        let folder = version.join("export");
        let (round, trials) = archive::read(&folder).unwrap();
        let text = fs::read_to_string(folder.join(archive::ROUND)).unwrap();
        assert_unchanged(&serde_json::from_str(&text).unwrap(), &round, "the round");
        let packed = fs::File::open(folder.join(archive::TRIALS)).unwrap();
        let lines = std::io::read_to_string(flate2::read::GzDecoder::new(packed)).unwrap();
        assert_eq!(lines.lines().count(), trials.len());
        for line in lines.lines() {
            let trial = paceline_record::read_trial(line).unwrap();
            assert_unchanged(&serde_json::from_str(line).unwrap(), &trial, "a trial");
        }
        let report = printed(&version, &["report", "--from", "export", "--full"]);
        assert!(report.contains("python-demo"), "{report}");
    }
}

#[test]
fn plans_and_manifests_of_released_versions_are_read() {
    for version in versions() {
        let project = version.join("project");
        let demo = printed(&project, &["round", "plans/demo.toml", "--estimate"]);
        assert!(demo.contains("4 launches, 8 trials"), "{demo}");
        let every_key = printed(&project, &["round", "plans/every-key.toml", "--estimate"]);
        assert!(every_key.contains("36 launches, 112 trials"), "{every_key}");
        let list = printed(&project, &["lab", "list"]);
        assert!(list.contains("python-demo") && !list.contains("cannot be used"), "{list}");
    }
}

#[test]
fn jobs_and_request_files_of_released_versions_are_read() {
    for version in versions() {
        let job = printed(&version, &["run", "--job", "job.toml", "--print-job"]);
        assert_eq!(job, fs::read_to_string(version.join("job.toml")).unwrap());
        let flags = ["-c", "4", "-r", "10", "--arrivals", "poisson", "-d", "2s", "--print-job"];
        let url = "http://127.0.0.1:8080/hello";
        let mix = printed(&version, &[&["run", url, "--mix", "mix.toml"][..], &flags].concat());
        assert_eq!(mix, job);
    }
}

/// A line for each object of a schema: its path, and its keys with their types. A key that is always present has a star.
fn keys_of(schema: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut keys = BTreeMap::new();
    collect_keys(schema, schema, String::from("."), &mut Vec::new(), &mut keys);
    keys
}

fn collect_keys<'a>(
    root: &'a Value,
    schema: &'a Value,
    at: String,
    inside: &mut Vec<&'a str>,
    keys: &mut BTreeMap<String, BTreeSet<String>>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        if !inside.contains(&reference) {
            inside.push(reference);
            collect_keys(root, resolved(root, reference), at, inside, keys);
            inside.pop();
        }
        return;
    }
    for form in ["anyOf", "oneOf", "allOf"].iter().filter_map(|form| schema[form].as_array()).flatten() {
        collect_keys(root, form, at.clone(), inside, keys);
    }
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        let star = if required.contains(&&Value::from(key.as_str())) { "*" } else { "" };
        let entry = format!("{key}{star}:{}", type_of(root, value).join("|"));
        keys.entry(at.clone()).or_default().insert(entry);
        collect_keys(root, value, format!("{at}{key}."), inside, keys);
    }
    for (place, of) in [("items", "[]."), ("additionalProperties", "{}.")] {
        if schema[place].is_object() {
            collect_keys(root, &schema[place], format!("{}{of}", at.trim_end_matches('.')), inside, keys);
        }
    }
}

fn resolved<'a>(root: &'a Value, reference: &str) -> &'a Value {
    root.pointer(reference.trim_start_matches('#')).unwrap()
}

/// The JSON types of a value, sorted.
fn type_of(root: &Value, schema: &Value) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return type_of(root, resolved(root, reference));
    }
    let forms = ["anyOf", "oneOf", "allOf"].iter().filter_map(|form| schema[form].as_array()).flatten();
    let named = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    };
    let named = named.into_iter().map(|name| name.as_str().unwrap().to_owned());
    let types: BTreeSet<_> = forms.flat_map(|form| type_of(root, form)).chain(named).collect();
    types.into_iter().collect()
}

/// The keys of all outputs, one line for each object.
fn current_keys() -> BTreeMap<String, BTreeSet<String>> {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let of = |name: &str| {
        let text = fs::read_to_string(schemas.join(format!("{name}.schema.json"))).unwrap();
        let keys = keys_of(&serde_json::from_str(&text).unwrap());
        keys.into_iter().map(|(at, keys)| (format!("{name}{at}"), keys)).collect::<Vec<_>>()
    };
    SCHEMAS.into_iter().flat_map(of).collect()
}

#[test]
fn keys_of_released_versions_are_still_there_with_their_types() {
    let current = current_keys();
    for version in versions() {
        let path = version.join("keys.txt");
        if std::env::var_os("UPDATE").is_some() && !path.exists() {
            let words = |keys: &BTreeSet<String>| keys.iter().cloned().collect::<Vec<_>>().join(" ");
            let lines = current.iter().map(|(at, keys)| format!("{at} {}\n", words(keys)));
            fs::write(&path, lines.collect::<String>()).unwrap();
        }
        let released = fs::read_to_string(&path).unwrap();
        assert!(released.lines().count() > 200, "{}", path.display());
        let gone: Vec<_> = released.lines().flat_map(|line| missing_keys(line, &current)).collect();
        assert!(
            gone.is_empty(),
            "removed, renamed or of another type, or no longer always present: {gone:#?}"
        );
    }
}

fn missing_keys(line: &str, current: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let (at, keys) = line.split_once(' ').unwrap();
    // A key that is now always present, with a star, was perhaps absent before: a reader notices no difference.
    let is_there = |key: &&str| {
        current.get(at).is_some_and(|now| now.contains(*key) || now.contains(&key.replacen(':', "*:", 1)))
    };
    keys.split(' ').filter(|key| !is_there(key)).map(|key| format!("{at}{key}")).collect()
}

#[test]
fn a_removed_key_and_another_type_are_found() {
    let keys = |schema: &str| keys_of(&serde_json::from_str(schema).unwrap());
    let now = keys(
        r##"{"properties": {"a": {"type": "string"}, "b": {"$ref": "#/d"}}, "required": ["a"],
        "d": {"properties": {"c": {"type": ["integer", "null"]}}, "type": "object"}}"##,
    );
    for (line, missing) in [
        (". a*:string b:object", &[][..]),
        (".b. c:integer|null", &[]),
        (". a:string", &[]),
        (".b. c*:integer|null", &[".b.c*:integer|null"]),
        (".b. c:integer", &[".b.c:integer"]),
        (". a:integer x:string", &[".a:integer", ".x:string"]),
    ] {
        assert_eq!(missing_keys(line, &now), missing, "{line}");
    }
}

/// An interrupted run, 130, is tested with the outputs of runs that end early.
#[test]
fn exit_statuses_mean_what_they_meant() {
    let server = ReferenceServer::start("immediate");
    let url = server.url();
    let folder = tempfile::tempdir().unwrap();
    // A port that nothing listens on: bound, but not listening.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}/");
    let short = ["-c", "2", "-n", "40", "--allow-invalid"];
    for (arguments, status) in [
        ([&["run", &url][..], &short].concat(), 0),
        ([&["run", &url][..], &short, &["--expect-status", "404", "--max-errors", "0"]].concat(), 1),
        (["run", &url, "--no-such-flag"].to_vec(), 2),
        (["round", "missing.toml"].to_vec(), 2),
        (["run", &closed, "-n", "1", "--connect-timeout", "1s"].to_vec(), 3),
    ] {
        let output = paceline(folder.path(), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    }
}
