//! A plan from flags: `paceline round --servers 'go-*' --workloads hello --repeats 3`.
//!
//! The binary's `round/open.rs` fills it in if no plan is named. The result is checked and carried out like any other
//! plan. It has fewer options than a file: twins, balancers, budgets and observations of a source have no flag.

use super::{Plan, PlanLoad, Select, check};
use crate::CatalogueError;
use std::time::Duration;

/// The flags of an ad-hoc round; the defaults are in [`AdHoc::default`].
#[derive(Clone, Debug, PartialEq)]
pub struct AdHoc {
    /// Which servers.
    pub select: Select,
    /// The workloads, as in a plan.
    pub workloads: Vec<String>,
    /// The databases, for workloads that need one.
    pub databases: Vec<String>,
    /// The forms.
    pub forms: Vec<String>,
    /// Launches of each server.
    pub repeats: u32,
    /// Connections of each load.
    pub connections: u32,
    /// Limit of outstanding requests per connection.
    pub depth: u32,
    /// Rates to offer; empty for a closed loop alone.
    pub rates_per_s: Vec<f64>,
    /// Length of each window.
    pub duration: Duration,
    /// Length of each warm-up.
    pub warmup: Duration,
    /// The seed of every order, if given.
    pub seed: Option<u64>,
}

impl Default for AdHoc {
    /// All idiomatic servers, `hello`, three launches each, a closed loop of 64 connections for 3 s after 1 s.
    fn default() -> Self {
        Self {
            select: Select { tags: vec!["idiomatic".into()], ..Select::default() },
            workloads: vec!["hello".into()],
            databases: Vec::new(),
            forms: vec!["single".into()],
            repeats: 3,
            connections: 64,
            depth: 1,
            rates_per_s: Vec::new(),
            duration: Duration::from_secs(3),
            warmup: Duration::from_secs(1),
            seed: None,
        }
    }
}

impl AdHoc {
    /// The plan of these flags, named `ad-hoc`.
    ///
    /// # Errors
    /// [`CatalogueError::Plan`] when the flags contradict each other or select nothing.
    pub fn plan(self) -> Result<Plan, CatalogueError> {
        let load = self.loads();
        let plan = Plan {
            name: "ad-hoc".into(),
            about: "From the command line.".into(),
            seed: self.seed,
            repeats: self.repeats,
            forms: self.forms,
            workloads: self.workloads,
            databases: self.databases,
            select: self.select,
            load,
            ..Plan::default()
        };
        let problems = check::problems(&plan).into_iter().map(|problem| plan.wrong(problem.text)).collect();
        CatalogueError::of_all(problems).map_or(Ok(plan), Err)
    }

    fn loads(&self) -> Vec<PlanLoad> {
        if self.rates_per_s.is_empty() {
            return vec![self.load(format!("closed-{}", self.connections), None)];
        }
        let named = |rate: &f64| self.load(format!("open-{rate}"), Some(*rate));
        self.rates_per_s.iter().map(named).collect()
    }

    fn load(&self, name: String, rate_per_s: Option<f64>) -> PlanLoad {
        PlanLoad {
            name,
            connections: self.connections,
            depth: self.depth,
            rate_per_s,
            duration: Some(self.duration),
            warmup: Some(self.warmup),
            keep_alive: true,
            ..PlanLoad::default()
        }
    }
}
