//! The first page's answers: for each question the table that answers it best, its first rows, and what it decides.
//!
//! A card shows what a ranking shows, from the same pages of rounds: nothing is computed again. Of the newest rounds of
//! each plan and machine, the table with the most servers is preferred, and among tables of similar size one that tells
//! some of them apart, then the newest. Where no rank is known, or several servers may be the first, the card says so.

use super::index::RoundEntry;
use super::metric::{FigurePage, MetricPage};
use super::round::{RoundPage, RowPage, ServerEntry, TablePage};
use super::timeline::processor;
use paceline_record::{Load, LoopKind, Severity};
use paceline_report::{Machine, Standing};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of a card, and of one with a row for each language.
const ROWS: usize = 5;
const LANGUAGES: usize = 8;
/// Rounds of a plan and machine that the first page reads, and so the most points of its history. A point is computed
/// from the page of its round: nothing shorter is stored, and a round of 700 trials takes about 0.14 s to parse, before
/// its ranks. A longer history would keep the first visitor waiting for seconds; the time line of a server has one.
const ROUNDS_EACH: usize = 3;

/// The answers of some rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct AnswersPage {
    /// The questions that some round answers, in order.
    pub answers: Vec<Answer>,
    /// The plans that were measured several times on one machine.
    pub plans: Vec<PlanHistory>,
}

/// A question and the table that answers it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Its id.
    pub id: &'static str,
    /// The question as a title.
    pub title: &'static str,
    /// The round, with the machine that the table was measured on.
    pub round: RoundEntry,
    /// The label of the machine within the round.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// `single` or `cores`.
    pub form: String,
    /// The load.
    pub load: Load,
    /// The metric.
    pub metric: MetricPage,
    /// Whether only the best row of each language is shown.
    pub by_language: bool,
    /// What the table decides about the first rank.
    pub decision: AnswerDecision,
    /// The servers that may be the first: all with the best possible rank 1.
    pub first: Vec<String>,
    /// Rows that are compared.
    pub compared: usize,
    /// The first rows.
    pub rows: Vec<AnswerRow>,
    /// What the table can tell apart, as a sentence.
    pub resolution: Option<String>,
}

/// What a table decides about the first rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerDecision {
    /// One server is ahead of all others.
    One,
    /// Several may be the first, and others are behind; or one may be, and whether it is ahead of all is not known.
    Several,
    /// No row is proven to be behind another.
    Nothing,
    /// No row has two launches, so that nothing is known of the spread.
    Single,
}

/// A row of a card.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AnswerRow {
    /// The server.
    pub server: ServerEntry,
    /// Its figure.
    pub value: FigurePage,
    /// The worst severity of its verdicts; none without a verdict.
    pub severity: Option<Severity>,
    /// Its verdicts, the most severe first.
    pub verdicts: Vec<String>,
    /// What limited it, as after "limited by".
    pub limit: Option<&'static str>,
}

/// How a plan's results changed over its rounds on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanHistory {
    /// The plan.
    pub plan: String,
    /// The rounds, oldest first.
    pub points: Vec<PlanPoint>,
}

/// One round of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlanPoint {
    /// The round.
    pub round: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// The geometric mean over all rows that this round and the newest one have, relative to the newest one; more is
    /// better. None without such rows.
    pub relative: Option<f64>,
    /// Number of these rows.
    pub rows: usize,
}

/// A question that a table may answer.
struct Question {
    id: &'static str,
    title: &'static str,
    metric: &'static str,
    by_language: bool,
    fits: fn(&TablePage) -> bool,
    /// The workload that a reader of the question means, if there is a table of it: decided or not, it is the answer.
    usual: &'static str,
}

/// The questions of the first page, in order.
const QUESTIONS: [Question; 6] = [
    Question {
        id: "json",
        title: "Fastest JSON",
        metric: "achieved_per_s",
        by_language: false,
        fits: |table| table.workload == "json" && is_closed(table),
        usual: "json",
    },
    Question {
        id: "fixed_rate",
        title: "Least CPU at a fixed rate",
        metric: "server_cpu_us_per_request",
        by_language: false,
        fits: |table| is_at_fixed_rate(table) && table.load.database.is_none(),
        usual: "hello",
    },
    Question {
        id: "database",
        title: "Fastest with a database",
        metric: "achieved_per_s",
        by_language: false,
        fits: |table| table.load.database.is_some() && is_closed(table),
        usual: "db",
    },
    Question {
        id: "language",
        title: "Best of each language",
        metric: "achieved_per_s",
        by_language: true,
        fits: |table| table.workload == "json" && is_closed(table),
        usual: "json",
    },
    Question {
        id: "start",
        title: "Fastest start",
        metric: "first_answer_ms",
        by_language: false,
        fits: |table| is_closed(table) && table.load.database.is_none(),
        usual: "hello",
    },
    Question {
        id: "memory",
        title: "Least memory",
        metric: "rss_bytes_peak",
        by_language: false,
        fits: |table| is_closed(table) && table.load.database.is_none(),
        usual: "hello",
    },
];

