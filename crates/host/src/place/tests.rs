//! Tests of how programs are started in other places.

use super::*;

fn words(command: &Command) -> Vec<String> {
    let arguments = command.get_args().map(|word| word.to_string_lossy().into_owned());
    std::iter::once(command.get_program().to_string_lossy().into_owned()).chain(arguments).collect()
}

#[test]
fn machines_are_named_by_role_or_chosen_by_slurm() {
    let read = |text: &str| text.parse::<Machines>();
    let ssh = |role: &str, host: &str| (role.to_owned(), Place::Ssh { host: host.to_owned() });
    assert_eq!(
        read("ssh:server=n1,loader=me@n3"),
        Ok(Machines::Named(vec![ssh("server", "n1"), ssh("loader", "me@n3")]))
    );
    let node = Place::Slurm { job: 7, node: "n3".to_owned() };
    assert_eq!(read("job:7:loader=n3"), Ok(Machines::Named(vec![("loader".to_owned(), node)])));
    assert_eq!(read("slurm"), Ok(Machines::Slurm { partition: None }));
    assert_eq!(read("slurm:lab"), Ok(Machines::Slurm { partition: Some("lab".to_owned()) }));
    for wrong in [
        "",
        "ssh",
        "ssh:",
        "ssh:n1",
        "ssh:cook=n1",
        "ssh:loader=-oProxyCommand=x",
        "slurm:",
        "slurm:a b",
        "job:7",
        "job:x:loader=n3",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_remote_shell_parses_the_same_words() {
    let ssh = Place::Ssh { host: "bench@n2".to_owned() };
    let words = words(&ssh.command("/opt/it's here/paceline", &["loader", "$HOME; rm"]));
    assert_eq!(words.last().unwrap(), r"'/opt/it'\''s here/paceline' loader '$HOME; rm'");
    assert_eq!(words[words.len() - 2], "bench@n2");
}

#[test]
fn a_connection_can_be_shared() {
    let ssh = Place::Ssh { host: "n2".to_owned() };
    let words = words(&ssh.command_by(SshConnection::Master(Path::new("/tmp/c")), "true", &[])).join(" ");
    assert!(words.contains(" -o ControlMaster=yes -o ControlPath=/tmp/c/%C -- n2 "), "{words}");
}

#[test]
fn a_node_of_an_allocation_is_named() {
    let node = Place::Slurm { job: 7, node: "n3".to_owned() };
    let words = words(&node.command("/p", &["loader"]));
    assert_eq!(
        (words[0].as_str(), words[1].as_str(), words[2].as_str()),
        ("srun", "--jobid=7", "--nodelist=n3")
    );
    assert_eq!(words[words.len() - 2..], ["/p", "loader"]);
}

#[test]
fn a_place_that_prints_without_end_or_nothing_is_given_up() {
    let program = ProgramCopy { program: "/bin/true".into(), bytes: 1, id: "abc".to_owned() };
    let start = |script: &str, limits| {
        let command = Place::Local.command("sh", &["-c", script]);
        program.start_by(command, "n2", limits, Interrupt::never())
    };
    let said = |script: &str, limits| match start(script, limits) {
        Err(PlaceError::Remote { said, .. }) => said,
        other => panic!("{script}: {other:?}"),
    };
    let long = Duration::from_secs(600);
    let (soon, late) = (Duration::from_millis(100), StartLimits { silence: long, all: long });
    let too_long = "the other side printed more than 1024 KiB before the program started";
    assert_eq!(said("exec cat /dev/zero", late), too_long);
    assert_eq!(said("exec yes missing", late), too_long);
    assert_eq!(said("cat /dev/zero >&2 & exec yes", late), too_long);
    let not_started = "the program did not start within 0 s";
    assert_eq!(said("exec sleep 600", StartLimits { silence: soon, all: long }), not_started);
    assert_eq!(
        said("cat /dev/zero >&2 & exec sleep 600", StartLimits { silence: soon, all: long }),
        not_started
    );
    assert_eq!(said("echo hello; exec sleep 600", StartLimits { silence: long, all: soon }), not_started);
    assert_eq!(said("echo no such host >&2; exit 255", late), "no such host");
    assert_eq!(said("exec >&-; exit 3", late), "the program ended with exit status: 3");
    let mut started = start("echo welcome; echo there; echo first; exec cat /dev/zero >&2", late).unwrap();
    let line = paceline_files::read_line(&mut started.output, 100).unwrap();
    assert_eq!(line.as_deref(), Some(&b"first\n"[..]));
    end(&mut started.child);
}

#[test]
fn a_machine_of_another_architecture_is_refused() {
    let run = |own: &str| {
        let script = format!("{}echo there", architecture_script(own));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    assert_eq!(run(std::env::consts::ARCH), ("there\n".to_owned(), String::new()));
    let other = if std::env::consts::ARCH == "s390x" { "x86_64" } else { "s390x" };
    let (output, error) = run(other);
    assert!(output.is_empty(), "{output}");
    assert!(error.starts_with(&format!("this program is for {other}, not for ")), "{error}");
    let program = ProgramCopy { program: "/bin/true".into(), bytes: 1, id: "abc".to_owned() };
    let ssh = Place::Ssh { host: "n2".to_owned() };
    let sent = words(&program.command(&ssh, SshConnection::Shared, &[])).join(" ");
    assert!(sent.contains(architecture_script(std::env::consts::ARCH).trim_end()), "{sent}");
}

#[test]
fn a_program_is_received_once_and_completely() {
    let cache = tempfile::tempdir().unwrap();
    let receive = |bytes: u64, sent: &[u8]| {
        let mut child = Command::new("sh")
            .args(["-c", &format!("{}echo \"$f\"", keeping_script("abc", bytes))])
            .env("XDG_CACHE_HOME", cache.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(sent);
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), printed.lines().last().unwrap_or_default().to_owned())
    };
    assert_eq!(receive(5, b"only"), (false, "missing".to_owned()));
    let folder = cache.path().join("paceline/bin");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "what did not arrive whole is removed");
    let (done, path) = receive(5, b"whole");
    assert!(done && path.trim().ends_with("/paceline-abc"), "{path}");
    assert_eq!(std::fs::read(path.trim()).unwrap(), b"whole");
    assert_eq!(receive(5, b""), (true, path), "it is there already");
}
