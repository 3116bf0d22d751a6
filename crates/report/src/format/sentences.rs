//! The sentences around a table, the same in text and Markdown: load, machine, and the meaning of the marks.
//!
//! Some of them serve columns and sheets too. They are plain text: `text.rs` wraps and colours them, `markdown.rs`
//! escapes them. CSV and JSON use the record's names instead.

use super::number;
use super::resolution::resolution;
use crate::copies::CopyCheck;
use crate::rank::RankedBy;
use crate::row::{Row, Standing};
use crate::{About, Figure, Machine, Report, Table};
use paceline_judge::Metric;
use paceline_record::{
    FaultKind, LimitKind, Load, LoopKind, Pinning, RateShare, Route, VariantKind, WorkloadProtocol,
};
use paceline_stats::counted;
use std::collections::{BTreeMap, BTreeSet};

/// `42 trials, 3 launches per row`; for an incomplete round `40 of 42 trials, up to 3 launches per row`, and whether it is
/// finished.
pub fn progress(about: &About) -> String {
    if about.is_imported {
        return counted(about.trials_done, "imported result", "imported results");
    }
    let is_finished = about.finished_at.is_some();
    let is_complete = is_finished && about.trials_done == about.trials_planned;
    let (done, up_to) = match is_complete {
        true => (String::new(), ""),
        false => (format!("{} of ", about.trials_done), "up to "),
    };
    let mut text = format!(
        "{done}{}, {up_to}{} per row",
        counted(about.trials_planned, "trial", "trials"),
        counted(about.launches_planned, "launch", "launches")
    );
    if about.trials_retried > 0 {
        let tries = counted(about.trials_retried, "retry", "retries");
        text.push_str(&format!(", {tries}"));
    }
    text.push_str(match (is_complete, is_finished) {
        (true, _) => "",
        (false, true) => ", finished",
        (false, false) => ", not finished",
    });
    text
}

/// `, 2026-11-21 01:06 UTC`; empty for an imported round without a date.
pub fn begun(about: &About) -> String {
    if about.started_at.is_empty() { String::new() } else { format!(", {}", moment(&about.started_at)) }
}

/// `2026-11-21 01:06 UTC` for an RFC 3339 time; other text unchanged.
pub fn moment(rfc3339: &str) -> String {
    match (rfc3339.get(..10), rfc3339.get(11..16), rfc3339.ends_with('Z')) {
        (Some(day), Some(time), true) => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// `AMD EPYC, 2 cores, 8.3 GB, virtual machine, Linux 6.18.5`, and with `full` the build of the kernel and the
/// distribution; none for a machine that an imported round does not describe.
pub fn machine(machine: &Machine, full: bool) -> Option<String> {
    let e = &machine.environment;
    let memory = (e.memory_bytes > 0).then(|| format!("{:.1} GB", e.memory_bytes as f64 / 1e9));
    let cores = (e.cores > 0).then(|| counted(e.cores, "core", "cores"));
    let governor = e.governor.as_ref().map(|governor| format!("governor {governor}"));
    let held = (!e.held.is_empty())
        .then(|| format!("settings changed for the run, then restored: {}", e.held.join(", ")));
    let parts = [
        Some(if full { e.cpu_model.clone() } else { e.cpu_model.replace("(R)", "").replace("(TM)", "") }),
        cores,
        memory,
        e.virtual_machine.then(|| "virtual machine".to_owned()),
        Some(if full { e.kernel.clone() } else { release(&e.kernel).to_owned() }),
        full.then(|| e.os.clone()),
        governor,
        held,
    ];
    let reported: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!reported.is_empty()).then(|| reported.join(", "))
}

/// The name and release of a kernel, without its build: `Linux 6.1.0` of `Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC Debian`.
fn release(kernel: &str) -> &str {
    kernel.split(" #").next().unwrap_or(kernel)
}

/// The cores of the processes: `server on core 0, generator on core 1`.
pub fn pinning(pinnings: &[Pinning]) -> Option<String> {
    let one = |pinning: &Pinning| {
        let (server, generator) = (cores(&pinning.server), cores(&pinning.generator));
        let shared = if pinning.disjoint { "" } else { " (shared: each slows the other down)" };
        let balancer = match pinning.balancer.as_slice() {
            [] => String::new(),
            balancer => format!(", balancer on {}", cores(balancer)),
        };
        format!("server on {server}, generator on {generator}{balancer}{shared}")
    };
    let all: Vec<String> = pinnings.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join("; or "))
}

