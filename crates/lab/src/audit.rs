//! What a database counted over a run, beside what was asked of it; and whether updates that were answered are stored.
//!
//! Read before and after a run, when nothing is in flight: the counters are exact then, warm-up included. What a
//! difference means is the judge's.

use crate::database::{RunningDatabase, returned};
use crate::generator::Followed;
use crate::probe::{Connection, Patience, Question};
use paceline_catalogue::{Cell, WorkloadCase};
use paceline_host::Interrupt;
use paceline_record::{DatabaseCounts, DatabaseUse, Run, StoredRows};
use std::net::SocketAddr;
use std::time::Duration;

/// How long the request after a run may take.
const ASK_LIMIT: Duration = Duration::from_secs(10);

/// What a database did over a run, as far as it tells.
pub(crate) fn database_use(
    cell: &Cell,
    followed: &Followed,
    database: &RunningDatabase,
    before: Option<DatabaseCounts>,
    address: Option<SocketAddr>,
    interrupt: Interrupt,
) -> DatabaseUse {
    // Before the request below, which counts too.
    let after = database.counts().ok();
    let work = cell.case.database.unwrap_or_default();
    let patience = Patience::of(ASK_LIMIT, interrupt);
    let asked = address.filter(|_| work.rows_updated > 0);
    DatabaseUse {
        database: database.receipt.clone(),
        work,
        responses: responses(&followed.measured.run),
        counted: before.zip(after).map(|(before, after)| after.since(&before)),
        stored: asked.and_then(|address| stored(&cell.case, address, database, patience)),
        process: None,
    }
}

/// Valid responses of a whole run, warm-up included, as far as its intervals tell; else those of the window.
fn responses(run: &Run) -> u64 {
    let of_intervals: u64 = run.intervals.iter().map(|interval| interval.block.counts.ok).sum();
    of_intervals.max(run.total.counts.ok)
}

/// Asks for updates once, and looks which of the returned rows the database has so.
pub(crate) fn stored(
    case: &WorkloadCase,
    address: SocketAddr,
    database: &RunningDatabase,
    patience: Patience,
) -> Option<StoredRows> {
    let mut connection = Connection::open(address, patience).ok()?;
    let answer = connection.ask(Question::new(&case.method, &case.path)).ok()?;
    let rows = returned(&answer.body);
    let world = database.world().ok()?;
    let stored = rows.iter().filter(|(id, number)| world.get(id) == Some(number)).count();
    Some(StoredRows { returned: rows.len() as u64, stored: stored as u64 })
}
