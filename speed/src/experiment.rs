//! An experiment as described in `experiments.toml`: the programs, their servers, and the numbers to show and to
//! compare.
//!
//! Pure: [`all`] reads the text and fills in defaults and peers; `run` carries an experiment out, `page` prints it.

use crate::number::{CpuScope, number};
use anyhow::{Context as _, ensure};
use paceline_peers::launchable;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

const EXPERIMENTS: &str = include_str!("../experiments.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    short: BTreeMap<String, String>,
    experiment: Vec<Experiment>,
}

/// One experiment: one section of the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// The section's heading.
    pub title: String,
    /// What it shows and how to read it, a paragraph.
    pub about: String,
    /// The server of every row that names none.
    #[serde(default = "default_server")]
    server: String,
    /// Length of a response's body, in rows that set none.
    #[serde(default = "default_body_bytes")]
    body_bytes: usize,
    /// At most so many rounds, where one takes long.
    pub rounds_most: Option<u32>,
    /// Cores without which it is skipped.
    #[serde(default)]
    pub machine_cores_least: usize,
    /// Keys of the numbers shown.
    pub numbers: Vec<String>,
    /// Whether every peer has a row too.
    #[serde(default)]
    peers: bool,
    /// What runs, in the order of every round.
    pub rows: Vec<ExperimentRow>,
    /// The numbers compared with another row's, or with a goal.
    pub comparisons: Vec<ComparisonRule>,
    /// A row that is computed instead of measured.
    pub truth: Option<FreezeModel>,
}

/// One generator against a server that is started for it.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentRow {
    /// Its name.
    pub name: String,
    /// Variables of the environment, the program and its arguments, with texts to fill in.
    pub command: String,
    /// Whose CPU time counts.
    #[serde(default)]
    pub cpu: CpuScope,
    /// The server's command. Empty: the experiment's.
    #[serde(default)]
    pub server: String,
    /// Length of a response's body. 0: the experiment's.
    #[serde(default)]
    pub body_bytes: usize,
    /// The generator's cores: `generator`, `server`, `both`, or numbers separated by commas.
    #[serde(default = "generator_core")]
    pub cores: String,
    /// The server's cores.
    #[serde(default = "server_core")]
    pub server_cores: String,
}

/// A number divided by that of another row in the same round, or alone.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonRule {
    /// The row.
    pub of: String,
    /// The row it is divided by.
    pub to: Option<String>,
    /// The key of the number.
    pub number: String,
    /// The goal: no more than this.
    pub at_most: Option<f64>,
    /// The goal: no less than this.
    pub at_least: Option<f64>,
}

impl ComparisonRule {
    /// The goal as text; empty without a goal.
    pub fn goal(&self) -> String {
        match (self.at_most, self.at_least) {
            (Some(bound), _) => format!("at most {bound}"),
            (None, Some(bound)) => format!("at least {bound}"),
            (None, None) => String::new(),
        }
    }

    /// Whether a value meets the goal.
    pub fn is_met_by(&self, value: f64) -> bool {
        self.at_most.is_none_or(|bound| value <= bound) && self.at_least.is_none_or(|bound| value >= bound)
    }
}

/// The response times of a server that freezes, computed: see `freeze`.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeModel {
    /// Requests offered per second.
    pub rate_per_s: f64,
    /// Length of a freeze.
    pub freeze_s: f64,
    /// From the start of a freeze to the start of the next.
    pub every_s: f64,
}

fn default_server() -> String {
    "{server}".to_owned()
}

fn default_body_bytes() -> usize {
    12
}

fn generator_core() -> String {
    "generator".to_owned()
}

fn server_core() -> String {
    "server".to_owned()
}

