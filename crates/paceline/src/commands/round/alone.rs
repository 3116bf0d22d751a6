//! Locks a round against other processes, and its machine against other rounds.
//!
//! Two processes on one round would each measure all remaining trials; two rounds on one machine would disturb each
//! other.

use crate::exit::Complaint;
use crate::kept;
use anyhow::Context as _;
use paceline_host::{FileLock, Id, Joined, LockAttempt, Neighbours};
use paceline_store::Store;

/// Locks a round, so that no second process resumes it. The lock is beside the store or in its database server, which
/// every process with access to the round shares, wherever its state folder is.
pub fn lock_round(id: &Id, store: &Store) -> anyhow::Result<Option<FileLock>> {
    store.lock_round(id.as_str()).map_err(kept::complain)?;
    let Some(file) = store.file() else { return Ok(None) };
    let folder = file.with_file_name("locks");
    let attempt = FileLock::try_take(&folder, id, &format!("round {id}"));
    match attempt.with_context(|| format!("cannot lock {id}.lock in {}", folder.display()))? {
        LockAttempt::Taken(lock) => Ok(Some(lock)),
        LockAttempt::HeldBy(holder) => {
            let process = holder.split(" (").next().unwrap_or(&holder);
            let what = format!("round {id} is being run by {process}");
            Err(Complaint::environment(what).hint("wait for it to end, or interrupt it").into())
        }
    }
}

/// This round's registration on the machine, and the rounds that already run there. If there are any, this is an error
/// unless the machine may be shared. If other rounds cannot be detected, `notes` says so.
pub fn on_machine(
    id: &Id,
    share: bool,
    notes: &mut Vec<String>,
) -> anyhow::Result<(Option<Neighbours>, Option<String>)> {
    match Neighbours::join(id, share) {
        Ok(Joined::Placed(neighbours, others)) => {
            Ok((Some(neighbours), (!others.is_empty()).then(|| others.join(", "))))
        }
        Ok(Joined::Occupied(others)) => {
            Err(Complaint::environment(format!("another round runs on this machine: {}", others.join(", ")))
                .hint("each would disturb the other: wait for it to end, or continue with --share-machine")
                .into())
        }
        Err(error) => {
            notes.push(format!("cannot see whether another round runs on this machine: {error}"));
            Ok((None, None))
        }
    }
}
