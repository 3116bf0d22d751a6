//! Verdicts on a trial with a database: whether it did the work, and whether it was the limit.

use super::cores::{generator_cores, has_loader, host};
use crate::{MIN_FULL, TypedVerdict};
use paceline_record::{ProcessRole, Route, Trial};

/// Statements and rows may be missing by this share: MariaDB's counters lag by less.
const MAX_READ_MISSING: f64 = 0.01;
/// Updated rows may be missing by this share: with 20 rows drawn from 10,000, one response in 53 has a row twice.
const MAX_UPDATED_MISSING: f64 = 0.05;
/// Connections beyond a quarter of the pool that a driver may have: MongoDB's drivers keep one or two to watch the
/// server.
const POOL_BEYOND: u64 = 4;

pub(super) fn queries_not_run(trial: &Trial) -> Option<TypedVerdict> {
    let used = trial.database.as_ref()?;
    let counted = used.counted?;
    let selects_expected = used.responses.saturating_mul(u64::from(used.work.selects));
    let rows_expected = used.responses.saturating_mul(u64::from(used.work.rows_read));
    let short = is_short(counted.selects, selects_expected, MAX_READ_MISSING)
        || is_short(counted.rows_read, rows_expected, MAX_READ_MISSING);
    short.then_some(TypedVerdict::QueriesNotRun {
        selects_expected,
        selects: counted.selects,
        rows_expected,
        rows_read: counted.rows_read,
    })
}

pub(super) fn updates_not_stored(trial: &Trial) -> Option<TypedVerdict> {
    let used = trial.database.as_ref().filter(|used| used.work.rows_updated > 0)?;
    let rows_expected = used.responses.saturating_mul(u64::from(used.work.rows_updated));
    let rows_updated = used.counted.map(|counted| counted.rows_updated);
    let seen = used.stored.unwrap_or_default();
    let short = rows_updated.is_some_and(|rows| is_short(rows, rows_expected, MAX_UPDATED_MISSING));
    let is_stored = used.stored.is_none_or(|seen| seen.returned > 0 && seen.stored == seen.returned);
    (short || !is_stored).then_some(TypedVerdict::UpdatesNotStored {
        rows_expected,
        rows_updated: rows_updated.unwrap_or_default(),
        returned: seen.returned,
        stored: seen.stored,
    })
}

pub(super) fn database_not_counted(trial: &Trial) -> Option<TypedVerdict> {
    // A database that ended under load is the trial's error.
    let used = trial.database.as_ref().filter(|_| trial.error.is_none())?;
    let (missing, advice) = match (used.counted, used.stored) {
        (None, _) => (
            "counters",
            "The database's statement counters could not be read, so its queries are not verified. Read the end of the database's log in the record, and measure again.",
        ),
        (Some(_), None) if used.work.returns_updated_rows() => (
            "response after the run",
            "The stored rows could not be checked: the server or the database did not respond to the requests after the run. Lower the load, and read their logs.",
        ),
        (Some(_), _) => return None,
    };
    Some(TypedVerdict::DatabaseNotCounted { responses: used.responses, missing, advice })
}

pub(super) fn pool_exceeded(trial: &Trial) -> Option<TypedVerdict> {
    let pool = trial.load.database.as_ref()?.pool;
    let connections = trial.database.as_ref()?.counted?.connections?;
    let most = u64::from(pool) + u64::from(pool / 4) + POOL_BEYOND;
    (connections > most).then_some(TypedVerdict::PoolExceeded { connections, pool })
}

pub(super) fn database_bound(trial: &Trial) -> Option<TypedVerdict> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let server_utilization = trial.usage.as_ref()?.utilization;
    let shares = shares_with_server(trial, &process.cores);
    (!shares && process.utilization >= MIN_FULL && server_utilization < MIN_FULL).then_some(
        TypedVerdict::DatabaseBound {
            database_utilization: process.utilization,
            server_utilization,
            database_cpu_ns_per_request: process.cpu_ns_per_request,
        },
    )
}

pub(super) fn database_shares_cores(trial: &Trial) -> Option<TypedVerdict> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let usage = trial.usage.as_ref()?;
    let both_s = process.cpu_s + usage.cpu_s;
    let sharers = [
        ("server", shares_with_server(trial, &process.cores)),
        ("balancer", shares_with_balancer(trial, &process.cores)),
        ("generator", shares_with_generator(trial, &process.cores)),
    ];
    let with: Vec<String> =
        sharers.iter().filter(|(_, shares)| *shares).map(|(name, _)| (*name).to_owned()).collect();
    (!with.is_empty()).then(|| TypedVerdict::DatabaseSharesCores {
        database_cores: process.cores.clone(),
        with,
        database_share: if both_s > 0.0 { process.cpu_s / both_s } else { 0.0 },
    })
}

fn is_short(found: u64, expected: u64, max_missing: f64) -> bool {
    (found as f64) < expected as f64 * (1.0 - max_missing)
}

/// Whether a core of the database belongs to the server: on one machine.
fn shares_with_server(trial: &Trial, cores: &[u32]) -> bool {
    host(trial, ProcessRole::Instance) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.server.contains(core))
}

/// Whether a core of the database belongs to the balancer that the requests passed through, on one machine.
fn shares_with_balancer(trial: &Trial, cores: &[u32]) -> bool {
    trial.load.balanced.as_ref().is_some_and(|balanced| balanced.route == Route::Balanced)
        && host(trial, ProcessRole::Balancer) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.balancer.contains(core))
}

/// Whether a core of the database belongs to the generator, on one machine.
fn shares_with_generator(trial: &Trial, cores: &[u32]) -> bool {
    let machine = host(trial, ProcessRole::Database);
    let generator = generator_cores(trial, machine);
    has_loader(trial, machine) || cores.iter().any(|core| generator.contains(core))
}
