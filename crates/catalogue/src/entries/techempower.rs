//! Entries of TechEmpower's framework benchmarks: a folder with `benchmark_config.json`, and a Dockerfile for each
//! test.
//!
//! The keys and their meaning are those of its last version (March 2026): a test named `default` has the name of the
//! framework, every other `<framework>-<test>`, and so has its Dockerfile.

use super::manifest_text::{ContainerText, ManifestText, RunText};
use super::{Entries, EntryFolder, ImportedServer, SkippedTest, id_of};
use crate::workload::is_path;
use serde::de::{self, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// The name by which every entry with a database knows its host.
const DATABASE_HOST: &str = "tfb-database";
/// Why a test is skipped whose name a later one has: the board's harness, which reads JSON with Python, uses that one.
const REPLACED: &str = "another test of this name follows in the same object";
/// The language of a test that names none.
const OTHER: &str = "Other";
/// How long its harness waits for a server, in seconds.
const START_TIMEOUT_S: u64 = 60;
/// The key of a test's path, our workload, its usual path, and whether it needs the database.
const TESTS: [(&str, &str, &str, bool); 6] = [
    ("json_url", "json", "/json", false),
    ("plaintext_url", "plaintext", "/plaintext", false),
    ("db_url", "db", "/db", true),
    ("query_url", "queries", "/queries?queries=", true),
    ("fortune_url", "fortunes", "/fortunes", true),
    ("update_url", "updates", "/updates?queries=", true),
];

/// Reads the tests of one folder.
///
/// # Errors
/// What is wrong with the description, in words.
pub fn read(entry: &EntryFolder<'_>) -> Result<Entries, String> {
    let json: Value = serde_json::from_str(entry.text).map_err(|error| format!("not valid JSON: {error}"))?;
    let framework = json.get("framework").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
    let framework = framework.ok_or("`framework` is missing or not a text")?;
    json.get("tests").filter(|tests| tests.is_array()).ok_or("`tests` is missing or not a list")?;
    let mut entries = Entries::default();
    for NamedTest { name, test, is_replaced } in named_tests(entry.text)? {
        let full_name = if name == "default" { framework.to_owned() } else { format!("{framework}-{name}") };
        let language = test.get("language").and_then(Value::as_str).unwrap_or_default();
        let id = id_of(Some(language).filter(is_named).unwrap_or(OTHER), &full_name);
        let read = match test.as_object() {
            _ if is_replaced => Err(REPLACED.to_owned()),
            Some(test) => server(entry, framework, &full_name, test),
            None => Err("the test is not an object".to_owned()),
        };
        match read {
            Ok(server) => entries.servers.push(server),
            Err(why) => {
                let (id, language) = (Some(id), language.to_owned());
                entries.skipped.push(SkippedTest { test: full_name, id, language, why });
            }
        }
    }
    Ok(entries)
}

/// A test, and whether a later one of the same object has its name.
struct NamedTest {
    name: String,
    test: Value,
    is_replaced: bool,
}

/// The tests of a description: those of each object sorted by name, and in the order of the file where it is the same.
fn named_tests(text: &str) -> Result<Vec<NamedTest>, String> {
    let listed: ListedTests =
        serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
    let mut all = Vec::new();
    for one in listed.tests {
        let mut tests = match one {
            ListedTest::Object(TestObject(tests)) => tests,
            ListedTest::Other(IgnoredAny) => continue,
        };
        tests.sort_by(|a, b| a.0.cmp(&b.0));
        let mut tests = tests.into_iter().peekable();
        while let Some((name, test)) = tests.next() {
            let is_replaced = tests.peek().is_some_and(|(next, _)| *next == name);
            all.push(NamedTest { name, test, is_replaced });
        }
    }
    Ok(all)
}

/// The part of a description that [`Value`] does not keep whole.
#[derive(Deserialize)]
struct ListedTests {
    tests: Vec<ListedTest>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ListedTest {
    Object(TestObject),
    Other(IgnoredAny),
}

/// Tests with their names, also if they have the same.
struct TestObject(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for TestObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TestObjectVisitor)
    }
}

struct TestObjectVisitor;

impl<'de> de::Visitor<'de> for TestObjectVisitor {
    type Value = TestObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tests")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut tests: A) -> Result<TestObject, A::Error> {
        let mut all = Vec::new();
        while let Some(test) = tests.next_entry()? {
            all.push(test);
        }
        Ok(TestObject(all))
    }
}

