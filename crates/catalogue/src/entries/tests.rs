//! Tests the manifests of imported entries.

use super::*;
use crate::{Manifest, Trait};

fn entry<'a>(text: &'a str, folder: &'a Path, has_file: &'a dyn Fn(&str) -> bool) -> EntryFolder<'a> {
    EntryFolder { folder, text, has_file }
}

/// Two tests, one of them with a database and paths of its own, and three that are skipped.
const TESTS: &str = r#"{"framework": "gin", "tests": [{
  "default": {"json_url": "/json", "port": "9000", "language": "Go", "approach": "Stripped", "classification": "Micro",
              "database": "None", "versus": "go", "db_url": "/db"},
  "pg": {"db_url": "/db", "query_url": "/dbs/", "cached_query_url": "/c/", "port": 8080, "language": "C#",
         "database": "POSTGRES", "dockerfile": "own.dockerfile", "docker_cmd": "/app/server -x"},
  "old": {"json_url": "/json", "port": 8080, "tags": ["broken"], "language": "Go"},
  "mongo": {"db_url": "/db", "port": 8080, "database": "MongoDB", "language": "Go"},
  "none": {"cached_query_url": "/c", "port": 8080, "language": "Go"}
}]}"#;

#[test]
fn each_test_is_a_manifest_that_can_be_read() {
    let folder = Path::new("/tfb/frameworks/Go/gin");
    let entries = read_techempower(&entry(TESTS, folder, &|_| true)).unwrap();
    let ids: Vec<&str> = entries.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["go-gin", "csharp-gin-pg"]);
    let read = |server: &ImportedServer| {
        Manifest::parse(&Path::new("/servers").join(&server.id), &server.manifest)
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let [plain, pg] = [&entries.servers[0], &entries.servers[1]].map(read);
    assert_eq!((plain.fixed.port, plain.tags[0].as_str(), plain.workloads.len()), (Some(9000), "tuned", 1));
    assert_eq!(entries.servers[0].left_out, ["db (the test names no database)"]);
    assert_eq!(
        (pg.databases.as_slice(), pg.database_at_start()),
        (&["postgresql".to_owned()][..], Some("postgresql"))
    );
    assert_eq!(pg.fixed.paths["queries"], "/dbs/");
    assert_eq!(pg.fixed.hosts, ["tfb-database"]);
    let container = pg.container.as_ref().unwrap();
    assert_eq!((container.source.as_path(), container.command.len()), (folder, 2));
    assert_eq!(container.args["TFB_TEST_NAME"], "gin-pg");
    assert_eq!(pg.traits.stated(Trait::KeepAlive), None);
    let why: Vec<&str> = entries.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    assert_eq!(
        why,
        ["needs MongoDB", "it has no test type that is a workload here", "marked as broken"],
        "{:?}",
        entries.skipped
    );
    let without = read_techempower(&entry(TESTS, folder, &|_| false)).unwrap();
    assert!(without.servers.is_empty() && without.skipped[0].why.contains("Dockerfile"));
}

