//! Verdicts on a row: what the launches of one cell have to say about being taken together.
//!
//! Reports ask, since a row is made when a round is read and kept nowhere. Pure functions of the runs, as all verdicts;
//! what one of the launches says for itself is judged in `run` and `trial`.

use super::{Blame, Severity, Verdict};
use crate::{Run, Tool};
use std::collections::BTreeSet;

/// What is to be known about a row that is made of these runs, beside the verdicts on each.
pub fn of_row<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Verdict> {
    generator_changed(runs).into_iter().collect()
}

fn generator_changed<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<Verdict> {
    let name = |Tool { name, version, commit }: &Tool| {
        let commit = commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        format!("{name} {version}{commit}")
    };
    let tools: BTreeSet<String> = runs.into_iter().map(|run| name(&run.tool)).collect();
    (tools.len() > 1).then(|| {
        Verdict::new("generator_changed", Blame::User, Severity::Caution)
            .with("tools", Vec::from_iter(tools).into())
            .remedy("its launches were not all measured by the same build of the generator, so that what they differ by is not the server's alone: measure all of them with one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn launches_of_two_builds_are_told() {
        let tool = |version: &str, commit: Option<&str>| Tool {
            name: "paceline".to_owned(),
            version: version.to_owned(),
            commit: commit.map(str::to_owned),
        };
        let names = |tools: &[Tool]| -> Vec<String> {
            let runs: Vec<Run> =
                tools.iter().map(|tool| Run { tool: tool.clone(), ..made_up::run(0) }).collect();
            of_row(&runs).into_iter().map(|verdict| verdict.name).collect()
        };
        let first = tool("0.1.0", Some("1fa9ae1"));
        assert_eq!(names(&[first.clone(), first.clone()]), [] as [&str; 0]);
        for other in [tool("0.1.0", Some("adbce85")), tool("0.2.0", Some("1fa9ae1")), tool("0.1.0", None)] {
            assert_eq!(names(&[first.clone(), other]), ["generator_changed"]);
        }
    }
}
