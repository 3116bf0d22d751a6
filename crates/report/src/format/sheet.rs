//! Sheets: the parts of a report besides its ranked tables, shared by text and Markdown.
//!
//! Loads beside their twins, balancers, the CPU time of requests, the source's observations. A sheet is rows of texts
//! under heads; the format defines its layout. The page of a round shows those of [`routed_sheets`] too.

use super::number;
use crate::cpu_bar::{FILLS, cpu_bar};
use crate::observed::Standing;
use crate::{
    BalancedRow, BalancedTable, Beside, FaultEffect, Figure, PairRow, Pairing, Report, Row, ScaledBy,
    ScalingRow, ScalingTable, StartRow, StartTable, Starts, Table, WarmUpRow, WarmUpTable,
};
use paceline_judge::Metric;
use paceline_record::{LoopKind, ObservedFigure, VariantKind};
use paceline_stats::counted;
use schemars::JsonSchema;
use serde::Serialize;

/// Rows of texts under heads, with notes on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sheet {
    /// Its subject.
    pub title: String,
    /// How to read it, in one or two sentences.
    pub lead: String,
    /// The heading of each column.
    pub heads: Vec<String>,
    /// Number of leading columns that hold words, aligned left.
    pub words: usize,
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// The notes below it, one sentence each.
    pub lines: Vec<String>,
}

/// The pairings of a load on one instance with the same load on all of them, machine by machine, each with its sheet.
/// That is what a plan with a balancer asks, so they come before the ranked tables.
pub fn routed_sheets(report: &Report) -> impl Iterator<Item = (&Pairing, Sheet)> {
    let routed = report.pairings.iter().filter(|pairing| is_routed(pairing));
    routed.map(move |routed| (routed, pairing(routed, &on_machine(report, &routed.machine))))
}

/// The other sheets of a report, in order; the CPU time of requests, start-up and warm-up only with `full`.
pub fn sheets(report: &Report, full: bool) -> Vec<Sheet> {
    let on = |machine: &str| on_machine(report, machine);
    let pairings = report.pairings.iter().filter(|p| !is_routed(p)).map(|p| pairing(p, &on(&p.machine)));
    let balanced = report.balanced.iter().map(|b| balanced(b, &on(&b.machine)));
    let scaling = report.scaling.iter().map(|s| scaling(s, &on(&s.machine)));
    let observed = (!report.observed.is_empty()).then(|| observed(&report.observed));
    let costs = report.tables.iter().filter(|_| full).filter_map(|t| cpu_parts(t, &on(&t.machine)));
    let starts = report.starts.iter().filter(|_| full).map(|s| start(s, &on(&s.machine)));
    let warm_ups = report.warm_ups.iter().filter(|_| full).map(|w| warm_up(w, &on(&w.machine)));
    let before = pairings.chain(balanced).chain(scaling).chain(costs);
    before.chain(starts).chain(warm_ups).chain(observed).collect()
}

/// Whether a load and its twin differ in the number of instances that answer it.
fn is_routed(pairing: &Pairing) -> bool {
    matches!(pairing.kind, VariantKind::Balanced | VariantKind::Spread)
}

/// `, machine B` in a report on several machines.
fn on_machine(report: &Report, machine: &str) -> String {
    if report.machines.len() > 1 { format!(", machine {machine}") } else { String::new() }
}

/// The parts of the CPU time of a request, in the order of their characters in a bar.
const CPU_PARTS: [(&str, Metric); 4] = [
    ("user", Metric::SERVER_USER),
    ("kernel", Metric::SERVER_SYSTEM),
    ("interrupts", Metric::SERVER_INTERRUPT),
    ("database", Metric::DATABASE_CPU),
];

