//! Tests of the manifest: the values of a valid one, and how errors are reported.
//!
//! Most take a valid manifest and change one thing. Its workloads need not exist: only the catalogue looks for them.
//! Damaged text is tried by the fuzz target `manifest`.

use crate::fixture::{MANIFEST, TestTree};
use crate::{FrameworkKind, Manifest, Trait, Variables};
use std::time::Duration;

fn read(text: &str) -> Result<Manifest, String> {
    let tree = TestTree::new();
    tree.write("servers/go-server/server.toml", text);
    let error = |error: crate::CatalogueError| {
        let text = error.to_string();
        text.split_once("go-server/").map_or(text.clone(), |(_, rest)| rest.to_owned())
    };
    Manifest::read(&tree.path("servers/go-server")).map_err(error)
}

fn complaint(from: &str, to: &str) -> String {
    assert!(MANIFEST.contains(from), "{from}");
    read(&MANIFEST.replacen(from, to, 1)).expect_err("it is wrong")
}

#[test]
fn a_valid_manifest_is_read_completely() {
    let manifest = read(MANIFEST).unwrap();
    assert_eq!((manifest.id.as_str(), manifest.kind), ("go-server", FrameworkKind::Platform));
    assert_eq!(manifest.start_timeout, Duration::from_secs(10));
    assert!(manifest.serves("hello") && !manifest.serves("page"));
    assert_eq!(manifest.build.as_deref(), Some("true"));
    assert!(manifest.setup.is_none() && manifest.form("other").is_none());
}

#[test]
fn a_form_adds_variables_and_expands_them() {
    let manifest = read(MANIFEST).unwrap();
    let given = Variables {
        port: Some(18_000),
        host: "127.0.0.1".into(),
        build: "/b".into(),
        cores: 4,
        workloads: "/w".into(),
        static_files: "/s".into(),
        database: None,
    };
    let cores = manifest.form("cores").unwrap();
    assert_eq!(cores.command, "exec server");
    let environment = given.with(&cores.env);
    for (name, value) in [
        ("MODE", "production"),
        ("WORKERS", "4"),
        ("PACELINE_PORT", "18000"),
        ("PACELINE_HTTP2_PORT", "18001"),
    ] {
        assert!(environment.contains(&(name.into(), value.into())), "{name}");
    }
    assert!(given.with(&manifest.form("single").unwrap().env).iter().all(|(name, _)| name != "WORKERS"));
}

#[test]
fn a_form_may_replace_the_command() {
    let text = MANIFEST.replace("[forms.cores]", "[forms.cores]\ncommand = \"exec many\"");
    assert_eq!(read(&text).unwrap().form("cores").unwrap().command, "exec many");
}

#[test]
fn a_form_of_its_own_says_its_cores() {
    let text = MANIFEST.to_owned() + "\n[forms.go-run]\ncommand = \"exec go run .\"\ncores = \"one\"\n";
    let manifest = read(&text).unwrap();
    assert_eq!(["single", "cores", "go-run"].map(|form| manifest.cores_of(form)), {
        use super::CoresWanted::{Half, One};
        [One, Half, One]
    });
    assert_eq!(manifest.form("go-run").unwrap().command, "exec go run .");
}

#[test]
fn the_package_of_the_framework_is_one_of_the_packages() {
    let with = |package: &str| {
        let line = format!("framework_package = \"{package}\"\nneeds = [\"sh\"]");
        read(&MANIFEST.replace("needs = [\"sh\"]", &line))
    };
    assert_eq!(read(MANIFEST).unwrap().framework_package, None);
    assert_eq!(with("golang-go").unwrap().framework_package.as_deref(), Some("golang-go"));
    assert_eq!(
        with("nim").unwrap_err(),
        "server.toml:10: `framework_package` is `nim`, which is not in `packages`: add it there"
    );
}