/// Whether a load answers a question of the first page: it is no twin of another one, such as a first run without
/// warm-up, and neither a balancer nor another tool's flags decide it.
fn is_plain(load: &Load) -> bool {
    load.balanced.is_none() && load.variant.is_none() && load.tool.is_none()
}

fn is_closed(table: &TablePage) -> bool {
    table.load.kind == LoopKind::Closed && is_plain(&table.load)
}

fn is_at_fixed_rate(table: &TablePage) -> bool {
    let load = &table.load;
    load.rate_per_s.is_some() && load.share.is_none() && load.capacity.is_none() && is_plain(load)
}

/// How well a table answers a question: compared by its fields in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fitness {
    is_usual: bool,
    decides: bool,
    rows: usize,
    started_at: String,
}

/// Collects answers, round by round, so that one round at a time is in memory.
#[derive(Debug, Default)]
pub struct AnswerSearch {
    candidates: BTreeMap<&'static str, Vec<(Fitness, Answer)>>,
    plans: BTreeMap<(String, String, u32), Vec<PlanRound>>,
}

/// The figures of a round by which rounds of a plan are compared.
#[derive(Debug)]
struct PlanRound {
    round: String,
    started_at: String,
    /// The logarithm of each figure that counts, more is better, by table and server.
    figures: BTreeMap<(String, String), f64>,
}

impl AnswerSearch {
    /// Adds a round.
    pub fn add(&mut self, entry: &RoundEntry, page: &RoundPage) {
        for question in &QUESTIONS {
            let found = page.tables.iter().filter(|table| (question.fits)(table));
            let answers = found.filter_map(|table| answer(question, entry, page, table));
            self.candidates.entry(question.id).or_default().extend(answers);
        }
        let plan = (entry.plan.clone(), entry.cpu_model.clone(), entry.cores);
        self.plans.entry(plan).or_default().push(PlanRound {
            round: entry.id.clone(),
            started_at: entry.started_at.clone(),
            figures: figures(page),
        });
    }

    /// The best answer to each question.
    pub fn finish(mut self) -> AnswersPage {
        let answers = QUESTIONS.iter().filter_map(|question| best(self.candidates.remove(question.id)?));
        let answers = answers.collect();
        let plans = self.plans.into_iter().filter_map(|((plan, ..), rounds)| history(plan, rounds));
        AnswersPage { answers, plans: plans.collect() }
    }
}

/// Of the tables with at least half as many rows as the largest one has: one of the usual workload, and of these the one
/// that decides most.
fn best(candidates: Vec<(Fitness, Answer)>) -> Option<Answer> {
    let most = candidates.iter().map(|(fitness, _)| fitness.rows).max()?;
    let large = candidates.into_iter().filter(|(fitness, _)| fitness.rows * 2 >= most);
    large.max_by(|(a, _), (b, _)| a.cmp(b)).map(|(_, answer)| answer)
}

