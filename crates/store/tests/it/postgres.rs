//! The same store in PostgreSQL: a separate server in a temporary folder, reached by a unix socket.
//!
//! Skipped with a message if PostgreSQL is not installed (Debian: `postgresql`). The server runs as an ordinary user,
//! since PostgreSQL refuses to run as root.

use crate::any_trial::{round, some_trial, without_nul};
use paceline_store::{Store, StoreError};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The user nobody, and its group.
const NOBODY: u32 = 65_534;

/// A running server, stopped when dropped.
struct Server {
    folder: tempfile::TempDir,
    process: Child,
}

impl Server {
    /// `None` if PostgreSQL is not installed.
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
            {
                eprintln!("skipped: PostgreSQL is not installed (Debian: apt-get install postgresql)");
            }
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // SAFETY: a system call without arguments.
        let is_root = unsafe { libc::geteuid() } == 0;
        if is_root {
            std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let made = program("initdb")
            .args(["-D", "data", "-U", "tester", "--auth=trust", "--no-sync", "--encoding=UTF8"])
            .arg("--locale=C.UTF-8")
            .status()
            .unwrap();
        assert!(made.success(), "initdb failed");
        let process = program("postgres")
            .args(["-D", "data", "-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .spawn()
            .unwrap();
        let server = Self { folder, process };
        let begun = Instant::now();
        while let Err(error) = postgres::Client::connect(&server.url("postgres"), postgres::NoTls) {
            assert!(begun.elapsed() < Duration::from_secs(120), "PostgreSQL does not answer: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn url(&self, database: &str) -> String {
        let host = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://tester:secret@{host}/{database}")
    }

    fn run(&self, database: &str, statements: &str) {
        let mut client = postgres::Client::connect(&self.url(database), postgres::NoTls).unwrap();
        client.batch_execute(statements).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGQUIT ends the server and its children at once.
        let id = i32::try_from(self.process.id()).unwrap();
        // SAFETY: a system call on a child that has not been waited for.
        unsafe { libc::kill(id, libc::SIGQUIT) };
        let _ = self.process.wait();
    }
}

/// The folder with PostgreSQL's programs: Debian has one for each version.
fn programs() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders.into_iter().find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

#[test]
fn postgres_passes_the_tests_of_sqlite() {
    let Some(server) = Server::start() else { return };
    server.run("postgres", "CREATE DATABASE results");
    let url = server.url("results");
    let place = Path::new(&url);
    assert!(
        matches!(Store::open_existing(place), Err(StoreError::Missing { .. })),
        "nothing is made by reading"
    );

    let store = Store::open(place).unwrap();
    assert!(!store.path().display().to_string().contains("secret"), "{}", store.path().display());
    for (id, at) in [("r1", "2026-11-21T01:00:00.000Z"), ("r2", "2026-11-21T02:00:00.000Z")] {
        store.put_round(&round(id, at)).unwrap();
    }
    let mut trials: Vec<_> = ["t1", "t2"].map(|id| without_nul(&some_trial("r1", id))).into();
    for (trial, minute) in trials.iter_mut().zip([1, 2]) {
        // PostgreSQL does not support NUL in a text; in a document it is escaped.
        (trial.form, trial.workload, trial.load.name) =
            ("single".into(), "tetra/140".into(), "closed-64".into());
        trial.server.id = "go-net-http".into();
        trial.started_at = format!("2026-11-21T01:0{minute}:00.000Z");
        store.put_trial(trial).unwrap();
        store.put_trial(trial).unwrap();
    }
    assert_eq!(store.trials("r1").unwrap(), trials);
    assert_eq!(store.find_trial("t2").unwrap(), trials[1]);
    assert_eq!(store.newest().unwrap().unwrap().id, "r2");
    assert_eq!(store.tally("r1").unwrap().0, 2);
    let stray = store.put_trial(&{
        let mut stray = trials[0].clone();
        (stray.id, stray.round) = ("t9".into(), "gone".into());
        stray
    });
    assert!(matches!(stray, Err(StoreError::UnknownRound { .. })), "{stray:?}");
    // A second process finds the tables complete, and reads what the first has put.
    let second = Store::open(place).unwrap();
    assert_eq!(second.rounds().unwrap().len(), 2);
    store.lock_round("r1").unwrap();
    assert!(matches!(second.lock_round("r1"), Err(StoreError::LockedRound { .. })));
    second.lock_round("r2").unwrap();
    drop(second);

    faults(&server, &url, &store);
    crate::rounds::is_replaced_whole_or_not_at_all(&store);
    server.run("results", "INSERT INTO paceline.versions VALUES (9)");
    assert!(matches!(Store::open(place), Err(StoreError::Newer { found: 9, .. })));
}

/// Errors of a store with two rounds, of which `r1` has two trials.
fn faults(server: &Server, url: &str, store: &Store) {
    let place = Path::new(url);
    // A connection that the server closed is opened again, for a query and for a transaction, with its locks.
    let close = || {
        let sessions = "FROM pg_stat_activity WHERE datname = 'results'";
        server.run("postgres", &format!("SELECT pg_terminate_backend(pid, 60000) {sessions}"));
    };
    close();
    assert_eq!(store.trials("r1").unwrap().len(), 2);
    let trials = store.trials("r1").unwrap();
    close();
    store.put_trial(&trials[0]).unwrap();
    close();
    store.put_round(&round("r1", "2026-11-21T01:00:00.000Z")).unwrap();
    let second = Store::open(place).unwrap();
    assert!(matches!(second.lock_round("r1"), Err(StoreError::LockedRound { .. })));

    server.run("results", "UPDATE paceline.trials SET document = document || ' ' WHERE id = 't1'");
    let (readable, damaged) = Store::open_existing(place).unwrap().readable_trials("r1").unwrap();
    assert_eq!((readable.len(), damaged.len()), (1, 1));
    assert_eq!(store.delete_round("r1").unwrap(), 2);
    assert_eq!(store.rounds().unwrap().len(), 1);

    server.run(
        "results",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA paceline TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA paceline TO reader;
         CREATE ROLE writer LOGIN; GRANT USAGE ON SCHEMA paceline TO writer;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA paceline TO writer;
         CREATE ROLE stranger LOGIN",
    );
    let as_user = |name: &str| Store::open(Path::new(&url.replace("tester:secret", name)));
    as_user("writer").unwrap().put_round(&round("r4", "2026-11-21T01:00:00.000Z")).unwrap();
    assert_eq!(as_user("writer").unwrap().delete_round("r4").unwrap(), 0);
    let refused = as_user("stranger").unwrap_err();
    assert!(matches!(refused, StoreError::Denied { .. }), "{refused:?}");
    let reader = url.replace("tester:secret", "reader");
    let store = Store::open_existing(Path::new(&reader)).unwrap();
    assert_eq!(store.rounds().unwrap().len(), 1);
    let refused = store.put_round(&round("r3", "2026-11-21T03:00:00.000Z"));
    assert!(matches!(refused, Err(StoreError::Denied { .. })), "{refused:?}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().to_str().unwrap().replace('/', "%2F");
    let error = Store::open(Path::new(&format!("postgres://me:secret@{host}/x"))).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
