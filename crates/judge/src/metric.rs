//! The table of metrics: key, unit, names, documentation, source and columns of every figure of a row.
//!
//! Reports derive their terminal and Markdown columns, CSV, JSON and its schema from it, and `docs/reference/metrics.md` is
//! generated from it: `UPDATE=1 cargo test -p paceline-judge --test it`. A figure here is one number of one launch; the
//! report combines launches.

use crate::cpu_parts::{interrupt_ns_of_trial, kernel_ns_of_trial, user_ns_of_trial};
use crate::verdict::paragraph;
use paceline_record::{Block, LimitKind, LoopKind, Run, TimeKind, TimeLoops, Times, Trial};
use std::fmt::Write as _;

/// Samples beyond a percentile that an order-statistic interval at 95 % needs, as a multiple of 1/(1-p)
/// (p^n <= 0.025, that is n >= ln 40 / -ln p, about 3.7/(1-p)).
pub const SAMPLES_FOR_INTERVAL: f64 = 3.7;

/// The unit of a metric, which its key ends in or names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second.
    PerSecond,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds; shown in microseconds or milliseconds, one for a table.
    Nanoseconds,
    /// Milliseconds.
    Milliseconds,
    /// Bytes; shown in megabytes.
    Bytes,
    /// A share, 0 to 1; shown in percent.
    Share,
    /// A count.
    Count,
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: descriptive.
    Neither,
}

/// The column of a metric in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricColumn {
    /// Position, from left to right.
    pub place: u8,
    /// Order of removal on a narrow terminal: 1 is removed first; 0 never.
    pub leaves: u8,
    /// The same for the column of its spread; [`NO_SPREAD`] if tables show none.
    pub spread_leaves: u8,
}

/// Tables show no spread of the metric; CSV and JSON contain it.
pub const NO_SPREAD: u8 = u8::MAX;

/// A metric of one launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// In the metric's unit.
    pub value: f64,
    /// Whether it is a minimum: requests without a response are included at the time waited.
    pub at_least: bool,
    /// Whether there were enough requests for it.
    pub enough: bool,
}

/// A figure of a row.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its key in JSON and CSV, the unit included.
    pub key: &'static str,
    /// Its name in sentences.
    pub name: &'static str,
    /// The head of its column, two lines; the second is empty where the table chooses the unit.
    pub head: [&'static str; 2],
    /// Its documentation, line by line.
    pub(crate) lines: &'static [&'static str],
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Whether it is a percentile, which may be a minimum or have too few samples.
    pub is_percentile: bool,
    /// Its column in a table of a closed loop.
    pub closed: Option<MetricColumn>,
    /// Its column in a table of an open loop.
    pub open: Option<MetricColumn>,
    /// Its value in one launch.
    pub of: fn(&Trial, &Run) -> Option<Value>,
    /// Its place in the table of all metrics.
    pub index: usize,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl Metric {
    /// What it is, as one paragraph of Markdown.
    pub fn description(&self) -> String {
        paragraph(self.lines)
    }
}

macro_rules! metric_table {
    ($(
        $(#[doc = $line:literal])+
        $metric:ident $key:literal $name:literal $head:expr, $unit:ident $better:ident
        closed $closed:expr, open $open:expr,
        $(percentile $is_percentile:literal)? = $of:expr;
    )+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "positions of the constants below")]
        enum MetricIndex { $( $metric, )+ }

        impl Metric {
            $(
                $(#[doc = $line])+
                pub const $metric: Metric = Metric {
                    key: $key,
                    name: $name,
                    head: $head,
                    lines: &[$( $line ),+],
                    unit: Unit::$unit,
                    better: Better::$better,
                    is_percentile: false $(|| $is_percentile)?,
                    closed: column($closed),
                    open: column($open),
                    of: $of,
                    index: MetricIndex::$metric as usize,
                };
            )+

            /// Every metric, in the order of the table.
            pub const ALL: &[Metric] = &[$( Metric::$metric, )+];
        }
    };
}

const fn column(shown: Option<(u8, u8, u8)>) -> Option<MetricColumn> {
    match shown {
        Some((place, leaves, spread_leaves)) => Some(MetricColumn { place, leaves, spread_leaves }),
        None => None,
    }
}

fn plain(value: f64) -> Option<Value> {
    Some(Value { value, at_least: false, enough: true })
}

