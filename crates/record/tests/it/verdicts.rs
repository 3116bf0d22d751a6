//! `docs/reading-a-verdict.md` explains every verdict there is, and none that there is not.
//!
//! The names are read off the source, here and in the lab, so that a new judge without an explanation fails here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every `.rs` file under `folder`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The text literals right after `opening` outside of tests.
fn literals_after<'a>(text: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let rest = code.split(opening).skip(1);
    rest.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
}

/// The names of verdicts made in a source file: by the constructor, or field by field.
fn names_in(text: &str) -> Vec<String> {
    let dense = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let made = literals_after(&dense, "Verdict::new(").chain(literals_after(&dense, "Verdict { name:"));
    made.map(str::to_owned).collect()
}

fn in_the_code() -> BTreeSet<String> {
    let mut files = Vec::new();
    for folder in ["crates/record/src", "crates/lab/src", "crates/paceline/src"] {
        sources(&root().join(folder), &mut files);
    }
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.flat_map(|text| names_in(&text)).collect()
}

fn in_the_guide() -> BTreeSet<String> {
    let guide = fs::read_to_string(root().join("docs/reading-a-verdict.md")).unwrap();
    let headings = guide.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    headings.map(str::to_owned).collect()
}

#[test]
fn every_verdict_is_explained() {
    let (code, guide) = (in_the_code(), in_the_guide());
    assert!(code.contains("saturated") && code.contains("shared_cores"), "verdicts were not found: {code:?}");
    let silent: Vec<_> = code.difference(&guide).collect();
    let stale: Vec<_> = guide.difference(&code).collect();
    assert!(silent.is_empty(), "docs/reading-a-verdict.md has no heading for {silent:?}");
    assert!(stale.is_empty(), "docs/reading-a-verdict.md explains what no code says: {stale:?}");
}

#[test]
fn names_are_read_off_the_source() {
    let text = r#"Verdict::new("one", Blame::User) Verdict::new(name, x)
        Verdict::new(
            "two", y) Verdict {
            name: "three".into() } #[cfg(test)] Verdict::new("four", z)"#;
    assert_eq!(names_in(text), ["one", "two", "three"]);
}
