//! Checks the dependencies between the crates of the workspace against the list of ARCHITECTURE.md.
//!
//! The list is repeated here by hand: the document itself is not read. cargo-deny checks external crates and their
//! licences (`deny.toml`).

use super::Violation;
use super::files::root;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Each existing crate and its allowed dependencies. A new line here needs a new line in ARCHITECTURE.md.
const DESIGNED: &[(&str, &[&str])] = &[
    ("files", &[]),
    ("escape", &[]),
    ("stats", &[]),
    ("grpc", &[]),
    ("http", &[]),
    ("job", &["http"]),
    ("engine", &["stats", "http", "job"]),
    ("record", &["stats", "job"]),
    ("judge", &["escape", "record", "stats"]),
    ("store", &["files", "record"]),
    ("peers", &["http", "job", "record", "stats"]),
    ("lua", &["engine", "http", "peers"]),
    ("import", &["peers", "record"]),
    ("catalogue", &["files", "job", "record", "stats"]),
    ("host", &["escape", "files", "record"]),
    ("profile", &["files", "record"]),
    ("lab", &["catalogue", "escape", "files", "host", "http", "job", "judge", "peers", "record", "stats"]),
    ("run", &["engine", "files", "grpc", "host", "http", "job", "judge", "record", "stats"]),
    ("loaders", &["engine", "escape", "host", "job", "judge", "record", "run"]),
    ("report", &["escape", "judge", "record", "stats"]),
    ("web", &["escape", "experiment", "files", "judge", "stats", "record", "report", "store"]),
    ("experiment", &["escape", "judge", "record", "report", "stats"]),
    (
        "paceline",
        &[
            "stats",
            "http",
            "job",
            "engine",
            "escape",
            "experiment",
            "files",
            "import",
            "record",
            "judge",
            "store",
            "catalogue",
            "host",
            "lab",
            "loaders",
            "lua",
            "peers",
            "profile",
            "run",
            "report",
            "web",
        ],
    ),
];

type Edges = BTreeMap<String, BTreeSet<String>>;

/// Dependencies that are not designed, and designed ones that do not exist. The tests of a crate may also use its
/// indirect dependencies, and the crate itself with a feature for tests, but no other crate.
pub fn undesigned_edges() -> Vec<Violation> {
    let designed: Edges = DESIGNED
        .iter()
        .map(|(name, edges)| ((*name).to_owned(), edges.iter().map(|edge| (*edge).to_owned()).collect()))
        .collect();
    let [of_code, of_tests] = edges();
    let mut found = differences(&designed, &of_code);
    for (name, targets) in &of_tests {
        let below = below(&designed, name);
        let beyond = targets.difference(&below).filter(|target| *target != name);
        found.extend(beyond.map(|target| format!("crates/{name}/Cargo.toml: its tests reach for {target}")));
    }
    found
}

fn differences(designed: &Edges, of_code: &Edges) -> Vec<Violation> {
    let none = BTreeSet::new();
    let names: BTreeSet<&String> = designed.keys().chain(of_code.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let (wanted, there) = (designed.get(name).unwrap_or(&none), of_code.get(name).unwrap_or(&none));
        if !designed.contains_key(name) {
            found.push(format!("crates/{name}: is not designed"));
        }
        for edge in there.difference(wanted) {
            found.push(format!("crates/{name}/Cargo.toml: depends on {edge}, which is not designed"));
        }
        for edge in wanted.difference(there) {
            found.push(format!("crates/{name}/Cargo.toml: does not depend on {edge}, as designed"));
        }
    }
    found
}

/// All direct and indirect dependencies of a crate.
fn below(designed: &Edges, name: &str) -> BTreeSet<String> {
    let near = designed.get(name).cloned().unwrap_or_default();
    near.iter().flat_map(|crate_| below(designed, crate_)).chain(near.clone()).collect()
}

/// The dependencies of the code and those of the tests, by folder name, as reported by cargo.
fn edges() -> [Edges; 2] {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut edges = [Edges::new(), Edges::new()];
    let packages = metadata["packages"].as_array().unwrap().iter();
    // Packages beside the crates (the comparison with other tools) are not part of the product.
    for package in packages.filter(|package| is_in_crates(&package["manifest_path"])) {
        let name = folder(package["name"].as_str().unwrap());
        edges[0].entry(name.clone()).or_default();
        for dependency in package["dependencies"].as_array().unwrap() {
            let target = dependency["name"].as_str().unwrap();
            if target.starts_with("paceline") {
                let of_tests = dependency["kind"] == "dev";
                edges[usize::from(of_tests)].entry(name.clone()).or_default().insert(folder(target));
            }
        }
    }
    edges
}

fn is_in_crates(manifest: &serde_json::Value) -> bool {
    let folder = std::path::Path::new(manifest.as_str().unwrap()).ancestors().nth(2);
    folder.is_some_and(|folder| folder.ends_with("crates"))
}

/// The folder of a crate: its name without the prefix.
fn folder(name: &str) -> String {
    name.strip_prefix("paceline-").unwrap_or(name).to_owned()
}

#[test]
fn differences_are_found_both_ways() {
    let edges = |pairs: &[(&str, &[&str])]| -> Edges {
        pairs.iter().map(|(name, to)| ((*name).into(), to.iter().map(|to| (*to).into()).collect())).collect()
    };
    let designed = edges(&[("a", &["b"]), ("b", &[])]);
    assert_eq!(differences(&designed, &designed), [] as [&str; 0]);
    assert_eq!(differences(&designed, &edges(&[("a", &[]), ("b", &["a"])])).len(), 2);
    assert_eq!(differences(&designed, &edges(&[("a", &["b"]), ("b", &[]), ("c", &[])])).len(), 1);
    assert_eq!(below(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]), "a").len(), 2);
}