/// The CPU time of the requests of each row by where it was spent; none if no row has it.
fn cpu_parts(table: &Table, on: &str) -> Option<Sheet> {
    let is_divided = |row: &&Row| row.figures.get(&Metric::SERVER_USER).is_some();
    let rows: Vec<&Row> = table.rows.iter().filter(is_divided).collect();
    let is_measured = |metric: &Metric| rows.iter().any(|row| row.figures.get(metric).is_some());
    let parts = CPU_PARTS.into_iter().zip(FILLS);
    let measured: Vec<((&str, Metric), char)> =
        parts.filter(|((_, metric), _)| is_measured(metric)).collect();
    let heads = measured.iter().map(|((name, _), fill)| format!("{fill} {name}"));
    let heads = ["server", "CPU"].map(str::to_owned).into_iter().chain(heads).chain(["shares".to_owned()]);
    let cells = |row: &&Row| -> Vec<String> {
        let cell = |metric: &Metric| shown(row.figures.get(metric), 1.0);
        let parts = measured.iter().map(|((_, metric), _)| cell(metric));
        let bar = cpu_bar(&CPU_PARTS.map(|(_, metric)| row.figures.shown(&metric)));
        [row.server.id.clone(), cell(&Metric::SERVER_CPU)].into_iter().chain(parts).chain([bar]).collect()
    };
    let (form, load) = (&table.form, &table.load.name);
    (!rows.is_empty()).then(|| Sheet {
        title: format!("{}: CPU time per request, {load} ({form}{on})", table.workload),
        lead: "In µs. User and kernel time are those of the server's processes. Interrupts are those of the server's \
               cores, other programs included; if the kernel does not separate them, a part is in kernel time too. A \
               bar shows the shares."
            .to_owned(),
        heads: heads.collect(),
        words: 1,
        rows: rows.iter().map(cells).collect(),
        lines: Vec::new(),
    })
}

/// The fits of the Universal Scalability Law.
fn scaling(table: &ScalingTable, on: &str) -> Sheet {
    let by = match table.by {
        ScaledBy::Connections => "connections",
        ScaledBy::Instances => "instances",
        ScaledBy::Cores => "cores",
    };
    let share = |value: f64| number::value(100.0 * value);
    let row = |row: &ScalingRow| {
        let [low, high] = row.contention_interval;
        let contention = format!("{} ({} to {})", share(row.contention), share(low), share(high));
        let [low, high] = row.coherency_interval.map(|end| number::value(1e6 * end));
        let coherency = format!("{} ({low} to {high})", number::value(1e6 * row.coherency));
        let end = |end: Option<f64>| end.map_or_else(|| "∞".to_owned(), number::value);
        let peak = row.peak_at.map_or_else(
            || "none".to_owned(),
            |at| {
                let [low, high] = row.peak_interval.map(end);
                format!("{} ({low} to {high})", number::value(at))
            },
        );
        let sizes: Vec<String> = row.sizes.iter().map(u32::to_string).collect();
        let rate = number::whole(row.peak_rate_per_s);
        vec![row.server.clone(), sizes.join(", "), contention, coherency, peak, rate]
    };
    Sheet {
        title: format!("{}: requests/s by {by}{on}", table.workload),
        lead: format!(
            "The Universal Scalability Law (Gunther 2007), fitted to one point per launch, with 95 % intervals. The peak is the number \
             of {by} beyond which the rate falls: none if the curve has no peak, ∞ if its interval has no upper end."
        ),
        heads: ["server", by, "contention %", "coherency ppm", "peak at", "requests/s there"]
            .map(str::to_owned)
            .into(),
        words: 2,
        rows: table.rows.iter().map(row).collect(),
        lines: (!table.undetermined.is_empty())
            .then(|| {
                let servers = table.undetermined.join(", ");
                format!(
                    "no curve fitted (the rate does not rise with the number of {by}, or is too noisy): {servers}"
                )
            })
            .into_iter()
            .collect(),
    }
}

fn shown(figure: Option<&Figure>, scale: f64) -> String {
    let Some(figure) = figure else { return String::new() };
    number::with_interval(figure, scale).join(" ").trim_end().to_owned()
}

/// A difference: always with its sign, and not in percent, because it may be near zero.
fn difference(figure: Option<&Figure>, scale: f64) -> String {
    let Some(figure) = figure else { return String::new() };
    let sign = if figure.median > 0.0 { "+" } else { "" };
    let half = figure.half_range().map(|half| format!(" ±{}", number::whole(half / scale)));
    format!("{sign}{}{}", number::whole(figure.median / scale), half.unwrap_or_default())
}

