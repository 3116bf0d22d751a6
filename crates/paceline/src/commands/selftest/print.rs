//! The report of the self-test, as text and as JSON.
//!
//! `mod.rs` prints it. `judge.rs` decides what is wrong and what is only a note.

use super::experiment::SelftestResults;
use super::judge::SelftestVerdict;
use crate::documents::{PaceLag, SelftestDocument, TrueTime};
use paceline_report::whole;

/// The results and the verdict.
pub(super) fn text(instrument: &SelftestResults, verdict: &SelftestVerdict) -> String {
    let mut text = String::from("\n  reported against true times            true   reported     excess\n");
    for truth in &instrument.truths {
        for (index, &(q, real, reported)) in truth.points.iter().enumerate() {
            let name = if index == 0 { truth.service.name() } else { "" };
            let (percent, excess) = (q * 100.0, reported as f64 - real as f64);
            text.push_str(&format!(
                "  {name:<26} p{percent:<4.0} {:>10} {:>10} {:>10}\n",
                millis(real as f64),
                millis(reported as f64),
                micros(excess)
            ));
        }
    }
    text.push_str("\n  generator lag at 1,000/s                p50        p99        max\n");
    for (pace, lag) in &instrument.lags {
        let at = |q| micros(lag.quantile(q).unwrap_or(0) as f64);
        text.push_str(&format!("  pace {pace:<27} {:>10} {:>10} {:>10}\n", at(0.5), at(0.99), at(1.0)));
    }
    text.push_str(&format!(
        "\n  maximum of one core        {} requests/s, {} of CPU each\n",
        whole(instrument.ceiling_per_s),
        micros(instrument.ceiling_cpu_ns)
    ));
    if let Some(wake_up_ns) = instrument.wake_up_ns {
        text.push_str(&format!(
            "  waking a sleeping server   adds {} to the median\n",
            micros(wake_up_ns as f64)
        ));
    }
    let (delay, steal) = (instrument.run_delay_share * 100.0, instrument.steal_share * 100.0);
    text.push_str(&format!(
        "  interference               {delay:.2}% waiting for a CPU, {steal:.2}% steal\n\n"
    ));
    text.push_str(&conclusion(verdict));
    text
}

/// The same for programs.
pub(super) fn document(instrument: &SelftestResults, verdict: &SelftestVerdict) -> SelftestDocument {
    let times = instrument.truths.iter().flat_map(|truth| {
        truth.points.iter().map(|&(quantile, true_ns, reported_ns)| TrueTime {
            service: truth.service.name(),
            quantile,
            true_ns,
            reported_ns,
        })
    });
    let lags = instrument.lags.iter().map(|(pace, lag)| {
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
        max_rate_per_s: instrument.ceiling_per_s,
        cpu_ns_per_request: instrument.ceiling_cpu_ns,
        wake_up_ns: instrument.wake_up_ns,
        run_delay_share: instrument.run_delay_share,
        steal_share: instrument.steal_share,
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
    format!("{:.1} \u{b5}s", ns / 1e3)
}

fn millis(ns: f64) -> String {
    format!("{:.3} ms", ns / 1e6)
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
