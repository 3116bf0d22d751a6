//! The sheets of a report, shared by text and Markdown: one file for each subject.
//!
//! Loads beside their twins, balancers, the CPU time of requests, the source's observations. The page of a round shows
//! those of [`routed_sheets`] too.

mod balanced;
mod cpu_parts;
mod launch;
mod observed;
mod pairing;
mod scaling;

use super::sheet::Sheet;
use crate::{Pairing, Report};
use balanced::balanced;
use cpu_parts::cpu_parts;
use launch::{start, warm_up};
use observed::observed;
use paceline_record::VariantKind;
use pairing::pairing;
use scaling::scaling;

/// The pairings of a load on one instance with the same load on all of them, machine by machine, each with its sheet.
/// That is what a plan with a balancer asks, so they come before the ranked tables.
pub fn routed_sheets(report: &Report) -> impl Iterator<Item = (&Pairing, Sheet)> {
    let routed = report.pairings.iter().filter(|pairing| is_routed(pairing));
    routed.map(move |routed| (routed, pairing(routed, &on_machine(report, &routed.machine))))
}

/// The other sheets of a report, in order; the CPU time of requests, start-up and warm-up only with `full`.
pub fn sheets(report: &Report, full: bool) -> Vec<Sheet> {
    let on = |machine: &str| on_machine(report, machine);
    let pairings = report.pairings.iter().filter(|p| !is_routed(p)).map(|p| pairing(p, &on(&p.machine)));
    let balanced = report.balanced.iter().map(|b| balanced(b, &on(&b.machine)));
    let scaling = report.scaling.iter().map(|s| scaling(s, &on(&s.machine)));
    let observed = (!report.observed.is_empty()).then(|| observed(&report.observed));
    let costs = report.tables.iter().filter(|_| full).filter_map(|t| cpu_parts(t, &on(&t.machine)));
    let starts = report.starts.iter().filter(|_| full).map(|s| start(s, &on(&s.machine)));
    let warm_ups = report.warm_ups.iter().filter(|_| full).map(|w| warm_up(w, &on(&w.machine)));
    let before = pairings.chain(balanced).chain(scaling).chain(costs);
    before.chain(starts).chain(warm_ups).chain(observed).collect()
}

/// Whether a load and its twin differ in the number of instances that answer it.
fn is_routed(pairing: &Pairing) -> bool {
    matches!(pairing.kind, VariantKind::Balanced | VariantKind::Spread)
}

/// `, machine B` in a report on several machines.
fn on_machine(report: &Report, machine: &str) -> String {
    if report.machines.len() > 1 { format!(", machine {machine}") } else { String::new() }
}
