//! Finds what cannot be right in a report, or says less than it seems to, from its figures alone.

use crate::measurement::{Measurement, rounded_ms};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// A closed loop may seem to have more requests under way than connections by this factor, because times are rounded:
/// wrk prints 0.95m for 56,950 ms.
const ROUNDING: f64 = 1.1;
/// The part of all requests that is slower than the 99th percentile.
const BEYOND_P99: f64 = 0.01;
/// How many times the 99th percentile the slowest hundredth of the requests may take on average. Chosen: the tail of
/// a server that pauses reaches it.
const MAX_TAIL: f64 = 20.0;
/// Rates within this factor are equal: 174 of 380 frameworks had 96.0k to 97.4k/s (web-frameworks, issue 9775).
const EQUAL_RATES: f64 = 1.015;
/// Fewest rows, and smallest share of a table, with equal rates. Chosen: in tables whose rates differ by 10 % or more
/// (one standard deviation), a twentieth of the rows is within 1.5 %.
const EQUAL_ROWS: usize = 5;
const EQUAL_SHARE: f64 = 0.25;
/// Fewest responses with an error status that make a rate wrong, as a part of all responses.
const ERRORS: f64 = 0.01;

/// What can be wrong with a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// Two figures of a row contradict each other.
    Contradiction,
    /// Rate, time and connections of a row break Little's law (Operations Research 9, 1961, p. 383).
    LittlesLaw,
    /// Many rows have the same rate: a limit that they share.
    SharedCeiling,
    /// The 99th percentile is the mean.
    CopiedPercentile,
    /// The rate includes responses with an error status.
    CountsErrors,
    /// A row is one run: nothing says how much it varies.
    SingleRun,
}

impl AuditKind {
    /// In a few words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Contradiction => "figures that contradict each other",
            Self::LittlesLaw => "rate, time and connections that break Little's law",
            Self::SharedCeiling => "a ceiling that rows share",
            Self::CopiedPercentile => "a 99th percentile that is the mean",
            Self::CountsErrors => "a rate that counts errors",
            Self::SingleRun => "one run per row",
        }
    }

    /// Whether something is wrong, rather than unknown.
    pub fn is_wrong(self) -> bool {
        match self {
            Self::Contradiction
            | Self::LittlesLaw
            | Self::SharedCeiling
            | Self::CopiedPercentile
            | Self::CountsErrors => true,
            Self::SingleRun => false,
        }
    }
}

/// A finding: what is wrong with some rows, with the arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditFinding {
    /// What it is.
    pub kind: AuditKind,
    /// About all of its rows together.
    pub summary: String,
    /// Each row with its arithmetic.
    pub rows: Vec<String>,
}

/// The findings about a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportAudit {
    /// The file.
    pub file: String,
    /// The kinds of reports in it.
    pub format: String,
    /// Number of rows that were checked.
    pub rows: usize,
    /// What was found.
    pub findings: Vec<AuditFinding>,
}

/// Returns what is wrong with a row.
type RowCheck = fn(&Measurement) -> Option<String>;

impl ReportAudit {
    pub(crate) fn new(file: &str, format: String, rows: &[Measurement]) -> Self {
        let of_rows: [(AuditKind, RowCheck); 4] = [
            (AuditKind::Contradiction, Measurement::impossible_figure),
            (AuditKind::LittlesLaw, littles_law),
            (AuditKind::CopiedPercentile, copied_percentile),
            (AuditKind::CountsErrors, counts_errors),
        ];
        let found = of_rows.into_iter().filter_map(|(kind, check)| {
            let noted = |row: &Measurement| Some(format!("{}: {}", label(row), check(row)?));
            let found: Vec<String> = rows.iter().filter_map(noted).collect();
            let summary = format!("{} of {} rows", found.len(), rows.len());
            (!found.is_empty()).then_some(AuditFinding { kind, summary, rows: found })
        });
        let findings = found.chain(shared_ceilings(rows)).chain(single_runs(rows)).collect();
        Self { file: file.to_owned(), format, rows: rows.len(), findings }
    }

