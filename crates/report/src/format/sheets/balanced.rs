//! Instances behind a balancer: their cost and shares, and the effect of a killed instance.

use crate::format::number;
use crate::format::sheet::{Sheet, shown};
use crate::{BalancedRow, BalancedTable, FaultEffect, Figure};
use paceline_stats::counted;

pub(super) fn balanced(table: &BalancedTable, on: &str) -> Sheet {
    let tells = table.rows.iter().any(|row| row.requests_by_instance.iter().any(Option::is_some));
    let heads = [
        "server",
        "balancer CPU µs",
        "instances CPU µs",
        "balancer busy",
        "instances busy",
        "balancer MB",
        "instances MB",
        if tells { "requests each" } else { "connections each" },
        "retries",
        "redispatched",
        "failed",
    ];
    let mut lines: Vec<String> = table.rows.iter().flat_map(row_lines).collect();
    if !table.not_reported.is_empty() {
        lines.push(format!("not reported by this balancer: {}", table.not_reported.join(", ")));
    }
    Sheet {
        title: format!(
            "{}: {} behind {}, {}{on}",
            table.workload,
            counted(table.instances, "instance", "instances"),
            table.balancer,
            table.load
        ),
        lead: format!(
            "Policy {}. CPU is CPU time per response received by the generator; busy is the utilization of the assigned cores.",
            table.policy
        ),
        heads: heads.map(str::to_owned).into(),
        words: 1,
        rows: table.rows.iter().map(|row| balanced_row(row, tells)).collect(),
        lines,
    }
}

fn balanced_row(row: &BalancedRow, tells: bool) -> Vec<String> {
    let list = |figures: &[Option<Figure>], text: &dyn Fn(&Figure) -> String| {
        let texts: Vec<String> = figures.iter().map(|f| f.as_ref().map_or("–".to_owned(), text)).collect();
        if texts.iter().all(|text| text == "–") { String::new() } else { texts.join(" / ") }
    };
    let percent = |figure: &Figure| number::whole_percent(figure.median);
    let megabytes = |figure: &Figure| number::whole(figure.median / 1e6);
    let count = |count: Option<u64>| count.map(|count| number::whole(count as f64)).unwrap_or_default();
    let each = if tells { &row.requests_by_instance } else { &row.connections_by_instance };
    vec![
        row.server.clone(),
        shown(row.balancer_cpu_us_per_request.as_ref(), 1.0),
        shown(row.instances_cpu_us_per_request.as_ref(), 1.0),
        row.balancer_utilization.as_ref().map(percent).unwrap_or_default(),
        list(&row.utilization_by_instance, &percent),
        row.balancer_rss_bytes_peak.as_ref().map(megabytes).unwrap_or_default(),
        list(&row.rss_bytes_peak_by_instance, &megabytes),
        list(each, &|figure| number::whole(figure.median)),
        count(row.retries),
        count(row.redispatches),
        count(row.balancer_failures),
    ]
}

fn row_lines(row: &BalancedRow) -> Vec<String> {
    let ran_out: Vec<String> = row
        .cores_ran_out
        .iter()
        .map(|(core, launches)| format!("{core} in {}", counted(*launches, "launch", "launches")))
        .collect();
    let ran_out =
        (!ran_out.is_empty()).then(|| format!("{}: fully used cores: {}", row.server, ran_out.join("; ")));
    let faults = row.faults.iter().map(|fault| format!("{}: {}", row.server, fault_line(fault)));
    ran_out.into_iter().chain(faults).collect()
}

/// The effect of a fault, in one sentence.
fn fault_line(reported: &FaultEffect) -> String {
    let fault = &reported.fault;
    let failures: Vec<String> = reported
        .failures
        .iter()
        .map(|(name, count)| format!("{} {name}", number::whole(*count as f64)))
        .collect();
    let failures = match (failures.is_empty(), reported.last_failure_s) {
        (true, _) | (_, None) => "no request failed".to_owned(),
        (false, Some(last)) => {
            let (last, resolution) = (format!("{last:.1}"), format!("{:.1}", reported.resolution_s));
            format!(
                "requests failed ({}), all within {last} s after the kill (in steps of {resolution} s)",
                failures.join(", ")
            )
        }
    };
    let out = match (fault.balancer_tells, fault.taken_out_after_s) {
        (_, Some(after)) => format!("the balancer removed the instance after {after:.1} s"),
        (true, None) => "the balancer did not remove the instance".to_owned(),
        (false, None) => "the balancer does not report whether it removed the instance".to_owned(),
    };
    let longest = reported
        .time_ns_max
        .map_or("not known".to_owned(), |ns| format!("{} ms", number::whole(ns as f64 / 1e6)));
    format!(
        "instance {} killed (repeat {}): {failures}; {}/s before, {}/s after, slowest request {longest}; {out}",
        fault.instance,
        u64::from(reported.repeat) + 1,
        number::whole(reported.achieved_per_s_before),
        number::whole(reported.achieved_per_s_after),
    )
}
