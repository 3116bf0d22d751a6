//! Narrows a plan to some of its servers and workloads, as requested by flags.
//!
//! For `paceline round PLAN --servers ...`. It only removes: a name that the plan does not have is an error, like a
//! name that does not exist. Removals are reported, and include the loads and observations of removed workloads.

use super::{Plan, PlanLoad, Select};
use crate::{Catalogue, CatalogueError, WorkloadCase};
use paceline_record::Observation;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The workloads and cases that a plan names.
pub(super) struct WorkloadNames<'a> {
    as_written: BTreeSet<&'a str>,
    /// Without their cases.
    whole: BTreeSet<&'a str>,
}

impl WorkloadNames<'_> {
    /// Whether a workload or one of its cases is measured, as a whole or by a case.
    pub(super) fn have(&self, name: &str) -> bool {
        self.as_written.contains(name) || self.as_written.contains(whole(name)) || self.whole.contains(name)
    }
}

/// The workload of a case.
fn whole(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

impl Plan {
    /// The plan with only the servers that match one of the patterns `servers`, and only `workloads`; an empty list
    /// keeps all. Also returns messages about the changes.
    ///
    /// # Errors
    /// [`CatalogueError::Unknown`] for a server that does not exist; [`CatalogueError::Plan`] for one that the plan
    /// does not select, a workload that it does not have, or one that none of its loads is for.
    pub fn narrowed(
        mut self,
        servers: &[String],
        workloads: &[String],
        catalogue: &Catalogue,
    ) -> Result<(Self, Vec<String>), CatalogueError> {
        let mut changes = Vec::new();
        if !servers.is_empty() {
            self.select.servers = self.narrowed_servers(servers, catalogue)?;
            changes.push(format!("only servers {}", servers.join(", ")));
        }
        if !workloads.is_empty() {
            let left = self.narrowed_cases(workloads, catalogue)?;
            self.load = self.narrowed_loads(&left, workloads, catalogue)?;
            self.workloads = left;
            let unseen = match self.forget_unseen()? {
                0 => "",
                _ => ", without the published figures for other workloads",
            };
            changes.push(format!("only workloads {}{unseen}", workloads.join(", ")));
        }
        Ok((self, changes))
    }

    /// Removes observations of loads or workloads that the plan no longer has; returns how many.
    pub(super) fn forget_unseen(&mut self) -> Result<usize, CatalogueError> {
        let loads = self.expanded().map_err(|problem| self.wrong(problem))?;
        let loads: BTreeSet<String> = loads.into_iter().map(|load| load.name).collect();
        let (before, observed) = (self.observed.len(), std::mem::take(&mut self.observed));
        let workloads = self.workload_names();
        let is_left = |seen: &Observation| {
            seen.load.as_ref().is_none_or(|load| loads.contains(load))
                && seen.workload.as_ref().is_none_or(|workload| workloads.have(workload))
        };
        let left = observed.into_iter().filter(is_left).collect();
        self.observed = left;
        Ok(before - self.observed.len())
    }

    /// The names of what it measures.
    pub(super) fn workload_names(&self) -> WorkloadNames<'_> {
        let names = self.workloads.iter().map(String::as_str);
        WorkloadNames { whole: names.clone().map(whole).collect(), as_written: names.collect() }
    }

    /// The remaining ids, as patterns.
    fn narrowed_servers(
        &self,
        patterns: &[String],
        catalogue: &Catalogue,
    ) -> Result<Vec<String>, CatalogueError> {
        let mut ids = Vec::new();
        for pattern in patterns {
            let wanted = Select { servers: vec![pattern.clone()], ..Select::default() };
            let fitting = catalogue.servers.iter().filter(|server| wanted.admits(server));
            let left: Vec<String> = fitting
                .filter(|server| self.select.admits(server))
                .map(|server| glob::Pattern::escape(&server.id))
                .collect();
            if left.is_empty() {
                catalogue.servers_named(std::slice::from_ref(pattern))?;
                return Err(self.wrong(format!("no server that the plan selects matches `{pattern}`")));
            }
            ids.extend(left);
        }
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// The addresses of the remaining cases.
    fn narrowed_cases(
        &self,
        workloads: &[String],
        catalogue: &Catalogue,
    ) -> Result<Vec<String>, CatalogueError> {
        let own = addresses(self.cases(&self.workloads, catalogue)?);
        let mut left: Vec<String> = Vec::new();
        for name in workloads {
            let meant = addresses(self.cases(std::slice::from_ref(name), catalogue)?);
            let mut meant: Vec<String> = meant.into_iter().filter(|address| own.contains(address)).collect();
            if meant.is_empty() {
                let has = self.workloads.join(", ");
                return Err(
                    self.wrong(format!("the plan has no workload `{name}`; its workloads are: {has}"))
                );
            }
            meant.retain(|address| !left.contains(address));
            left.append(&mut meant);
        }
        Ok(left)
    }

    /// The loads that are for some of the cases that are `left`.
    fn narrowed_loads(
        &self,
        left: &[String],
        workloads: &[String],
        catalogue: &Catalogue,
    ) -> Result<Vec<PlanLoad>, CatalogueError> {
        let mut loads = Vec::new();
        for load in &self.load {
            let own = addresses(self.cases(&load.workloads, catalogue)?);
            let still: Vec<String> = own.into_iter().filter(|address| left.contains(address)).collect();
            if load.workloads.is_empty() || !still.is_empty() {
                loads.push(PlanLoad { workloads: still, ..load.clone() });
            }
        }
        if loads.is_empty() {
            return Err(self.wrong(format!("no load of the plan uses workload {}", workloads.join(", "))));
        }
        Ok(loads)
    }
}

fn addresses(cases: Vec<Arc<WorkloadCase>>) -> Vec<String> {
    cases.into_iter().map(|case| case.address.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MANIFEST, TestTree};

    const PLAN: &str = "name = \"p\"\nrepeats = 1\nworkloads = [\"hello\", \"tetra/3\"]\n\
                        [select]\ntags = [\"idiomatic\"]\n\
                        [[load]]\nname = \"both\"\nconnections = 1\nduration = \"1s\"\n\
                        [[load]]\nname = \"own\"\nconnections = 1\nduration = \"1s\"\nworkloads = [\"hello\"]\n\
                        [[observed]]\nsource = \"001\"\nsubject = \"Go\"\nload = \"own\"\nworkload = \"hello\"\n\
                        what = \"requests_per_s\"\nvalue = 1.0\nunit = \"requests/s\"\n";

    /// The cells of the narrowed plan, and the messages.
    fn narrowed(servers: &[&str], workloads: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
        let tree = TestTree::with(&["a-one", "a-two", "b-one"]);
        tree.write("servers/b-tuned/server.toml", &MANIFEST.replace("\"idiomatic\"", "\"tuned\""));
        let catalogue = tree.catalogue();
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (plan, changes) = Plan::parse("p.toml", PLAN)
            .unwrap()
            .narrowed(&owned(servers), &owned(workloads), &catalogue)
            .map_err(|error| error.to_string())?;
        // As a resumed round reads it.
        let plan = Plan::parse("kept", &plan.to_toml().unwrap()).unwrap();
        let cells = plan.resolve(&catalogue).unwrap().cells;
        Ok((cells.iter().map(|cell| cell.key().replace(" single", "")).collect(), changes))
    }

    #[test]
    fn narrowing_only_removes_servers_and_workloads() {
        let (cells, changes) = narrowed(&["*-one"], &["tetra"]).unwrap();
        assert_eq!(cells, ["a-one tetra/3 both", "b-one tetra/3 both"]);
        assert_eq!(changes[0], "only servers *-one");
        assert_eq!(changes[1], "only workloads tetra, without the published figures for other workloads");
        let (cells, changes) = narrowed(&["b-*"], &["hello"]).unwrap();
        assert_eq!(cells, ["b-one hello both", "b-one hello own"]);
        assert_eq!(changes[1], "only workloads hello");
        let (cells, changes) = narrowed(&[], &[]).unwrap();
        assert_eq!((cells.len(), changes.len()), (9, 0));
    }

    #[test]
    fn narrowing_to_unknown_names_is_an_error() {
        for (servers, workloads, reported) in [
            (&["b-tuned"][..], &[][..], "no server that the plan selects matches `b-tuned`"),
            (&["a-on"], &[], "a-one"),
            (&[], &["tetra/2"], "the plan has no workload `tetra/2`; its workloads are: hello, tetra/3"),
            (&[], &["helo"], "did you mean `hello`?"),
        ] {
            let error = narrowed(servers, workloads).unwrap_err();
            assert!(error.contains(reported), "{error}");
        }
    }
}
