//! Tests servers that cannot be told where to listen, where their database is, or what their paths are.
//!
//! Where this user may not make a network, the server's real port is used, and is taken here: that is tested instead.

use super::tree::{GOOD, Tree};
use std::fs;
use std::net::TcpListener;

/// A tree with a server whose port, path and database's name are written into its source.
fn fixed_tree(port: u16) -> Tree {
    let script = GOOD
        .replace("/hello", "/own/hello")
        .replace("int(os.environ[\"PACELINE_PORT\"])", &port.to_string())
        .replace(
            "import os",
            "import os, socket\nassert socket.gethostbyname('the-database') == '127.0.0.1'\n",
        );
    assert!(!script.contains("PACELINE_PORT"), "{script}");
    let tree = Tree::new().with_server("python-fixed", &script, 60);
    let manifest = tree.path("servers/python-fixed/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let fixed = format!("port = {port}\nhosts = [\"the-database\"]\n[paths]\nhello = \"/own/hello\"\n[run]");
    fs::write(&manifest, text.replace("[run]", &fixed)).unwrap();
    tree
}

#[test]
fn a_fixed_port_is_free_also_if_another_process_has_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let tree = fixed_tree(port);
    let checked = tree.run(&["lab", "check", "python-fixed", "--idle", "10ms"]);
    if checked.stderr.contains("cannot make a private network") {
        assert_eq!(checked.code, Some(1), "{checked:?}");
        assert!(checked.stdout.contains(&format!("port {port} is in use")), "{checked:?}");
        eprintln!("skipped: {}", checked.stderr);
        return;
    }
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let round = ["round", "--servers", "python-fixed", "--connections", "2", "--duration", "200ms"];
    let ran = tree.run(&[&round[..], &["--warmup", "0s", "--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, trials) = tree.kept();
    let startup = trials[0].startup.as_ref().unwrap();
    assert!(startup.private_network && trials[0].run.as_ref().unwrap().total.counts.ok > 0);
    let served = tree.run(&["lab", "serve", "python-fixed"]);
    assert!(
        served.code == Some(3) && served.stderr.contains("is in use"),
        "`serve` is for others: {served:?}"
    );
}

#[test]
fn a_board_has_fewer_rules() {
    let tree = Tree::new().with_server("python-lenient", GOOD, 60);
    let manifest = tree.path("servers/python-lenient/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    // Without the statement that it lacks HEAD, this is a failed check.
    fs::write(&manifest, text.replace("head = false\n", "")).unwrap();
    let check = ["lab", "check", "python-lenient", "--idle", "10ms"];
    let strict = tree.run(&check);
    assert!(strict.code == Some(1) && strict.stdout.contains("HEAD"), "{strict:?}");
    let theirs = tree.run(&[&check[..], &["--rules", "techempower"]].concat());
    assert_eq!(theirs.code, Some(0), "{theirs:?}");
    let wrong = tree.path("servers/python-lenient/server.py");
    fs::write(&wrong, GOOD.replace("Hello World", "Hello Wurld")).unwrap();
    assert_eq!(
        tree.run(&[&check[..], &["--rules", "techempower"]].concat()).code,
        Some(1),
        "a wrong response"
    );
}

#[test]
fn a_port_other_than_the_fixed_one_is_refused() {
    let tree = fixed_tree(8080);
    let served = tree.run(&["lab", "serve", "python-fixed", "--port", "8081"]);
    assert!(served.stderr.contains("listens only on port 8080"), "{served:?}");
}
