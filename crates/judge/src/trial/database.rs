//! Verdicts on a database: whether it ran the statements that the responses need, and whether it was the limit.

use super::{FULL_LEAST, generator_cores, host};
use crate::Finding;
use paceline_record::{ProcessRole, Route, Trial};

/// Statements and rows may be missing by this share: MariaDB's counters lag by less.
const READ_MISSING_MOST: f64 = 0.01;
/// Updated rows may be missing by this share: with 20 rows drawn from 10,000, one response in 53 has a row twice.
const UPDATED_MISSING_MOST: f64 = 0.05;

fn is_short(found: u64, expected: u64, missing_most: f64) -> bool {
    (found as f64) < expected as f64 * (1.0 - missing_most)
}

pub(super) fn queries_not_run(trial: &Trial) -> Option<Finding> {
    let used = trial.database.as_ref()?;
    let counted = used.counted?;
    let selects_expected = used.responses * u64::from(used.work.selects);
    let rows_expected = used.responses * u64::from(used.work.rows_read);
    let short = is_short(counted.selects, selects_expected, READ_MISSING_MOST)
        || is_short(counted.rows_read, rows_expected, READ_MISSING_MOST);
    short.then_some(Finding::QueriesNotRun {
        selects_expected,
        selects: counted.selects,
        rows_expected,
        rows_read: counted.rows_read,
    })
}

pub(super) fn updates_not_stored(trial: &Trial) -> Option<Finding> {
    let used = trial.database.as_ref().filter(|used| used.work.rows_updated > 0)?;
    let rows_expected = used.responses * u64::from(used.work.rows_updated);
    let rows_updated = used.counted.map(|counted| counted.rows_updated);
    let seen = used.stored.unwrap_or_default();
    let short = rows_updated.is_some_and(|rows| is_short(rows, rows_expected, UPDATED_MISSING_MOST));
    (short || seen.stored < seen.returned).then_some(Finding::UpdatesNotStored {
        rows_expected,
        rows_updated: rows_updated.unwrap_or_default(),
        returned: seen.returned,
        stored: seen.stored,
    })
}

pub(super) fn database_bound(trial: &Trial) -> Option<Finding> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let server_utilization = trial.usage.as_ref()?.utilization;
    let shares = shares_cores(trial, &process.cores);
    (!shares && process.utilization >= FULL_LEAST && server_utilization < FULL_LEAST).then_some(
        Finding::DatabaseBound {
            database_utilization: process.utilization,
            server_utilization,
            database_cpu_ns_per_request: process.cpu_ns_per_request,
        },
    )
}

pub(super) fn database_not_counted(trial: &Trial) -> Option<Finding> {
    let used = trial.database.as_ref()?;
    // A database that ended under load is the trial's error.
    (used.counted.is_none() && trial.error.is_none())
        .then_some(Finding::DatabaseNotCounted { responses: used.responses })
}

/// Whether a core of the database belongs to the server: on one machine.
fn shares_cores(trial: &Trial, cores: &[u32]) -> bool {
    host(trial, ProcessRole::Instance) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.server.contains(core))
}

/// Whether a core of the database belongs to the generator, on one machine.
fn shares_with_generator(trial: &Trial, cores: &[u32]) -> bool {
    let generator = generator_cores(trial, host(trial, ProcessRole::Database));
    cores.iter().any(|core| generator.contains(core))
}

/// Whether a core of the database belongs to the balancer that the requests passed through, on one machine.
fn shares_with_balancer(trial: &Trial, cores: &[u32]) -> bool {
    trial.load.balanced.as_ref().is_some_and(|balanced| balanced.route == Route::Balanced)
        && host(trial, ProcessRole::Balancer) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.balancer.contains(core))
}

pub(super) fn database_shares_cores(trial: &Trial) -> Option<Finding> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let usage = trial.usage.as_ref()?;
    let both_s = process.cpu_s + usage.cpu_s;
    let sharers = [
        ("server", shares_cores(trial, &process.cores)),
        ("balancer", shares_with_balancer(trial, &process.cores)),
        ("generator", shares_with_generator(trial, &process.cores)),
    ];
    let with: Vec<String> =
        sharers.iter().filter(|(_, shares)| *shares).map(|(name, _)| (*name).to_owned()).collect();
    (!with.is_empty()).then(|| Finding::DatabaseSharesCores {
        database_cores: process.cores.clone(),
        with,
        database_share: if both_s > 0.0 { process.cpu_s / both_s } else { 0.0 },
    })
}
