//! A claim: one process at a time carries a round on, and one round at a time runs on a machine.
//!
//! A lock on a file, which the kernel lets go whatever ends its holder; the file says who that is. Unlike a build's
//! lock nobody waits for it: a round takes hours.

use crate::workshop::try_lock;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where every user of a machine may lock a file: Filesystem Hierarchy Standard 3.0, section 5.9.
const MACHINE_LOCKS: &str = "/run/lock";
/// The file that stands for the machine.
const MACHINE: &str = "paceline-machine.lock";
/// A holder whose name is not known.
const UNNAMED: &str = "another process";
/// No file of a claim is longer: a process and a few words.
const LONGEST_BYTES: u64 = 200;

/// Held while it lives.
#[derive(Debug)]
pub struct Claim {
    /// Open: that is the lock.
    file: File,
}

/// What came of a try.
#[derive(Debug)]
pub enum Claimed {
    /// It is ours.
    Ours(Claim),
    /// Another holds it, as it named itself: `process 17 (round 20261121-...)`.
    By(String),
}

impl Claim {
    /// Claims the file at `path`, which is made with its folder, for this process; `purpose` tells others what for.
    ///
    /// # Errors
    /// When the file can be neither made nor locked.
    pub fn of(path: &Path, purpose: &str) -> io::Result<Claimed> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = open(path)?;
        if !try_lock(&file, libc::LOCK_EX)? {
            return Ok(Claimed::By(holder(file)));
        }
        // The lock is what counts; a file of somebody else's may be locked and not written.
        let _ = name(&mut file, purpose);
        Ok(Claimed::Ours(Claim { file }))
    }

    /// Claims the machine. Best effort: where no file can be locked there is nobody to be told of.
    pub fn of_machine(purpose: &str) -> Option<Claimed> {
        match Self::of(&machine_file(), purpose).ok()? {
            Claimed::Ours(claim) => claim.shared().ok(),
            taken => Some(taken),
        }
    }

    /// From now on others may share it, and none can have it alone before the last is gone. One kind of lock is not made
    /// another at one stroke, it is let go first (flock(2)): who came in between has it, and its name need not be
    /// written yet.
    fn shared(self) -> io::Result<Claimed> {
        let is_ours = try_lock(&self.file, libc::LOCK_SH)?;
        Ok(if is_ours { Claimed::Ours(self) } else { Claimed::By(UNNAMED.to_owned()) })
    }

    /// Holds the machine beside whoever does: it is free once both are gone. Best effort.
    pub fn beside_others() -> Option<Self> {
        let file = open(&machine_file()).ok()?;
        try_lock(&file, libc::LOCK_SH).ok()?.then_some(Self { file })
    }
}

fn machine_file() -> PathBuf {
    machine_locks().join(MACHINE)
}

/// The folder for locks that stand for something of the machine.
pub(crate) fn machine_locks() -> PathBuf {
    let shared = Path::new(MACHINE_LOCKS);
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// Who a claim's file names.
pub(crate) fn holder(file: File) -> String {
    let mut holder = String::new();
    // Who it is, is a courtesy: that somebody has it is known.
    let _ = file.take(LONGEST_BYTES).read_to_string(&mut holder);
    let holder = holder.trim();
    if holder.is_empty() { UNNAMED } else { holder }.to_owned()
}

/// A file that is there is opened as it is: in a folder of all, a kernel may refuse to "create" another user's file
/// (sysctl `fs.protected_regular`). Reading is enough to lock.
fn open(path: &Path) -> io::Result<File> {
    let existing = || OpenOptions::new().read(true).write(true).open(path);
    match existing().or_else(|_| File::open(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Every user of the machine writes its name here; the mask of the first one is not to forbid it.
    let _ = made.set_permissions(Permissions::from_mode(0o666));
    Ok(made)
}

fn name(file: &mut File, purpose: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} ({purpose})", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Claims what nobody holds any more. A child that another test is starting holds a copy of the lock until it
    /// becomes its program.
    fn claim_again(path: &Path, purpose: &str) -> Claim {
        let begun = Instant::now();
        loop {
            match Claim::of(path, purpose).unwrap() {
                Claimed::Ours(claim) => return claim,
                Claimed::By(holder) => assert!(begun.elapsed() < Duration::from_secs(5), "{holder} has it"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_claim_is_one_holder_s_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks/round.lock");
        let Claimed::Ours(first) = Claim::of(&path, "round 7").unwrap() else { panic!("it is new") };
        let Claimed::By(holder) = Claim::of(&path, "round 8").unwrap() else { panic!("it is taken") };
        assert_eq!(holder, format!("process {} (round 7)", std::process::id()));
        drop(first);
        let _second = claim_again(&path, "round 8");
        assert!(std::fs::read_to_string(&path).unwrap().ends_with(" (round 8)\n"));
    }

    #[test]
    fn a_claim_that_another_took_while_it_was_shared_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine.lock");
        // What is left of ours while the kernel makes it another kind: an open file without a lock.
        let between = Claim { file: open(&path).unwrap() };
        let Claimed::Ours(other) = Claim::of(&path, "round 8").unwrap() else { panic!("it is free") };
        assert!(matches!(between.shared().unwrap(), Claimed::By(holder) if holder == UNNAMED));
        drop(other);
        let Claimed::Ours(_first) = claim_again(&path, "round 9").shared().unwrap() else { panic!("free") };
        let Claimed::Ours(_second) = (Claim { file: open(&path).unwrap() }).shared().unwrap() else {
            panic!("it is shared")
        };
    }
}
