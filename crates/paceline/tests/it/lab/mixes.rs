//! Tests workloads that are mixes: bodies in chunks, compressed responses, and the lab's static files.

use super::tree::Tree;
use paceline_record::{CheckOutcome, Trial};
use std::collections::BTreeMap;

const SERVER: &str = include_str!("mixes.py");

const SUM: &str = "about = \"x\"\nmix = true\n\
    [[case]]\nname = \"get\"\npath = \"/sum\"\nexpect = { status = 200, body = \"55\" }\n\
    [[case]]\nname = \"post\"\npath = \"/sum\"\nbody = \"20\"\nexpect = { status = 200, body = \"75\" }\n\
    [[case]]\nname = \"chunked\"\npath = \"/sum\"\nbody = \"20\"\nchunk_bytes = 1\n\
    expect = { status = 200, body = \"75\" }\n";

/// Two of the files; the digests are those of `workloads/arena-static.toml`.
const STATIC: &str = "about = \"x\"\nmix = true\nstatic_files = \"/static/\"\n\
    headers = { Accept-Encoding = \"br, gzip\" }\n\
    [[case]]\nname = \"text\"\npath = \"/static/reset.css\"\n[case.expect]\nstatus = 200\ncompressed = true\n\
    length = 1419\nsha256 = \"ea32ff5da37d3b751521eb4e37d5b3d47e18e37703d699762ae4431b2c5ffbdd\"\n\
    [[case]]\nname = \"picture\"\npath = \"/static/hero.png\"\n[case.expect]\nstatus = 200\n\
    length = 160000\nsha256 = \"c0cf4db02e79fc08019e9087a9a3e209c73c074ca22be563643d8b51a4a7a686\"\n";

const PLAN: &str = "name = \"all\"\nrepeats = 1\nworkloads = [\"sum\", \"static\"]\n\
    [[load]]\nname = \"plain\"\nconnections = 2\nduration = \"500ms\"\nwarmup = \"50ms\"\n";

fn tree(script: &str) -> Tree {
    let tree = Tree::new().with_server("python-mixes", script, 60);
    let manifest = tree.path("servers/python-mixes/server.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("[\"hello\"]", "[\"hello\", \"sum\", \"static\"]")).unwrap();
    tree.write("workloads/sum.toml", SUM);
    tree.write("workloads/static.toml", STATIC);
    tree.write("plans/all.toml", PLAN);
    tree
}

#[test]
fn a_round_offers_all_requests_of_a_mix_in_one_trial() {
    let tree = tree(SERVER);
    let ran = tree.run(&["round", "all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, trials) = tree.kept();
    // A trial that other programs disturbed is carried out again: the last one of each workload.
    let last: BTreeMap<&str, &Trial> = trials.iter().map(|trial| (trial.workload.as_str(), trial)).collect();
    assert!(last.keys().eq(&["static", "sum"]), "{:?}", last.keys());
    for trial in last.values() {
        assert_eq!(trial.error, None, "{}", trial.workload);
        let checks = &trial.validation.as_ref().unwrap().checks;
        assert!(checks.iter().all(|check| check.outcome != CheckOutcome::Fail), "{checks:?}");
        let run = trial.run.as_ref().unwrap();
        let counts = run.total.counts;
        assert!(counts.ok > 0 && counts.not_ok() == 0, "{}: {counts:?}", trial.workload);
        let parts = run.by_request.as_ref().unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert!(parts.iter().all(|part| part.block.counts.ok > 0), "{names:?}");
        let expected: &[&str] = match trial.workload.as_str() {
            "sum" => &["sum/get", "sum/post", "sum/chunked"],
            _ => &["static/text", "static/picture"],
        };
        assert_eq!(names, expected);
    }
    assert!(tree.path("state/files/1/static/reset.css").exists());
}

#[test]
fn what_a_server_does_wrong_is_named() {
    for (from, to, reported) in [
        (
            "CACHES = False",
            "CACHES = True",
            "fail a file that changes on disk: 5s after the file of GET /static/changed-",
        ),
        (
            "COMPRESSES = True",
            "COMPRESSES = False",
            "fail GET /static/reset.css compressed: the response is not compressed, although the request accepts br and \
             gzip",
        ),
        ("!= \"chunked\"", "!= \"never\"", "fail POST /sum in chunks: "),
    ] {
        assert!(SERVER.contains(from), "{from}");
        let tree = tree(&SERVER.replacen(from, to, 1));
        let ran = tree.run(&["lab", "check", "python-mixes", "--idle", "100ms"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        // The terminal wraps lines.
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(reported), "{to}: {said}");
    }
}
