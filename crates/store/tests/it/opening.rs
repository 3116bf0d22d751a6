//! Opening: folders are made, and whatever is in the way is named and left untouched.
//!
//! And what a store does with a damaged record, a full disk and a file of a later version. What several processes do to
//! one file is in `processes.rs`.

use crate::any_trial::{round, some_trial};
use paceline_store::{Store, StoreError};
use sqlx::Connection as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does something with a file, as another program would.
fn on_connection(path: &Path, work: impl AsyncFnOnce(&mut sqlx::AnyConnection)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    sqlx::any::install_default_drivers();
    runtime.block_on(async {
        let url = format!("sqlite://{}?mode=rwc", path.display());
        let mut connection = sqlx::AnyConnection::connect(&url).await.unwrap();
        work(&mut connection).await;
        connection.close().await.unwrap();
    });
}

/// Runs statements on a file.
fn with_sqlite(path: &Path, statements: &'static str) {
    on_connection(path, async |connection| {
        sqlx::raw_sql(statements).execute(connection).await.unwrap();
    });
}

#[test]
fn folders_are_made_and_a_strange_name_is_no_matter() {
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
    let (tell, told) = std::sync::mpsc::channel();
    let is_free = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            on_connection(&path, async |connection| {
                sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *connection).await.unwrap();
                tell.send(()).unwrap();
                // Long enough for the other to meet the lock.
                tokio::time::sleep(Duration::from_millis(200)).await;
                is_free.store(true, Ordering::SeqCst);
                sqlx::raw_sql("ROLLBACK").execute(connection).await.unwrap();
            });
        });
        told.recv().unwrap();
        let store = Store::open(&path).unwrap();
        assert!(is_free.load(Ordering::SeqCst), "opened under the other's lock");
        store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    });
}

#[test]
fn a_reader_leaves_no_store_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sqlite");
    assert!(matches!(Store::open_existing(&path), Err(StoreError::Missing { .. })));
    assert!(!path.exists());
}

#[test]
fn a_reader_leaves_an_empty_file_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.sqlite");
    std::fs::write(&path, "").unwrap();
    let Err(StoreError::NotAStore { found, .. }) = Store::open_existing(&path) else { panic!("opened") };
    assert_eq!((found.as_str(), std::fs::read(&path).unwrap().len()), ("an empty file", 0));
}

#[test]
fn a_trial_that_cannot_be_read_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    store.put_trial(&some_trial("r", "t1")).unwrap();
    store.put_trial(&some_trial("r", "t2")).unwrap();
    drop(store);
    with_sqlite(&path, "UPDATE trials SET document = '{' WHERE id = 't1'");
    let (trials, unreadable) = Store::open_existing(&path).unwrap().readable_trials("r").unwrap();
    assert_eq!(trials.iter().map(|trial| trial.id.as_str()).collect::<Vec<_>>(), ["t2"]);
    let [StoreError::Record { kind: "trial", id, .. }] = unreadable.as_slice() else {
        panic!("{unreadable:?}")
    };
    assert_eq!(id, "t1");
}

#[test]
fn a_round_that_cannot_be_read_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    for (id, at) in [("r1", "2026-11-21T01:00:00.000Z"), ("r2", "2026-11-21T02:00:00.000Z")] {
        store.put_round(&round(id, at)).unwrap();
    }
    drop(store);
    with_sqlite(&path, "UPDATE rounds SET document = '{' WHERE id = 'r1'");
    let (rounds, unreadable) = Store::open_existing(&path).unwrap().readable_rounds().unwrap();
    assert_eq!(rounds.iter().map(|round| round.id.as_str()).collect::<Vec<_>>(), ["r2"]);
    let [StoreError::Record { kind: "round", id, .. }] = unreadable.as_slice() else {
        panic!("{unreadable:?}")
    };
    assert_eq!(id, "r1");
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
fn a_folder_that_may_not_be_written_is_named() {
    // Nobody, root included, may make a file here.
    let Err(error) = Store::open(Path::new("/proc/self/fdinfo/results.sqlite")) else { panic!("opened") };
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
}

#[test]
fn what_is_no_database_is_left_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "these are my notes, and they are longer than a header of SQLite, which is a hundred bytes long, so there";
    std::fs::write(&path, text).unwrap();
    let Err(error) = Store::open(&path) else { panic!("opened") };
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_somebody_else_is_left_untouched() {
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
    Store::open(&path).unwrap();
    with_sqlite(
        &path,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9, 'later', 1, x'00', 0)",
    );
    let Err(StoreError::Newer { found, known, .. }) = Store::open(&path) else { panic!("opened") };
    assert_eq!((found, known), (9, 1));
}

#[test]
fn a_full_store_refuses_the_trial_and_keeps_the_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    let store = Store::open(&path).unwrap();
    store.put_round(&round("r", "2026-11-21T01:00:00.000Z")).unwrap();
    store.put_trial(&some_trial("r", "t1")).unwrap();
    // SQLite answers a page limit as it answers a full disk: with SQLITE_FULL.
    store.limit_pages(40).unwrap();
    let mut large = some_trial("r", "t2");
    large.log_tail = "x".repeat(1_000_000);
    let Err(error) = store.put_trial(&large) else { panic!("kept") };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(store.trials("r").unwrap(), [some_trial("r", "t1")]);
}
