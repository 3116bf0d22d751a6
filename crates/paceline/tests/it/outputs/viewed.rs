//! Tests pages: `paceline view` without any results, and the sizes of one-file reports.
//!
//! The content of pages is tested by the browser tests in `ui/tests`.

use super::{PACELINE, Runs as _, text};
use crate::reference::ReferenceServer;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// `paceline view` in a folder, without a location of results.
fn view(folder: &Path) -> Command {
    let mut command = Command::new(PACELINE);
    command.args(["view", "--no-open"]).current_dir(folder).stdin(Stdio::null());
    command.env_remove("PACELINE_STORE").env_remove("PACELINE_HOME");
    command
}

#[test]
fn without_results_the_rounds_of_the_project_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history");
    std::fs::create_dir(&history).unwrap();
    std::os::unix::fs::symlink(Path::new(ROOT).join("history/source-001"), history.join("source-001"))
        .unwrap();
    let mut child = view(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let host = address.trim().trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /api/index HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut index = String::new();
    stream.read_to_string(&mut index).unwrap();
    child.kill().unwrap();
    let said = text(&child.wait_with_output().unwrap().stderr);
    assert!(index.contains("source-001"), "{index}");
    assert!(said.contains("No round is stored in ") && said.contains("`paceline view history`"), "{said}");
}

#[test]
fn an_empty_project_gets_an_error_about_what_can_be_viewed() {
    let folder = tempfile::tempdir().unwrap();
    let output = view(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("there are no stored results at ") && said.contains("`paceline view history`"),
        "{said}"
    );
    let named = view(folder.path()).args(["--store", "none.sqlite"]).output().unwrap();
    assert_eq!(named.status.code(), Some(2), "{}", text(&named.stderr));
}

#[test]
fn a_page_of_a_run_stays_below_500_kb_and_one_of_a_round_below_3_mb() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let output = page.display().to_string();
    let size = || page.metadata().unwrap().len();
    let server = ReferenceServer::start("immediate");
    // Whether a busy machine keeps up does not matter here.
    let flags = ["-r", "500", "-d", "3s", "--warmup", "0s", "--allow-invalid", "-o", &output];
    let ran = server.output(&flags);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(size() <= 500_000, "a run: {} bytes", size());
    for round in ["all-2026-11-28", "archive/frameworks-2026-11-22"] {
        let round = format!("{ROOT}/history/{round}");
        let made = Command::new(PACELINE).args(["report", "--from", &round, "-o", &output]).output().unwrap();
        assert!(made.status.success(), "{round}: {}", text(&made.stderr));
        assert!(size() <= 3_000_000, "{round}: {} bytes", size());
    }
}