fn pairing(pairing: &Pairing, on: &str) -> Sheet {
    let (title, lead) = match pairing.kind {
        VariantKind::FirstRun => (
            "first run and steady state",
            "The first load on a fresh launch, without warm-up, and the same load again on the same launch.",
        ),
        VariantKind::Http10 => (
            "HTTP/1.1 and HTTP/1.0",
            "The same load twice: with HTTP/1.1, and with HTTP/1.0 and keep-alive requested.",
        ),
        VariantKind::Close => (
            "with and without keep-alive",
            "The same load twice: with connections kept open, and with a new connection for each request.",
        ),
        VariantKind::Unpipelined => (
            "pipelined and not pipelined",
            "The same load twice: pipelined, and with one outstanding request per connection.",
        ),
        VariantKind::Balanced => (
            "direct and balanced",
            "The same load directly on one instance, and through the balancer on all instances. Unless noted below, the server was not restarted between the two. They are compared within each repeat.",
        ),
        VariantKind::Spread => (
            "direct and spread",
            "The same load directly on one instance, and directly on all: the generator spread its connections over them, and the balancer was idle. They are compared within each repeat.",
        ),
    };
    let [one, other] = sides(pairing.kind);
    let rates = [format!("{one} req/s"), format!("{other} req/s")];
    let cpu = [format!("{one} CPU µs"), format!("{other} CPU µs")];
    let between = match pairing.loop_kind {
        LoopKind::Closed => vec![format!("{other} / {one}")],
        LoopKind::Open => vec!["added p50 µs".to_owned(), "added p99 µs".to_owned()],
    };
    let heads = ["server".to_owned()].into_iter().chain(rates).chain(between).chain(cpu).collect();
    let bound = pairing.rows.iter().any(|row| row.is_generator_bound || row.twin_is_generator_bound);
    let note = "≥, ≤ and ~ mark ratios of rates that may be too low, because the generator's core was over 90 % busy or it was disturbed. ≥: the \
                numerator may be too low, so the true ratio is at least this; ≤: the denominator, so it is at most \
                this; ~: both, so it may be higher or lower";
    Sheet {
        title: format!("{}: {title}, {} ({}{on})", pairing.workload, pairing.load, pairing.form),
        lead: lead.to_owned(),
        heads,
        words: 1,
        rows: pairing.rows.iter().map(|row| pair_row(row, pairing.loop_kind)).collect(),
        lines: bound
            .then(|| note.to_owned())
            .into_iter()
            .chain(pairing.rows.iter().filter_map(apart))
            .collect(),
    }
}

/// A server's pairs that are not from one launch, and so contain more than the twin's difference.
fn apart(row: &PairRow) -> Option<String> {
    let pairs = counted(row.pairs_of_two_launches, "repeat", "repeats");
    (row.pairs_of_two_launches > 0).then(|| {
        let server = &row.server;
        format!(
            "{server}: in {pairs} the two loads ran on different launches, so the ratio includes the difference between launches"
        )
    })
}

/// The headings of a load and its twin.
fn sides(kind: VariantKind) -> [&'static str; 2] {
    match kind {
        VariantKind::FirstRun => ["second", "first"],
        VariantKind::Http10 => ["1.1", "1.0"],
        VariantKind::Close => ["keep-alive", "close"],
        VariantKind::Unpipelined => ["pipelined", "unpipelined"],
        VariantKind::Balanced => ["direct", "balanced"],
        VariantKind::Spread => ["direct", "spread"],
    }
}

