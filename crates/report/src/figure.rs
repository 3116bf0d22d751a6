//! The figures of a row: each metric of the judge's table over the launches, one observation per launch.
//!
//! Percentiles are read from each launch's record and never computed from histograms of several launches. The noise of
//! a figure is estimated from all rows of a table: [`set_intervals`] is called when they are known.

use crate::launch::UsableTrial;
use paceline_judge::{Metric, judged_times};
use paceline_record::{LoopKind, Times};
use paceline_stats::{ServerLaunches as Observations, Spread, launch_means};
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One figure over the launches that have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Figure of the middle launch, or the mean of the middle two.
    pub median: f64,
    /// Figure of the lowest launch.
    pub min: f64,
    /// Figure of the highest launch.
    pub max: f64,
    /// Number of launches with this figure.
    pub launches: usize,
    /// The geometric mean over the launches; none if a launch has no figure above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The 95 % interval of that mean between launches (moderated t over the rows of the table).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// For percentiles: whether it is a minimum, because in some launch it is at or above the shortest wait of a
    /// request without a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<bool>,
    /// For percentiles: whether every launch had enough requests for it: 3.7/(1 - p). Tables leave it out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enough: Option<bool>,
    /// The figure of each launch, by repeat.
    #[serde(skip)]
    pub observed: Vec<(u32, f64)>,
}

/// The geometric mean over some rows of each launch that all of them have, with the number of the launch. A row has a
/// figure for each of its launches; one that is not above 0 is none.
pub fn means_over_rows(rows: &[Vec<(u32, f64)>]) -> Vec<(u32, f64)> {
    let mut sums: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
    for (repeat, value) in rows.iter().flatten().filter(|(_, value)| *value > 0.0) {
        let (sum, count) = sums.entry(*repeat).or_default();
        *sum += value.ln();
        *count += 1;
    }
    let whole = sums.into_iter().filter(|(_, (_, count))| *count == rows.len());
    whole.map(|(repeat, (sum, count))| (repeat, (sum / count as f64).exp())).collect()
}

impl Figure {
    /// The figure of some observations; none without observations.
    pub fn from_observations(observations: impl IntoIterator<Item = f64>) -> Option<Self> {
        Self::by_repeat(observations.into_iter().zip(0..).map(|(value, repeat)| (repeat, value)).collect())
    }

    /// The figure of the launches' observations, with the repeat of each.
    pub(crate) fn by_repeat(observed: Vec<(u32, f64)>) -> Option<Self> {
        let Spread { count, min, median, max } =
            Spread::from_observations(observed.iter().map(|(_, value)| *value))?;
        let mut figure = Self { median, min, max, launches: count, observed, ..Self::default() };
        set_intervals([(&mut figure, true)].into());
        Some(figure)
    }

    /// The figure as a report shows it: the geometric mean if there is one, else the median.
    pub fn shown(&self) -> f64 {
        self.mean.unwrap_or(self.median)
    }

    /// Half the width of its interval as a share of the mean; none without an interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        let ([low, high], mean) = (self.interval?, self.mean?);
        (mean > 0.0).then(|| (high - low) / 2.0 / mean)
    }

    /// The figure in another unit.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            min: self.min * factor,
            max: self.max * factor,
            mean: self.mean.map(|mean| mean * factor),
            interval: self.interval.map(|ends| ends.map(|end| end * factor)),
            observed: self.observed.iter().map(|(repeat, value)| (*repeat, value * factor)).collect(),
            ..*self
        }
    }

    /// Half the distance between the lowest and the highest launch; none for one launch.
    pub fn half_range(&self) -> Option<f64> {
        (self.launches > 1).then_some((self.max - self.min) / 2.0)
    }
}

/// The line that a chart draws for a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorBar {
    /// A 95 % interval: between launches, or that of the search for a capacity in the only launch.
    Interval([f64; 2]),
    /// From the lowest to the highest launch, because there is no interval.
    Range([f64; 2]),
}