#[test]
fn errors_name_their_line() {
    let table = [
        ("framework", "framwork", "server.toml:3: unknown key `framwork`; did you mean `framework`?"),
        ("[build]", "[biuld]", "server.toml:13: unknown key `biuld`; did you mean `build`?"),
        (
            "[forms.cores]",
            "[forms.core]",
            "server.toml:21: form `core` is neither `single` nor `cores` (did you mean `cores`?): a form of the server's own \
             needs `cores = \"one\"` or `cores = \"all\"`",
        ),
        (
            "[forms.cores]",
            "[forms.cores]\ncores = \"one\"",
            "server.toml:21: `cores` cannot be set for the form `cores`, whose name says it",
        ),
        (
            "[forms.cores]",
            "[forms.\"a b\"]\ncores = \"one\"",
            "server.toml:21: the name of form `a b` must have lower-case letters, digits and `-` only",
        ),
        (
            "\"platform\"",
            "\"plattform\"",
            "server.toml:5: unknown value `plattform`; did you mean `platform`?",
        ),
        (
            "[\"idiomatic\"]",
            "[]",
            "server.toml:6: `tags` must contain exactly one of `idiomatic` and `tuned`",
        ),
        (
            "[run]",
            "[run]\nstart_timeout_s = 9223372036854775807",
            "server.toml:17: 9223372036854775807 seconds are too long: the maximum is 36000000",
        ),
        ("\"echo one\"", "\" \"", "server.toml:11: `version` is empty: give it a value"),
        (
            "[\"hello\", \"tetra\"]",
            "[]",
            "server.toml:8: `workloads` is empty: name at least one, such as `hello`",
        ),
        (
            "$PACELINE_CORES",
            "$PACELINE_CORE",
            "server.toml:22: unknown variable `$PACELINE_CORE`; did you mean `$PACELINE_CORES`?",
        ),
    ];
    for (from, to, expected) in table {
        assert_eq!(complaint(from, to), expected);
    }
    assert!(complaint("[\"001\"]", "1").starts_with("server.toml:7: expected a list in brackets, found `1`"));
}

#[test]
fn traits_have_the_lines_of_their_statements() {
    let traits =
        read(&format!("{MANIFEST}\n[traits]\nkeep_alive = true\npipelining = false\n")).unwrap().traits;
    assert_eq!((traits.stated(Trait::Pipelining), traits.has(Trait::Pipelining)), (Some(false), Some(false)));
    assert_eq!((traits.stated(Trait::Head), traits.has(Trait::Head)), (None, Some(true)));
    assert_eq!((traits.stated(Trait::Http10KeepAlive), traits.has(Trait::Http10KeepAlive)), (None, None));
    assert_eq!(traits.present(), ["keep_alive", "byte_wise", "head"]);
    assert_eq!(traits.lacking(), ["pipelining"]);
    assert_eq!(traits.no_sending_ahead(), Some("does not answer pipelined requests"));
    let says = |one| traits.correction(one, true);
    assert_eq!(says(Trait::Pipelining), "write `pipelining = true` in line 26 of server.toml");
    assert_eq!(says(Trait::Head), "add `head = true` below [traits] (line 24 of server.toml)");
    let none = read(MANIFEST).unwrap().traits;
    assert_eq!(none.correction(Trait::Head, false), "add `head = false` below a new [traits] in server.toml");
    assert_eq!(none.no_sending_ahead(), None);
    assert_eq!(
        read(&format!("{MANIFEST}\n[traits]\npiplining = true\n")).unwrap_err(),
        "server.toml:25: unknown key `piplining`; did you mean `pipelining`?"
    );
}

