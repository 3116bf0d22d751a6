//! What `lab check` and `lab serve` say of servers that are well, wrong, silent or dead.

use super::tree::{GOOD, Tree};
use std::fs;
use std::net::TcpListener;

#[test]
fn a_sound_server_passes_every_check() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&["lab", "check", "--all", "--verbose"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("python-good  pass  3 of 3 checks passed\n"), "{ran:?}");
    assert!(ran.stdout.contains("pass  GET /no-such-path refused\n"), "{ran:?}");
}

#[test]
fn a_wrong_body_is_shown_byte_for_byte() {
    let wrong = GOOD.replace("Hello World", "Hello world");
    let tree = Tree::new().with_server("python-wrong", &wrong, 2);
    let ran = tree.run(&["lab", "check", "python-wrong"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(r#"a body with "world\n" instead of "World\n" at byte 6"#), "{ran:?}");
}

#[test]
fn a_wrong_refusal_fails() {
    let tree = Tree::new().with_server("python-meek", &GOOD.replace("404", "200"), 60);
    let ran = tree.run(&["lab", "check", "python-meek"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("fail  GET /no-such-path refused: status 200 instead of 404"), "{ran:?}");
}

#[test]
fn a_closed_connection_is_a_warning() {
    let closing = GOOD.replace("Content-Type", "Connection: close\\r\\nContent-Type");
    let tree = Tree::new().with_server("python-closing", &closing, 60);
    let ran = tree.run(&["lab", "check", "python-closing"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("warn  keep-alive: does not hold"), "{ran:?}");
}

#[test]
fn a_server_that_ends_at_once_shows_its_status_and_log() {
    let dying = "import sys\nprint('no such module: x', file=sys.stderr)\nsys.exit(3)\n";
    let tree = Tree::new().with_server("python-dying", dying, 60);
    let ran = tree.run(&["lab", "check", "python-dying"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("it ended with exit status 3"), "{ran:?}");
    assert!(ran.stdout.contains("| no such module: x"), "{ran:?}");
}

#[test]
fn a_server_that_never_listens_is_given_up() {
    let tree = Tree::new().with_server("python-silent", "import time\ntime.sleep(100)\n", 1);
    let ran = tree.run(&["lab", "check", "python-silent"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("no correct answer to GET /hello within 1 s: cannot connect"), "{ran:?}");
}

#[test]
fn what_is_not_http_is_told() {
    let other = "import os, socket\n\
                 s = socket.create_server((os.environ['PACELINE_HOST'], int(os.environ['PACELINE_PORT'])))\n\
                 while True:\n    c, _ = s.accept()\n    c.recv(1000)\n    c.sendall(b'SSH-2.0-x\\r\\n\\r\\n')\n    c.close()\n";
    let tree = Tree::new().with_server("python-other", other, 2);
    let ran = tree.run(&["lab", "check", "python-other"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(r#"not an HTTP/1.1 answer: it begins with "SSH-2.0-x""#), "{ran:?}");
}

#[test]
fn a_taken_port_names_its_holder() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let ran = tree.run(&["lab", "serve", "python-good", "--port", &port]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let by = format!("port {port} is taken by ");
    assert!(ran.stderr.contains(&by), "{ran:?}");
    assert!(ran.stderr.contains(&format!("(process {})", std::process::id())), "{ran:?}");
}

#[test]
fn what_was_named_and_cannot_be_checked_is_no_success() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let manifest = tree.path("servers/python-good/server.toml");
    let sound = fs::read_to_string(&manifest).unwrap();
    let ran = tree.run(&["lab", "check", "python-good", "--form", "cores"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("hint: it has: single"), "{ran:?}");

    fs::write(&manifest, sound.replace("needs = [\"python3\"]", "needs = [\"no-such-program\"]")).unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("hint: paceline lab setup python-good"), "{ran:?}");
    assert_eq!(tree.run(&["lab", "check", "--all"]).code, Some(0));

    fs::write(&manifest, sound.replace("version = \"echo 1\"", "version = \"false\"")).unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("version ended with exit status 1"), "{ran:?}");

    fs::write(&manifest, sound.replace("[forms.single]", "[run.env]\nPACELINE_PORT = \"1\"\n[forms.single]"))
        .unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("server.toml:14: `PACELINE_PORT` is the lab's to set"), "{ran:?}");
}

#[test]
fn a_broken_workload_is_told_with_file_line_and_key_by_every_command() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let workload = tree.path("workloads/hello.toml");
    let text = fs::read_to_string(&workload).unwrap();
    fs::write(&workload, text.replace("about", "abuot")).unwrap();
    let commands: [&[&str]; 3] = [
        &["lab", "check", "python-good"],
        &["lab", "serve", "python-good"],
        &["round", "--servers", "python-good"],
    ];
    for command in commands {
        let ran = tree.run(command);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("workload `hello` cannot be used: "), "{ran:?}");
        assert!(ran.stderr.contains("hello.toml:1: unknown key `abuot`"), "{ran:?}");
    }
    let ran = tree.run(&["lab", "check", "--all"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("hello.toml:1: unknown key `abuot`"), "{ran:?}");
}

#[test]
fn a_core_or_port_that_cannot_be_is_a_mistake() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&["lab", "serve", "python-good", "--cores", "99999"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("no core 99999; there are "), "{ran:?}");
    assert_eq!(tree.run(&["lab", "serve", "python-good", "--port", "0"]).code, Some(2));
}