// Columns are (place, leaves, spread leaves).
metric_table! {
    /// Valid responses completed inside the window, per second of window.
    ACHIEVED_PER_S "achieved_per_s" "requests/s" ["requests", "per s"], PerSecond Higher
    closed Some((10, 0, 0)), open Some((40, 0, 11)),
    = |_, run| plain(run.rate_per_s.achieved);

    /// Sessions completed inside the window, per second of window; of loads with sessions.
    SESSIONS_PER_S "sessions_per_s" "sessions/s" ["sessions", "per s"], PerSecond Higher
    closed Some((9, 0, 0)), open Some((41, 8, NO_SPREAD)),
    = |_, run| plain(run.sessions_achieved_per_s()?);

    /// Events of streams received inside the window, per second of window; of loads with streams.
    EVENTS_PER_S "events_per_s" "events/s" ["events", "per s"], PerSecond Higher
    closed Some((11, 6, NO_SPREAD)), open Some((42, 6, NO_SPREAD)),
    = |_, run| plain(run.events_per_s()?);

    /// The sum of the numbers in those events that `--count-json` names, such as tokens, per second of window.
    COUNTED_PER_S "counted_per_s" "counted/s" ["counted", "per s"], PerSecond Higher
    closed Some((12, 7, NO_SPREAD)), open Some((43, 7, NO_SPREAD)),
    = |_, run| plain(run.counted_per_s()?);

    /// The capacity that a search found: the offered rate at which half of all windows meet the objective.
    CAPACITY "capacity_per_s" "capacity" ["capacity", "per s"], PerSecond Higher
    closed None, open Some((4, 0, 11)),
    = |trial, _| plain(trial.capacity.as_ref()?.half_pass_per_s?);

    /// The lower end of the capacity's 95 % interval, from the search in one launch.
    CAPACITY_LOW "capacity_low_per_s" "lower end of the capacity's 95 % interval" ["search", "low"], PerSecond Higher
    closed None, open Some((5, 2, NO_SPREAD)),
    = |trial, _| plain(trial.capacity.as_ref()?.interval_per_s?.low);

    /// The upper end of the capacity's 95 % interval, from the search in one launch.
    CAPACITY_HIGH "capacity_high_per_s" "upper end of the capacity's 95 % interval" ["search", "high"], PerSecond Higher
    closed None, open Some((6, 2, NO_SPREAD)),
    = |trial, _| plain(trial.capacity.as_ref()?.interval_per_s?.high);

    /// The highest rate whose long window met the objective.
    LONG_RUN "long_run_per_s" "long-run rate" ["long run", "per s"], PerSecond Higher
    closed None, open Some((7, 8, NO_SPREAD)),
    = |trial, _| plain(trial.capacity.as_ref()?.long_run_per_s?);

    /// CPU time of the server's processes for each response.
    SERVER_CPU "server_cpu_us_per_request" "the server's CPU time per request" ["CPU µs", "per req"], Microseconds Lower
    closed Some((40, 12, 11)), open Some((10, 0, 0)),
    = |trial, _| plain(trial.usage.as_ref()?.cpu_ns_per_request / 1e3);

    /// CPU time of the server's processes for each response at the fixed rate at which rows that reached the
    /// generator's limit are compared. Taken from another table of the round.
    SERVER_CPU_AT_REFERENCE "server_cpu_us_per_request_at_reference" "CPU time per request at a fixed rate"
    ["CPU µs", ""], Microseconds Lower
    closed Some((30, 0, 11)), open None,
    = |_, _| None;

    /// The part of the server's CPU time for each response that was spent in user mode. The shares of user and kernel
    /// mode are those that the kernel counts at its timer ticks; missing if fewer than 10 ticks were counted.
    SERVER_USER "server_user_us_per_request" "the server's user CPU time per request" ["user", "µs/req"],
    Microseconds Lower
    closed None, open None,
    = |trial, _| plain(user_ns_of_trial(trial)? / 1e3);

    /// The part of the server's CPU time for each response that was spent in the kernel. With the part in user mode it
    /// adds up to the server's CPU time.
    SERVER_SYSTEM "server_system_us_per_request" "the server's kernel CPU time per request" ["kernel", "µs/req"],
    Microseconds Lower
    closed None, open None,
    = |trial, _| plain(kernel_ns_of_trial(trial)? / 1e3);

    /// Time of the server's cores in hard and soft interrupts for each response, those of other programs included. If
    /// Linux was built without `CONFIG_IRQ_TIME_ACCOUNTING`, a part of it is in kernel time too. Missing if the load
    /// generator shares the cores.
    SERVER_INTERRUPT "server_interrupt_us_per_request" "the server cores' interrupt time per request"
    ["interrupts", "µs/req"], Microseconds Lower
    closed None, open None,
    = |trial, run| plain(interrupt_ns_of_trial(trial, run)? / 1e3);

    /// CPU time of the database's processes for each response; of trials with a database.
    DATABASE_CPU "database_cpu_us_per_request" "the database's CPU time per request" ["db CPU", "µs/req"],
    Microseconds Lower
    closed Some((45, 9, NO_SPREAD)), open Some((20, 9, NO_SPREAD)),
    = |trial, _| plain(trial.database.as_ref()?.process.as_ref()?.cpu_ns_per_request / 1e3);

    /// CPU time of the load generator for each response.
    GENERATOR_CPU "generator_cpu_us_per_request" "the load generator's CPU time per request" ["load gen", "µs/req"],
    Microseconds Lower
    closed None, open None,
    = |trial, run| {
        let cpu_ns = run.generator.cpu_ns_per_request;
        if trial.imported.is_some() || cpu_ns <= 0.0 { None } else { plain(cpu_ns / 1e3) }
    };

    /// Energy of the CPU packages of the server's machine for each response, in microjoules, where the kernel reports it
    /// (RAPL). It is that of the whole packages, not of the server: the load generator, other processes and idle cores are
    /// included.
    PACKAGE_ENERGY "package_energy_uj_per_request" "the CPU packages' energy per request (µJ)" ["energy", "µJ/req"],
    Count Lower
    closed None, open None,
    = |trial, _| plain(trial.energy.as_ref()?.joules_per_request * 1e6);

    /// CPU time of the database as a share of its cores.
    DATABASE_UTILIZATION "database_utilization" "the database's CPU utilization" ["db", "busy"], Share Neither
    closed Some((105, 6, NO_SPREAD)), open Some((105, 6, NO_SPREAD)),
    = |trial, _| plain(trial.database.as_ref()?.process.as_ref()?.utilization);

    /// Connections to the database when the load was over; `pool` in the plan limits how many the server may open.
    DATABASE_CONNECTIONS "database_connections" "connections to the database" ["db", "conns"], Count Neither
    closed Some((115, 8, NO_SPREAD)), open Some((115, 8, NO_SPREAD)),
    = |trial, _| plain(trial.database.as_ref()?.counted?.connections? as f64);

    /// Highest resident memory of the server during the window, summed over its processes.
    RSS_PEAK "rss_bytes_peak" "memory" ["memory", "MB"], Bytes Lower
    closed Some((80, 8, 3)), open Some((80, 8, 3)),
    = |trial, _| plain(trial.usage.as_ref()?.rss_bytes_peak as f64);

    /// From the start of the server to its first valid response.
    FIRST_ANSWER "first_answer_ms" "start-up time" ["start", "ms"], Milliseconds Lower
    closed Some((90, 5, 2)), open Some((90, 5, 2)),
    = |trial, _| plain(trial.startup.as_ref()?.first_answer_ns as f64 / 1e6);

    /// CPU time of the server as a share of its cores.
    SERVER_UTILIZATION "server_utilization" "the server's CPU utilization" ["server", "busy"], Share Neither
    closed Some((100, 7, NO_SPREAD)), open Some((100, 7, NO_SPREAD)),
    = |trial, _| plain(trial.usage.as_ref()?.utilization);

    /// CPU utilization of the load generator's busiest thread.
    GENERATOR_UTILIZATION "generator_utilization" "the load generator's CPU utilization" ["load gen", "busy"],
    Share Neither
    closed Some((110, 6, NO_SPREAD)), open Some((110, 6, NO_SPREAD)),
    = |trial, run| if trial.imported.is_some() { None } else { plain(run.generator.utilization) };

    /// Median of the service time (closed loop) or the response time (open loop).
    TIME_P50 "time_ns_p50" "p50" ["p50", ""], Nanoseconds Lower
    closed Some((50, 13, 4)), open Some((50, 13, 4)),
    percentile true = |trial, run| percentile((trial, run), 0.5, "p50", |times| times.p50);

    /// 90 % of the service times (closed loop) or response times (open loop) were at or below this time.
    TIME_P90 "time_ns_p90" "p90" ["p90", ""], Nanoseconds Lower
    closed None, open None,
    percentile true = |trial, run| percentile((trial, run), 0.9, "p90", |times| times.p90);

    /// 99 % of the service times (closed loop) or response times (open loop) were at or below this time.
    TIME_P99 "time_ns_p99" "p99" ["p99", ""], Nanoseconds Lower
    closed Some((60, 0, 4)), open Some((60, 0, 4)),
    percentile true = |trial, run| percentile((trial, run), 0.99, "p99", |times| times.p99);

    /// 99.9 % of the service times (closed loop) or response times (open loop) were at or below this time.
    TIME_P99_9 "time_ns_p99_9" "p99.9" ["p99.9", ""], Nanoseconds Lower
    closed Some((70, 9, 4)), open Some((70, 9, 4)),
    percentile true = |trial, run| percentile((trial, run), 0.999, "p99_9", |times| times.p99_9);

    /// Median time to the first event of a stream, from the intended send (closed loop: the actual send).
    FIRST_EVENT_P50 "first_event_ns_p50" "first event p50" ["1st event p50", ""], Nanoseconds Lower
    closed Some((46, 4, NO_SPREAD)), open Some((46, 4, NO_SPREAD)),
    percentile true = |_, run| event_percentile(run, 0.5, |times| times.p50);

    /// 99 % of the streams had their first event at or before this time.
    FIRST_EVENT_P99 "first_event_ns_p99" "first event p99" ["1st event p99", ""], Nanoseconds Lower
    closed Some((47, 0, NO_SPREAD)), open Some((47, 0, NO_SPREAD)),
    percentile true = |_, run| event_percentile(run, 0.99, |times| times.p99);

    /// Valid responses per second for each core the server was given; shown where it has several.
    ACHIEVED_PER_CORE "achieved_per_s_per_core" "requests/s per core" ["per s", "per core"], PerSecond Higher
    closed Some((20, 7, NO_SPREAD)), open None,
    = |trial, run| {
        let cores = trial.server_cores().len();
        if cores > 0 { plain(run.rate_per_s.achieved / cores as f64) } else { None }
    };

    /// Share of the window's requests that failed; tables show the worst launch.
    NOT_OK_SHARE "not_ok_share" "errors" ["", "errors"], Share Lower
    closed Some((120, 0, NO_SPREAD)), open Some((120, 0, NO_SPREAD)),
    = |_, run| {
        let counts = run.total.counts;
        if counts.scheduled > 0 { plain(counts.not_ok_share()) } else { None }
    };

    /// Requests of a launch's window that failed.
    REQUESTS_NOT_OK "requests_not_ok_per_launch" "failed requests" ["failed", "requests"], Count Lower
    closed None, open None,
    = |_, run| {
        let counts = run.total.counts;
        if counts.scheduled > 0 { plain(counts.not_ok() as f64) } else { None }
    };

    /// Bytes received for each response that was read, headers included.
    BYTES_PER_RESPONSE "bytes_received_per_response" "bytes per response" ["bytes", "per resp"], Count Neither
    closed None, open None,
    = |_, run| {
        // Those of a broken response count among the others.
        let counts = run.total.counts;
        let read = counts.ok.saturating_add(counts.bad_status).saturating_add(counts.bad_body);
        let received = run.total.bytes.received;
        if read > 0 && received > 0 { plain(received as f64 / read as f64) } else { None }
    };

    /// Share of the responses, warm-up included, after which the server left the connection open. Unknown if the
    /// generator closed connections on purpose.
    KEPT_ALIVE_SHARE "kept_alive_share" "connections kept alive" ["kept", "alive"], Share Neither
    closed None, open None,
    = |_, run| {
        let counts = run.intervals.iter().map(|interval| interval.block.counts);
        let read = counts.flat_map(|counts| [counts.ok, counts.bad_status, counts.bad_body]);
        let answered = read.fold(0u64, u64::saturating_add);
        let kept = run.loop_.requests_per_connection.is_none() && !run.loop_.without_keep_alive;
        if answered == 0 || !kept {
            return None;
        }
        plain((1.0 - run.connections.closed_by_server as f64 / answered as f64).max(0.0))
    };
}

