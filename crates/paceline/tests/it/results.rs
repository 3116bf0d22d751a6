//! Recomputes the numbers in history/results.md from the rounds in history/.
//!
//! A number in a sentence is followed by a comment with the round and the term: `27,000/s<!-- ROUND: TERM -->`, where
//! TERM is one of those of [`Terms::value`], or `A / B`, or `1 - A / B`. `<!-- given -->` marks a number that is a
//! setting or comes from a source. The tables of the page are rendered by `scripts/results`.

use paceline_judge::Metric;
use paceline_record::{LoopKind, Round, Trial};
use paceline_report::{Figure, Report};
use paceline_store::archive;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum length of the page.
const MAX_LINES: usize = 300;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A round, with the values that comments can refer to.
struct Terms {
    round: Round,
    trials: Vec<Trial>,
    report: Report,
}

impl Terms {
    fn read(name: &str) -> Result<Self, String> {
        let read = archive::read(&root().join("history").join(name));
        let (round, trials) = read.map_err(|error| format!("{name}: {error}"))?;
        Ok(Self { report: Report::new(&round, &trials), round, trials })
    }

    fn value(&self, term: &str) -> Result<f64, String> {
        let words: Vec<&str> = term.split_whitespace().collect();
        let value = match words.as_slice() {
            ["observed", server, load, what] => self.observed(server, load, what),
            ["wide", percent] => percent.parse().ok().map(|percent: f64| self.wide(percent / 100.0)),
            ["redispatched", end] => extreme(
                self.trials.iter().filter_map(|trial| trial.balancing.as_ref()).filter_map(|b| {
                    b.fault.as_ref()?;
                    Some(b.counts.as_ref()?.redispatches? as f64)
                }),
                end,
            ),
            ["first-load", servers, end] => extreme(self.first_loads(servers).into_iter(), end),
            ["second", server, workload, load, form, end] => self.second([server, workload, load, form], end),
            [server, workload, load, metric, rest @ ..] => {
                let (form, rest) = match rest {
                    ["cores", rest @ ..] => ("cores", rest),
                    rest => ("single", rest),
                };
                self.figure([server, workload, load, form], metric).and_then(|figure| match rest {
                    [] => Some(figure.shown()),
                    ["min"] => Some(figure.min),
                    ["max"] => Some(figure.max),
                    _ => None,
                })
            }
            _ => None,
        };
        value.ok_or_else(|| format!("{}: no value for `{term}`", self.round.id))
    }

    fn figure(&self, [server, workload, load, form]: [&str; 4], metric: &str) -> Option<&Figure> {
        let mut tables = self.report.tables.iter();
        let table = tables.find(|t| t.workload == workload && t.load.name == load && t.form == form)?;
        let row = table.rows.iter().find(|row| row.server.id == server)?;
        row.figures.get(Metric::parse(metric)?)
    }

    fn observed(&self, server: &str, load: &str, what: &str) -> Option<f64> {
        let observed = self.round.observed.iter().find(|observed| {
            let name = serde_json::to_value(observed.what).unwrap_or_default();
            observed.server.as_deref() == Some(server)
                && observed.load.as_deref() == Some(load)
                && name.as_str() == Some(what)
        });
        observed.map(|observed| observed.value)
    }

    /// The share of closed-loop cells whose half range of requests/s is above a share of the median.
    fn wide(&self, most: f64) -> f64 {
        let rows = self.report.tables.iter().filter(|table| table.load.kind == LoopKind::Closed);
        let figures =
            rows.flat_map(|table| &table.rows).filter_map(|row| row.figures.get(&Metric::ACHIEVED_PER_S));
        let ranges: Vec<f64> =
            figures.filter_map(|figure| Some(figure.half_range()? / figure.median)).collect();
        ranges.iter().filter(|range| **range > most).count() as f64 / ranges.len() as f64
    }

