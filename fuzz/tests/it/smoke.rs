//! Runs every target on its seeds and then on mutations of them: the same inputs in every run.
//!
//! A failing input is stored in `fuzz/artifacts/TARGET`. If the environment variable `FUZZ_INPUT` is a file, the tests
//! run only that input.

use crate::mutator::Mutator;
use paceline_fuzz::{TARGETS, Target, for_each_target};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::{env, fs, panic};

/// The random seed of all mutations.
const RANDOM_SEED: u64 = 1;
/// Fewer seeds would leave a part of the format to chance.
const MIN_SEEDS: usize = 20;

macro_rules! tests {
    ($($name:ident: $mutations:literal,)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}
for_each_target!(tests);

#[test]
fn targets_and_folders_of_seeds_match() {
    let folders = files(Path::new("fuzz/seeds"));
    let folders: BTreeSet<&str> =
        folders.iter().map(|folder| folder.file_name().unwrap().to_str().unwrap()).collect();
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(folders, names, "left: folders of fuzz/seeds, right: targets of fuzz/src/lib.rs");
    for name in names {
        let count = seeds(name).len();
        assert!(count >= MIN_SEEDS, "fuzz/seeds/{name} has {count} files; at least {MIN_SEEDS} are needed");
    }
}

#[test]
fn the_document_describes_every_target() {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for target in TARGETS {
        assert!(
            document.contains(&format!("`{}`", target.name)),
            "CONTRIBUTING.md: {} is missing",
            target.name
        );
    }
}

/// Runs a target on its seeds and their mutations, or on the input of `FUZZ_INPUT`.
fn check(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    if let Some(file) = env::var_os("FUZZ_INPUT") {
        return (target.run)(&fs::read(root().join(file)).unwrap());
    }
    let seeds = seeds(name);
    for seed in &seeds {
        run(target, seed);
    }
    let mut mutator = Mutator::new(RANDOM_SEED);
    for _ in 0..target.mutations {
        run(target, &mutator.mutate(&seeds));
    }
}

/// Runs a target on one input, and stores the input if it fails.
fn run(target: &Target, input: &[u8]) {
    if panic::catch_unwind(|| (target.run)(input)).is_err() {
        let file = store(target.name, input);
        panic!(
            "target {name} failed (its message is above); the input is {file}. Run it again:\n\
             FUZZ_INPUT={file} cargo test -p paceline-fuzz --test it -- --exact smoke::{name}",
            name = target.name,
            file = file.display()
        );
    }
}

/// Stores a failing input, named after its content as libFuzzer does, and returns its path in the project.
fn store(target: &str, input: &[u8]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let folder = Path::new("fuzz/artifacts").join(target);
    let file = folder.join(format!("crash-{:016x}", hasher.finish()));
    fs::create_dir_all(root().join(folder)).unwrap();
    fs::write(root().join(&file), input).unwrap();
    file
}

/// The seeds of a target, in the order of their names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let files = files(&Path::new("fuzz/seeds").join(target));
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// The files and folders in a folder of the project, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    BTreeSet::from_iter(entries.map(|entry| entry.unwrap().path())).into_iter().collect()
}

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
