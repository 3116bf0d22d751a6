//! The starts of servers: the first start since a build separately from later ones, and memory after the load.
//!
//! One observation for each launch, regardless of its number of trials. Records without `first_since_build` are in no
//! table: the column of the first response in the ranked tables covers them.

use crate::figure::Figure;
use crate::machine::RoundMachines;
use paceline_record::{Startup, Trial};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The starts of the servers of one form on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StartTable {
    /// The label of the machine.
    pub machine: String,
    /// `single` or `cores`.
    pub form: String,
    /// The rows, one for each server.
    pub rows: Vec<StartRow>,
}

/// The starts of one server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StartRow {
    /// The server's id.
    pub server: String,
    /// The first start since it was built or its folder changed; none if that was before the round.
    pub first: Option<Starts>,
    /// The later starts of the round.
    pub later: Option<Starts>,
    /// Resident memory once a launch's last load had ended.
    pub rss_bytes_after: Option<Figure>,
}

/// Some starts, each launch one observation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Starts {
    /// From the start to a port that accepts connections.
    pub listening_ms: Option<Figure>,
    /// From the start to the first valid response.
    pub first_answer_ms: Option<Figure>,
    /// Resident memory at the first response, in bytes.
    pub rss_bytes: Option<Figure>,
    /// Read from disk until then: 0 if all of it was in memory.
    pub disk_read_bytes: Option<Figure>,
}

/// One launch: its start, and its memory after the last load observed.
struct LaunchStart<'a> {
    startup: &'a Startup,
    rss_bytes_after: Option<u64>,
}

/// The start tables of some trials, which must be in the order they ran. Launches behind a balancer are left out,
/// because they are not one server.
pub fn starts(machines: &RoundMachines, trials: &[&Trial]) -> Vec<StartTable> {
    let mut groups: BTreeMap<(usize, &str, &str), BTreeMap<&str, LaunchStart<'_>>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.balancing.is_none()) {
        let Some(startup) = trial.startup.as_ref().filter(|startup| startup.first_since_build.is_some())
        else {
            continue;
        };
        let group = groups.entry((machines.place(trial), &trial.form, &trial.server.id)).or_default();
        let seen = group.entry(&trial.launch).or_insert(LaunchStart { startup, rss_bytes_after: None });
        let after = trial.usage.as_ref().and_then(|usage| usage.rss_bytes_after);
        seen.rss_bytes_after = after.or(seen.rss_bytes_after);
    }
    let mut tables: Vec<StartTable> = Vec::new();
    for ((place, form, server), launches) in groups {
        let machine = machines.list.get(place).map(|machine| machine.label.clone()).unwrap_or_default();
        let row = row(server, &launches.into_values().collect::<Vec<_>>());
        match tables.iter_mut().find(|table| table.machine == machine && table.form == form) {
            Some(table) => table.rows.push(row),
            None => tables.push(StartTable { machine, form: form.to_owned(), rows: vec![row] }),
        }
    }
    tables
}

fn row(server: &str, launches: &[LaunchStart<'_>]) -> StartRow {
    let of = |first: bool| {
        let wanted = |seen: &&LaunchStart<'_>| seen.startup.first_since_build == Some(first);
        let startups: Vec<&Startup> = launches.iter().filter(wanted).map(|seen| seen.startup).collect();
        (!startups.is_empty()).then(|| Starts::from_startups(&startups))
    };
    let after = launches.iter().filter_map(|seen| seen.rss_bytes_after).map(|bytes| bytes as f64);
    StartRow {
        server: server.to_owned(),
        first: of(true),
        later: of(false),
        rss_bytes_after: Figure::from_observations(after),
    }
}

impl Starts {
    fn from_startups(startups: &[&Startup]) -> Self {
        let figure = |get: fn(&Startup) -> Option<f64>| {
            Figure::from_observations(startups.iter().filter_map(|s| get(s)))
        };
        Self {
            listening_ms: figure(|s| Some(s.listening_ns as f64 / 1e6)),
            first_answer_ms: figure(|s| Some(s.first_answer_ns as f64 / 1e6)),
            rss_bytes: figure(|s| Some(s.rss_bytes as f64)),
            disk_read_bytes: figure(|s| s.disk_read_bytes.map(|bytes| bytes as f64)),
        }
    }
}
