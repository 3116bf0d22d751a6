//! Sites of files: complete, the same for the same rounds, and never written over other files.

use crate::{root, served};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use paceline_web::{Library, WebError, write_site};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Writes a site of two rounds of different machines, which are a level deeper than in `history`.
fn site(folder: &Path, name: &str) -> PathBuf {
    let rounds = folder.join("results");
    for (machine, round) in [("here", "archive/sold-on-go-2026-11-21"), ("there", "source-001")] {
        let copy = rounds.join(machine).join(Path::new(round).file_name().unwrap());
        fs::create_dir_all(&copy).unwrap();
        for file in ["round.json", "trials.ndjson.gz"] {
            fs::copy(root().join("history").join(round).join(file), copy.join(file)).unwrap();
        }
    }
    let site = folder.join(name);
    let contents = write_site(&Library::of_folder(&rounds).unwrap(), &site, &mut |_| {}).unwrap();
    assert_eq!(contents.rounds, 2);
    site
}

/// The folder of the pages.
fn pages(site: &Path) -> PathBuf {
    let mut folders: Vec<_> =
        fs::read_dir(site.join("pages")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

#[test]
fn every_page_is_what_a_server_answers() {
    let folder = tempfile::tempdir().unwrap();
    let site = site(folder.path(), "public");
    let pages = pages(&site);
    let address = served::start_with(Library::of_folder(&folder.path().join("results")).unwrap());
    let rounds: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(pages.join("index.json")).unwrap()).unwrap();
    assert_eq!(rounds["place"], "", "visitors do not see where the rounds are");
    let mut compared = 0;
    for round in rounds["rounds"].as_array().unwrap() {
        let id = round["id"].as_str().unwrap();
        let mut paths = vec![format!("rounds/{id}"), format!("rounds/{id}/servers")];
        let runs = fs::read_dir(pages.join(format!("rounds/{id}/runs"))).unwrap();
        for run in runs.map(|entry| entry.unwrap().path()) {
            paths.push(format!("rounds/{id}/runs/{}", run.file_stem().unwrap().to_str().unwrap()));
        }
        assert_eq!(round["kept"], paths.len() - 2, "{id}: the runs");
        for path in paths {
            let file = fs::read_to_string(pages.join(format!("{path}.json"))).unwrap();
            let (status, response) = served::get(address, &format!("/api/{path}"));
            assert_eq!((status, response.split_once("\r\n\r\n").unwrap().1), (200, &*file), "{path}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    let digest = pages.file_name().unwrap().to_str().unwrap();
    assert!(index.contains(&format!("content=\"./pages/{digest}\"")), "{index}");
    assert!(index.contains("default-src 'none'"));
}

#[test]
fn a_site_is_replaced_whole_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let first = pages(&site(folder.path(), "public"));
    assert_eq!(pages(&site(folder.path(), "public")), first, "the same rounds give the same pages");
    // What an interrupted writing leaves does not matter.
    fs::create_dir_all(first.with_file_name("unfinished").join("rounds")).unwrap();
    assert_eq!(pages(&site(folder.path(), "public")), first);
    // Nor does a file that a file manager leaves among the folders.
    let foreign = first.with_file_name(".DS_Store");
    fs::write(&foreign, "").unwrap();
    site(folder.path(), "public");
    assert!(foreign.is_file() && first.is_dir());

    let other = folder.path().join("home");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("index.html"), "mine").unwrap();
    let library = Library::of_folder(&folder.path().join("results")).unwrap();
    let refused = write_site(&library, &other, &mut |_| {}).unwrap_err();
    assert!(matches!(refused, WebError::NotSite { .. }), "{refused}");
    assert_eq!(fs::read_to_string(other.join("index.html")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}

#[test]
fn a_round_that_cannot_be_read_is_named_and_the_site_stays() {
    let folder = tempfile::tempdir().unwrap();
    let kept = pages(&site(folder.path(), "public"));
    fs::write(folder.path().join("results/here/sold-on-go-2026-11-21/round.json"), "{").unwrap();
    let library = Library::of_folder(&folder.path().join("results")).unwrap();
    let refused = write_site(&library, &folder.path().join("public"), &mut |_| {}).unwrap_err();
    assert!(refused.chain().contains("sold-on-go-2026-11-21"), "{refused}");
    assert!(kept.join("index.json").is_file());
}

#[test]
fn an_id_that_is_too_long_for_a_file_is_named_with_its_round() {
    let folder = tempfile::tempdir().unwrap();
    let kept = pages(&site(folder.path(), "public"));
    let trials = folder.path().join("results/here/sold-on-go-2026-11-21/trials.ndjson.gz");
    let mut text = String::new();
    GzDecoder::new(fs::read(&trials).unwrap().as_slice()).read_to_string(&mut text).unwrap();
    let forged = text.replace("\"id\":\"scala-play\"", &format!("\"id\":\"{}\"", "play".repeat(100)));
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(forged.as_bytes()).unwrap();
    fs::write(&trials, packer.finish().unwrap()).unwrap();
    let library = Library::of_folder(&folder.path().join("results")).unwrap();
    let refused = write_site(&library, &folder.path().join("public"), &mut |_| {}).unwrap_err();
    let is_named = matches!(&refused, WebError::LongId { round, .. } if round == "20261121-231333-85ab997a");
    assert!(is_named, "{refused}");
    assert!(kept.join("index.json").is_file());
}
