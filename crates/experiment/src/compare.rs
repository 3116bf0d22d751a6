//! Compares two servers: whether they differ, and by how much.
//!
//! The second is always described relative to the first: `compare OLD NEW` reports whether NEW is faster. New
//! measurements run in adjacent pairs, A B, B A, A B, ..., and are decided at the looks of
//! `paceline_stats::compare_pairs`, so that stopping early does not raise the number of false alarms. Stored
//! measurements are compared as two independent sets of launches.

use crate::compared_metric::ComparedMetric;
use crate::conditions::Conditions;
use crate::failures::{FailureComparison, ObservedOutcomes};
use crate::load::{LoadError, LoadResult};
use crate::metric_comparison::{Direction, MetricComparison, geometric_mean};
use paceline_stats::{Comparison, Variance, compare_launches, compare_pairs, holm, next_look};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the result's keys.
const SCHEMA: u32 = 1;
/// Maximum attempts at one observation if the generator or the machine spoils it.
const ATTEMPTS: usize = 3;

/// Why a comparison ended early if the user stopped it.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// A metric whose pairs scatter by less than this share of another's is quieter.
const QUIETER: f64 = 2.0 / 3.0;
/// A difference of this many standard errors is found with 80 % probability: 1.96 + 0.84.
const POWER_Z: f64 = 2.8;

/// The observations of one side: for each metric one value per launch or run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleSet {
    /// The object measured: a URL, a server, a file.
    pub name: String,
    /// The values of the observations that can be used.
    pub values: BTreeMap<ComparedMetric, Vec<f64>>,
    /// The outcomes of every observation. Empty in files of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub outcomes: Vec<ObservedOutcomes>,
    /// The load, the machine and the time of the first observation. None in files of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conditions: Option<Box<Conditions>>,
}

impl SampleSet {
    /// An empty set.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), values: BTreeMap::new(), outcomes: Vec::new(), conditions: None }
    }

    /// Adds an observation. One that cannot be used adds only its outcomes.
    pub fn add(&mut self, result: &LoadResult) {
        if self.conditions.is_none() {
            self.conditions.clone_from(&result.conditions);
        }
        let outcomes = ObservedOutcomes::from_result(result);
        let is_usable = outcomes.unusable_because.is_none();
        self.outcomes.push(outcomes);
        if !is_usable {
            return;
        }
        for metric in ComparedMetric::ALL {
            if let Some(value) = metric.value(result) {
                self.values.entry(metric).or_default().push(value);
            }
        }
    }

    /// Why one of its observations cannot be used.
    pub fn unusable_because(&self) -> Option<&str> {
        self.outcomes.iter().find_map(|one| one.unusable_because.as_deref())
    }

    /// Observations that have the commonest figure.
    fn launches(&self) -> usize {
        self.values.values().map(Vec::len).max().unwrap_or(0)
    }

    fn values_of(&self, metric: ComparedMetric) -> &[f64] {
        self.values.get(&metric).map_or(&[], Vec::as_slice)
    }
}

/// A server that can be observed repeatedly.
pub trait ComparedSide {
    /// One observation: a launch with its load, or a run.
    ///
    /// # Errors
    /// [`LoadError`] if there is no result.
    fn observe(&mut self) -> Result<LoadResult, LoadError>;
}

/// How to compare.
#[derive(Clone, Debug)]
pub struct ComparePlan {
    /// The names of both sides.
    pub names: [String; 2],
    /// The metric that decides. Default: the capacity where it is searched, the rate in a closed loop; in an open loop
    /// CPU per request, or else the median response time.
    pub primary: Option<ComparedMetric>,
    /// A smaller difference does not matter: 0.05.
    pub margin: f64,
    /// Maximum number of pairs.
    pub max_pairs: usize,
}

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedComparison {
    /// The version of these keys.
    pub schema: u32,
    /// The command line that made it, with secrets replaced; the caller sets it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub argv: Vec<String>,
    /// The metric that decides.
    pub primary: ComparedMetric,
    /// A smaller difference does not matter.
    pub margin: f64,
    /// Whether both sides were measured in adjacent pairs.
    pub is_interleaved: bool,
    /// Pairs, or launches of the side that has fewer.
    pub pairs: usize,
    /// The failed requests, which are compared first.
    #[serde(default)]
    pub failures: FailureComparison,
    /// The metrics, the deciding one first.
    pub metrics: Vec<MetricComparison>,
    /// All observations.
    pub samples: [SampleSet; 2],
    /// Why it ended before a decision or the last pair.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_early: Option<String>,
}

