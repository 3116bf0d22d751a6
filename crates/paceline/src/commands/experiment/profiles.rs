//! `--profile` of `compare` and `gate`: the same load on each side once more with a profile, and a differential flame
//! graph of the two. The record of a run as a side has its profile already.

use super::child::{LoadFlags, MAX_RECORD_BYTES};
use super::{ExperimentContext, ExperimentTarget, complaint};
use crate::exit::{self, Complaint};
use paceline_experiment::LoadRequest;
use paceline_record::Run;
use paceline_report::flame_difference;
use std::path::Path;

/// Functions in the list of changes.
const FUNCTIONS: usize = 8;

/// Where the profile of a side comes from.
#[derive(Clone, Copy)]
pub(super) enum ProfileSource<'a> {
    /// The file of a run's record.
    Record(&'a str),
    /// A URL or a server of the lab.
    Target(&'a str),
}

/// Profiles both sides and writes the picture. The comparison is the same without it.
pub(super) fn draw_difference(
    sides: [ProfileSource<'_>; 2],
    request: &LoadRequest,
    load: &LoadFlags,
    picture: &Path,
) {
    match difference(sides, request, load, picture) {
        Ok(changes) => {
            exit::say(&format!("differential flame graph: {}", picture.display()));
            changes.iter().for_each(|line| exit::say(line));
        }
        Err(error) => exit::say(&format!("no differential flame graph: {}", exit::failure_text(&error))),
    }
}

fn difference(
    sides: [ProfileSource<'_>; 2],
    request: &LoadRequest,
    load: &LoadFlags,
    picture: &Path,
) -> anyhow::Result<Vec<String>> {
    let context = ExperimentContext::new(load.clone())?;
    let first = profiled(sides[0], request, &context, "profile-a-")?;
    let second = profiled(sides[1], request, &context, "profile-b-")?;
    let Some((drawn, changes)) = flame_difference(sides.map(ProfileSource::name), [&first, &second]) else {
        return Err(Complaint::environment("a profile is missing").into());
    };
    crate::file::write_whole(picture, drawn.as_str().as_bytes())?;
    Ok(changes.iter().take(FUNCTIONS).map(|change| format!("  {}", change.sentence())).collect())
}

impl<'a> ProfileSource<'a> {
    fn name(self) -> &'a str {
        let (Self::Record(name) | Self::Target(name)) = self;
        name
    }
}

/// The record of a side with its profile.
fn profiled(
    side: ProfileSource<'_>,
    request: &LoadRequest,
    context: &ExperimentContext,
    prefix: &str,
) -> anyhow::Result<Run> {
    let run = match side {
        ProfileSource::Record(file) => recorded(file)?,
        ProfileSource::Target(target) => {
            let mut open = context.open(&ExperimentTarget::from_text(target), prefix).map_err(complaint)?;
            open.warm(context.flags.warm_limit()).map_err(complaint)?;
            let flame_graph = context.records.join(format!("{prefix}flame.svg"));
            let profile = format!("--profile={}", flame_graph.display());
            open.load.record(request, &[profile]).map_err(complaint)?.0
        }
    };
    with_profile(run, side.name())
}

/// A record that has a profile.
pub(super) fn with_profile(run: Run, side: &str) -> anyhow::Result<Run> {
    match (&run.profile, &run.profile_failure) {
        (Some(_), _) => Ok(run),
        (None, Some(failure)) => Err(Complaint::environment(format!("{side}: {failure}")).into()),
        (None, None) => Err(Complaint::usage(format!("{side} has no profile"))
            .hint("measure it with `paceline run URL --profile -o FILE.json`")
            .into()),
    }
}

fn recorded(file: &str) -> anyhow::Result<Run> {
    let text = paceline_files::read_text(Path::new(file), MAX_RECORD_BYTES)
        .map_err(|error| Complaint::usage(format!("cannot read {file}: {error}")))?;
    paceline_record::read_run(&text).map_err(|error| {
        Complaint::usage(format!("{file} is not a run's record: {error}"))
            .hint("use a file that was written by `paceline run URL --profile -o FILE.json`")
            .into()
    })
}
