//! The store: one file, opened once, called from one thread.
//!
//! `paceline round` opens it, making the file where there is none; `paceline report` only one that is there. What is
//! done with rounds and trials is in `rounds.rs` and `trials.rs`, what opening means to SQLite in `sqlite.rs`.

use crate::{StoreError, sqlite};
use sqlx::AnyPool;
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// Kept rounds and trials. Several processes may have the same file open: each waits for the other's write to end.
#[derive(Debug)]
pub struct Store {
    /// Drives the database's futures; every method blocks on it.
    pub(crate) runtime: Runtime,
    pub(crate) pool: AnyPool,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path`, making folders and file where there are none.
    ///
    /// # Errors
    /// [`StoreError`] when the folder cannot be made, the file cannot be written, is something else, or was written
    /// by a newer Paceline. A file that is something else is left untouched.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(StoreError::Runtime)?;
        let pool = runtime.block_on(sqlite::open(&path))?;
        Ok(Self { runtime, pool, path })
    }

    /// Opens a store that is there already: for readers, who should not leave an empty one behind.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no file, [`StoreError::NotAStore`] when it is empty, which to SQLite is a
    /// database to be filled; else as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        match std::fs::metadata(path) {
            Err(_) => Err(StoreError::Missing { path: path.to_owned() }),
            Ok(facts) if facts.is_file() && facts.len() == 0 => {
                Err(StoreError::NotAStore { path: path.to_owned(), found: "an empty file".to_owned() })
            }
            Ok(_) => Self::open(path),
        }
    }

    /// Where the results are, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Caps the size of the file, in pages of 4 KiB; below the present size nothing can be added. For whoever shares a
    /// small disk, and for tests of what a full one does.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub fn limit_pages(&self, pages: u32) -> Result<(), StoreError> {
        let limit = sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}")));
        self.runtime.block_on(limit.fetch_one(&self.pool)).map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// What a database error means here.
    pub(crate) fn failed(&self, error: sqlx::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }
}

/// Makes the folder of `path` and gives the path in full: a URL would resolve `..` by its own rules.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |source| StoreError::Folder { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let folder = folder.canonicalize().map_err(failed)?;
    match path.file_name() {
        Some(name) if !path.is_dir() => Ok(folder.join(name)),
        _ => Err(StoreError::NotAStore { path: path.to_owned(), found: "a folder".to_owned() }),
    }
}