impl PairedComparison {
    /// A comparison of stored launches whose metrics were decided elsewhere, the deciding one first.
    pub(crate) fn decided(
        primary: ComparedMetric,
        margin: f64,
        metrics: Vec<MetricComparison>,
        samples: [SampleSet; 2],
    ) -> Self {
        Self {
            schema: SCHEMA,
            argv: Vec::new(),
            primary,
            margin,
            is_interleaved: false,
            pairs: samples[0].launches().min(samples[1].launches()),
            failures: FailureComparison::from_outcomes(&samples[0].outcomes, &samples[1].outcomes),
            metrics,
            samples,
            ended_early: None,
        }
    }

    /// The scatter of pairs in a metric: the standard deviation of their logarithmic ratios. None below three pairs,
    /// and if an observation lacks the metric.
    pub fn pair_sd(&self, metric: ComparedMetric) -> Option<f64> {
        let log_ratios = pair_log_ratios(&self.samples, metric, self.pairs)?;
        let spread =
            Variance::from_values(&log_ratios).filter(|_| self.is_interleaved && log_ratios.len() > 2)?;
        Some(spread.value.sqrt())
    }

    /// If the deciding metric is undecided: a metric of the same cost whose pairs scatter by less than two thirds as
    /// much, with the number of pairs it needs for a difference of the margin. The choice depends on scatter, not on
    /// the observed difference, so that it adds no false alarms.
    pub fn quieter_metric(&self) -> Option<(ComparedMetric, usize)> {
        let decision = self.decision()?;
        let is_undecided = matches!(decision.direction, Direction::Undecided { .. });
        let noise = self.pair_sd(self.primary).filter(|_| is_undecided)?;
        let candidates = [ComparedMetric::RatePerS, ComparedMetric::ServerCpuNsPerRequest];
        let scatter = |metric| Some((metric, self.pair_sd(metric)?));
        let (metric, sd) = candidates
            .into_iter()
            .filter(|metric| *metric != self.primary)
            .filter_map(scatter)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, sd)| *sd < QUIETER * noise)?;
        Some((metric, (POWER_Z * sd / self.margin).powi(2).ceil().max(4.0) as usize))
    }

    /// The decision; none if there were too few pairs.
    pub fn decision(&self) -> Option<&MetricComparison> {
        self.metrics.iter().find(|metric| metric.metric == self.primary)
    }
}

/// Progress of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareProgress<'a> {
    /// Pairs so far.
    pub pairs: usize,
    /// The number of pairs at the next look.
    pub next_look: Option<usize>,
    /// The ratio second by first of the deciding metric, so far.
    pub ratio: Option<f64>,
    /// The result of this pair's look, if it has one.
    pub look: Option<&'a PairedComparison>,
}

