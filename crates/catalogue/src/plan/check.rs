//! Reading a plan, with the checks that do not depend on servers and workloads.
//!
//! For every plan, from a file or from flags, before a catalogue is read. All problems are reported at once; those that
//! follow from the loads, such as duplicate names, are checked once each load is valid. `resolve` checks that servers,
//! workloads and policies exist.

use super::{MAX_SEED, Plan, Scale};
use crate::document::Document;
use crate::error::MAX_ERRORS;
use crate::{CatalogueError, nearest};
use std::collections::BTreeSet;
use std::path::Path;

impl Plan {
    /// Reads the plan in the file at `path`.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown, wrong or contradicts another;
    /// [`CatalogueError::File`] when it cannot be read.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        Self::from_document(&Document::read(path)?)
    }

    /// Reads a plan from its text; `origin` replaces the file's name in an error.
    ///
    /// # Errors
    /// As [`Plan::read`].
    pub fn parse(origin: &str, text: &str) -> Result<Self, CatalogueError> {
        Self::from_document(&Document::from_text(Path::new(origin), text))
    }

    fn from_document(document: &Document) -> Result<Self, CatalogueError> {
        let plan = document.parse::<Self>()?;
        let complain = |problem: PlanProblem| {
            let place = match problem.load {
                // The key may be the plan's, or one that is missing.
                Some(load) => document
                    .place_in("load", load, problem.key)
                    .or_else(|| document.place_in("load", load, "name")),
                None => document.place_of(problem.key),
            };
            document.complain(place, problem.text)
        };
        CatalogueError::of_each(problems(&plan), complain).map_or(Ok(plan), Err)
    }
}

/// One problem of a plan.
pub(super) struct PlanProblem {
    /// The load to blame, from 0; `None` for the plan's own keys.
    pub load: Option<usize>,
    /// The key to blame.
    pub key: &'static str,
    /// What is wrong, with the load's name.
    pub text: String,
}

/// Most loads of a plan, twins and databases included: several times those of a large plan. For each of two loads, the
/// checks compare them.
const MAX_LOADS: usize = 2_000;
/// Most repeats: as many as an exported round may have. Every launch of a round is planned before it begins.
const MAX_REPEATS: u32 = 1_000;
/// Most entries of any other list of a plan: some hundred times those of a large plan.
const MAX_ENTRIES: usize = 10_000;

/// All problems of `plan`. The lists of a plan that is too large are not examined.
pub(super) fn problems(plan: &Plan) -> Vec<PlanProblem> {
    let too_long = too_long(plan);
    if !too_long.is_empty() {
        return too_long;
    }
    let of_plan = |(key, text)| PlanProblem { load: None, key, text };
    let mut problems: Vec<PlanProblem> = of_values(plan).into_iter().map(of_plan).collect();
    let before = problems.len();
    for (place, load) in plan.load.iter().enumerate() {
        let found = load.planned(plan).err().into_iter().flatten();
        problems.extend(found.map(|(key, text)| {
            let text = format!("load `{}`: {text}", load.name);
            PlanProblem { load: Some(place), key, text }
        }));
    }
    if problems.len() == before {
        problems.extend(of_loads(plan).into_iter().map(of_plan));
    }
    problems
}

/// The lists that are too long: the time of the checks below, and the number of loads, grow with products of their
/// lengths.
fn too_long(plan: &Plan) -> Vec<PlanProblem> {
    let lists = [
        ("workloads", plan.workloads.len()),
        ("databases", plan.databases.len()),
        ("pool", plan.pool.len()),
        ("forms", plan.forms.len()),
        ("copies", plan.copies.len()),
        ("observed", plan.observed.len()),
    ];
    let of_plan = lists.map(|(key, length)| (None, key, length));
    let of_loads = plan.load.iter().enumerate();
    let of_loads = of_loads.map(|(place, load)| (Some(place), "workloads", load.workloads.len()));
    let lists = of_plan.into_iter().chain(of_loads).filter(|(_, _, length)| *length > MAX_ENTRIES);
    let mut problems: Vec<PlanProblem> = lists
        .map(|(load, key, length)| {
            let text = format!("`{key}` has {length} entries; the maximum is {MAX_ENTRIES}");
            PlanProblem { load, key, text }
        })
        .collect();
    let loads = plan.max_loads();
    if loads > MAX_LOADS {
        let text = format!(
            "the plan expands to {loads} loads (each load and each of its twins, with each database and pool size); the maximum is {MAX_LOADS}: split the plan, or remove twins, databases or pool sizes"
        );
        problems.push(PlanProblem { load: None, key: "load", text });
    }
    problems
}

