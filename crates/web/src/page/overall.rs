//! The order of servers over all tables of a round: by the geometric mean of their shares of each table's best.

use super::metric::MetricPage;
use super::round::{RowPage, TablePage};
use super::ties::counts;
use std::collections::BTreeMap;

/// The ids of servers by metric, best first. A server without a figure above zero is left out.
pub fn by_metric(metrics: &[MetricPage], tables: &[TablePage]) -> BTreeMap<&'static str, Vec<String>> {
    metrics.iter().map(|metric| (metric.id, order(metric, tables))).collect()
}

fn order(metric: &MetricPage, tables: &[TablePage]) -> Vec<String> {
    let mut shares: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for table in tables {
        let figures = || table.rows.iter().filter_map(|row| Some((&*row.server, estimate(metric, row)?)));
        let better = if metric.less_is_better { f64::min } else { f64::max };
        let Some(best) = figures().map(|(_, value)| value).reduce(better) else { continue };
        for (server, value) in figures() {
            let share = if metric.less_is_better { best / value } else { value / best };
            let (sum, count) = shares.entry(server).or_default();
            *sum += share.ln();
            *count += 1.0;
        }
    }
    let mut servers: Vec<(&str, f64)> =
        shares.into_iter().map(|(server, (sum, count))| (server, sum / count)).collect();
    servers.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    servers.into_iter().map(|(server, _)| server.to_owned()).collect()
}

/// The figure of a row that counts.
fn estimate(metric: &MetricPage, row: &RowPage) -> Option<f64> {
    let estimate = row.values.get(metric.id)?.estimate;
    (counts(row.standing) && estimate > 0.0).then_some(estimate)
}
