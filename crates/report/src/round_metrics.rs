//! The trials of a round as metrics for dashboards: how far it is, and every figure of each row's newest trial.

use crate::live_metrics::{Labels, LiveValues, Span, head, request};
use paceline_judge::Metric;
use paceline_record::{Round, Trial};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A server under a workload, a load and a form.
type Cell = [String; 4];
/// The labels of a cell, in its order.
const CELL: [&str; 4] = ["server", "workload", "load", "form"];

/// The progress of a round, and the figures of its newest trials.
#[derive(Clone, Debug, Default)]
pub struct RoundMetrics {
    plan: String,
    round: String,
    planned: u32,
    usable: u32,
    unusable: u32,
    figures: BTreeMap<Cell, Vec<(&'static Metric, f64)>>,
}

impl RoundMetrics {
    /// Of a round, with the trials that it has already.
    pub fn new(round: &Round, kept: &[Trial]) -> Self {
        let (plan, id) = (round.plan.clone(), round.id.clone());
        let mut metrics = Self { plan, round: id, planned: round.planned, ..Self::default() };
        kept.iter().for_each(|trial| metrics.add(trial));
        metrics
    }

    /// Adds a trial that has ended. One without a usable run is counted, and changes no figure.
    pub fn add(&mut self, trial: &Trial) {
        let Some(run) = trial.usable_run() else {
            self.unusable += 1;
            return;
        };
        self.usable += 1;
        let cell = [&trial.server.id, &trial.workload, &trial.load.name, &trial.form].map(String::clone);
        let values = Metric::ALL.iter().filter_map(|metric| {
            let value = (metric.of)(trial, run)?;
            value.enough.then_some((metric, value.value))
        });
        self.figures.insert(cell, values.collect());
    }

    /// The counts of trials: name, help, labels and value.
    fn counts(&self) -> [(&'static str, &'static str, u32); 3] {
        [
            ("trials_planned", "Trials of the round", self.planned),
            ("trials_usable", "Trials that have ended with a usable run", self.usable),
            ("trials_unusable", "Trials that have ended without one", self.unusable),
        ]
    }

    fn round_labels(&self) -> [(&'static str, &str); 2] {
        [("plan", &self.plan), ("round", &self.round)]
    }

    /// The newest value of a metric in every row that has it.
    fn values(&self, metric: &Metric) -> Vec<(&Cell, f64)> {
        let of = |figures: &[(&Metric, f64)]| Some(figures.iter().find(|(found, _)| *found == metric)?.1);
        self.figures.iter().filter_map(|(cell, figures)| Some((cell, of(figures)?))).collect()
    }
}

impl LiveValues for RoundMetrics {
    fn prometheus(&self) -> String {
        let mut text = String::new();
        for (name, help, count) in self.counts() {
            head(&mut text, name, "gauge", help);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "paceline_{name}{{{}}} {count}", Labels(&self.round_labels()));
        }
        for metric in Metric::ALL {
            let values = self.values(metric);
            if values.is_empty() {
                continue;
            }
            head(&mut text, metric.key, "gauge", &format!("Newest trial: {}", metric.name));
            for (cell, value) in values {
                let labels: Vec<(&str, &str)> =
                    CELL.into_iter().zip(cell.iter().map(String::as_str)).collect();
                let _ = writeln!(text, "paceline_{}{{{}}} {value}", metric.key, Labels(&labels));
            }
        }
        text
    }

    fn otlp(&self, span: Span) -> Value {
        let gauge = |name: &str, help: &str, points: Vec<Value>| json!({ "name": format!("paceline.{name}"), "description": help, "gauge": { "dataPoints": points } });
        let counts = self.counts().into_iter().map(|(name, help, count)| {
            gauge(name, help, vec![span.point(&[], json!({ "asInt": count.to_string() }))])
        });
        let figures = Metric::ALL.iter().filter_map(|metric| {
            let points = self.values(metric).into_iter().map(|(cell, value)| {
                let labels: Vec<(&str, &str)> =
                    CELL.into_iter().zip(cell.iter().map(String::as_str)).collect();
                span.point(&labels, json!({ "asDouble": value }))
            });
            let points: Vec<Value> = points.collect();
            (!points.is_empty()).then(|| gauge(metric.key, metric.name, points))
        });
        let [plan, round] = self.round_labels().map(|(key, value)| (format!("paceline.{key}"), value));
        request(&[(&plan.0, plan.1), (&round.0, round.1)], counts.chain(figures).collect())
    }
}