/// The times by which a kind of loop is judged: response times with a schedule, service times without.
pub fn judged_times(block: &Block, kind: LoopKind) -> Option<&Times> {
    block.times(kind.judged_time()).filter(|times| times.count > 0)
}

/// A percentile of the run, or the percentile that the source of an imported trial gives.
fn percentile((trial, run): (&Trial, &Run), p: f64, name: &str, get: fn(&Times) -> u64) -> Option<Value> {
    let Some(times) = judged_times(&run.total, run.loop_.kind) else {
        return trial.imported.as_ref()?.times_ns.get(name).and_then(|ns| plain(*ns as f64));
    };
    let value = get(times);
    let censored = run.total.censored.filter(|censored| censored.count > 0);
    Some(Value {
        value: value as f64,
        at_least: censored.is_some_and(|censored| value >= censored.lowest_ns),
        enough: times.count as f64 >= SAMPLES_FOR_INTERVAL / (1.0 - p),
    })
}

/// A percentile of the times to the first events of streams.
fn event_percentile(run: &Run, p: f64, get: fn(&Times) -> u64) -> Option<Value> {
    let times = run.total.times(TimeKind::FirstEvent).filter(|times| times.count > 0)?;
    let enough = times.count as f64 >= SAMPLES_FOR_INTERVAL / (1.0 - p);
    Some(Value { value: get(times) as f64, at_least: false, enough })
}

