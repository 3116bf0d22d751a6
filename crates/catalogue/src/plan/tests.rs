//! Tests of the plan: its values, its cells, how errors are reported, and that its TOML gives an equal plan.
//!
//! The catalogues are made up. Twins and the factor of a scale are tested in `expand.rs`, budgets in `size.rs`; the
//! plans of this repository are resolved in `tests/it/repository.rs`.

use super::*;
use crate::fixture::{MANIFEST, TestTree};
use paceline_record::{
    Arrivals, FaultKind, LoopKind, Observation, ObservedFigure, VariantKind, WorkloadProtocol,
};
use proptest::prelude::*;
use std::time::Duration;

const PLAN: &str = r#"name = "small"
about = "Two loads."
repeats = 3
workloads = ["hello", "tetra/3"]

[select]
servers = ["go-*"]
tags = ["idiomatic"]

[[load]]
name = "closed"
connections = 64
duration = "3s"

[[load]]
name = "fixed"
connections = 64
rate_per_s = 2000
duration = "2s"
warmup = "500ms"
workloads = ["hello"]
"#;

fn parse(text: &str) -> Result<Plan, String> {
    Plan::parse("small.toml", text).map_err(|error| error.to_string())
}

/// The plan with one text replaced, resolved on a tree of three servers; or the error.
fn resolved(from: &str, to: &str) -> Result<Resolution, String> {
    assert!(PLAN.contains(from), "{from}");
    let tree = TestTree::with(&["go-one", "go-two", "node-http"]);
    let tuned = MANIFEST.replace("idiomatic", "tuned").replace("[\"hello\", \"tetra\"]", "[\"tetra\"]");
    tree.write("servers/go-tuned/server.toml", &tuned);
    parse(&PLAN.replacen(from, to, 1))?.resolve(&tree.catalogue()).map_err(|error| error.to_string())
}

fn keys(resolution: &Resolution) -> Vec<String> {
    resolution.cells.iter().map(Cell::key).collect()
}

#[test]
fn pipelined_loads_leave_out_servers_that_do_not_support_them() {
    let tree = TestTree::with(&["a-deep", "a-flat", "a-closing"]);
    let say = |id: &str, says: &str| {
        tree.write(&format!("servers/{id}/server.toml"), &format!("{MANIFEST}\n[traits]\n{says}\n"));
    };
    say("a-flat", "pipelining = false");
    say("a-closing", "keep_alive = false");
    let plan = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                [[load]]\nname = \"one\"\nconnections = 4\nduration = \"1s\"\n\
                [[load]]\nname = \"ahead\"\nconnections = 4\ndepth = 16\nduration = \"1s\"\n";
    let resolution = Plan::parse("p.toml", plan).unwrap().resolve(&tree.catalogue()).unwrap();
    let keys: Vec<String> = resolution.cells.iter().map(Cell::key).collect();
    let expected = [
        "a-closing single hello one",
        "a-deep single hello one",
        "a-deep single hello ahead",
        "a-flat single hello one",
    ];
    assert_eq!(keys, expected);
    let notes = [
        "server a-closing closes the connection after each response: not measured with load ahead",
        "server a-flat does not answer pipelined requests: not measured with load ahead",
    ];
    assert_eq!(resolution.notes, notes);
}

#[test]
fn a_plan_is_resolved_to_its_cells() {
    let resolution = resolved("small", "small").unwrap();
    let expected = [
        "go-one single hello closed",
        "go-one single hello fixed",
        "go-one single tetra/3 closed",
        "go-two single hello closed",
        "go-two single hello fixed",
        "go-two single tetra/3 closed",
    ];
    assert_eq!(keys(&resolution), expected);
    let workloads: Vec<&str> = resolution.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(workloads, ["hello", "tetra"]);
}

