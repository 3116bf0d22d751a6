//! The figures that comparisons and gates compare: metrics of the judge's table.
//!
//! Those that experiments measure themselves have a key of their own, which stored baselines and gate files use. Two
//! rounds are compared by every metric of the table.

use crate::load::{LoadResult, TimeSummary};
use paceline_judge::gate::{split_subject, step_name, without_spaces};
use paceline_judge::{Better, Metric};
use paceline_record::LoopKind;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A figure that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// The highest offered rate that meets an objective.
    CapacityPerS,
    /// Completed sessions per second of a closed loop of sessions.
    SessionsPerS,
    /// Valid responses per second of a closed loop.
    RatePerS,
    /// CPU time of the server per request.
    ServerCpuNsPerRequest,
    /// Median response time; open loop.
    ResponseTimeNsP50,
    /// 99th percentile of the response time; open loop.
    ResponseTimeNsP99,
    /// Median service time; closed loop.
    ServiceTimeNsP50,
    /// 99th percentile of the service time; closed loop.
    ServiceTimeNsP99,
    /// Resident memory of the server.
    RssBytes,
    /// From the server's start to its first answer.
    StartNs,
    /// Another metric of the judge's table, by its key; only of stored rounds.
    #[serde(untagged)]
    #[schemars(skip)]
    Judged(JudgedMetric),
}

/// A metric of the judge's table, stored as its key.
#[derive(Clone, Copy, Debug)]
pub struct JudgedMetric(&'static Metric);

/// Failed requests are compared on their own (`failures.rs`). The CPU at a reference rate is that of another row. The
/// parts of the server's CPU time describe a difference of it, and interrupts are also those of other programs.
pub(crate) const NOT_COMPARED: [Metric; 6] = [
    Metric::NOT_OK_SHARE,
    Metric::REQUESTS_NOT_OK,
    Metric::SERVER_CPU_AT_REFERENCE,
    Metric::SERVER_USER,
    Metric::SERVER_SYSTEM,
    Metric::SERVER_INTERRUPT,
];

impl ComparedMetric {
    /// Those that experiments measure, in the order of a table.
    pub const ALL: [Self; 10] = [
        Self::CapacityPerS,
        Self::SessionsPerS,
        Self::RatePerS,
        Self::ServerCpuNsPerRequest,
        Self::ResponseTimeNsP50,
        Self::ResponseTimeNsP99,
        Self::ServiceTimeNsP50,
        Self::ServiceTimeNsP99,
        Self::RssBytes,
        Self::StartNs,
    ];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::CapacityPerS => "capacity",
            Self::SessionsPerS => "sessions",
            Self::RatePerS => "rate",
            Self::ServerCpuNsPerRequest => "cpu",
            Self::ResponseTimeNsP50 => "response.p50",
            Self::ResponseTimeNsP99 => "response.p99",
            Self::ServiceTimeNsP50 => "service.p50",
            Self::ServiceTimeNsP99 => "service.p99",
            Self::RssBytes => "memory",
            Self::StartNs => "start-up",
            Self::Judged(JudgedMetric(metric)) => metric.name,
        }
    }

    /// The metric of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// The metric of a name, and the request of a mix that it is limited to: the NAME of `step(NAME).p50` and
    /// `step(NAME).p99`, without spaces as objectives have it. Its time is then that of a closed loop.
    pub fn of_named(name: &str) -> Option<(Self, Option<String>)> {
        let dense = without_spaces(name);
        let of_step = || {
            let (time, statistic) = split_subject(&dense)?;
            let step = step_name(time)?.to_owned();
            let is_statistic = |metric: &Self| metric.name().strip_prefix("service.") == Some(statistic);
            Some((Self::ALL.into_iter().find(is_statistic)?, Some(step)))
        };
        Self::of_name(name).map(|metric| (metric, None)).or_else(of_step)
    }

    /// The name for [`Self::of_named`].
    pub fn name_of(self, step: Option<&str>) -> String {
        match (step, self.name().split_once('.')) {
            (Some(step), Some((_, statistic))) => format!("step({step}).{statistic}"),
            _ => self.name().to_owned(),
        }
    }

    /// The metric of the judge's table that it is.
    pub fn judged(self) -> &'static Metric {
        match self {
            Self::CapacityPerS => &Metric::CAPACITY,
            Self::SessionsPerS => &Metric::SESSIONS_PER_S,
            Self::RatePerS => &Metric::ACHIEVED_PER_S,
            Self::ServerCpuNsPerRequest => &Metric::SERVER_CPU,
            Self::ResponseTimeNsP50 | Self::ServiceTimeNsP50 => &Metric::TIME_P50,
            Self::ResponseTimeNsP99 | Self::ServiceTimeNsP99 => &Metric::TIME_P99,
            Self::RssBytes => &Metric::RSS_PEAK,
            Self::StartNs => &Metric::FIRST_ANSWER,
            Self::Judged(JudgedMetric(metric)) => metric,
        }
    }

    /// What a metric of the judge's table is in a row of this kind of loop.
    pub fn from_judged(metric: &'static Metric, kind: LoopKind) -> Self {
        let is_other_loop = |compared: Self| match compared {
            Self::ResponseTimeNsP50 | Self::ResponseTimeNsP99 => kind == LoopKind::Closed,
            // At an offered rate the achieved one says nothing of the server.
            Self::RatePerS | Self::SessionsPerS | Self::ServiceTimeNsP50 | Self::ServiceTimeNsP99 => {
                kind == LoopKind::Open
            }
            Self::CapacityPerS
            | Self::ServerCpuNsPerRequest
            | Self::RssBytes
            | Self::StartNs
            | Self::Judged(_) => false,
        };
        let named = Self::ALL.into_iter().filter(|compared| compared.judged() == metric);
        named
            .into_iter()
            .find(|compared| !is_other_loop(*compared))
            .unwrap_or(Self::Judged(JudgedMetric(metric)))
    }

    /// Whether experiments measure it too.
    pub fn is_measured(self) -> bool {
        !matches!(self, Self::Judged(_))
    }

    /// How many of its units are one of the judge's table: times are in nanoseconds here.
    pub fn units_per_judged(self) -> f64 {
        match self {
            Self::ServerCpuNsPerRequest => 1e3,
            Self::StartNs => 1e6,
            Self::CapacityPerS
            | Self::SessionsPerS
            | Self::RatePerS
            | Self::ResponseTimeNsP50
            | Self::ResponseTimeNsP99
            | Self::ServiceTimeNsP50
            | Self::ServiceTimeNsP99
            | Self::RssBytes
            | Self::Judged(_) => 1.0,
        }
    }

    /// Which direction is better.
    pub fn better(self) -> Better {
        self.judged().better
    }

    /// Whether more is better.
    pub fn higher_is_better(self) -> bool {
        self.better() == Better::Higher
    }

    /// Its value in one observation; none where it was not measured or does not apply to this loop.
    pub fn value(self, result: &LoadResult) -> Option<f64> {
        let is_open = result.offered_per_s.is_some();
        let value = match self {
            Self::CapacityPerS => result.capacity_per_s,
            Self::SessionsPerS => result.sessions_per_s.filter(|_| !is_open),
            Self::RatePerS => (!is_open).then_some(result.achieved_per_s),
            Self::ServerCpuNsPerRequest => result.server_cpu_ns_per_request(),
            Self::ResponseTimeNsP50 | Self::ResponseTimeNsP99 => self.percentile(&result.response_time_ns?),
            Self::ServiceTimeNsP50 | Self::ServiceTimeNsP99 => {
                self.percentile(&result.service_time_ns.filter(|_| !is_open)?)
            }
            Self::RssBytes => result.server.map(|server| server.rss_bytes as f64),
            Self::StartNs => result.start_ns.map(|start_ns| start_ns as f64),
            Self::Judged(_) => None,
        };
        value.filter(|value| *value > 0.0 && value.is_finite())
    }

    /// The percentile of some times that it is, in nanoseconds; none if it is another figure.
    pub(crate) fn percentile(self, times: &TimeSummary) -> Option<f64> {
        match self {
            Self::ResponseTimeNsP50 | Self::ServiceTimeNsP50 => Some(times.p50 as f64),
            Self::ResponseTimeNsP99 | Self::ServiceTimeNsP99 => Some(times.p99 as f64),
            Self::CapacityPerS
            | Self::SessionsPerS
            | Self::RatePerS
            | Self::ServerCpuNsPerRequest
            | Self::RssBytes
            | Self::StartNs
            | Self::Judged(_) => None,
        }
    }
}