#[test]
fn protocols_may_have_separate_ports() {
    let address = "127.0.0.1:20000".parse().unwrap();
    let at = |traits: &str| {
        let traits = read(&format!("{MANIFEST}\n[traits]\n{traits}\n")).unwrap().traits;
        let ports = [(None, false), (Some("2"), false), (Some("2"), true), (Some("3"), false)];
        let ports = ports.map(|(http, tls)| traits.address(address, http, tls).port());
        (traits.tcp_offsets(), traits.udp_offsets(), ports)
    };
    assert_eq!(at("http2 = true"), (vec![], vec![], [20_000, 20_000, 20_002, 20_002]));
    assert_eq!(at("http2 = true\nhttp2_port = true"), (vec![1], vec![], [20_000, 20_001, 20_002, 20_002]));
    assert_eq!(at("tls = true\nhttp3 = true"), (vec![2], vec![2], [20_000, 20_000, 20_002, 20_002]));
    assert_eq!(
        read(&format!("{MANIFEST}\n[traits]\nhttp2_port = true\n")).unwrap_err(),
        "server.toml:25: `http2_port` needs `http2 = true`: add it, or remove `http2_port`"
    );
}

#[test]
fn a_container_may_be_marked_as_untried() {
    let head = "name = 'x'\nlanguage = 'Go'\nframework = 'x'\nengine = 'x'\nkind = 'micro'\ntags = ['tuned']\n\
                workloads = ['hello']\n";
    let with = |untried: &str| read(&format!("{head}untried = '{untried}'\n[container]\ndockerfile = 'x'\n"));
    assert_eq!(with(" no registry ").unwrap().untried.as_deref(), Some("no registry"));
    assert_eq!(read(MANIFEST).unwrap().untried, None);
    assert_eq!(with(&"é".repeat(200)).unwrap().untried.map(|reason| reason.chars().count()), Some(200));
    assert_eq!(
        with("  ").unwrap_err(),
        "server.toml:8: `untried` is empty: give the reason why the server was not tried, or remove the key"
    );
    for wrong in ["a\tb", &"é".repeat(201)] {
        let expected = "server.toml:8: `untried` must be one line of at most 200 characters";
        assert_eq!(with(wrong).unwrap_err(), expected, "{wrong}");
    }
    let without = complaint("sources = [\"001\"]", "untried = \"no registry\"");
    assert_eq!(without, "server.toml:7: `untried` is only for a server with [container]");
}

#[test]
fn a_manifest_without_a_form_is_rejected() {
    let text = MANIFEST.split("[forms.single]").next().unwrap().to_owned();
    assert!(read(&text).unwrap_err().contains("missing key `forms`"));
    let reported = read(&format!("{text}[forms]\n")).unwrap_err();
    assert!(reported.contains("neither `[forms.single]` nor `[forms.cores]`"), "{reported}");
}

#[test]
fn the_folder_is_the_id() {
    let tree = TestTree::with(&["go", "Go-server", "go-", "go-a_b"]);
    for folder in ["go", "Go-server", "go-", "go-a_b"] {
        let reported = Manifest::read(&tree.path("servers").join(folder)).unwrap_err().to_string();
        assert!(reported.contains("must be named `<language>-<name>`"), "{reported}");
    }
}

#[test]
fn a_profiled_server_keeps_its_own_options() {
    let of = |language: &str, env: &str| {
        let text = MANIFEST.replacen("language = \"Go\"", &format!("language = \"{language}\""), 1);
        let mut manifest = read(&text).unwrap();
        for form in manifest.forms.values_mut() {
            form.env.insert("NODE_OPTIONS".to_owned(), env.to_owned());
        }
        let profiled = manifest.profiled();
        assert_eq!(profiled.profiled(), profiled, "options are added once");
        profiled.forms["single"].env.clone()
    };
    let options = "--perf-basic-prof-only-functions --interpreted-frames-native-stack";
    assert_eq!(of("JavaScript", "")["NODE_OPTIONS"], options);
    assert_eq!(of("TypeScript", "--no-warnings")["NODE_OPTIONS"], format!("--no-warnings {options}"));
    assert_eq!(of("Go", "--x")["NODE_OPTIONS"], "--x");
    assert_eq!(of("Scala", "")["JAVA_TOOL_OPTIONS"], "-XX:+PreserveFramePointer");
}