fn answer(
    question: &Question,
    entry: &RoundEntry,
    page: &RoundPage,
    table: &TablePage,
) -> Option<(Fitness, Answer)> {
    let metric = page.metrics.iter().find(|metric| metric.id == question.metric)?;
    let ranked = ranked(page, table, metric);
    if ranked.len() < 2 {
        return None;
    }
    let first: Vec<String> = ranked
        .iter()
        .filter(|(_, value)| value.ranks.is_some_and(|[best, _]| best == 1))
        .map(|(row, _)| row.server.clone())
        .collect();
    let decision = decision(table, &first, &ranked);
    let mut languages = BTreeSet::new();
    let rows = ranked.iter().filter_map(|(row, value)| {
        let server = page.servers.get(&row.server)?;
        let is_shown = !question.by_language || languages.insert(server.server.language.clone());
        is_shown.then(|| AnswerRow {
            server: server.clone(),
            value: (*value).clone(),
            severity: row.severity,
            verdicts: row.verdicts.clone(),
            limit: row.limit.as_ref().map(|limit| limit.name),
        })
    });
    let fitness = Fitness {
        is_usual: table.workload == question.usual,
        decides: matches!(decision, AnswerDecision::One | AnswerDecision::Several),
        rows: ranked.len(),
        started_at: entry.started_at.clone(),
    };
    let answer = Answer {
        id: question.id,
        title: question.title,
        round: on_machine(entry, page, &table.machine),
        machine: table.machine.clone(),
        workload: table.workload.clone(),
        form: table.form.clone(),
        load: table.load.clone(),
        metric: metric.clone(),
        by_language: question.by_language,
        decision,
        first,
        compared: ranked.len(),
        rows: rows.take(if question.by_language { LANGUAGES } else { ROWS }).collect(),
        resolution: table.resolution.get(metric.id).cloned(),
    };
    Some((fitness, answer))
}

/// A round with the machine of this label instead of the one that began it: the trials of a round may run on several.
fn on_machine(entry: &RoundEntry, page: &RoundPage, label: &str) -> RoundEntry {
    let Some(machine) = machine_of(page, label) else { return entry.clone() };
    RoundEntry {
        cpu_model: machine.environment.cpu_model.clone(),
        cores: machine.environment.cores,
        virtual_machine: machine.environment.virtual_machine,
        ..entry.clone()
    }
}

fn machine_of<'a>(page: &'a RoundPage, label: &str) -> Option<&'a Machine> {
    page.machines.iter().find(|machine| machine.label == label)
}

/// The rows with a figure that counts, best first, as the ranking shows them; without the copies of servers, which are
/// there to check the noise of the table.
fn ranked<'a>(
    page: &RoundPage,
    table: &'a TablePage,
    metric: &MetricPage,
) -> Vec<(&'a RowPage, &'a FigurePage)> {
    let value = |row: &'a RowPage| row.values.get(metric.id).filter(|value| !value.invalid);
    let is_copy =
        |row: &RowPage| page.servers.get(&row.server).is_some_and(|one| one.server.copy_of.is_some());
    let rows = table.rows.iter().filter(|row| !is_copy(row));
    let mut ranked: Vec<_> = rows.filter_map(|row| Some((row, value(row)?))).collect();
    if metric.id != table.metric {
        ranked.sort_by(|(_, a), (_, b)| {
            let order = a.estimate.total_cmp(&b.estimate);
            if metric.less_is_better { order } else { order.reverse() }
        });
    }
    ranked
}

/// One server is ahead of all others if every row was compared and none may have a better rank: a row that does not
/// count, or that has one launch, may be ahead of the best of those that have ranks.
fn decision(table: &TablePage, first: &[String], ranked: &[(&RowPage, &FigurePage)]) -> AnswerDecision {
    let is_settled = |value: &FigurePage| value.ranks.is_some_and(|[best, worst]| best > 1 || worst == 1);
    match first.len() {
        _ if table.single => AnswerDecision::Single,
        0 => AnswerDecision::Nothing,
        1 if ranked.iter().all(|(_, value)| is_settled(value)) => AnswerDecision::One,
        several if several < ranked.len() => AnswerDecision::Several,
        _ => AnswerDecision::Nothing,
    }
}

/// The figures of a round that its tables are ordered by. The label of a machine says nothing beyond its round, so
/// tables of two rounds are the same on equal processors; of alike machines of one round the first one counts.
fn figures(page: &RoundPage) -> BTreeMap<(String, String), f64> {
    let mut found = BTreeMap::new();
    for table in &page.tables {
        let Some(metric) = page.metrics.iter().find(|metric| metric.id == table.metric) else { continue };
        let machine = machine_of(page, &table.machine).map(processor).unwrap_or_default();
        let key = format!("{}~{}~{}~{machine}", table.workload, table.load.name, table.form);
        let counted = table.rows.iter().filter(|row| row.standing == Standing::Ranked);
        for row in counted {
            let value = row.values.get(metric.id).map_or(0.0, |value| value.estimate);
            if value > 0.0 {
                let logarithm = if metric.less_is_better { -value.ln() } else { value.ln() };
                found.entry((key.clone(), row.server.clone())).or_insert(logarithm);
            }
        }
    }
    found
}

