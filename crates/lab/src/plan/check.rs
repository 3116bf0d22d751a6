//! What no plan may say, whatever the servers and workloads are.

use super::{Plan, PlanLoad, SEED_MAX};
use crate::nearest;
use std::collections::BTreeSet;

/// The forms a manifest can have.
const FORMS: [&str; 2] = ["single", "cores"];

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
    forms(plan)?;
    select(plan)?;
    let mut names = BTreeSet::new();
    for load in &plan.load {
        self::load(load).map_err(|problem| format!("load `{}`: {problem}", load.name))?;
        if !names.insert(&load.name) {
            return Err(format!("two loads are named `{}`", load.name));
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
    match (load.duration, load.requests) {
        (Some(duration), None) if duration.is_zero() => return Err("`duration` is 0".into()),
        (None, Some(0)) => return Err("`requests` is 0".into()),
        (Some(_), None) | (None, Some(_)) => {}
        _ => return Err("needs either `duration` or `requests`".into()),
    }
    match load.rate_per_s {
        Some(rate) if !(rate.is_finite() && rate > 0.0) => Err("`rate_per_s` is not above 0".into()),
        None if load.arrivals.is_some() => {
            Err("`arrivals` needs a `rate_per_s`: a closed loop has none".into())
        }
        _ => Ok(()),
    }
}
