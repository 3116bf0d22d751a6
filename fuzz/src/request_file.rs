//! Any text as a request file: no panic, every error names the file, and accepted files obey the limits.
//!
//! Templates of single requests are tested by `template`.

use paceline_catalogue::{MAX_REQUESTS, MAX_WEIGHT, RequestFile};
use std::path::Path;

pub fn run(text: &str) {
    match RequestFile::from_text(Path::new("a/mix.toml"), text) {
        Err(error) => assert!(error.to_string().starts_with("a/mix.toml")),
        Ok(file) => {
            assert!((1..=MAX_REQUESTS).contains(&file.requests.len()));
            let lines = text.lines().count().max(1);
            for request in &file.requests {
                assert!((1..=MAX_WEIGHT).contains(&request.spec.weight));
                assert!((1..=lines).contains(&request.line));
                assert!(request.spec.expect_status.is_none_or(|status| (200..600).contains(&status)));
                assert!(file.complain(request, "x").to_string().starts_with("a/mix.toml:"));
            }
        }
    }
}
