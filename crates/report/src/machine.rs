//! Machines: trials from different environments never share a table.
//!
//! Called by [`crate::Report::new`], by the page of a round and by the comparison of two rounds; all look up the machine
//! of a trial. Environments are compared by their records; the machine that makes the report does not matter.

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

impl Machine {
    /// How its hardware and system differ from those of another machine, as text; settings are left out.
    pub fn differences_from(&self, other: &Machine) -> Vec<String> {
        let facts = main_facts(&self.environment).into_iter().zip(main_facts(&other.environment));
        let differ = facts.filter(|((_, own), (_, other))| own != other);
        differ.map(|((key, own), (_, other))| difference(key, &own, &other)).collect()
    }

    /// How far it is from another machine: the number of differences in hardware and system, then in these and the
    /// settings. A smaller pair is nearer.
    pub fn distance_from(&self, other: &Machine) -> (usize, usize) {
        (self.differences_from(other).len(), differences(&other.environment, &self.environment).len())
    }
}

/// The machines of a round, and the machine of each trial.
#[derive(Debug)]
pub struct RoundMachines {
    /// Each machine once, in order of first appearance.
    pub list: Vec<Machine>,
    /// The position in `list` by sitting, for trials without a run.
    by_sitting: HashMap<String, usize>,
}

impl RoundMachines {
    /// Finds the machines of some trials, in any order. A round without a run has its own.
    pub fn from_trials<'a>(round: &Round, trials: impl IntoIterator<Item = &'a Trial>) -> Self {
        let mut machines = Self::from_report(&[], trials);
        if machines.list.is_empty() {
            machines.place_or_add(&round.environment);
        }
        machines
    }

    /// Finds the machines of some trials, in any order, where those that a report lists keep their labels.
    pub fn from_report<'a>(known: &[Machine], trials: impl IntoIterator<Item = &'a Trial>) -> Self {
        let mut machines = Self { list: known.to_vec(), by_sitting: HashMap::new() };
        let mut ordered: Vec<&Trial> = trials.into_iter().collect();
        ordered.sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
        for trial in ordered {
            if let Some(run) = &trial.run {
                let place = machines.place_or_add(&run.environment);
                machines.by_sitting.entry(trial.sitting.clone()).or_insert(place);
            }
        }
        machines
    }

    /// The label of a trial's machine.
    pub fn label(&self, trial: &Trial) -> &str {
        self.list.get(self.place(trial)).map_or("", |machine| &*machine.label)
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
        .map(|key| difference(key, &known(&other, key), &known(&first, key)))
        .collect()
}

fn difference(key: &str, own: &str, other: &str) -> String {
    format!("{key}: {own} instead of {other}")
}

/// Hardware and system. Memory in GiB, because the kernel's own part changes from boot to boot.
fn main_facts(environment: &Environment) -> [(&'static str, String); 6] {
    let e = environment;
    let gib = (e.memory_bytes as f64 / f64::from(1 << 30)).round();
    [
        ("processor", e.cpu_model.clone()),
        ("processors online", e.cores.to_string()),
        ("memory", format!("{gib} GiB")),
        ("kernel", e.kernel.clone()),
        ("system", e.os.clone()),
        ("virtual machine", if e.virtual_machine { "yes" } else { "no" }.to_owned()),
    ]
}

/// The properties that identify a machine.
fn facts(environment: &Environment) -> HashMap<String, String> {
    let e = environment;
    let mut facts: HashMap<String, String> =
        main_facts(e).into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_no_difference_of_hardware_or_system() {
        let machine = |cores: u32, governor: &str| {
            let governor = Some(governor.to_owned());
            let environment = Environment { cores, governor, ..Environment::default() };
            Machine { label: "A".to_owned(), environment, differs: Vec::new() }
        };
        let differences = machine(4, "powersave").differences_from(&machine(2, "performance"));
        assert_eq!(differences, ["processors online: 4 instead of 2"]);
    }
}
