//! Any text as a workload: no panic, and every error names the file.
//!
//! `scripts/fuzz` runs it. There are two body files beside the workload: `body.txt` and `empty.txt`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_catalogue::Workload;
use std::fs;

fuzz_target!(|text: &str| {
    let folder = std::env::temp_dir().join(format!("paceline-fuzz-workload-{}", std::process::id()));
    if !folder.exists() {
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("body.txt"), "hello").expect("a body");
        fs::write(folder.join("empty.txt"), "").expect("a body");
    }
    let path = folder.join("any.toml");
    fs::write(&path, text).expect("a file");
    match Workload::read(&path) {
        Err(error) => {
            assert!(error.to_string().contains("any.toml") || error.to_string().contains(".txt"), "{error}")
        }
        Ok(workload) => assert!(!format!("{workload:?}").is_empty()),
    }
});