fn pair_row(row: &PairRow, kind: LoopKind) -> Vec<String> {
    let (base, twin) =
        (shown(row.achieved_per_s.as_ref(), 1.0), shown(row.twin_achieved_per_s.as_ref(), 1.0));
    let cpu = [&row.server_cpu_us_per_request, &row.twin_server_cpu_us_per_request]
        .map(|cpu| shown(cpu.as_ref(), 1.0));
    let mut cells = vec![row.server.clone(), base, twin];
    match kind {
        LoopKind::Closed => {
            cells.push(row.ratio_mark().to_owned() + &shown(row.achieved_ratio.as_ref(), 1.0))
        }
        LoopKind::Open => {
            cells.extend(
                [&row.added_time_ns_p50, &row.added_time_ns_p99].map(|time| difference(time.as_ref(), 1e3)),
            );
        }
    }
    cells.extend(cpu);
    cells
}

fn balanced(table: &BalancedTable, on: &str) -> Sheet {
    let tells = table.rows.iter().any(|row| row.requests_by_instance.iter().any(Option::is_some));
    let heads = [
        "server",
        "balancer CPU µs",
        "instances CPU µs",
        "balancer busy",
        "instances busy",
        "balancer MB",
        "instances MB",
        if tells { "requests each" } else { "connections each" },
        "retries",
        "redispatched",
        "failed",
    ];
    let mut lines: Vec<String> = table.rows.iter().flat_map(row_lines).collect();
    if !table.not_reported.is_empty() {
        lines.push(format!("not reported by this balancer: {}", table.not_reported.join(", ")));
    }
    Sheet {
        title: format!(
            "{}: {} behind {}, {}{on}",
            table.workload,
            counted(table.instances, "instance", "instances"),
            table.balancer,
            table.load
        ),
        lead: format!(
            "Policy {}. CPU is CPU time per response received by the generator; busy is the utilization of the assigned cores.",
            table.policy
        ),
        heads: heads.map(str::to_owned).into(),
        words: 1,
        rows: table.rows.iter().map(|row| balanced_row(row, tells)).collect(),
        lines,
    }
}

fn start(table: &StartTable, on: &str) -> Sheet {
    let heads = [
        "server",
        "first start: first response ms",
        "listens ms",
        "from disk MB",
        "later starts: first response ms",
        "listens ms",
        "from disk MB",
        "memory MB",
        "after load MB",
    ];
    let row = |row: &StartRow| {
        let of = |starts: &Option<Starts>, get: fn(&Starts) -> Option<&Figure>, scale| {
            shown(starts.as_ref().and_then(get), scale)
        };
        let memory = if row.later.is_some() { &row.later } else { &row.first };
        vec![
            row.server.clone(),
            of(&row.first, |s| s.first_answer_ms.as_ref(), 1.0),
            of(&row.first, |s| s.listening_ms.as_ref(), 1.0),
            of(&row.first, |s| s.disk_read_bytes.as_ref(), 1e6),
            of(&row.later, |s| s.first_answer_ms.as_ref(), 1.0),
            of(&row.later, |s| s.listening_ms.as_ref(), 1.0),
            of(&row.later, |s| s.disk_read_bytes.as_ref(), 1e6),
            of(memory, |s| s.rss_bytes.as_ref(), 1e6),
            shown(row.rss_bytes_after.as_ref(), 1e6),
        ]
    };
    Sheet {
        title: format!("start-up, form {}{on}", table.form),
        lead:
            "First start: the first since the server was built. Answers: time until the first valid response; listens: time \
               until the port is open. 0 MB read from disk means the files were already in \
               the page cache. Memory is resident memory at the first valid response and after the last load."
                .to_owned(),
        heads: heads.map(str::to_owned).into(),
        words: 1,
        rows: table.rows.iter().map(row).collect(),
        lines: Vec::new(),
    }
}

/// Seconds of the curve that a table shows.
const CURVE_SECONDS: [usize; 4] = [1, 2, 4, 8];