#[test]
fn a_name_adds_no_keys_to_a_manifest() {
    let name = r#"a\npackages = [\"netcat\"]\r\n# b"#;
    let test = r#"{"json_url": "/json", "port": 80, "language": "Go", "display_name": "NAME"}"#;
    let tfb = format!(r#"{{"framework": "gin", "tests": [{{"NAME": {test}}}]}}"#).replace("NAME", name);
    let arena = r#"{"display_name": "NAME", "language": "Go", "tests": ["baseline"]}"#.replace("NAME", name);
    let (folder, has_file) = (Path::new("/x/a\npackages = [\"netcat\"]"), |name: &str| name != "build.sh");
    let servers = [
        read_techempower(&entry(&tfb, folder, &has_file)),
        read_httparena(&entry(&arena, folder, &has_file)),
    ];
    for server in servers.into_iter().map(|read| read.unwrap().servers.remove(0)) {
        let manifest = Manifest::parse(&Path::new("/servers").join(&server.id), &server.manifest);
        let manifest = manifest.unwrap_or_else(|error| panic!("{error}: {}", server.manifest));
        assert!(manifest.packages.is_empty(), "{}", server.manifest);
    }
}

#[test]
fn a_command_is_split_as_by_a_shell() {
    for (written, words) in [
        (r#""sh -c 'a  b' \"c d\" e""#, &["sh", "-c", "a  b", "c d", "e"][..]),
        (r#"["sh", "-c", "a  b"]"#, &["sh", "-c", "a  b"]),
        ("null", &[]),
    ] {
        let server = &test_with("docker_cmd", written).servers[0];
        let manifest = Manifest::parse(&Path::new("/servers").join(&server.id), &server.manifest).unwrap();
        assert_eq!(manifest.container.unwrap().command, words, "{written}");
    }
    let why = |written: &str| test_with("docker_cmd", written).skipped[0].why.clone();
    assert_eq!(why(r#""sh -c 'a""#), "its `docker_cmd` has a quote without an end");
    for written in ["7", "[7]", "{}"] {
        assert_eq!(why(written), "its `docker_cmd` is neither a text nor a list of texts", "{written}");
    }
}

/// A test with this key.
fn test_with(key: &str, value: &str) -> Entries {
    let test = format!(r#"{{"json_url": "/json", "port": 80, "{key}": {value}}}"#);
    let text = format!(r#"{{"framework": "gin", "tests": [{{"default": {test}}}]}}"#);
    read_techempower(&entry(&text, Path::new("/x"), &|_| true)).unwrap()
}

#[test]
fn a_key_of_another_type_is_not_left_out() {
    for (key, value, why) in [
        ("tags", r#""broken""#, "marked as broken"),
        ("dockerfile", "7", "its `dockerfile` is not a text"),
        ("database", r#"["postgres"]"#, "its `database` is not a text"),
    ] {
        assert_eq!(test_with(key, value).skipped[0].why, why, "{key}");
    }
    for (key, value) in [("tags", r#"["verified", 7]"#), ("tags", "7"), ("database", "null")] {
        assert_eq!(test_with(key, value).servers.len(), 1, "{key}");
    }
}

#[test]
fn a_name_that_a_description_has_twice_is_reported() {
    let test = |path: &str| format!(r#"{{"json_url": "{path}", "port": 80, "language": "Go"}}"#);
    let (first, last) = (test("/first"), test("/last"));
    let text = format!(
        r#"{{"framework": "gin", "tests": [{{"b": {first}, "default": {first}, "b": {last}}}, {{"c": {first}}}]}}"#
    );
    let entries = read_techempower(&entry(&text, Path::new("/x"), &|_| true)).unwrap();
    let ids: Vec<&str> = entries.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["go-gin-b", "go-gin", "go-gin-c"]);
    assert!(entries.servers[0].manifest.contains("/last") && entries.servers[1].manifest.contains("/first"));
    let [skipped] = entries.skipped.as_slice() else { panic!("{:?}", entries.skipped) };
    assert_eq!((skipped.test.as_str(), skipped.id.as_deref()), ("gin-b", Some("go-gin-b")));
    assert_eq!(skipped.why, "another test of this name follows in the same object");
    let lists = r#"{"framework": "gin", "tests": [], "tests": []}"#;
    assert!(read_techempower(&entry(lists, Path::new("/x"), &|_| true)).is_err());
}

#[test]
fn a_broken_description_is_an_error() {
    let folder = Path::new("/x");
    for text in
        ["{", "[]", "{\"framework\": 1}", "{\"framework\": \"a\"}", "{\"framework\": \"a\", \"tests\": 1}"]
    {
        assert!(read_techempower(&entry(text, folder, &|_| true)).is_err(), "{text}");
        assert!(read_httparena(&entry(text, folder, &|_| true)).is_err(), "{text}");
    }
    let odd = "{\"framework\": \"a\", \"tests\": [3, {\"b\": 4, \"c\": {\"port\": -1, \"json_url\": 7}}]}";
    assert_eq!(read_techempower(&entry(odd, folder, &|_| true)).unwrap().skipped.len(), 2);
}

#[test]
fn an_entry_of_httparena_has_its_profiles() {
    let text = r#"{"display_name": "x", "language": "C++", "type": "tuned", "engine": "io_uring", "enabled": true,
                   "tests": ["baseline", "limited-conn", "pipelined", "echo-ws", "json-comp", "static", "crud",
                             "unary-grpc", "api-4"]}"#;
    let has_file = |name: &str| name == "Dockerfile";
    let entries = read_httparena(&entry(text, Path::new("/arena/frameworks/x"), &has_file)).unwrap();
    let server = &entries.servers[0];
    let manifest = Manifest::parse(&Path::new("/servers").join(&server.id), &server.manifest).unwrap();
    assert_eq!((manifest.id.as_str(), manifest.workloads.len()), ("cpp-x-arena", 7));
    assert_eq!(server.left_out, ["api-4"]);
    assert_eq!((manifest.database_at_start(), manifest.fixed.fixes_database()), (Some("postgresql"), true));
    let form = manifest.form("single").unwrap();
    assert_eq!(form.env["DATABASE_URL"], "postgres://bench:bench@localhost:5432/benchmark");
    let container = manifest.container.unwrap();
    assert_eq!(container.rights, [crate::ContainerRight::IoUring]);
    assert_eq!(container.mounts[Path::new("/data/dataset.json")], Path::new("arena-items.json"));
    assert_eq!(container.mounts[Path::new("/data/static")], Path::new("static"));
    assert!(read_httparena(&entry(text, Path::new("/x"), &|_| false)).unwrap().servers.is_empty());
    let least =
        read_httparena(&entry(r#"{"tests": ["baseline"]}"#, Path::new("/arena/y"), &has_file)).unwrap();
    let (server, manifest) = (&least.servers[0], &least.servers[0].manifest);
    let manifest = Manifest::parse(&Path::new("/servers").join(&server.id), manifest).unwrap();
    assert_eq!(
        (manifest.language.as_str(), manifest.tags),
        ("Other", vec!["idiomatic".into(), "httparena".into()])
    );
    assert_eq!((manifest.databases.len(), manifest.fixed.hosts.len()), (0, 0));
}

#[test]
fn names_become_parts_of_ids() {
    for (name, part) in
        [("C#", "csharp"), ("C++", "cpp"), ("socketify.py", "socketify-py"), ("__a b--", "a-b")]
    {
        assert_eq!(id_part(name), part);
    }
    assert_eq!((id_of("Common Lisp", "x").as_str(), id_of("", "x").as_str()), ("commonlisp-x", "other-x"));
}