/// Measures pairs until the deciding metric is decided. An interruption keeps the results so far.
///
/// # Errors
/// [`LoadError`] if an observation has no result, or is spoiled three times in a row.
pub fn run_comparison(
    sides: [&mut dyn ComparedSide; 2],
    plan: &ComparePlan,
    observer: &mut dyn FnMut(CompareProgress),
) -> Result<PairedComparison, LoadError> {
    let [first, second] = sides;
    let mut samples = plan.names.each_ref().map(|name| SampleSet::new(name));
    let mut pairs = 0;
    loop {
        let observed = if pairs % 2 == 0 {
            observe(first).and_then(|a| observe(second).map(|b| [a, b]))
        } else {
            observe(second).and_then(|b| observe(first).map(|a| [a, b]))
        };
        let observed = match observed {
            Err(LoadError::Interrupted) => {
                let mut comparison = paired(&samples, plan, pairs);
                comparison.ended_early = Some(INTERRUPTED.to_owned());
                return Ok(comparison);
            }
            observed => observed?,
        };
        for (set, result) in samples.iter_mut().zip(&observed) {
            set.add(result);
        }
        pairs += 1;
        let is_look = next_look(pairs - 1) == Some(pairs);
        // More pairs cannot make an observation usable, and do not give it the metric.
        let is_usable = samples.iter().all(|set| set.unusable_because().is_none());
        let lacks = |metric: &ComparedMetric| samples.iter().any(|set| set.values_of(*metric).len() < pairs);
        let lacking = plan.primary.filter(|metric| is_usable && lacks(metric));
        let is_last =
            pairs >= plan.max_pairs || next_look(pairs).is_none() || !is_usable || lacking.is_some();
        let comparison = (is_look || is_last).then(|| PairedComparison {
            ended_early: lacking.map(|metric| format!("an observation has no {}", metric.name())),
            ..paired(&samples, plan, pairs)
        });
        let ratio = primary(plan, &samples).and_then(|metric| mean_ratio(&samples, metric));
        let next_look = next_look(pairs).filter(|look| *look <= plan.max_pairs);
        observer(CompareProgress { pairs, next_look, ratio, look: comparison.as_ref() });
        if let Some(comparison) = comparison {
            let is_open = matches!(
                comparison.decision().map(|decision| decision.direction),
                None | Some(Direction::Undecided { .. })
            );
            if is_last || !is_open {
                return Ok(comparison);
            }
        }
    }
}

/// Observes a side, again if the generator or the machine spoiled the observation.
///
/// # Errors
/// [`LoadError`] if an observation has no result, or is spoiled three times in a row.
pub fn observe(side: &mut dyn ComparedSide) -> Result<LoadResult, LoadError> {
    let mut because = String::new();
    for _ in 0..ATTEMPTS {
        let result = side.observe()?;
        match result.void_because() {
            None => return Ok(result),
            Some(verdict) => because = format!("{}. {}", verdict.name, verdict.remedy),
        }
    }
    Err(LoadError::Failed(format!("{ATTEMPTS} runs in a row were not usable: {because}")))
}

fn primary(plan: &ComparePlan, samples: &[SampleSet; 2]) -> Option<ComparedMetric> {
    let has = |metric: &ComparedMetric| samples.iter().all(|set| !set.values_of(*metric).is_empty());
    plan.primary.or_else(|| ComparedMetric::ALL.into_iter().find(has))
}

fn mean_ratio(samples: &[SampleSet; 2], metric: ComparedMetric) -> Option<f64> {
    Some(geometric_mean(samples[1].values_of(metric))? / geometric_mean(samples[0].values_of(metric))?)
}

/// The logarithms of the ratios second by first of each pair. None if a run lacks the metric: which values are of one
/// pair is then not known.
fn pair_log_ratios(samples: &[SampleSet; 2], metric: ComparedMetric, pairs: usize) -> Option<Vec<f64>> {
    let [first, second] = samples.each_ref().map(|set| set.values_of(metric));
    (first.len() == pairs && second.len() == pairs)
        .then(|| first.iter().zip(second).map(|(a, b)| (b / a).ln()).collect())
}

/// The comparison of the pairs so far.
fn paired(samples: &[SampleSet; 2], plan: &ComparePlan, pairs: usize) -> PairedComparison {
    let compare = |metric| compare_pairs(&pair_log_ratios(samples, metric, pairs)?, plan.margin);
    assemble(samples, plan.primary, plan.margin, pairs, true, compare)
}

