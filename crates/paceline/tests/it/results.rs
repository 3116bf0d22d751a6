//! Writes history/results.md from history/results.template.md and the rounds in history/:
//! `UPDATE=1 cargo test -p paceline --test it results`. Without `UPDATE`, compares the page with what it would be.
//!
//! Sentences are written by hand, names of leading servers and numbers are not: the template has terms in braces,
//! `{ROUND: TERM}`. ROUND is a folder of history/, or a plan: then its newest round. [`Terms::text`] lists the terms;
//! `{given: 10,000}` is a number that is a setting or comes from a source.

use paceline_judge::{Metric, Unit};
use paceline_record::{Round, Trial};
use paceline_report::{Chart, Figure, PairRow, Report, Row, Table, svg, value, with_interval};
use paceline_store::archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Maximum length of the page, in lines.
const MAX_LINES: usize = 200;
/// Rows of a table on the page.
const ROWS: usize = 5;
/// Names with digits, which are no claims.
const NAMES: [&str; 12] =
    ["HTTP/1.0", "HTTP/1.1", "p50", "p99", "000", "001", "002", "003", "004", "95 %", "200k", "C10k"];

fn history() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history")
}

/// A round, with the values that terms refer to.
struct Terms {
    folder: String,
    round: Round,
    trials: Vec<Trial>,
    report: Report,
}

impl Terms {
    fn read(folder: &str) -> Result<Self, String> {
        let read = archive::read(&history().join(folder));
        let (round, trials) = read.map_err(|error| format!("{folder}: {error}"))?;
        Ok(Self { folder: folder.to_owned(), report: Report::new(&round, &trials), round, trials })
    }

    /// A term as text; none for one that is unknown or has no value.
    fn text(&self, term: &str) -> Option<String> {
        let words: Vec<&str> = term.split_whitespace().collect();
        match words.as_slice() {
            ["link"] => Some(format!("[{0}]({0}/report.md)", self.folder)),
            ["day"] => Some(self.round.started_at.get(..10)?.to_owned()),
            ["machine"] => {
                let machine = &self.report.machines.first()?.environment;
                Some(format!("{}, {} cores", machine.cpu_model, machine.cores))
            }
            // The median: an unfinished round has more of some rows, and a launch may have failed.
            ["launches"] => {
                let rows = self.report.tables.iter().flat_map(|table| &table.rows);
                let mut launches: Vec<u32> = rows.map(|row| row.launches_usable).collect();
                launches.sort_unstable();
                Some(launches.get(launches.len() / 2)?.to_string())
            }
            ["servers", workload, load] => Some(self.table(workload, load, "single")?.rows.len().to_string()),
            // The servers that may be the first, and by how much a row must differ to be told apart.
            ["first", workload, load] => Some(joined(&first(self.table(workload, load, "single")?))),
            ["apart", workload, load] => {
                Some(percent(self.table(workload, load, "single")?.smallest_difference?))
            }
            ["table", workload, load, keys @ ..] => {
                let table = self.table(workload, load, "single")?;
                self.rows(table, table.rows.iter().take(ROWS), keys)
            }
            // The best row of each language.
            ["languages", workload, load, keys @ ..] => {
                let table = self.table(workload, load, "single")?;
                let mut seen = BTreeSet::new();
                let best =
                    table.rows.iter().filter(|row| row.is_sound() && seen.insert(&row.server.language));
                self.rows(table, best, keys)
            }
            ["least", workload, load, key] => {
                least(self.table(workload, load, "single")?, Metric::parse(key)?)
            }
            ["chart", workload, load] => self.chart(workload, load),
            ["observed", server, load, what] => {
                let (value_of, unit) = self.observed(server, load, what)?;
                Some(format!("{}{unit}", value(value_of)))
            }
            ["ratio", above @ .., "/", server, workload, load, metric] => {
                ratio(&self.figure_or_observed(above)?, &self.figure(&[server, workload, load, metric])?.1)
            }
            // The rate under a load's twin as a share of that under the load, launch by launch.
            ["twin", twin, server, workload] => {
                let row = self.twin(twin, server, workload)?;
                Some(row.ratio_mark().to_owned() + &share(row.achieved_ratio.as_ref()?)?)
            }
            _ => {
                let (metric, figure) = self.figure(&words)?;
                Some(shown(metric, &figure))
            }
        }
    }

