//! CSV (RFC 4180): one line for each row of each table, every figure in full precision.
//!
//! Called by [`Report::csv`]. The metrics' columns come from the judge's table, each with `_median`, `_min`,
//! `_max`, `_mean`, `_low` and `_high`; the other columns are listed here, each with its text. Pairings, start-ups and
//! other parts that are not rows of a table have no line.

use crate::row::Row;
use crate::{BalancedRow, BalancedTable, Beside, FaultEffect, Figure, Report, Table};
use paceline_escape::{CsvText, Printable};
use paceline_judge::Metric;
use paceline_record::{BalancedLoad, StreamFormat};

/// A column that is not a metric: its name and its text.
type CsvColumn = (&'static str, fn(&CsvLine<'_>) -> String);

/// The subject of a line.
struct CsvLine<'a> {
    report: &'a Report,
    table: &'a Table,
    row: &'a Row,
}

/// The columns that identify the subject of a line.
const SUBJECT: &[CsvColumn] = &[
    ("round", |line| line.report.round.id.clone()),
    ("plan", |line| line.report.round.plan.clone()),
    ("started_at", |line| line.report.round.started_at.clone()),
    ("machine", |line| line.table.machine.clone()),
    ("workload", |line| line.table.workload.clone()),
    ("form", |line| line.table.form.clone()),
    ("load", |line| line.table.load.name.clone()),
    ("loop", |line| word(&line.table.load.kind)),
    ("connections", |line| line.table.load.connections.to_string()),
    ("depth", |line| line.table.load.depth.to_string()),
    ("offered_per_s", |line| optional(line.table.load.rate_per_s)),
    ("arrivals", |line| line.table.load.arrivals.as_ref().map(word).unwrap_or_default()),
    ("window_s", |line| optional(line.table.load.duration_s)),
    ("requests", |line| optional(line.table.load.requests)),
    ("warmup_s", |line| line.table.load.warmup_s.to_string()),
    ("rank", |line| optional(line.row.rank)),
    ("rank_worst", |line| optional(line.row.rank_worst)),
    ("standing", |line| word(&line.row.standing)),
    ("server", |line| line.row.server.id.clone()),
    ("language", |line| line.row.server.language.clone()),
    ("framework", |line| line.row.server.framework.clone()),
    ("versions", |line| line.row.server.versions.join("; ")),
    ("launches_usable", |line| line.row.launches_usable.to_string()),
    ("launches_planned", |line| line.row.launches_planned.to_string()),
];

/// The columns after the metrics.
const REST: &[CsvColumn] = &[
    ("requests_scheduled", |line| line.row.figures.requests_scheduled.to_string()),
    ("requests_not_ok", |line| line.row.figures.requests_not_ok.to_string()),
    ("smallest_difference", |line| optional(line.table.smallest_difference)),
    ("verdicts", |line| line.row.verdicts.join("; ")),
    ("failures", failures),
    ("http", |line| line.table.load.http.clone().unwrap_or_else(|| "1.1".to_owned())),
    ("no_keep_alive", |line| line.table.load.no_keep_alive.to_string()),
    ("requests_per_connection", |line| optional(line.table.load.requests_per_connection)),
    ("variant", |line| optional(line.table.load.variant.as_ref().map(|variant| variant.kind.suffix()))),
    ("variant_of", |line| optional(line.table.load.variant.as_ref().map(|variant| &variant.of))),
    ("scale", |line| optional(line.table.load.scaled.map(|scaled| scaled.factor))),
    ("balancer", |line| optional(line.load_of_balancer().map(|balanced| &balanced.balancer))),
    ("policy", |line| optional(line.load_of_balancer().map(|balanced| &balanced.policy))),
    ("instances", |line| optional(line.load_of_balancer().map(|balanced| balanced.instances))),
    ("route", |line| optional(line.load_of_balancer().map(|balanced| word(&balanced.route)))),
    ("fault", |line| {
        optional(line.load_of_balancer().and_then(|balanced| balanced.fault.as_ref()).map(word))
    }),
    ("balancer_cpu_us_per_request", |line| {
        optional(line.balanced().and_then(|row| Some(row.balancer_cpu_us_per_request.as_ref()?.median)))
    }),
    ("requests_by_instance", |line| {
        joined(
            line.balanced().into_iter().flat_map(|row| &row.requests_by_instance).flatten().map(|f| f.median),
        )
    }),
    ("retries", |line| optional(line.balanced().and_then(|row| row.retries))),
    ("redispatches", |line| optional(line.balanced().and_then(|row| row.redispatches))),
    ("balancer_failures", |line| optional(line.balanced().and_then(|row| row.balancer_failures))),
    ("cores_ran_out", |line| joined(line.balanced().into_iter().flat_map(|row| row.cores_ran_out.keys()))),
    ("taken_out_after_s", |line| {
        joined(line.faults().filter_map(|reported| reported.fault.taken_out_after_s))
    }),
    ("last_failure_s", |line| joined(line.faults().filter_map(|reported| reported.last_failure_s))),
    ("observed", observed),
    ("limits", |line| line.row.server.limits.join("; ")),
    ("limited_by", |line| optional(line.row.limit.as_ref().map(|limit| word(&limit.kind)))),
    ("limit_evidence", |line| optional(line.row.limit.as_ref().map(|limit| &limit.evidence))),
    ("protocol", |line| line.table.load.protocol.name().to_owned()),
    ("stream", |line| optional(line.table.load.stream.map(StreamFormat::name))),
    ("tls", |line| line.table.load.tls.to_string()),
    ("framework_package", |line| {
        let package = line.row.server.framework_package.as_ref();
        optional(package.map(|package| format!("{} {}", package.name, package.version)))
    }),
];

