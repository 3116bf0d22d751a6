//! Checks a server's recovery after its database has ended under load: the database is started again, and a request
//! sent to the server.
//!
//! One request at a time, until a valid answer or the limit. The launch is not used for further loads.

use crate::audit;
use crate::deployment::Deployment;
use crate::launch::LaunchError;
use crate::probe::{self, ProbeDeadline};
use crate::validate::{difference, request_for};
use paceline_catalogue::Cell;
use paceline_host::Interrupt;
use paceline_record::{DatabaseRecovery, Fault, Trial};
use paceline_stats::counted;
use std::time::{Duration, Instant};

/// How long the server may take to answer again: longer than most pools wait before they try a connection again.
const RECOVERY_LIMIT: Duration = Duration::from_secs(15);
/// How often a request is sent.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Adds to a trial and its fault the server's behaviour once the database was running again; nothing on Ctrl-C. A trial
/// whose database did not end is unchanged.
pub(crate) fn after_database_end(
    mut trial: Trial,
    mut fault: Fault,
    cell: &Cell,
    launch: &mut Deployment,
    interrupt: Interrupt,
) -> Option<(Trial, Fault)> {
    match launch.restart_database() {
        Ok(false) => return Some((trial, fault)),
        Err(LaunchError::Interrupted) => return None,
        Err(LaunchError::Fault { fault: again, .. }) => {
            fault.message.push_str(&format!("; the database did not start again: {}", again.message));
            return Some((trial, fault));
        }
        Ok(true) => {}
    }
    let recovery = ask_until_valid(cell, launch, interrupt);
    launch.give_up_database();
    let recovery = recovery?;
    fault.message.push_str(&sentence(&recovery));
    trial.database = launch.database().map(|database| audit::without_counts(cell, database, recovery));
    Some((trial, fault))
}

fn ask_until_valid(cell: &Cell, launch: &Deployment, interrupt: Interrupt) -> Option<DatabaseRecovery> {
    let begun = Instant::now();
    let mut recovery = DatabaseRecovery::default();
    let Some(address) = launch.address() else { return Some(recovery) };
    let deadline = ProbeDeadline::after(RECOVERY_LIMIT, interrupt);
    while deadline.check().is_ok() {
        let wrong = match probe::ask(address, request_for(&cell.case), deadline) {
            Ok(answer) => difference(&cell.case.expect, &answer),
            Err(error) => Some(error.to_string()),
        };
        let Some(wrong) = wrong else {
            recovery.answered_after_s = Some(begun.elapsed().as_secs_f64());
            break;
        };
        recovery.failed += 1;
        recovery.last_failure = wrong;
        std::thread::sleep(ASK_EVERY);
    }
    (!interrupt.requested()).then_some(recovery)
}

fn sentence(recovery: &DatabaseRecovery) -> String {
    let DatabaseRecovery { answered_after_s, failed, last_failure } = recovery;
    match (answered_after_s, failed) {
        (Some(after_s), 0) => {
            format!("; after a restart of the database, the server used it again at once ({after_s:.1} s)")
        }
        (Some(after_s), failed) => {
            format!(
                "; after a restart of the database, the server used it again after {after_s:.1} s and {}",
                counted(*failed, "failed request", "failed requests")
            )
        }
        (None, failed) => format!(
            "; after a restart of the database, the server did not use it again within {} s ({}; the last: \
             {last_failure})",
            RECOVERY_LIMIT.as_secs(),
            counted(*failed, "failed request", "failed requests")
        ),
    }
}
