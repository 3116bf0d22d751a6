//! Compares a database's counters over a run with the expected work, and checks whether answered updates are stored.
//!
//! Read before and after a run, when no request is in flight: the counters are exact then, warm-up included. The judge
//! interprets a difference.

use crate::database::{RunningDatabase, returned};
use crate::generator::ObservedRun;
use crate::launch::LaunchError;
use crate::probe::engine::EngineProbe;
use crate::probe::{ProbeDeadline, ask};
use crate::validate::{CheckClient, Rules, answers, own_answers, request_for, same};
use paceline_catalogue::{Cell, Workload, WorkloadCase};
use paceline_host::Interrupt;
use paceline_record::{Check, DatabaseCounts, DatabaseRecovery, DatabaseUse, DatabaseWork, Run, StoredRows};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a request after a run may take.
const ASK_LIMIT: Duration = Duration::from_secs(10);
/// Requests whose rows are compared with the stored ones: a server that stores wrong values for 5 % of them is found in
/// 95 % of trials (0.95 to the power of 60 is 4.6 %).
const STORED_REQUESTS: usize = 60;
/// No further request is sent after this time.
const STORED_LIMIT: Duration = Duration::from_secs(5);
/// Requests of each case in a check: enough that the few statements of the counting command itself do not matter.
const CHECK_REQUESTS: u32 = 25;
/// The share of the expected work that may be missing in a check: a response may draw a row twice.
const MAX_MISSING: f64 = 0.05;

/// The work of a database over a run, as far as it has counters for it. `None` on Ctrl-C.
pub(crate) fn database_use(
    cell: &Cell,
    followed: &ObservedRun,
    database: &RunningDatabase,
    before: Option<DatabaseCounts>,
    address: Option<SocketAddr>,
    interrupt: Interrupt,
) -> Option<DatabaseUse> {
    // Before the requests below, which are counted too.
    let after = match database.counts() {
        Err(LaunchError::Interrupted) => return None,
        after => after.ok(),
    };
    let work = cell.case.database.unwrap_or_default();
    let asked = address.filter(|_| work.returns_updated_rows());
    let stored = match asked {
        Some(address) => stored(&cell.case, address, database, interrupt).ok()?,
        None => None,
    };
    Some(DatabaseUse {
        database: database.receipt.clone(),
        work,
        responses: responses(&followed.measured.run),
        counted: before.zip(after).map(|(before, after)| after.since(&before)),
        stored,
        process: None,
        recovery: None,
    })
}

/// The record of a database that ended under load.
pub(crate) fn without_counts(
    cell: &Cell,
    database: &RunningDatabase,
    recovery: DatabaseRecovery,
) -> DatabaseUse {
    DatabaseUse {
        database: database.receipt.clone(),
        work: cell.case.database.unwrap_or_default(),
        responses: 0,
        counted: None,
        stored: None,
        process: None,
        recovery: Some(recovery),
    }
}

/// Valid responses of a whole run, warm-up included, if it has intervals; else those of the window.
fn responses(run: &Run) -> u64 {
    let of_intervals: u64 = run.intervals.iter().map(|interval| interval.block.counts.ok).sum();
    of_intervals.max(run.total.counts.ok)
}

/// Requests updates one after another, and checks whether the database has the returned rows; `None` if a request or
/// the database fails.
///
/// # Errors
/// [`LaunchError::Interrupted`] on Ctrl-C, which makes both fail too.
fn stored(
    case: &WorkloadCase,
    address: SocketAddr,
    database: &RunningDatabase,
    interrupt: Interrupt,
) -> Result<Option<StoredRows>, LaunchError> {
    match stored_rows(case, address, database, interrupt) {
        None if interrupt.requested() => Err(LaunchError::Interrupted),
        rows => Ok(rows),
    }
}

/// Each request has its own connection, so that they spread over the processes of a server.
fn stored_rows(
    case: &WorkloadCase,
    address: SocketAddr,
    database: &RunningDatabase,
    interrupt: Interrupt,
) -> Option<StoredRows> {
    let begun = Instant::now();
    let mut rows = BTreeMap::new();
    for _ in 0..STORED_REQUESTS {
        let answer = ask(address, request_for(case), ProbeDeadline::after(ASK_LIMIT, interrupt)).ok()?;
        // A later response replaces the rows of an earlier one.
        rows.extend(returned(&answer.body));
        if begun.elapsed() > STORED_LIMIT {
            break;
        }
    }
    let world = database.world().ok()?;
    let is_stored = |id: &u32, numbers: &BTreeSet<u32>| world.get(id).is_some_and(|n| numbers.contains(n));
    let stored = rows.iter().filter(|(id, numbers)| is_stored(id, numbers)).count();
    Some(StoredRows { returned: rows.len() as u64, stored: stored as u64 })
}

