//! The experiments of the self-test: reported against true times, generator lag, highest rate.
//!
//! Each runs the engine as `paceline run` does, but with separate settings and without a record. `judge.rs` judges the
//! figures and `print.rs` shows them.

use super::child::Reference;
use crate::reference::{BODY, FREEZE, FREEZE_PERIOD, Service};
use paceline_engine::{
    Arrivals, BodyCheck, Bound, Job, LoadModel, Measure, Nanos, PaceKind, Rate, Requests, ResponseCheck,
    RunOutcome, Settings, Shape, StopFlag,
};
use paceline_http::{Method, Request, Url};
use paceline_record::CoreTime;
use paceline_run::Health;
use paceline_stats::Histogram;
use std::sync::Arc;
use std::time::Duration;

/// Requests offered per second in comparisons of times: far below the limit of any machine.
const RATE: f64 = 1_000.0;
/// Connections in comparisons of times: more than are ever in use at once.
const CONNECTIONS: u32 = 50;
/// Duration of the experiments on lag and highest rate.
const SHORT: Duration = Duration::from_secs(2);

/// All results of the self-test.
pub(super) struct SelftestResults {
    /// Reported against true times.
    pub truths: Vec<TruePercentiles>,
    /// Generator lag by pace.
    pub lags: Vec<(&'static str, Histogram)>,
    /// The increase in the median response time if the server sleeps, in nanoseconds; none if it cannot be measured.
    pub wake_up_ns: Option<u64>,
    /// Requests per second of one core, closed loop.
    pub ceiling_per_s: f64,
    /// CPU time per request in that run, in nanoseconds.
    pub ceiling_cpu_ns: f64,
    /// Share of time that other processes took from the generator while it measured.
    pub run_delay_share: f64,
    /// Share of time that the hypervisor took from the core in use that lost the most.
    pub steal_share: f64,
    /// The cores of the generator and of the reference server; none if they had to share one.
    pub cores: Option<(u32, u32)>,
}

/// One distribution: true and reported times.
pub(super) struct TruePercentiles {
    /// The distribution.
    pub service: Service,
    /// What was compared: service time, or response time.
    pub what: &'static str,
    /// (quantile, true, reported), times in nanoseconds.
    pub points: Vec<(f64, u64, u64)>,
}

/// Runs every experiment and reports progress.
pub(super) fn carry_out(duration: Duration, say: &mut dyn FnMut(&str)) -> anyhow::Result<SelftestResults> {
    let allowed = paceline_run::allowed_cores();
    let cores = match allowed.as_slice() {
        [server, .., generator] => Some((*generator, *server)),
        _ => None,
    };
    if let Some((generator, _)) = cores {
        paceline_host::pin_self(&[generator])?;
    }
    let mut context = SelftestContext { cores, run_delay_s: 0.0, steal_s: 0.0, measured_s: 0.0 };
    let mut truths = Vec::new();
    for service in [Service::Fixed, Service::Bimodal, Service::Exponential] {
        say(&format!("measuring service times: {} ...", service.name()));
        truths.push(context.service_times(service, duration)?);
    }
    say("checking for coordinated omission: a server that freezes ...");
    truths.push(context.freeze(duration)?);
    say("measuring generator lag: spinning and sleeping ...");
    let (spin, spun_response) = context.lag(PaceKind::Spin, true)?;
    let (hybrid, _) = context.lag(PaceKind::Hybrid, true)?;
    let (sleep, _) = context.lag(PaceKind::Sleep, true)?;
    let (_, woken_response) = context.lag(PaceKind::Spin, false)?;
    say("measuring the maximum rate of one core ...");
    let (ceiling_per_s, ceiling_cpu_ns) = context.ceiling()?;
    Ok(SelftestResults {
        truths,
        lags: vec![("spin", spin), ("hybrid", hybrid), ("sleep", sleep)],
        wake_up_ns: cores.map(|_| woken_response.saturating_sub(spun_response)),
        ceiling_per_s,
        ceiling_cpu_ns,
        run_delay_share: context.run_delay_s / context.measured_s,
        steal_share: context.steal_s / context.measured_s,
        cores,
    })
}

/// The cores of the experiments, and the disturbances during them.
struct SelftestContext {
    cores: Option<(u32, u32)>,
    run_delay_s: f64,
    steal_s: f64,
    measured_s: f64,
}

impl SelftestContext {
    /// Compares reported service times with those that the server recorded, at three percentiles.
    fn service_times(&mut self, service: Service, duration: Duration) -> anyhow::Result<TruePercentiles> {
        let reference = self.start(service, true)?;
        let settings = open_loop(&reference, duration, self.pace())?;
        let outcome = self.run(&settings)?;
        let truth = reference.truth()?.decode()?;
        let reported = outcome.total.times(Measure::Service);
        let points =
            [0.5, 0.9, 0.99].map(|q| (q, truth.quantile(q).unwrap_or(0), reported.quantile(q).unwrap_or(0)));
        Ok(TruePercentiles { service, what: "service time", points: points.into() })
    }