/// Every experiment in the page's order. `given` are texts to fill in beside those of the file; with `before`, each row
/// of Paceline is followed by one of the program `paceline-before`, and compared with it.
pub fn all(given: &BTreeMap<&str, String>, before: bool) -> anyhow::Result<Vec<Experiment>> {
    let ExperimentFile { short, mut experiment } =
        toml::from_str(EXPERIMENTS).context("speed/experiments.toml")?;
    for experiment in &mut experiment {
        if experiment.peers {
            add_peers(experiment);
        }
        for row in &mut experiment.rows {
            if row.server.is_empty() {
                row.server.clone_from(&experiment.server);
            }
            if row.body_bytes == 0 {
                row.body_bytes = experiment.body_bytes;
            }
            for text in [&mut row.command, &mut row.server] {
                // Short texts contain short texts, two deep.
                for _ in 0..3 {
                    *text = fill(text, short.iter().map(|(name, text)| (name.as_str(), text.as_str())));
                }
                *text = fill(text, given.iter().map(|(name, text)| (*name, text.as_str())));
            }
        }
        if before {
            add_before(experiment);
        }
        check(experiment).with_context(|| format!("speed/experiments.toml: {}", experiment.name))?;
    }
    Ok(experiment)
}

/// `text` with each `{name}` replaced.
pub fn fill<'a>(text: &str, values: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    values.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn add_peers(experiment: &mut Experiment) {
    for (peer, launch) in launchable() {
        let name = peer.name.to_owned();
        // siege writes a template of its settings into its home.
        let command = format!("HOME={{work}}/home {name} {}", launch.arguments.join(" "));
        let row = ExperimentRow {
            name: name.clone(),
            command,
            cores: generator_core(),
            server_cores: server_core(),
            ..ExperimentRow::default()
        };
        experiment.rows.push(row);
        experiment.comparisons.push(against("paceline", &name));
    }
}

fn add_before(experiment: &mut Experiment) {
    let ours = |row: &ExperimentRow| row.command.starts_with("paceline ");
    for row in std::mem::take(&mut experiment.rows) {
        if !ours(&row) {
            experiment.rows.push(row);
            continue;
        }
        let name = format!("{}, before", row.name);
        let command = row.command.replacen("paceline ", "paceline-before ", 1);
        experiment.comparisons.push(against(&row.name, &name));
        experiment.rows.extend([row.clone(), ExperimentRow { name, command, ..row }]);
    }
}

fn against(of: &str, to: &str) -> ComparisonRule {
    let number = "cpu_us".to_owned();
    ComparisonRule { of: of.to_owned(), to: Some(to.to_owned()), number, at_most: None, at_least: None }
}

fn check(experiment: &Experiment) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = experiment.rows.iter().map(|row| row.name.as_str()).collect();
    ensure!(names.len() == experiment.rows.len(), "two rows have the same name");
    let compared = experiment.comparisons.iter().flat_map(|c| [Some(&c.of), c.to.as_ref()]).flatten();
    for name in compared {
        ensure!(names.contains(name.as_str()), "a comparison names {name:?}, which is no row");
    }
    let numbers = experiment.comparisons.iter().map(|comparison| &comparison.number);
    for key in experiment.numbers.iter().chain(numbers) {
        ensure!(number(key).is_some(), "{key:?} is no number of src/number.rs");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_is_consistent() {
        let given = BTreeMap::from([("seconds", "4".to_owned())]);
        let all = all(&given, true).unwrap();
        let names: BTreeSet<&str> = all.iter().map(|experiment| experiment.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        let closed = &all[0].rows;
        assert_eq!(
            closed[1].command,
            "paceline run {url} --expect-body @{body} --format json -d 4s --warmup 0s -c 64"
        );
        assert!(closed[2].command.starts_with("paceline-before run {url}"));
        assert_eq!(closed[0].server, "floor-server --port {port} --body {body}");
        let peers = all.iter().find(|experiment| experiment.peers).unwrap();
        assert!(launchable().all(|(peer, _)| peers.rows.iter().any(|row| row.name == peer.name)));
    }

    #[test]
    fn goals_are_bounds_in_one_direction() {
        let goal = |at_most, at_least| ComparisonRule { at_most, at_least, ..against("a", "b") };
        for (comparison, text, met) in [
            (goal(Some(0.5), None), "at most 0.5", [true, true, false]),
            (goal(None, Some(0.5)), "at least 0.5", [false, true, true]),
        ] {
            assert_eq!(comparison.goal(), text);
            assert_eq!([0.4, 0.5, 0.6].map(|value| comparison.is_met_by(value)), met);
        }
        assert_eq!(goal(None, None).goal(), "");
    }
}