/// The checks of `lab check` for a server with a database: right answers by these rules, statements and rows for each,
/// stored updates.
///
/// # Errors
/// [`LaunchError`] when the database cannot be queried, or on Ctrl-C; everything else is the outcome of a check.
pub fn examine_database(
    address: SocketAddr,
    workloads: &[Arc<Workload>],
    database: &RunningDatabase,
    engine: EngineProbe<'_>,
    rules: Rules,
) -> Result<Vec<Check>, LaunchError> {
    let client = CheckClient { address, engine };
    let found = answers(&client, workloads).map_err(|_only_interrupted| LaunchError::Interrupted)?;
    let mut checks = found.validation.checks;
    if rules == Rules::Paceline {
        let own = own_answers(&client, workloads);
        checks.extend(own.map_err(|_only_interrupted| LaunchError::Interrupted)?);
    }
    let right = |case: &&WorkloadCase| found.bodies.contains_key(&case.address);
    for case in workloads.iter().flat_map(|workload| workload.requests()).filter(right) {
        let Some(work) = case.database else { continue };
        let before = database.counts()?;
        for _ in 0..CHECK_REQUESTS {
            // A failure here shows as missing work.
            let _ = client.ask(request_for(case)).map_err(|_only_interrupted| LaunchError::Interrupted)?;
        }
        let counted = database.counts()?.since(&before);
        checks.push(same(
            format!("{} {}: statements and rows counted by the database", case.method, case.path),
            missing(work, &counted),
        ));
        if work.returns_updated_rows() {
            let wrong = not_stored(stored(case, address, database, engine.interrupt)?);
            checks.push(same(format!("{} {}: updates stored", case.method, case.path), wrong));
        }
    }
    Ok(checks)
}

/// What is wrong with the stored updates.
fn not_stored(rows: Option<StoredRows>) -> Option<String> {
    match rows {
        None => Some("a request failed, or the rows in the database could not be read".into()),
        Some(StoredRows { returned: 0, .. }) => Some("no response contained an updated database row".into()),
        Some(StoredRows { returned, stored }) if stored < returned => {
            let rows = paceline_stats::counted(returned, "row", "rows");
            Some(format!(
                "responses reported {rows} as updated, but the database has the new values of only {stored}"
            ))
        }
        Some(_) => None,
    }
}

/// The work that a database did not do, of the work for a number of responses.
fn missing(work: DatabaseWork, counted: &DatabaseCounts) -> Option<String> {
    let pairs = [
        ("statements", counted.selects, work.selects),
        ("rows read", counted.rows_read, work.rows_read),
        ("rows updated", counted.rows_updated, work.rows_updated),
    ];
    let wrong: Vec<String> = pairs
        .into_iter()
        .map(|(what, counted, each)| (what, counted, u64::from(each) * u64::from(CHECK_REQUESTS)))
        .filter(|(_, counted, expected)| (*counted as f64) < *expected as f64 * (1.0 - MAX_MISSING))
        .map(|(what, counted, expected)| format!("{counted} {what} instead of {expected}"))
        .collect();
    (!wrong.is_empty()).then(|| format!("{} in {CHECK_REQUESTS} requests", wrong.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_any_size_can_be_missing() {
        let work = DatabaseWork { selects: u32::MAX, rows_read: 1, rows_updated: 0 };
        let counted = DatabaseCounts { rows_read: 24, ..DatabaseCounts::default() };
        let expected = "0 statements instead of 107374182375 in 25 requests";
        assert_eq!(missing(work, &counted).as_deref(), Some(expected));
    }

    #[test]
    fn updates_are_stored_if_every_reported_row_is() {
        let wrong = |returned, stored| not_stored(Some(StoredRows { returned, stored }));
        assert_eq!(wrong(2, 2), None);
        let one = "responses reported 2 rows as updated, but the database has the new values of only 1";
        assert_eq!(wrong(2, 1).as_deref(), Some(one));
        assert_eq!(wrong(0, 0).as_deref(), Some("no response contained an updated database row"));
        assert!(not_stored(None).is_some());
    }
}