fn server(
    entry: &EntryFolder<'_>,
    framework: &str,
    full_name: &str,
    test: &Map<String, Value>,
) -> Result<ImportedServer, String> {
    let text = |key: &str| test.get(key).and_then(Value::as_str).filter(is_named);
    if test.get("tags").is_some_and(is_broken) {
        return Err("marked as broken".to_owned());
    }
    for key in ["dockerfile", "database"] {
        // Without it another image would be built, or the server would start without its database.
        if test.get(key).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(format!("its `{key}` is not a text"));
        }
    }
    let dockerfile = text("dockerfile").map_or_else(|| format!("{full_name}.dockerfile"), str::to_owned);
    if dockerfile.contains('/') {
        return Err("its Dockerfile is in another folder".to_owned());
    }
    if !(entry.has_file)(&dockerfile) {
        return Err("its Dockerfile is missing".to_owned());
    }
    let database = database(text("database"))?;
    let port = port(test.get("port"))?;
    let (workloads, paths, left_out) = workloads(test, database.is_some())?;
    let language = text("language").unwrap_or(OTHER);
    let stripped = text("approach").is_some_and(|approach| approach.eq_ignore_ascii_case("stripped"));
    let about = ["orm", "platform", "webserver", "versus"]
        .iter()
        .filter_map(|key| Some(format!("{key}:{}", text(key)?.to_lowercase())));
    let style = if stripped { "tuned" } else { "idiomatic" }.to_owned();
    let args = [
        ("BENCHMARK_ENV", "paceline".to_owned()),
        ("TFB_TEST_NAME", full_name.to_owned()),
        ("TFB_TEST_DATABASE", text("database").unwrap_or("none").to_lowercase()),
    ];
    let command = command(test.get("docker_cmd"))?;
    let manifest = ManifestText {
        name: text("display_name").unwrap_or(framework).to_owned(),
        language: language.to_owned(),
        framework: text("framework").unwrap_or(framework).to_owned(),
        engine: text("webserver").or(text("platform")).unwrap_or(framework).to_owned(),
        kind: kind(text("classification")),
        tags: [style, "techempower".to_owned()].into_iter().chain(about).collect(),
        workloads,
        databases: database.into_iter().collect(),
        database_at_start: database.is_some(),
        port,
        hosts: database.map(|_| DATABASE_HOST).into_iter().collect(),
        paths,
        container: ContainerText {
            dockerfile,
            source: entry.folder.to_owned(),
            command,
            rights: Vec::new(),
            args: args.into(),
            mounts: BTreeMap::new(),
        },
        run: RunText { start_timeout_s: START_TIMEOUT_S, env: BTreeMap::new() },
    };
    let origin = format!("TechEmpower's test {full_name}, imported by `paceline lab import techempower`.");
    let (id, language) = (id_of(language, full_name), language.to_owned());
    Ok(ImportedServer { id, language, manifest: manifest.render(&origin)?, left_out })
}

/// Whether a text is a name: `None` is none.
fn is_named(text: &&str) -> bool {
    !text.trim().is_empty() && !text.eq_ignore_ascii_case("none")
}

/// Whether tags, a list or a single one, mark a test as broken: its harness looks for the word in either.
fn is_broken(tags: &Value) -> bool {
    let is_mark = |tag: &Value| tag.as_str().is_some_and(|tag| tag.eq_ignore_ascii_case("broken"));
    tags.as_array().map_or_else(|| is_mark(tags), |tags| tags.iter().any(is_mark))
}

/// The command in place of the image's, none for no words. The Docker library of its harness accepts a list too, and
/// splits a text like this.
fn command(docker_cmd: Option<&Value>) -> Result<Vec<String>, String> {
    let words: Option<Vec<String>> = match docker_cmd {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => {
            let text = Some(text.as_str()).filter(is_named).unwrap_or_default();
            let words = shlex::split(text);
            return words.ok_or_else(|| "its `docker_cmd` has a quote without an end".to_owned());
        }
        Some(Value::Array(words)) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    words.ok_or_else(|| "its `docker_cmd` is neither a text nor a list of texts".to_owned())
}

/// Our database for theirs; `None` if the test needs none.
fn database(name: Option<&str>) -> Result<Option<&'static str>, String> {
    match name.unwrap_or_default().to_lowercase().as_str() {
        "" => Ok(None),
        "postgres" => Ok(Some("postgresql")),
        "mysql" => Ok(Some("mariadb")),
        "mongodb" => Err("needs MongoDB".to_owned()),
        other => Err(format!("needs the database {other}")),
    }
}

/// The port: a number, in some files as a text.
fn port(value: Option<&Value>) -> Result<u16, String> {
    let number = value.and_then(|value| match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    });
    let port = number.and_then(|number| u16::try_from(number).ok()).filter(|port| *port > 0);
    port.ok_or_else(|| "`port` is not a port".to_owned())
}

fn kind(classification: Option<&str>) -> &'static str {
    match classification.unwrap_or_default().to_lowercase().as_str() {
        "fullstack" => "full",
        "micro" => "micro",
        _ => "platform",
    }
}

/// The workloads of a test, the paths that differ from theirs, and what has no workload here.
#[expect(clippy::type_complexity, reason = "three lists, used once")]
fn workloads(
    test: &Map<String, Value>,
    has_database: bool,
) -> Result<(Vec<&'static str>, BTreeMap<&'static str, String>, Vec<String>), String> {
    let (mut workloads, mut paths, mut left_out) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (key, workload, usual, needs_database) in TESTS {
        let Some(path) = test.get(key) else { continue };
        let path =
            path.as_str().filter(|path| is_path(path)).ok_or_else(|| format!("`{key}` is not a path"))?;
        if needs_database && !has_database {
            left_out.push(format!("{workload} (the test names no database)"));
            continue;
        }
        workloads.push(workload);
        if path != usual {
            paths.insert(workload, path.to_owned());
        }
    }
    if test.contains_key("cached_query_url") {
        left_out.push("cached queries".to_owned());
    }
    match workloads.is_empty() {
        true => Err("it has no test type that is a workload here".to_owned()),
        false => Ok((workloads, paths, left_out)),
    }
}
