//! Finds the highest offered rate at which a server meets an objective.
//!
//! A closed-loop run gives a rate that the server cannot exceed by much. Below it, windows of equal length are offered,
//! and each meets the objective or misses it. A Bayesian search (`paceline_stats::CapacitySearch`) chooses their rates
//! until the interval is narrow enough. It finds the rate at which half of such windows pass. The rate that meets the
//! objective over a long time is lower: one long window at the interval's lower end confirms it.

use crate::conditions::Conditions;
use crate::load::{
    LoadError, LoadRequest, LoadResult, LoadRunner, Range, RateUnit, RequestSummary, TimeSummary,
};
use crate::objective::Objective;
use crate::window_outcome::WindowOutcome;
use paceline_record::Limit;
use paceline_stats::{CapacitySearch, SearchEnd, SearchWindow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the result's keys.
const SCHEMA: u32 = 1;
/// Shares of the capacity at which the load-response curve is measured.
const CURVE: [f64; 8] = [0.10, 0.25, 0.40, 0.55, 0.70, 0.80, 0.90, 0.95];
/// A miss at this share of the capacity or below is a stall.
const STALL_SHARE: f64 = 0.8;
/// If every rate missed: a rate below this share of the closed loop's is no load,
const STALL_RATE_SHARE: f64 = 0.1;
/// and a p99 of this many medians there is caused by a pause, not by the time of a request.
const STALL_TAIL: u64 = 20;
/// The knee is the rate at which the p99 response time is this many times the p99 at the lowest load.
const KNEE_FACTOR: f64 = 2.0;
/// Factor by which the rate of the long window is reduced after each miss, and the maximum number of reductions.
const LONG_STEP: f64 = 0.95;
const LONG_TRIES: usize = 4;
/// Void windows in a row (spoiled by the generator or the machine) after which the search gives up.
const MAX_VOID: usize = 6;
/// A miss during a disturbance of the generator or the machine is repeated; after this many in a row it counts.
const MAX_DISTURBED: usize = 3;
/// A miss far below the capacity is repeated this many times. If all repetitions pass, the machine paused, not the
/// server. A stall that misses half of the windows escapes this check once in four times; the curve looks for it again.
const RECHECKS: usize = 2;
/// More misses than this far below the capacity are not repeated: they are stalls.
const MAX_RECHECKED: usize = 3;
/// The note in the record on a miss that did not recur.
const ISOLATED: &str = "missed the objective once, but met it when repeated";
/// Why a search ended early if no rate missed the objective.
const ABOVE: &str = "even eight times the rate of the closed loop met the objective, so that the search began too low: \
                     repeat it when nothing else slows the closed loop, or with more connections (-c)";
/// Windows that a search takes on a quiet machine and on a noisy one, as docs/capacity-and-comparing.md says.
const WINDOWS_USUAL: [usize; 2] = [14, 30];
/// Disturbed windows cost time and give no result: with them, a search has at most this many times `max_windows`.
const WINDOWS_WITH_VOID: usize = 2;
/// The longest window that is chosen to get enough requests.
const MAX_WINDOW: Duration = Duration::from_secs(60);

/// How to find a capacity.
#[derive(Clone, Debug)]
pub struct CapacityPlan {
    /// The objective to meet.
    pub objective: Objective,
    /// Length of a window; longer if the objective needs more requests.
    pub window: Duration,
    /// Load before each window.
    pub warmup: Duration,
    /// The half-width of the interval to reach, as a share: 0.05.
    pub half_width: f64,
    /// Maximum number of windows.
    pub max_windows: usize,
    /// Length of the confirming window; zero for none.
    pub confirm: Duration,
    /// Whether to measure the load-response curve.
    pub curve: bool,
}

impl CapacityPlan {
    /// The duration of what follows the closed loop with windows of this length: on a quiet machine, and on a noisy one.
    /// Each load needs half a second more, to start and to end.
    pub fn estimate(&self, window: Duration) -> [Duration; 2] {
        let load = |length: Duration| self.warmup + length + Duration::from_millis(500);
        let curve = if self.curve { CURVE.len() } else { 0 };
        let confirmations = if self.confirm.is_zero() { [0, 0] } else { [1, LONG_TRIES] };
        std::array::from_fn(|noisy| {
            let windows = WINDOWS_USUAL[noisy].min(self.max_windows) + curve;
            load(window) * windows as u32 + load(self.confirm) * confirmations[noisy] as u32
        })
    }
}

/// One window of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityWindow {
    /// The offered rate.
    pub offered_per_s: f64,
    /// Whether it met the objective.
    pub outcome: WindowOutcome,
    /// Why it is void.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub void_because: Option<String>,
    /// The achieved rate.
    pub achieved_per_s: f64,
    /// The response time.
    pub response_time_ns: Option<TimeSummary>,
    /// Requests whose outcome is not ok.
    #[serde(default)]
    pub failed: u64,
    /// The results of each kind of session.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_session: Vec<RequestSummary>,
    /// The results of each request of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_request: Vec<RequestSummary>,
    /// The file with its record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<String>,
}