impl Metric {
    /// The metric of this key.
    pub fn parse(key: &str) -> Option<&'static Metric> {
        Self::ALL.iter().find(|metric| metric.key == key)
    }

    /// Its column in tables of this kind of loop.
    pub fn column(&self, kind: LoopKind) -> Option<MetricColumn> {
        match kind {
            LoopKind::Closed => self.closed,
            LoopKind::Open => self.open,
        }
    }
}

/// The text above the kinds of limits.
const LIMITS: &str = "
## What limited a row

Each trial has one limit: the first of the following kinds for which it has evidence, in this order: errors, memory,
offered rate, generator, network, balancer, database, server CPU, one thread, other work, connections, waiting. A row has
the limit of most of its launches. The evidence is in the record (`limit`), in JSON (`limit.evidence`), CSV
(`limit_evidence`), on the results site, and in text with `--full`.

| key | column | meaning |
|---|---|---|
";

/// The text above the times of a run.
const TIMES: &str = "
## Times of a run

Each time is a distribution in the record of a run (`total`, and each block): count, mean, percentiles, and its
histogram. Text, Markdown, CSV (`KEY_p50` and so on), JSON, the page, the picture and histogram logs (`--hdr`) have every
time that was measured.

| key | name | tag in a log | loop | needs | meaning |
|---|---|---|---|---|---|
";