/// The history of a plan that was measured several times.
fn history(plan: String, mut rounds: Vec<PlanRound>) -> Option<PlanHistory> {
    rounds.sort_by_key(|round| Reverse(round.started_at.clone()));
    let newest = rounds.first()?;
    let point = |round: &PlanRound| {
        let differences: Vec<f64> =
            round.figures.iter().filter_map(|(row, value)| Some(value - newest.figures.get(row)?)).collect();
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        PlanPoint {
            round: round.round.clone(),
            started_at: round.started_at.clone(),
            relative: (!differences.is_empty()).then(|| mean.exp()),
            rows: differences.len(),
        }
    };
    let points: Vec<PlanPoint> = rounds.iter().rev().map(point).collect();
    (points.len() > 1).then_some(PlanHistory { plan, points })
}

/// The rounds that the first page is made of, newest first: of each plan and machine the newest, and those before it
/// with at least half as many trials, so that a later round of some servers only does not replace one of all.
pub fn rounds_to_read(rounds: &[RoundEntry]) -> Vec<&RoundEntry> {
    let mut most: BTreeMap<(&str, &str, u32), u64> = BTreeMap::new();
    let mut taken: BTreeMap<(&str, &str, u32), usize> = BTreeMap::new();
    for round in rounds.iter().filter(|round| !round.imported) {
        let largest = most.entry((&round.plan, &round.cpu_model, round.cores)).or_default();
        *largest = round.trials().max(*largest);
    }
    let mut read = Vec::new();
    for round in rounds.iter().filter(|round| !round.imported) {
        let plan = (&*round.plan, &*round.cpu_model, round.cores);
        let of_plan = taken.entry(plan).or_default();
        let is_large = most.get(&plan).is_none_or(|largest| round.trials().saturating_mul(2) >= *largest);
        if *of_plan < ROUNDS_EACH && (is_large || *of_plan == 0) {
            *of_plan += 1;
            read.push(round);
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Records;
    use paceline_record::{Round, Trial};
    use paceline_store::archive;
    use std::path::Path;

    fn measured() -> (Round, Vec<Trial>) {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/archive/sold-on-go-2026-11-21");
        archive::read(&folder).unwrap()
    }

    fn page_of(round: &Round, trials: Vec<Trial>) -> RoundPage {
        let records = Records { round: round.clone(), trials, unreadable: Vec::new() };
        RoundPage::new(&records, &records.report())
    }

    fn answers(entry: &RoundEntry, page: &RoundPage) -> Vec<Answer> {
        let mut search = AnswerSearch::default();
        search.add(entry, page);
        search.finish().answers
    }

    fn on_other_processor(trial: &Trial) -> Trial {
        let mut trial = Trial { id: format!("{}-other", trial.id), ..trial.clone() };
        trial.run.iter_mut().for_each(|run| run.environment.cpu_model = "Other processor".to_owned());
        trial
    }

    #[test]
    fn a_table_belongs_to_its_machine_and_not_to_a_label() {
        let (round, trials) = measured();
        let others: Vec<Trial> = trials.iter().map(on_other_processor).collect();
        let both = page_of(&round, trials.iter().chain(&others).cloned().collect());
        let (one, other) = (page_of(&round, trials), page_of(&round, others));
        assert_eq!((one.machines.len(), other.machines.len(), both.machines.len()), (1, 1, 2));
        assert_eq!(one.tables[0].id, other.tables[0].id, "each is machine A of its round");
        let keys = |page: &RoundPage| figures(page).into_keys().collect::<BTreeSet<_>>();
        assert!(!keys(&one).is_empty() && keys(&one).is_disjoint(&keys(&other)));
        assert_eq!(keys(&both), &keys(&one) | &keys(&other));
        let entry = RoundEntry::from_round(round, None);
        assert_eq!(on_machine(&entry, &both, "A").cpu_model, one.machines[0].environment.cpu_model);
        assert_eq!(on_machine(&entry, &both, "B").cpu_model, "Other processor");
    }

    #[test]
    fn a_twin_of_a_load_answers_no_question() {
        let (round, trials) = measured();
        let mut page = page_of(&round, trials);
        let entry = RoundEntry::from_round(round, None);
        assert!(page.tables.iter().any(|table| table.load.variant.is_some()));
        let found = answers(&entry, &page);
        assert!(!found.is_empty() && found.iter().all(|answer| is_plain(&answer.load)), "{found:?}");
        page.tables.retain(|table| table.load.variant.is_some());
        assert!(answers(&entry, &page).is_empty());
    }

    #[test]
    fn a_copy_of_a_server_is_no_answer() {
        let (round, trials) = measured();
        let mut page = page_of(&round, trials);
        let entry = RoundEntry::from_round(round, None);
        let has = |answer: &Answer, id: &str| {
            answer.first.iter().any(|first| first == id)
                || answer.rows.iter().any(|row| row.server.server.id == id)
        };
        let before = answers(&entry, &page);
        let best = before[0].rows[0].server.server.id.clone();
        page.servers.get_mut(&best).unwrap().server.copy_of = Some("original".to_owned());
        let after = answers(&entry, &page);
        assert!(before.iter().any(|answer| has(answer, &best)));
        assert!(!after.is_empty() && !after.iter().any(|answer| has(answer, &best)), "{best}");
    }

    #[test]
    fn a_round_is_as_large_as_what_is_kept_of_it() {
        let (round, _) = measured();
        let entry = |id: &str, planned: u32, kept: Option<u64>| {
            RoundEntry::from_round(Round { id: id.to_owned(), planned, ..round.clone() }, kept)
        };
        let read = |rounds: &[RoundEntry]| -> Vec<String> {
            rounds_to_read(rounds).into_iter().map(|round| round.id.clone()).collect()
        };
        let whole = entry("whole", 10, Some(10));
        let rounds = [whole.clone(), whole.clone(), entry("ended early", u32::MAX, Some(3))];
        assert_eq!(read(&rounds), ["whole", "whole"]);
        let rounds = [whole.clone(), entry("some servers", u32::MAX, Some(4)), entry("first", 9, Some(9))];
        assert_eq!(read(&rounds), ["whole", "first"]);
        // Of a folder only what the round says is known.
        assert_eq!(read(&[whole, entry("huge", u32::MAX, None)]), ["whole", "huge"]);
    }

    #[test]
    fn a_history_has_a_point_for_each_round_that_is_read() {
        let (round, trials) = measured();
        let page = page_of(&round, trials);
        let newest_first = (1..=ROUNDS_EACH + 2).rev();
        let rounds: Vec<RoundEntry> = newest_first
            .map(|number| Round {
                id: format!("round-{number}"),
                started_at: format!("2026-11-{number:02}T00:00:00Z"),
                ..round.clone()
            })
            .map(|round| RoundEntry::from_round(round, None))
            .collect();
        let read = rounds_to_read(&rounds);
        assert!(read.iter().copied().eq(&rounds[..ROUNDS_EACH]), "the newest");
        let mut search = AnswerSearch::default();
        read.iter().for_each(|entry| search.add(entry, &page));
        let plans = search.finish().plans;
        let points = plans[0].points.iter().map(|point| &point.round);
        assert!(points.eq(rounds[..ROUNDS_EACH].iter().rev().map(|round| &round.id)), "oldest first");
    }

    #[test]
    fn a_server_that_another_may_be_ahead_of_is_not_ahead_of_all() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history/source-001");
        let (round, trials) = archive::read(&folder).unwrap();
        let records = Records { round, trials, unreadable: Vec::new() };
        let mut table = RoundPage::new(&records, &records.report()).tables.swap_remove(0);
        table.single = false;
        let value = table.rows[0].values["achieved_per_s"].clone();
        let decided = |ranks: [Option<[u32; 2]>; 3]| {
            let values = ranks.map(|ranks| FigurePage { ranks, ..value.clone() });
            let ranked: Vec<_> = values.iter().map(|value| (&table.rows[0], value)).collect();
            let may_be_first = ranks.iter().filter(|ranks| ranks.is_some_and(|[best, _]| best == 1));
            let first: Vec<String> = may_be_first.map(|_| String::new()).collect();
            decision(&table, &first, &ranked)
        };
        assert_eq!(decided([Some([1, 1]), Some([2, 3]), Some([2, 3])]), AnswerDecision::One);
        assert_eq!(decided([Some([1, 2]), Some([2, 3]), Some([2, 3])]), AnswerDecision::Several);
        assert_eq!(decided([Some([1, 1]), Some([2, 2]), None]), AnswerDecision::Several);
        assert_eq!(decided([Some([1, 2]), Some([1, 2]), Some([3, 3])]), AnswerDecision::Several);
        assert_eq!(decided([Some([1, 3]), Some([1, 3]), Some([1, 3])]), AnswerDecision::Nothing);
    }
}
