//! Under which load, on which machine and when observations were made: figures of other conditions are another
//! question.

use crate::objective::Objective;
use paceline_record::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The key of the objective that capacities were searched for. No setting of a job has this name.
const OBJECTIVE: &str = "objective";

/// The conditions of a set of observations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// When the first observation began, RFC 3339.
    pub measured_at: String,
    /// The version of Paceline.
    pub paceline: String,
    /// Everything that was requested, as `paceline run` records it, without the server's address and the seed: a flat
    /// table of keys and values.
    pub load: BTreeMap<String, Value>,
    /// The machine: processor, number of cores, kernel, memory, and the CPU quota of a container.
    pub machine: BTreeMap<String, Value>,
}

/// A condition that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// Its value on each side.
    pub values: [String; 2],
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, second] = &self.values;
        write!(f, "{} {first} / {second}", self.key)
    }
}

impl Conditions {
    /// Those of a run.
    pub fn from_run(run: &Run) -> Self {
        let environment = &run.environment;
        let machine = [
            ("cpu_model", Value::from(environment.cpu_model.clone())),
            ("cores", environment.cores.into()),
            ("memory_bytes", environment.memory_bytes.into()),
            ("kernel", environment.kernel.clone().into()),
        ];
        let mut load = BTreeMap::new();
        // Plain data always has a JSON form.
        if let Some(job) = run.job.as_ref().and_then(|job| serde_json::to_value(job).ok()) {
            flatten("", &job, &mut load);
        }
        load.remove("seed");
        if let Some(url) = load.get("url").and_then(Value::as_str).map(path_of) {
            load.insert("url".to_owned(), Value::from(url));
        }
        Self {
            measured_at: run.started_at.clone(),
            paceline: run.tool.version.clone(),
            load,
            machine: machine.map(|(key, value)| (key.to_owned(), value)).into(),
        }
    }

    /// When and on which machine it was measured, and with which Paceline, in words.
    pub fn measured(&self) -> String {
        let fact = |key: &str| match self.machine.get(key) {
            Some(Value::String(text)) => text.clone(),
            other => other.map(Value::to_string).unwrap_or_default(),
        };
        let model = Some(fact("cpu_model")).filter(|model| !model.is_empty());
        format!(
            "measured {} on {}, {} cores, {}, with Paceline {}",
            self.measured_at,
            model.as_deref().unwrap_or("an unknown processor"),
            fact("cores"),
            fact("kernel"),
            self.paceline
        )
    }

    /// Adds the objective that the capacity was searched for to the load: a capacity for another one is another figure.
    pub fn add_objective(&mut self, objective: &Objective) {
        self.load.insert(OBJECTIVE.to_owned(), Value::from(objective.to_string()));
    }

    /// What differs in the load. The objective counts if both sides have one: without it, a side has no capacity, or is
    /// of an earlier version.
    pub fn load_differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = differences(&self.load, &other.load);
        let have_objectives = [self, other].iter().all(|side| side.load.contains_key(OBJECTIVE));
        found.retain(|difference| have_objectives || difference.key != OBJECTIVE);
        found
    }

    /// What differs in the machine or the version of Paceline.
    pub fn machine_differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = differences(&self.machine, &other.machine);
        if self.paceline != other.paceline {
            let values = [self.paceline.clone(), other.paceline.clone()];
            found.push(Difference { key: "paceline".to_owned(), values });
        }
        found
    }
}

/// The path and query of a URL: a baseline's server may have had another port.
fn path_of(url: &str) -> String {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    after_scheme.find('/').map_or("/", |start| &after_scheme[start..]).to_owned()
}

/// Adds the leaves of a value below a key: `loop.kind`.
fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(&below(name), value, into)),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| flatten(&below(&index.to_string()), value, into));
        }
        leaf => _ = into.insert(key.to_owned(), leaf.clone()),
    }
}

fn differences(first: &BTreeMap<String, Value>, second: &BTreeMap<String, Value>) -> Vec<Difference> {
    let keys: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let shown = |value: Option<&Value>| match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    // A quota of `null` is no quota, and an observation that does not know it has none to compare.
    let of = |values: &BTreeMap<String, Value>, key: &str| {
        values.get(key).filter(|value| !value.is_null()).cloned()
    };
    let differs = |key: &&String| of(first, key) != of(second, key);
    keys.into_iter()
        .filter(differs)
        .map(|key| Difference { key: key.clone(), values: [shown(first.get(key)), shown(second.get(key))] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_compared_by_its_settings_and_not_by_its_address() {
        let load = |text: &str| {
            let mut load = BTreeMap::new();
            flatten("", &serde_json::from_str(text).unwrap(), &mut load);
            Conditions { load, paceline: "1".to_owned(), ..Conditions::default() }
        };
        let a = load(r#"{"connections":64,"loop":{"kind":"closed"},"request":[{"method":"GET"}]}"#);
        let b = load(r#"{"connections":128,"loop":{"kind":"open","rate":5},"request":[{"method":"GET"}]}"#);
        let found: Vec<String> = a.load_differences(&b).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["connections 64 / 128", "loop.kind closed / open", "loop.rate none / 5"]);
        assert!(a.load_differences(&a.clone()).is_empty() && a.machine_differences(&b).is_empty());
        assert_eq!([path_of("http://127.0.0.1:80/a?b=1"), path_of("https://host")], ["/a?b=1", "/"]);
    }

    #[test]
    fn capacities_for_different_objectives_are_of_different_loads() {
        let of = |objective: &str| {
            let mut conditions = Conditions::default();
            conditions.add_objective(&Objective::parse(objective).unwrap());
            conditions
        };
        let found = of("response.p99<10ms").load_differences(&of("response.p99<50ms"));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["objective response.p99<10ms / response.p99<50ms"]);
        assert!(of("response.p99<10ms").load_differences(&of("response.p99<10ms")).is_empty());
        assert!(of("response.p99<10ms").load_differences(&Conditions::default()).is_empty(), "no capacity");
    }

    #[test]
    fn another_machine_or_version_is_named() {
        let on = |cores: u32, version: &str| Conditions {
            machine: [("cores".to_owned(), Value::from(cores))].into(),
            paceline: version.to_owned(),
            ..Conditions::default()
        };
        let found = on(2, "0.1.0").machine_differences(&on(4, "0.2.0"));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["cores 2 / 4", "paceline 0.1.0 / 0.2.0"]);
    }
}
