//! Tuning: changes settings of the machine for a round, records each with its value before and after, and restores
//! them.
//!
//! A shepherd process, started only for this, restores them: when the lab requests it, or when the lab has ended for
//! any reason. The changes are also noted in a file, so that the next round can restore them even if the shepherd was
//! killed. A round does not need tuning: a setting that cannot be changed is reported and does not stop the round.

mod wanted_settings;

use crate::shepherd::{Restore, Shepherd, ShepherdOrder, put_setting, setting};
use crate::{InheritedVariables, system};
use paceline_record::Tuned;
use rustix::fs::OFlags;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wanted_settings::WantedSetting;
pub use wanted_settings::network_settings;

/// Open files a round may need: the limit of source 002.
const MIN_OPEN_FILES: u64 = 65_535;
/// Time limit for the shepherd's command, which does no work, to end.
const STOP_LIMIT: Duration = Duration::from_secs(1);
/// Largest note that is read: ten times the size of all settings of a machine with 100 governors.
const NOTE_MAX_BYTES: u64 = 256 * 1024;
/// The longest value of a setting: a few numbers.
const VALUE_MAX_BYTES: usize = 64;

/// Settings that are changed until this is dropped.
pub struct Tuning {
    settings: Vec<Tuned>,
    changed: Vec<Restore>,
    /// Changes of an earlier round that could not be restored yet: they stay noted.
    earlier: Vec<Restore>,
    keeper: Option<Shepherd>,
    note: PathBuf,
}

impl Tuning {
    /// Changes the settings below `root` (`/`) that differ from the wanted values, with a shepherd to restore them. The
    /// changes stay noted in `note` until then.
    ///
    /// # Errors
    /// When the changes cannot be noted or the shepherd cannot be started: then no setting is changed.
    pub fn begin(shepherd: &[String], note: &Path, root: &Path) -> io::Result<Self> {
        let looked: Vec<(WantedSetting, CurrentSetting)> = wanted_settings::all(root)
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

    /// Notes the values that the kernel stored after the write: these are the values that a later round may restore.
    fn note_as_it_is(&mut self) {
        for restore in &mut self.changed {
            restore.instead = restore.now().or(restore.instead.take());
        }
        if !self.changed.is_empty() {
            // If this fails, the values that were to be written are already noted.
            let _ = self.keep_note();
        }
    }

    fn keep_note(&self) -> io::Result<()> {
        let all: Vec<Restore> = self.earlier.iter().chain(&self.changed).cloned().collect();
        keep_note(&self.note, &all)
    }

    /// An order for a shepherd with an idle command, which restores the files when it ends.
    fn order(&self) -> ShepherdOrder {
        let command = ["sleep", "infinity"].map(str::to_owned).into();
        ShepherdOrder {
            inherits: InheritedVariables::Running,
            restore: self.changed.clone(),
            restore_note: self.earlier.is_empty().then(|| self.note.clone()),
            // Inside a user namespace, which a subreaper does not make, the machine's settings could not be written.
            ..ShepherdOrder::plain(command, "/".into(), STOP_LIMIT)
        }
    }

    /// Every setting that was checked, with its value before and now.
    pub fn settings(&self) -> &[Tuned] {
        &self.settings
    }

    /// Restores everything, and returns the settings that could not be restored.
    pub fn end(mut self) -> Vec<String> {
        if let Some(keeper) = self.keeper.take() {
            // The result is checked below.
            let _ = keeper.stop();
        }
        self.changed.retain(|restore| !restore.is_done());
        // If the note cannot be written any more, its old content still lists the changes.
        let _ = self.keep_note();
        self.changed.iter().map(reported).collect()
    }
}

/// Restores the changes that a killed shepherd left, as listed in `note`; returns what was restored and what was not. A
/// setting that was changed since by another process is left alone. A setting that could not be restored stays noted.
///
/// Only settings that a tuning below `root` changes are written, and only if this user owns the note and no other user
/// can write to it.
pub fn restore_tuning(note: &Path, root: &Path) -> Vec<String> {
    let noted = match noted(note, root) {
        Ok(noted) => noted,
        Err(problem) => {
            return vec![format!("not restored, because {} cannot be used: {problem}", note.display())];
        }
    };
    let mut left: Vec<Restore> = noted.into_iter().filter(|restore| !restore.is_done()).collect();
    let mut told_of = Vec::new();
    left.retain(|restore| {
        let (how, is_settled) = put_back(restore);
        told_of.push(format!("{}: {how}", reported(restore)));
        !is_settled
    });
    // If this fails, the next round reads the old note, and finds the restored settings unchanged.
    let _ = keep_note(note, &left);
    told_of
}

/// Restores one setting; returns a message about it, and whether it is finished.
fn put_back(restore: &Restore) -> (String, bool) {
    if let (Some(now), Some(instead)) = (restore.now(), &restore.instead)
        && now != *instead
    {
        return (format!("not restored, because another process changed it to {now}"), true);
    }
    match put_setting(&restore.path, &restore.value) {
        Ok(()) => ("restored".to_owned(), true),
        Err(error) => (format!("cannot be restored: {error}"), false),
    }
}

/// The changes listed in a note; empty if there is no note. They are written as root: a note that another user could
/// have written, or that names anything but a known setting with a plausible value, is rejected whole.
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
        return Err("the file belongs to another user, or other users can write to it; run Paceline as the user who started that round".to_owned());
    }
    let text = paceline_files::take_text(file, NOTE_MAX_BYTES).map_err(|error| error.to_string())?;
    let noted: Vec<Restore> =
        serde_json::from_str(&text).map_err(|error| format!("it is damaged: {error}"))?;
    let known = wanted_settings::all(root);
    for restore in &noted {
        if !known.iter().any(|wanted| wanted.path == restore.path && !wanted.is_outside) {
            return Err(format!(
                "the file lists {:?}, a setting that Paceline does not change",
                restore.path
            ));
        }
        if !is_value(&restore.value) {
            return Err(format!("the file has an invalid value for {:?}", restore.path));
        }
    }
    Ok(noted)
}

