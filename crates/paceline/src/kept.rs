//! Where results are kept: one flag and one default for every command that writes or reads them, and how the store's
//! errors become complaints.
//!
//! Called by `round` and `report`. A record that cannot be read is told and left out, so that it hides no other.
//! Keeping and finding are the store's own.

use crate::exit::{Complaint, Status, say, told};
use crate::places::path_or_nothing;
use paceline_record::{Round, Trial};
use paceline_store::{Store, StoreError};
use std::path::{Path, PathBuf};

/// The name of the results' file in the folder where the lab keeps what it builds.
const FILE: &str = "results.sqlite";

/// Where results are kept.
#[derive(clap::Args)]
pub struct StoreArguments {
    /// The file with the results [default: `results.sqlite` in the state folder]
    #[arg(long, value_name = "FILE", env = "PACELINE_STORE", value_parser = path_or_nothing())]
    store: Option<PathBuf>,
}

impl StoreArguments {
    /// The file with the results, given the folder where the lab keeps what it builds.
    pub fn path(&self, state_dir: &Path) -> PathBuf {
        // An empty variable is one that is not set.
        let named = self.store.clone().filter(|store| !store.as_os_str().is_empty());
        named.unwrap_or_else(|| state_dir.join(FILE))
    }
}

/// The store's error as a complaint: its whole chain, a hint, and the exit status for whose doing it is.
pub fn complain(error: StoreError) -> anyhow::Error {
    let (status, hint) = match &error {
        StoreError::Missing { .. } => (
            Status::Usage,
            Some("`paceline round` makes some; --store or PACELINE_STORE says where to look for others"),
        ),
        StoreError::NotFound { .. } => (Status::Usage, Some("`paceline report --list` shows what is kept")),
        StoreError::Ambiguous { .. } => (Status::Usage, Some("give more of the id")),
        StoreError::Folder { .. } | StoreError::Unwritable { .. } => {
            (Status::Environment, Some("name another place with --store or PACELINE_STORE"))
        }
        StoreError::NotAStore { .. } | StoreError::PathNotText { .. } => (Status::Usage, None),
        StoreError::Newer { .. } => {
            (Status::Usage, Some("read it with the Paceline that wrote it, or a later one"))
        }
        StoreError::Full { .. } => {
            (Status::Environment, Some("make room, then `paceline round --resume` carries on"))
        }
        StoreError::Busy { .. } => {
            (Status::Environment, Some("wait for the other to end, or find it with `fuser FILE`"))
        }
        _ => (Status::Environment, None),
    };
    let what = told(&error);
    anyhow::Error::new(Complaint { what, hint: hint.map(str::to_owned), status })
}

/// The trials of a round, as far as they can be read; what cannot is told and left out.
pub fn readable_trials(store: &Store, round: &str) -> anyhow::Result<Vec<Trial>> {
    let (trials, unreadable) = store.readable_trials(round).map_err(complain)?;
    for error in unreadable {
        say(&format!("paceline: left out: {}", told(&error)));
    }
    Ok(trials)
}

/// Every round, newest first, as far as they can be read; what cannot is told and left out.
pub fn readable_rounds(store: &Store) -> anyhow::Result<Vec<Round>> {
    let (rounds, unreadable) = store.readable_rounds().map_err(complain)?;
    for error in unreadable {
        say(&format!("paceline: left out: {}", told(&error)));
    }
    Ok(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_decides_else_the_state_folder() {
        let flag = StoreArguments { store: Some("a/b.sqlite".into()) };
        assert_eq!(flag.path(Path::new("/state")), Path::new("a/b.sqlite"));
        assert_eq!(
            StoreArguments { store: None }.path(Path::new("/state")),
            Path::new("/state/results.sqlite")
        );
        let empty = StoreArguments { store: Some("".into()) };
        assert_eq!(empty.path(Path::new("/state")), Path::new("/state/results.sqlite"));
    }
}