/// A long window at a rate that should meet the objective over a longer time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// The offered rate.
    pub offered_per_s: f64,
    /// Its length in seconds.
    pub window_s: f64,
    /// Whether it met the objective.
    pub outcome: WindowOutcome,
    /// Requests that were due in it.
    #[serde(default)]
    pub scheduled: u64,
    /// Requests whose outcome is not ok.
    #[serde(default)]
    pub failed: u64,
    /// The value at the objective's percentile.
    pub value_ns: Option<u64>,
    /// Its 95 % interval within the window.
    pub value_interval_ns: Option<Range>,
    /// The results of each kind of session.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_session: Vec<RequestSummary>,
    /// The results of each request of a mix.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_request: Vec<RequestSummary>,
    /// The file with its record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<String>,
}

/// A point of the load-response curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Share of the half-pass rate.
    pub share: f64,
    /// The offered rate.
    pub offered_per_s: f64,
    /// The achieved rate.
    pub achieved_per_s: f64,
    /// Whether the window met the objective.
    pub outcome: WindowOutcome,
    /// The response time.
    pub response_time_ns: Option<TimeSummary>,
    /// CPU cores that the server used.
    pub server_cores_used: Option<f64>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The version of these keys.
    pub schema: u32,
    /// What was measured: a URL, or the id of a server; the caller sets it, and `argv`.
    #[serde(default)]
    pub target: String,
    /// The command line that found it, with secrets replaced.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub argv: Vec<String>,
    /// The load, the machine and the time of the first run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conditions: Option<Box<Conditions>>,
    /// The objective.
    pub objective: Objective,
    /// Length of the windows, in seconds: the half-pass rate depends on it.
    pub window_s: f64,
    /// What all of its rates count.
    #[serde(default)]
    pub unit: RateUnit,
    /// Connections of each load.
    pub connections: u32,
    /// The rate of the closed loop before the search.
    pub closed_loop_per_s: f64,
    /// The rate at which half of the windows meet the objective. None if none or all did, or if stalls decide.
    pub half_pass_per_s: Option<f64>,
    /// Its 95 % interval.
    pub interval_per_s: Option<Range>,
    /// Whether the interval is as narrow as requested.
    pub is_precise: bool,
    /// From the lowest rate that missed to the highest that passed (0 if none did), if windows far below the capacity
    /// missed. Stalls then decide, not load, and no interval is valid.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stalls_decide: Option<Range>,
    /// The highest rate whose long window met the objective.
    pub long_run_per_s: Option<f64>,
    /// The long windows, in order.
    pub confirmations: Vec<Confirmation>,
    /// The load-response curve, by rising rate.
    pub curve: Vec<CurvePoint>,
    /// The offered rate at which the p99 response time is twice that of the lowest load, interpolated.
    pub knee_per_s: Option<f64>,
    /// What limited the server.
    pub limit: Limit,
    /// Why the search ended early.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_early: Option<String>,
    /// Every window of the search, in order.
    pub windows: Vec<CapacityWindow>,
}

