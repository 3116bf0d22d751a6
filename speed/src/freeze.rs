//! The response times of a server that freezes, computed: the experiment `freeze` compares reports with them.

use crate::experiment::FreezeModel;
use std::collections::BTreeMap;

/// The row's name.
pub const TRUTH: &str = "the truth";
const PERCENTILES: [(&str, f64); 5] =
    [("ms_p50", 0.5), ("ms_p85", 0.85), ("ms_p95", 0.95), ("ms_p99", 0.99), ("ms_p99_9", 0.999)];

/// Response time at quantile `q` of constant arrivals at a server that serves one request in `service_s`.
///
/// Requests that arrive in a freeze queue, and the queue drains while more arrive: a busy period lasts D = F / (1 -
/// rate x service), and over it the wait falls linearly from F to 0. So the share of requests that wait more than w is
/// D / P x (1 - w / F). The service time is added to it.
fn response_s(truth: FreezeModel, q: f64, service_s: f64) -> f64 {
    let busy_s = truth.freeze_s / (1.0 - truth.rate_per_s * service_s);
    service_s + (truth.freeze_s * (1.0 - (1.0 - q) * truth.every_s / busy_s)).max(0.0)
}

/// The percentiles, where the server otherwise serves so many requests per second.
pub fn percentiles(truth: FreezeModel, served_per_s: f64) -> BTreeMap<String, f64> {
    PERCENTILES.map(|(key, q)| (key.to_owned(), response_s(truth, q, 1.0 / served_per_s) * 1e3)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_freezing_server_match_the_formula() {
        let truth = FreezeModel { rate_per_s: 2000.0, freeze_s: 1.0, every_s: 10.0 };
        // Computed by simulation of the queue: 500.5, 505.5, 520.5 and 600.5 ms at p95, of which half a millisecond is
        // the spacing of arrivals.
        for (service_us, p95_ms) in [(0.0, 500.0), (5.0, 505.0), (20.0, 520.0), (100.0, 600.0)] {
            let found_ms = response_s(truth, 0.95, service_us / 1e6) * 1e3;
            assert!((found_ms - p95_ms).abs() < 0.2, "{service_us}: {found_ms}");
        }
        assert!((response_s(truth, 0.999, 0.0) - 0.99).abs() < 1e-9);
        assert_eq!(response_s(truth, 0.85, 5e-6), 5e-6);
        assert!((percentiles(truth, 200_000.0)["ms_p95"] - 505.005).abs() < 0.01);
    }
}