/// The report as CSV.
pub(super) fn render(report: &Report) -> Printable {
    let mut text = record(header().into_iter());
    for table in &report.tables {
        for row in &table.rows {
            let line = CsvLine { report, table, row };
            let of = |cells: &[CsvColumn]| cells.iter().map(|(_, cell)| cell(&line)).collect::<Vec<_>>();
            let metrics = Metric::ALL.iter().flat_map(|metric| parts(metric, row.figures.get(metric)));
            text.push(&record(of(SUBJECT).into_iter().chain(metrics).chain(of(REST))));
        }
    }
    text.into()
}

/// A line of CSV.
fn record(fields: impl Iterator<Item = String>) -> CsvText {
    [CsvText::record(fields), CsvText::literal("\r\n")].into_iter().collect()
}

fn header() -> Vec<String> {
    let names = |cells: &[CsvColumn]| cells.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let metrics = Metric::ALL.iter().flat_map(|metric| {
        part_names(metric).iter().map(|part| format!("{}_{part}", metric.key)).collect::<Vec<_>>()
    });
    names(SUBJECT).into_iter().chain(metrics).chain(names(REST)).collect()
}

/// The columns of each metric.
fn part_names(metric: &Metric) -> &'static [&'static str] {
    const PERCENTILE: [&str; 8] = ["median", "min", "max", "mean", "low", "high", "at_least", "enough"];
    if metric.is_percentile { &PERCENTILE } else { &PERCENTILE[..6] }
}

fn parts(metric: &Metric, figure: Option<&Figure>) -> Vec<String> {
    let Some(figure) = figure else { return vec![String::new(); part_names(metric).len()] };
    let [low, high] = figure.interval.map_or([None, None], |ends| ends.map(Some));
    let numbers = [Some(figure.median), Some(figure.min), Some(figure.max), figure.mean, low, high];
    let mut parts: Vec<String> = numbers.into_iter().map(optional).collect();
    if metric.is_percentile {
        parts.extend([figure.at_least, figure.enough].map(optional));
    }
    parts
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn joined(values: impl Iterator<Item = impl ToString>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join("; ")
}

fn failures(line: &CsvLine<'_>) -> String {
    let failures = line.row.failures.iter();
    let failures = failures.map(|f| format!("{}x {}: {}", f.launches, word(&f.stage), f.message));
    let left_out = line.row.left_out.iter();
    joined(failures.chain(left_out.map(|(verdict, launches)| format!("{launches}x left out: {verdict}"))))
}

impl<'a> CsvLine<'a> {
    fn load_of_balancer(&self) -> Option<&'a BalancedLoad> {
        self.table.load.balanced.as_ref()
    }

    /// The row's entry in the balanced tables.
    fn balanced(&self) -> Option<&'a BalancedRow> {
        let table = self.table;
        let fits = |balanced: &&BalancedTable| {
            (&balanced.machine, &balanced.workload, &balanced.form, &balanced.load)
                == (&table.machine, &table.workload, &table.form, &table.load.name)
        };
        let rows = self.report.balanced.iter().filter(fits).flat_map(|balanced| &balanced.rows);
        rows.into_iter().find(|balanced| balanced.server == self.row.server.id)
    }

    fn faults(&self) -> impl Iterator<Item = &'a FaultEffect> {
        self.balanced().into_iter().flat_map(|row| &row.faults)
    }
}

/// The source's observations for the row.
fn observed(line: &CsvLine<'_>) -> String {
    let (table, row) = (line.table, line.row);
    let fits = |beside: &&Beside| {
        let observed = &beside.observed;
        observed.server.as_ref() == Some(&row.server.id)
            && observed.workload.as_ref().is_none_or(|workload| *workload == table.workload)
            && observed.load.as_ref().is_none_or(|load| *load == table.load.name)
            && observed.form.as_ref().is_none_or(|form| *form == table.form)
    };
    joined(line.report.observed.iter().filter(fits).map(|beside| {
        let observed = &beside.observed;
        format!("{} {}: {} {}", observed.source, word(&observed.what), observed.value, observed.unit)
    }))
}

/// The name of a value in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