/// Whether a setting could have this value: numbers, or the name of a governor.
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
struct CurrentSetting {
    before: String,
    /// What to write; `None` if the setting is left alone, with the reason unless it already has the wanted value.
    write: Option<String>,
    why: String,
}

fn look(wanted: &WantedSetting) -> CurrentSetting {
    let left = |before: String, why: &str| CurrentSetting { before, write: None, why: why.to_owned() };
    if wanted.is_outside {
        return left(String::new(), "its file is a symbolic link to a place outside the folder of settings");
    }
    let Some(before) = setting(&wanted.path) else {
        return left(String::new(), "this machine has no such setting");
    };
    match wanted.aim.instead_of(&before) {
        Ok(write) => CurrentSetting { before, write, why: String::new() },
        Err(why) => left(before, why),
    }
}

fn set(wanted: WantedSetting, current: CurrentSetting) -> Tuned {
    let CurrentSetting { before, write, mut why } = current;
    if let Some(value) = write
        && let Err(error) = put_setting(&wanted.path, &value)
    {
        why = format!("cannot be set: {error}");
    }
    // The value as the kernel stored it, which may differ from the value written.
    let after = setting(&wanted.path).filter(|_| !wanted.is_outside).unwrap_or_default();
    Tuned { name: wanted.name, before, after, why }
}

