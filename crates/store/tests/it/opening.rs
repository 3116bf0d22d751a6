//! Opening a store: missing folders are created; a file that is not a store is reported and not changed.
//!
//! Also covers a full disk and files of other versions. Damage is in `damage.rs`, concurrent processes in
//! `processes.rs`.

use crate::any_trial::{round, some_trial};
use paceline_store::{Store, StoreError};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs statements on a file, as another program would.
pub fn with_sqlite(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

#[test]
fn folders_are_created_and_unusual_names_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b/c?d#e%20/é results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    assert!(path.is_file());
    assert_eq!(store.path(), path.canonicalize().unwrap());
}

#[test]
fn a_store_that_another_is_about_to_write_to_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let (tell, reported) = std::sync::mpsc::channel();
    let is_free = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            tell.send(()).unwrap();
            // Long enough for the other process to wait for the lock.
            std::thread::sleep(Duration::from_millis(200));
            is_free.store(true, Ordering::SeqCst);
            connection.execute_batch("ROLLBACK").unwrap();
        });
        reported.recv().unwrap();
        let store = Store::open(&path).unwrap();
        assert!(is_free.load(Ordering::SeqCst), "opened under the other's lock");
        store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    });
}

#[test]
fn a_reader_does_not_create_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sqlite");
    assert!(matches!(Store::open_existing(&path), Err(StoreError::Missing { .. })));
    assert!(!path.exists());
}

#[test]
fn a_reader_leaves_an_empty_file_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.sqlite");
    let file = std::fs::File::create(&path).unwrap();
    // A new file would be waited for: another process may be creating the store.
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let Err(StoreError::NotAStore { found, .. }) = Store::open_existing(&path) else { panic!("opened") };
    assert_eq!((found.as_str(), std::fs::read(&path).unwrap().len()), ("an empty file", 0));
}

#[test]
fn a_store_that_is_being_created_is_waited_for() {
    // An empty file and an empty database are what a reader may find while another process creates the store.
    for statements in ["", "PRAGMA journal_mode = WAL"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.sqlite");
        std::fs::write(&path, "").unwrap();
        with_sqlite(&path, statements);
        let both = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                Store::open(&path).unwrap();
            });
            both.wait();
            assert!(Store::open_existing(&path).unwrap().rounds().unwrap().is_empty(), "{statements}");
        });
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let Err(StoreError::Folder { path, .. }) = Store::open(&file.join("below/results.sqlite")) else {
        panic!("made")
    };
    assert_eq!(path, file.join("below"));
    assert!(matches!(Store::open(folder.path()), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_folder_without_write_permission_is_named() {
    // No user, not even root, can create a file here.
    let Err(error) = Store::open(Path::new("/proc/self/fdinfo/results.sqlite")) else { panic!("opened") };
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
}

#[test]
fn a_file_that_is_not_a_database_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "these are my notes, and they are longer than a header of SQLite, which is a hundred bytes long, so there";
    std::fs::write(&path, text).unwrap();
    let Err(error) = Store::open(&path) else { panic!("opened") };
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_another_application_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.sqlite");
    with_sqlite(&path, "CREATE TABLE accounts (id BIGINT)");
    let before = std::fs::read(&path).unwrap();
    let Err(StoreError::NotAStore { found, .. }) = Store::open(&path) else { panic!("opened") };
    assert!(found.contains("accounts"), "{found}");
    assert!(std::fs::read(&path).unwrap() == before, "the file was changed");
}

#[test]
fn a_store_of_a_newer_version_is_refused_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    drop(Store::open(&path).unwrap());
    with_sqlite(&path, "INSERT INTO versions (version) VALUES (9)");
    for opened in [Store::open(&path), Store::open_existing(&path)] {
        let Err(StoreError::Newer { found, known, .. }) = opened else { panic!("opened") };
        assert_eq!((found, known), (9, 2));
    }
}

/// A store as the first release created it: without checksums, and with its version in a table of another name.
fn first_version(path: &Path, trials: &[&str]) {
    with_sqlite(path, include_str!("../../migrations/sqlite/0001_rounds_trials_histograms.sql"));
    with_sqlite(
        path,
        "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL,
         installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
         execution_time BIGINT NOT NULL);
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (1, 'rounds, trials, histograms', 1, x'00', 0);
         PRAGMA journal_mode = WAL",
    );
    let connection = rusqlite::Connection::open(path).unwrap();
    let of_round = serde_json::to_string(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    let put = "INSERT INTO rounds VALUES ('r', 'quick', '2026-11-21T01:00:00.000Z', NULL, ?1)";
    connection.execute(put, [of_round]).unwrap();
    for id in trials {
        let document = serde_json::to_string(&some_trial("r", id)).unwrap();
        let put = "INSERT INTO trials VALUES (?1, 'r', 's', 'single', 'hello', 'c', 0, 0, '2026', 1, ?2)";
        connection.execute(put, [id, document.as_str()]).unwrap();
    }
}