#[test]
fn a_huge_plan_is_rejected_by_its_counts() {
    let seen = "[[observed]]\nsource = \"1\"\nsubject = \"s\"\nworkload = \"hello\"\nwhat = \"requests_per_s\"\n\
                value = 1.0\nunit = \"requests/s\"\n";
    let error = parse(&format!("{PLAN}{}", seen.repeat(10_001))).unwrap_err();
    assert!(error.ends_with("`observed` has 10001 entries; the maximum is 10000"), "{error}");
    assert!(parse(&format!("{PLAN}{}", seen.repeat(10_000))).is_ok());
    // 2 loads, each without a database and with 100 x 100.
    let numbers = |text: fn(u32) -> String| (1..=100).map(text).collect::<Vec<_>>().join(", ");
    let keys = format!(
        "databases = [{}]\npool = [{}]\nrepeats = 3",
        numbers(|number| format!("\"db{number}\"")),
        numbers(|number| number.to_string())
    );
    let error = parse(&PLAN.replacen("repeats = 3", &keys, 1)).unwrap_err();
    assert!(
        error.contains("the plan expands to 20002 loads (each load and each of its twins, with each database and pool size); the maximum is 2000"),
        "{error}"
    );
}

#[test]
fn only_listed_problems_are_compared_with_every_load() {
    let seen = "[[observed]]\nsource = \"1\"\nsubject = \"s\"\nload = \"close\"\nwhat = \"requests_per_s\"\n\
                value = 1.0\nunit = \"requests/s\"\n";
    let text = format!("{PLAN}{}", seen.repeat(30));
    let plan = toml::from_str(&text).unwrap();
    let problems = super::check::problems(&plan);
    let hints = problems.iter().filter(|problem| problem.text.ends_with("did you mean `closed`?"));
    assert_eq!((problems.len(), hints.count()), (30, 20));
    let listed = parse(&text).unwrap_err();
    assert_eq!(listed.matches("did you mean `closed`?").count(), 20, "{listed}");
    assert!(listed.ends_with("and 10 more"), "{listed}");
}

#[test]
fn a_workload_name_selects_each_of_its_cases_once() {
    let resolution = resolved("[\"hello\", \"tetra/3\"]", "[\"tetra/3\", \"tetra\", \"hello\"]").unwrap();
    let of_one: Vec<String> = keys(&resolution).into_iter().filter(|key| key.starts_with("go-one")).collect();
    assert_eq!(of_one.len(), 4, "{of_one:?}");
}

#[test]
fn the_values_of_a_load_are_read() {
    let plan = parse(PLAN).unwrap();
    let loads = plan.expanded().unwrap();
    let (closed, fixed) = (loads[0].record(), loads[1].record());
    assert_eq!((closed.kind, closed.warmup_s, closed.depth), (LoopKind::Closed, 1.0, 1));
    assert_eq!((fixed.kind, fixed.arrivals, fixed.warmup_s), (LoopKind::Open, Some(Arrivals::Constant), 0.5));
    assert_eq!(loads[1].length(), Some(Duration::from_millis(2_500)));
}

#[test]
fn a_load_with_a_request_count_has_an_estimated_length() {
    let load = |keys: &str| {
        let text = PLAN.replacen("duration = \"3s\"", keys, 1);
        let load = parse(&text).unwrap().expanded().unwrap().remove(0);
        (load.usual().map(|length| length.as_secs()), load.limit().as_secs())
    };
    assert_eq!(load("duration = \"3s\""), (Some(4), 4));
    assert_eq!(load("requests = 1000"), (None, 600));
    assert_eq!(load("requests = 1000\nusual_length = \"10m\""), (Some(600), 1_800));
    assert_eq!(load("requests = 90000\nrate_per_s = 100"), (Some(900), 2_700));
    // The length at its rate is known; the usual length is a guess that may hold for another rate.
    assert_eq!(load("requests = 100\nrate_per_s = 100\nusual_length = \"10m\""), (Some(1), 1_800));
    assert_eq!(load("requests = 9007199254740991\nrate_per_s = 1e-300").1, Duration::MAX.as_secs());
}

