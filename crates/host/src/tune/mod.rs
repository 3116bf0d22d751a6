//! Tuning: settings of the machine changed for a round, each named with its value before and after, and put back.
//!
//! Put back by a shepherd, which is there for nothing else: when the lab asks, or is gone, whatever ended it. What was
//! changed is noted in a file besides, so that the next round finds what even a killed shepherd left behind. Nothing
//! here is needed to run a round, and nothing that cannot be set stops one: it is named.

mod wanted;

use crate::shepherd::{Guard, Order, Output, Restore, Shepherd, setting};
use crate::system;
use paceline_record::Tuned;
use rustix::fs::OFlags;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use wanted::Wanted;

/// Open files a round may need: the limit of source 002.
const OPEN_FILES_LEAST: u64 = 65_535;
/// How long the process that does nothing has to end.
const STOP_LIMIT_MS: u64 = 1_000;
/// The most that is read of a note: ten times what every setting of a machine with 100 governors takes.
const NOTE_MAX_BYTES: u64 = 256 * 1024;
/// The longest value of a setting: a few numbers.
const VALUE_MAX_BYTES: usize = 64;

/// Settings that are changed as long as it lives.
pub struct Tuning {
    settings: Vec<Tuned>,
    changed: Vec<Restore>,
    /// What an earlier round left changed and nobody could put back yet: it stays noted.
    earlier: Vec<Restore>,
    keeper: Option<Shepherd>,
    note: PathBuf,
}

impl Tuning {
    /// Changes what is not as it should be below `root` (`/`), with a shepherd to put it back. What was changed is
    /// noted in `note` until then.
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
            .map(|(wanted, look)| Restore {
                path: wanted.path.clone(),
                value: look.before.clone(),
                instead: look.write.clone(),
            })
            .collect();
        let mut tuning = Self {
            settings: Vec::new(),
            changed: to_restore,
            earlier: noted(note, root).unwrap_or_default(),
            keeper: None,
            note: note.to_owned(),
        };
        if !tuning.changed.is_empty() {
            tuning.keep_note()?;
            tuning.keeper = Some(Shepherd::start(shepherd, &tuning.order())?);
        }
        tuning.settings = looked.into_iter().map(|(wanted, look)| set(wanted, look)).collect();
        tuning.settings.push(open_files());
        tuning.note_as_it_is();
        Ok(tuning)
    }

    /// Notes what the kernel made of what was written: that is what a later round may put back.
    fn note_as_it_is(&mut self) {
        for restore in &mut self.changed {
            restore.instead = restore.now().or(restore.instead.take());
        }
        if !self.changed.is_empty() {
            // Should it fail, what was meant to be written is noted already.
            let _ = self.keep_note();
        }
    }

    fn keep_note(&self) -> io::Result<()> {
        let all: Vec<Restore> = self.earlier.iter().chain(&self.changed).cloned().collect();
        keep_note(&self.note, &all)
    }

    /// A shepherd of nothing, which puts back when it ends.
    fn order(&self) -> Order {
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
            user: None,
            inherit: None,
            restore: self.changed.clone(),
            restore_note: self.earlier.is_empty().then(|| self.note.clone()),
        }
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
        self.changed.retain(|restore| !restore.is_done());
        // A note that cannot be written any more still tells what was changed.
        let _ = self.keep_note();
        self.changed.iter().map(reported).collect()
    }
}

/// Puts back what a killed shepherd left changed, by the note at `note`; names what was put back and what was not. What
/// somebody has changed since is theirs, and left alone. What could not be put back stays noted.
///
/// Only settings that a tuning below `root` changes are written, and only by a note that is this user's alone.
pub fn mend_tuning(note: &Path, root: &Path) -> Vec<String> {
    let noted = match noted(note, root) {
        Ok(noted) => noted,
        Err(problem) => return vec![format!("{} is ignored: {problem}", note.display())],
    };
    let mut left: Vec<Restore> = noted.into_iter().filter(|restore| !restore.is_done()).collect();
    let mut told_of = Vec::new();
    left.retain(|restore| {
        let (how, is_settled) = put_back(restore);
        told_of.push(format!("{}: {how}", reported(restore)));
        !is_settled
    });
    // Should it fail, the next round goes by the old note, and finds back what is.
    let _ = keep_note(note, &left);
    told_of
}

/// Puts one setting back: how that went, for people, and whether there is nothing left to do.
fn put_back(restore: &Restore) -> (String, bool) {
    if let (Some(now), Some(instead)) = (restore.now(), &restore.instead)
        && now != *instead
    {
        return (format!("left alone, as somebody has set it to {now} since"), true);
    }
    match fs::write(&restore.path, &restore.value) {
        Ok(()) => ("put back".to_owned(), true),
        Err(error) => (format!("cannot be put back: {error}"), false),
    }
}

/// What a note says is changed; nothing where there is none. What it names is written as root: a note that somebody
/// else could have written, or that names anything but a known setting with a plausible value, is refused whole.
fn noted(note: &Path, root: &Path) -> Result<Vec<Restore>, String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("it cannot be read: {error}")),
        Ok(file) => file,
    };
    let about = file.metadata().map_err(|error| error.to_string())?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0;
    if !about.is_file() || !is_own {
        return Err("it must be a file that only this user can write".to_owned());
    }
    let text = paceline_files::take_text(file, NOTE_MAX_BYTES).map_err(|error| error.to_string())?;
    let noted: Vec<Restore> =
        serde_json::from_str(&text).map_err(|error| format!("it is damaged: {error}"))?;
    let known = wanted::all(root);
    let is_known = |restore: &&Restore| {
        known.iter().any(|wanted| wanted.path == restore.path) && is_value(&restore.value)
    };
    match noted.iter().find(|restore| !is_known(restore)) {
        Some(unknown) => Err(format!("it names {:?}, which Paceline does not change", unknown.path)),
        None => Ok(noted),
    }
}