    fn table(&self, workload: &str, load: &str, form: &str) -> Option<&Table> {
        let mut tables = self.report.tables.iter();
        tables.find(|table| table.workload == workload && table.load.name == load && table.form == form)
    }

    /// The figure of `SERVER WORKLOAD LOAD METRIC [FORM]`, of rows that measure the server.
    fn figure(&self, words: &[&str]) -> Option<(&'static Metric, Figure)> {
        let ([server, workload, load, metric], form) = match words {
            [words @ .., form @ ("single" | "cores")] => (<[&str; 4]>::try_from(words).ok()?, *form),
            words => (<[&str; 4]>::try_from(words).ok()?, "single"),
        };
        let row = self.table(workload, load, form)?.rows.iter().find(|row| row.server.id == server)?;
        let metric = Metric::parse(metric)?;
        Some((metric, row.figures.get(metric)?.clone()))
    }

    /// A server under a twin, beside the load whose twin it is.
    fn twin(&self, twin: &str, server: &str, workload: &str) -> Option<&PairRow> {
        let mut pairings = self.report.pairings.iter();
        let pairing = pairings.find(|pairing| {
            pairing.twin == twin && pairing.workload == workload && pairing.form == "single"
        })?;
        pairing.rows.iter().find(|row| row.server == server)
    }

    /// A figure, or that of a source: `observed SERVER LOAD WHAT`, which has no interval.
    fn figure_or_observed(&self, words: &[&str]) -> Option<Figure> {
        match words {
            ["observed", server, load, what] => {
                Figure::from_observations([self.observed(server, load, what)?.0])
            }
            words => Some(self.figure(words)?.1),
        }
    }

    /// What a source observed, and its unit.
    fn observed(&self, server: &str, load: &str, what: &str) -> Option<(f64, String)> {
        let observed = self.round.observed.iter().find(|observed| {
            let name = serde_json::to_value(observed.what).unwrap_or_default();
            observed.server.as_deref() == Some(server)
                && observed.load.as_deref() == Some(load)
                && name.as_str() == Some(what)
        })?;
        let unit = match observed.unit.as_str() {
            "requests/s" | "requests/s per thread" => "/s".to_owned(),
            "requests" => String::new(),
            unit => format!(" {unit}"),
        };
        Some((observed.value, unit))
    }

    /// Rows of a table, with the metrics of these keys as columns.
    fn rows<'a>(&self, table: &Table, rows: impl Iterator<Item = &'a Row>, keys: &[&str]) -> Option<String> {
        let metrics: Vec<&Metric> = keys.iter().map(|key| Metric::parse(key)).collect::<Option<_>>()?;
        let mut text = String::from("| rank | server |");
        for metric in &metrics {
            let _ = write!(text, " {} |", metric.name.trim_start_matches("the "));
        }
        text.push_str("\n| ---: | --- |");
        text.push_str(&" ---: |".repeat(metrics.len()));
        let mut shown_rows = 0;
        for row in rows {
            shown_rows += 1;
            let _ = write!(text, "\n| {} | {} |", rank(row), row.server.id);
            for metric in &metrics {
                let figure = row.figures.get(metric).map(|figure| shown(metric, figure)).unwrap_or_default();
                let mark = if row.is_minimum(metric) { "≥ " } else { "" };
                let _ = write!(text, " {mark}{figure} |");
            }
        }
        let left = table.rows.len() - shown_rows;
        if left > 0 {
            let _ = write!(text, "\n\n{left} more rows: [report]({}/report.md).", self.folder);
        }
        Some(text)
    }

    /// The picture of a table, drawn beside the page.
    fn chart(&self, workload: &str, load: &str) -> Option<String> {
        let mut report = self.report.clone();
        report
            .retain(|table| table.workload == workload && table.load.name == load && table.form == "single");
        let drawn = svg(Chart::Ranking(None), &report, &self.trials)?.to_string();
        let name = format!("charts/{}-{workload}-{load}.svg", self.round.plan).replace("tetra/", "tetra-");
        keep(&history().join(&name), &drawn).ok()?;
        Some(format!("![{workload}, {load}: every server with its interval]({name})"))
    }
}

