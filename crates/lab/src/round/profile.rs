//! `round --profile`: after all trials, each server once more under one closed load with a profiler.
//!
//! These launches are no trials: nothing of them is stored, and what fails in them is reported and changes no result. The
//! load is the first closed one of the round that is not behind a balancer, so that all servers which have it are
//! profiled under the same.

use super::round_launch::{RoundLaunch, follow_options};
use super::{RoundEvent, RunningRound};
use crate::deployment::Deployment;
use crate::generator::{Assignment, follow, profiler};
use crate::launch::LaunchError;
use crate::trial;
use paceline_catalogue::{Cell, PlannedLaunch};
use paceline_record::{LoopKind, Run, Stage};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The longest profiled window, with the time that a profiler takes to write its data.
const PROFILE_LIMIT: Duration = Duration::from_secs(60);

/// The launches to profile: the first of each server with a closed load, and of it one cell.
pub(super) fn profiled_launches(launches: &[PlannedLaunch]) -> Vec<PlannedLaunch> {
    let all = || launches.iter().flat_map(|launch| launch.cells.iter().map(move |cell| (launch, cell)));
    let closed = || all().filter(|(_, cell)| is_plain_closed(cell));
    let place = |cell: &Cell| (cell.case.address.clone(), cell.load.name.clone());
    let first = closed().next().map(|(_, cell)| place(cell));
    // Those with the first load come first.
    let (preferred, others): (Vec<_>, Vec<_>) = closed().partition(|(_, cell)| Some(place(cell)) == first);
    let mut seen = BTreeSet::new();
    let chosen = preferred.into_iter().chain(others).filter(|(launch, _)| seen.insert(&launch.server.id));
    let only = |(launch, cell): (&PlannedLaunch, &Cell)| {
        let server = Arc::new(launch.server.profiled());
        let cell = Cell { server: Arc::clone(&server), ..cell.clone() };
        PlannedLaunch { server, cells: vec![cell], ..launch.clone() }
    };
    chosen.map(only).collect()
}

/// Whether a cell is a closed loop of Paceline's own generator on one process.
fn is_plain_closed(cell: &Cell) -> bool {
    let load = &cell.load;
    load.work.kind() == LoopKind::Closed
        && load.tool.is_none()
        && load.balanced.is_none()
        && load.variant.is_none()
}

impl RunningRound<'_> {
    /// Profiles each server, until Ctrl-C, after which the results of the round are as complete as before.
    pub(super) fn profile(&mut self, launches: &[PlannedLaunch]) {
        for launch in profiled_launches(launches) {
            (self.listener)(RoundEvent::Profiling { launch: &launch });
            let result = match self.profiled(&launch) {
                Err(LaunchError::Interrupted) => return,
                Err(LaunchError::Fault { fault, .. }) => Err(fault.message),
                Ok(run) => Ok(run),
            };
            let run = result.as_ref().map_err(String::as_str);
            (self.listener)(RoundEvent::Profiled { launch: &launch, run });
        }
    }

    fn profiled(&mut self, planned: &PlannedLaunch) -> Result<Run, LaunchError> {
        let context = self.context;
        if context.fleet.is_some() {
            let message = "servers on other machines are not profiled";
            return Err(LaunchError::fault(Stage::Start, message, false));
        }
        context.provisioner.build(&planned.server, false)?;
        let pinning = self.pinning(planned, None);
        let server = planned.server.record(String::new());
        let launch = RoundLaunch::new(context, planned, &server, &pinning, None);
        self.in_folder(&launch, |round, folder| round.profiled_in(&launch, folder))
    }

    fn profiled_in(&mut self, launch: &RoundLaunch<'_>, folder: &Path) -> Result<Run, LaunchError> {
        let _network = self.context.provisioner.enter_network(&launch.planned.server)?;
        let mut deployment = self.start(launch, folder)?;
        let run = self
            .warm_up(launch, &mut deployment, folder)
            .and_then(|()| self.load_profiled(launch, &mut deployment, folder));
        // The next launch will notice a process that cannot be killed.
        let _ = deployment.stop();
        run
    }

    fn load_profiled(
        &mut self,
        launch: &RoundLaunch<'_>,
        deployment: &mut Deployment,
        folder: &Path,
    ) -> Result<Run, LaunchError> {
        let cell = launch.planned.cells.first();
        let cell =
            cell.ok_or_else(|| LaunchError::fault(Stage::Load, "there is no load to profile", false))?;
        let answers = self.validated(launch, deployment)?.direct;
        let begun = self.begin(launch, cell);
        let options = follow_options(self.context, launch, folder);
        let generator = profiler(self.context.own_generator, &folder.join("flame.svg"));
        let seed = self.sitting.seed;
        let of_trial = trial::job(&begun, cell, seed, deployment, &answers, &generator, &options)?;
        let limit = of_trial.limit.saturating_add(PROFILE_LIMIT);
        let observed = follow(&generator, &Assignment { limit, ..of_trial }, deployment, &options)?;
        Ok(observed.measured.run)
    }
}
