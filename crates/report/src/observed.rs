//! The figures that a plan's source observed, beside the figures of the round.
//!
//! The two are not directly comparable, because machine, versions and tool differ. Therefore there is a ratio and no
//! verdict, and a figure without a counterpart gives the reason.

use crate::figure::{Figure, Figures};
use crate::row::Row;
use crate::{Standing as RowStanding, Table};
use paceline_judge::Metric;
use paceline_record::{Observation, ObservedFigure};
use schemars::JsonSchema;
use serde::Serialize;

/// One figure of the source, with its counterpart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// The figure that the source observed.
    pub observed: Observation,
    /// The same figure in this round, in the same unit.
    pub now: Option<Figure>,
    /// The round's figure as a share of the source's value.
    pub ratio: Option<f64>,
    /// How far the round's figure is comparable.
    pub standing: Standing,
}

/// How far a figure beside a source's is comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It measures the server.
    Measured,
    /// It is a minimum: the generator was the bottleneck, or was disturbed.
    AtLeast,
    /// It is determined by a queue: less was answered than was offered.
    Overloaded,
    /// A verdict says that it does not answer the question.
    Invalid,
    /// The server failed.
    Failed,
    /// The round did not measure it.
    NotMeasured,
    /// No server in this repository corresponds to the one that the source measured.
    NoServer,
}

/// The counterpart of each observation in these tables.
pub fn beside(observed: &[Observation], tables: &[Table]) -> Vec<Beside> {
    observed.iter().map(|observation| one(observation, tables)).collect()
}

fn one(observed: &Observation, tables: &[Table]) -> Beside {
    let bare = |standing| Beside { observed: observed.clone(), now: None, ratio: None, standing };
    let Some(server) = &observed.server else { return bare(Standing::NoServer) };
    let fits = |table: &&Table| {
        observed.workload.as_ref().is_none_or(|workload| *workload == table.workload)
            && observed.load.as_ref().is_none_or(|load| *load == table.load.name)
            && observed.form.as_ref().is_none_or(|form| *form == table.form)
    };
    let row = tables.iter().filter(fits).flat_map(|table| &table.rows).find(|row| row.server.id == *server);
    let Some(row) = row else { return bare(Standing::NotMeasured) };
    let now = figure(observed.what, &row.figures);
    let ratio = now.as_ref().filter(|_| observed.value != 0.0).map(|now| now.shown() / observed.value);
    let standing = if now.is_none() { none(row) } else { standing(row, observed.what) };
    Beside { observed: observed.clone(), now, ratio, standing }
}

fn none(row: &Row) -> Standing {
    if row.standing == RowStanding::Failed { Standing::Failed } else { Standing::NotMeasured }
}

fn standing(row: &Row, what: ObservedFigure) -> Standing {
    let is_rate = matches!(what, ObservedFigure::RequestsPerS | ObservedFigure::RequestsPerSPerCore);
    match row.standing {
        RowStanding::GeneratorBound | RowStanding::Disturbed if is_rate => Standing::AtLeast,
        RowStanding::Ranked | RowStanding::GeneratorBound => Standing::Measured,
        RowStanding::Overloaded => Standing::Overloaded,
        RowStanding::Disturbed | RowStanding::Invalid => Standing::Invalid,
        RowStanding::Failed => Standing::Failed,
    }
}

/// The figure in the unit of [`ObservedFigure`].
fn figure(what: ObservedFigure, figures: &Figures) -> Option<Figure> {
    let cores = f64::from(figures.server_cores.unwrap_or(1).max(1));
    let scaled = |metric: &Metric, factor: f64| figures.get(metric).map(|figure| figure.scaled(factor));
    match what {
        ObservedFigure::RequestsPerS => scaled(&Metric::ACHIEVED_PER_S, 1.0),
        ObservedFigure::RequestsPerSPerCore => {
            figures.server_cores?;
            scaled(&Metric::ACHIEVED_PER_S, 1.0 / cores)
        }
        ObservedFigure::TimeMsP50 => scaled(&Metric::TIME_P50, 1e-6),
        ObservedFigure::TimeMsP99 => scaled(&Metric::TIME_P99, 1e-6),
        ObservedFigure::BytesPerResponse => scaled(&Metric::BYTES_PER_RESPONSE, 1.0),
        ObservedFigure::KeptAlivePercent => scaled(&Metric::KEPT_ALIVE_SHARE, 100.0),
        ObservedFigure::RssMb => scaled(&Metric::RSS_PEAK, 1e-6),
        ObservedFigure::CpuPercent => scaled(&Metric::SERVER_UTILIZATION, 100.0 * cores),
        ObservedFigure::Failed => scaled(&Metric::REQUESTS_NOT_OK, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_given_in_the_unit_of_its_name() {
        let of = |value: f64| Figure::from_observations([value]);
        let mut figures = Figures::default();
        figures.server_cores = Some(2);
        for (metric, value) in [
            (Metric::ACHIEVED_PER_S, 50_000.0),
            (Metric::RSS_PEAK, 2e6),
            (Metric::SERVER_UTILIZATION, 0.5),
            (Metric::KEPT_ALIVE_SHARE, 0.25),
            (Metric::REQUESTS_NOT_OK, 3.0),
        ] {
            figures.set(&metric, of(value));
        }
        let table = [
            (ObservedFigure::RequestsPerS, 50_000.0),
            (ObservedFigure::RequestsPerSPerCore, 25_000.0),
            (ObservedFigure::RssMb, 2.0),
            (ObservedFigure::CpuPercent, 100.0),
            (ObservedFigure::KeptAlivePercent, 25.0),
            (ObservedFigure::Failed, 3.0),
        ];
        for (what, expected) in table {
            assert_eq!(figure(what, &figures).map(|figure| figure.median), Some(expected), "{what:?}");
        }
        assert_eq!(figure(ObservedFigure::RequestsPerSPerCore, &Figures::default()), None);
    }
}