    /// The rate of the first load of each launch, as a share of the best of its cell.
    fn first_loads(&self, servers: &str) -> Vec<f64> {
        let rate = |trial: &Trial| trial.usable_run().map(|run| run.rate_per_s.achieved);
        let mut launches: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
        let mut best: BTreeMap<[&str; 4], f64> = BTreeMap::new();
        for trial in self.trials.iter().filter(|trial| trial.server.id.starts_with(servers)) {
            let Some(rate) = rate(trial) else { continue };
            launches.entry(&trial.launch).or_default().push(trial);
            let best = best.entry(cell(trial)).or_default();
            *best = best.max(rate);
        }
        let first = launches
            .values()
            .filter_map(|trials| trials.iter().min_by_key(|trial| (&trial.sitting, trial.order)).copied());
        first.filter_map(|trial| Some(rate(trial)? / best[&cell(trial)])).collect()
    }

    /// Responses in the first or the last whole second of the window of a cell's first launch.
    fn second(&self, wanted: [&str; 4], end: &str) -> Option<f64> {
        let run = self.trials.iter().find(|trial| cell(trial) == wanted)?.usable_run()?;
        let window = &run.phases.window;
        let inside =
            |start: u64| start + 500_000_000 >= window.start_ns && start + 500_000_000 < window.end_ns;
        let mut seconds = run
            .intervals
            .iter()
            .filter(|interval| inside(interval.start_ns) && interval.phase == paceline_record::Phase::Window);
        let interval = if end == "first" { seconds.next() } else { seconds.next_back() };
        Some(interval?.block.counts.ok as f64)
    }
}

fn cell(trial: &Trial) -> [&str; 4] {
    [&trial.server.id, &trial.workload, &trial.load.name, &trial.form]
}

fn extreme(values: impl Iterator<Item = f64>, end: &str) -> Option<f64> {
    match end {
        "min" => values.min_by(f64::total_cmp),
        "max" => values.max_by(f64::total_cmp),
        _ => None,
    }
}

/// The rounds that comments name, each read once.
#[derive(Default)]
struct History {
    rounds: BTreeMap<String, Terms>,
}

impl History {
    /// The value of a comment `ROUND: EXPRESSION`; none for a number that is given.
    fn value(&mut self, comment: &str) -> Result<Option<f64>, String> {
        if comment == "given" || comment.ends_with(": given") {
            return Ok(None);
        }
        let (name, expression) = comment.split_once(": ").ok_or_else(|| format!("not a claim: {comment}"))?;
        if !self.rounds.contains_key(name) {
            self.rounds.insert(name.to_owned(), Terms::read(name)?);
        }
        let terms = &self.rounds[name];
        let (is_reduction, ratio) = match expression.strip_prefix("1 - ") {
            Some(ratio) => (true, ratio),
            None => (false, expression),
        };
        let value = match ratio.split_once(" / ") {
            Some((above, below)) => terms.value(above)? / terms.value(below)?,
            None => terms.value(ratio)?,
        };
        Ok(Some(if is_reduction { 1.0 - value } else { value }))
    }

    /// Checks one number against its comment.
    fn check(&mut self, before: &str, comment: &str) -> Result<(), String> {
        let Some(value) = self.value(comment)? else { return Ok(()) };
        let (number, unit) =
            number_before(before).ok_or_else(|| format!("no number before <!-- {comment} -->"))?;
        let is_time = comment.contains("time_ns");
        let value = match unit {
            "%" => value * 100.0,
            "ms" => value / if is_time { 1e6 } else { 1.0 },
            "µs" => value / if is_time { 1e3 } else { 1.0 },
            "s" => value / if is_time { 1e9 } else { 1.0 },
            "MB" => value / 1e6,
            _ => value,
        };
        let shown: f64 = number.replace(',', "").parse().map_err(|error| format!("{number}: {error}"))?;
        let allowed =
            (resolution(number) / 2.0 * 1.001).min((shown.abs() * 0.025).max(resolution(number) / 2.0));
        if (value - shown).abs() > allowed {
            return Err(format!("the page says {number} {unit}, the record {value:.4}: {comment}"));
        }
        Ok(())
    }
}