#[test]
fn a_store_of_the_first_version_is_read_as_it_is_and_upgraded_by_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    first_version(&path, &["t1"]);
    let before = std::fs::read(&path).unwrap();
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(store.trials("r").unwrap(), [some_trial("r", "t1")]);
    assert_eq!(store.check().unwrap().without_checksum, 2);
    drop(store);
    assert!(std::fs::read(&path).unwrap() == before, "reading changed the file");
    let store = Store::open(&path).unwrap();
    store.put_trial(&some_trial("r", "t2")).unwrap();
    assert_eq!(store.trials("r").unwrap().len(), 2);
    // The older Paceline reads there that it is too old.
    let reported = rusqlite::Connection::open(&path).unwrap();
    let newest: i64 =
        reported.query_row("SELECT MAX(version) FROM _sqlx_migrations", [], |row| row.get(0)).unwrap();
    assert_eq!(newest, 2);
}

/// Runs a task with the rights of an ordinary user, if the tests run as root.
fn as_nobody<T: Send>(task: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: setfsuid takes a number and applies only to the calling thread (setfsuid(2)).
            unsafe { libc::setfsuid(65_534) };
            task()
        });
        thread.join().unwrap()
    })
}

/// A store that only its owner may write, in a folder that only its owner may write; closed properly, or left by a
/// killed writer.
fn read_only_store(killed: bool) -> (tempfile::TempDir, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    store.put_trial(&some_trial("r", "t1")).unwrap();
    let shown = if killed {
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).unwrap();
        for name in ["results.sqlite", "results.sqlite-wal"] {
            std::fs::copy(folder.path().join(name), copy.join(name)).unwrap();
        }
        copy.join("results.sqlite")
    } else {
        path
    };
    drop(store);
    let allow = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    allow(&shown, 0o444);
    allow(shown.parent().unwrap(), 0o555);
    allow(folder.path(), 0o555);
    (folder, shown)
}

#[test]
fn a_store_in_a_read_only_folder_is_read() {
    for killed in [false, true] {
        let (_folder, path) = read_only_store(killed);
        as_nobody(|| {
            let store = Store::open_existing(&path).unwrap();
            assert_eq!(store.trials("r").unwrap(), [some_trial("r", "t1")], "killed: {killed}");
            assert!(matches!(store.put_trial(&some_trial("r", "t2")), Err(StoreError::Unwritable { .. })));
            assert!(matches!(Store::open(&path), Err(StoreError::Unwritable { .. })));
        });
    }
}

#[test]
fn files_that_are_not_regular_are_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
        assert!(matches!(Store::open_existing(path), Err(StoreError::NotAStore { .. })), "{path:?}");
    }
}

#[test]
fn a_full_store_refuses_the_trial_and_keeps_the_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    store.put_trial(&some_trial("r", "t1")).unwrap();
    // SQLite reports a page limit like a full disk: with SQLITE_FULL.
    store.limit_pages(40).unwrap();
    let mut large = some_trial("r", "t2");
    large.log_tail = "x".repeat(1_000_000);
    let Err(error) = store.put_trial(&large) else { panic!("kept") };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(store.trials("r").unwrap(), [some_trial("r", "t1")]);
}

#[test]
fn only_a_regular_file_is_opened_and_nothing_is_left_beside_another() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let device = folder.path().join("device");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    for path in [fifo, device] {
        for opened in [Store::open(&path), Store::open_existing(&path)] {
            assert!(matches!(opened, Err(StoreError::NotAStore { .. })), "{opened:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("results.sqlite"), folder.path().join("victim"));
    drop(Store::open(&target).unwrap());
    std::os::unix::fs::symlink(&target, &link).unwrap();
    drop(Store::open(&link).unwrap());
    std::os::unix::fs::lchown(&link, Some(54_321), None).unwrap();
    for opened in [Store::open(&link), Store::open_existing(&link)] {
        assert!(matches!(opened, Err(StoreError::Link { .. })), "{opened:?}");
    }
}

fn is_root() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}
