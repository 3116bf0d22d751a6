//! The table of verdicts against its reference page, `docs/reading-a-verdict.md`.
//!
//! `UPDATE=1 cargo test -p paceline-judge --test it` rewrites the page.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

#[test]
fn the_page_of_verdicts_is_the_table_s() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reading-a-verdict.md");
    let page = paceline_judge::verdict_reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let line = written.lines().zip(page.lines()).take_while(|(a, b)| a == b).count() + 1;
    assert!(
        written == page,
        "docs/reading-a-verdict.md:{line}: differs from the table of verdicts. Rewrite it with: UPDATE=1 cargo test -p \
         paceline-judge --test it"
    );
}

#[test]
fn every_verdict_is_documented() {
    for name in paceline_judge::VerdictName::ALL {
        let doc = name.doc();
        assert!(doc.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", doc.name);
        assert_eq!(paceline_judge::VerdictName::parse(doc.name), Some(*name));
        assert!(doc.title.ends_with('.') && !doc.remedy.is_empty(), "{}", doc.name);
    }
}
