//! Reading a plan, with the checks that do not depend on servers and workloads.
//!
//! For every plan, from a file or from flags, before a catalogue is read. All problems are reported at once; those that
//! follow from the loads, such as duplicate names, are checked once each load is valid. `resolve` checks that servers,
//! workloads and policies exist.

use super::{Balance, MAX_SEED, Pin, PinDatabase, Plan, PlanLoad, Scale, own_capacity};
use crate::document::Document;
use crate::error::MAX_ERRORS;
use crate::{CatalogueError, nearest};
use paceline_record::{LoopKind, VariantKind};
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
                Some(load) => document.place_in("load", load, problem.key),
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
        let found =
            unsupported_setting(load).into_iter().chain(of_load(plan, load).map(|text| ("name", text)));
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
    let loads = plan.loads_most();
    if loads > MAX_LOADS {
        let text = format!(
            "the plan expands to {loads} loads (each load and each of its twins, with each database and pool size); the maximum is {MAX_LOADS}: split the plan, or remove twins, databases or pool sizes"
        );
        problems.push(PlanProblem { load: None, key: "load", text });
    }
    problems
}

/// Settings of a load that `paceline run` has no flag for: `-n` and `--warmup` exclude each other, `--pipeline` and
/// `--requests-per-connection` are limited in size.
fn unsupported_setting(load: &PlanLoad) -> Option<(&'static str, String)> {
    if load.requests.is_some() && load.warmup.is_some_and(|warmup| !warmup.is_zero()) {
        return Some(("warmup", "`warmup` needs `duration`: a load with `requests` has no warm-up".into()));
    }
    let most = u32::from(u16::MAX);
    if load.depth > most {
        return Some(("depth", format!("`depth` is {}; the maximum is {most}", load.depth)));
    }
    let requests = load.requests_per_connection.filter(|requests| *requests > u64::from(u32::MAX))?;
    let problem = format!("`requests_per_connection` is {requests}; the maximum is {}", u32::MAX);
    Some(("requests_per_connection", problem))
}

