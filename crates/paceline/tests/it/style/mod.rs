//! Tests the style of this project: checks the rules of CONTRIBUTING.md in every file.
//!
//! Each test collects all violations before it fails, each with file and line. Exceptions are listed in the tests, with
//! the reason. Only tracked files and new files that are not ignored are checked, so that builds and results are not.

mod code;
mod crates;
mod files;
mod modules;
mod words;

use files::File;

/// The place and description of a violation.
type Violation = String;

/// Fails if there are violations and prints one per line.
fn none(rule: &str, violations: Vec<Violation>) {
    assert!(
        violations.is_empty(),
        "{rule}; {} violations:\n  {}\n",
        violations.len(),
        violations.join("\n  ")
    );
}

/// The violations of one rule over all Rust files.
fn over_rust(rule: impl Fn(&File) -> Vec<Violation>) -> Vec<Violation> {
    files::tracked().iter().filter(|file| file.is_rust()).flat_map(rule).collect()
}

/// The violations of one rule over all text files.
fn over_all(rule: impl Fn(&File) -> Vec<Violation>) -> Vec<Violation> {
    files::tracked().iter().flat_map(rule).collect()
}

#[test]
fn every_rust_file_begins_with_a_description() {
    none("a file opens with `//!`: what it is", over_rust(code::header));
}

#[test]
fn no_file_is_too_long() {
    none(
        "a file has at most 900 lines, and over 600 its header says why (\"over 600 lines\"); tests aside",
        over_rust(code::length),
    );
}

#[test]
fn no_function_is_too_long() {
    none("70 lines are the end of a function", over_rust(code::functions));
    none("a function listed as long is long", code::long_for_nothing());
}

#[test]
fn text_is_printed_escaped() {
    none("text of others is escaped where it is put into a document", over_rust(code::unescaped));
}

#[test]
fn no_file_has_a_vague_name() {
    none("a file is named after what is in it", over_all(files::empty_name));
}

#[test]
fn modules_have_one_layout() {
    none("a module with modules of its own is mod.rs in its folder", over_rust(files::beside_its_folder));
}

#[test]
fn links_in_documents_are_valid() {
    none("a document links to files and headings that exist", over_all(files::broken_links));
}

#[test]
fn there_are_no_marks_of_unfinished_work() {
    none("what is to be done is an issue, not a comment", over_all(words::left_to_do));
}

#[test]
fn words_of_the_glossary_are_used() {
    none(
        "say service time, response time, achieved rate ... (docs/glossary.md); a peer's own word stands in a listed \
         file or, in Markdown, in double quotes",
        over_all(words::ambiguous),
    );
}

#[test]
fn variables_of_the_environment_are_documented() {
    none("a document names each variable that the code reads", words::undocumented_variables());
}

#[test]
fn no_file_names_a_path_or_host_of_one_machine() {
    none("paths are relative, hosts are public and listed", over_all(words::of_one_machine));
}

#[test]
fn crates_depend_on_each_other_as_designed() {
    none("ARCHITECTURE.md lists what depends on what", crates::undesigned_edges());
}

#[test]
fn no_modules_use_each_other() {
    none("a module uses only modules that do not use it: move what they share", modules::cycles());
}