/// The reference page of all metrics: `docs/reference/metrics.md`.
pub fn metric_reference() -> String {
    let mut page = "# Metrics

<!-- Generated from crates/judge/src/metric.rs by: UPDATE=1 cargo test -p paceline-judge --test it -->

Every metric of a row of a report. Each launch of the server gives one value. A row shows the geometric mean of these
values with its 95 % confidence interval, and their median, minimum and maximum ([reading a report](../reading-a-report.md)).
JSON and CSV use the names of the column `key`; CSV adds `_median`, `_min`, `_max`, `_mean`, `_low` and `_high`.

| key | column | unit | better | meaning |
|---|---|---|---|---|
"
    .to_owned();
    for metric in Metric::ALL {
        let shown = metric.closed.or(metric.open).is_some();
        let column =
            if shown { metric.head.join(" ").trim().to_owned() } else { "CSV and JSON only".to_owned() };
        let unit = format!("{:?}", metric.unit).to_lowercase().replace("persecond", "per second");
        let better = format!("{:?}", metric.better).to_lowercase();
        let meaning = metric.description();
        let _ = writeln!(page, "| `{}` | {column} | {unit} | {better} | {meaning} |", metric.key);
    }
    page.push_str(LIMITS);
    for kind in LimitKind::ALL {
        let key = serde_json::to_value(kind).unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            key.as_str().unwrap_or_default(),
            kind.words(),
            kind.meaning()
        );
    }
    page.push_str(TIMES);
    for kind in TimeKind::ALL {
        let loops = match kind.loops() {
            TimeLoops::Both => "both",
            TimeLoops::Open => "open",
            TimeLoops::Closed => "closed",
        };
        let (key, name, tag) = (kind.key(), kind.name(), kind.tag());
        let _ = writeln!(
            page,
            "| `{key}` | {name} | `{tag}` | {loops} | {} | {} |",
            kind.needs(),
            kind.definition()
        );
    }
    page
}
