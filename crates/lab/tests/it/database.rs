//! Tests with a real PostgreSQL, as in a launch, and with servers that are broken on purpose, each in one way.
//!
//! Skipped with a message if PostgreSQL or Python is not installed.

use crate::shepherd_door;
use paceline_catalogue::{Catalogue, Database, FolderFlags, Folders, Manifest, Variables};
use paceline_host::Interrupt;
use paceline_host::shepherd::TrackingMethod;
use paceline_lab::{Databases, LaunchError, Provisioner, Rules, RunningDatabase, Starter, examine_database};
use paceline_record::CheckOutcome;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// The means to start databases, removed at the end of the test.
struct Lab {
    _state: tempfile::TempDir,
    catalogue: Catalogue,
    provisioner: Provisioner,
    starter: Starter,
}

impl Lab {
    /// With the databases of this repository; `None` if a program is missing.
    fn new() -> Option<Self> {
        let state = tempfile::tempdir().unwrap();
        let flags = FolderFlags { state_dir: Some(state.path().to_owned()), ..FolderFlags::default() };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = Folders::find_from(&flags, here, Path::new("/nowhere/bin/paceline")).unwrap();
        let python = Command::new("python3").arg("-V").stdout(Stdio::null()).status();
        let has_database = glob::glob("/usr/lib/postgresql/*/bin/initdb").unwrap().next().is_some();
        if !has_database || !python.is_ok_and(|status| status.success()) {
            eprintln!(
                "skipped: PostgreSQL or Python is not installed (Debian: apt-get install postgresql python3)"
            );
            return None;
        }
        let interrupt = Interrupt::never();
        Some(Self {
            provisioner: Provisioner::new(&folders, shepherd_door::command(), interrupt),
            catalogue: Catalogue::read(folders).unwrap(),
            starter: Starter {
                shepherd: shepherd_door::command(),
                guard: TrackingMethod::Subreaper,
                logs: Some(state.path().join("logs")),
                scratch: state.path().join("scratch"),
                interrupt,
                user: None,
            },
            _state: state,
        })
    }

    fn databases(&self) -> Databases<'_> {
        Databases { provisioner: &self.provisioner, starter: &self.starter }
    }

    fn database(&self) -> Arc<Database> {
        self.catalogue.database("postgresql").unwrap()
    }

    /// A server that fixes nothing.
    fn server(&self) -> Manifest {
        self.database().as_server()
    }

    /// The names and details of the failed checks for a server that is broken in this way.
    fn failures(&self, broken: &str, workload: &str, database: &RunningDatabase) -> Vec<String> {
        self.failures_by(Rules::Paceline, broken, workload, database)
    }

    /// The same by other rules.
    fn failures_by(
        &self,
        rules: Rules,
        broken: &str,
        workload: &str,
        database: &RunningDatabase,
    ) -> Vec<String> {
        let server = Server::start(broken, database);
        let workloads = [Arc::clone(self.catalogue.workload(workload).unwrap())];
        let engine = self.starter.engine_probe();
        let checks = examine_database(server.address, &workloads, database, engine, rules).unwrap();
        let failed = checks.iter().filter(|check| check.outcome == CheckOutcome::Fail);
        failed.map(|check| format!("{}: {}", check.name, check.detail)).collect()
    }
}

/// The Python server in this folder.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(broken: &str, database: &RunningDatabase) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/broken_server.py");
        let given = Variables {
            port: None,
            host: "127.0.0.1".to_owned(),
            build: "/".into(),
            cores: 1,
            workloads: "/".into(),
            static_files: "/".into(),
            database: Some(database.access(1)),
        };
        let mut process = Command::new("python3")
            .arg(script)
            .arg(broken)
            .envs(given.texts())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, address: SocketAddr::from(([127, 0, 0, 1], line.trim().parse().unwrap())) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One test, because a new database takes seconds of CPU time.
#[test]
fn each_broken_server_fails_with_its_own_fault_and_a_reset_restores_the_rows() {
    let Some(lab) = Lab::new() else { return };
    let (process, database) =
        lab.databases().start(&lab.database(), &lab.server(), "broken", &[], 7).unwrap();
    let of_the_seed = database.world().unwrap();
    assert_eq!(of_the_seed.len(), 10_000);
    for workload in ["db", "queries", "fortunes", "updates"] {
        assert_eq!(lab.failures("in no way", workload, &database), [""; 0], "{workload}");
    }
    for (broken, workload, reported) in [
        ("cache", "db", "GET /db: statements and rows counted by the database: 0 statements instead of 25"),
        (
            "in",
            "queries",
            "GET /queries?queries=20: statements and rows counted by the database: 25 statements instead of 500",
        ),
        ("skip", "updates", "0 rows updated instead of 500"),
        ("skip", "updates", "GET /updates?queries=20: updates stored: "),
        ("raw", "fortunes", "GET /fortunes: the page has <script> instead of"),
    ] {
        let failures = lab.failures(broken, workload, &database);
        assert!(failures.iter().any(|failure| failure.contains(reported)), "{broken}: {failures:?}");
    }
    // The board only warns of this one.
    let own = "Paceline's own rule: GET /queries?queries=501: ";
    let failures = lab.failures("many", "queries", &database);
    assert!(failures.len() == 1 && failures[0].starts_with(own), "{failures:?}");
    assert_eq!(lab.failures_by(Rules::Board, "many", "queries", &database), [""; 0]);
    // Wrong values in one response of 20 are found in every case, not by chance in some.
    let failures = lab.failures("some", "updates", &database);
    assert_eq!(
        failures.iter().filter(|failure| failure.contains("updates stored: ")).count(),
        5,
        "{failures:?}"
    );
    assert_ne!(database.world().unwrap(), of_the_seed);
    database.reset().unwrap();
    assert_eq!(database.world().unwrap(), of_the_seed);
    assert_items_are_counted_and_restored(&database);
    let folder = database.folder().unwrap().to_owned();
    assert!(folder.exists());
    process.stop().unwrap();
    drop(database);
    assert!(!folder.exists(), "{}", folder.display());
}