impl ErrorBar {
    /// Its lower and upper end.
    pub fn ends(self) -> [f64; 2] {
        match self {
            Self::Interval(ends) | Self::Range(ends) => ends,
        }
    }
}

/// Sets mean and interval of the figures of one metric, one per row. A row that was not steady (`false`) is not used to
/// estimate the noise of others.
pub fn set_intervals(mut rows: Vec<(&mut Figure, bool)>) {
    let values: Vec<Vec<f64>> =
        rows.iter().map(|(figure, _)| figure.observed.iter().map(|(_, value)| *value).collect()).collect();
    let observations: Vec<Observations<'_>> = values
        .iter()
        .zip(&rows)
        .map(|(values, (_, is_steady))| Observations { values, is_steady: *is_steady })
        .collect();
    let means = launch_means(&observations);
    for ((figure, _), mean) in rows.iter_mut().zip(means) {
        figure.mean = mean.map(|mean| mean.mean);
        figure.interval = mean.and_then(|mean| mean.interval).map(|ends| [ends.low, ends.high]);
    }
}

/// The values of a row, by metric. Metrics that no launch measured are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    by_metric: BTreeMap<usize, Figure>,
    /// Requests in the windows of all launches.
    pub requests_scheduled: u64,
    /// Requests that did not end well.
    pub requests_not_ok: u64,
    /// Cores of the server, if the number was the same in every launch.
    pub server_cores: Option<u32>,
}

impl Figures {
    /// The figures of the usable launches of a row.
    pub fn from_launches(launches: &[&UsableTrial<'_>]) -> Self {
        let counts = || launches.iter().map(|launch| launch.run.total.counts);
        let by_metric =
            Metric::ALL.iter().filter_map(|metric| Some((metric.index, figure(metric, launches)?)));
        Self {
            by_metric: by_metric.collect(),
            requests_scheduled: counts().fold(0, |sum, counts| sum.saturating_add(counts.scheduled)),
            requests_not_ok: counts().fold(0, |sum, counts| sum.saturating_add(counts.not_ok())),
            server_cores: cores(launches),
        }
    }

    /// The figure of a metric as every report shows it: the geometric mean over the launches, the median where one of
    /// them is zero, and of failed requests the worst launch.
    pub fn shown(&self, metric: &Metric) -> Option<f64> {
        let figure = self.get(metric)?;
        Some(if *metric == Metric::NOT_OK_SHARE { figure.max } else { figure.shown() })
    }

    /// The figure of a metric.
    pub fn get(&self, metric: &Metric) -> Option<&Figure> {
        self.by_metric.get(&metric.index)
    }

    /// The error bar of a metric's figure.
    pub fn error_bar(&self, metric: &Metric) -> Option<ErrorBar> {
        let figure = self.get(metric)?;
        let interval =
            figure.interval.or_else(|| self.interval_of_search().filter(|_| *metric == Metric::CAPACITY));
        Some(interval.map_or(ErrorBar::Range([figure.min, figure.max]), ErrorBar::Interval))
    }

    /// The interval of the capacity within the only launch.
    fn interval_of_search(&self) -> Option<[f64; 2]> {
        let end = |metric| self.get(metric).filter(|end| end.launches == 1).map(|end| end.median);
        Some([end(&Metric::CAPACITY_LOW)?, end(&Metric::CAPACITY_HIGH)?])
    }

    /// The same as [`Figures::get`], mutable.
    pub fn get_mut(&mut self, metric: &Metric) -> Option<&mut Figure> {
        self.by_metric.get_mut(&metric.index)
    }

    /// Sets the figure of a metric from another source.
    pub fn set(&mut self, metric: &Metric, figure: Option<Figure>) {
        match figure {
            Some(figure) => self.by_metric.insert(metric.index, figure),
            None => self.by_metric.remove(&metric.index),
        };
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in Metric::ALL {
            if let Some(figure) = self.get(metric) {
                map.serialize_entry(metric.key, figure)?;
            }
        }
        map.serialize_entry("requests_scheduled", &self.requests_scheduled)?;
        map.serialize_entry("requests_not_ok", &self.requests_not_ok)?;
        if let Some(cores) = self.server_cores {
            map.serialize_entry("server_cores", &cores)?;
        }
        map.end()
    }
}

impl JsonSchema for Figures {
    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let figure = generator.subschema_for::<Figure>().to_value();
        let described = |description: String, mut schema: serde_json::Value| {
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("description".to_owned(), description.into());
            }
            schema
        };
        let number = serde_json::json!({"type": "integer", "minimum": 0});
        let mut properties: serde_json::Map<String, serde_json::Value> = Metric::ALL
            .iter()
            .map(|metric| (metric.key.to_owned(), described(metric.description(), figure.clone())))
            .collect();
        for (key, meaning) in [
            ("requests_scheduled", "Requests in the measured windows, summed over all usable launches."),
            (
                "requests_not_ok",
                "Requests without a valid response (failed, timed out or never sent), summed over the measured \
                 windows of all usable launches.",
            ),
            (
                "server_cores",
                "Cores that the server was given, if their number was the same in every launch.",
            ),
        ] {
            properties.insert(key.to_owned(), described(meaning.to_owned(), number.clone()));
        }
        schemars::json_schema!({
            "type": "object",
            "description": "The values of a row, by metric. Metrics that no launch measured are left out.",
            "properties": properties,
            "required": ["requests_scheduled", "requests_not_ok"],
        })
    }
}

