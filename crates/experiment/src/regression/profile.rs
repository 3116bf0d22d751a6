//! The profiles of base and candidate beside the result of a gate: what costs more in the candidate.
//!
//! The binary measures them after the decision, in launches whose figures are no part of it.

use paceline_escape::HtmlText;
use paceline_record::Run;
use paceline_report::{FunctionChange, flame_difference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The functions that a report names.
const GROWN: usize = 3;

/// Where the CPU time of both sides goes under one load, or why that is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionProfile {
    /// The load.
    pub load: String,
    /// The functions whose own cost grew most from the base to the candidate, at most three.
    pub grown: Vec<FunctionChange>,
    /// The files of the flame graphs: base, candidate and their difference.
    pub flame_graphs: Vec<String>,
    /// Why there are no profiles, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<String>,
    /// The differential flame graph, for the page.
    #[serde(skip)]
    pub difference: Option<HtmlText>,
}

impl RegressionProfile {
    /// Compares the profiles of base and candidate; none if a run has no profile.
    pub fn of_runs(load: &str, names: [&str; 2], runs: [&Run; 2]) -> Option<Self> {
        let (difference, changes) = flame_difference(names, runs)?;
        let grown = changes.into_iter().filter(|change| change.change > 0.0).take(GROWN).collect();
        Some(Self { load: load.to_owned(), grown, difference: Some(difference), ..Self::default() })
    }

    /// The report of profiles that failed.
    pub fn failed(load: &str, failure: String) -> Self {
        Self { load: load.to_owned(), failure: Some(failure), ..Self::default() }
    }

    /// The profile in lines.
    pub(super) fn lines(&self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            return vec![format!("No profile of {}: {failure}", self.load)];
        }
        let grown = match self.grown.is_empty() {
            true => format!("Profile of {}: no function costs more CPU time than in the base.", self.load),
            false => {
                format!("Profile of {}: these functions cost more CPU time than in the base:", self.load)
            }
        };
        let functions = self.grown.iter().map(|change| format!("  {}", change.sentence()));
        let files = format!("Flame graphs: {}.", self.flame_graphs.join(", "));
        std::iter::once(grown).chain(functions).chain([files]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{CodeKind, Profile, ProfiledCall, fixture};

    fn run(calls: &[(&str, u64)]) -> Run {
        let call = |(name, samples): &(&str, u64)| ProfiledCall {
            depth: 1,
            name: (*name).to_owned(),
            code: CodeKind::User,
            samples: *samples,
        };
        let thread = ProfiledCall { depth: 0, name: "app".to_owned(), code: CodeKind::Thread, samples: 100 };
        let calls = std::iter::once(thread).chain(calls.iter().map(call)).collect();
        let profile = Some(Profile { samples: 100, calls, ..Profile::default() });
        Run { profile, server: None, ..fixture::run(0) }
    }

    #[test]
    fn the_three_functions_that_grew_most_are_named() {
        let base = run(&[("a", 10), ("b", 10), ("c", 10), ("d", 10), ("send", 60)]);
        let candidate = run(&[("a", 12), ("b", 30), ("c", 14), ("d", 20), ("send", 24)]);
        let profile = RegressionProfile::of_runs("home", ["base", "candidate"], [&base, &candidate]).unwrap();
        let names: Vec<&str> = profile.grown.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["b", "d", "c"]);
        let lines = profile.lines();
        assert_eq!(lines[1], "  b: 10.0 % before, 30.0 % after (+20.0 % of all CPU time)");
        assert!(RegressionProfile::of_runs("home", ["a", "b"], [&base, &fixture::run(0)]).is_none());
        let failed = RegressionProfile::failed("home", "perf is not installed".to_owned());
        assert_eq!(failed.lines(), ["No profile of home: perf is not installed"]);
    }
}
