//! Any text as a workload: no panic, and every error names the file.
//!
//! There are two body files beside the workload: `body.txt` and `empty.txt`.

use crate::scratch;
use paceline_catalogue::Workload;
use std::fs;

pub fn run(text: &str) {
    let folder = scratch::folder("workload");
    if !folder.join("body.txt").exists() {
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
}
