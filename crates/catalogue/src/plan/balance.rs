//! Several instances behind a balancer, as a plan says it: at its top for every load, or on one load.
//!
//! Read with the plan; `expand` makes a direct and a balanced load of it (with a fault the balanced one alone), `check`
//! says what goes with what. Which cores a [`Pin`] comes to is worked out in `crates/lab/src/placement.rs`, and the processes
//! are started by `round/raise.rs`.

use paceline_record::FaultKind;

/// Instances and balancer. Each key that a load does not give is the plan's.
/// The keys stand flat in both, since serde cannot refuse unknown keys beside flattened ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// How many instances of the server, from 1.
    pub instances: Option<u32>,
    /// The balancer, a folder of `balancers/`.
    pub balancer: Option<String>,
    /// How it chooses an instance, one of the balancer's own policies.
    pub policy: Option<String>,
    /// What is broken on purpose in the middle of the window.
    pub fault: Option<FaultKind>,
    /// Where instances, balancer and database run.
    pub pin: Option<Pin>,
}

/// Where the processes of a launch with a balancer or a database run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// The instances' cores.
    pub instances: PinInstances,
    /// The balancer's cores.
    pub balancer: PinBalancer,
    /// The database's cores.
    pub database: PinDatabase,
}

/// Where instances run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinInstances {
    /// Each on a core of its own as far as they last, then round again.
    #[default]
    Apart,
    /// All on one core.
    Together,
}

/// Where a balancer runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinBalancer {
    /// On a core of its own where there are three, else beside the instances.
    #[default]
    Own,
    /// Beside the instances.
    Instances,
    /// Beside the generator.
    Generator,
}

/// Where a database runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinDatabase {
    /// On cores of its own where there are enough, else beside the server.
    #[default]
    Own,
    /// Beside the server, or the instances of it.
    Server,
    /// Beside the generator.
    Generator,
}

/// The policy where a plan gives none: every balancer has it under this name.
pub const DEFAULT_POLICY: &str = "roundrobin";

impl Balance {
    /// This with what it leaves out filled from `plan`.
    pub(super) fn or(&self, plan: &Balance) -> Balance {
        Balance {
            instances: self.instances.or(plan.instances),
            balancer: self.balancer.clone().or_else(|| plan.balancer.clone()),
            policy: self.policy.clone().or_else(|| plan.policy.clone()),
            fault: self.fault.or(plan.fault),
            pin: self.pin.or(plan.pin),
        }
    }

    /// The policy, given or default.
    pub(super) fn policy(&self) -> &str {
        self.policy.as_deref().unwrap_or(DEFAULT_POLICY)
    }
}