fn warm_up(table: &WarmUpTable, on: &str) -> Sheet {
    let shares = CURVE_SECONDS.map(|second| format!("in second {second}"));
    let heads = ["server", "steady after s", "1st second req/s", "last 4 s req/s"].map(str::to_owned);
    let row = |row: &WarmUpRow| {
        let shares = CURVE_SECONDS
            .map(|second| row.share_in_second(second).map(number::whole_percent).unwrap_or_default());
        let steady = match (row.steady_after_s.as_ref(), row.launches_not_steady) {
            (None, _) => format!("not within {}", number::whole(table.limit_s)),
            (steady, 0) => shown(steady, 1.0),
            (steady, not) => {
                let launches = counted(not, "launch", "launches");
                format!("{} ({launches}: not within {})", shown(steady, 1.0), number::whole(table.limit_s))
            }
        };
        let rates = [&row.first_second_per_s, &row.last_per_s].map(|rate| shown(rate.as_ref(), 1.0));
        let curve = row.curves.first().map(|curve| sparkline(&curve.rate_per_s)).unwrap_or_default();
        [row.server.clone(), steady].into_iter().chain(rates).chain(shares).chain([curve]).collect()
    };
    let end = match &table.bursts {
        None => "ends when".to_owned(),
        Some(bursts) => format!(
            "in {} of {} s, each followed by a pause of {} s; seconds of load are counted, and it is steady when",
            counted(bursts.count, "burst", "bursts"),
            number::value(bursts.length_s),
            number::value(bursts.pause_s)
        ),
    };
    Sheet {
        title: format!("warm-up, form {}{on}", table.form),
        lead: format!(
            "A closed loop with {} on {} {end} the rate of the last 4 s is at most 5 % above that of the 4 s before. Percentages \
             are shares of the rate in the last 4 s; the curve shows the first launch, one character per second.",
            counted(table.connections, "connection", "connections"),
            table.workloads.join(", ")
        ),
        heads: heads.into_iter().chain(shares).chain(["rate over time".to_owned()]).collect(),
        words: 1,
        rows: table.rows.iter().map(row).collect(),
        lines: Vec::new(),
    }
}

/// A curve in block characters, at most 60: of a longer curve only the start is shown.
fn sparkline(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let block = |value: &f64| BLOCKS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1];
    values.iter().take(60).map(block).collect()
}

fn balanced_row(row: &BalancedRow, tells: bool) -> Vec<String> {
    let list = |figures: &[Option<Figure>], text: &dyn Fn(&Figure) -> String| {
        let texts: Vec<String> = figures.iter().map(|f| f.as_ref().map_or("–".to_owned(), text)).collect();
        if texts.iter().all(|text| text == "–") { String::new() } else { texts.join(" / ") }
    };
    let percent = |figure: &Figure| number::whole_percent(figure.median);
    let megabytes = |figure: &Figure| number::whole(figure.median / 1e6);
    let count = |count: Option<u64>| count.map(|count| number::whole(count as f64)).unwrap_or_default();
    let each = if tells { &row.requests_by_instance } else { &row.connections_by_instance };
    vec![
        row.server.clone(),
        shown(row.balancer_cpu_us_per_request.as_ref(), 1.0),
        shown(row.instances_cpu_us_per_request.as_ref(), 1.0),
        row.balancer_utilization.as_ref().map(percent).unwrap_or_default(),
        list(&row.utilization_by_instance, &percent),
        row.balancer_rss_bytes_peak.as_ref().map(megabytes).unwrap_or_default(),
        list(&row.rss_bytes_peak_by_instance, &megabytes),
        list(each, &|figure| number::whole(figure.median)),
        count(row.retries),
        count(row.redispatches),
        count(row.balancer_failures),
    ]
}

fn row_lines(row: &BalancedRow) -> Vec<String> {
    let ran_out: Vec<String> = row
        .cores_ran_out
        .iter()
        .map(|(core, launches)| format!("{core} in {}", counted(*launches, "launch", "launches")))
        .collect();
    let ran_out =
        (!ran_out.is_empty()).then(|| format!("{}: fully used cores: {}", row.server, ran_out.join("; ")));
    let faults = row.faults.iter().map(|fault| format!("{}: {}", row.server, fault_line(fault)));
    ran_out.into_iter().chain(faults).collect()
}