/// The limit of open files applies to this process and its children only: it need not be restored.
fn open_files() -> Tuned {
    let name = "limit of open files".to_owned();
    match system::raise_open_files_to(MIN_OPEN_FILES) {
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

/// Notes the changes, in one step; without a change there is no note.
fn keep_note(path: &Path, changed: &[Restore]) -> io::Result<()> {
    if changed.is_empty() {
        // It may already be removed.
        let _ = fs::remove_file(path);
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension("new");
    // Left by a process that was killed while it wrote, or created by another user: never written through.
    let _ = fs::remove_file(&unfinished);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&unfinished)?;
    file.write_all(serde_json::to_string(changed)?.as_bytes())?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of a known setting below `root`, in an existing folder.
    fn setting_below(root: &Path, name: &str) -> PathBuf {
        let path = root.join("proc/sys").join(name.replace('.', "/"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Restores from a note of one setting, which holds `now`; returns the report, the value after it, and whether the
    /// note is left.
    fn mended(now: &str, instead: Option<&str>) -> (String, String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("tuned.json");
        let path = setting_below(folder.path(), "net.core.somaxconn");
        fs::write(&path, now).unwrap();
        let left = Restore { path: path.clone(), value: "4096".into(), instead: instead.map(str::to_owned) };
        keep_note(&note, &[left]).unwrap();
        let reported = restore_tuning(&note, folder.path()).concat();
        let reported = reported.rsplit(": ").next().unwrap_or_default().to_owned();
        (reported, fs::read_to_string(&path).unwrap(), note.exists())
    }

    #[test]
    fn only_unchanged_settings_are_restored() {
        let expect = |reported: &str, now: &str| (reported.to_owned(), now.to_owned(), false);
        assert_eq!(mended("65535\n", Some("65535")), expect("restored", "4096"));
        assert_eq!(mended("65535\n", None), expect("restored", "4096"));
        let left_alone = "not restored, because another process changed it to 8192";
        assert_eq!(mended("8192\n", Some("65535")), expect(left_alone, "8192\n"));
        assert_eq!(mended("4096\n", Some("65535")), expect("", "4096\n"));
    }

    #[test]
    fn settings_that_cannot_be_restored_stay_noted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (note, path) = (root.join("tuned.json"), setting_below(root, "net.core.somaxconn"));
        fs::write(&path, "65535").unwrap();
        let of = |path: PathBuf| Restore { path, value: "4096".into(), instead: Some("65535".into()) };
        let nowhere = of(root.join("proc/sys/vm/min_free_kbytes"));
        keep_note(&note, &[of(path), nowhere.clone()]).unwrap();
        let reported = restore_tuning(&note, root);
        assert!(
            reported[0].ends_with("restored") && reported[1].contains("cannot be restored"),
            "{reported:?}"
        );
        assert_eq!(noted(&note, root), Ok(vec![nowhere]));
        assert_eq!(restore_tuning(&note, root).len(), 1, "it is reported again");
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
        for (unknown, why) in [
            (restore(&victim, "4096"), "that Paceline does not change"),
            (restore(&around, "4096"), "that Paceline does not change"),
            (restore(&known, "|/x/evil.sh"), "the file has an invalid value for"),
        ] {
            keep_note(&note, &[restore(&known, "4096"), unknown]).unwrap();
            let reported = restore_tuning(&note, root);
            assert!(reported.len() == 1 && reported[0].contains(why), "{reported:?}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            assert_eq!(fs::read_to_string(&known).unwrap(), "65535");
        }
    }

    #[test]
    fn a_setting_that_links_outside_is_not_read_or_written() {
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("victim");
        fs::write(&victim, "12").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // The file itself, and a folder above it.
        let file = setting_below(root, "fs.file-max");
        std::os::unix::fs::symlink(&victim, &file).unwrap();
        fs::create_dir_all(root.join("proc/sys/net")).unwrap();
        fs::write(outside.path().join("somaxconn"), "12").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("proc/sys/net/core")).unwrap();
        let note = root.join("tuned.json");
        let tuning = Tuning::begin(&[], &note, root).unwrap();
        for name in ["fs.file-max", "net.core.somaxconn"] {
            let setting = tuning.settings().iter().find(|setting| setting.name == name).unwrap();
            assert_eq!((setting.before.as_str(), setting.after.as_str()), ("", ""), "{name}");
            assert!(setting.why.contains("outside"), "{}", setting.why);
        }
        assert!(tuning.end().is_empty());
        keep_note(&note, &[Restore { path: victim.clone(), value: "13".into(), instead: None }]).unwrap();
        assert!(restore_tuning(&note, root)[0].contains("does not change"));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "12");
        assert_eq!(fs::read_to_string(outside.path().join("somaxconn")).unwrap(), "12");
    }

    #[test]
    fn a_link_to_another_setting_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let policy = root.join("sys/devices/system/cpu/cpufreq/policy0");
        fs::create_dir_all(&policy).unwrap();
        fs::write(policy.join("scaling_governor"), "powersave").unwrap();
        fs::create_dir_all(root.join("sys/devices/system/cpu/cpu0")).unwrap();
        std::os::unix::fs::symlink("../cpufreq/policy0", root.join("sys/devices/system/cpu/cpu0/cpufreq"))
            .unwrap();
        let wanted = wanted_settings::all(root);
        let governor = wanted.last().unwrap();
        assert!(!governor.is_outside);
        let after = set(governor.clone(), look(governor)).after;
        assert_eq!(after, "performance");
        assert_eq!(fs::read_to_string(policy.join("scaling_governor")).unwrap(), "performance");
    }

    #[test]
    fn a_note_that_is_a_link_or_writable_by_others_is_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let (note, known) = (root.join("tuned.json"), setting_below(root, "net.core.somaxconn"));
        fs::write(&known, "65535").unwrap();
        keep_note(&note, &[Restore { path: known.clone(), value: "4096".into(), instead: None }]).unwrap();
        let linked = root.join("linked.json");
        std::os::unix::fs::symlink(&note, &linked).unwrap();
        assert!(restore_tuning(&linked, root)[0].contains("cannot be used"));
        fs::set_permissions(&note, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(
            restore_tuning(&note, root)[0]
                .contains("belongs to another user, or other users can write to it")
        );
        assert_eq!(fs::read_to_string(&known).unwrap(), "65535");
    }
}