/// Writes a generated file with `UPDATE`, otherwise compares it.
fn keep(path: &Path, text: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(|error| error.to_string())?;
        return std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()));
    }
    let kept = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if kept == text {
        return Ok(());
    }
    let line = kept.lines().zip(text.lines()).find(|(kept, now)| kept != now);
    let (kept, now) = line.unwrap_or(("its end", "its end"));
    Err(format!("{} is not up to date, UPDATE=1 writes it: \"{kept}\" is \"{now}\"", path.display()))
}

/// A figure with its interval and unit.
fn shown(metric: &Metric, figure: &Figure) -> String {
    let (scale, unit) = match metric.unit {
        Unit::PerSecond => (1.0, "/s"),
        Unit::Microseconds => (1.0, " µs"),
        Unit::Nanoseconds if figure.shown() < 1e6 => (1e3, " µs"),
        Unit::Nanoseconds => (1e6, " ms"),
        Unit::Milliseconds => (1.0, " ms"),
        Unit::Bytes => (1e6, " MB"),
        Unit::Share => (0.01, " %"),
        Unit::Count => (1.0, ""),
    };
    let [number, interval] = with_interval(figure, scale);
    if interval.is_empty() { format!("{number}{unit}") } else { format!("{number}{unit} {interval}") }
}

/// The ratio of two means, with the interval that follows from theirs if launches are independent: half-widths of the
/// logarithms add as squares.
fn ratio(above: &Figure, below: &Figure) -> Option<String> {
    let half = |figure: &Figure| figure.interval.map_or(0.0, |[low, high]| (high / low).ln() / 2.0);
    let ratio = above.shown() / below.shown();
    let half = half(above).hypot(half(below));
    let ends = [ratio * (-half).exp(), ratio * half.exp()];
    share(&Figure { median: ratio, interval: (half > 0.0).then_some(ends), ..Figure::default() })
}

/// A ratio with its interval, if it has one.
fn share(ratio: &Figure) -> Option<String> {
    let shown = ratio.shown();
    shown.is_finite().then(|| match ratio.interval {
        Some([low, high]) => format!("{shown:.2} ({low:.2} to {high:.2})"),
        None => format!("{shown:.2}"),
    })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn rank(row: &Row) -> String {
    match (row.rank, row.rank_worst) {
        (Some(best), Some(worst)) if best == worst => best.to_string(),
        (Some(best), Some(worst)) => format!("{best}–{worst}"),
        _ => "–".to_owned(),
    }
}

/// The servers of a table that may be the first.
fn first(table: &Table) -> Vec<&str> {
    table.rows.iter().filter(|row| row.rank == Some(1)).map(|row| row.server.id.as_str()).collect()
}

/// The three servers with the lowest figure of a metric, each with it.
fn least(table: &Table, metric: &Metric) -> Option<String> {
    let figures = table.rows.iter().filter(|row| row.is_sound());
    let figures = figures.filter_map(|row| Some((row.server.id.as_str(), row.figures.get(metric)?)));
    let mut figures: Vec<(&str, &Figure)> = figures.collect();
    figures.sort_by(|a, b| a.1.shown().total_cmp(&b.1.shown()));
    let named = figures.iter().take(3).map(|(id, figure)| format!("`{id}` ({})", shown(metric, figure)));
    (!figures.is_empty()).then(|| named.collect::<Vec<_>>().join(", "))
}

/// Names in a sentence: `a`, `b` and `c` (tied).
fn joined(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "no server".to_owned(),
        [one] => one.clone(),
        [a, b, c, _, rest @ ..] if !rest.is_empty() => {
            format!("{a}, {b}, {c} and {} others (tied)", rest.len() + 1)
        }
        [rest @ .., last] => format!("{} and {last} (tied)", rest.join(", ")),
    }
}