#[test]
fn invalid_plans_are_reported() {
    let table = [
        ("repeats", "repeat", "small.toml:3: unknown key `repeat`; did you mean `repeats`?"),
        ("warmup", "warm_up", "small.toml:20: unknown key `warm_up`; did you mean `warmup`?"),
        ("\"500ms\"", "\"500\"", "small.toml:20: `500` has no unit; write 500s, 500ms or 500us"),
        ("repeats = 3", "repeats = 0", "small.toml:3: `repeats` is 0: nothing would be measured"),
        ("repeats = 3", "repeats = 4294967295", "small.toml:3: `repeats` is 4294967295; the maximum is 1000"),
        ("repeats = 3", "repeats = 3\nfull_repeats = 1001", "small.toml:4: `full_repeats` is 1001"),
        (
            "\"3s\"",
            "\"3s\"\nrequests = 5",
            "small.toml:14: load `closed`: exactly one of `duration` and `requests` is needed",
        ),
        (
            "\"3s\"",
            "\"3s\"\narrivals = \"poisson\"",
            "small.toml:14: load `closed`: `arrivals` needs `rate_per_s` or `rate`",
        ),
        ("\"fixed\"", "\"closed\"", "small.toml:10: two loads are named `closed`"),
        ("2000", "-1", "small.toml:18: load `fixed`: `rate_per_s` must be above 0"),
        ("64", "0", "small.toml:12: load `closed`: `connections` and `depth` must be at least 1"),
        ("64", "64\ndepth = 65536", "small.toml:13: load `closed`: `depth` is 65536; the maximum is 65535"),
        (
            "64",
            "64\ndepth = 32769\nhttp = \"3\"",
            "small.toml:13: load `closed`: `depth` is 32769; the maximum is 32768 over HTTP/2 and HTTP/3",
        ),
        (
            "\"2s\"\n",
            "\"2s\"\nrequests_per_connection = 4294967296\n",
            "small.toml:20: load `fixed`: `requests_per_connection` is 4294967296; the maximum is 4294967295",
        ),
        ("duration = \"2s\"", "requests = 9", "small.toml:20: load `fixed`: `warmup` needs `duration`"),
        (
            "repeats = 3",
            "repeats = 3\nforms = [\"cores\", \"cores\"]",
            "small.toml:4: `forms` names `cores` twice",
        ),
        ("repeats = 3", "repeats = 3\nseed = 9007199254740992", "small.toml:4: `seed` is beyond"),
        ("go-*", "go-[", "small.toml:6: `go-[` is not a valid pattern"),
    ];
    for (from, to, expected) in table {
        let reported = parse(&PLAN.replacen(from, to, 1)).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn of_many_wrong_loads_the_first_are_listed_and_the_others_counted() {
    let load = |number| format!("[[load]]\nname = \"load-{number}\"\nconnections = 0\nduration = \"1s\"\n\n");
    let text = PLAN.to_owned() + "\n" + &(0..50).map(load).collect::<String>();
    let error = parse(&text).unwrap_err();
    assert!(error.lines().count() == 21 && error.ends_with("\nand 30 more"), "{error}");
}

#[test]
fn all_problems_of_a_plan_are_reported_at_once() {
    let text = PLAN
        .replace("repeats = 3", "repeats = 0\nforms = []")
        .replacen("connections = 64", "connections = 0\narrivals = \"poisson\"", 1)
        .replace("2000", "-1");
    let error = parse(&text).unwrap_err();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 5, "{error}");
    for (line, (at, problem)) in lines.iter().zip([
        ("small.toml:3: ", "`repeats` is 0"),
        ("small.toml:4: ", "`forms` is empty"),
        ("small.toml:13: ", "`connections` and `depth` must be at least 1"),
        ("small.toml:14: ", "`arrivals` needs `rate_per_s` or `rate`"),
        ("small.toml:20: ", "`rate_per_s` must be above 0"),
    ]) {
        assert!(line.starts_with(at) && line.contains(problem), "{error}");
    }
    let error = resolved(
        "[\"hello\", \"tetra/3\"]\n\n[select]\nservers = [\"go-*\"]\ntags = [\"idiomatic\"]",
        "[\"helo\", \"tetra/9\"]\n\n[select]\nservers = [\"go-oen\"]\ntags = [\"idomatic\"]",
    )
    .unwrap_err();
    assert_eq!(error.lines().count(), 4, "{error}");
}

#[test]
fn names_missing_from_the_tree_are_reported() {
    let table = [
        ("\"hello\"", "\"helo\"", "plan `small`: there is no workload `helo`; did you mean `hello`?"),
        (
            "\"tetra/3\"",
            "\"tetra/4\"",
            "plan `small`: workload `tetra` has no case `tetra/4`; its cases: tetra/3, tetra/2",
        ),
        ("go-*", "php-*", "plan `small`: no server has the id `php-*`; available: go-one"),
        ("go-*", "go-oen", "plan `small`: no server has the id `go-oen`; did you mean `go-one`?"),
        (
            "idiomatic",
            "idomatic",
            "plan `small`: no server has the tag `idomatic`; did you mean `idiomatic`?",
        ),
        ("go-*\"]", "go-*\"]\nexclude = [\"*\"]", "plan `small`: nothing to measure"),
        (
            "workloads = [\"hello\"]",
            "workloads = [\"tetra/2\"]",
            "plan `small`: load `fixed` names `tetra/2`, which",
        ),
    ];
    for (from, to, expected) in table {
        let reported = resolved(from, to).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn omitted_cells_are_noted() {
    let resolution = resolved("tags = [\"idiomatic\"]", "").unwrap();
    assert!(keys(&resolution).iter().any(|key| key.starts_with("go-tuned single tetra/3")));
    let hello_only = resolved("tags = [\"idiomatic\"]", "").map(|_| ()).and_then(|()| {
        let tree = TestTree::with(&["go-one"]);
        tree.write("servers/go-two/server.toml", &MANIFEST.replace("\"hello\", ", ""));
        tree.write("servers/go-bad/server.toml", "");
        let plan = parse(&PLAN.replacen(", \"tetra/3\"", "", 1))?;
        plan.resolve(&tree.catalogue()).map_err(|error| error.to_string())
    });
    let notes = hello_only.unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("server go-bad is skipped, because its files have errors: ")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.starts_with("server go-two is skipped: it serves none")),
        "{notes:?}"
    );
}

#[test]
fn a_form_that_a_server_lacks_is_noted() {
    let tree = TestTree::with(&["go-one", "go-two"]);
    let single = MANIFEST.split("[forms.cores]").next().unwrap();
    tree.write("servers/go-two/server.toml", single);
    let text = PLAN.replacen("repeats = 3", "repeats = 3\nforms = [\"single\", \"cores\"]", 1);
    let resolution = parse(&text).unwrap().resolve(&tree.catalogue()).unwrap();
    assert_eq!(resolution.cells.len(), 9);
    assert_eq!(resolution.notes, ["form `cores` is skipped, as they do not have it, for go-two"]);
}

#[test]
fn a_form_of_one_server_is_noted_once_and_an_unknown_one_is_an_error() {
    let tree = TestTree::with(&["go-one", "go-two", "go-three"]);
    tree.write("servers/go-two/server.toml", &format!("{MANIFEST}\n[forms.go-run]\ncores = \"one\"\n"));
    let resolved = |form: &str| {
        let forms = format!("repeats = 3\nforms = [\"single\", \"{form}\"]");
        parse(&PLAN.replacen("repeats = 3", &forms, 1)).unwrap().resolve(&tree.catalogue())
    };
    let resolution = resolved("go-run").unwrap();
    assert_eq!(resolution.notes, ["form `go-run` is measured of go-two only: others do not have it"]);
    let own = resolution.cells.iter().filter(|cell| cell.form == "go-run").count();
    assert_eq!((own, resolution.cells.len()), (3, 12));
    let error = resolved("go-rum").unwrap_err().to_string();
    assert!(error.contains("has the form `go-rum`") && error.ends_with("did you mean `go-run`?"), "{error}");
}

#[test]
fn a_broken_manifest_that_a_plan_names_is_an_error() {
    let tree = TestTree::with(&["go-one"]);
    tree.write("servers/go-bad/server.toml", "name = 3\n");
    let plan = parse(&PLAN.replacen("go-*", "go-bad", 1)).unwrap();
    let reported = plan.resolve(&tree.catalogue()).unwrap_err().to_string();
    assert!(
        reported.contains("`go-bad` cannot be used") && reported.contains("server.toml:1: "),
        "{reported}"
    );
}

#[test]
fn flags_make_a_plan() {
    let select = Select { servers: vec!["go-*".into()], ..Select::default() };
    let flags = AdHoc { select, rates_per_s: vec![2_000.0], repeats: 2, ..AdHoc::default() };
    let plan = flags.plan().unwrap();
    assert_eq!(parse(&plan.to_toml().unwrap()).unwrap(), plan);
    assert_eq!((plan.load.len(), plan.load[0].name.as_str()), (1, "open-2000"));
    assert!(AdHoc { repeats: 0, ..AdHoc::default() }.plan().is_err());
    assert!(AdHoc { repeats: u32::MAX, ..AdHoc::default() }.plan().is_err());
    assert_eq!(AdHoc::default().plan().unwrap().expanded().unwrap()[0].work.kind(), LoopKind::Closed);
}

#[test]
fn conflicting_settings_are_reported() {
    let reported = |keys: &str| {
        let text = format!(
            "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n[[load]]\nname = \"a\"\nconnections = 4\n{keys}\n"
        );
        parse(&text).unwrap_err().to_string()
    };
    for (keys, expected) in [
        ("duration = \"1s\"\nhttp = \"4\"", "`http` is \"4\""),
        ("duration = \"1s\"\ndepth = 4\nkeep_alive = false", "`depth` above 1 needs HTTP/1.1"),
        (
            "duration = \"1s\"\nkeep_alive = false\nrequests_per_connection = 9",
            "remove `requests_per_connection`",
        ),
        (
            "duration = \"1s\"\ntwins = [\"unpipelined\"]",
            "`twins` cannot contain `unpipelined`: the load is not pipelined",
        ),
        (
            "duration = \"1s\"\ndepth = 4\ntwins = [\"close\"]",
            "`twins` cannot contain `close`: the load is pipelined",
        ),
        ("duration = \"1s\"\ninstances = 4", "`instances` needs a `balancer`"),
        ("duration = \"1s\"\nbalancer = \"x\"\ninstances = 4294967295", "the maximum is 1000"),
        ("duration = \"1s\"\nfault = \"kill-one\"", "`fault` needs a `balancer`"),
        (
            "duration = \"1s\"\npin = { database = \"server\" }",
            "`pin` assigns cores to a database, but the plan has no `databases`",
        ),
        ("duration = \"1s\"\nbalancer = \"x\"\nfault = \"kill-one\"", "needs at least two `instances`"),
        ("requests = 9\nbalancer = \"x\"\ninstances = 2\nfault = \"kill-one\"", "`fault` needs a `duration`"),
        ("duration = \"1s\"\nbalancer = \"x\"\nfirst_run = true", "write a second load"),
        ("duration = \"1s\"\nbalancer = \"x\"\ninstances = 2\ntwins = [\"close\"]", "write a second load"),
        ("duration = \"1s\"\nbalancer = \"x\"\ntwins = [\"spread\"]", "at least two `instances`"),
        ("duration = \"1s\"\ntwins = [\"spread\"]", "`spread` only with a `balancer`"),
        (
            "duration = \"1s\"\nfirst_run = true\n[[load]]\nname = \"a-first\"\nconnections = 4\nduration = \"1s\"",
            "two loads are named `a-first`",
        ),
        (
            "duration = \"1s\"\n[[observed]]\nsource = \"001\"\nsubject = \"Go\"\nload = \"b\"\nwhat = \"requests_per_s\"\nvalue = 1.0\nunit = \"requests/s\"",
            "the plan has no load `b`",
        ),
    ] {
        let reported = reported(keys);
        assert!(reported.contains(expected), "{reported}");
    }
    assert!(parse("name = \"p\"\nscale = 2\nrepeats = 1\nworkloads = [\"hello\"]\n[[load]]\nname = \"a\"\nconnections = 4\nduration = \"1s\"\n").is_err());
}

#[test]
fn a_server_without_pipelining_is_left_out_of_pipelined_loads() {
    let tree = TestTree::new();
    let manifest = format!("{MANIFEST}\n[traits]\npipelining = false\n");
    tree.write("servers/a-one/server.toml", &manifest);
    let text = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n[[load]]\nname = \"deep\"\nconnections = 4\n\
                duration = \"1s\"\ndepth = 16\ntwins = [\"unpipelined\"]\n";
    let resolution = parse(text).unwrap().resolve(&tree.catalogue()).unwrap();
    let names: Vec<&str> = resolution.cells.iter().map(|cell| cell.load.name.as_str()).collect();
    assert_eq!(names, ["deep-unpipelined"]);
    assert_eq!(
        resolution.notes,
        ["server a-one does not answer pipelined requests: not measured with load deep"]
    );
}

#[test]
fn a_server_without_http_2_is_left_out_of_http_2_loads() {
    let tree = TestTree::new();
    let manifest = |traits: &str| format!("{MANIFEST}\n[traits]\n{traits}\n");
    tree.write("servers/a-old/server.toml", &manifest(""));
    tree.write("servers/a-new/server.toml", &manifest("http2 = true\npipelining = false"));
    let text = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n[select]\nservers = [\"a-*\"]\n[[load]]\n\
                name = \"streams\"\nconnections = 4\nduration = \"1s\"\ndepth = 16\nhttp = \"2\"\n";
    let resolution = parse(text).unwrap().resolve(&tree.catalogue()).unwrap();
    let cells: Vec<&str> = resolution.cells.iter().map(|cell| cell.server.id.as_str()).collect();
    assert_eq!(cells, ["a-new"]);
    assert_eq!(
        resolution.notes,
        ["server a-old does not speak HTTP/2 (trait `http2`): not measured with load streams"]
    );
    for (change, problem) in [
        ("http = \"4\"", "`http` is \"4\"; use \"1.0\", \"1.1\", \"2\" or \"3\""),
        ("http = \"2\"\nkeep_alive = false", "`http = \"2\"` needs keep-alive"),
    ] {
        let error = parse(&text.replace("depth = 16\nhttp = \"2\"", change)).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn workloads_of_other_protocols_are_measured_where_a_load_fits() {
    let tree = TestTree::new();
    let manifest = |workloads: &str, traits: &str| {
        format!("{}\n[traits]\n{traits}\n", MANIFEST.replace("[\"hello\", \"tetra\"]", workloads))
    };
    let echo = "about = \"x\"\nprotocol = \"websocket\"\n[[case]]\npath = \"/ws\"\nbody = \"a\"\nexpect = { body = \"a\" }\n";
    tree.write("workloads/echo.toml", echo);
    tree.write("servers/a-http3/server.toml", &manifest("[\"hello\"]", "http3 = true"));
    tree.write("servers/a-echo/server.toml", &manifest("[\"echo\", \"hello\"]", ""));
    let text = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\", \"echo\"]\n[select]\nservers = [\"a-*\"]\n\
                [[load]]\nname = \"plain\"\nconnections = 4\nduration = \"1s\"\n\
                [[load]]\nname = \"h3\"\nconnections = 4\nduration = \"1s\"\ndepth = 8\nhttp = \"3\"\n";
    let plan = parse(text).unwrap();
    let resolution = plan.resolve(&tree.catalogue()).unwrap();
    let mut keys: Vec<String> = resolution.cells.iter().map(Cell::key).collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "a-echo single echo plain",
            "a-echo single hello plain",
            "a-http3 single hello h3",
            "a-http3 single hello plain"
        ]
    );
    assert_eq!(
        resolution.notes,
        [
            "load h3 is not measured with workload echo: `http` applies only to workloads of HTTP",
            "server a-echo does not speak HTTP/3 (trait `http3`): not measured with load h3"
        ]
    );
    let protocol = |key: &str| {
        let cell = resolution.cells.iter().find(|cell| cell.key() == key).unwrap();
        let load = cell.load_record();
        (load.protocol, load.http, load.tls)
    };
    assert_eq!(protocol("a-echo single echo plain"), (WorkloadProtocol::WebSocket, None, false));
    assert_eq!(protocol("a-http3 single hello h3"), (WorkloadProtocol::Http, Some("3".to_owned()), true));
}

#[test]
fn a_load_for_grpc_has_no_more_streams_than_a_connection() {
    let tree = TestTree::new();
    let call = "about = \"x\"\nprotocol = \"grpc\"\n[stream]\nformat = \"messages\"\n[[case]]\npath = \"/a.B/C\"\n\
                [case.expect]\nevents = 3\n";
    tree.write("workloads/call.toml", call);
    tree.write("servers/a-call/server.toml", &MANIFEST.replace("[\"hello\", \"tetra\"]", "[\"call\"]"));
    let text = "name = \"p\"\nrepeats = 1\nworkloads = [\"call\"]\n[select]\nservers = [\"a-*\"]\n\
                [[load]]\nname = \"plain\"\nconnections = 4\nduration = \"1s\"\n\
                [[load]]\nname = \"deep\"\nconnections = 4\nduration = \"1s\"\ndepth = 32768\n";
    let resolved = |text: &str| {
        let resolution = parse(text).unwrap().resolve(&tree.catalogue()).unwrap();
        (resolution.cells.len(), resolution.notes)
    };
    assert_eq!(resolved(text), (2, vec![]));
    let note = "load deep is not measured with workload call: \
                a connection of gRPC cannot have as many streams as `depth`";
    assert_eq!(resolved(&text.replace("32768", "32769")), (1, vec![note.to_owned()]));
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z\"\\\\]{1,6}", 0..3)
}

prop_compose! {
    fn loads()(
        connections in 1..100_000_u32,
        depth in 1..20_u32,
        rate in prop::option::of(0.001..1e7_f64),
        poisson: bool,
        duration_ms in prop::option::of(1..10_000_000_u64),
        warmup_us in prop::option::of(0..10_000_000_u64),
        workloads in words(),
        number in 0..1_000_000_u32,
        (first_run, closes, per_connection, full) in (any::<bool>(), any::<bool>(), prop::option::of(1..1_000_u64), any::<bool>()),
        balanced: bool,
    ) -> PlanLoad {
        // Depth needs connections that stay open; twins need a load that is not balanced.
        let depth = if closes || per_connection.is_some() { 1 } else { depth };
        let twins = if depth > 1 { vec![VariantKind::Unpipelined] } else { vec![VariantKind::Http10] };
        let pin = Pin {
            instances: PinInstances::Together,
            balancer: PinBalancer::Generator,
            ..Pin::default()
        };
        PlanLoad {
            name: format!("load-{number}"),
            connections,
            depth,
            rate_per_s: rate,
            arrivals: rate.filter(|_| poisson).map(|_| Arrivals::Poisson),
            duration: duration_ms.map(Duration::from_millis),
            requests: duration_ms.is_none().then_some(1_000),
            warmup: warmup_us.filter(|_| duration_ms.is_some()).map(Duration::from_micros),
            workloads,
            usual_length: duration_ms.is_none().then_some(Duration::from_secs(7)),
            keep_alive: !closes || per_connection.is_some(),
            requests_per_connection: per_connection,
            first_run: first_run && !balanced,
            twins: if balanced { Vec::new() } else { twins },
            full,
            tls: full && !balanced,
            instances: balanced.then_some(4),
            balancer: balanced.then(|| "haproxy".into()),
            policy: balanced.then(|| "leastconn".into()),
            fault: (balanced && duration_ms.is_some()).then_some(FaultKind::KillOne),
            pin: balanced.then_some(pin),
            ..PlanLoad::default()
        }
    }
}

proptest! {
    /// `--resume` reads the stored text: it must give an equal plan.
    #[test]
    fn a_plan_round_trips_through_toml(
        about in ".{0,30}",
        seed in prop::option::of(0..=MAX_SEED),
        repeats in 1..50_u32,
        workloads in prop::collection::vec("[a-z]{1,8}(/[0-9]{1,5})?", 1..4),
        tags in words(),
        traits in words(),
        load in loads(),
    ) {
        let select = Select { tags, traits, ..Select::default() };
        let forms = vec!["cores".into()];
        let observed = vec![Observation {
            source: "001".into(),
            server: Some("go-nethttp".into()),
            subject: about.clone(),
            workload: None,
            load: Some(load.name.clone()),
            form: None,
            what: ObservedFigure::RequestsPerS,
            value: 65_771.3,
            unit: "requests/s".into(),
            note: String::new(),
        }];
        let (budget, scale) = (Some(Duration::from_secs(1_800)), Some(if load.full { Scale::Auto } else { Scale::Factor(0.5) }));
        let plan = Plan {
            name: "p".into(), about, seed, repeats, forms, workloads, select, load: vec![load],
            budget, scale, full_size_cores: Some(8), full_repeats: Some(9), observed, ..Plan::default()
        };
        prop_assert_eq!(Plan::parse("p", &plan.to_toml().unwrap()).unwrap(), plan);
    }
}

#[test]
fn a_plan_of_full_loads_only_names_plans_without_them() {
    let plan = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                [[load]]\nname = \"c\"\nconnections = 1\nduration = \"1s\"\nfull = true\n";
    let room = MachineCapacity { cores: 1, open_files: 1024 };
    let catalogue = TestTree::with(&["a-one"]).catalogue();
    let cells =
        |is_full| Plan::parse("p.toml", plan).unwrap().sized(is_full, room).unwrap().plan.resolve(&catalogue);
    assert_eq!(cells(true).unwrap().cells.len(), 1);
    let error = cells(false).unwrap_err().to_string();
    assert!(error.ends_with("nothing to measure: all loads of the plan need --full"), "{error}");
}

#[test]
fn a_copy_is_listed_after_its_original_and_shares_its_build() {
    let with = "repeats = 3\ncopies = [\"go-one\"]";
    let resolution = resolved("repeats = 3", with).unwrap();
    let copies: Vec<&Cell> = resolution.cells.iter().filter(|cell| cell.server.copy_of.is_some()).collect();
    assert_eq!(copies.len(), 3, "{:?}", keys(&resolution));
    assert_eq!(copies[0].key(), "go-one-copy single hello closed");
    assert_eq!(copies[0].server.build_id(), "go-one");
    assert_eq!(copies[0].server.record(String::new()).copy_of.as_deref(), Some("go-one"));
    let left = resolved("repeats = 3", "repeats = 3\ncopies = [\"node-http\"]").unwrap();
    assert!(
        left.notes.contains(
            &"node-http-copy is skipped: it is the A/A copy of server node-http, which is not selected"
                .to_owned()
        )
    );
    let error = resolved("repeats = 3", "repeats = 3\ncopies = [\"go-oen\"]").unwrap_err();
    assert!(error.contains("go-one"), "{error}");
}

#[test]
fn a_launch_is_warmed_up_continuously_or_in_bursts() {
    let plan = |keys: &str| {
        let text = format!(
            "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n{keys}\n\
             [[load]]\nname = \"a\"\nconnections = 1\nduration = \"1s\"\n"
        );
        Plan::parse("p", &text)
    };
    let bursts = plan("warmup = { bursts = 10, pause = \"15s\" }").unwrap();
    let expected = Bursts { count: 10, length: Duration::from_secs(2), pause: Duration::from_secs(15) };
    assert_eq!(bursts.launch_warm_up(), LaunchWarmUp::Bursts(expected));
    assert_eq!(bursts.launch_warm_up().limit(), Duration::from_secs(170));
    assert_eq!(Plan::parse("p", &bursts.to_toml().unwrap()).unwrap(), bursts);
    assert!(plan("steady_within = \"0s\"").unwrap().launch_warm_up().is_none());
    for (keys, reported) in [
        ("warmup = { bursts = 0, pause = \"1s\" }", "`bursts` must be 1 to 1000"),
        ("warmup = { bursts = 2, pause = \"1s\", length = \"10ms\" }", "`length` must be at least 1s"),
        ("warmup = { bursts = 2, pause = \"2h\" }", "`length` and `pause` at most 3600s"),
        ("warmup = { bursts = 2 }", "missing key `pause`"),
        ("warmup = \"1s\"", "p:4"),
        ("warmup = { bursts = 2, pause = \"1s\" }\nsteady_within = \"9s\"", "exclude each other"),
    ] {
        let error = plan(keys).unwrap_err().to_string();
        assert!(error.contains(reported), "{keys}: {error}");
    }
}
