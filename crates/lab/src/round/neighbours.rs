//! Whose rounds run on the machine beside this one: asked before and after every trial.
//!
//! Each round locks a file of its own in one folder of the machine and writes its name there. So the round that was there
//! first learns of the second too, which its claim on the machine cannot tell it. Whether a round may begin beside
//! another is not decided here: that is the claim's. Files are never removed: a lock tells who lives.

use crate::claim::{holder, machine_locks};
use crate::workshop::try_lock;
use crate::{Claim, Claimed};
use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// The folder among the machine's locks.
const FOLDER: &str = "paceline-machine.d";
/// More rounds than that on one machine go unseen: no number of theirs means anything.
const ROUNDS_MOST: u32 = 64;

/// This round's place among those of the machine, for as long as it lives.
#[derive(Debug)]
pub struct Neighbours {
    folder: PathBuf,
    own: PathBuf,
    _claim: Claim,
}

/// Who was there at a moment.
#[derive(Debug)]
pub struct Look {
    at: SystemTime,
    others: BTreeSet<String>,
}

impl Neighbours {
    /// Takes a place on this machine; `purpose` tells others what for. Best effort: where no file can be locked there is
    /// nobody to be told of.
    pub fn join(purpose: &str) -> Option<Self> {
        Self::join_in(machine_locks().join(FOLDER), purpose)
    }

    fn join_in(folder: PathBuf, purpose: &str) -> Option<Self> {
        if fs::create_dir(&folder).is_ok() {
            // Every user of the machine has files there; the mask of the first one is not to forbid it.
            let _ = fs::set_permissions(&folder, Permissions::from_mode(0o1777));
        }
        (0..ROUNDS_MOST).find_map(|place| {
            let own = folder.join(format!("{place}.lock"));
            match Claim::of(&own, purpose).ok()? {
                Claimed::Ours(claim) => Some(Self { folder: folder.clone(), own, _claim: claim }),
                Claimed::By(_) => None,
            }
        })
    }

    /// Who is there now.
    pub fn look(&self) -> Look {
        let at = SystemTime::now();
        Look { at, others: self.others(|_| false) }
    }

    /// Who else was there at any time since `earlier`, each as it named itself.
    pub fn since(&self, earlier: Look) -> Vec<String> {
        // A name is written when a place is taken: one that came meanwhile may have gone again.
        let came_meanwhile = |file: &File| {
            let named_at = file.metadata().and_then(|about| about.modified());
            named_at.is_ok_and(|named_at| named_at >= earlier.at)
        };
        let mut others = self.others(came_meanwhile);
        others.extend(earlier.others);
        others.into_iter().collect()
    }

    /// Who lives, or is meant all the same.
    fn others(&self, is_meant: impl Fn(&File) -> bool) -> BTreeSet<String> {
        let Ok(places) = fs::read_dir(&self.folder) else { return BTreeSet::new() };
        let is_file = |place: &DirEntry| place.file_type().is_ok_and(|kind| kind.is_file());
        let paths =
            places.flatten().filter(is_file).map(|place| place.path()).filter(|path| *path != self.own);
        let files = paths.filter_map(|path| File::open(path).ok());
        files.filter(|file| is_held(file) || is_meant(file)).map(holder).collect()
    }
}

/// Whether somebody else holds a file. A lock that is ours for a moment, beside others who look, keeps nobody from a place
/// but that one: whoever tries it just then takes the next.
fn is_held(file: &File) -> bool {
    matches!(try_lock(file, libc::LOCK_SH), Ok(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds that are named, without the process, which is this one.
    fn rounds(others: impl IntoIterator<Item = String>) -> Vec<String> {
        others.into_iter().map(|other| other.split_once(' ').unwrap().1.to_owned()).collect()
    }

    fn named(round: u32) -> String {
        format!("{} (round {round})", std::process::id())
    }

    #[test]
    fn each_sees_the_others_that_live_whoever_came_first() {
        let folder = tempfile::tempdir().unwrap();
        let join = |purpose: &str| Neighbours::join_in(folder.path().join("machine.d"), purpose).unwrap();
        let first = join("round 1");
        let alone = first.look();
        assert!(alone.others.is_empty());
        let second = join("round 2");
        assert_eq!(rounds(first.look().others), [named(2)]);
        assert_eq!(rounds(second.look().others), [named(1)]);
        assert_eq!(rounds(first.since(alone)), [named(2)]);
        let third = join("round 3");
        assert_eq!(rounds(second.look().others), [named(1), named(3)]);
        drop(third);
    }

    #[test]
    fn who_was_there_before_or_came_and_went_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let join = |purpose: &str| Neighbours::join_in(folder.path().join("machine.d"), purpose).unwrap();
        let first = join("round 1");
        let second = join("round 2");
        let before = first.look();
        drop(second);
        assert_eq!(rounds(first.since(before)), [named(2)]);
        // A file's time goes by the kernel's ticks: an hour is more than one.
        let before =
            Look { at: SystemTime::now() - std::time::Duration::from_secs(3600), others: BTreeSet::new() };
        assert_eq!(rounds(first.since(before)), [named(2)]);
        let later =
            Look { at: SystemTime::now() + std::time::Duration::from_secs(3600), others: BTreeSet::new() };
        // A child that another test is starting may hold a copy of the lock for a moment.
        std::iter::repeat_with(|| first.look()).find(|look| look.others.is_empty()).unwrap();
        assert!(first.since(later).is_empty());
    }
}
