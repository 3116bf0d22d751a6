//! Checks a server that reads a file for each request, and one that keeps what it read first.

use super::*;
use crate::probe::engine::EngineProbe;
use paceline_catalogue::fixture::TestTree;
use paceline_host::Interrupt;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A server of the files in a folder, which it keeps in memory if it `caches`.
fn server(folder: PathBuf, caches: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut cache: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let name = requested(&stream);
            let read = || fs::read(folder.join(&name)).unwrap_or_default();
            let body = if caches { cache.entry(name.clone()).or_insert_with(read).clone() } else { read() };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.into_bytes(), body].concat()).unwrap();
        }
    });
    address
}

/// The file that a request is for.
fn requested(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    lines.find(String::is_empty).unwrap();
    first.split(' ').nth(1).unwrap().trim_start_matches("/files/").to_owned()
}

#[test]
fn a_server_must_answer_with_the_changed_file() {
    let tree = TestTree::new();
    let text = "about = \"x\"\nstatic_files = \"/files/\"\n[[case]]\npath = \"/files/a\"\n\
                expect = { status = 200, content_type = \"text/css\", body = \"x\" }\n";
    tree.write("workloads/some.toml", text);
    tree.write("static/a", "x");
    let workload = Arc::new(Workload::read(&tree.path("workloads/some.toml")).unwrap());
    let checked = |caches| {
        let (folder, scratch) = (tree.path("static"), tree.path("unused"));
        let engine = EngineProbe { shepherd: &[], scratch: &scratch, interrupt: Interrupt::never() };
        let client = CheckClient { address: server(folder.clone(), caches), engine };
        let limit = Duration::from_millis(300);
        checks(&client, &[Arc::clone(&workload)], &folder, limit).unwrap().remove(0)
    };
    let fresh = checked(false);
    assert_eq!((fresh.name.as_str(), fresh.outcome, fresh.detail.as_str()), (NAME, CheckOutcome::Pass, ""));
    let stale = checked(true);
    assert_eq!(stale.outcome, CheckOutcome::Fail);
    assert!(stale.detail.starts_with("300ms after the file of GET /files/changed-"), "{}", stale.detail);
    assert!(stale.detail.contains(" was changed in $PACELINE_STATIC: the body has"), "{}", stale.detail);
    assert_eq!(fs::read_dir(tree.path("static")).unwrap().count(), 1, "the files of the check are removed");
}

#[test]
fn a_workload_without_static_files_has_no_such_check() {
    let tree = TestTree::new();
    let hello = Arc::clone(tree.catalogue().workload("hello").unwrap());
    let scratch = tree.path("unused");
    let engine = EngineProbe { shepherd: &[], scratch: &scratch, interrupt: Interrupt::never() };
    let client = CheckClient { address: "127.0.0.1:1".parse().unwrap(), engine };
    assert!(checks(&client, &[hello], &tree.path(""), CHANGE_LIMIT).unwrap().is_empty());
}