fn figure(metric: &Metric, launches: &[&UsableTrial<'_>]) -> Option<Figure> {
    let values = launches.iter().filter_map(|launch| {
        let value = (metric.of)(launch.trial, launch.run)?;
        Some((launch.trial.repeat, value))
    });
    let values: Vec<_> = values.collect();
    let mut figure =
        Figure::by_repeat(values.iter().map(|(repeat, value)| (*repeat, value.value)).collect())?;
    if metric.is_percentile {
        figure.at_least = Some(values.iter().any(|(_, value)| value.at_least));
        figure.enough = Some(values.iter().all(|(_, value)| value.enough));
    }
    Some(figure)
}

fn cores(launches: &[&UsableTrial<'_>]) -> Option<u32> {
    let mut counts = launches.iter().map(|launch| launch.trial.server_cores().len() as u32);
    let first = counts.next()?;
    counts.all(|count| count == first).then_some(first)
}

/// A launch's times of the kind by which its loop is judged.
pub(crate) fn times_of<'a>(launch: &UsableTrial<'a>, kind: LoopKind) -> Option<&'a Times> {
    judged_times(&launch.run.total, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_launch_has_no_interval() {
        let figure = |values: &[f64]| Figure::from_observations(values.iter().copied());
        assert_eq!(figure(&[5.0]).and_then(|figure| figure.interval), None);
        let two = figure(&[5.0, 7.0]).and_then(|figure| figure.interval);
        assert!(two.is_some_and(|[low, high]| low < 5.0 && high > 7.0), "{two:?}");
        assert_eq!(figure(&[0.0, 7.0]).and_then(|figure| figure.mean), None, "zero has no logarithm");
    }

    #[test]
    fn rows_share_an_estimate_of_the_noise() {
        let mut rows: Vec<Figure> = [100.0, 200.0, 300.0, 400.0, 500.0]
            .into_iter()
            .filter_map(|value| Figure::from_observations([value * 0.98, value, value * 1.02]))
            .collect();
        let alone = rows.first().and_then(Figure::relative_half_width);
        set_intervals(rows.iter_mut().map(|figure| (figure, true)).collect());
        let together = rows.first().and_then(Figure::relative_half_width);
        assert!(together < alone, "{together:?} {alone:?}");
    }
}
