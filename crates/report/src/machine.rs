//! Machines: trials from different environments never share a table.
//!
//! Called by [`crate::Report::new`]; all tables then look up the machine of a trial. Environments are compared by their
//! records; the machine that makes the report does not matter.

use paceline_record::{Environment, Round, Trial};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// An environment in which some of the trials ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// `A` for the round's first machine, then `B`, and so on.
    pub label: String,
    /// Hardware and system of the machine.
    pub environment: Environment,
    /// Differences from the first machine, as text: `kernel: 6.2 instead of 6.1`.
    pub differs: Vec<String>,
}

/// The machines of a round, and the machine of each trial.
pub struct RoundMachines {
    /// Each machine once, in order of first appearance.
    pub list: Vec<Machine>,
    /// The position in `list` by sitting, for trials without a run.
    by_sitting: HashMap<String, usize>,
}

impl RoundMachines {
    /// Finds the machines of some trials, which must be in the order they ran. A round without a run has its own.
    pub fn from_trials(round: &Round, trials: &[&Trial]) -> Self {
        let mut machines = Self { list: Vec::new(), by_sitting: HashMap::new() };
        for trial in trials {
            if let Some(run) = &trial.run {
                let place = machines.place_or_add(&run.environment);
                machines.by_sitting.entry(trial.sitting.clone()).or_insert(place);
            }
        }
        if machines.list.is_empty() {
            machines.place_or_add(&round.environment);
        }
        machines
    }

    /// The position of a trial's machine. A trial without a run counts to the machine of its sitting.
    pub fn place(&self, trial: &Trial) -> usize {
        let own = trial.run.as_ref().and_then(|run| self.find(&run.environment));
        own.or_else(|| self.by_sitting.get(&trial.sitting).copied()).unwrap_or(0)
    }

    fn find(&self, environment: &Environment) -> Option<usize> {
        // Most trials have equal environments, and that is cheaper to find out than their differences in words.
        let is_same =
            |known: &Environment| known == environment || differences(known, environment).is_empty();
        self.list.iter().position(|machine| is_same(&machine.environment))
    }

    fn place_or_add(&mut self, environment: &Environment) -> usize {
        if let Some(place) = self.find(environment) {
            return place;
        }
        let place = self.list.len();
        let label = char::from(b'A' + (place % 26) as u8).to_string().repeat(place / 26 + 1);
        let first = self.list.first().map_or(environment, |machine| &machine.environment);
        let differs = differences(first, environment);
        self.list.push(Machine { label, environment: environment.clone(), differs });
        place
    }
}

/// The differences that make it another machine, in words. Limits of the recording process are left out: they do not
/// belong to the machine.
fn differences(first: &Environment, other: &Environment) -> Vec<String> {
    let (first, other) = (facts(first), facts(other));
    let mut keys: Vec<&String> = first.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    let known =
        |facts: &HashMap<String, String>, key| facts.get(key).cloned().unwrap_or("not known".to_owned());
    keys.into_iter()
        .filter(|key| first.get(*key) != other.get(*key))
        .map(|key| format!("{key}: {} instead of {}", known(&other, key), known(&first, key)))
        .collect()
}

/// The properties that identify a machine. Memory in GiB, because the kernel's own part changes from boot to boot.
fn facts(environment: &Environment) -> HashMap<String, String> {
    let e = environment;
    let gib = (e.memory_bytes as f64 / f64::from(1 << 30)).round();
    let mut facts: HashMap<String, String> = HashMap::from([
        ("processor".to_owned(), e.cpu_model.clone()),
        ("processors online".to_owned(), e.cores.to_string()),
        ("memory".to_owned(), format!("{gib} GiB")),
        ("kernel".to_owned(), e.kernel.clone()),
        ("system".to_owned(), e.os.clone()),
        ("virtual machine".to_owned(), if e.virtual_machine { "yes" } else { "no" }.to_owned()),
    ]);
    let mut optional = |key: &str, value: &Option<String>| {
        facts.extend(value.clone().map(|value| (key.to_owned(), value)));
    };
    optional("governor", &e.governor);
    optional("clock source", &e.clock_source);
    optional("settings changed for the run", &(!e.held.is_empty()).then(|| e.held.join(", ")));
    facts.extend(e.mitigations.iter().map(|(name, state)| (format!("mitigation of {name}"), state.clone())));
    facts.extend(e.sysctl.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts
}
