//! The location of kept results: the `--store` flag and its default for every command that writes or reads results, and
//! the conversion of store errors.
//!
//! A record that cannot be read is reported and skipped; the command then exits with 1.

use crate::exit::{Complaint, Status, error_text, say};
use crate::lab_folders::path_or_nothing;
use paceline_catalogue::{FolderFlags, Folders};
use paceline_store::{Store, StoreError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File name of the store in the state folder.
const FILE: &str = "results.sqlite";

/// The flag for the store.
#[derive(clap::Args)]
pub struct StoreArguments {
    /// Where results are stored: a SQLite file or a `postgres://` URL [default: `results.sqlite` in the state folder]
    /// [env: PACELINE_STORE=]
    // Not clap's `env`, by which the variable would conflict with flags as if the user had given this one.
    #[arg(long, global = true, value_name = "FILE|URL", value_parser = path_or_nothing())]
    store: Option<PathBuf>,
}

/// The variable for the store, where no flag names one.
const VARIABLE: &str = "PACELINE_STORE";

impl StoreArguments {
    /// The store that was given; an empty variable counts as unset.
    fn named(&self) -> Option<PathBuf> {
        self.named_by(std::env::var_os(VARIABLE))
    }

    fn named_by(&self, variable: Option<OsString>) -> Option<PathBuf> {
        let is_set = |store: &PathBuf| !store.as_os_str().is_empty();
        self.store.clone().filter(is_set).or_else(|| variable.map(PathBuf::from).filter(is_set))
    }

    /// Whether a store was given, by flag or environment variable.
    pub fn is_named(&self) -> bool {
        self.named().is_some()
    }

    /// The path of the store; `state_dir` is the state folder.
    pub fn path(&self, state_dir: &Path) -> PathBuf {
        self.named().unwrap_or_else(|| state_dir.join(FILE))
    }
}

/// The state folder, for commands that need no servers: that of the flag, else the one next to the servers' folder, else
/// `.paceline`.
pub fn state_dir(flag: Option<PathBuf>) -> PathBuf {
    let flag = flag.filter(|folder| !folder.as_os_str().is_empty());
    let flags = FolderFlags { state_dir: flag.clone(), ..FolderFlags::default() };
    let found = Folders::find(&flags).map(|folders| folders.state_dir).ok();
    flag.or(found).unwrap_or_else(|| PathBuf::from(".paceline"))
}

/// A store error with its causes, a hint, and the exit status for its cause.
pub fn complain(error: StoreError) -> anyhow::Error {
    let (status, hint) = match &error {
        StoreError::Missing { .. } => (
            Status::Usage,
            Some(
                "`paceline round` measures and stores results; --store or PACELINE_STORE selects another store",
            ),
        ),
        StoreError::NotFound { .. } => {
            (Status::Usage, Some("`paceline report --list` lists the stored rounds"))
        }
        StoreError::Ambiguous { .. } => (Status::Usage, Some("give more characters of the id")),
        StoreError::NotAStore { .. } | StoreError::TrialOfOtherRound { .. } => (Status::Usage, None),
        StoreError::AlreadyStored { .. } => (Status::Usage, Some("--replace replaces the stored round")),
        StoreError::Newer { .. } => {
            (Status::Usage, Some("use the version of Paceline that wrote the store, or a later one"))
        }
        StoreError::Folder { .. }
        | StoreError::Unwritable { .. }
        | StoreError::Copy { .. }
        | StoreError::Link { .. } => {
            (Status::Environment, Some("choose another store with --store or PACELINE_STORE"))
        }
        StoreError::Full { .. } => (Status::Environment, Some("free some space")),
        StoreError::Busy { .. } => {
            (Status::Environment, Some("wait for the other process to end, or find it with `fuser FILE`"))
        }
        StoreError::Unreachable { .. } => (
            Status::Environment,
            Some("check the URL, and that the server runs and accepts connections without TLS"),
        ),
        StoreError::Denied { .. } => (
            Status::Environment,
            Some(
                "grant the user: USAGE ON SCHEMA paceline; SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA paceline (reading: SELECT); CREATE ON DATABASE only to create the schema",
            ),
        ),
        StoreError::Damaged { .. } | StoreError::Inconsistent { .. } => (
            Status::Environment,
            Some(
                "copy the store's file, then recover its readable data to a new file: `sqlite3 FILE .recover | sqlite3 NEW_FILE`",
            ),
        ),
        StoreError::LockedRound { .. } => {
            (Status::Environment, Some("wait for that round to end, or interrupt it"))
        }
        StoreError::Record { .. } | StoreError::Altered { .. } => {
            (Status::Environment, Some("`paceline store check` lists every damaged record"))
        }
        StoreError::Database { .. } | StoreError::UnknownRound { .. } | StoreError::Unstorable { .. } => {
            (Status::Environment, None)
        }
    };
    let what = error_text(&error);
    anyhow::Error::new(Complaint { what, hint: hint.map(str::to_owned), status })
}

/// Prints what a store waits for.
pub fn tell_wait(what: &str) {
    say(&format!("paceline: {what}"));
}

/// Records that could be read.
#[derive(Debug)]
pub struct ReadableRecords<T> {
    /// The readable ones.
    pub records: Vec<T>,
    /// Whether there are unreadable ones.
    pub is_damaged: bool,
}

impl<T> ReadableRecords<T> {
    /// From the result of a store read; reports every damaged record.
    pub fn from_read(read: Result<(Vec<T>, Vec<StoreError>), StoreError>) -> anyhow::Result<Self> {
        let (records, damaged) = read.map_err(complain)?;
        for error in &damaged {
            say(&format!("paceline: skipped: {}", error_text(error)));
        }
        Ok(Self { records, is_damaged: !damaged.is_empty() })
    }

    /// The exit status of a command that showed these records.
    pub fn status(&self) -> Status {
        if self.is_damaged { Status::Failed } else { Status::Done }
    }
}

/// An error that stopped a stored round, with the command to resume it once the cause is removed.
pub fn resumable(error: &anyhow::Error, round: &str) -> anyhow::Error {
    let complaint = error.downcast_ref::<Complaint>();
    let status = complaint.map_or(Status::Environment, |complaint| complaint.status);
    let resume = format!("`paceline round --resume {round}` continues it; the trials so far are stored");
    let hint = match complaint.and_then(|complaint| complaint.hint.as_deref()) {
        Some(hint) => format!("{hint}; then {resume}"),
        None => resume,
    };
    Complaint { what: error_text(error.as_ref()), hint: Some(hint), status }.into()
}

/// The error that the store has no rounds.
pub fn nothing_kept(store: &Store) -> Complaint {
    Complaint::usage(format!("no round is stored in {}", store.path().display()))
        .hint("`paceline round plans/quick.toml` measures and stores a round")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::Environment;

    #[test]
    fn the_store_is_the_flag_or_else_in_the_state_folder() {
        let named = |flag: Option<&str>, variable: Option<&str>| {
            let arguments = StoreArguments { store: flag.map(PathBuf::from) };
            arguments.named_by(variable.map(OsString::from))
        };
        let (flag, variable) = (Some("a/b.sqlite"), Some("other.sqlite"));
        assert_eq!(named(flag, variable), Some("a/b.sqlite".into()));
        for unset in [None, Some("")] {
            assert_eq!(named(unset, variable), Some("other.sqlite".into()));
            assert_eq!(named(unset, unset), None);
        }
    }

    fn hint(error: &anyhow::Error) -> String {
        error.downcast_ref::<Complaint>().unwrap().hint.clone().unwrap()
    }

    const RESUME: &str = "`paceline round --resume r1` continues it; the trials so far are stored";

    #[test]
    fn an_error_that_stops_a_round_shows_how_to_resume_it() {
        assert_eq!(hint(&resumable(&anyhow::anyhow!("x"), "r1")), RESUME);
        let hinted = Complaint::environment("x").hint("free it").into();
        assert_eq!(hint(&resumable(&hinted, "r1")), format!("free it; then {RESUME}"));
    }

    #[test]
    fn a_full_disk_mentions_a_resume_only_for_a_stored_round() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join(FILE)).unwrap();
        store.limit_pages(40).unwrap();
        let round = serde_json::from_value(serde_json::json!({
            "schema": 1, "id": "r1", "plan": "p", "plan_toml": "x".repeat(1_000_000), "seed": 1, "started_at": "",
            "finished_at": null, "planned": 1, "environment": Environment::default(), "sittings": []
        }));
        let error = complain(store.put_round(&round.unwrap()).unwrap_err());
        assert_eq!(hint(&error), "free some space");
        assert_eq!(hint(&resumable(&error, "r1")), format!("free some space; then {RESUME}"));
    }
}