/// Whether a setting could have held this: numbers, or the name of a governor.
fn is_value(text: &str) -> bool {
    text.len() <= VALUE_MAX_BYTES
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'_')
        })
}

fn reported(restore: &Restore) -> String {
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
    let Some(before) = setting(&wanted.path) else {
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
    let after = setting(&wanted.path).unwrap_or_default();
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

/// Notes what is changed, in one step; where nothing is, there is no note.
fn keep_note(path: &Path, changed: &[Restore]) -> io::Result<()> {
    if changed.is_empty() {
        // Gone already is as good.
        let _ = fs::remove_file(path);
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension("new");
    // Left by a process that was killed while it wrote, or put there by somebody else: never written through.
    let _ = fs::remove_file(&unfinished);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&unfinished)?;
    file.write_all(serde_json::to_string(changed)?.as_bytes())?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a known setting below `root`, in a folder that exists.
    fn setting_below(root: &Path, name: &str) -> PathBuf {
        let path = root.join("proc/sys").join(name.replace('.', "/"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Mends by a note of one setting, which holds `now`: what is reported, what it holds then, whether the note is
    /// left.
    fn mended(now: &str, instead: Option<&str>) -> (String, String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("tuned.json");
        let path = setting_below(folder.path(), "net.core.somaxconn");
        fs::write(&path, now).unwrap();
        let left = Restore { path: path.clone(), value: "4096".into(), instead: instead.map(str::to_owned) };
        keep_note(&note, &[left]).unwrap();
        let reported = mend_tuning(&note, folder.path()).concat();
        let reported = reported.rsplit(": ").next().unwrap_or_default().to_owned();
        (reported, fs::read_to_string(&path).unwrap(), note.exists())
    }

    #[test]
    fn what_is_still_as_it_was_set_is_put_back_and_nothing_else() {
        let expect = |reported: &str, now: &str| (reported.to_owned(), now.to_owned(), false);
        assert_eq!(mended("65535\n", Some("65535")), expect("put back", "4096"));
        assert_eq!(mended("65535\n", None), expect("put back", "4096"));
        let left_alone = "left alone, as somebody has set it to 8192 since";
        assert_eq!(mended("8192\n", Some("65535")), expect(left_alone, "8192\n"));
        assert_eq!(mended("4096\n", Some("65535")), expect("", "4096\n"));
    }

    #[test]
    fn what_cannot_be_put_back_stays_noted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (note, path) = (root.join("tuned.json"), setting_below(root, "net.core.somaxconn"));
        fs::write(&path, "65535").unwrap();
        let of = |path: PathBuf| Restore { path, value: "4096".into(), instead: Some("65535".into()) };
        let nowhere = of(root.join("proc/sys/vm/min_free_kbytes"));
        keep_note(&note, &[of(path), nowhere.clone()]).unwrap();
        let reported = mend_tuning(&note, root);
        assert!(
            reported[0].ends_with("put back") && reported[1].contains("cannot be put back"),
            "{reported:?}"
        );
        assert_eq!(noted(&note, root), Ok(vec![nowhere]));
        assert_eq!(mend_tuning(&note, root).len(), 1, "it is told again");
    }

    #[test]
    fn a_note_that_names_anything_but_a_known_setting_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (note, victim) = (root.join("tuned.json"), root.join("victim"));
        let known = setting_below(root, "net.core.somaxconn");
        fs::write(&known, "65535").unwrap();
        fs::write(&victim, "precious").unwrap();
        let restore =
            |path: &Path, value: &str| Restore { path: path.into(), value: value.into(), instead: None };
        let around = root.join("proc/sys/net/core/../../../../victim");
        for unknown in [restore(&victim, "4096"), restore(&around, "4096"), restore(&known, "|/x/evil.sh")] {
            keep_note(&note, &[restore(&known, "4096"), unknown]).unwrap();
            let reported = mend_tuning(&note, root);
            assert!(
                reported.len() == 1 && reported[0].contains("which Paceline does not change"),
                "{reported:?}"
            );
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            assert_eq!(fs::read_to_string(&known).unwrap(), "65535");
        }
    }

    #[test]
    fn a_note_that_others_can_write_or_that_is_a_link_is_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (note, known) = (root.join("tuned.json"), setting_below(root, "net.core.somaxconn"));
        fs::write(&known, "65535").unwrap();
        keep_note(&note, &[Restore { path: known.clone(), value: "4096".into(), instead: None }]).unwrap();
        let linked = root.join("linked.json");
        std::os::unix::fs::symlink(&note, &linked).unwrap();
        assert!(mend_tuning(&linked, root)[0].contains("is ignored"));
        fs::set_permissions(&note, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(mend_tuning(&note, root)[0].contains("only this user can write"));
        assert_eq!(fs::read_to_string(&known).unwrap(), "65535");
    }
}