/// The rounds that terms name, each read once.
#[derive(Default)]
struct Rounds {
    read: BTreeMap<String, Terms>,
}

impl Rounds {
    /// The round of a folder of history/, or the newest of a plan.
    fn get(&mut self, name: &str) -> Result<&Terms, String> {
        if !self.read.contains_key(name) {
            self.read.insert(name.to_owned(), Terms::read(&folder(name)?)?);
        }
        Ok(&self.read[name])
    }

    /// The text of `ROUND: TERM`.
    fn text(&mut self, term: &str) -> Result<String, String> {
        let (round, term) = term.split_once(": ").ok_or_else(|| format!("{{{term}}}: write ROUND: TERM"))?;
        match round {
            "given" => Ok(term.to_owned()),
            round => self.get(round)?.text(term).ok_or_else(|| format!("{round}: no value for `{term}`")),
        }
    }

    /// The page of a template.
    fn page(&mut self, template: &str) -> Result<String, String> {
        let mut page = String::new();
        for line in template.lines() {
            let mut rest = line;
            while let Some((before, after)) = rest.split_once('{') {
                let (term, after) =
                    after.split_once('}').ok_or_else(|| format!("no end of a term: {line}"))?;
                claims_nothing(before)?;
                page.push_str(before);
                page.push_str(&self.text(term)?);
                rest = after;
            }
            claims_nothing(rest)?;
            page.push_str(rest);
            page.push('\n');
        }
        Ok(page)
    }
}

/// The folder of this name, or the newest folder `PLAN-YYYY-MM-DD` of a plan.
fn folder(name: &str) -> Result<String, String> {
    if history().join(name).is_dir() {
        return Ok(name.to_owned());
    }
    let entries = std::fs::read_dir(history()).map_err(|error| error.to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_of_plan = |folder: &String| {
        let day = folder.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        day.is_some_and(|day| day.len() == 10 && day.starts_with("20"))
    };
    names.filter(is_of_plan).max().ok_or_else(|| format!("history/ has no round {name}"))
}

/// Refuses a number that is written by hand: outside of code, links' targets and names.
fn claims_nothing(text: &str) -> Result<(), String> {
    let outside: String = text.split('`').step_by(2).collect();
    let words = NAMES.iter().fold(outside, |words, name| words.replace(name, ""));
    let mut rest = words.as_str();
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("](") {
        kept.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    let is_claim = !text.starts_with('#') && kept.contains(|letter: char| letter.is_ascii_digit());
    if is_claim { Err(format!("a number without a round: {text}")) } else { Ok(()) }
}

#[test]
fn the_results_are_those_of_the_rounds() {
    let template = std::fs::read_to_string(history().join("results.template.md")).unwrap();
    let page = Rounds::default().page(&template).unwrap();
    keep(&history().join("results.md"), &page).unwrap();
    let lines = page.lines().count();
    assert!(lines <= MAX_LINES, "history/results.md has {lines} lines, at most {MAX_LINES}");
}

#[test]
fn a_term_without_a_value_and_a_number_without_a_round_are_refused() {
    let page = |line: &str| Rounds::default().page(line);
    let rate =
        page("It does {archive/million-2026-11-21: java-undertow byte million achieved_per_s}.").unwrap();
    assert_eq!(rate, "It does 96,500/s.\n");
    for line in [
        "It does 96,500/s.",
        "It does {archive/million-2026-11-21: java-none byte million achieved_per_s}.",
        "It does {no-such-plan: java-undertow byte million achieved_per_s}.",
        "It does {archive/million-2026-11-21: java-undertow byte million achieved_per_s",
        "It does {many}.",
    ] {
        assert!(page(line).is_err(), "{line}");
    }
    assert!(page("Plain words, `256` in code, [a link](of-2026.md), {given: 10,000} connections.").is_ok());
}
