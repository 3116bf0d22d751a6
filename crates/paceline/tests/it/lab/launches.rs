//! Tests `lab check` and `lab serve` on servers that work, answer wrongly, are silent or exit.
//!
//! Most are a good server with one change in its source or manifest. The other `lab` commands are tested in
//! `provision.rs` one folder up, and that a server ends with all its processes in `survivors.rs`.

use super::tree::{GOOD, Ran, Tree};
use std::fs;
use std::net::TcpListener;

#[test]
fn a_sound_server_passes_every_check() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&["lab", "check", "--all", "--verbose", "--idle", "300ms", "--seed", "7"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let row = ran.stdout.lines().find(|line| line.starts_with("python-good")).unwrap();
    assert!(row.starts_with("python-good  pass"), "{row}");
    assert!(ran.stdout.contains("\nidle connection: kept open for 0.3 s (python-good)\n"), "{ran:?}");
    for name in [
        "GET /no-such-path refused",
        "keep-alive",
        "byte by byte",
        "pipelining",
        "HTTP/1.0 keep-alive",
        "HEAD: not supported, as the manifest says",
        "two requests in one packet",
        "HTTP/1.0 without keep-alive",
        "HTTP/1.0 with keep-alive requested",
        "GET /no-such-path-7 refused",
        "BREW /hello",
        "a TLS handshake instead of a request",
        "GET /hello after a TLS handshake",
        "idle connection: kept open for 0.3 s",
        "the server still runs after all checks",
        "the server listens only on $PACELINE_HOST",
        "the server exits on SIGTERM",
        "the server writes nothing into its source folder",
    ] {
        assert!(ran.stdout.contains(&format!("  pass  {name}\n")), "{name}: {ran:?}");
    }
    assert!(
        ran.stdout.contains(
            "\n--seed 7 repeats this check with the same random numbers\n\n1 pass, 0 warn, 0 fail; "
        ),
        "{ran:?}"
    );
    // The first start is marked once only.
    let starred = |ran: &Ran| ran.stdout.contains(" *");
    assert!(starred(&ran), "{ran:?}");
    assert!(!starred(&tree.run(&["lab", "check", "--all", "--idle", "10ms"])));
}

#[test]
fn a_server_that_leaves_its_cores_is_not_measured() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: a machine with one core has no other");
        return;
    }
    let roaming = GOOD.replacen("import os", "import os\nos.sched_setaffinity(0, range(os.cpu_count()))", 1);
    let tree = Tree::new().with_server("python-roaming", &roaming, 60);
    let ran = tree.run(&["lab", "check", "python-roaming", "--idle", "10ms"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("it must not set its own affinity"), "{ran:?}");
}