/// Problems of the plan's own keys.
fn of_values(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    if plan.repeats == 0 {
        wrong.push(("repeats", "`repeats` is 0: nothing would be measured".into()));
    }
    for (key, repeats) in [("repeats", Some(plan.repeats)), ("full_repeats", plan.full_repeats)] {
        if let Some(repeats) = repeats.filter(|repeats| *repeats > MAX_REPEATS) {
            wrong.push((key, format!("`{key}` is {repeats}; the maximum is {MAX_REPEATS}")));
        }
    }
    if plan.seed.is_some_and(|seed| seed > MAX_SEED) {
        wrong.push(("seed", format!("`seed` is beyond the maximum of {MAX_SEED}")));
    }
    if plan.warmup.is_some() && plan.steady_within.is_some() {
        wrong.push(("warmup", "`warmup` and `steady_within` exclude each other: remove one".into()));
    }
    if plan.workloads.is_empty() {
        wrong.push(("workloads", "`workloads` is empty".into()));
    }
    if plan.load.is_empty() {
        wrong.push(("load", "a plan needs at least one `[[load]]`".into()));
    }
    if let Some(Scale::Factor(factor)) = plan.scale
        && !(factor > 0.0 && factor <= 1.0)
    {
        wrong.push((
            "scale",
            format!("`scale` is {factor}; write a number above 0 and at most 1, or \"auto\""),
        ));
    }
    if plan.pool.contains(&0) {
        wrong.push(("pool", "`pool` must be at least 1".into()));
    }
    if !plan.pool.is_empty() && plan.databases.is_empty() {
        wrong.push(("pool", "`pool` needs `databases`".into()));
    }
    wrong.extend(forms(plan).into_iter().map(|text| ("forms", text)));
    wrong.extend(patterns(plan).map(|text| ("select", text)));
    wrong
}

/// Problems of the loads together.
fn of_loads(plan: &Plan) -> Vec<(&'static str, String)> {
    let expanded = match plan.expanded() {
        Ok(expanded) => expanded,
        Err(problem) => return vec![("load", problem)],
    };
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for load in expanded {
        if !names.insert(load.name.clone()) {
            wrong.push(("load", format!("two loads are named `{}`", load.name)));
        }
    }
    wrong.extend(observed(plan, &names).into_iter().map(|text| ("observed", text)));
    wrong
}

/// Observations of the source must name a load and a workload of the plan. Only problems that are listed have a hint:
/// one compares the name with every load.
fn observed(plan: &Plan, loads: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    let workloads = plan.workload_names();
    for seen in &plan.observed {
        if let Some(load) = seen.load.as_ref().filter(|load| !loads.contains(*load)) {
            let known = loads.iter().map(String::as_str).filter(|_| wrong.len() < MAX_ERRORS);
            let near = nearest(load, known);
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            wrong.push(format!("`observed` entry for {}: the plan has no load `{load}`{hint}", seen.subject));
        }
        if let Some(workload) = seen.workload.as_ref().filter(|workload| !workloads.have(workload)) {
            wrong.push(format!(
                "`observed` entry for {}: the plan has no workload `{workload}`",
                seen.subject
            ));
        }
    }
    wrong
}

fn forms(plan: &Plan) -> Vec<String> {
    let mut wrong = Vec::new();
    if plan.forms.is_empty() {
        wrong.push("`forms` is empty".into());
    }
    let mut known = BTreeSet::new();
    for form in &plan.forms {
        if !known.insert(form) {
            wrong.push(format!("`forms` names `{form}` twice"));
        }
    }
    wrong
}

fn patterns(plan: &Plan) -> impl Iterator<Item = String> {
    let patterns = plan.select.servers.iter().chain(&plan.select.exclude);
    patterns.filter_map(|pattern| {
        let error = glob::Pattern::new(pattern).err()?;
        Some(format!("`{pattern}` is not a valid pattern: {}", error.msg))
    })
}