    /// Whether something is wrong.
    pub fn is_wrong(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.is_wrong())
    }
}

/// A row by its server, workload and load.
fn label(row: &Measurement) -> String {
    let (connections, depth) = (row.report.connections, row.depth);
    let load = match (connections, depth) {
        (0, _) => String::new(),
        (_, 0 | 1) => format!("{connections} connections"),
        _ => format!("{connections} connections x {depth}"),
    };
    let name = if row.name().is_empty() { "the run" } else { row.name() };
    let parts =
        [name, row.workload(), &load].into_iter().filter(|part| !part.is_empty() && *part != "unknown");
    parts.collect::<Vec<_>>().join(", ")
}

/// Breaks of Little's law in a closed loop: rate x mean time is the number of requests under way.
fn littles_law(row: &Measurement) -> Option<String> {
    row.little_law_note().or_else(|| overfull(row)).or_else(|| short_percentile(row))
}

/// More requests under way than there can be.
fn overfull(row: &Measurement) -> Option<String> {
    let (outstanding, rate) = row.closed_loop()?;
    let mean_ns = *row.report.times_ns.get("mean")?;
    let held = rate * mean_ns / 1e9;
    (held > outstanding * ROUNDING).then(|| {
        format!(
            "{rate:.0} requests/s of {} ms on average are {held:.0} requests under way, but there are at most \
             {outstanding:.0}: requests were pipelined (as by a script of wrk), times were added (wrk does after a \
             long wait), or the figures are not of one run",
            rounded_ms(mean_ns)
        )
    })
}

/// Without a mean: a 99th percentile that is too short for the mean that Little's law gives.
fn short_percentile(row: &Measurement) -> Option<String> {
    let times = &row.report.times_ns;
    let (outstanding, rate) = row.closed_loop().filter(|_| !times.contains_key("mean"))?;
    let p99_ns = *times.get("p99").filter(|ns| **ns > 0.0)?;
    let mean_ns = outstanding / rate * 1e9;
    let tail_ns = (mean_ns - p99_ns * (1.0 - BEYOND_P99)) / BEYOND_P99;
    (tail_ns > p99_ns * MAX_TAIL).then(|| {
        format!(
            "{outstanding:.0} requests under way at {rate:.0} requests/s take {} ms on average, but 99 % take at most {} ms: \
             the others would have to take {} ms on average",
            rounded_ms(mean_ns),
            rounded_ms(p99_ns),
            rounded_ms(tail_ns)
        )
    })
}

fn copied_percentile(row: &Measurement) -> Option<String> {
    let ns = row.report.times_ns.get("p99").filter(|_| row.has_copied_percentile())?;
    Some(format!("p99 and mean are both {} ms", rounded_ms(*ns)))
}

/// The rate is that of all responses, and some of them have an error status.
fn counts_errors(row: &Measurement) -> Option<String> {
    let counts = row.report.counts;
    let (rate, elapsed_s) = (row.report.requests_per_s?, row.report.elapsed_s.filter(|s| *s > 0.0)?);
    let (ok, answered) = (counts.ok as f64, counts.ok.saturating_add(counts.bad_status) as f64);
    let is_of_all = rate * elapsed_s > (ok + answered) / 2.0;
    (answered - ok > answered * ERRORS && is_of_all).then(|| {
        format!(
            "{rate:.0} requests/s include {} responses with an error status of {answered:.0}: {:.0}/s are right",
            counts.bad_status,
            ok / elapsed_s
        )
    })
}

/// Tables of one workload and load in which many rows have the same rate.
fn shared_ceilings(rows: &[Measurement]) -> Vec<AuditFinding> {
    let mut tables: BTreeMap<String, Vec<(f64, &Measurement)>> = BTreeMap::new();
    for row in rows {
        let (Some(rate), None) = (row.rate_per_s(), row.report.rate_per_s) else { continue };
        let table =
            format!("{}, {} connections x {}", row.workload(), row.report.connections, row.depth.max(1));
        tables.entry(table).or_default().push((rate, row));
    }
    tables.iter_mut().filter_map(|(table, rates)| shared_ceiling(table, rates)).collect()
}