#[test]
fn a_server_that_binds_everywhere_ignores_sigterm_and_writes_is_reported() {
    let rude = GOOD.replace("os.environ[\"PACELINE_HOST\"]", "\"0.0.0.0\"");
    let rude = format!(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen('left-behind', 'w').write('x')\n{rude}"
    );
    let tree = Tree::new().with_server("python-rude", &rude, 60);
    let ran = tree.run(&["lab", "check", "python-rude", "--idle", "10ms"]);
    for reported in [
        "  warn  the server listens only on $PACELINE_HOST: the server listens on every address of this machine",
        "  warn  the server exits on SIGTERM: the server did not end within 5 s after SIGTERM and was killed",
        "  warn  the server writes nothing into its source folder: the server wrote left-behind into its source folder: write to $PACELINE_BUILD",
    ] {
        assert!(ran.stdout.contains(reported), "{reported}: {ran:?}");
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_trait_that_disagrees_names_the_line_of_the_manifest() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let manifest = tree.path("servers/python-good/server.toml");
    let sound = fs::read_to_string(&manifest).unwrap();
    let check = |text: &str| {
        fs::write(&manifest, text).unwrap();
        tree.run(&["lab", "check", "python-good", "--idle", "10ms"])
    };
    let ran = check(&sound.replace("pipelining = true", "pipelining = false"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let reported = "  fail  pipelining: the manifest says `false`, but the server supports this: write `pipelining = true` in line 16 of server.toml\n";
    assert!(ran.stdout.contains(reported), "{ran:?}");
    let ran = check(&sound.replace("head = false\n", ""));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let reported = "  fail  HEAD: not supported: status 501 instead of 200; the manifest has no entry, which means `true`: add `head = false` below [traits] (line 15 of server.toml)\n";
    assert!(ran.stdout.contains(reported), "{ran:?}");
    let ran = check(&sound.replace("pipelining = true\n", ""));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("  warn  pipelining: supported, but not in the manifest: add `pipelining = true`"),
        "{ran:?}"
    );
    let list = tree.run(&["lab", "list"]);
    assert!(list.stdout.contains("Not supported\n  head: "), "{list:?}");
}

#[test]
fn faults_of_single_requests_are_found() {
    // Each breaks one thing that a round would not check.
    let table = [
        (
            ("def do_GET", "def do_BREW(self):\n        os._exit(7)\n\n    def do_GET"),
            "GET /hello after the unknown method",
        ),
        (
            ("def do_GET", "def do_HEAD(self):\n        self.do_GET()\n\n    def do_GET"),
            "HEAD /hello without a body: 12 bytes of body follow the headers of a response that must not have a body (status 200)",
        ),
        (("(404, b\"\")", "(200, b\"Hello World\\n\")"), "GET /no-such-path-7 refused"),
        (
            (
                "do_GET(self):\n",
                "do_GET(self):\n        self.request_version == 'HTTP/1.0' and os._exit(7)\n",
            ),
            "HTTP/1.0",
        ),
    ];
    for ((from, to), name) in table {
        let tree = Tree::new().with_server("python-brittle", &GOOD.replace(from, to), 60);
        let ran = tree.run(&["lab", "check", "--all", "--idle", "10ms", "--seed", "7"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains(&format!("  fail  {name}")), "{name}: {ran:?}");
    }
}

#[test]
fn powers_are_computed_by_the_lab_and_compared() {
    let tree = Tree::new();
    let tetra = "about = 'Powers.'\n[[case]]\npath = '/tetra/3'\n[case.expect]\nstatus = 200\nbody = '27'\n\
                 [[computed]]\npath = '/tetra/{x}'\nanswer = 'x^x'\nleast = 0\nmost = 2000\n";
    fs::write(tree.path("workloads/hello.toml"), tetra).unwrap();
    let answer = "x = self.path.rpartition('/')[2]\n        \
                  status, body = (200, b'%d' % (int(x) ** int(x))) if x.isdigit() else (404, b'')";
    let server = GOOD.replace(
        "status, body = (200, b\"Hello World\\n\") if self.path == \"/hello\" else (404, b\"\")",
        answer,
    );
    let server = format!("import sys\nsys.set_int_max_str_digits(0)\n{server}");
    // The last one is right for every case of the workload, and for every small x.
    for (script, code) in
        [(server.clone(), 0), (server.replace("** int(x)))", "** int(x) % 10 ** 6000))"), 1)]
    {
        tree.write_server("python-powers", &script, 60);
        let ran = tree.run(&["lab", "check", "--all", "--idle", "10ms", "--verbose"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(
            ran.stdout.contains("  fail  GET /tetra/2000: computed value: the body has "),
            code == 1,
            "{ran:?}"
        );
        assert!(ran.stdout.contains("  pass  GET /tetra/0: computed value\n"), "{ran:?}");
    }
}

#[test]
fn a_wrong_body_is_shown_byte_for_byte() {
    let wrong = GOOD.replace("Hello World", "Hello world");
    let tree = Tree::new().with_server("python-wrong", &wrong, 8);
    let ran = tree.run(&["lab", "check", "python-wrong"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(r#"the body has "world\n" instead of "World\n" at byte 6"#), "{ran:?}");
}

#[test]
fn a_wrong_refusal_fails() {
    let tree = Tree::new().with_server("python-meek", &GOOD.replace("404", "200"), 60);
    let ran = tree.run(&["lab", "check", "python-meek"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("fail  GET /no-such-path refused: status 200 instead of 404"), "{ran:?}");
}

#[test]
fn a_connection_closed_after_each_answer_is_a_trait() {
    let closing = GOOD
        .replace("Content-Type", "Connection: close\\r\\nContent-Type")
        .replace("do_GET(self):\n", "do_GET(self):\n        self.close_connection = True\n");
    let tree = Tree::new().with_server("python-closing", &closing, 60);
    let ran = tree.run(&["lab", "check", "python-closing"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let reported = "  fail  keep-alive: not supported: the server closes the connection after the response; the manifest has no entry, which means `true`: add `keep_alive = false`";
    assert!(ran.stdout.contains(reported), "{ran:?}");
    let manifest = tree.path("servers/python-closing/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let traits = "keep_alive = false\npipelining = false\nhttp10_keep_alive = false\nhead = false\n";
    fs::write(&manifest, text.split("pipelining").next().unwrap().to_owned() + traits).unwrap();
    let ran = tree.run(&["lab", "check", "python-closing"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("idle connection: closed after each response (python-closing)\n"), "{ran:?}");
}

#[test]
fn a_server_that_ends_at_once_shows_its_status_and_log() {
    let dying = "import sys\nprint('no such module: x', file=sys.stderr)\nsys.exit(3)\n";
    let tree = Tree::new().with_server("python-dying", dying, 60);
    let ran = tree.run(&["lab", "check", "python-dying"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("the process ended with exit status 3"), "{ran:?}");
    assert!(ran.stdout.contains("| no such module: x"), "{ran:?}");
}

#[test]
fn a_server_that_never_listens_is_reported() {
    let tree = Tree::new().with_server("python-silent", "import time\ntime.sleep(100)\n", 3);
    let ran = tree.run(&["lab", "check", "python-silent"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("no correct response to GET /hello within 3 s: cannot connect"), "{ran:?}");
}

#[test]
fn a_response_that_is_not_http_is_reported() {
    let other = "import os, socket\n\
                 s = socket.create_server((os.environ['PACELINE_HOST'], int(os.environ['PACELINE_PORT'])))\n\
                 while True:\n    c, _ = s.accept()\n    c.recv(1000)\n    c.sendall(b'SSH-2.0-x\\r\\n\\r\\n')\n    c.close()\n";
    let tree = Tree::new().with_server("python-other", other, 8);
    let ran = tree.run(&["lab", "check", "python-other"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains(r#"invalid HTTP response: expected a status line, found "SSH-2.0-x""#),
        "{ran:?}"
    );
}

#[test]
fn a_taken_port_names_its_holder() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let ran = tree.run(&["lab", "serve", "python-good", "--port", &port]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let by = format!("port {port} is in use by ");
    assert!(ran.stderr.contains(&by), "{ran:?}");
    assert!(ran.stderr.contains(&format!("(process {})", std::process::id())), "{ran:?}");
}

#[test]
fn a_named_server_that_cannot_be_checked_is_a_failure() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let manifest = tree.path("servers/python-good/server.toml");
    let sound = fs::read_to_string(&manifest).unwrap();
    let ran = tree.run(&["lab", "check", "python-good", "--form", "cores"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("hint: its forms: single"), "{ran:?}");

    fs::write(&manifest, sound.replace("needs = [\"python3\"]", "needs = [\"no-such-program\"]")).unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("hint: set them up with: paceline lab setup python-good"), "{ran:?}");
    assert_eq!(tree.run(&["lab", "check", "--all"]).code, Some(0));

    fs::write(&manifest, sound.replace("version = \"echo 1\"", "version = \"false\"")).unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("version ended with exit status 1"), "{ran:?}");

    fs::write(&manifest, sound.replace("[forms.single]", "[run.env]\nPACELINE_PORT = \"1\"\n[forms.single]"))
        .unwrap();
    let ran = tree.run(&["lab", "check", "python-good"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("server.toml:15: `PACELINE_PORT` is set by the lab"), "{ran:?}");
}

#[test]
fn every_command_reports_file_line_and_key_of_a_broken_workload() {
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
fn an_invalid_core_or_port_is_a_usage_error() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&["lab", "serve", "python-good", "--cores", "99999"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("core 99999 is not available; this process may use "), "{ran:?}");
    assert_eq!(tree.run(&["lab", "serve", "python-good", "--port", "0"]).code, Some(2));
}

/// A pipe without a reader.
fn unread() -> std::io::PipeWriter {
    std::io::pipe().unwrap().1
}

#[test]
fn a_closed_pipe_does_not_hide_a_failure() {
    let tree = Tree::new().with_server("python-dying", "import sys\nsys.exit(3)\n", 60);
    let mut check = tree.paceline(&["lab", "check", "--all"]);
    assert_eq!(check.stdout(unread()).output().unwrap().status.code(), Some(1));
    let round = ["round", "--servers", "python-dying", "--duration", "100ms", "--repeats", "1"];
    let ran = Ran::from_output(tree.paceline(&round).stdout(unread()).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(" have no usable trial:\n"), "{ran:?}");
}

#[test]
fn a_server_ends_when_its_shepherd_is_killed() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let mut command = tree.paceline(&["lab", "serve", "python-good"]);
    let mut lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(lab.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    let shepherd = child_of(lab.id());
    // SAFETY: takes integers; the shepherd's parent has not waited for it, so its process id is still valid.
    assert_eq!(unsafe { libc::kill(shepherd, libc::SIGKILL) }, 0);
    let ran = Ran::from_output(lab.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr
            .contains("python-good ended with an unknown exit status (its supervisor process was lost)"),
        "{ran:?}"
    );
}

/// The only child of a process.
fn child_of(parent: u32) -> i32 {
    let parent_of = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut children = processes.filter(|pid| parent_of(*pid) == Some(parent));
    children.next().expect("it has started a shepherd")
}

#[test]
fn a_server_with_skipped_checks_has_a_warning() {
    let tree = Tree::new();
    let page =
        "about = 'A page.'\n[[case]]\npath = '/hello'\n[case.expect]\nstatus = 200\nbody_file = 'page'\n";
    fs::write(tree.path("workloads/hello.toml"), page).unwrap();
    fs::write(tree.path("workloads/page"), "x".repeat(64 * 1024 + 1)).unwrap();
    tree.write_server("python-page", &GOOD.replace("b\"Hello World\\n\"", "b\"x\" * 65537"), 60);
    let ran = tree.run(&["lab", "check", "--all", "--idle", "10ms"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("\npython-page  warn") && ran.stdout.contains("  warn  not examined: "),
        "{ran:?}"
    );
}

#[test]
fn a_new_server_has_its_language_as_its_neighbours_write_it() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    for (id, language) in [("python-mine", "Python"), ("cobol-mine", "cobol")] {
        assert_eq!(tree.run(&["lab", "new", id]).code, Some(0));
        let manifest = std::fs::read_to_string(tree.path(&format!("servers/{id}/server.toml"))).unwrap();
        assert!(manifest.contains(&format!("\nlanguage = \"{language}\"\n")), "{manifest}");
    }
}

#[test]
fn the_steps_that_lab_new_prints_can_be_run() {
    let tree = Tree::new();
    tree.write("good.py", GOOD);
    let command = format!("exec python3 {}", tree.path("good.py").display());
    let made = tree.run(&["lab", "new", "python-mine", "--command", &command]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(
        made.stdout.contains("respond to GET /hello with status 200, text/plain, body \"Hello World\\n\","),
        "{made:?}"
    );
    let printed = |step: &str| {
        let line = made.stdout.lines().find_map(|line| line.strip_prefix(step)).unwrap();
        line.split("    (").next().unwrap().split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    for (step, code) in [("2. paceline ", 0), ("3. paceline ", 1), ("4. paceline ", 0), ("5. paceline ", 0)] {
        let mut words = printed(step);
        if words[0] == "round" {
            words.extend(["-c", "2", "-d", "200ms", "--warmup", "50ms"].map(str::to_owned));
            words.iter_mut().filter(|word| *word == "5").for_each(|repeats| "1".clone_into(repeats));
        }
        let ran = tree.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        if words[1] == "check" {
            // The server does not answer HEAD: the check fails and prints the line for server.toml.
            assert!(ran.stdout.contains("head = false"), "{ran:?}");
        }
    }
    assert!(tree.path("result.html").exists());
    // A trial that other tests disturbed is retried.
    let measured = tree.kept().1;
    assert!(measured.iter().any(|trial| trial.run.is_some()), "{measured:?}");
    assert!(measured.iter().all(|trial| (trial.server.id.as_str(), trial.repeat) == ("python-mine", 0)));
}

#[test]
fn a_new_server_that_is_refused_leaves_no_folder() {
    let tree = Tree::new();
    tree.write("workloads/python-mine.toml", "about = \"Of a server that was removed.\"\n");
    let ran = tree.run(&["lab", "new", "python-mine", "--path", "/"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("python-mine.toml"), "{ran:?}");
    assert!(!tree.path("servers/python-mine").exists());
}

#[test]
fn the_port_of_a_server_that_ignores_its_own_is_named() {
    let script = "import http.server, socketserver, time\n\
                  s = socketserver.TCPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\n\
                  time.sleep(60)\n";
    let tree = Tree::new().with_server("python-astray", script, 2);
    let ran = tree.run(&["lab", "check", "python-astray"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("; the server listens on port "), "{ran:?}");
    assert!(ran.stdout.contains(", and not on $PACELINE_PORT ("), "{ran:?}");
}

#[test]
fn a_server_that_listens_at_another_address_is_told_so() {
    let script = "import os, socket, time\ns = socket.socket()\n\
                  s.bind(('127.0.0.2', int(os.environ['PACELINE_PORT'])))\ns.listen()\ntime.sleep(60)\n";
    let tree = Tree::new().with_server("python-beside", script, 2);
    let ran = tree.run(&["lab", "check", "python-beside"]);
    assert!(ran.code == Some(1) && ran.stdout.contains(", but not at $PACELINE_HOST (127.0.0.1)"), "{ran:?}");
}
