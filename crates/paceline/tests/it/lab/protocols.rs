//! Tests workloads of other protocols than plain HTTP in a round: WebSocket, TLS, streams of events, uploads.
//!
//! gRPC and HTTP/3 need servers that Python does not have: those are in `servers/`, and `paceline lab check` tests them.

use super::tree::Tree;
use paceline_record::{CheckOutcome, Trial, WorkloadProtocol};

const SERVER: &str = include_str!("protocols.py");

const ECHO: &str = "about = \"x\"\nprotocol = \"websocket\"\n[[case]]\npath = \"/ws\"\nbody = \"hello\"\n\
                    [case.expect]\nbody = \"hello\"\n";

const UPLOAD: &str = "about = \"x\"\n[[case]]\npath = \"/upload\"\nbody_bytes = 100_000\n\
                      [case.expect]\nstatus = 200\ncontent_type = \"text/plain\"\nbody = \"100000\"\n";

const SSE: &str = "about = \"x\"\n[stream]\nformat = \"sse\"\nuntil = \"[DONE]\"\n[[case]]\npath = \"/sse\"\n\
                   [case.expect]\nstatus = 200\nbody = \"data: 1\\n\\ndata: 2\\n\\ndata: [DONE]\\n\\n\"\n";

const PLAN: &str = "name = \"all\"\nrepeats = 1\nworkloads = [\"hello\", \"echo\", \"upload\", \"sse\"]\n\
                    [[load]]\nname = \"plain\"\nconnections = 2\nduration = \"300ms\"\nwarmup = \"50ms\"\n\
                    [[load]]\nname = \"tls\"\nworkloads = [\"hello\", \"echo\"]\nconnections = 2\nduration = \"300ms\"\n\
                    warmup = \"50ms\"\ntls = true\n\
                    [[load]]\nname = \"h3\"\nconnections = 2\nduration = \"300ms\"\nhttp = \"3\"\n";

fn tree(script: &str) -> Tree {
    let tree = Tree::new().with_server("python-protocols", script, 60);
    let manifest = tree.path("servers/python-protocols/server.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let text = text.replace("[\"hello\"]", "[\"hello\", \"echo\", \"upload\", \"sse\"]") + "tls = true\n";
    std::fs::write(&manifest, text).unwrap();
    for (name, workload) in [("echo", ECHO), ("upload", UPLOAD), ("sse", SSE)] {
        tree.write(&format!("workloads/{name}.toml"), workload);
    }
    tree.write("plans/all.toml", PLAN);
    tree
}

fn of<'a>(trials: &'a [Trial], workload: &str, load: &str) -> &'a Trial {
    let trial = trials.iter().find(|trial| trial.workload == workload && trial.load.name == load);
    trial.unwrap_or_else(|| panic!("no trial of {workload} with {load}"))
}

#[test]
fn a_round_measures_every_protocol_that_a_server_states() {
    let tree = tree(SERVER);
    let ran = tree.run(&["round", "all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for note in [
        "load h3 is not measured with workload echo: `http` applies only to workloads of HTTP",
        "does not speak HTTP/3 (trait `http3`): not measured with load h3",
    ] {
        assert!(ran.stderr.contains(note), "{note}: {}", ran.stderr);
    }
    let (_, trials) = tree.kept();
    for trial in &trials {
        assert_eq!(trial.error, None, "{} {}", trial.workload, trial.load.name);
        let checks = &trial.validation.as_ref().unwrap().checks;
        let failed: Vec<_> = checks.iter().filter(|check| check.outcome == CheckOutcome::Fail).collect();
        assert!(failed.is_empty(), "{failed:?}");
        let title = match trial.workload.as_str() {
            "echo" => "WebSocket /ws",
            "upload" => "POST /upload",
            "sse" => "GET /sse",
            _ => "GET /hello",
        };
        for name in [title, "TLS"] {
            let check = checks.iter().find(|check| check.name == name).unwrap();
            assert_eq!((check.outcome, check.detail.as_str()), (CheckOutcome::Pass, ""), "{name}");
        }
        let counts = trial.run.as_ref().unwrap().total.counts;
        assert!(counts.ok > 0 && counts.not_ok() == 0, "{} {}: {counts:?}", trial.workload, trial.load.name);
    }
    let secure = of(&trials, "echo", "tls");
    assert_eq!((secure.load.protocol, secure.load.tls), (WorkloadProtocol::WebSocket, true));
    let run = secure.run.as_ref().unwrap();
    assert!(run.target.url.starts_with("wss://"), "{}", run.target.url);
    assert!(run.target.tls.as_ref().is_some_and(|tls| tls.verified), "{:?}", run.target.tls);
    let events = of(&trials, "sse", "plain").run.as_ref().unwrap().total.stream_events.unwrap();
    assert_eq!((events.events_min, events.events_max), (Some(3), Some(3)));
    let report = tree.run(&["report"]).stdout;
    for title in [
        "echo, closed loop, WebSocket",
        "echo, closed loop, WebSocket, TLS",
        "sse, closed loop, streams of sse",
    ] {
        assert!(report.contains(title), "{title}: {report}");
    }
    assert!(report.contains("1st event"), "{report}");
}

#[test]
fn a_wrong_answer_of_a_websocket_fails_the_check() {
    let tree = tree(&SERVER.replace("REVERSES = False", "REVERSES = True"));
    let ran = tree.run(&["lab", "check", "python-protocols", "--idle", "100ms"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // The terminal wraps lines.
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("fail WebSocket /ws: 5 of 5 requests failed;"), "{said}");
    assert!(said.contains("olleh"), "{said}");
}