fn cores(list: &[u32]) -> String {
    let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
    match list {
        [] => "any core".to_owned(),
        [one] => format!("core {one}"),
        [first, .., last]
            if list.len() > 2 && list.is_sorted() && (last - first) as usize == list.len() - 1 =>
        {
            format!("cores {first} to {last}")
        }
        _ => format!("cores {}", numbers.join(", ")),
    }
}

/// The title of the table: `hello, closed loop`, or with the rate.
pub fn title(table: &Table) -> String {
    let title = match (table.load.kind, table.load.rate_per_s) {
        _ if table.load.capacity.is_some() => format!("{}, capacity", table.workload),
        (LoopKind::Open, Some(rate)) => {
            format!("{}, open loop at {} requests/s", table.workload, number::offered_rate(rate))
        }
        (LoopKind::Open, None) => {
            let of_own =
                |share: &RateShare| format!(" at {} of each server's capacity", number::percent(share.share));
            let share = table.load.share.as_ref().map(of_own).unwrap_or_default();
            format!("{}, open loop{share}", table.workload)
        }
        (LoopKind::Closed, _) => format!("{}, closed loop", table.workload),
    };
    shape(&table.load).map_or(title.clone(), |shape| format!("{title}, {shape}"))
}

/// The properties of a load besides its rate: `first run`, `gRPC`, `HTTP/1.0`, `through haproxy`.
fn shape(load: &Load) -> Option<String> {
    let mut parts = Vec::new();
    if load.variant.as_ref().is_some_and(|variant| variant.kind == VariantKind::FirstRun) {
        parts.push("first run".to_owned());
    }
    parts.extend((!load.protocol.is_http()).then(|| load.protocol.name().to_owned()));
    parts.extend(load.stream.map(|stream| format!("streams of {}", stream.name())));
    parts.extend(load.http.as_ref().map(|http| format!("HTTP/{http}")));
    parts.extend((load.tls && load.http.as_deref() != Some("3")).then(|| "TLS".to_owned()));
    parts.extend(load.no_keep_alive.then(|| "closed after each response".to_owned()));
    parts.extend(load.requests_per_connection.map(|n| counted(n, "request", "requests") + " per connection"));
    if let Some(balanced) = &load.balanced {
        parts.push(match balanced.route {
            Route::Direct => "sent to one instance".to_owned(),
            Route::Spread => {
                format!("sent to {} directly", counted(balanced.instances, "instance", "instances"))
            }
            Route::Balanced => format!(
                "{} behind {}",
                counted(balanced.instances, "instance", "instances"),
                balanced.balancer
            ),
        });
        parts.extend(balanced.fault.map(|fault| match fault {
            FaultKind::KillOne => "one instance killed".to_owned(),
        }));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The settings of the load: connections, depth, arrivals, lengths.
pub fn load(table: &Table) -> String {
    let load = &table.load;
    let mut parts = vec![format!("load {}", load.name)];
    // Some imported reports do not give the number of connections.
    if load.connections > 0 {
        parts.push(counted(load.connections, "connection", "connections"));
    }
    if load.depth > 1 {
        parts.push(format!("{} outstanding requests on each", load.depth));
    }
    if load.protocol == WorkloadProtocol::WebSocket && load.stream.is_none() {
        parts.push("a request is a message with its answer".to_owned());
    }
    parts.extend(load.capacity.as_ref().map(|search| format!("objective {}", search.objective)));
    parts.extend(
        load.share
            .as_ref()
            .map(|share| format!("100 % is the rate that load {} found in the same launch", share.of)),
    );
    parts.extend(load.arrivals.map(|arrivals| arrivals.words().to_owned()));
    let warmup =
        if load.warmup_s > 0.0 { format!(" after {} s of warm-up", load.warmup_s) } else { String::new() };
    parts.extend(load.duration_s.map(|s| format!("{s} s windows{warmup}")));
    parts.extend(load.requests.map(|n| counted(n, "request", "requests")));
    parts.extend(load.scaled.as_ref().map(|scaled| {
        let rate = scaled.rate_per_s.map(|rate| format!(" at {}/s", number::offered_rate(rate)));
        let (factor, rate) = (number::value(scaled.factor), rate.unwrap_or_default());
        let connections = counted(scaled.connections, "connection", "connections");
        format!("scaled by {factor} from the plan's {connections}{rate}")
    }));
    parts.join(", ")
}

/// The form of the servers.
pub fn form(table: &Table) -> Option<String> {
    match table.form.as_str() {
        "single" => Some("servers as one process on one core".to_owned()),
        "cores" => Some("servers with all cores assigned to them".to_owned()),
        // Imported reports do not give the form.
        "published" => None,
        form => Some(format!("servers started in the form {form}")),
    }
}

/// The fixed rate at which generator-bound rows are compared: `at 2,000/s`.
pub fn reference(table: &Table) -> Option<String> {
    let load = table.reference_load.as_ref()?;
    let rate = load.rate_per_s.map(|rate| format!("at {}/s", number::offered_rate(rate)));
    Some(rate.unwrap_or_else(|| format!("in {}", load.name)))
}

/// The order of the rows, and the meaning of their ranks.
pub fn ranking(table: &Table) -> String {
    let bound = table.rows.iter().any(|row| row.standing == Standing::GeneratorBound);
    let by = match (table.ranked_by, bound) {
        (RankedBy::ServerCpuPerRequest, _) => "Sorted by server CPU per request at this rate.".to_owned(),
        (RankedBy::ResponseTimeP99, _) => {
            "Sorted by p99 response time. Each server is offered its own rate, so do not compare CPU or rates here."
                .to_owned()
        }
        (RankedBy::Capacity, _) => {
            "Sorted by capacity: the rate at which half of all windows meet the objective. Times were measured in the long window at the end of each search."
                .to_owned()
        }
        (RankedBy::RequestsPerS, false) => "Sorted by requests/s.".to_owned(),
        (RankedBy::RequestsPerS, true) => {
            let at = reference(table).unwrap_or_else(|| "under this load".to_owned());
            format!("Sorted by requests/s; rows with ≥ come first, sorted by server CPU per request {at}.")
        }
    };
    let has_ranks = table.rows.iter().any(|row| row.rank.is_some());
    let unranked = match (has_ranks, table.rows.iter().any(|row| row.counts(table.ranked_by.metric()))) {
        (true, _) => "",
        (false, true) => " Not ranked: one launch per row.",
        (false, false) => " Not ranked: every row is invalid, overloaded or failed.",
    };
    let added = [
        resolution(table, table.ranked_by.metric(), table.smallest_difference, !table.ahead.is_empty()),
        copy_sentence(table),
        common_limit_sentence(table),
    ];
    let added: String = added.into_iter().flatten().map(|sentence| format!(" {sentence}")).collect();
    format!("{by}{unranked}{added}")
}

/// The limit that all measured rows have in common; none if they differ, or if there is only one row.
pub fn common_limit(table: &Table) -> Option<LimitKind> {
    let kinds = || table.rows.iter().filter(|row| row.is_measured()).map(|row| row.limit.as_ref());
    let first = kinds().next()??.kind;
    (kinds().count() > 1 && kinds().all(|limit| limit.is_some_and(|limit| limit.kind == first)))
        .then_some(first)
}

/// What limited all rows, if it is the same.
fn common_limit_sentence(table: &Table) -> Option<String> {
    let kind = common_limit(table)?;
    Some(match kind {
        LimitKind::OfferedRate => "Every server answered all offered requests.".to_owned(),
        LimitKind::Unknown => {
            "What limited the servers is unknown: their CPU time was not measured.".to_owned()
        }
        kind => format!("Limit of every row: {}.", kind.words()),
    })
}

/// What limited the rows, where a terminal has no room for the column: `database: rust-actix; server CPU: the others`.
pub fn limits_in_a_line(table: &Table) -> Option<String> {
    let mut servers: BTreeMap<LimitKind, Vec<&str>> = BTreeMap::new();
    for row in &table.rows {
        let Some(limit) = &row.limit else { continue };
        servers.entry(limit.kind).or_default().push(&row.server.id);
    }
    let mut groups: Vec<_> = servers.into_iter().collect();
    groups.sort_by_key(|(_, servers)| servers.len());
    let last = groups.len().checked_sub(1).filter(|last| *last > 0)?;
    let one = |(place, (kind, servers)): (usize, &(LimitKind, Vec<&str>))| {
        let names = if place == last { "the others".to_owned() } else { servers.join(", ") };
        format!("{}: {names}", kind.words())
    };
    Some(groups.iter().enumerate().map(one).collect::<Vec<_>>().join("; "))
}

/// What limited each row, with the evidence.
pub fn limited_by(table: &Table) -> Vec<(String, String)> {
    let one = |row: &Row| {
        let limit = row.limit.as_ref()?;
        Some((row.server.id.clone(), format!("{} ({})", limit.kind.words(), limit.evidence)))
    };
    table.rows.iter().filter_map(one).collect()
}

/// The energy of the CPU packages for each response, in the rows for which it is known.
pub fn energy(table: &Table) -> Option<String> {
    let one = |row: &Row| {
        let [energy, spread] = number::with_interval(row.figures.get(&Metric::PACKAGE_ENERGY)?, 1.0);
        Some(format!("{} {energy} µJ {spread}", row.server.id).trim_end().to_owned())
    };
    let rows: Vec<String> = table.rows.iter().filter_map(one).collect();
    (!rows.is_empty()).then(|| format!("energy of the CPU packages per request: {}", rows.join("; ")))
}

/// The sentence below a table on the differences between copies.
fn copy_sentence(table: &Table) -> Option<String> {
    let deciding: Vec<&CopyCheck> = table.copies.iter().filter(|check| check.is_deciding).collect();
    let parts: Vec<String> = deciding
        .iter()
        .map(|check| {
            let size = number::percent((check.ratio - 1.0).abs());
            let claim = if check.is_claimed { ", a false positive at 95 % confidence" } else { "" };
            format!("two copies of {} differ by {size}{claim}", check.server)
        })
        .collect();
    (!parts.is_empty()).then(|| format!("A/A: {}.", parts.join("; ")))
}

/// The versions that the servers' version commands printed, first lines only; by server, each once.
pub fn versions(tables: &[Table]) -> Vec<(String, String)> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for server in tables.iter().flat_map(|table| &table.rows).map(|row| &row.server) {
        let known = versions.entry(&server.id).or_default();
        for version in server.versions.iter().filter_map(|version| version.lines().next()) {
            if !known.contains(&version) {
                known.push(version);
            }
        }
    }
    let one = |(id, known): (&str, Vec<&str>)| {
        let changed = if known.len() > 1 { "changed between launches: " } else { "" };
        (id.to_owned(), format!("{changed}{}", known.join("; ")))
    };
    versions.into_iter().filter(|(_, known)| !known.is_empty()).map(one).collect()
}

/// The servers whose framework comes from system packages, with the release of each: a sentence for each system. Only
/// servers for which `shown` is true; copies are left out.
pub fn framework_packages(report: &Report, shown: impl Fn(&str) -> bool) -> Vec<String> {
    let mut by_system: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for table in &report.tables {
        let machine = report.machines.iter().find(|machine| machine.label == table.machine);
        let system = machine.map_or("", |machine| machine.environment.os.as_str());
        for server in table.rows.iter().map(|row| &row.server) {
            if let Some(package) = &server.framework_package
                && server.copy_of.is_none()
                && shown(&server.id)
            {
                by_system.entry(system).or_default().insert((server.id.as_str(), package.release()));
            }
        }
    }
    let sentence = |(system, servers): (&str, BTreeSet<(&str, &str)>)| {
        let servers: Vec<String> =
            servers.into_iter().map(|(id, release)| format!("{id} {release}")).collect();
        format!(
            "Framework from system packages{}, which may be years older than the newest releases: {}.",
            system_words(system),
            servers.join(", ")
        )
    };
    by_system.into_iter().map(sentence).collect()
}

/// A distribution in short: ` (Debian 12)` for `Debian GNU/Linux 12 (bookworm)`; empty if it is not known.
fn system_words(system: &str) -> String {
    let name = system.split_once(" (").map_or(system, |(name, _)| name).replace(" GNU/Linux", "");
    if name.is_empty() { name } else { format!(" ({name})") }
}

/// The limits of the servers of these tables: `python-x`, `no pipelining`.
pub fn limits(tables: &[Table]) -> Vec<(String, String)> {
    let servers = tables.iter().flat_map(|table| &table.rows).map(|row| &row.server);
    let limited: BTreeMap<&str, &[String]> = servers
        .filter(|server| !server.limits.is_empty())
        .map(|server| (server.id.as_str(), server.limits.as_slice()))
        .collect();
    limited.into_iter().map(|(id, limits)| (id.to_owned(), limits.join(", "))).collect()
}

/// The meaning of the marks in these tables, and with `full` of their columns; only those that occur.
pub fn legend(tables: &[Table], full: bool) -> Vec<(&'static str, &'static str)> {
    let columns = if full { legend_of_columns(tables) } else { Vec::new() };
    let entries = legend_of_ranks(tables).into_iter().chain(columns);
    entries.filter(|(holds, ..)| *holds).map(|(_, mark, meaning)| (mark, meaning)).collect()
}

/// A mark or a column, its meaning, and whether it occurs.
type LegendEntry = (bool, &'static str, &'static str);

fn legend_of_ranks(tables: &[Table]) -> Vec<LegendEntry> {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let any = |standing| rows().any(|row| row.standing == standing);
    let intervals = rows().any(|row| {
        Metric::ALL
            .iter()
            .any(|metric| row.figures.get(metric).is_some_and(|figure| figure.interval.is_some()))
    });
    let ranges = rows().any(|row| {
        let shown = |metric: &&Metric| metric.closed.or(metric.open).is_some();
        let is_wide = |figure: &Figure| figure.interval.is_some() && number::is_wide(figure);
        Metric::ALL.iter().filter(shown).any(|metric| row.figures.get(metric).is_some_and(is_wide))
    });
    vec![
        (
            rows().any(|row| row.rank < row.rank_worst),
            "rank 2–4",
            "the true rank is 2, 3 or 4 (95 % confidence for the whole table)",
        ),
        (intervals, "±", "95 % interval of the mean over launches"),
        (ranges, "value 12–93", "12 in the lowest launch, 93 in the highest; shown where ± is over 50 %"),
        (
            rows().any(|row| row.rank.is_none() && row.is_sound()),
            "–",
            "not ranked: measured in only one launch, or not at all",
        ),
        (
            any(Standing::GeneratorBound),
            "≥ req/s",
            "the true rate is at least this: the load generator was the bottleneck",
        ),
        (
            any(Standing::Disturbed),
            "≥ req/s",
            "the true rate is at least this: other processes or the hypervisor took CPU time (see the notes)",
        ),
        (any(Standing::Overloaded), "!", "overloaded (requests queued), not ranked"),
        (any(Standing::Invalid), "?", "invalid (see the notes), not ranked"),
        (any(Standing::Failed), "×", "no usable launch (see the failures)"),
    ]
}

fn legend_of_columns(tables: &[Table]) -> Vec<LegendEntry> {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let percentiles = || {
        let metrics = Metric::ALL.iter().filter(|metric| metric.is_percentile);
        metrics.flat_map(move |metric| rows().filter_map(|row| row.figures.get(metric)))
    };
    let closed = tables.iter().any(|table| table.load.kind == LoopKind::Closed);
    let open = tables.iter().any(|table| table.load.kind == LoopKind::Open);
    vec![
        (
            percentiles().any(|figure| figure.at_least == Some(true)),
            "≥ time",
            "the true time is at least this: requests without a response are included, with the time they waited",
        ),
        (
            percentiles().any(|figure| figure.enough == Some(false)),
            "·",
            "too few requests for this percentile: quantile q needs at least 3.7/(1-q) requests (p99: 370)",
        ),
        (
            rows().any(|r| r.is_measured() && r.launches_usable < r.launches_planned),
            "used",
            "usable launches out of the planned launches; the others failed, or the machine spoiled them",
        ),
        (
            closed,
            "p50 p99",
            "service time (closed loop), from the first byte of a request sent to the last byte of its response",
        ),
        (
            open,
            "p50 p99",
            "response time (open loop), from the time a request was due to the last byte of its response",
        ),
        (
            rows().any(|r| r.figures.get(&Metric::NOT_OK_SHARE).is_some_and(|f| f.max > 0.0)),
            "errors",
            "share of requests that failed, in the worst launch",
        ),
    ]
}
