//! The metrics of a gate: their losses block by block, and what each look decides.
//!
//! A cell is one metric under one load, or one metric of a launch. Each cell has two one-sided tests of the same bound,
//! its margin. For "the loss is larger", the error rate is shared equally among all cells (Bonferroni): a gate fails
//! by mistake in at most 5 % of cases, however many cells it has. For "the loss is smaller", every cell has the whole
//! rate: the gate passes only if all judges exclude the loss, so that one wrong test is not enough (intersection-union
//! test; Berger, *Technometrics* 24(4), 1982).

use super::report::{
    BASE, BlockSide, CANDIDATE, CONTROL, CellReport, CellVerdict, ERROR_RATE, GateMetric, JudgeRule,
    RegressionPlan, SIDES,
};
use super::text::subject_of;
use crate::compared_metric::ComparedMetric;
use crate::load::{LoadResult, Range};
use paceline_stats::{BoundDecision, BoundTest, LookLevels, test_bound};

/// All cells of a gate.
pub(super) struct Cells {
    cells: Vec<Cell>,
    /// The error rates of a cell for "the loss is larger" and for "the loss is smaller".
    errors: [f64; 2],
    levels: [LookLevels; 2],
    judge: JudgeRule,
}

struct Cell {
    load: Option<(usize, String)>,
    metric: GateMetric,
    is_judge: bool,
    /// The figure of each side in each block.
    figures: Vec<[f64; SIDES]>,
    decided: Option<Look>,
    last: Option<Look>,
}

#[derive(Clone, Copy)]
struct Look {
    loss: BoundTest,
    noise: f64,
    /// The standard deviation of the control pairs.
    scatter: f64,
    verdict: CellVerdict,
}

impl Cells {
    pub(super) fn new(plan: &RegressionPlan) -> Self {
        let of_loads = plan.loads.iter().enumerate().flat_map(|(index, load)| {
            let name = &load.name;
            load.metrics.iter().map(move |metric| Cell::new(Some((index, name.clone())), metric.clone()))
        });
        let of_launch = plan.launch.iter().map(|metric| Cell::new(None, metric.clone()));
        let cells: Vec<Cell> = of_loads.chain(of_launch).collect();
        let errors = [ERROR_RATE / cells.len().max(1) as f64, ERROR_RATE];
        Self { cells, errors, levels: errors.map(LookLevels::from_error), judge: plan.judge }
    }

    /// Adds the figures of a block.
    pub(super) fn add(&mut self, sides: &[BlockSide; SIDES]) {
        for cell in &mut self.cells {
            let figures = sides.each_ref().map(|side| cell.figure(side));
            if let [Some(base), Some(candidate), Some(control)] = figures {
                cell.figures.push([base, candidate, control]);
            }
        }
    }

    /// Removes the metrics of a load. The others keep their share of the error rate.
    pub(super) fn leave_out(&mut self, load: usize) {
        self.cells.retain(|cell| cell.load.as_ref().is_none_or(|(index, _)| *index != load));
    }

    /// Whether there is no metric.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Tests every open cell. The first test of a load also chooses its judge.
    pub(super) fn look(&mut self) {
        for cell in &mut self.cells {
            cell.look(&self.levels);
        }
        self.choose_judges();
    }

    /// The last test, of all blocks: a cell may have figures of fewer. It spends what is left of the error rates.
    pub(super) fn last_look(&mut self) {
        for cell in &mut self.cells {
            let blocks = cell.figures.len();
            cell.look(&self.errors.map(|error| LookLevels::ending_at(error, blocks)));
        }
        self.choose_judges();
    }