/// Compares stored measurements, which are not in pairs: Welch's t on logarithms over launches.
pub fn compare_samples(
    samples: &[SampleSet; 2],
    primary: Option<ComparedMetric>,
    margin: f64,
) -> PairedComparison {
    let compare =
        |metric| compare_launches(samples[1].values_of(metric), samples[0].values_of(metric), margin);
    let pairs = samples[0].launches().min(samples[1].launches());
    assemble(samples, primary, margin, pairs, false, compare)
}

fn assemble(
    samples: &[SampleSet; 2],
    asked: Option<ComparedMetric>,
    margin: f64,
    pairs: usize,
    is_interleaved: bool,
    compare: impl Fn(ComparedMetric) -> Option<Comparison>,
) -> PairedComparison {
    let sides = |metric| samples.each_ref().map(|set: &SampleSet| set.values_of(metric));
    let tested = |metric| Some(MetricComparison::tested(metric, sides(metric), compare(metric)?));
    let mut metrics: Vec<MetricComparison> = ComparedMetric::ALL.into_iter().filter_map(tested).collect();
    let primary = asked.or(metrics.first().map(|metric| metric.metric)).unwrap_or(ComparedMetric::RatePerS);
    // The deciding metric is the first.
    metrics.sort_by_key(|metric| metric.metric != primary);
    let others = metrics.iter_mut().filter(|metric| metric.metric != primary);
    let others: Vec<&mut MetricComparison> = others.collect();
    let corrected = holm(&others.iter().map(|metric| metric.p_value).collect::<Vec<_>>());
    others.into_iter().zip(corrected).for_each(|(metric, p_value)| metric.correct(p_value, pairs));
    let failures = FailureComparison::from_outcomes(&samples[0].outcomes, &samples[1].outcomes);
    PairedComparison {
        schema: SCHEMA,
        argv: Vec::new(),
        primary,
        margin,
        is_interleaved,
        pairs,
        failures,
        metrics,
        samples: samples.clone(),
        ended_early: None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::capacity::tests::{invalid, result};
    use paceline_record::Blame;
    use paceline_stats::{Decision, Random};

    /// A side with a rate and noise between launches.
    struct SimulatedSide {
        rate: f64,
        sd: f64,
        spoiled: usize,
        /// Requests of 10,000 that fail in each observation.
        failed: u64,
        /// An invalid verdict on every observation, blamed on the server.
        broken: Option<&'static str>,
        observed: usize,
        random: Random,
    }

    impl SimulatedSide {
        fn new(rate: f64, sd: f64, seed: u64) -> Self {
            Self { rate, sd, spoiled: 0, failed: 0, broken: None, observed: 0, random: Random::new(seed) }
        }
    }

    impl ComparedSide for SimulatedSide {
        fn observe(&mut self) -> Result<LoadResult, LoadError> {
            self.observed += 1;
            let mut result = result(None, self.rate * (self.sd * self.random.normal()).exp());
            if self.observed <= self.spoiled {
                result.verdicts.push(invalid("generator_stalled", Blame::Generator));
            }
            result.ok -= self.failed;
            result.verdicts.extend(self.broken.map(|name| invalid(name, Blame::Server)));
            Ok(result)
        }
    }

    fn plan() -> ComparePlan {
        ComparePlan { names: ["old".into(), "new".into()], primary: None, margin: 0.05, max_pairs: 20 }
    }

    pub(crate) fn compare(ratio: f64, sd: f64) -> PairedComparison {
        let (mut a, mut b) = (SimulatedSide::new(1_000.0, sd, 1), SimulatedSide::new(1_000.0 * ratio, sd, 2));
        run_comparison([&mut a, &mut b], &plan(), &mut |_| {}).unwrap()
    }

    /// A second side that is as fast as the first, but fails requests.
    pub(crate) fn compare_failing(failed: u64, broken: Option<&'static str>) -> PairedComparison {
        let mut a = SimulatedSide::new(1_000.0, 0.01, 1);
        let mut b = SimulatedSide { failed, broken, ..SimulatedSide::new(1_000.0, 0.01, 2) };
        run_comparison([&mut a, &mut b], &plan(), &mut |_| {}).unwrap()
    }

    #[test]
    fn an_observation_that_cannot_be_used_ends_a_comparison_without_figures() {
        let comparison = compare_failing(9_000, Some("failed_requests"));
        assert_eq!((comparison.pairs, comparison.metrics.len()), (1, 0));
        assert_eq!(comparison.failures.second.share, Some(0.9));
        assert!(!comparison.failures.is_usable());
        assert!(comparison.samples[1].values.is_empty() && !comparison.samples[0].values.is_empty());
        let text = crate::compare_text(&comparison);
        assert!(text.starts_with("new and old cannot be compared: 1 of 1 observation of new"), "{text}");
        assert!(text.contains("0 % of old, 90 % of new. failed_requests"), "{text}");
    }

    #[test]
    fn differences_are_found_with_their_direction() {
        for (ratio, sd, expected) in [
            (0.9, 0.02, Direction::Worse),
            (1.1, 0.02, Direction::Better),
            (1.0, 0.01, Direction::Equivalent),
        ] {
            let comparison = compare(ratio, sd);
            let decision = comparison.decision().unwrap();
            assert_eq!(decision.direction, expected, "{ratio}: {comparison:?}");
            assert!(
                decision.ratio_interval.low < ratio && ratio < decision.ratio_interval.high,
                "{decision:?}"
            );
            assert_eq!(comparison.primary, ComparedMetric::RatePerS);
            assert!(comparison.pairs <= 10);
        }
    }

    #[test]
    fn a_load_of_sessions_is_compared_by_sessions() {
        let mut sets = ["old", "new"].map(SampleSet::new);
        for (set, sessions) in sets.iter_mut().zip([100.0, 80.0]) {
            for noise in [0.99, 1.0, 1.01] {
                let sessions_per_s = Some(sessions * noise);
                set.add(&LoadResult { sessions_per_s, ..result(None, 1_000.0 * noise) });
            }
        }
        let comparison = compare_samples(&sets, None, 0.05);
        assert_eq!(comparison.primary, ComparedMetric::SessionsPerS);
        assert_eq!(comparison.decision().unwrap().direction, Direction::Worse);
        let text = crate::compare_text(&comparison);
        assert!(text.contains("new is slower: 20.0 % lower sessions than old"), "{text}");
    }

    #[test]
    fn a_metric_that_is_not_measured_ends_a_comparison() {
        let (mut a, mut b) = (SimulatedSide::new(1_000.0, 0.01, 1), SimulatedSide::new(1_000.0, 0.01, 2));
        let plan = ComparePlan { primary: Some(ComparedMetric::RssBytes), ..plan() };
        let comparison = run_comparison([&mut a, &mut b], &plan, &mut |_| {}).unwrap();
        assert_eq!((comparison.pairs, comparison.decision()), (1, None));
        let expected = "undecided: memory was not measured in every observation of old and new";
        let text = crate::compare_text(&comparison);
        assert!(text.starts_with(expected), "{text}");
        let stored =
            compare_samples(&compare(1.0, 0.01).samples, Some(ComparedMetric::ResponseTimeNsP99), 0.05);
        let text = crate::compare_text(&stored);
        assert!(text.starts_with("undecided: response.p99 was not measured in every observation"), "{text}");
    }

    #[test]
    fn noise_is_undecided_with_the_number_of_missing_pairs() {
        let comparison = compare(1.0, 0.3);
        assert_eq!(comparison.pairs, 20);
        let Direction::Undecided { more_pairs } = comparison.decision().unwrap().direction else {
            panic!("{comparison:?}");
        };
        assert!(more_pairs > 10, "{more_pairs}");
    }

    #[test]
    fn a_less_noisy_metric_is_proposed_for_an_undecided_one() {
        let mut comparison = compare(1.0, 0.2);
        assert_eq!(comparison.quieter_metric(), None, "the rate is all there is");
        for set in &mut comparison.samples {
            let noise = set.values[&ComparedMetric::RatePerS].iter().enumerate();
            let quiet: Vec<f64> = noise.map(|(i, _)| 5_000.0 + (i % 3) as f64 * 50.0).collect();
            set.values.insert(ComparedMetric::ServerCpuNsPerRequest, quiet);
        }
        let values = comparison.samples[1].values.get_mut(&ComparedMetric::ServerCpuNsPerRequest).unwrap();
        values.rotate_left(1);
        let (metric, pairs) = comparison.quieter_metric().unwrap();
        assert_eq!(metric, ComparedMetric::ServerCpuNsPerRequest);
        assert!((4..10).contains(&pairs), "{pairs}");
        let text = crate::compare_text(&comparison);
        assert!(text.contains("with --metric cpu, about"), "{text}");
        assert_eq!(compare(0.9, 0.02).quieter_metric(), None, "it is decided");
        // Without the first value of one side, the others would be of different pairs.
        comparison.samples[0].values.get_mut(&ComparedMetric::ServerCpuNsPerRequest).unwrap().remove(0);
        assert_eq!(comparison.quieter_metric(), None);
    }

    #[test]
    fn times_are_better_when_they_are_lower() {
        assert_eq!(
            Direction::from_decision(Decision::Lower, ComparedMetric::ResponseTimeNsP50),
            Direction::Better
        );
        assert_eq!(Direction::from_decision(Decision::Higher, ComparedMetric::RssBytes), Direction::Worse);
        assert_eq!(Direction::from_decision(Decision::Higher, ComparedMetric::StartNs), Direction::Worse);
        assert_eq!(
            Direction::from_decision(Decision::Higher, ComparedMetric::CapacityPerS),
            Direction::Better
        );
        let named = ComparedMetric::ALL.map(|metric| ComparedMetric::of_name(metric.name()));
        assert_eq!(named, ComparedMetric::ALL.map(Some));
    }

    #[test]
    fn disturbed_observations_are_repeated_and_then_reported() {
        let mut a = SimulatedSide { spoiled: 2, ..SimulatedSide::new(1_000.0, 0.01, 1) };
        let mut b = SimulatedSide::new(1_000.0, 0.01, 2);
        let comparison = run_comparison([&mut a, &mut b], &plan(), &mut |_| {}).unwrap();
        assert_eq!(comparison.samples[0].values[&ComparedMetric::RatePerS].len(), comparison.pairs);
        let mut a = SimulatedSide { spoiled: 3, ..SimulatedSide::new(1_000.0, 0.01, 1) };
        let error = run_comparison([&mut a, &mut b], &plan(), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("generator_stalled"), "{error}");
    }

    #[test]
    fn stored_samples_are_compared_by_welch() {
        let set = |name: &str, values: &[f64]| SampleSet {
            values: BTreeMap::from([(ComparedMetric::RatePerS, values.to_vec())]),
            ..SampleSet::new(name)
        };
        let (a, b) = (set("a", &[100.0, 102.0, 98.0, 101.0]), set("b", &[90.0, 91.0, 89.0, 90.5]));
        let comparison = compare_samples(&[a.clone(), b], None, 0.05);
        let decision = comparison.decision().unwrap();
        assert_eq!(decision.direction, Direction::Worse);
        // scipy.stats.ttest_ind(ln b, ln a, equal_var=False).pvalue
        assert!((decision.p_value / 0.000_166_492_491 - 1.0).abs() < 1e-6, "{decision:?}");
        assert!(!comparison.is_interleaved);
        let single = compare_samples(&[a, set("c", &[90.0])], None, 0.05);
        assert!(single.decision().is_none(), "one launch has no interval");
    }
}