    /// Compares reported response times of a server that freezes with computed ones: a request that falls due when a
    /// share x of the freeze has passed waits for the rest of it.
    fn freeze(&mut self, duration: Duration) -> anyhow::Result<TruePercentiles> {
        let reference = self.start(Service::Freeze, true)?;
        let periods = (duration.as_nanos() as u64).div_ceil(FREEZE_PERIOD.0).max(1);
        let settings = open_loop(&reference, Duration::from_nanos(periods * FREEZE_PERIOD.0), self.pace())?;
        let outcome = self.run(&settings)?;
        let reported = outcome.total.times(Measure::Response);
        let frozen_share = FREEZE.0 as f64 / FREEZE_PERIOD.0 as f64;
        let points = [0.95, 0.98, 0.99].map(|q: f64| {
            let truth = FREEZE.0 as f64 * (1.0 - (1.0 - q) / frozen_share);
            (q, truth as u64, reported.quantile(q).unwrap_or(0))
        });
        Ok(TruePercentiles { service: Service::Freeze, what: "response time", points: points.into() })
    }

    /// Generator lag at one pace, and the median response time, of a server that spins or sleeps.
    fn lag(&mut self, pace: PaceKind, server_spins: bool) -> anyhow::Result<(Histogram, u64)> {
        let reference = self.start(Service::Immediate, server_spins)?;
        let settings = open_loop(&reference, SHORT, pace)?;
        let outcome = self.run(&settings)?;
        let median = outcome.total.times(Measure::Response).quantile(0.5).unwrap_or(0);
        Ok((outcome.total.times(Measure::GeneratorLag).clone(), median))
    }

    /// Closed loop at the highest rate: requests per second and CPU time of each.
    fn ceiling(&mut self) -> anyhow::Result<(f64, f64)> {
        let reference = self.start(Service::Immediate, true)?;
        let settings = open_loop(&reference, SHORT, PaceKind::Sleep)?.with(|job| {
            job.load = LoadModel::Closed;
            job.connections = 64;
        });
        let health = Health::new(1, None);
        let outcome = paceline_engine::run(&settings, &StopFlag::new(), &health)?;
        let completed = outcome.total.counts.completed_in_window as f64;
        let cpu_s: f64 = health.by_thread().iter().map(|thread| thread.user_s + thread.system_s).sum();
        Ok((completed / SHORT.as_secs_f64(), cpu_s * 1e9 / completed.max(1.0)))
    }

    fn start(&self, service: Service, spin: bool) -> anyhow::Result<Reference> {
        // On a single core a spinning server would take the generator's time.
        Reference::start(service, self.cores.map(|(_, server)| server), spin && self.cores.is_some())
    }

    fn pace(&self) -> PaceKind {
        if self.cores.is_some() { PaceKind::Hybrid } else { PaceKind::Sleep }
    }

    /// The time that the hypervisor took from the core that lost the most, of those in use.
    fn stolen_s(&self, cores: &[CoreTime]) -> f64 {
        let is_used = |core: u32| self.cores.is_none_or(|(one, other)| core == one || core == other);
        cores.iter().filter(|core| is_used(core.core)).map(|core| core.steal_s).fold(0.0, f64::max)
    }

    fn run(&mut self, settings: &Settings) -> anyhow::Result<RunOutcome> {
        let health = Health::new(1, None);
        let outcome = paceline_engine::run(settings, &StopFlag::new(), &health)?;
        self.run_delay_s += health.by_thread().iter().map(|thread| thread.run_delay_s).sum::<f64>();
        self.steal_s += self.stolen_s(&health.by_core());
        self.measured_s += outcome.spans.drain.since(outcome.spans.window).as_secs_f64();
        Ok(outcome)
    }
}

fn open_loop(reference: &Reference, duration: Duration, pace: PaceKind) -> anyhow::Result<Settings> {
    let url = Url::parse(&format!("http://{}/", reference.address))?;
    let load = Rate::per_second(RATE).map_or(LoadModel::Closed, |rate| LoadModel::Open {
        shape: Shape::Steady { rate },
        arrivals: Arrivals::Constant,
    });
    let check = ResponseCheck { status: Some(200), body: BodyCheck::Exact(Arc::from(BODY)) };
    let requests = Arc::new(Requests::fixed(Request::get(&url).encode()?, Method::Other, check));
    let job = Job {
        load,
        connections: CONNECTIONS,
        window: Bound::Duration(duration.into()),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(5),
        timeout: Nanos::from_secs(5),
        connect_timeout: Nanos::from_secs(5),
        seed: Some(1),
        ..Job::default()
    };
    Ok(Settings { pace, ..Settings::new(job, reference.address, requests) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_stolen_from_the_cores_in_use_counts() {
        let core = |core, steal_s| CoreTime { core, over_s: 2.0, busy_s: 1.0, interrupt_s: 0.0, steal_s };
        let times = [core(0, 0.1), core(1, 0.9), core(2, 0.2)];
        let stolen_s = |cores| {
            let context = SelftestContext { cores, run_delay_s: 0.0, steal_s: 0.0, measured_s: 0.0 };
            context.stolen_s(&times)
        };
        assert_eq!((stolen_s(Some((2, 0))), stolen_s(None)), (0.2, 0.9));
    }
}