    /// The choice depends on the control pairs alone, so that it adds no false alarms.
    fn choose_judges(&mut self) {
        let scatter = |cell: &Cell| cell.last.map(|look| look.scatter / cell.metric.bound());
        let load = |cell: &Cell| cell.load.as_ref().map(|(index, _)| *index);
        let quietest: Vec<Option<usize>> = self
            .cells
            .iter()
            .map(|cell| {
                let same = self.cells.iter().enumerate().filter(|(_, other)| load(other) == load(cell));
                same.filter_map(|(index, other)| Some((index, scatter(other)?)))
                    .min_by(|a, b| a.1.total_cmp(&b.1))
                    .map(|(index, _)| index)
            })
            .collect();
        let chosen: Vec<bool> = self
            .cells
            .iter()
            .map(|cell| self.cells.iter().any(|other| other.is_judge && load(other) == load(cell)))
            .collect();
        for (index, cell) in self.cells.iter_mut().enumerate() {
            let is_quietest = quietest[index] == Some(index) && !chosen[index];
            cell.is_judge |= match self.judge {
                JudgeRule::All => true,
                JudgeRule::Quietest => cell.load.is_none() || is_quietest,
            };
        }
    }

    pub(super) fn any_worse(&self) -> bool {
        self.cells.iter().any(|cell| cell.verdict() == CellVerdict::Worse)
    }

    /// Whether all judges exclude a loss beyond the margin. False if a load has no judge, as before the first look.
    pub(super) fn all_excluded(&self) -> bool {
        let excludes = |cell: &Cell| {
            matches!(cell.verdict(), CellVerdict::NotWorse | CellVerdict::SlightlyWorse | CellVerdict::Better)
        };
        let has_judge = |cell: &Cell| {
            let is_same = |other: &Cell| {
                other.load.as_ref().map(|load| load.0) == cell.load.as_ref().map(|load| load.0)
            };
            self.cells.iter().any(|other| other.is_judge && is_same(other))
        };
        self.cells.iter().all(has_judge) && self.cells.iter().filter(|cell| cell.is_judge).all(excludes)
    }

    /// The metrics without which no gate passes and which were measured in too few blocks for a test: a load needs one
    /// of its metrics if the quietest is its judge.
    pub(super) fn untested(&self) -> Vec<String> {
        let is_tested = |cell: &Cell| cell.last.is_some();
        let has_other = |cell: &Cell| {
            let load = cell.load.as_ref().map(|(index, _)| *index);
            let is_same = |other: &Cell| other.load.as_ref().map(|(index, _)| *index) == load;
            self.judge == JudgeRule::Quietest
                && load.is_some()
                && self.cells.iter().any(|other| is_same(other) && is_tested(other))
        };
        let untested = self.cells.iter().filter(|cell| !is_tested(cell) && !has_other(cell));
        let name = |cell: &Cell| {
            let metric = cell.metric.metric.name_of(cell.metric.step.as_deref());
            subject_of(metric, cell.load.as_ref().map(|(_, name)| name.as_str()))
        };
        untested.map(name).collect()
    }

    pub(super) fn reports(&self) -> Vec<CellReport> {
        self.cells.iter().filter_map(Cell::report).collect()
    }
}

impl GateMetric {
    /// The margin as a logarithmic loss: a rate that falls by 5 %, or a time that grows by 5 %.
    fn bound(&self) -> f64 {
        if self.metric.higher_is_better() { -(-self.margin).ln_1p() } else { self.margin.ln_1p() }
    }

    /// A logarithmic loss as a share.
    fn share_of(&self, loss: f64) -> f64 {
        if self.metric.higher_is_better() { -(-loss).exp_m1() } else { loss.exp_m1() }
    }

    /// Its figure of a window.
    fn value(&self, window: &LoadResult) -> Option<f64> {
        let Some(step) = &self.step else { return self.metric.value(window) };
        self.metric.percentile(&window.step_time_ns(step)?).filter(|time_ns| *time_ns > 0.0)
    }
}

impl Cell {
    fn new(load: Option<(usize, String)>, metric: GateMetric) -> Self {
        Self { load, metric, is_judge: false, figures: Vec::new(), decided: None, last: None }
    }

