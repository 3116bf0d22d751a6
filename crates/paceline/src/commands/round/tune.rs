//! `--tune`: sets the machine up for load while a round runs, and restores it afterwards.
//!
//! Begun by `open.rs`, ended by `mod.rs`. Settings that a killed round left changed are restored first, even without
//! `--tune`; on a machine shared with another round neither is done. The lab has the settings and the process that
//! restores them in any case.

use super::flags::Carrying;
use super::progress::Progress;
use crate::places::shepherd_command;
use anyhow::Context as _;
use paceline_catalogue::Catalogue;
use paceline_host::{Tuning, mend_tuning};
use paceline_record::Tuned;
use std::path::{Path, PathBuf};

/// Begins tuning, if it is requested and no other round uses the machine; messages go to `notes`.
pub fn begin(
    carrying: &Carrying,
    catalogue: &Catalogue,
    shares_with: Option<&str>,
    notes: &mut Vec<String>,
) -> anyhow::Result<Option<Tuning>> {
    let note = note(catalogue);
    let is_machine = carrying.tune_root == Path::new("/");
    // Settings that another round changed are still in use.
    if shares_with.is_none() || !is_machine {
        notes.extend(
            mend_tuning(&note, &carrying.tune_root)
                .into_iter()
                .map(|left| format!("left by a round that was killed: {left}")),
        );
    }
    if !carrying.tune {
        return Ok(None);
    }
    if let Some(other) = shares_with.filter(|_| is_machine) {
        notes.push(format!("--tune changes nothing: another round runs on this machine: {other}"));
        return Ok(None);
    }
    let tuning = Tuning::begin(&shepherd_command()?, &note, &carrying.tune_root)
        .with_context(|| format!("--tune: cannot ensure that settings are restored ({})", note.display()))?;
    let changed: Vec<String> = tuning.settings().iter().filter_map(Tuned::changed).collect();
    let none = "no setting needed a change or could be changed".to_owned();
    let changed = if changed.is_empty() { none } else { changed.join("; ") };
    notes.push(format!("set for this round: {changed}"));
    notes.extend(Tuned::amiss(tuning.settings()).into_iter().map(|amiss| format!("not set: {amiss}")));
    Ok(Some(tuning))
}

/// Restores all settings.
pub fn end(tuning: Option<Tuning>, progress: &mut Progress) {
    for left in tuning.map(Tuning::end).unwrap_or_default() {
        progress.note(&format!("could not be restored: {left}"));
    }
}

fn note(catalogue: &Catalogue) -> PathBuf {
    catalogue.places.state_dir.join("tuned.json")
}
