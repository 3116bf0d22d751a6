//! Tuning: settings of the machine changed for a round, each named with its value before and after, and put back.
//!
//! Put back by a shepherd, which is there for nothing else: when the lab asks, or is gone, whatever ended it. What was
//! changed is noted in a file besides, so that the next round finds what even a killed shepherd left behind. Nothing
//! here is needed to run a round, and nothing that cannot be set stops one: it is named.

mod wanted;

use crate::shepherd::{Guard, Order, Output, Restore, Shepherd};
use crate::system;
use paceline_record::Tuned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use wanted::Wanted;

/// Open files a round may need: the limit of source 002.
const OPEN_FILES_LEAST: u64 = 65_535;
/// How long the process that does nothing has to end.
const STOP_LIMIT_MS: u64 = 1_000;

/// Settings that are changed as long as it lives.
pub struct Tuning {
    settings: Vec<Tuned>,
    changed: Vec<Restore>,
    keeper: Option<Shepherd>,
    note: PathBuf,
}

impl Tuning {
    /// Changes what is not as it should be below `root` (`/`), with a shepherd to put it back. What was changed is noted in
    /// `note` until then.
    ///
    /// # Errors
    /// When what is to be put back cannot be noted or nobody can be started to put it back: nothing is changed then.
    pub fn begin(shepherd: &[String], note: &Path, root: &Path) -> io::Result<Self> {
        let looked: Vec<(Wanted, Look)> = wanted::all(root)
            .into_iter()
            .map(|wanted| {
                let look = look(&wanted);
                (wanted, look)
            })
            .collect();
        let to_restore: Vec<Restore> = looked
            .iter()
            .filter(|(_, look)| look.write.is_some())
            .map(|(wanted, look)| Restore { path: wanted.path.clone(), value: look.before.clone() })
            .collect();
        let mut tuning =
            Self { settings: Vec::new(), changed: to_restore, keeper: None, note: note.to_owned() };
        if !tuning.changed.is_empty() {
            keep_note(note, &tuning.changed)?;
            tuning.keeper = Some(Shepherd::start(shepherd, &order(&tuning.changed))?);
        }
        tuning.settings = looked.into_iter().map(|(wanted, look)| set(wanted, look)).collect();
        tuning.settings.push(open_files());
        Ok(tuning)
    }

    /// Every setting that was looked at, as it was and as it is.
    pub fn settings(&self) -> &[Tuned] {
        &self.settings
    }

    /// Puts everything back, and names what is not as it was.
    pub fn end(mut self) -> Vec<String> {
        if let Some(keeper) = self.keeper.take() {
            // Whether it could is seen below.
            let _ = keeper.stop();
        }
        let astray = |restore: &&Restore| read(&restore.path).is_none_or(|now| now != restore.value);
        let left: Vec<String> = self.changed.iter().filter(astray).map(told).collect();
        if left.is_empty() {
            // Gone already is as good.
            let _ = fs::remove_file(&self.note);
        }
        left
    }
}

/// Puts back what a killed shepherd left changed, by the note at `note`; names what was put back and what was not.
pub fn mend_tuning(note: &Path) -> Vec<String> {
    let Ok(text) = fs::read_to_string(note) else { return Vec::new() };
    let left: Vec<Restore> = serde_json::from_str(&text).unwrap_or_default();
    let mut told_of = Vec::new();
    for restore in left {
        if read(&restore.path).as_ref() == Some(&restore.value) {
            continue;
        }
        let outcome = fs::write(&restore.path, &restore.value);
        let how = outcome.map_or_else(|error| format!("cannot be put back: {error}"), |()| "put back".into());
        told_of.push(format!("{}: {how}", told(&restore)));
    }
    let _ = fs::remove_file(note);
    told_of
}

fn told(restore: &Restore) -> String {
    format!("{} was {}", restore.path.display(), restore.value)
}

/// A setting as it was found.
struct Look {
    before: String,
    /// What to write; none where nothing is to be, with the reason unless it is as wanted.
    write: Option<String>,
    why: String,
}

fn look(wanted: &Wanted) -> Look {
    let left = |before: String, why: &str| Look { before, write: None, why: why.to_owned() };
    let Some(before) = read(&wanted.path) else {
        return left(String::new(), "this machine has no such setting");
    };
    match wanted.aim.instead_of(&before) {
        Ok(write) => Look { before, write, why: String::new() },
        Err(why) => left(before, why),
    }
}

fn set(wanted: Wanted, look: Look) -> Tuned {
    let Look { before, write, mut why } = look;
    if let Some(value) = write
        && let Err(error) = fs::write(&wanted.path, value)
    {
        why = format!("cannot be set: {error}");
    }
    // As the kernel has it now, which may have made something else of it.
    let after = read(&wanted.path).unwrap_or_default();
    Tuned { name: wanted.name, before, after, why }
}

/// The limit of open files is this process's and its children's: there is nothing to put back.
fn open_files() -> Tuned {
    let name = "limit of open files".to_owned();
    match system::raise_open_files_to(OPEN_FILES_LEAST) {
        Ok((before, after)) => {
            Tuned { name, before: before.to_string(), after: after.to_string(), why: String::new() }
        }
        Err(error) => Tuned {
            name,
            before: String::new(),
            after: String::new(),
            why: format!("cannot be set: {error}"),
        },
    }
}

/// The text of a setting, its spaces made one: ports are parted by a tab.
fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn keep_note(path: &Path, changed: &[Restore]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, serde_json::to_string(changed)?)
}

/// A shepherd of nothing, which puts back when it ends.
fn order(changed: &[Restore]) -> Order {
    Order {
        command: ["sleep", "infinity"].map(str::to_owned).into(),
        folder: "/".into(),
        env: Default::default(),
        cores: Vec::new(),
        output: Output::Inherit,
        groups: Vec::new(),
        // A user namespace could not write what its machine could.
        guard: Guard::Subreaper,
        stop_limit_ms: STOP_LIMIT_MS,
        inherit: None,
        restore: changed.to_vec(),
    }
}
