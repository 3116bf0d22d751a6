//! Several instances behind a balancer, in a plan: at its top for every load, or on one load.
//!
//! Read with the plan. `expand` makes a direct and a balanced load of it (with a fault the balanced one alone); `check`
//! rejects invalid combinations. `crates/lab/src/placement.rs` assigns the cores of a [`Pin`], and `round/start.rs`
//! starts the processes.

use paceline_record::FaultKind;

/// Instances and balancer. A key missing in a load is taken from the plan. The keys are flat in both, since serde
/// cannot reject unknown keys beside flattened ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// How many instances of the server, from 1.
    pub instances: Option<u32>,
    /// The balancer, a folder of `balancers/`.
    pub balancer: Option<String>,
    /// How it chooses an instance, one of the balancer's own policies.
    pub policy: Option<String>,
    /// The fault to inject in the middle of the window.
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
    /// Each on a separate core while there are enough, then several per core.
    #[default]
    Apart,
    /// All on one core.
    Together,
}

/// Where a balancer runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinBalancer {
    /// On a separate core where there are three, else beside the instances.
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
    /// On separate cores where there are enough, else beside the server.
    #[default]
    Own,
    /// Beside the server, or its instances.
    Server,
    /// Beside the generator.
    Generator,
}

/// The policy of a plan without one: every balancer has it under this name.
pub const DEFAULT_POLICY: &str = "roundrobin";

impl Balance {
    /// Fills missing keys from `plan`.
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
