//! The report of the self-test, as text and as JSON.
//!
//! `mod.rs` prints it. `judge.rs` decides what is wrong and what is only a note.

use super::experiment::SelftestResults;
use super::judge::SelftestVerdict;
use crate::documents::{PaceLag, SelftestDocument, TrueTime};
use paceline_report::{Align, Grid, TimeUnit};
use paceline_stats::{Histogram, whole};

/// The results and the verdict.
pub(super) fn text(results: &SelftestResults, verdict: &SelftestVerdict) -> String {
    let times = Grid::text(&[ALIGNS.as_slice(), &[Align::Right]].concat(), &true_times(results), 2);
    let lags = Grid::text(&ALIGNS, &lags(results), 2);
    let facts = Grid::text(&[Align::Left, Align::Left], &facts(results), 2);
    format!("\n{times}\n{lags}\n{facts}\n{}", conclusion(verdict))
}

/// The alignment of a name and of three figures.
const ALIGNS: [Align; 4] = [Align::Left, Align::Right, Align::Right, Align::Right];

fn true_times(results: &SelftestResults) -> Vec<[String; 5]> {
    let mut rows = vec![["reported against true times", "", "true", "reported", "excess"].map(str::to_owned)];
    for truth in &results.truths {
        rows.extend(truth.points.iter().enumerate().map(|(index, &(q, real, reported))| {
            let name = if index == 0 { truth.service.name() } else { "" };
            let excess = reported as f64 - real as f64;
            let [real, reported] = [real, reported].map(|ns| TimeUnit::Milliseconds.text(ns as f64));
            [name.to_owned(), format!("p{:.0}", q * 100.0), real, reported, micros(excess)]
        }));
    }
    rows
}

fn lags(results: &SelftestResults) -> Vec<[String; 4]> {
    let row = |(pace, lag): &(&str, Histogram)| {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|q| micros(lag.quantile(q).unwrap_or(0) as f64));
        [format!("pace {pace}"), p50, p99, max]
    };
    let heads = ["generator lag at 1,000/s", "p50", "p99", "max"].map(str::to_owned);
    std::iter::once(heads).chain(results.lags.iter().map(row)).collect()
}

fn facts(results: &SelftestResults) -> Vec<[String; 2]> {
    let (rate, cpu) = (whole(results.ceiling_per_s), micros(results.ceiling_cpu_ns));
    let (delay, steal) = (results.run_delay_share * 100.0, results.steal_share * 100.0);
    let fact = |name: &str, fact: String| [name.to_owned(), fact];
    let wake_up = results.wake_up_ns.map(|ns| format!("adds {} to the median", micros(ns as f64)));
    let mut facts = vec![fact("maximum of one core", format!("{rate} requests/s, {cpu} of CPU each"))];
    facts.extend(wake_up.map(|adds| fact("waking a sleeping server", adds)));
    facts.push(fact("interference", format!("{delay:.2}% waiting for a CPU, {steal:.2}% steal")));
    facts
}

/// The same for programs.
pub(super) fn document(results: &SelftestResults, verdict: &SelftestVerdict) -> SelftestDocument {
    let times = results.truths.iter().flat_map(|truth| {
        truth.points.iter().map(|&(quantile, true_ns, reported_ns)| TrueTime {
            service: truth.service.name(),
            quantile,
            true_ns,
            reported_ns,
        })
    });
    let lags = results.lags.iter().map(|(pace, lag)| {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|q| lag.quantile(q));
        PaceLag { pace, p50, p99, max }
    });
    SelftestDocument {
        correct: verdict.wrong.is_empty(),
        suitable: verdict.wrong.is_empty() && !verdict.is_unfit,
        wrong: verdict.wrong.clone(),
        notes: verdict.notes.clone(),
        times: times.collect(),
        generator_lag_ns: lags.collect(),
        max_rate_per_s: results.ceiling_per_s,
        cpu_ns_per_request: results.ceiling_cpu_ns,
        wake_up_ns: results.wake_up_ns,
        run_delay_share: results.run_delay_share,
        steal_share: results.steal_share,
    }
}

fn conclusion(verdict: &SelftestVerdict) -> String {
    let lines =
        |mark: &str, all: &[String]| all.iter().map(|line| format!("  {mark}: {line}\n")).collect::<String>();
    let said = match (verdict.wrong.is_empty(), verdict.notes.is_empty()) {
        (true, _) if verdict.is_unfit => {
            "Do not measure on this machine now, because other load distorts the times:\n"
        }
        (true, true) => "This machine is suitable for measurements.\n",
        (true, false) => "Reported times are correct; this machine adds some noise:\n",
        (false, _) => {
            "WRONG: reported times differ from the true ones; do not trust measurements on this machine:\n"
        }
    };
    format!("{said}{}{}", lines("wrong", &verdict.wrong), lines("note", &verdict.notes))
}

fn micros(ns: f64) -> String {
    TimeUnit::Microseconds.text(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsuitable_machine_is_reported() {
        let notes = vec!["other processes kept the generator waiting 25% of the time".to_owned()];
        let noisy = SelftestVerdict { notes: notes.clone(), ..SelftestVerdict::default() };
        assert!(conclusion(&noisy).starts_with("Reported times are correct"));
        let unfit = SelftestVerdict { is_unfit: true, notes, ..SelftestVerdict::default() };
        let said = conclusion(&unfit);
        assert!(
            said.starts_with("Do not measure on this machine now") && said.contains("note: other processes"),
            "{said}"
        );
        assert!(conclusion(&SelftestVerdict::default()).starts_with("This machine is suitable"));
    }
}
