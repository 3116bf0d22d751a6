//! One launch's turn in a round: start, validate, each cell in turn, stop.
//!
//! A server that dies under one cell is started anew for the cells after it: they are not to pay for it.

use super::{Carried, Event};
use crate::generator::Following;
use crate::launch::{Launch, LaunchOf, Spoiled};
use crate::pin::{CoresWanted, stay_beside_generator};
use crate::trial::{self, Place};
use crate::{Cell, LabError, PlannedLaunch, Validated, Variables, Workload, validate};
use paceline_record::{Blame, Fault, Pinning, Server, Severity, Stage, Trial, Verdict};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A launch as it is carried out.
struct Turn<'a> {
    planned: &'a PlannedLaunch,
    id: String,
    server: &'a Server,
    pinning: &'a Pinning,
}

impl Carried<'_> {
    /// Carries a launch out; every one of its cells ends as a kept trial.
    pub(super) fn launch(&mut self, mut planned: PlannedLaunch) -> Result<(), LabError> {
        let pinning = self.bench.cores.split(CoresWanted::of_form(&planned.form));
        while !planned.cells.is_empty() {
            self.outlook.launch_begins();
            (self.listener)(Event::Launching { launch: &planned, outlook: &self.outlook });
            let built = self.servers.get(&planned.server.id).cloned();
            let server = match built {
                Some(Ok(server)) => server,
                Some(Err((fault, tail))) => return self.all_failed(&planned, &pinning, &fault, &tail),
                None => planned.server.record(String::new()),
            };
            let id = (self.bench.new_id)();
            let done = self.turn(&Turn { planned: &planned, id, server: &server, pinning: &pinning })?;
            planned.cells.drain(..done.min(planned.cells.len()));
        }
        Ok(())
    }

    /// One start of the server. How many of the cells have been dealt with.
    fn turn(&mut self, turn: &Turn<'_>) -> Result<usize, LabError> {
        let launch = match self.start(turn) {
            Ok(launch) => launch,
            Err(Spoiled::Interrupted) => return Err(LabError::Interrupted),
            Err(Spoiled::Fault { fault, log_tail }) => {
                for cell in &turn.planned.cells {
                    let trial = trial::failed(self.begin(turn, cell), fault.clone(), log_tail.clone());
                    self.keep(&trial)?;
                }
                return Ok(turn.planned.cells.len());
            }
        };
        let folder = self.bench.scratch.join(&turn.id);
        let made = fs::create_dir_all(&folder).map_err(|source| LabError::File {
            action: "make",
            path: folder.clone(),
            source,
        });
        let done = made.and_then(|()| self.cells(turn, launch, &folder));
        // Whatever is left there is of no use to anybody.
        let _ = fs::remove_dir_all(&folder);
        done
    }

    fn start(&self, turn: &Turn<'_>) -> Result<Launch, Spoiled> {
        let cell = turn
            .planned
            .cells
            .first()
            .ok_or_else(|| Spoiled::fault(Stage::Start, "a launch without cells", false))?;
        stay_beside_generator(turn.pinning)
            .map_err(|error| Spoiled::fault(Stage::Start, format!("cannot pin the lab: {error}"), false))?;
        let cores = turn.pinning.server.len() as u32;
        let variables = self.bench.workshop.variables(&turn.planned.server, 0, cores);
        self.bench.starter.launch(&LaunchOf {
            id: &turn.id,
            server: &turn.planned.server,
            form: &turn.planned.form,
            variables: Variables { port: None, ..variables },
            cores: &turn.pinning.server,
            ready: &cell.case,
        })
    }

    /// Validates, then loads cell after cell. Stops at a server that has died.
    fn cells(&mut self, turn: &Turn<'_>, mut launch: Launch, folder: &Path) -> Result<usize, LabError> {
        let interrupt = self.bench.starter.interrupt;
        let workloads = self.workloads_of(&turn.planned.cells);
        let validated: Validated =
            validate(launch.address, &workloads, turn.planned.server.traits, interrupt)
                .map_err(|_| LabError::Interrupted)?;
        let starter = self.bench.starter;
        let following = Following {
            shepherd: &starter.shepherd,
            cores: &turn.pinning.generator,
            folder,
            bodies: &self.bench.bodies,
            interrupt,
        };
        for (index, cell) in turn.planned.cells.iter().enumerate() {
            if launch.ended().is_some() {
                return self.died(turn, index, &mut launch);
            }
            let begun = self.begin(turn, cell);
            self.outlook.trial_begins();
            (self.listener)(Event::Loading { trial: &begun, outlook: &self.outlook });
            let generator = self.bench.generator;
            let seed = self.sitting.seed;
            let trial = trial::measure(begun, cell, seed, &mut launch, &validated, generator, &following)
                .map(|trial| trial::with_environment(trial, self.bench.environment))
                .map(|trial| self.beside_another(trial))
                .ok_or(LabError::Interrupted)?;
            self.keep(&trial)?;
        }
        // Gone or not, the trials are kept; what cannot be killed is the next launch's to notice.
        let _ = launch.stop();
        Ok(turn.planned.cells.len())
    }

    /// Notes in a trial that it was not alone on the machine.
    fn beside_another(&self, mut trial: Trial) -> Trial {
        if let Some(other) = self.bench.shares_with {
            trial.verdicts.push(
                Verdict::new("shared_machine", Blame::User, Severity::Caution)
                    .with("other", other.into())
                    .remedy("another round ran on the machine: measure again without it"),
            );
        }
        trial
    }

    /// A server that died between two cells: under the one before, which has its record, or by itself, which has not.
    fn died(&mut self, turn: &Turn<'_>, index: usize, launch: &mut Launch) -> Result<usize, LabError> {
        if index > 0 {
            return Ok(index);
        }
        let message = "the server ended by itself after it had been validated".to_owned();
        let fault = Fault { stage: Stage::Validate, message, transient: false };
        for cell in &turn.planned.cells {
            let trial = trial::failed(self.begin(turn, cell), fault.clone(), launch.log_tail());
            self.keep(&trial)?;
        }
        Ok(turn.planned.cells.len())
    }

    fn workloads_of(&self, cells: &[Cell]) -> Vec<Arc<Workload>> {
        let needed = |workload: &&Arc<Workload>| cells.iter().any(|cell| cell.case.workload == workload.name);
        self.bench.workloads.iter().filter(needed).cloned().collect()
    }

    fn begin(&mut self, turn: &Turn<'_>, cell: &Cell) -> Trial {
        let place = Place {
            round: self.sitting.round,
            sitting: self.sitting.sitting,
            launch: &turn.id,
            block: turn.planned.block,
            server: turn.server,
            pinning: turn.pinning,
        };
        let order = self.order;
        self.order += 1;
        trial::begin(&place, cell, (self.bench.new_id)(), order, (self.bench.now)())
    }

    /// A server that could not be built: all its cells are records of that.
    fn all_failed(
        &mut self,
        planned: &PlannedLaunch,
        pinning: &Pinning,
        fault: &Fault,
        log_tail: &str,
    ) -> Result<(), LabError> {
        let server = planned.server.record(String::new());
        let turn = Turn { planned, id: (self.bench.new_id)(), server: &server, pinning };
        for cell in &planned.cells {
            let trial = trial::failed(self.begin(&turn, cell), fault.clone(), log_tail.to_owned());
            self.keep(&trial)?;
        }
        Ok(())
    }
}
