//! Any text as a request file: no panic, every complaint names the file, and what is understood obeys the limits.
//!
//! `scripts/fuzz` runs it. What a single request's template may hold is left to `template`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_catalogue::{REQUESTS_MOST, RequestFile, WEIGHT_MOST};
use std::path::Path;

fuzz_target!(|text: &str| {
    // The name of a file stands for its content: nothing is read.
    let mut read = |path: &Path| match path.to_str() {
        Some(name) if name.len() < 20 => Ok(name.as_bytes().to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    match RequestFile::of(Path::new("a/mix.toml"), text, &mut read) {
        Err(error) => assert!(error.to_string().starts_with("a/mix.toml")),
        Ok(file) => {
            assert!((1..=REQUESTS_MOST).contains(&file.requests.len()));
            let lines = text.lines().count().max(1);
            for request in &file.requests {
                assert!((1..=WEIGHT_MOST).contains(&request.weight));
                assert!((1..=lines).contains(&request.line));
                assert!(request.expect_status.is_none_or(|status| (200..600).contains(&status)));
                assert!(file.complain(request, "x").to_string().starts_with("a/mix.toml:"));
            }
        }
    }
});