/// The effect of a fault, in one sentence.
fn fault_line(reported: &FaultEffect) -> String {
    let fault = &reported.fault;
    let failures: Vec<String> = reported
        .failures
        .iter()
        .map(|(name, count)| format!("{} {name}", number::whole(*count as f64)))
        .collect();
    let failures = match (failures.is_empty(), reported.last_failure_s) {
        (true, _) | (_, None) => "no request failed".to_owned(),
        (false, Some(last)) => {
            let (last, resolution) = (format!("{last:.1}"), format!("{:.1}", reported.resolution_s));
            format!(
                "requests failed ({}), all within {last} s after the kill (in steps of {resolution} s)",
                failures.join(", ")
            )
        }
    };
    let out = match (fault.balancer_tells, fault.taken_out_after_s) {
        (_, Some(after)) => format!("the balancer removed the instance after {after:.1} s"),
        (true, None) => "the balancer did not remove the instance".to_owned(),
        (false, None) => "the balancer does not report whether it removed the instance".to_owned(),
    };
    let longest = reported
        .time_ns_max
        .map_or("not known".to_owned(), |ns| format!("{} ms", number::whole(ns as f64 / 1e6)));
    format!(
        "instance {} killed (repeat {}): {failures}; {}/s before, {}/s after, slowest request {longest}; {out}",
        fault.instance,
        u64::from(reported.repeat) + 1,
        number::whole(reported.achieved_per_s_before),
        number::whole(reported.achieved_per_s_after),
    )
}

fn observed(beside: &[Beside]) -> Sheet {
    let mut notes: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for one in beside {
        let observed = &one.observed;
        let mark = match observed.note.as_str() {
            "" => String::new(),
            note => {
                let known = notes.iter().position(|known| known == note);
                let place = known.unwrap_or_else(|| {
                    notes.push(note.to_owned());
                    notes.len() - 1
                });
                format!(" [{}]", place + 1)
            }
        };
        let at = [&observed.workload, &observed.load, &observed.form];
        let at: Vec<&str> = at.into_iter().flatten().map(String::as_str).collect();
        rows.push(vec![
            observed.source.clone(),
            format!("{}{mark}", observed.subject),
            at.join(" "),
            format!("{} ({})", what(observed.what), observed.unit),
            number::value(observed.value),
            format!(
                "{}{}",
                if one.standing == Standing::AtLeast { "≥ " } else { "" },
                shown(one.now.as_ref(), 1.0)
            ),
            one.ratio.map(|ratio| number::value(ratio) + "×").unwrap_or_default(),
            observed.server.clone().unwrap_or_default(),
            remark(one.standing).to_owned(),
        ]);
    }
    let heads = ["source", "measured", "under", "figure", "then", "now", "now/then", "server", ""];
    Sheet {
        title: "Published figures, and those of this round".to_owned(),
        lead: "Machine, versions and load generator differ between the source and this round, so a difference can have other causes than the server."
            .to_owned(),
        heads: heads.map(str::to_owned).into(),
        words: 4,
        rows,
        lines: notes.iter().enumerate().map(|(place, note)| format!("[{}] {note}", place + 1)).collect(),
    }
}

fn what(figure: ObservedFigure) -> &'static str {
    match figure {
        ObservedFigure::RequestsPerS => "responses per second",
        ObservedFigure::RequestsPerSPerCore => "responses per second per core",
        ObservedFigure::TimeMsP50 => "median time",
        ObservedFigure::TimeMsP99 => "p99 time",
        ObservedFigure::BytesPerResponse => "size of a response",
        ObservedFigure::KeptAlivePercent => "connections kept alive",
        ObservedFigure::RssMb => "memory",
        ObservedFigure::CpuPercent => "CPU, share of one core",
        ObservedFigure::Failed => "failed",
    }
}

fn remark(standing: Standing) -> &'static str {
    match standing {
        Standing::Measured => "",
        Standing::AtLeast => "limited by the generator, or disturbed",
        Standing::Overloaded => "overloaded: requests queued",
        Standing::Invalid => "invalid: its verdicts say why",
        Standing::Failed => "failed",
        Standing::NotMeasured => "not measured in this round",
        Standing::NoServer => "no corresponding server in the lab",
    }
}