/// Progress of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacityProgress<'a> {
    /// The closed loop has ended.
    ClosedLoop {
        /// Its rate.
        per_s: f64,
        /// What this and all later rates count.
        unit: RateUnit,
        /// Length of the windows to come.
        window: Duration,
    },
    /// A window has ended.
    Window {
        /// Its number, from 1.
        number: usize,
        /// The window.
        window: &'a CapacityWindow,
        /// The half-pass rate so far.
        half_pass_per_s: f64,
        /// Its interval so far.
        interval_per_s: Range,
    },
    /// A long window has ended.
    Confirmation(&'a Confirmation),
    /// A point of the curve has ended.
    Curve(&'a CurvePoint),
}

/// Finds a capacity. An interruption keeps the results so far (`ended_early`).
///
/// # Errors
/// [`LoadError`] if the first load has no result, or a later one fails for another reason than an interruption.
pub fn find_capacity(
    load: &mut dyn LoadRunner,
    plan: &CapacityPlan,
    observer: &mut dyn FnMut(CapacityProgress),
) -> Result<Capacity, LoadError> {
    let closed = closed_loop(load, plan)?;
    let (closed_per_s, unit) = (closed.achieved_in_unit_per_s(), closed.unit());
    let window = window_length(plan, &closed);
    observer(CapacityProgress::ClosedLoop { per_s: closed_per_s, unit, window });
    if closed_per_s <= 0.0 {
        return Err(LoadError::NoValidResponse { load: "closed-loop run" });
    }
    let mut search = Search {
        engine: CapacitySearch::new(closed_per_s, plan.half_width, plan.max_windows),
        windows: Vec::new(),
        ended_early: None,
    };
    let request = LoadRequest { rate_per_s: None, warmup: plan.warmup, window };
    match search.carry_out(load, request, observer) {
        Err(LoadError::Interrupted) => search.ended_early = Some("interrupted".to_owned()),
        other => other?,
    }
    let mut capacity = search.result(plan, window, &closed);
    if capacity.ended_early.is_none() {
        let finished = curve(&mut capacity, load, plan, window, observer)
            .and_then(|()| confirm(&mut capacity, load, plan, observer));
        match finished {
            Err(LoadError::Interrupted) => capacity.ended_early = Some("interrupted".to_owned()),
            other => other?,
        }
    }
    Ok(capacity)
}

/// The window length that gives enough requests for the objective's percentiles at 40 % of the closed loop's rate.
fn window_length(plan: &CapacityPlan, closed: &LoadResult) -> Duration {
    let needed = plan.objective.seconds_needed(|time| 0.4 * closed.times_per_s(time));
    let needed = Duration::from_secs_f64((needed - 1e-6).clamp(0.0, MAX_WINDOW.as_secs_f64()).ceil());
    plan.window.max(needed)
}

/// Runs the closed loop that gives the search its upper rate, repeated while it is spoiled.
fn closed_loop(load: &mut dyn LoadRunner, plan: &CapacityPlan) -> Result<LoadResult, LoadError> {
    let request = LoadRequest { rate_per_s: None, warmup: plan.warmup, window: plan.window };
    let mut closed = load.run(&request)?;
    for _ in 1..MAX_DISTURBED {
        if closed.void_because().is_none() {
            break;
        }
        closed = load.run(&request)?;
    }
    Ok(closed)
}

/// Offers a rate until a window is not spoiled, and returns its outcome: `Void` if all attempts were. Each attempt is
/// reported to the observer.
fn offer(
    load: &mut dyn LoadRunner,
    request: &LoadRequest,
    observe: &mut dyn FnMut(&LoadResult, WindowOutcome),
) -> Result<(LoadResult, WindowOutcome), LoadError> {
    let mut tries = 0;
    loop {
        let result = load.run(request)?;
        tries += 1;
        let outcome = if tries >= MAX_DISTURBED {
            WindowOutcome::of_undisturbed(&result)
        } else {
            WindowOutcome::from_result(&result)
        };
        observe(&result, outcome);
        if outcome != WindowOutcome::Void || tries >= MAX_VOID {
            return Ok((result, outcome));
        }
    }
}

struct Search {
    engine: CapacitySearch,
    windows: Vec<CapacityWindow>,
    ended_early: Option<String>,
}

impl Search {
    /// Runs the search, then repeats misses far below the capacity, since a pause of the machine looks like a pause of
    /// the server.
    fn carry_out(
        &mut self,
        load: &mut dyn LoadRunner,
        request: LoadRequest,
        observer: &mut dyn FnMut(CapacityProgress),
    ) -> Result<(), LoadError> {
        let mut rechecked = 0;
        while self.ended_early.is_none() {
            if self.engine.end().is_none() {
                if self.windows.len() < WINDOWS_WITH_VOID * self.engine.max_windows() {
                    let rate = self.engine.next_rate();
                    self.offer(load, &request, rate, observer)?;
                    continue;
                }
                self.ended_early = Some("half of the windows were disturbed".to_owned());
            }
            let Some(stall) = self.engine.stalls_decide().filter(|_| rechecked < MAX_RECHECKED) else {
                break;
            };
            rechecked += 1;
            if !self.is_isolated(load, &request, stall.lowest_failed, observer)? {
                break;
            }
            self.engine.forget_failure(stall.lowest_failed);
            let is_it = |window: &&mut CapacityWindow| {
                window.offered_per_s == stall.lowest_failed && window.outcome == WindowOutcome::Miss
            };
            if let Some(window) = self.windows.iter_mut().find(is_it) {
                (window.outcome, window.void_because) = (WindowOutcome::Void, Some(ISOLATED.to_owned()));
            }
        }
        Ok(())
    }

    /// Whether a rate that missed passes when it is offered again.
    fn is_isolated(
        &mut self,
        load: &mut dyn LoadRunner,
        request: &LoadRequest,
        rate: f64,
        observer: &mut dyn FnMut(CapacityProgress),
    ) -> Result<bool, LoadError> {
        for _ in 0..RECHECKS {
            if self.offer(load, request, rate, observer)? != WindowOutcome::Pass {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Offers a rate and adds the outcome to the search.
    fn offer(
        &mut self,
        load: &mut dyn LoadRunner,
        request: &LoadRequest,
        rate: f64,
        observer: &mut dyn FnMut(CapacityProgress),
    ) -> Result<WindowOutcome, LoadError> {
        let request = LoadRequest { rate_per_s: Some(rate), ..*request };
        let (result, outcome) =
            offer(load, &request, &mut |result, outcome| self.take(rate, result, outcome, observer))?;
        if outcome == WindowOutcome::Void {
            let because = result.void_because().map_or_else(
                || "the runs are invalid".to_owned(),
                |verdict| format!("verdict {}", verdict.name.as_str()),
            );
            self.ended_early = Some(format!("{MAX_VOID} windows in a row were disturbed: {because}"));
        }
        Ok(outcome)
    }

    fn take(
        &mut self,
        rate: f64,
        result: &LoadResult,
        outcome: WindowOutcome,
        observer: &mut dyn FnMut(CapacityProgress),
    ) {
        let void_because = result.void_because().or_else(|| result.disturbed_by());
        self.windows.push(CapacityWindow {
            offered_per_s: rate,
            outcome,
            void_because: void_because
                .filter(|_| outcome == WindowOutcome::Void)
                .map(|verdict| verdict.name.clone()),
            achieved_per_s: result.achieved_in_unit_per_s(),
            response_time_ns: result.response_time_ns,
            failed: result.scheduled.saturating_sub(result.ok),
            by_session: result.by_session.clone(),
            by_request: result.by_request.clone(),
            record: result.record.clone(),
        });
        if outcome != WindowOutcome::Void {
            self.engine.add(SearchWindow { rate, passed: outcome == WindowOutcome::Pass });
        }
        let estimate = self.engine.estimate();
        if let Some(window) = self.windows.last() {
            observer(CapacityProgress::Window {
                number: self.windows.len(),
                window,
                half_pass_per_s: estimate.half_pass_rate,
                interval_per_s: estimate.interval.into(),
            });
        }
    }

    /// Returns the range for stalls if every window missed, the lowest rates too, with a tail far above a short median
    /// and without failures: pauses then decide at any rate. No rate passed, so the range's upper end is 0.
    fn stalls_at_any_rate(&self, closed_per_s: f64) -> Option<Range> {
        let judged = || self.windows.iter().filter(|window| window.outcome != WindowOutcome::Void);
        let lowest = judged().min_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s))?;
        let has_tail = lowest.response_time_ns.is_some_and(|times| times.p99 >= STALL_TAIL * times.p50);
        let is_stall = judged().all(|window| window.outcome == WindowOutcome::Miss && window.failed == 0)
            && lowest.offered_per_s <= STALL_RATE_SHARE * closed_per_s;
        (is_stall && has_tail).then_some(Range { low: lowest.offered_per_s, high: 0.0 })
    }

    fn result(self, plan: &CapacityPlan, window: Duration, closed: &LoadResult) -> Capacity {
        let estimate = self.engine.estimate();
        let end = self.engine.end();
        let stalls = self
            .engine
            .stalls_decide()
            .map(|span| Range { low: span.lowest_failed, high: span.highest_passed });
        let stalls = stalls.or_else(|| self.stalls_at_any_rate(closed.achieved_in_unit_per_s()));
        let is_above = end == Some(SearchEnd::NothingMisses);
        // Without a window that passed, or without one that missed, the posterior is only an end of the prior and
        // carries no information.
        let is_known = self.engine.windows().iter().any(|window| window.passed) && !is_above;
        let has_interval = is_known && stalls.is_none();
        let ended_early = self.ended_early.or_else(|| is_above.then(|| ABOVE.to_owned()));
        Capacity {
            schema: SCHEMA,
            target: String::new(),
            argv: Vec::new(),
            conditions: closed.conditions.clone(),
            objective: plan.objective.clone(),
            window_s: window.as_secs_f64(),
            unit: closed.unit(),
            connections: closed.connections,
            closed_loop_per_s: closed.achieved_in_unit_per_s(),
            half_pass_per_s: has_interval.then_some(estimate.half_pass_rate),
            interval_per_s: has_interval.then(|| estimate.interval.into()),
            is_precise: has_interval && end == Some(SearchEnd::Precise),
            stalls_decide: stalls,
            long_run_per_s: None,
            confirmations: Vec::new(),
            curve: Vec::new(),
            knee_per_s: None,
            limit: closed.limit.clone().unwrap_or_default(),
            ended_early,
            windows: self.windows,
        }
    }
}

impl Capacity {
    /// Withdraws the interval if a window far below the capacity missed on the curve: the search itself rarely offers
    /// such rates, so it may not have met the stalls.
    fn find_stalls(&mut self) {
        let is_stall =
            |point: &&CurvePoint| point.share <= STALL_SHARE && point.outcome == WindowOutcome::Miss;
        let Some(lowest) = self.curve.iter().find(is_stall) else { return };
        let passed = self.windows.iter().filter(|window| window.outcome == WindowOutcome::Pass);
        let highest = passed.map(|window| window.offered_per_s).fold(lowest.offered_per_s, f64::max);
        self.stalls_decide = Some(Range { low: lowest.offered_per_s, high: highest });
        (self.half_pass_per_s, self.interval_per_s, self.is_precise) = (None, None, false);
    }
}

/// Runs long windows from the interval's lower end, at lower rates after each miss.
fn confirm(
    capacity: &mut Capacity,
    load: &mut dyn LoadRunner,
    plan: &CapacityPlan,
    observer: &mut dyn FnMut(CapacityProgress),
) -> Result<(), LoadError> {
    let Some(interval) = capacity.interval_per_s.filter(|_| !plan.confirm.is_zero()) else { return Ok(()) };
    let mut rate = interval.low;
    for _ in 0..LONG_TRIES {
        let request = LoadRequest { rate_per_s: Some(rate), warmup: plan.warmup, window: plan.confirm };
        let (result, outcome) = offer(load, &request, &mut |_, _| {})?;
        let percentile = plan.objective.request_percentile().and_then(|p| result.percentile(p));
        let confirmation = Confirmation {
            offered_per_s: rate,
            window_s: plan.confirm.as_secs_f64(),
            outcome,
            scheduled: result.scheduled,
            failed: result.scheduled.saturating_sub(result.ok),
            value_ns: percentile.map(|percentile| percentile.value),
            value_interval_ns: percentile.and_then(|percentile| percentile.interval).map(Range::from),
            by_session: result.by_session.clone(),
            by_request: result.by_request.clone(),
            record: result.record.clone(),
        };
        observer(CapacityProgress::Confirmation(&confirmation));
        capacity.confirmations.push(confirmation);
        match outcome {
            WindowOutcome::Pass => {
                capacity.long_run_per_s = Some(rate);
                return Ok(());
            }
            WindowOutcome::Miss => rate *= LONG_STEP,
            WindowOutcome::Void => return Ok(()),
        }
    }
    Ok(())
}

/// Measures the load-response curve and its knee.
fn curve(
    capacity: &mut Capacity,
    load: &mut dyn LoadRunner,
    plan: &CapacityPlan,
    window: Duration,
    observer: &mut dyn FnMut(CapacityProgress),
) -> Result<(), LoadError> {
    let Some(capacity_per_s) = capacity.half_pass_per_s.filter(|_| plan.curve) else { return Ok(()) };
    for share in CURVE {
        let rate = share * capacity_per_s;
        let request = LoadRequest { rate_per_s: Some(rate), warmup: plan.warmup, window };
        let (mut result, mut outcome) = offer(load, &request, &mut |_, _| {})?;
        for _ in 0..RECHECKS {
            if share > STALL_SHARE || outcome != WindowOutcome::Miss {
                break;
            }
            // A single miss here may be a pause of the machine.
            (result, outcome) = offer(load, &request, &mut |_, _| {})?;
        }
        let used =
            result.server.filter(|server| server.over_s > 0.0).map(|server| server.cpu_s / server.over_s);
        let point = CurvePoint {
            share,
            offered_per_s: rate,
            achieved_per_s: result.achieved_in_unit_per_s(),
            outcome,
            response_time_ns: result.response_time_ns,
            server_cores_used: used,
        };
        observer(CapacityProgress::Curve(&point));
        capacity.curve.push(point);
        capacity.knee_per_s = knee(&capacity.curve);
    }
    capacity.find_stalls();
    Ok(())
}

/// The rate at which the p99 response time reaches twice that of the lowest load, by linear interpolation. None if it
/// does not within the curve.
fn knee(curve: &[CurvePoint]) -> Option<f64> {
    let points: Vec<(f64, f64)> = curve
        .iter()
        .filter_map(|point| Some((point.offered_per_s, point.response_time_ns?.p99 as f64)))
        .collect();
    let threshold = KNEE_FACTOR * points.first()?.1;
    let pair = points.windows(2).find(|pair| pair[0].1 < threshold && pair[1].1 >= threshold)?;
    let share = (threshold - pair[0].1) / (pair[1].1 - pair[0].1);
    Some(pair[0].0 + share * (pair[1].0 - pair[0].0))
}

#[cfg(test)]
pub(crate) mod tests;
