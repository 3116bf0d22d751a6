//! `--profile`: after the decision, base and candidate once more under the first load, each in a separate launch with a
//! profile, so that no measured number contains it.
//!
//! Profiles that fail change neither the result nor the exit status.

use super::bench::Bench;
use super::settings::Settings;
use crate::commands::experiment::complaint;
use crate::commands::experiment::gate_output::GateOutput;
use crate::commands::experiment::profiles::with_profile;
use crate::commands::run::explain_profiler;
use crate::exit::{self, Complaint};
use paceline_experiment::RegressionProfile;
use std::path::{Path, PathBuf};

/// The names of base and candidate in files, which are also their places in a block.
const SIDES: [&str; 2] = ["base", "candidate"];

/// The folder for the flame graphs, which exists; none if no profile is wanted.
pub fn folder(settings: &Settings, output: &GateOutput, records: &Path) -> anyhow::Result<Option<PathBuf>> {
    if settings.profile.is_none() {
        return Ok(None);
    }
    let folder = chosen_folder(settings, output).unwrap_or(records);
    std::fs::create_dir_all(folder)
        .map_err(|error| Complaint::environment(format!("cannot make {}: {error}", folder.display())))?;
    Ok(Some(folder.to_owned()))
}

/// The flame graphs, if they are not in the folder of records.
pub fn pictures(settings: &Settings, output: &GateOutput) -> Vec<PathBuf> {
    chosen_folder(settings, output).map(pictures_in).into_iter().flatten().collect()
}

fn chosen_folder<'a>(settings: &'a Settings, output: &'a GateOutput) -> Option<&'a Path> {
    let given = settings.profile.as_ref()?;
    given.as_deref().or_else(|| output.page_folder())
}

/// The flame graphs of base and candidate, and that of their difference.
fn pictures_in(folder: &Path) -> [PathBuf; 3] {
    [SIDES[0], SIDES[1], "difference"].map(|name| folder.join(format!("{name}.svg")))
}

/// Profiles base and candidate, and writes the flame graph of each and their difference.
pub fn both_sides(bench: &Bench<'_>, names: [&str; 2], folder: &Path) -> RegressionProfile {
    let load = bench.profiled_load();
    profiled(bench, load, names, folder)
        .unwrap_or_else(|error| RegressionProfile::failed(load, exit::failure_text(&error)))
}

fn profiled(
    bench: &Bench<'_>,
    load: &str,
    names: [&str; 2],
    folder: &Path,
) -> anyhow::Result<RegressionProfile> {
    paceline_profile::perf_version().map_err(explain_profiler)?;
    let pictures = pictures_in(folder);
    let record = |side: usize| {
        exit::say(&format!("profile of the {} in a separate launch", SIDES[side]));
        with_profile(bench.profiled(side, &pictures[side]).map_err(complaint)?, SIDES[side])
    };
    let [base, candidate] = [record(0)?, record(1)?];
    let profile = RegressionProfile::of_runs(load, names, [&base, &candidate]);
    let mut profile = profile.ok_or_else(|| Complaint::environment("a profile is missing"))?;
    if let Some(picture) = &profile.difference {
        crate::file::write_whole(&pictures[SIDES.len()], picture.as_str().as_bytes())?;
    }
    profile.flame_graphs = pictures.iter().map(|file| file.display().to_string()).collect();
    Ok(profile)
}
