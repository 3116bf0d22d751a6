//! Tests of the workload: addresses, bodies, refusals, and how errors are reported.
//!
//! The files are made for each test. The comparison of answers is tested in `validate/difference`, the workloads of
//! this repository in `tests/it/repository.rs`.

use crate::fixture::{HELLO, MANIFEST, TETRA, TestTree};
use crate::{ExpectedBody, LoadTemplate, Plan, RefusedStatus, Workload, WorkloadCase};
use paceline_record::{DatabaseWork, WorkloadProtocol};

fn read(text: &str) -> Result<Workload, String> {
    let tree = TestTree::new();
    tree.write("workloads/some.toml", text);
    let reported = |error: crate::CatalogueError| {
        let text = error.to_string();
        text.split_once("workloads/").map_or(text.clone(), |(_, rest)| rest.to_owned())
    };
    Workload::read(&tree.path("workloads/some.toml")).map_err(reported)
}

#[test]
fn a_single_case_is_addressed_by_the_workload_alone() {
    let workload = read(HELLO).unwrap();
    let case = &workload.cases[0];
    assert_eq!((case.address.as_str(), case.method.as_str(), case.path.as_str()), ("some", "GET", "/hello"));
    assert_eq!(case.expect.body, ExpectedBody::Exact(b"Hello World\n".to_vec()));
    assert_eq!(workload.refusals[0].status, RefusedStatus::Exactly(404));
}

#[test]
fn several_cases_are_addressed_by_name() {
    let workload = read(TETRA).unwrap();
    let addresses: Vec<&str> = workload.cases.iter().map(|case| case.address.as_str()).collect();
    assert_eq!(addresses, ["some/3", "some/2"]);
    let nameless = read(&TETRA.replace("name = \"2\"\n", "")).unwrap_err();
    assert_eq!(nameless, "some.toml:10: with several cases, each needs a `name`");
    let twice = read(&TETRA.replace("name = \"2\"", "name = \"3\"")).unwrap_err();
    assert_eq!(twice, "some.toml:10: two cases have the same name `some/3`");
}

#[test]
fn a_body_is_matched_by_its_digest() {
    let workload = read(TETRA).unwrap();
    let body = &workload.cases[1].expect.body;
    assert_eq!(body.length(), Some(1));
    assert!(body.matches(b"4") && !body.matches(b"5") && !body.matches(b"44"));
}

#[test]
fn a_body_may_be_in_a_file() {
    let tree = TestTree::new();
    tree.write("workloads/page.txt", "a page");
    tree.write(
        "workloads/page.toml",
        &HELLO.replace("body = \"Hello World\\n\"", "body_file = \"page.txt\""),
    );
    let workload = Workload::read(&tree.path("workloads/page.toml")).unwrap();
    assert_eq!(workload.cases[0].expect.body, ExpectedBody::Exact(b"a page".to_vec()));
}

#[test]
fn header_names_are_stored_in_lower_case() {
    let text = HELLO.replace(
        "body = ",
        "headers = [\"Server\", \"Content-Length|X-Y\", \"X-Cache: HIT\"]\ncharset = \"utf-8\"\nbody = ",
    );
    let expect = &read(&text).unwrap().cases[0].expect;
    assert_eq!(expect.headers, ["server", "content-length|x-y", "x-cache: HIT"]);
    assert_eq!(expect.charset.as_deref(), Some("utf-8"));
}

#[test]
fn a_computed_answer_needs_a_placeholder_for_x_and_bounds() {
    let with = |path: &str, least: u32, most: u32, answer: &str| {
        let computed = format!("path = \"{path}\"\nanswer = \"{answer}\"\nleast = {least}\nmost = {most}\n");
        read(&format!("{HELLO}\n[[computed]]\n{computed}")).map(|workload| workload.computed)
    };
    let right = with("/p/{x}", 2, 5, "x^x").unwrap();
    assert_eq!(
        (right[0].path_of(3), right[0].expect_of(3).body),
        ("/p/3".into(), ExpectedBody::Exact(b"27".to_vec()))
    );
    assert!(
        with("/p/x", 2, 5, "x^x")
            .unwrap_err()
            .contains("`/p/x` has no `{x}`, the placeholder for the number")
    );
    assert!(with("/p/{x}", 6, 5, "x^x").unwrap_err().contains("`least` and `most` must be from 0 to 100000"));
    assert!(with("/p/{x}", 0, 5, "x*x").unwrap_err().contains("unknown value `x*x`"));
}

