//! CSV (RFC 4180): one line for each row of each table, every figure in full precision.
//!
//! Called for [`super::Format::Csv`]. The header is stable: columns are only ever added at its end;
//! `docs/reading-a-report.md` describes them. What is no row of a table, as pairings and start-ups, has no line. The
//! seconds of a single run are `second_csv.rs`'s.

use super::{Formatter, Options};
use crate::row::{Row, Standing};
use crate::{BalancedTable, Beside, FaultTold, Figure, Percentile, Report, Table};
use paceline_record::{Arrivals, Load, LoopKind, Stage};

/// Comma-separated values.
pub struct Csv;

/// The columns that say what a line is about.
const SUBJECT: &str = "round,plan,started_at,machine,workload,form,load,loop,connections,depth,offered_per_s,\
arrivals,window_s,requests,warmup_s,rank,tied,standing,server,language,framework,versions,\
launches_usable,launches_planned";
/// The figures: each takes three columns, `_median`, `_min` and `_max`.
const FIGURES: [&str; 7] = [
    "achieved_per_s",
    "server_cpu_us_per_request",
    "server_cpu_us_per_request_at_reference",
    "rss_bytes_peak",
    "first_answer_ms",
    "server_utilization",
    "generator_utilization",
];
/// The percentiles: each takes four columns more, `_median`, `_min`, `_max`, `_at_least` and `_enough`.
const PERCENTILES: [&str; 3] = ["time_ns_p50", "time_ns_p99", "time_ns_p99_9"];
/// What comes last.
const REST: &str = "requests_scheduled,requests_not_ok,not_ok_share_max,verdicts,failures,\
http,no_keep_alive,requests_per_connection,variant,variant_of,scale,\
balancer,policy,instances,route,fault,balancer_cpu_us_per_request,requests_by_instance,retries,redispatches,\
balancer_failures,cores_ran_out,taken_out_after_s,last_failure_s,\
bytes_received_per_response,kept_alive_share,observed,\
achieved_per_s_per_core_median,achieved_per_s_per_core_min,achieved_per_s_per_core_max,limits";

impl Formatter for Csv {
    fn render(&self, report: &Report, _options: Options) -> String {
        let mut text = header();
        for table in &report.tables {
            for row in &table.rows {
                let mut fields = subject(report, table, row);
                fields.extend(numbers(row));
                fields.extend(rest(row));
                fields.extend(shape(&table.load));
                fields.extend(balanced(report, table, row));
                fields.extend(beside(report, table, row));
                fields.extend(parts(row.figures.achieved_per_s_per_core));
                fields.push(row.server.limits.join("; "));
                text.push_str(&fields.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(","));
                text.push_str("\r\n");
            }
        }
        text
    }
}

fn header() -> String {
    let figures =
        FIGURES.iter().flat_map(|name| ["median", "min", "max"].map(|part| format!("{name}_{part}")));
    let percentiles = PERCENTILES
        .iter()
        .flat_map(|name| ["median", "min", "max", "at_least", "enough"].map(|part| format!("{name}_{part}")));
    let columns: Vec<String> = figures.chain(percentiles).collect();
    format!("{SUBJECT},{},{REST}\r\n", columns.join(","))
}

fn subject(report: &Report, table: &Table, row: &Row) -> Vec<String> {
    let load = &table.load;
    let arrivals = load.arrivals.map(|arrivals| match arrivals {
        Arrivals::Constant => "constant",
        Arrivals::Poisson => "poisson",
    });
    vec![
        report.round.id.clone(),
        report.round.plan.clone(),
        report.round.started_at.clone(),
        table.machine.clone(),
        table.workload.clone(),
        table.form.clone(),
        load.name.clone(),
        if load.kind == LoopKind::Open { "open" } else { "closed" }.to_owned(),
        load.connections.to_string(),
        load.depth.to_string(),
        load.rate_per_s.map(|rate| rate.to_string()).unwrap_or_default(),
        arrivals.unwrap_or_default().to_owned(),
        load.duration_s.map(|s| s.to_string()).unwrap_or_default(),
        load.requests.map(|n| n.to_string()).unwrap_or_default(),
        load.warmup_s.to_string(),
        row.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        row.tied.to_string(),
        standing(row.standing).to_owned(),
        row.server.id.clone(),
        row.server.language.clone(),
        row.server.framework.clone(),
        row.server.versions.join("; "),
        row.launches_usable.to_string(),
        row.launches_planned.to_string(),
    ]
}

fn numbers(row: &Row) -> Vec<String> {
    let figures = &row.figures;
    let plain = [
        figures.achieved_per_s,
        figures.server_cpu_us_per_request,
        row.server_cpu_us_per_request_at_reference,
        figures.rss_bytes_peak,
        figures.first_answer_ms,
        figures.server_utilization,
        figures.generator_utilization,
    ];
    let times = [figures.time_ns_p50, figures.time_ns_p99, figures.time_ns_p99_9];
    plain
        .iter()
        .flat_map(|figure| parts(*figure))
        .chain(times.iter().flat_map(|time| time_parts(*time)))
        .collect()
}

fn parts(figure: Option<Figure>) -> [String; 3] {
    figure.map_or_else(Default::default, |f| [f.median, f.min, f.max].map(|value| value.to_string()))
}

