//! Checks that the built files match the sources and are small.
//!
//! `npm run build` in `ui/` stores a digest of what it built from; this test needs no Node. `scripts/test` builds again
//! and compares where there is Node.

use crate::root;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What the built files are made from; `ui/scripts/digest.js` has the same list.
const SOURCES: [&str; 8] = [
    "src",
    "public",
    "index.html",
    "package.json",
    "package-lock.json",
    "vite.config.ts",
    "vite.plot.config.ts",
    "svelte.config.js",
];

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), files));
    } else {
        files.push(path.to_owned());
    }
}

#[test]
fn built_files_match_the_sources() {
    let ui = root().join("ui");
    let mut files = Vec::new();
    SOURCES.iter().for_each(|name| collect(&ui.join(name), &mut files));
    // Types only: they are not part of the build.
    files.retain(|path| !path.ends_with("src/wire.ts"));
    let name = |path: &PathBuf| path.strip_prefix(&ui).unwrap().to_str().unwrap().to_owned();
    files.sort_by_key(name);
    let mut digest = Sha256::new();
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        digest.update(format!("{} {}\n", name(path), bytes.len()));
        digest.update(&bytes);
    }
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let stored = std::fs::read_to_string(ui.join("dist/source.sha256")).unwrap();
    assert_eq!(stored.trim(), digest, "ui/dist is of other sources: run `npm ci && npm run build` in ui/");
}

#[test]
fn the_licences_of_the_bundle_have_their_texts() {
    let texts = std::fs::read_to_string(root().join("ui/dist/licenses.txt")).unwrap();
    let texts: Vec<&str> = texts.split("\n---\n").collect();
    for name in ["svelte", "@observablehq/plot", "d3"] {
        let text = texts.iter().find(|text| text.trim_start().starts_with(&format!("{name} ")));
        assert!(
            text.is_some_and(|text| text.len() > 500),
            "ui/dist/licenses.txt lacks the licence of {name}"
        );
    }
}

#[test]
fn the_bundle_is_at_most_250_kb_compressed() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    for name in ["index.html", "app.js", "plot.js", "app.css"] {
        packer.write_all(&std::fs::read(root().join("ui/dist").join(name)).unwrap()).unwrap();
    }
    let size = packer.finish().unwrap().len();
    assert!(size <= 250_000, "{size} bytes");
}

#[test]
fn a_page_without_plotted_charts_loads_at_most_98_kb_compressed() {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    for name in ["index.html", "app.js", "app.css"] {
        packer.write_all(&std::fs::read(root().join("ui/dist").join(name)).unwrap()).unwrap();
    }
    let size = packer.finish().unwrap().len();
    assert!(size <= 98_000, "{size} bytes");
}

#[test]
fn pages_refer_to_no_other_host_and_have_no_inline_script() {
    let text = std::fs::read_to_string(root().join("ui/dist/index.html")).unwrap();
    assert!(!text.contains("://"), "{text}");
    assert!(!text.contains(" style=") && !text.contains(" onload="), "{text}");
    for part in text.split("<script").skip(1) {
        let (attributes, rest) = part.split_once('>').unwrap();
        assert!(attributes.contains("src=") && rest.starts_with("</script>"), "{attributes}");
    }
}