#[test]
fn errors_are_reported_with_their_line() {
    let body = "body = \"Hello World\\n\"";
    let table = [
        (body, "body_file = \"none.txt\"", "some.toml:8: cannot read"),
        (body, "", "some.toml:5: `expect` needs exactly one of"),
        (body, "body = \"a\"\nlength = 1", "some.toml:5: `expect` needs exactly one of"),
        (body, "length = 1\nsha256 = \"12\"", "some.toml:9: `sha256` is not 64 hexadecimal digits"),
        (body, "json = \"{a}\"", "some.toml:8: `json` is not valid JSON: key must be a string"),
        (body, "body = \"a\"\njson = \"1\"", "some.toml:5: `expect` needs exactly one of"),
        (body, "body = \"a\"\nheaders = [\"Server\", \"a b\"]", "some.toml:9: `a b` is not a header name"),
        (body, "body = \"a\"\nheaders = [\"A|B: c\"]", "some.toml:9: `A|B: c` is not a header name"),
        (
            body,
            "body = \"a\"\nheader = [\"Server\"]",
            "some.toml:9: unknown key `header`; did you mean `headers`?",
        ),
        ("\"/hello\"", "\"hello\"", "some.toml:4: `hello` is not a path"),
        ("\"/hello\"", "\"/he llo\"", "some.toml:4: `/he llo` is not a path"),
        ("\"404\"", "\"40x\"", "some.toml:12: `40x` is not an error status"),
        ("\"404\"", "\"200\"", "some.toml:12: `200` is not an error status"),
        ("status = 200", "staus = 200", "some.toml:6: unknown key `staus`; did you mean `status`?"),
    ];
    for (from, to, expected) in table {
        let reported = read(&HELLO.replacen(from, to, 1)).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn everything_wrong_with_a_workload_is_reported_at_once() {
    let error = read(
        "about = 'x'\n[[case]]\npath = 'hello'\nexpect = { status = 200, body = 'a' }\n\
         [[refuse]]\npath = '/x'\nstatus = '200'\n[[check]]\npath = '/y'\nexpect = { status = 200 }\n",
    )
    .unwrap_err();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 3, "{error}");
    assert!(
        lines[0].contains("`hello` is not a path") && lines[1].contains("exactly one of `body`"),
        "{error}"
    );
    assert!(lines[2].contains("`200` is not an error status"), "{error}");
}

#[test]
fn own_checks_are_apart_from_those_of_a_board() {
    let check = "[[check]]\npath = \"/a\"\n[check.expect]\nstatus = 200\nbody = \"a\"\n";
    let own = check.replace("check", "own_check").replace("/a", "/b");
    let workload = read(&format!("{HELLO}\n{check}{own}")).unwrap();
    let is_only = |checks: &[WorkloadCase], path: &str| checks.len() == 1 && checks[0].path == path;
    assert!(is_only(&workload.checks, "/a") && is_only(&workload.own_checks, "/b"), "{workload:?}");
    let weighted = own.replace("path", "weight = 2\npath");
    assert!(read(&format!("{HELLO}\n{weighted}")).unwrap_err().contains("`weight` and `load`"));
}

#[test]
fn a_status_class_accepts_all_of_its_statuses() {
    let class = read(TETRA).unwrap().refusals[0].status;
    assert!(class.admits(400) && class.admits(499) && !class.admits(500) && !class.admits(200));
    assert_eq!(class.to_string(), "4xx");
    assert!(!RefusedStatus::Exactly(404).admits(400));
}

#[test]
fn a_workload_may_have_another_protocol() {
    let echo = "about = \"x\"\nprotocol = \"websocket\"\n[[case]]\npath = \"/ws\"\nbody = \"a\"\n\
                [case.expect]\nbody = \"b\"\n";
    let case = read(echo).unwrap().cases.remove(0);
    assert_eq!((case.protocol, case.expect.status), (WorkloadProtocol::WebSocket, 101));
    assert_eq!((case.title().as_str(), case.is_plain()), ("WebSocket /ws", false));
    let call = "about = \"x\"\nprotocol = \"grpc\"\n[stream]\nformat = \"messages\"\n[[case]]\npath = \"/a.B/C\"\n\
                [case.expect]\nevents = 3\n";
    let case = read(call).unwrap().cases.remove(0);
    assert_eq!((case.expect.events, case.expect.body), (Some(3), ExpectedBody::Any));
    for (text, from, to, expected) in [
        (echo, "body = \"b\"", "status = 101", "some.toml:6: `status` cannot be expected of WebSocket"),
        (echo, "body = \"b\"", "", "some.toml:6: `expect` needs exactly one of: `body`"),
        (echo, "body = \"a\"", "body_bytes = 3", "some.toml:5: `body_bytes` needs the protocol HTTP"),
        (
            echo,
            "protocol = \"websocket\"",
            "protocol = \"websocket\"\nproto = \"a\"",
            "some.toml:3: `proto` needs",
        ),
        (echo, "websocket", "udp", "some.toml:2: unknown value `udp`"),
        (call, "messages", "sse", "some.toml:3: `stream.format` must be \"messages\""),
        (call, "events = 3", "body = \"a\"", "some.toml:7: `body` cannot be expected with a stream of gRPC"),
        (call, "events = 3", "grpc_status = \"NO\"", "some.toml:8: `NO` is not a status of gRPC"),
        (HELLO, "status = 200", "grpc_status = \"OK\"", "some.toml:5: `grpc_status` needs a workload with"),
        (HELLO, "status = 200", "", "some.toml:5: missing key `status`"),
    ] {
        let reported = read(&text.replacen(from, to, 1)).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn a_request_with_a_body_is_posted() {
    let upload = read(&HELLO.replacen("path = ", "body_bytes = 500_001\npath = ", 1)).unwrap();
    let case = &upload.cases[0];
    assert_eq!((case.method.as_str(), case.is_plain()), ("POST", false));
    let body = case.body.as_ref().unwrap();
    assert_eq!((body.length(), body.bytes().len()), (500_001, 500_001));
    assert_eq!(body.bytes(), body.bytes());
}

/// Two requests that a load sends as a mix, for static files.
const MIX: &str = r#"about = "x"
mix = true
headers = { Accept-Encoding = "gzip;q=0.5, br;q=0" }
static_files = "/sum/"
base = "/sum"

[[case]]
name = "get"
path = "/sum/a"
expect = { status = 200, body = "1", compressed = true }

[[case]]
name = "post"
path = "/sum/b"
headers = ["accept-encoding: br", "X-A: b"]
body = "20"
chunk_bytes = 3
expect = { status = 200, body = "21" }
"#;

#[test]
fn cases_may_be_one_mix() {
    let workload = read(MIX).unwrap();
    let [case] = &workload.cases[..] else { panic!("{:?}", workload.cases) };
    assert_eq!((case.address.as_str(), case.path.as_str()), ("some", "/sum/a"));
    let addresses: Vec<&str> = workload.requests().map(|request| request.address.as_str()).collect();
    assert_eq!(addresses, ["some/get", "some/post"]);
    let [get, post] = case.requests() else { panic!("{:?}", case.requests()) };
    assert_eq!(get.headers.get("Accept-Encoding"), Some("gzip;q=0.5, br;q=0"));
    assert_eq!(
        (get.expect.coding.accepted.as_slice(), get.expect.coding.is_required),
        (&["gzip".to_owned()][..], true)
    );
    assert_eq!((post.headers.get("Accept-Encoding"), post.headers.0.len()), (Some("br"), 2));
    assert_eq!(
        (post.expect.coding.accepted.as_slice(), post.expect.coding.is_required),
        (&["br".to_owned()][..], false)
    );
    assert_eq!((post.method.as_str(), post.chunk_bytes.map(u32::from)), ("POST", Some(3)));
    assert_eq!([get.title(), post.title()], ["GET /sum/a compressed", "POST /sum/b in chunks"]);
    let single = read(HELLO).unwrap();
    assert_eq!(single.cases[0].requests(), &single.cases[..]);
    assert_eq!(single.static_files, None);
}

/// Reads and updates of one database, whose load differs from the requests that are checked.
const ROWS: &str = r#"about = "x"
mix = true
databases = ["postgresql"]
base = "/items/"

[[case]]
name = "read"
weight = 3
path = "/items/7"
load = { path = "/items/{rand:1:9}" }
expect = { status = 200, json_form = '{"id": "1..9"}' }
database = { selects = 1, rows_read = 2 }

[[case]]
name = "update"
method = "PUT"
path = "/items/7"
body = "1"
load = { path = "/items/{rand:1:9}", body = "{seq}" }
expect = { status = 200, json_form = '"any"' }
database = { selects = 0, rows_read = 0, rows_updated = 1 }
"#;

#[test]
fn a_mix_may_need_a_database_and_have_templates_and_weights() {
    let workload = read(ROWS).unwrap();
    let [case] = &workload.cases[..] else { panic!("{:?}", workload.cases) };
    assert_eq!(case.database, Some(DatabaseWork::default()), "the least of its requests");
    assert!(case.changes_rows() && !case.requests()[0].changes_rows());
    assert!(workload.is_for_database("postgresql") && !workload.is_for_database("mariadb"));
    let [read_row, update] = case.requests() else { panic!("{:?}", case.requests()) };
    assert_eq!((read_row.weight, update.weight), (3, 1));
    let template = |body: Option<&str>| {
        Some(LoadTemplate { path: "/items/{rand:1:9}".into(), body: body.map(str::to_owned) })
    };
    assert_eq!((&read_row.load, &update.load), (&template(None), &template(Some("{seq}"))));
    let tree = TestTree::with(&["go-plain"]);
    tree.write("workloads/some.toml", ROWS);
    let manifest = MANIFEST.replace("[\"hello\", \"tetra\"]", "[\"some\"]");
    tree.write("servers/go-rows/server.toml", &format!("{manifest}\n[paths]\nsome = \"/own/\"\n"));
    let catalogue = tree.catalogue();
    let own = catalogue.workload_of(&catalogue.server("go-rows").unwrap(), "some").unwrap();
    let paths: Vec<&str> =
        own.requests().filter_map(|request| request.load.as_ref()).map(|load| load.path.as_str()).collect();
    assert_eq!(paths, ["/own/{rand:1:9}", "/own/{rand:1:9}"]);
    for (from, to, expected) in [
        ("mix = true\n", "", "some.toml:5: `weight` and `load` are keys of the cases"),
        (
            "database = { selects = 1, rows_read = 2 }",
            "",
            "some.toml:2: all cases of a `mix` need a `database`",
        ),
        ("json_form = '\"any\"'", "body = ''", "some.toml:19: `load` needs an expected `json_form`"),
        ("weight = 3", "weight = 0", "some.toml:8: weight 0 is not a whole number"),
        ("{ path = \"/items/{rand:1:9}\" }", "{ path = \"items\" }", "some.toml:10: `items` is not a path"),
    ] {
        assert!(ROWS.contains(from), "{from}");
        let reported = read(&ROWS.replacen(from, to, 1)).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn databases_of_a_workload_are_needed_and_known() {
    let tree = TestTree::new();
    let broken = || {
        let broken = tree.catalogue().broken_workloads;
        broken.first().map(|broken| broken.error.to_string())
    };
    tree.write("workloads/some.toml", &ROWS.replace("[\"postgresql\"]", "[\"postgres\"]"));
    assert_eq!(broken(), None, "a tree without databases knows no names");
    // The name is valid, although the database cannot be used.
    tree.write("databases/postgresql/database.toml", "name = 3");
    let reported = broken().unwrap();
    let expected =
        "some.toml:3: `databases` names the unknown database `postgres`; did you mean `postgresql`?";
    assert!(reported.ends_with(expected), "{reported}");
    tree.write("workloads/some.toml", ROWS);
    assert_eq!(broken(), None);
    let reported = read(&format!("databases = [\"postgresql\"]\n{HELLO}")).unwrap_err();
    assert!(reported.starts_with("some.toml:1: `databases` needs a case with a `database`"), "{reported}");
}

#[test]
fn checks_that_a_cache_answers_are_not_planned_behind_a_balancer() {
    let tree = TestTree::with(&["go-one"]);
    let with_check = |header: &str| {
        let check = "[[check]]\npath = \"/hello\"\n[check.expect]\nstatus = 200\nbody = \"x\"\n";
        tree.write("workloads/hello.toml", &format!("{HELLO}\n{check}headers = [\"{header}\"]\n"));
        let catalogue = tree.catalogue();
        let resolve = |keys: &str| {
            let text = format!(
                "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\"]\n{keys}\n\
                 [[load]]\nname = \"a\"\nconnections = 1\nduration = \"1s\"\n"
            );
            let resolution = Plan::parse("p.toml", &text).unwrap().resolve(&catalogue);
            resolution.map(|resolution| resolution.cells.len()).map_err(|error| error.to_string())
        };
        assert_eq!(resolve(""), Ok(1));
        // There is no such balancer: it is looked up only if something is measured behind it.
        resolve("instances = 2\nbalancer = \"none-here\"").unwrap_err()
    };
    let reported = with_check("X-Cache: HIT");
    assert!(reported.contains("its checks of a cache need one process"), "{reported}");
    let reported = with_check("X-Cache");
    assert!(reported.contains("there is no balancer `none-here`"), "{reported}");
}

#[test]
fn a_mix_and_its_requests_are_checked() {
    for (from, to, expected) in [
        (
            "[[case]]\nname = \"post\"",
            "[[check]]\nname = \"post\"",
            "some.toml:2: `mix` needs 2 to 100 cases",
        ),
        (
            "mix = true",
            "mix = true\nprotocol = \"websocket\"",
            "some.toml:4: `headers` needs the protocol HTTP",
        ),
        ("name = \"get\"", "name = \"get\"\nchunk_bytes = 3", "some.toml:9: `chunk_bytes` needs"),
        ("chunk_bytes = 3", "chunk_bytes = 0", "some.toml:17: chunk_bytes 0 is not a number from 1 to"),
        ("gzip;q=0.5", "gzip;q=0", "some.toml:10: `compressed` needs a request that accepts a coding"),
        ("Accept-Encoding = ", "Host = ", "some.toml:3: `Host` cannot be set"),
        ("\"/sum/\"", "\"/sum\"", "some.toml:4: `static_files` is `/sum`: it must end with `/`"),
    ] {
        assert!(MIX.contains(from), "{from}");
        let reported = read(&MIX.replacen(from, to, 1)).expect_err(to);
        assert!(reported.starts_with(expected), "{reported}");
    }
}

#[test]
fn a_server_has_its_own_paths_for_a_mix_and_needs_the_static_files() {
    let tree = TestTree::with(&["go-plain"]);
    tree.write("workloads/some.toml", MIX);
    let manifest = MANIFEST.replace("[\"hello\", \"tetra\"]", "[\"some\"]");
    tree.write("servers/go-static/server.toml", &format!("{manifest}\n[paths]\nsome = \"/own\"\n"));
    let catalogue = tree.catalogue();
    let server = catalogue.server("go-static").unwrap();
    assert!(server.needs_static_files && !catalogue.server("go-plain").unwrap().needs_static_files);
    let own = catalogue.workload_of(&server, "some").unwrap();
    let paths: Vec<&str> = own.requests().map(|request| request.path.as_str()).collect();
    assert_eq!((paths, own.cases[0].path.as_str()), (vec!["/own/a", "/own/b"], "/own/a"));
    assert_eq!(own.static_files.as_deref(), Some("/own/"));
}

#[test]
fn refusals_and_computed_answers_have_the_paths_of_the_server() {
    let more = "\n[[refuse]]\npath = \"/no-such-path\"\nstatus = \"404\"\n\
                [[computed]]\npath = \"/tetra/{x}\"\nanswer = \"x^x\"\nleast = 0\nmost = 9\n";
    let tree = TestTree::new();
    tree.write("workloads/tetra.toml", &format!("base = \"/tetra/\"\n{TETRA}{more}"));
    tree.write("servers/go-own/server.toml", &format!("{MANIFEST}\n[paths]\ntetra = \"/own/x?n=\"\n"));
    let catalogue = tree.catalogue();
    let own = catalogue.workload_of(&catalogue.server("go-own").unwrap(), "tetra").unwrap();
    let refused: Vec<&str> = own.refusals.iter().map(|refusal| refusal.path.as_str()).collect();
    assert_eq!(refused, ["/own/x?n=abc", "/no-such-path"]);
    assert_eq!(own.computed[0].path_of(7), "/own/x?n=7");
}
