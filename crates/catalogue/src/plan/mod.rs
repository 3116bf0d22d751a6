//! A plan, `plans/*.toml`: which servers, workloads and loads, how often, from which seed.
//!
//! A plan is data and can be written back to TOML exactly: a round stores the text that it carries out, and `--resume`
//! reads that. [`resolve`] makes its cells on a given tree of servers; `order` sorts them.

mod adhoc;
mod balance;
mod check;
mod convert;
mod estimate;
mod expand;
mod load;
mod narrow;
mod own_capacity;
mod planned_load;
mod resolve;
mod resume;
mod scale;
mod select;
mod size;
mod warm_up;

pub use adhoc::AdHoc;
pub use balance::{Balance, DEFAULT_POLICY, Pin, PinBalancer, PinDatabase, PinInstances};
pub use estimate::{COUNTED_GUESS, LAUNCH_GUESS, estimate};
pub use load::{LoadSearch, Percent, PlanLoad};
pub use planned_load::{
    CapacitySearch, LaunchGroup, LoadEnd, LoadHttp, LoadPace, LoadWork, PlannedLoad, TRIAL_EXTRA_GUESS,
};
pub use resolve::{Cell, Resolution, key_of};
pub use scale::Scale;
pub use select::Select;
pub use size::{MachineCapacity, SizedPlan};
pub use warm_up::{Bursts, LaunchWarmUp};

use crate::{CatalogueError, duration};
use paceline_record::{FaultKind, Observation};
use std::time::Duration;

/// The largest seed: 2^53 - 1, so that it survives TOML's and JavaScript's integers.
pub const MAX_SEED: u64 = (1 << 53) - 1;

/// The default number of a server's connections to its database.
pub const POOL: u32 = 32;

/// The default limit of a launch's warm-up.
pub const STEADY_WITHIN: Duration = Duration::from_secs(60);

/// Which servers, workloads and loads, how often, from which seed.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name, the file's name without `.toml`.
    pub name: String,
    /// Its purpose, in words.
    #[serde(default)]
    pub about: String,
    /// The seed of every order; if the plan has none, a round draws one and records it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Launches of each server in each form: each cell is measured this often.
    pub repeats: u32,
    /// Time limit of a round without `--full`: repeats are reduced until it fits.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub budget: Option<Duration>,
    /// Launches of each server with `--full`, where they are more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_repeats: Option<u32>,
    /// The length of every window that has one with `--full`, where it is longer.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub full_duration: Option<Duration>,
    /// Limit of each launch's warm-up before its loads, which ends when the server no longer becomes faster; `0s` for
    /// none. The default in a plan file is [`STEADY_WITHIN`].
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub steady_within: Option<Duration>,
    /// Bursts as the warm-up of each launch, instead of `steady_within`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub warmup: Option<Bursts>,
    /// One factor on connections, rate and requests of every load: a number, or `auto` for what the machine can hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<Scale>,
    /// With `scale = "auto"`: the number of cores on which the loads have their full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_size_cores: Option<u32>,
    /// The forms to run each server in.
    #[serde(default = "single")]
    pub forms: Vec<String>,
    /// The workloads: `tetra` selects all its cases, `tetra/140` one.
    pub workloads: Vec<String>,
    /// Servers of the selection that are added a second time, as `<id>-copy` with separate launches. A difference that
    /// the round finds between a server and its copy is a false one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub copies: Vec<String>,
    /// How many instances of the server are behind a balancer, from 1. This and the next four keys are the defaults of
    /// every load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instances: Option<u32>,
    /// The balancer, a folder of `balancers/`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balancer: Option<String>,
    /// How it chooses an instance, one of the balancer's own policies; `roundrobin` by default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// The fault to inject in the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<FaultKind>,
    /// Where instances, balancer and database run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pin: Option<Pin>,
    /// The databases that workloads which need one are measured with, folders of `databases/`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub databases: Vec<String>,
    /// Connections of the whole server to its database, each a separate load; [`POOL`] by default.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pool: Vec<u32>,
    /// The keys of its cells when a round began: a resumed round continues with these. Only a plan stored by a round
    /// has them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cells: Vec<String>,
    /// Which servers.
    #[serde(default)]
    pub select: Select,
    /// The loads each workload is put under.
    pub load: Vec<PlanLoad>,
    /// Observations of the source that the plan reproduces.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
}

fn single() -> Vec<String> {
    vec!["single".into()]
}

impl Plan {
    /// Its keys of instances and balancer, for every load.
    fn balance(&self) -> Balance {
        Balance {
            instances: self.instances,
            balancer: self.balancer.clone(),
            policy: self.policy.clone(),
            fault: self.fault,
            pin: self.pin,
        }
    }

    /// The warm-up of each launch. A plan without a key for it, as one kept by an old round, has none.
    pub fn launch_warm_up(&self) -> LaunchWarmUp {
        match self.warmup {
            Some(bursts) => LaunchWarmUp::Bursts(bursts),
            None => LaunchWarmUp::Continuous { limit: self.steady_within.unwrap_or_default() },
        }
    }

    /// The plan as TOML, from which [`Plan::parse`] makes an equal plan.
    ///
    /// # Errors
    /// [`CatalogueError::Plan`] when a number is beyond what TOML can hold.
    pub fn to_toml(&self) -> Result<String, CatalogueError> {
        toml::to_string(self)
            .map_err(|error| CatalogueError::Plan { plan: self.name.clone(), problem: error.to_string() })
    }
}

#[cfg(test)]
mod tests;
