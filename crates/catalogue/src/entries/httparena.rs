//! Entries of HttpArena: a folder with `meta.json` and one Dockerfile.

use super::manifest_text::{ContainerText, ManifestText, RunText};
use super::{Entries, EntryFolder, ImportedServer, SkippedTest, id_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The port for HTTP/1.1.
const PORT: u16 = 8080;
/// How long its harness waits for a server, in seconds.
const START_TIMEOUT_S: u64 = 30;
/// Where an entry reads the data of the profiles of JSON, and our file of the same form.
const ITEMS: (&str, &str) = ("/data/dataset.json", "arena-items.json");
/// Where an entry reads the files of the profile `static`, and the lab's folder of such files.
const STATIC_FILES: (&str, &str) = ("/data/static", "static");
/// Our database with the table `items`.
const DATABASE: &str = "postgresql";
/// The host of the database in its address.
const DATABASE_HOST: &str = "localhost";
/// What an entry reads from its environment: the address of the database, and how many connections it may open.
const DATABASE_ENV: [(&str, &str); 2] =
    [("DATABASE_URL", "postgres://bench:bench@localhost:5432/benchmark"), ("DATABASE_MAX_CONN", "256")];
/// A profile, and our workload for it.
const PROFILES: [(&str, &str); 13] = [
    ("baseline", "arena-baseline"),
    ("limited-conn", "arena-baseline"),
    ("pipelined", "arena-pipeline"),
    ("json", "arena-json"),
    ("json-comp", "arena-json-comp"),
    ("upload", "arena-upload"),
    ("static", "arena-static"),
    ("async-db", "arena-async-db"),
    ("crud", "arena-crud"),
    ("echo-ws", "echo"),
    ("echo-ws-pipeline", "echo"),
    ("echo-ws-limited", "echo"),
    ("unary-grpc", "grpc-sum"),
];

/// Reads the entry in one folder.
///
/// # Errors
/// What is wrong with the description, in words.
pub fn read(entry: &EntryFolder<'_>) -> Result<Entries, String> {
    let json: Value = serde_json::from_str(entry.text).map_err(|error| format!("not valid JSON: {error}"))?;
    let json = json.as_object().ok_or("the description is not an object")?;
    let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
    let folder_name =
        entry.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let profiles = json.get("tests").and_then(Value::as_array).ok_or("`tests` is missing or not a list")?;
    let profiles: Vec<&str> = profiles.iter().filter_map(Value::as_str).collect();
    let of_profile =
        |profile: &&str| PROFILES.iter().find(|(name, _)| name == profile).map(|(_, ours)| *ours);
    let workloads: BTreeSet<&str> = profiles.iter().filter_map(of_profile).collect();
    let left_out = profiles.iter().filter(|profile| of_profile(profile).is_none());
    let left_out = left_out.map(|profile| (*profile).to_owned()).collect();
    let why = match () {
        () if json.get("enabled") == Some(&Value::Bool(false)) => Some("not enabled"),
        () if !(entry.has_file)("Dockerfile") => Some("its Dockerfile is missing"),
        () if (entry.has_file)("build.sh") => Some("its build needs files outside its folder"),
        () if workloads.is_empty() => Some("it has no profile that is a workload here"),
        () => None,
    };
    let language = if text("language").is_empty() { "Other" } else { text("language") }.to_owned();
    // Many frameworks are on both boards.
    let id = id_of(&language, &format!("{folder_name}-arena"));
    if let Some(why) = why {
        let skipped = vec![SkippedTest { test: folder_name, id: Some(id), language, why: why.to_owned() }];
        return Ok(Entries { servers: Vec::new(), skipped });
    }
    let is_idiomatic = matches!(text("type"), "production" | "");
    let needs_items = workloads.contains("arena-json") || workloads.contains("arena-json-comp");
    let needs_static_files = workloads.contains("arena-static");
    let needs_database = workloads.contains("arena-async-db") || workloads.contains("arena-crud");
    let mounts = [needs_items.then_some(ITEMS), needs_static_files.then_some(STATIC_FILES)];
    let io_uring = text("engine").contains("io_uring");
    let name = if text("display_name").is_empty() { folder_name.as_str() } else { text("display_name") };
    let style = if is_idiomatic { "idiomatic" } else { "tuned" };
    let kind_tag = (!text("type").is_empty()).then(|| format!("type:{}", text("type").to_lowercase()));
    let manifest = ManifestText {
        name: name.to_owned(),
        language: language.clone(),
        framework: name.to_owned(),
        engine: text("engine").to_owned(),
        kind: "micro",
        tags: [style, "httparena"].map(str::to_owned).into_iter().chain(kind_tag).collect(),
        workloads: workloads.into_iter().collect(),
        databases: needs_database.then_some(DATABASE).into_iter().collect(),
        // Its address is in the environment of every launch.
        database_at_start: needs_database,
        port: PORT,
        hosts: needs_database.then_some(DATABASE_HOST).into_iter().collect(),
        paths: BTreeMap::new(),
        container: ContainerText {
            dockerfile: "Dockerfile".to_owned(),
            source: entry.folder.to_owned(),
            command: Vec::new(),
            rights: io_uring.then_some("io_uring").into_iter().collect(),
            args: BTreeMap::new(),
            mounts: mounts.into_iter().flatten().collect(),
        },
        run: RunText {
            start_timeout_s: START_TIMEOUT_S,
            env: DATABASE_ENV.into_iter().filter(|_| needs_database).collect(),
        },
    };
    let origin = format!("HttpArena's entry {folder_name}, imported by `paceline lab import httparena`.");
    let server = ImportedServer { id, language, manifest: manifest.render(&origin)?, left_out };
    Ok(Entries { servers: vec![server], skipped: Vec::new() })
}
