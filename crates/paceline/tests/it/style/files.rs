//! The files the style is about, as git knows them.
//!
//! The other rules take their files from here. Two rules are about files as such, their names and the links between
//! documents; what stands in code is `code.rs`'s, what stands in any text is `words.rs`'s.

use super::Violation;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names that say nothing of what is in a file or folder.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "misc", "miscellaneous", "manager", "managers"];

/// What tools wrote, with names and hosts of others: the bundle of the pages, and the lock file of its packages.
const GENERATED: [&str; 2] = ["ui/dist/", "ui/package-lock.json"];

/// A text file of the project.
pub struct File {
    /// Its path in the project, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl File {
    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is nothing but tests.
    pub fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }

    /// A violation at a line, counted from 1.
    pub fn at(&self, line: usize, what: &str) -> Violation {
        format!("{}:{line}: {what}", self.path)
    }
}

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file that is tracked, or new and not ignored.
pub fn tracked() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root())
            .output()
            .expect("the style test asks git which files there are: install git");
        let said = String::from_utf8_lossy(&listed.stderr);
        assert!(listed.status.success(), "the style test needs the git checkout: {said}");
        let paths = String::from_utf8(listed.stdout).unwrap();
        let files: Vec<File> = paths
            .split_terminator('\0')
            .filter(|path| !GENERATED.iter().any(|place| path.starts_with(place)))
            .filter_map(read)
            .collect();
        assert!(files.len() > 100, "git lists only {} files", files.len());
        files
    })
}

/// A file that is there (it may be deleted and not committed so) and text.
fn read(path: &str) -> Option<File> {
    let text = std::fs::read_to_string(root().join(path)).ok()?;
    Some(File { path: path.to_owned(), text })
}

/// A part of the path that says nothing of what is in it.
pub fn empty_name(file: &File) -> Vec<Violation> {
    let names = file.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
    let empty = names.filter(|name| name.split(['_', '-']).any(|word| EMPTY_NAMES.contains(&word)));
    empty.map(|name| file.at(1, &format!("\"{name}\" could be anything"))).collect()
}

/// Links of a document to files that are not there.
pub fn broken_links(file: &File) -> Vec<Violation> {
    if !file.path.ends_with(".md") {
        return Vec::new();
    }
    let folder = root().join(&file.path).parent().map(Path::to_path_buf).unwrap_or_default();
    let leads_nowhere = |target: &&str| !target.contains("://") && !folder.join(target).exists();
    let lines = file.text.lines().enumerate();
    let broken = lines.flat_map(|(index, line)| {
        links(line).filter(leads_nowhere).map(move |target| file.at(index + 1, &format!("no file {target}")))
    });
    broken.collect()
}

/// The targets of the Markdown links of a line, without their anchors; those within the document are left out.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter_map(|target| target.split('#').next()).filter(|target| !target.is_empty())
}

#[test]
fn links_are_found() {
    let line = "a [b](docs/c.md#d) and [e](#f), [g](https://github.com/h)";
    assert_eq!(links(line).collect::<Vec<_>>(), ["docs/c.md", "https://github.com/h"]);
    let file = File { path: "README.md".into(), text: "[a](README.md)\n[b](no-such-file.md)".into() };
    assert_eq!(broken_links(&file), ["README.md:2: no file no-such-file.md"]);
}

#[test]
fn an_empty_name_is_found_anywhere_in_a_path() {
    let named = |path: &str| empty_name(&File { path: path.into(), text: String::new() }).len();
    assert_eq!(named("crates/lab/src/launch.rs"), 0);
    assert_eq!(named("crates/lab/src/file_utils.rs"), 1);
    assert_eq!(named("crates/common/src/helpers.rs"), 2);
}
