//! What no plan may say, whatever the servers and workloads are.
//!
//! Asked of every plan, whether a file or flags made it, before there is a catalogue to look into. Only the first thing
//! that is wrong is told. Whether there are such servers, workloads and policies is for `resolve` to find.

use super::{Balance, Pin, PinDatabase, Plan, PlanLoad, SEED_MAX, Scale, own_capacity};
use crate::nearest;
use paceline_record::{LoopKind, VariantKind};
use std::collections::BTreeSet;

/// The forms a manifest can have.
const FORMS: [&str; 2] = ["single", "cores"];

/// A key of a load that the generator would refuse or take no notice of.
pub(super) struct Refused {
    /// Which load, from 0.
    pub load: usize,
    /// The key.
    pub key: &'static str,
    /// What is wrong, with the load's name.
    pub problem: String,
}

/// The first key that the generator would not do as it is written.
pub(super) fn refused(plan: &Plan) -> Option<Refused> {
    plan.load.iter().enumerate().find_map(|(place, load)| {
        let (key, problem) = unheard(load)?;
        Some(Refused { load: place, key, problem: format!("load `{}`: {problem}", load.name) })
    })
}

/// What of a load `paceline run` has no flag for: `-n` and `--warmup` exclude each other, `--pipeline` and
/// `--requests-per-connection` have so many bits.
fn unheard(load: &PlanLoad) -> Option<(&'static str, String)> {
    if load.requests.is_some() && load.warmup.is_some_and(|warmup| !warmup.is_zero()) {
        return Some(("warmup", "a `warmup` needs a `duration`: with `requests` there is none".into()));
    }
    let most = u32::from(u16::MAX);
    if load.depth > most {
        return Some(("depth", format!("`depth` is {}: at most {most}", load.depth)));
    }
    let requests = load.requests_per_connection.filter(|requests| *requests > u64::from(u32::MAX))?;
    let problem = format!("`requests_per_connection` is {requests}: at most {}", u32::MAX);
    Some(("requests_per_connection", problem))
}

/// The first thing wrong with `plan`, in words.
pub(super) fn check(plan: &Plan) -> Result<(), String> {
    if plan.repeats == 0 {
        return Err("`repeats` is 0: nothing would be measured".into());
    }
    if plan.seed.is_some_and(|seed| seed > SEED_MAX) {
        return Err(format!("`seed` is beyond {SEED_MAX}"));
    }
    if plan.workloads.is_empty() {
        return Err("`workloads` names none".into());
    }
    if plan.load.is_empty() {
        return Err("a plan needs at least one `[[load]]`".into());
    }
    if let Some(Scale::Factor(factor)) = plan.scale
        && !(factor > 0.0 && factor <= 1.0)
    {
        return Err(format!("`scale` is {factor}: it is above 0 and at most 1, or \"auto\""));
    }
    if plan.pool.contains(&0) {
        return Err("`pool` is at least 1".into());
    }
    if !plan.pool.is_empty() && plan.databases.is_empty() {
        return Err("`pool` needs `databases`".into());
    }
    forms(plan)?;
    select(plan)?;
    if let Some(refused) = refused(plan) {
        return Err(refused.problem);
    }
    let mut names = BTreeSet::new();
    for load in &plan.load {
        self::load(load).map_err(|problem| format!("load `{}`: {problem}", load.name))?;
        balance(load, &load.balance().or(&plan.balance()), !plan.databases.is_empty())
            .map_err(|problem| format!("load `{}`: {problem}", load.name))?;
    }
    let expanded = plan.expanded();
    own_capacity::check_bases(&expanded)?;
    for load in expanded {
        if !names.insert(load.name.clone()) {
            return Err(format!("two loads are named `{}`", load.name));
        }
    }
    observed(plan, &names)
}