/// The number at the end of a text, and its unit.
fn number_before(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let (text, unit) = ["/s", "ms", "µs", "MB", "%", "s"]
        .into_iter()
        .find_map(|unit| Some((text.strip_suffix(unit)?.trim_end(), unit)))
        .unwrap_or((text, ""));
    let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, ',' | '.');
    let number = &text[text.rfind(|letter| !is_of_number(letter)).map_or(0, |at| at + 1)..];
    number.ends_with(|letter: char| letter.is_ascii_digit()).then_some((number, unit))
}

/// The unit of the last significant digit of a number; trailing zeros of a whole number are not significant.
fn resolution(number: &str) -> f64 {
    match number.split_once('.') {
        Some((_, decimals)) => 0.1_f64.powi(decimals.len() as i32),
        None => {
            let digits = number.replace(',', "");
            10_f64.powi((digits.len() - digits.trim_end_matches('0').len()) as i32)
        }
    }
}

/// The sentences of the page: lines outside of tables and headings, without code and links' targets.
fn sentences(page: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut is_table = false;
    for line in page.lines() {
        is_table = match line {
            line if line.starts_with("<!-- table: ") => true,
            "<!-- end -->" => false,
            _ => is_table,
        };
        if !is_table && !line.starts_with('#') && !line.starts_with("<!--") {
            sentences.extend(line.split_inclusive(". ").map(without_code));
        }
    }
    sentences
}

fn without_code(text: &str) -> String {
    let outside = text.split('`').step_by(2).collect::<String>();
    let mut kept = String::new();
    let mut rest = outside.as_str();
    while let Some((before, after)) = rest.split_once("](") {
        // A link's text may be the name of a record.
        kept.push_str(before.rsplit_once('[').map_or(before, |(before, _)| before));
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Lists wrong claims on the page.
fn problems(page: &str, history: &mut History) -> Vec<String> {
    let mut problems = Vec::new();
    for sentence in sentences(page) {
        let parts: Vec<&str> = sentence.split("<!-- ").collect();
        let mut before = parts[0];
        let mut words = before.to_owned();
        for part in &parts[1..] {
            let (comment, after) = part.split_once(" -->").unwrap_or((part, ""));
            problems.extend(history.check(before, comment).err());
            before = after;
            words.push_str(after);
        }
        let names = ["HTTP/1.0", "HTTP/1.1", "p99", "000", "001", "002", "003", "004", "C++", "200k"];
        let words = names.iter().fold(words, |words, name| words.replace(name, ""));
        if words.contains(|letter: char| letter.is_ascii_digit()) && parts.len() == 1 {
            problems.push(format!("names no record: {words}"));
        }
    }
    problems
}

#[test]
fn every_number_in_the_results_matches_its_record() {
    let page = std::fs::read_to_string(root().join("history/results.md")).unwrap();
    let problems = problems(&page, &mut History::default());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let lines = page.lines().count();
    assert!(lines <= MAX_LINES, "history/results.md has {lines} lines, at most {MAX_LINES}");
}

#[test]
fn a_wrong_number_or_an_unnamed_record_is_detected() {
    let claim = "million-2026-11-21: java-undertow byte million achieved_per_s";
    let of = |sentence: &str| problems(sentence, &mut History::default());
    assert_eq!(of(&format!("It does 96,500/s<!-- {claim} -->.")), Vec::<String>::new());
    assert_eq!(of(&format!("It does 118,000/s<!-- {claim} -->.")).len(), 1);
    assert_eq!(of("It does 96,500/s.").len(), 1);
    assert_eq!(
        of("It does 96,500/s<!-- million-2026-11-21: java-none byte million achieved_per_s -->.").len(),
        1
    );
    assert_eq!(of("Plain words, `256` in code, [a link](of-2026.md).").len(), 0);
}
