//! A side of a comparison that is measured now: one observation after another.

use super::compare_flags::CompareFlags;
use super::{ExperimentContext, ExperimentTarget, OpenTarget};
use paceline_experiment::{
    CapacityPlan, ComparedSide, LoadError, LoadRequest, LoadResult, LoadRunner as _, LoadServerUse,
    Objective, find_capacity,
};
use std::time::Duration;

/// Window limit of a capacity search that is one of many observations.
const MAX_SEARCH_WINDOWS: usize = 30;
/// Half of the interval width to reach, as a share; the scatter between launches is added to it.
const SEARCH_HALF_WIDTH: f64 = 0.05;

/// A side that is measured now. A server of the lab is started for each observation; a URL is loaded as it is.
pub(super) struct MeasuredSide<'a> {
    context: &'a ExperimentContext,
    target: ExperimentTarget,
    request: LoadRequest,
    prefix: String,
    launches: usize,
    url: Option<OpenTarget>,
    objective: Option<Objective>,
}

impl<'a> MeasuredSide<'a> {
    pub(super) fn open(
        context: &'a ExperimentContext,
        flags: &CompareFlags,
        target: ExperimentTarget,
        prefix: &str,
    ) -> Result<Self, LoadError> {
        let request =
            LoadRequest { rate_per_s: flags.rate, warmup: context.flags.warm_up(), window: flags.window() };
        let url = match &target {
            ExperimentTarget::Url(_) => {
                let mut open = context.open(&target, prefix)?;
                warm(&mut open, context)?;
                Some(open)
            }
            ExperimentTarget::Server(_) => None,
        };
        Ok(Self {
            context,
            target,
            request,
            prefix: prefix.to_owned(),
            launches: 0,
            url,
            objective: flags.slo.clone(),
        })
    }
}

impl ComparedSide for MeasuredSide<'_> {
    fn observe(&mut self) -> Result<LoadResult, LoadError> {
        let objective = self.objective.as_ref();
        if let Some(open) = &mut self.url {
            let mut result = measure_once(open, &self.request, objective)?;
            // If the same process runs throughout, its memory is one observation, however often it is read.
            result.server = result.server.map(|server| LoadServerUse { rss_bytes: 0, ..server });
            return Ok(result);
        }
        self.launches += 1;
        let mut open = self.context.open(&self.target, &format!("{}{:02}-", self.prefix, self.launches))?;
        warm(&mut open, self.context)?;
        measure_once(&mut open, &self.request, objective)
    }
}

/// Warms a target up. A server without a valid response is measured all the same: its record says why.
fn warm(open: &mut OpenTarget, context: &ExperimentContext) -> Result<(), LoadError> {
    match open.warm(context.flags.warm_limit()) {
        Ok(_) | Err(LoadError::NoValidResponse { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One observation: a run and, if there is an objective and the run can be used, a search for the capacity.
fn measure_once(
    open: &mut OpenTarget,
    request: &LoadRequest,
    objective: Option<&Objective>,
) -> Result<LoadResult, LoadError> {
    let mut result = open.load.run(request)?;
    result.start_ns = open.start_ns();
    let is_usable = result.unusable_because().is_none() && result.void_because().is_none();
    let Some(objective) = objective.filter(|_| is_usable) else { return Ok(result) };
    if let Some(conditions) = &mut result.conditions {
        conditions.add_objective(objective);
    }
    let plan = CapacityPlan {
        objective: objective.clone(),
        window: request.window,
        warmup: request.warmup,
        half_width: SEARCH_HALF_WIDTH,
        max_windows: MAX_SEARCH_WINDOWS,
        confirm: Duration::ZERO,
        curve: false,
    };
    open.load.judge_by(Some(objective.clone()));
    let capacity = find_capacity(&mut open.load, &plan, &mut |_| {})?;
    open.load.judge_by(None);
    let why = || {
        match (&capacity.ended_early, capacity.stalls_decide) {
        (Some(why), _) if why == "interrupted" => LoadError::Interrupted,
        (Some(why), _) => LoadError::Failed(format!("the search for the capacity ended early: {why}")),
        (None, Some(_)) => LoadError::Failed(
            "the capacities cannot be compared, because one is undefined: whether a window met the objective \
             depended on pauses of the server, not on the load. Find the cause of the pauses, or use longer \
             windows (--duration)"
                .to_owned(),
        ),
        (None, None) => LoadError::Failed(format!("no offered rate met {objective}")),
    }
    };
    result.capacity_per_s =
        Some(capacity.half_pass_per_s.filter(|_| capacity.ended_early.is_none()).ok_or_else(why)?);
    Ok(result)
}