/// What a load says of its instances and of where they run, with what the plan says for all.
fn balance(load: &PlanLoad, balance: &Balance, has_database: bool) -> Result<(), String> {
    if balance.instances == Some(0) {
        return Err("`instances` is at least 1".into());
    }
    let pin = balance.pin.unwrap_or_default();
    if pin.database != PinDatabase::Own && !has_database {
        return Err("`pin` of a database needs `databases`".into());
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
    if load.first_run || !load.twins.is_empty() {
        return Err("a balanced load has its direct twin and no other: make a second load".into());
    }
    match balance.fault {
        Some(_) if balance.instances.unwrap_or(1) < 2 => Err("`fault` needs two `instances` or more".into()),
        Some(_) if load.duration.is_none() => Err("`fault` needs a `duration`, to know its middle".into()),
        _ => Ok(()),
    }
}

/// What the source observed names a load and a workload that the plan has.
fn observed(plan: &Plan, loads: &BTreeSet<String>) -> Result<(), String> {
    for seen in &plan.observed {
        if let Some(load) = seen.load.as_ref().filter(|load| !loads.contains(*load)) {
            let near = nearest(load, loads.iter().map(String::as_str));
            let hint = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
            return Err(format!(
                "`observed` of {} names the load `{load}`, which the plan has not{hint}",
                seen.subject
            ));
        }
        if let Some(workload) = &seen.workload
            && !plan.has_workload(workload)
        {
            return Err(format!(
                "`observed` of {} names the workload `{workload}`, which the plan has not",
                seen.subject
            ));
        }
    }
    Ok(())
}

fn forms(plan: &Plan) -> Result<(), String> {
    if plan.forms.is_empty() {
        return Err("`forms` names none".into());
    }
    for (index, form) in plan.forms.iter().enumerate() {
        if !FORMS.contains(&form.as_str()) {
            let near = nearest(form, FORMS).unwrap_or("single");
            return Err(format!("unknown form `{form}`; the nearest is `{near}`"));
        }
        if plan.forms[..index].contains(form) {
            return Err(format!("`forms` names `{form}` twice"));
        }
    }
    Ok(())
}

fn select(plan: &Plan) -> Result<(), String> {
    let patterns = plan.select.servers.iter().chain(&plan.select.exclude);
    for pattern in patterns {
        glob::Pattern::new(pattern).map_err(|error| format!("`{pattern}` is no pattern: {}", error.msg))?;
    }
    Ok(())
}

fn load(load: &PlanLoad) -> Result<(), String> {
    if load.name.is_empty() || load.name.contains('/') {
        return Err("a name is not empty and holds no `/`".into());
    }
    if load.connections == 0 || load.depth == 0 {
        return Err("`connections` and `depth` are at least 1".into());
    }
    shape(load)?;
    own_capacity::check(load)?;
    match (load.duration, load.requests) {
        (Some(duration), None) if duration.is_zero() => return Err("`duration` is 0".into()),
        (None, Some(0)) => return Err("`requests` is 0".into()),
        (Some(_), None) | (None, Some(_)) => {}
        _ => return Err("needs either `duration` or `requests`".into()),
    }
    match load.rate_per_s {
        Some(rate) if !(rate.is_finite() && rate > 0.0) => Err("`rate_per_s` is not above 0".into()),
        None if load.arrivals.is_some() && load.kind() == LoopKind::Closed => {
            Err("`arrivals` needs a `rate_per_s`: a closed loop has none".into())
        }
        _ => Ok(()),
    }
}

/// How a load uses its connections, and its twins.
fn shape(load: &PlanLoad) -> Result<(), String> {
    if let Some(http) = load.http.as_ref().filter(|http| !["1.0", "1.1", "2"].contains(&http.as_str())) {
        return Err(format!("`http` is {http:?}; use \"1.0\", \"1.1\" or \"2\""));
    }
    if load.requests_per_connection == Some(0) {
        return Err("`requests_per_connection` is at least 1".into());
    }
    let closes = !load.keep_alive || load.requests_per_connection.is_some();
    let is_old = load.http.as_deref() == Some("1.0");
    if !load.keep_alive && load.requests_per_connection.is_some() {
        return Err(
            "`keep_alive = false` is one request a connection: leave `requests_per_connection` out".into()
        );
    }
    if load.depth > 1 && (closes || is_old) {
        return Err("a `depth` needs HTTP/1.1 or HTTP/2 and connections that stay open".into());
    }
    if load.is_http2() && closes {
        return Err("`http = \"2\"` needs connections that stay open".into());
    }
    for twin in &load.twins {
        let problem = match twin {
            VariantKind::Http10 if is_old => Some("speaks HTTP/1.0 already"),
            VariantKind::Http10 | VariantKind::Close if load.is_http2() => Some("speaks HTTP/2"),
            VariantKind::Http10 | VariantKind::Close if load.depth > 1 => {
                Some("is pipelined, which its twin cannot be: make a load of its own")
            }
            VariantKind::Close if closes => Some("closes its connections already"),
            VariantKind::Unpipelined if load.depth == 1 => Some("is not pipelined"),
            VariantKind::FirstRun => Some("has its first run by `first_run = true`"),
            VariantKind::Balanced => Some("has its balanced twin by `balancer`"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(format!("the twin `{}`: the load {problem}", twin.suffix()));
        }
    }
    Ok(())
}
