//! A plan, `plans/*.toml`: which servers, workloads and loads, how often, from which seed.
//!
//! A plan is data and goes back to TOML exactly: a round stores the text it was carried out by, and `--resume` goes by
//! that. What it comes to on a given tree of servers is [`resolve`]'s work, in which order is `order`'s.

mod adhoc;
mod again;
mod balance;
mod check;
mod estimate;
mod expand;
mod load;
mod narrow;
mod own_capacity;
mod resolve;
mod scale;
mod select;
mod size;

pub use adhoc::AdHoc;
pub use balance::{Balance, DEFAULT_POLICY, Pin, PinBalancer, PinDatabase, PinInstances};
pub use estimate::{COUNTED_GUESS, TRIAL_EXTRA_GUESS, estimate, launch_guess};
pub use load::PlanLoad;
pub use own_capacity::{LoadSearch, Percent};
pub use resolve::{Cell, Resolution, key_of};
pub use scale::Scale;
pub use select::Select;
pub use size::{Room, Sized};

use crate::document::Document;
use crate::{CatalogueError, duration};
use paceline_record::{FaultKind, Observation};
use std::path::Path;
use std::time::Duration;

/// The largest seed: 2^53 - 1, so that it survives TOML's and JavaScript's integers.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// Connections of a server to its database where the plan does not say.
pub const POOL: u32 = 32;

/// How long a launch may be warmed up where the plan does not say.
pub const STEADY_WITHIN: Duration = Duration::from_secs(60);

/// Which servers, workloads and loads, how often, from which seed.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name, the file's name without `.toml`.
    pub name: String,
    /// What it is for, for people.
    #[serde(default)]
    pub about: String,
    /// Where every order is drawn from; a round draws one and records it where the plan has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Launches of each server in each form: each cell is measured this often.
    pub repeats: u32,
    /// How long the round may take at its default: repeats are cut until it fits, `--full` takes no notice of it.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub budget: Option<Duration>,
    /// Launches of each server with `--full`, where they are more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_repeats: Option<u32>,
    /// The length of every window that has one with `--full`, where it is longer.
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub full_duration: Option<Duration>,
    /// How long each launch may be warmed up before its loads, until it no longer becomes faster; `0s` for not at all.
    /// A plan file that does not say means [`STEADY_WITHIN`].
    #[serde(skip_serializing_if = "Option::is_none", default, with = "duration")]
    pub steady_within: Option<Duration>,
    /// One factor on connections, rate and requests of every load: a number, or `auto` for what the machine can hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<Scale>,
    /// With `scale = "auto"`: on so many cores the loads have their full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_size_cores: Option<u32>,
    /// The forms to run each server in.
    #[serde(default = "single")]
    pub forms: Vec<String>,
    /// The workloads: `tetra` means all its cases, `tetra/140` the one.
    pub workloads: Vec<String>,
    /// Servers of the selection that are entered a second time, as `<id>-copy` with launches of its own. A difference that
    /// the round claims between a server and its copy is a false one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub copies: Vec<String>,
    /// How many instances of the server are behind a balancer, from 1.
    /// This and the next four keys are for every load that does not say otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub instances: Option<u32>,
    /// The balancer, a folder of `balancers/`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balancer: Option<String>,
    /// How it chooses an instance, one of the balancer's own policies; `roundrobin` where none is given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<String>,
    /// What is broken on purpose in the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<FaultKind>,
    /// Where instances, balancer and database run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pin: Option<Pin>,
    /// The databases that workloads which need one are measured with, folders of `databases/`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub databases: Vec<String>,
    /// Connections of the whole server to its database, each a load of its own; [`POOL`] where none is given.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pool: Vec<u32>,
    /// The keys of the cells it came to when a round began with it: what is left of them is carried on. Only a round's own
    /// plan has them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cells: Vec<String>,
    /// Which servers.
    #[serde(default)]
    pub select: Select,
    /// The loads each workload is put under.
    pub load: Vec<PlanLoad>,
    /// What the source that the plan follows observed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
}

fn single() -> Vec<String> {
    vec!["single".into()]
}

impl Plan {
    /// Reads the plan in the file at `path`.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown, wrong or contradicts another;
    /// [`CatalogueError::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        Self::of(&Document::read(path)?)
    }

    /// Reads a plan from its text; `origin` stands where a file's name would in a complaint.
    ///
    /// # Errors
    /// As [`Plan::read`].
    pub fn parse(origin: &str, text: &str) -> Result<Self, CatalogueError> {
        Self::of(&Document::of(Path::new(origin), text))
    }

    fn of(document: &Document) -> Result<Self, CatalogueError> {
        let plan = document.parse::<Self>()?;
        let complain = |problem: check::Problem| {
            let place = match problem.load {
                Some(load) => document.place_in("load", load, problem.key),
                None => document.place_of(problem.key),
            };
            document.complain(place, problem.text)
        };
        let problems = check::problems(&plan).into_iter().map(complain).collect();
        CatalogueError::of_all(problems).map_or(Ok(plan), Err)
    }

    /// What it says of instances and balancer for every load.
    fn balance(&self) -> Balance {
        Balance {
            instances: self.instances,
            balancer: self.balancer.clone(),
            policy: self.policy.clone(),
            fault: self.fault,
            pin: self.pin,
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