fn shared_ceiling(table: &str, rates: &mut [(f64, &Measurement)]) -> Option<AuditFinding> {
    rates.sort_by(|one, other| one.0.total_cmp(&other.0));
    let equal = |start: usize| {
        let low = rates[start].0;
        start..rates.partition_point(|(rate, _)| *rate <= low * EQUAL_RATES)
    };
    let range = (0..rates.len()).map(equal).max_by_key(|range| range.len())?;
    let (all, above) = (rates.len(), rates.len() - range.end);
    let alike = &rates[range];
    if alike.len() < EQUAL_ROWS || (alike.len() as f64) < all as f64 * EQUAL_SHARE {
        return None;
    }
    let (low, high) = (alike.first()?.0, alike.last()?.0);
    let summary = format!(
        "{table}: {} of {all} rows have {low:.0} to {high:.0} requests/s, within {:.1} %, and {above} more: a limit of the \
         generator, the machine or the network, not of these servers",
        alike.len(),
        (high / low - 1.0) * 100.0
    );
    let rows = alike.iter().map(|(rate, row)| format!("{}: {rate:.0} requests/s", row.name())).collect();
    Some(AuditFinding { kind: AuditKind::SharedCeiling, summary, rows })
}

/// Reports in which no server has two runs of the same load.
fn single_runs(rows: &[Measurement]) -> Option<AuditFinding> {
    let mut seen = HashSet::new();
    let is_repeated = rows.iter().any(|row| !seen.insert(label(row)));
    let summary = match rows.len() {
        1 => "the report is one run: nothing says how much the figures vary from run to run".to_owned(),
        rows => format!(
            "each of the {rows} rows has one figure: nothing says how much it varies from run to run, so that no order is \
             certain"
        ),
    };
    (!is_repeated && !rows.is_empty()).then_some(AuditFinding {
        kind: AuditKind::SingleRun,
        summary,
        rows: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_peers::PeerReport;
    use paceline_record::Counts;

    fn row(name: &str, rate: f64, connections: u32, times_ms: &[(&str, f64)]) -> Measurement {
        let times = times_ms.iter().map(|(name, ms)| ((*name).to_owned(), ms * 1e6));
        Measurement {
            server_name: name.to_owned(),
            workload: "json".to_owned(),
            report: PeerReport {
                connections,
                requests_per_s: Some(rate),
                elapsed_s: Some(10.0),
                counts: Counts { ok: (rate * 10.0) as u64, ..Counts::default() },
                times_ns: times.collect(),
                ..PeerReport::default()
            },
            ..Measurement::default()
        }
    }

    /// The findings about rows, and the first row of each, or else what it says of all.
    fn found(rows: &[Measurement]) -> Vec<(AuditKind, String)> {
        let audit = ReportAudit::new("f", "wrk".to_owned(), rows);
        let first = |finding: &AuditFinding| finding.rows.first().unwrap_or(&finding.summary).clone();
        audit.findings.iter().map(|finding| (finding.kind, first(finding))).collect()
    }

    fn kinds(rows: &[Measurement]) -> Vec<AuditKind> {
        found(rows).into_iter().map(|(kind, _)| kind).filter(|kind| kind.is_wrong()).collect()
    }

    #[test]
    fn rates_and_times_that_break_littles_law() {
        assert_eq!(kinds(&[row("a", 50_000.0, 100, &[("mean", 2.0)])]), []);
        let (kind, text) = found(&[row("a", 50_000.0, 100, &[("mean", 1.0)])]).remove(0);
        assert_eq!(kind, AuditKind::LittlesLaw);
        assert!(
            text.starts_with("a, json, 100 connections: 50000 requests/s of 1 ms on average keep 50 of 100"),
            "{text}"
        );
        let (_, text) = found(&[row("a", 50_000.0, 100, &[("mean", 3.0)])]).remove(0);
        let overfull = "are 150 requests under way, but there are at most 100: requests were pipelined";
        assert!(text.contains(overfull), "{text}");
        // As in web-frameworks, issue 9775: 512 / 148,906 s is 3.44 ms.
        let published = row("b", 148_906.0, 512, &[("p99", 2.19)]);
        let (_, text) = found(std::slice::from_ref(&published)).remove(0);
        assert!(text.contains("take 3.44 ms on average, but 99 % take at most 2.19 ms"), "{text}");
        assert!(text.contains("have to take 127.03 ms"), "{text}");
        let open = PeerReport { rate_per_s: Some(148_906.0), ..published.report };
        assert_eq!(kinds(&[Measurement { report: open, ..published }]), []);
        assert_eq!(kinds(&[row("b", 148_906.0, 512, &[("p99", 4.0)])]), []);
    }

    #[test]
    fn rows_with_the_same_rate_share_a_ceiling() {
        let rate = |i: u32| if i < 8 { 96_000.0 + f64::from(i) * 150.0 } else { 1_000.0 * f64::from(i) };
        let rows =
            |count: u32| -> Vec<_> { (0..count).map(|i| row(&format!("s{i}"), rate(i), 512, &[])).collect() };
        assert_eq!(kinds(&rows(20)), [AuditKind::SharedCeiling]);
        let audit = ReportAudit::new("f", String::new(), &rows(20));
        let ceiling = &audit.findings[0];
        assert!(
            ceiling.summary.starts_with("json, 512 connections x 1: 8 of 20 rows have 96000 to 97050"),
            "{ceiling:?}"
        );
        assert!(
            ceiling.summary.contains("within 1.1 %, and 0 more") && ceiling.rows.len() == 8,
            "{ceiling:?}"
        );
        assert_eq!(kinds(&rows(33)), [], "fewer than a quarter");
        assert_eq!(kinds(&rows(4)), [], "too few rows");
        let offered = |row: Measurement| Measurement {
            report: PeerReport { rate_per_s: row.report.requests_per_s, ..row.report },
            ..row
        };
        assert_eq!(
            kinds(&rows(20).into_iter().map(offered).collect::<Vec<_>>()),
            [],
            "the rate was asked for"
        );
    }

    #[test]
    fn copied_percentiles_errors_and_contradictions() {
        let copied = row("a", 100.0, 1, &[("mean", 10.0), ("p99", 10.0)]);
        assert_eq!(kinds(&[copied]), [AuditKind::CopiedPercentile]);
        let constant = row("a", 100.0, 1, &[("mean", 10.0), ("p99", 10.0), ("max", 10.0)]);
        assert_eq!(kinds(&[constant]), []);
        let mut errors = row("a", 100.0, 1, &[]);
        (errors.report.counts.ok, errors.report.counts.bad_status) = (400, 600);
        let (kind, text) = found(&[errors.clone()]).remove(0);
        assert!(
            kind == AuditKind::CountsErrors
                && text.ends_with("600 responses with an error status of 1000: 40/s are right"),
            "{text}"
        );
        errors.report.requests_per_s = Some(40.0);
        assert_eq!(kinds(&[errors]), [], "the rate is that of the right ones");
        let contradiction = row("a", 100.0, 1, &[("p50", 200.0), ("p99", 100.0)]);
        assert_eq!(kinds(&[contradiction])[0], AuditKind::Contradiction);
    }

    #[test]
    fn one_run_for_each_row_is_noted() {
        let rows = [row("a", 100.0, 1, &[]), row("b", 90.0, 1, &[])];
        assert_eq!(found(&rows)[0].0, AuditKind::SingleRun);
        assert!(!ReportAudit::new("f", String::new(), &rows).is_wrong());
        assert_eq!(found(&[row("a", 100.0, 1, &[]), row("a", 90.0, 1, &[])]), []);
    }
}