impl PartialEq for JudgedMetric {
    fn eq(&self, other: &Self) -> bool {
        self.0.index == other.0.index
    }
}

impl Eq for JudgedMetric {}

impl PartialOrd for JudgedMetric {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for JudgedMetric {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.index.cmp(&other.0.index)
    }
}

impl Serialize for JudgedMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.key)
    }
}

impl<'de> Deserialize<'de> for JudgedMetric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom(format!("there is no metric {key:?}"));
        Metric::parse(&key).map(Self).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_the_judge_has_a_key_in_each_loop() {
        for kind in [LoopKind::Closed, LoopKind::Open] {
            for metric in Metric::ALL {
                let compared = ComparedMetric::from_judged(metric, kind);
                assert!(compared.judged() == metric, "{}", metric.key);
                let json = serde_json::to_string(&compared).unwrap();
                assert!(serde_json::from_str::<ComparedMetric>(&json).unwrap().judged() == metric, "{json}");
            }
        }
    }

    #[test]
    fn requests_of_a_mix_are_named_as_objectives_name_them() {
        let of = |name: &str| ComparedMetric::of_named(name);
        let step = |metric, step: &str| Some((metric, Some(step.to_owned())));
        assert_eq!(of("step(log in).p99"), step(ComparedMetric::ServiceTimeNsP99, "login"));
        assert_eq!(of("step(a.b).p50"), step(ComparedMetric::ServiceTimeNsP50, "a.b"));
        for wrong in ["step(a).p90", "step(a)", "step(a.p99", "p99", "step(a).max", "session.p99"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        for metric in ComparedMetric::ALL {
            assert_eq!(of(&metric.name_of(None)), Some((metric, None)));
        }
        assert_eq!(ComparedMetric::ResponseTimeNsP99.name_of(Some("a.b")), "step(a.b).p99");
    }

    #[test]
    fn stored_keys_stay_as_they_are() {
        let keys = serde_json::to_string(&ComparedMetric::ALL).unwrap();
        for key in
            ["\"rate_per_s\"", "\"server_cpu_ns_per_request\"", "\"service_time_ns_p99\"", "\"rss_bytes\""]
        {
            assert!(keys.contains(key), "{keys}");
        }
        let values: std::collections::BTreeMap<ComparedMetric, f64> =
            serde_json::from_str("{\"rate_per_s\": 1.0, \"server_utilization\": 0.5}").unwrap();
        assert_eq!(
            serde_json::to_string(&values).unwrap(),
            "{\"rate_per_s\":1.0,\"server_utilization\":0.5}"
        );
    }
}
