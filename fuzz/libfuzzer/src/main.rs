//! Runs a target of `paceline-fuzz` under libFuzzer. The environment variable `FUZZ_TARGET` is its name.
//!
//! `scripts/fuzz` calls it. With `--targets` it prints the names of all targets; all other arguments are libFuzzer's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_fuzz::{TARGETS, Target};
use std::env;
use std::process::exit;
use std::sync::LazyLock;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    if env::args().any(|argument| argument == "--targets") {
        println!("{}", names.join("\n"));
        exit(0);
    }
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| {
        eprintln!("FUZZ_TARGET is {name:?}, which is not a target: set it to one of {}", names.join(", "));
        exit(2)
    })
});

fuzz_target!(init: LazyLock::force(&TARGET), |bytes: &[u8]| (TARGET.run)(bytes));
