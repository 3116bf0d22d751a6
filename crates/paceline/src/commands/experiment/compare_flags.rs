//! The flags that `compare` and `gate` share.

use super::capacity::percent;
use crate::exit::Complaint;
use paceline_experiment::{ComparedMetric, Objective};
use std::path::PathBuf;
use std::time::Duration;

/// A metric, and the request of a mix that it is limited to.
pub type MetricOfStep = (ComparedMetric, Option<String>);

/// Flags that `compare` and `gate` share.
#[derive(clap::Args, Clone, Debug)]
pub struct CompareFlags {
    /// Offer this rate instead of a closed loop
    #[arg(short, long, value_name = "PER_SECOND")]
    pub(super) rate: Option<f64>,
    /// Length of the measured window of each run [default: 3s]
    ///
    /// With `gate --base` the default is 1s.
    #[arg(short, long, value_name = "T", value_parser = super::super::run::duration)]
    pub(super) duration: Option<Duration>,
    /// Differences below PERCENT do not matter
    ///
    /// With `gate --base`: the gate fails only if a loss of more than PERCENT is proven, and passes only if such a loss is
    /// excluded.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percent)]
    pub(super) margin: f64,
    /// Maximum number of pairs to measure [default: 20]
    ///
    /// The comparison ends after 4, 6, 8, 10, 14 or 20 pairs if the result is then decided.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=20))]
    pairs: Option<u16>,
    /// The metric that decides the comparison: capacity, sessions, rate, cpu, response.p50, response.p99, service.p50,
    /// service.p99, memory or start-up
    ///
    /// With `gate --base` also step(NAME).p50 and step(NAME).p99 of a request of --mix, by its name.
    /// [default: capacity if --slo is given; cpu if --rate is given, or response.p50 if the server's CPU time cannot be
    /// read; sessions if the load has sessions; otherwise rate]. memory and start-up need servers of the lab or, in `compare`, exported rounds.
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub(super) metric: Option<MetricOfStep>,
    /// Accept up to this many failed requests in each run: 1% or 10
    ///
    /// A run in which more fail cannot be compared, and fails a gate. Default: at most 1 % in each run, and together no
    /// more than on the other side.
    #[arg(hide_short_help = true, long, value_name = "SHARE|N", value_parser = super::super::run::checked_max_errors, allow_hyphen_values = true)]
    pub(super) max_errors: Option<String>,
    /// Compare with a result of another machine, kernel, CPU quota or version of Paceline
    #[arg(hide_short_help = true, long)]
    pub(super) accept_other_machine: bool,
    /// Also find the highest rate that meets this objective
    ///
    /// Each search takes 14 to 30 windows of --duration.
    #[arg(hide_short_help = true, long, value_name = "OBJECTIVE", value_parser = super::capacity::objective)]
    pub(super) slo: Option<Objective>,
    /// Then profile both sides: differential flame graph (difference.svg)
    ///
    /// The second side's functions: red if one costs more CPU per request than on the first, blue if less. A side that is
    /// a record must have a profile (`paceline run --profile`). With `gate --base`, PATH is a folder, also for the flame
    /// graph of each side [default: that of --html or of the records].
    #[arg(hide_short_help = true, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub(super) profile: Option<Option<PathBuf>>,
}

impl CompareFlags {
    /// The largest number of pairs.
    pub(super) fn max_pairs(&self) -> usize {
        usize::from(self.pairs.unwrap_or(20))
    }

    /// The measured window of each run.
    pub(super) fn window(&self) -> Duration {
        self.duration.unwrap_or(Duration::from_secs(3))
    }

    /// The metric that decides; an error if it is that of one request.
    pub(super) fn metric_of_all(&self) -> anyhow::Result<Option<ComparedMetric>> {
        match &self.metric {
            Some((metric, Some(step))) => {
                let name = metric.name_of(Some(step));
                Err(Complaint::usage(format!(
                    "--metric {name}: only a gate between two commits has this metric"
                ))
                .hint("use `paceline gate --base REF`, or a metric of all requests")
                .into())
            }
            Some((metric, None)) => Ok(Some(*metric)),
            None => Ok(None),
        }
    }

    /// The flags that are given, but mean nothing to a gate between two revisions.
    pub(super) fn unused_by_revisions(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--pairs", self.pairs.is_some()),
            ("--accept-other-machine", self.accept_other_machine),
            ("--slo", self.slo.is_some()),
        ];
        flags.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

fn metric(name: &str) -> Result<MetricOfStep, String> {
    ComparedMetric::of_named(name).ok_or_else(|| {
        format!(
            "there is no metric {name:?}; choose one of {}; with gate --base also step(NAME).p50 and step(NAME).p99",
            ComparedMetric::ALL.map(ComparedMetric::name).join(", ")
        )
    })
}