/// HttpArena's table under the names that its entries use: changes of its rows are counted, and a reset undoes them.
fn assert_items_are_counted_and_restored(database: &RunningDatabase) {
    let access = database.access(1);
    let url = format!("postgres://bench:bench@{}:{}/benchmark", access.host, access.port);
    let query = |text: &str| {
        let words = ["-qAt", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", text];
        let asked = Command::new("psql").args(words).output().unwrap();
        assert!(asked.status.success(), "{text}: {asked:?}");
        String::from_utf8(asked.stdout).unwrap()
    };
    let all = "SELECT count(*), sum(hashtext(items::text)::bigint) FROM items";
    let of_the_file = query(all);
    assert!(of_the_file.starts_with("100000|"), "{of_the_file}");
    let before = database.counts().unwrap();
    query("UPDATE items SET price = 0 WHERE id = 7");
    query(
        "INSERT INTO items VALUES (100001, 'x', 'test', 1, 1, true, '[]', 0, 0) \
         ON CONFLICT (id) DO UPDATE SET price = 2",
    );
    query("SELECT id FROM items WHERE price BETWEEN 10 AND 50 LIMIT 20");
    let counted = database.counts().unwrap().since(&before);
    assert_eq!((counted.updates, counted.rows_updated), (2, 2), "{counted:?}");
    assert_eq!((counted.selects, counted.rows_read), (1, 20), "{counted:?}");
    assert_ne!(query(all), of_the_file);
    database.reset().unwrap();
    assert_eq!(query(all), of_the_file);
}

#[test]
fn a_database_that_does_not_start_is_reported_with_its_command() {
    let Some(lab) = Lab::new() else { return };
    let spoiled = |database: Database, id: &str| match lab.databases().start(
        &Arc::new(database),
        &lab.server(),
        id,
        &[],
        7,
    ) {
        Err(LaunchError::Fault { fault, .. }) => fault.message,
        Err(LaunchError::Interrupted) => "interrupted".to_owned(),
        Ok((process, _)) => {
            process.stop().unwrap();
            "it started".to_owned()
        }
    };
    let mut no_init = (*lab.database()).clone();
    no_init.commands.init = Some("echo no room >&2; exit 1".to_owned());
    assert_eq!(spoiled(no_init, "noinit"), "the database postgresql: init ended with exit status 1: no room");
    let mut no_start = (*lab.database()).clone();
    no_start.commands.start = "exit 3".to_owned();
    let reported = spoiled(no_start, "nostart");
    assert!(
        reported.starts_with("the database postgresql: the process ended with exit status 3"),
        "{reported}"
    );
    // Files of this database may not grow, as on a full disk.
    let mut full = (*lab.database()).clone();
    full.commands.init = full.commands.init.map(|init| format!("ulimit -f 100; {init}"));
    let reported = spoiled(full, "full");
    assert!(reported.starts_with("the database postgresql: init ended with"), "{reported}");
    let mut full = (*lab.database()).clone();
    full.commands.load = "ulimit -f 10; head -c 100000 /dev/zero > more".to_owned();
    let reported = spoiled(full, "fullload");
    assert!(reported.starts_with("the database postgresql: load ended with"), "{reported}");
    let mut not_there = (*lab.database()).clone();
    not_there.needs = vec!["/nowhere/initdb".to_owned()];
    let reported = spoiled(not_there, "notthere");
    assert_eq!(reported, "PostgreSQL is not set up; run: paceline lab setup postgresql");
}

#[test]
fn a_port_that_another_process_takes_first_is_chosen_again() {
    let Some(lab) = Lab::new() else { return };
    let said = tempfile::tempdir().unwrap();
    // The database's user writes there.
    std::fs::set_permissions(said.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut database = (*lab.database()).clone();
    let (port, taken) = (said.path().join("port"), said.path().join("taken"));
    // The first start writes its port, waits until it is taken, and exits like a server that cannot bind.
    database.commands.start = format!(
        "if [ ! -e {port} ]; then echo $DATABASE_PORT > {port}.new; mv {port}.new {port}; \
         while [ ! -e {taken} ]; do sleep 0.02; done; exit 1; fi\n{start}",
        port = port.display(),
        taken = taken.display(),
        start = database.commands.start,
    );
    let taker = std::thread::spawn(move || {
        let port = loop {
            match std::fs::read_to_string(&port) {
                Ok(port) => break port.trim().parse::<u16>().unwrap(),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        std::fs::write(&taken, "").unwrap();
        (listener, port)
    });
    let (process, database) =
        lab.databases().start(&Arc::new(database), &lab.server(), "taken", &[], 7).unwrap();
    let (_listener, port) = taker.join().unwrap();
    assert_ne!(database.access(1).port, port);
    assert_eq!(database.world().unwrap().len(), 10_000);
    process.stop().unwrap();
}