/// Problems of the plan's own keys.
fn of_values(plan: &Plan) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    if plan.repeats == 0 {
        wrong.push(("repeats", "`repeats` is 0: nothing would be measured".into()));
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

/// Problems of a load, given the plan's values for all loads.
fn of_load(plan: &Plan, load: &PlanLoad) -> impl Iterator<Item = String> + use<> {
    let mut wrong = Vec::new();
    if load.name.is_empty() || load.name.contains('/') {
        wrong.push("a name must not be empty or contain `/`".into());
    }
    if load.connections == 0 || load.depth == 0 {
        wrong.push("`connections` and `depth` must be at least 1".into());
    }
    let others = [
        shape(load),
        tool(load),
        own_capacity::check(load),
        length(load),
        rate(load),
        balance(load, &load.balance().or(&plan.balance()), !plan.databases.is_empty()),
    ];
    wrong.extend(others.into_iter().filter_map(Result::err));
    wrong.extend(twins(load));
    wrong.into_iter()
}

/// Problems of the loads together.
fn of_loads(plan: &Plan) -> Vec<(&'static str, String)> {
    let expanded = plan.expanded();
    let mut wrong: Vec<_> =
        own_capacity::check_bases(&expanded).err().map(|text| ("load", text)).into_iter().collect();
    let mut names = BTreeSet::new();
    for load in expanded {
        if !names.insert(load.name.clone()) {
            wrong.push(("load", format!("two loads are named `{}`", load.name)));
        }
    }
    wrong.extend(observed(plan, &names).into_iter().map(|text| ("observed", text)));
    wrong
}

/// Problems of a load's instances and pinning, with the plan's values for all.
fn balance(load: &PlanLoad, balance: &Balance, has_database: bool) -> Result<(), String> {
    if balance.instances == Some(0) {
        return Err("`instances` must be at least 1".into());
    }
    let pin = balance.pin.unwrap_or_default();
    if pin.database != PinDatabase::Own && !has_database {
        return Err("`pin` assigns cores to a database, but the plan has no `databases`".into());
    }
    if balance.balancer.is_none() {
        let is_of_database = has_database && Pin { database: PinDatabase::Own, ..pin } == Pin::default();
        let alone = [
            ("instances", balance.instances.is_some_and(|instances| instances > 1)),
            ("policy", balance.policy.is_some()),
            ("fault", balance.fault.is_some()),
            ("pin", balance.pin.is_some() && !is_of_database),
        ];
        return match alone.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(format!("`{key}` needs a `balancer`: haproxy or nginx")),
            None => Ok(()),
        };
    }
    if load.uses_tls() {
        return Err(
            "TLS and `http = \"3\"` cannot be combined with a `balancer`, which has no certificate".into()
        );
    }
    if load.first_run || !load.twins.is_empty() {
        return Err(
            "`first_run` and `twins` cannot be combined with a `balancer`: write a second load without one (if the `balancer` is set for the whole plan, move it to the loads that need it)"
                .into(),
        );
    }
    match balance.fault {
        Some(_) if balance.instances.unwrap_or(1) < 2 => Err("`fault` needs at least two `instances`".into()),
        Some(_) if load.duration.is_none() => {
            Err("`fault` needs a `duration`: the fault happens in the middle of the window".into())
        }
        _ => Ok(()),
    }
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

/// The end of the window.
fn length(load: &PlanLoad) -> Result<(), String> {
    match (load.duration, load.requests) {
        (Some(duration), None) if duration.is_zero() => Err("`duration` is 0".into()),
        (None, Some(0)) => Err("`requests` is 0".into()),
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (None, None) if load.is_search() => Ok(()), // `own_capacity` checks the keys of a search
        _ => Err("exactly one of `duration` and `requests` is needed".into()),
    }
}

fn rate(load: &PlanLoad) -> Result<(), String> {
    match load.rate_per_s {
        Some(rate) if !(rate.is_finite() && rate > 0.0) => Err("`rate_per_s` must be above 0".into()),
        None if load.arrivals.is_some() && load.kind() == LoopKind::Closed => {
            Err("`arrivals` needs `rate_per_s` or `rate`: a closed loop has no arrival times".into())
        }
        _ => Ok(()),
    }
}

/// How a load uses its connections.
fn shape(load: &PlanLoad) -> Result<(), String> {
    const VERSIONS: [&str; 4] = ["1.0", "1.1", "2", "3"];
    if let Some(http) = load.http.as_ref().filter(|http| !VERSIONS.contains(&http.as_str())) {
        return Err(format!("`http` is {http:?}; use \"1.0\", \"1.1\", \"2\" or \"3\""));
    }
    if load.requests_per_connection == Some(0) {
        return Err("`requests_per_connection` must be at least 1".into());
    }
    if !load.keep_alive && load.requests_per_connection.is_some() {
        return Err(
            "`keep_alive = false` means one request per connection: remove `requests_per_connection`".into(),
        );
    }
    if load.depth > 1 && (closes(load) || load.is_http("1.0")) {
        return Err(
            "`depth` above 1 needs HTTP/1.1, 2 or 3, with keep-alive and without `requests_per_connection`"
                .into(),
        );
    }
    if load.has_streams() && closes(load) {
        return Err(format!(
            "`http = {:?}` needs keep-alive and cannot be combined with `requests_per_connection`",
            load.http.as_deref().unwrap_or_default()
        ));
    }
    Ok(())
}

/// A load that another generator's command line describes: it is a plain one.
fn tool(load: &PlanLoad) -> Result<(), String> {
    if load.tool.is_none() {
        return Ok(());
    }
    let others = [
        ("depth", load.depth > 1),
        ("rate", load.rate.is_some()),
        ("load", load.is_search()),
        ("arrivals", load.arrivals.is_some()),
        ("warmup", load.warmup.is_some()),
        ("http", load.http.is_some()),
        ("tls", load.tls),
        ("requests_per_connection", load.requests_per_connection.is_some()),
        ("first_run", load.first_run),
        ("twins", !load.twins.is_empty()),
        ("fault", load.fault.is_some()),
    ];
    match others.iter().find(|(_, given)| *given) {
        Some((key, _)) => {
            Err(format!("`{key}` cannot be combined with `tool`, whose command line describes the load"))
        }
        None => Ok(()),
    }
}

fn closes(load: &PlanLoad) -> bool {
    !load.keep_alive || load.requests_per_connection.is_some()
}

/// Invalid twins of a load.
fn twins(load: &PlanLoad) -> impl Iterator<Item = String> {
    load.twins.iter().filter_map(|twin| {
        let problem = match twin {
            VariantKind::Http10 if load.is_http("1.0") => "the load already uses HTTP/1.0",
            VariantKind::Http10 | VariantKind::Close if load.has_streams() => {
                "the load uses HTTP/2 or HTTP/3, and this twin needs a load with HTTP/1.1"
            }
            VariantKind::Http10 | VariantKind::Close if load.depth > 1 => {
                "the load is pipelined (`depth` above 1), and this twin cannot be: write a separate load with `depth = 1`"
            }
            VariantKind::Close if closes(load) => "the load already closes each connection after one response",
            VariantKind::Unpipelined if load.depth == 1 => "the load is not pipelined (`depth` is 1)",
            VariantKind::FirstRun => "write a separate load with `first_run = true`",
            VariantKind::Balanced => "write a separate load with `balancer`",
            _ => return None,
        };
        Some(format!("`twins` cannot contain `{}`: {problem}", twin.suffix()))
    })
}