fn time_parts(time: Option<Percentile>) -> [String; 5] {
    let [median, min, max] = parts(time.map(|time| time.figure));
    let flag = |get: fn(&Percentile) -> bool| time.as_ref().map(|t| get(t).to_string()).unwrap_or_default();
    [median, min, max, flag(|time| time.at_least), flag(|time| time.enough)]
}

fn rest(row: &Row) -> [String; 5] {
    let failures: Vec<String> =
        row.failures.iter().map(|f| format!("{}x {}: {}", f.launches, stage(f.stage), f.message)).collect();
    [
        row.figures.requests_scheduled.to_string(),
        row.figures.requests_not_ok.to_string(),
        row.figures.not_ok_share.map(|share| share.max.to_string()).unwrap_or_default(),
        row.verdicts.join("; "),
        failures.join("; "),
    ]
}

/// How the load uses its connections, and what it is beside another.
fn shape(load: &Load) -> [String; 11] {
    let balanced = load.balanced.as_ref();
    [
        load.http.clone().unwrap_or_else(|| "1.1".to_owned()),
        load.no_keep_alive.to_string(),
        load.requests_per_connection.map(|n| n.to_string()).unwrap_or_default(),
        load.variant.as_ref().map(|variant| variant.kind.suffix().to_owned()).unwrap_or_default(),
        load.variant.as_ref().map(|variant| variant.of.clone()).unwrap_or_default(),
        load.scaled.map(|scaled| scaled.factor.to_string()).unwrap_or_default(),
        balanced.map(|balanced| balanced.balancer.clone()).unwrap_or_default(),
        balanced.map(|balanced| balanced.policy.clone()).unwrap_or_default(),
        balanced.map(|balanced| balanced.instances.to_string()).unwrap_or_default(),
        balanced.map(|balanced| word(&balanced.route)).unwrap_or_default(),
        balanced.and_then(|balanced| balanced.fault.as_ref()).map(word).unwrap_or_default(),
    ]
}

/// What the balancer of a row did; medians over its launches, faults launch by launch.
fn balanced(report: &Report, table: &Table, row: &Row) -> [String; 8] {
    let fits = |balanced: &&BalancedTable| {
        (&balanced.machine, &balanced.workload, &balanced.form, &balanced.load)
            == (&table.machine, &table.workload, &table.form, &table.load.name)
    };
    let rows = report.balanced.iter().filter(fits).flat_map(|balanced| &balanced.rows);
    let Some(balanced) = rows.into_iter().find(|balanced| balanced.server == row.server.id) else {
        return Default::default();
    };
    let count = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
    let medians = |figures: &[Option<Figure>]| {
        let medians: Vec<String> = figures.iter().flatten().map(|figure| figure.median.to_string()).collect();
        medians.join("; ")
    };
    let faults = |get: fn(&FaultTold) -> Option<f64>| {
        let seconds: Vec<String> = balanced.faults.iter().filter_map(get).map(|s| s.to_string()).collect();
        seconds.join("; ")
    };
    let ran_out: Vec<&str> = balanced.cores_ran_out.keys().map(String::as_str).collect();
    [
        balanced.balancer_cpu_us_per_request.map(|figure| figure.median.to_string()).unwrap_or_default(),
        medians(&balanced.requests_by_instance),
        count(balanced.retries),
        count(balanced.redispatches),
        count(balanced.balancer_failures),
        ran_out.join("; "),
        faults(|told| told.fault.taken_out_after_s),
        faults(|told| told.last_failure_s),
    ]
}

/// What else is known of a row, and what a source observed of it.
fn beside(report: &Report, table: &Table, row: &Row) -> [String; 3] {
    let fits = |beside: &&Beside| {
        let observed = &beside.observed;
        observed.server.as_ref() == Some(&row.server.id)
            && observed.workload.as_ref().is_none_or(|workload| *workload == table.workload)
            && observed.load.as_ref().is_none_or(|load| *load == table.load.name)
            && observed.form.as_ref().is_none_or(|form| *form == table.form)
    };
    let told = report.observed.iter().filter(fits).map(|beside| {
        let observed = &beside.observed;
        format!("{} {}: {} {}", observed.source, word(&observed.what), observed.value, observed.unit)
    });
    let median = |figure: Option<Figure>| figure.map(|figure| figure.median.to_string()).unwrap_or_default();
    [
        median(row.figures.bytes_received_per_response),
        median(row.figures.kept_alive_share),
        told.collect::<Vec<_>>().join("; "),
    ]
}

/// The word that JSON has for a value.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The same names as in JSON.
fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Ranked => "ranked",
        Standing::GeneratorBound => "generator_bound",
        Standing::Overloaded => "overloaded",
        Standing::Invalid => "invalid",
        Standing::Failed => "failed",
    }
}

/// The same names as in JSON.
fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Setup => "setup",
        Stage::Build => "build",
        Stage::Start => "start",
        Stage::Validate => "validate",
        Stage::Load => "load",
        Stage::Generate => "generate",
    }
}

/// A field, in quotes where RFC 4180 asks for them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, b"), "\"a, b\"");
        assert_eq!(quoted("say \"so\""), "\"say \"\"so\"\"\"");
        assert_eq!(quoted("two\nlines"), "\"two\nlines\"");
    }
}