    /// The geometric mean over the windows of a side. Rates and times of a disturbed window describe the disturbance;
    /// CPU time is counted only while the server runs.
    fn figure(&self, side: &BlockSide) -> Option<f64> {
        let metric = self.metric.metric;
        let Some((load, _)) = &self.load else {
            let value = match metric {
                ComparedMetric::RssBytes => side.rss_bytes,
                _ => side.start_ns,
            };
            return value.map(|value| value as f64).filter(|value| *value > 0.0);
        };
        let counts = |window: &&LoadResult| {
            metric == ComparedMetric::ServerCpuNsPerRequest || window.void_because().is_none()
        };
        let windows = side.windows.get(*load)?.iter().filter(counts);
        let logs: Vec<f64> = windows.filter_map(|window| self.metric.value(window).map(f64::ln)).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    /// The logarithmic loss of each block.
    fn losses(&self) -> Vec<f64> {
        let sign = if self.metric.metric.higher_is_better() { -1.0 } else { 1.0 };
        let loss = |figures: &[f64; SIDES]| {
            let base = (figures[BASE].ln() + figures[CONTROL].ln()) / 2.0;
            sign * (figures[CANDIDATE].ln() - base)
        };
        self.figures.iter().map(loss).collect()
    }

    /// The logarithmic ratio of both copies of the base in each block.
    fn noises(&self) -> Vec<f64> {
        self.figures.iter().map(|figures| (figures[CONTROL] / figures[BASE]).ln()).collect()
    }

    fn look(&mut self, [above, below]: &[LookLevels; 2]) {
        if self.decided.is_some() {
            return;
        }
        let bound = self.metric.bound();
        let Some(loss) = test_bound(&self.losses(), bound, above, below) else { return };
        let Some(control) = test_bound(&self.noises(), 0.0, below, below) else { return };
        let noise = control.low.abs().max(control.high.abs());
        let verdict = match loss.decision {
            BoundDecision::Above if loss.mean <= noise => CellVerdict::WithinNoise,
            BoundDecision::Above => CellVerdict::Worse,
            BoundDecision::Below if loss.mean.abs() <= noise => CellVerdict::NotWorse,
            BoundDecision::Below if loss.high < 0.0 => CellVerdict::Better,
            BoundDecision::Below if loss.low > 0.0 => CellVerdict::SlightlyWorse,
            BoundDecision::Below => CellVerdict::NotWorse,
            BoundDecision::Open => CellVerdict::Undecided,
        };
        let look = Look { loss, noise, scatter: control.deviation, verdict };
        self.last = Some(look);
        if !matches!(verdict, CellVerdict::Undecided | CellVerdict::WithinNoise) {
            self.decided = Some(look);
        }
    }

    fn verdict(&self) -> CellVerdict {
        self.last.map_or(CellVerdict::Undecided, |look| look.verdict)
    }

    /// None before its first look.
    fn report(&self) -> Option<CellReport> {
        let look = self.last?;
        let used = &self.figures[..look.loss.used];
        let mean = |value: &dyn Fn(&[f64; SIDES]) -> f64| {
            (used.iter().map(value).sum::<f64>() / used.len() as f64).exp()
        };
        let base = mean(&|figures| (figures[BASE].ln() + figures[CONTROL].ln()) / 2.0);
        let candidate = mean(&|figures| figures[CANDIDATE].ln());
        let (low, high) = match self.metric.metric.higher_is_better() {
            true => ((-look.loss.high).exp(), (-look.loss.low).exp()),
            false => (look.loss.low.exp(), look.loss.high.exp()),
        };
        Some(CellReport {
            load: self.load.as_ref().map(|(_, name)| name.clone()),
            metric: self.metric.metric,
            step: self.metric.step.clone(),
            margin: self.metric.margin,
            is_judge: self.is_judge,
            blocks: look.loss.used,
            base,
            candidate,
            ratio: candidate / base,
            ratio_interval: Range { low, high },
            noise: look.noise.exp_m1(),
            detectable_loss: self.metric.share_of(self.metric.bound() + look.loss.detectable),
            verdict: look.verdict,
        })
    }
}
