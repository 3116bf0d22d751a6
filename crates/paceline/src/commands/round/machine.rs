//! The machine of a round: locks against other processes and rounds, and `--tune` and `--quiet-cpu`, which set the
//! machine up for load while a round runs; afterwards it is restored.
//!
//! Two processes on one round would each measure all remaining trials; two rounds on one machine would disturb each
//! other. Settings that a killed round left changed are restored first, even without `--tune`; on a machine shared with
//! another round neither is done. The host crate has the settings and the process that restores them in any case.

use super::flags::ResumeFlags;
use super::progress::RoundProgress;
use crate::exit::Complaint;
use crate::lab_folders::shepherd_command;
use crate::store_location;
use anyhow::Context as _;
use paceline_catalogue::Catalogue;
use paceline_host::{FileLock, Id, JoinResult, LockAttempt, Neighbours, QuietCpu, Tuning, restore_tuning};
use paceline_record::Tuned;
use paceline_store::Store;
use std::path::{Path, PathBuf};

/// Locks a round, so that no second process resumes it. The lock is beside the store or in its database server, which
/// every process with access to the round shares, wherever its state folder is.
pub fn lock_round(id: &Id, store: &Store) -> anyhow::Result<Option<FileLock>> {
    store.lock_round(id.as_str()).map_err(store_location::complain)?;
    let Some(file) = store.file() else { return Ok(None) };
    let folder = file.with_file_name("locks");
    let attempt = FileLock::try_take(&folder, id, &format!("round {id}"));
    match attempt.with_context(|| format!("cannot lock {id}.lock in {}", folder.display()))? {
        LockAttempt::Taken(lock) => Ok(Some(lock)),
        LockAttempt::HeldBy(holder) => {
            let process = holder.split(" (").next().unwrap_or(&holder);
            let what = format!("round {id} is being run by {process}");
            Err(Complaint::environment(what).hint("wait for that round to end, or interrupt it").into())
        }
    }
}

/// This round's registration on the machine, and the rounds that already run there. If there are any, this is an error
/// unless the machine may be shared. If other rounds cannot be detected, `notes` says so.
pub fn join_machine(
    id: &Id,
    share: bool,
    notes: &mut Vec<String>,
) -> anyhow::Result<(Option<Neighbours>, Option<String>)> {
    match Neighbours::join(id, share) {
        Ok(JoinResult::Placed(neighbours, others)) => {
            Ok((Some(neighbours), (!others.is_empty()).then(|| others.join(", "))))
        }
        Ok(JoinResult::Occupied(others)) => {
            Err(Complaint::environment(format!("another round runs on this machine: {}", others.join(", ")))
                .hint("two rounds at the same time disturb each other: wait for the other round to end, or continue with --share-machine")
                .into())
        }
        Err(error) => {
            notes.push(format!("cannot determine whether another round runs on this machine: {error}"));
            Ok((None, None))
        }
    }
}

/// Settings of the machine that apply until the round ends.
#[derive(Default)]
pub struct MachineSettings {
    tuning: Option<Tuning>,
    quiet_cpu: Option<QuietCpu>,
    /// Each with its value before and now, for the record; empty if none was requested.
    pub settings: Vec<Tuned>,
}

/// Sets what `--tune` and `--quiet-cpu` request; messages go to `notes`. While another round uses the machine, `--tune`
/// changes nothing.
pub fn hold_settings(
    resume_flags: &ResumeFlags,
    catalogue: &Catalogue,
    shares_with: Option<&str>,
    notes: &mut Vec<String>,
) -> anyhow::Result<MachineSettings> {
    let note = note(catalogue);
    let shares_with = shares_with.filter(|_| resume_flags.tune_root == Path::new("/"));
    // Settings that another round changed are still in use.
    if shares_with.is_none() {
        notes.extend(
            restore_tuning(&note, &resume_flags.tune_root).into_iter().map(|left| {
                format!("machine settings that a killed round changed and did not restore: {left}")
            }),
        );
    }
    let mut held = MachineSettings::default();
    match shares_with {
        _ if !resume_flags.tune => {}
        Some(other) => {
            notes.push(format!(
                "--tune changed no settings, because another round is running on this machine: {other}"
            ));
        }
        None => {
            let tuning =
                Tuning::begin(&shepherd_command()?, &note, &resume_flags.tune_root).with_context(|| {
                    format!("--tune: nothing was changed, because restoring the settings afterwards cannot be guaranteed (their old values are kept in {})", note.display())
                })?;
            held.settings.extend_from_slice(tuning.settings());
            held.tuning = Some(tuning);
        }
    }
    if resume_flags.quiet_cpu || held.tuning.is_some() {
        let quiet_cpu = QuietCpu::hold(&resume_flags.tune_root);
        held.settings.push(QuietCpu::setting(&quiet_cpu));
        held.quiet_cpu = quiet_cpu.ok();
    }
    if held.settings.is_empty() {
        return Ok(held);
    }
    let changed: Vec<String> = held.settings.iter().filter_map(Tuned::changed).collect();
    let none = "none (each setting was already right, or could not be changed)".to_owned();
    let changed = if changed.is_empty() { none } else { changed.join("; ") };
    notes.push(format!("machine settings changed for this round: {changed}"));
    notes.extend(
        Tuned::amiss(&held.settings)
            .into_iter()
            .map(|amiss| format!("could not change a machine setting: {amiss}")),
    );
    Ok(held)
}

/// Restores all settings.
pub fn restore_settings(settings: MachineSettings, progress: &mut RoundProgress) {
    drop(settings.quiet_cpu);
    for left in settings.tuning.map(Tuning::end).unwrap_or_default() {
        progress.note(&format!("machine setting could not be restored: {left}"));
    }
}

fn note(catalogue: &Catalogue) -> PathBuf {
    catalogue.folders.state_dir.join("tuned.json")
}
