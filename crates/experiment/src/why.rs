//! Why a server is not faster: the limit that a closed loop finds, where the time of a request goes at half of that rate,
//! and what to try next.
//!
//! Everything follows from the records of two runs, of which the first has a profile. The time of a request is divided
//! into CPU time, which is measured, and the rest, in which the server waited.

use crate::TimeSummary;
use crate::next_step::{LoadCommand, NextStep};
use crate::request_time::RequestTime;
use crate::why_calls::call_words;
use crate::why_steps::{next_steps, title};
use crate::why_waits::{WaitCause, wait_causes};
use paceline_judge::{VerdictName, judged_times, run_limit};
use paceline_record::{Blame, CodeKind, Limit, Profile, Run, ServerUse, Severity, SystemCalls, Verdict};
use paceline_stats::{percent_text, ratio};
use schemars::JsonSchema;
use serde::Serialize;

/// Costs that are shown.
const COSTS: usize = 3;
/// A cost below this share of the time of a request is not worth a line.
const MIN_COST_SHARE: f64 = 0.01;
/// Above this share of the server's CPU time, the kernel's part is more than twice that of the server's own code.
const MIN_KERNEL_SHARE: f64 = 2.0 / 3.0;

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Why {
    /// The URL.
    pub url: String,
    /// What limited the closed loop, with its evidence.
    pub limit: Limit,
    /// The closed loop.
    pub closed: WhyLoad,
    /// The open loop at half of its rate; none if that could not be measured.
    pub half: Option<WhyLoad>,
    /// Why there is none.
    pub half_failure: Option<String>,
    /// The largest costs of a request, from the open loop, or from the closed loop without one; the largest first.
    pub costs: Vec<RequestCost>,
    /// What to try next, the most promising first.
    pub next: Vec<NextStep>,
    /// The command that starts the server of the lab again, at the same URL, for the commands of `next`; none if the
    /// server was not started for this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve: Option<String>,
    /// The verdicts on both loads, each once.
    pub verdicts: Vec<Verdict>,
    /// The profile of the server under the closed loop, without its tree of calls.
    pub profile: Option<Profile>,
    /// Why there is no profile.
    pub profile_failure: Option<String>,
    /// The system calls of the server under the closed loop.
    pub syscalls: Option<SystemCalls>,
    /// Why they were not counted.
    pub syscalls_failure: Option<String>,
    /// The file of the flame graph.
    pub flame_graph: Option<String>,
    /// The files of the records.
    pub records: Vec<String>,
}

/// One of the loads.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhyLoad {
    /// Connections.
    pub connections: u32,
    /// The offered rate; none in a closed loop.
    pub offered_per_s: Option<f64>,
    /// Valid responses per second.
    pub achieved_per_s: f64,
    /// Response times, in a closed loop service times.
    pub time_ns: Option<TimeSummary>,
    /// CPU time of the server for each request, in nanoseconds.
    pub server_cpu_ns_per_request: Option<f64>,
}

/// A part of the time of a request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestCost {
    /// What the time is spent on.
    pub what: String,
    /// Time for each request, in nanoseconds.
    pub ns_per_request: f64,
    /// The same as a share of the mean time of a request, 0 to 1; above 1 if several threads work on one.
    pub share: f64,
    /// The figures that show it.
    pub evidence: String,
}

/// Explains what limits a server from a closed loop with a profile and an open loop at half of its rate. `record` is
/// the file of the closed loop's record: commands that need its job name it. `serve` starts the server again, if it was
/// started for the loads.
pub fn explain_why(url: &str, record: &str, serve: Option<String>, closed: &Run, half: Option<&Run>) -> Why {
    let limit = run_limit(closed);
    let half_failure = match half {
        None => Some("not measured: the closed loop had no valid response".to_owned()),
        Some(run) => hides_waits(run).map(|verdict| format!("not usable: {}", title(verdict))),
    };
    let half = half.filter(|_| half_failure.is_none());
    let costs = costs(half.unwrap_or(closed), closed, half);
    let mut verdicts: Vec<Verdict> = closed.verdicts.clone();
    for verdict in half.iter().flat_map(|run| &run.verdicts) {
        if !verdicts.iter().any(|known| known.name == verdict.name) {
            verdicts.push(verdict.clone());
        }
    }
    let load = LoadCommand::new(url, closed, record).of_ended(serve.is_some());
    Why {
        url: url.to_owned(),
        next: next_steps(&load, &limit, closed, half, &verdicts),
        serve,
        limit,
        closed: WhyLoad::from_run(closed),
        half: half.map(WhyLoad::from_run),
        half_failure,
        costs,
        verdicts,
        profile: closed.profile.clone().map(|profile| Profile { calls: Vec::new(), ..profile }),
        profile_failure: closed.profile_failure.clone(),
        syscalls: closed.syscalls.clone(),
        syscalls_failure: closed.syscalls_failure.clone(),
        flame_graph: None,
        records: Vec::new(),
    }
}

/// Why a load below the limit does not show what requests wait for: the server did not get it, or a queue grew. What
/// the machine lost meanwhile makes waits longer, but not others.
fn hides_waits(run: &Run) -> Option<&Verdict> {
    let hides = |verdict: &&Verdict| {
        verdict.name == VerdictName::Saturated.as_str()
            || (verdict.severity == Severity::Invalid && verdict.blame != Blame::Environment)
    };
    run.verdicts.iter().find(hides)
}

impl WhyLoad {
    fn from_run(run: &Run) -> Self {
        Self {
            connections: run.loop_.connections,
            offered_per_s: run.rate_per_s.offered,
            achieved_per_s: run.rate_per_s.achieved,
            time_ns: judged_times(&run.total, run.loop_.kind).map(TimeSummary::from_times),
            server_cpu_ns_per_request: run.server.as_ref().map(|server| server.cpu_ns_per_request),
        }
    }
}

/// What a part of the time of a request is spent on, its length in nanoseconds, and the evidence.
type Cost = (String, f64, String);

/// The largest costs of a request; none without the time of a request, of which they are shares.
fn costs(run: &Run, closed: &Run, half: Option<&Run>) -> Vec<RequestCost> {
    let time = RequestTime::of_run(run);
    if time.mean_ns <= 0.0 {
        return Vec::new();
    }
    let waits = waits(run, closed, half);
    let seen_ns: f64 = waits.iter().map(|(_, ns, _)| ns).sum();
    let unseen_ns = (time.waiting_ns - seen_ns).max(0.0);
    let mut costs: Vec<Cost> = Vec::new();
    if let Some((server, cpu_ns)) = run.server.as_ref().zip(time.cpu_ns) {
        costs.extend(cpu_costs(run, closed, server, cpu_ns));
        costs.push((
            "waiting for a core".to_owned(),
            time.run_delay_ns,
            "its threads were runnable and not on a core".to_owned(),
        ));
        let share = 100.0 * ratio(unseen_ns, time.mean_ns);
        costs.push((
            "waiting for something else".to_owned(),
            unseen_ns,
            format!("{share:.0} % of the time of a request is no CPU time: locks, timers, disks, other services, or its turn on a busy thread")
                + &unix_socket_words(run),
        ));
    }
    costs.extend(waits);
    for server in &run.behind_server {
        let evidence = format!("CPU time of process {}, to which the server has connections", server.pid);
        costs.push((format!("{} behind it", server.name), server.cpu_ns_per_request, evidence));
    }
    costs.push((
        "waiting before the request was sent".to_owned(),
        time.before_ns,
        "no free connection, or lag of the generator".to_owned(),
    ));
    costs.sort_by(|one, other| other.1.total_cmp(&one.1));
    let shown = costs.into_iter().filter(|(_, ns, _)| *ns > MIN_COST_SHARE * time.mean_ns).take(COSTS);
    let cost = |(what, ns_per_request, evidence): Cost| RequestCost {
        what,
        ns_per_request,
        share: ratio(ns_per_request, time.mean_ns),
        evidence,
    };
    shown.map(cost).collect()
}

/// The CPU time of a request: of the server's own code and of the kernel for it, if a profile tells them apart.
fn cpu_costs(run: &Run, closed: &Run, server: &ServerUse, cpu_ns: f64) -> Vec<Cost> {
    let calls = closed.syscalls.as_ref().map_or(String::new(), |calls| format!("; {}", call_words(calls)));
    let of_kernel = kernel_words(server) + &calls;
    let profile = run.profile.as_ref().or(closed.profile.as_ref());
    let Some((profile, kernel)) = profile.and_then(|profile| Some((profile, profile.kernel_share?))) else {
        let evidence = format!("CPU time of its processes over the window{of_kernel}");
        return vec![(format!("CPU time of {}", server.name), cpu_ns, evidence)];
    };
    let (user_ns, kernel_ns) = ((1.0 - kernel) * cpu_ns, kernel * cpu_ns);
    vec![
        (format!("code of {}", server.name), user_ns, top_functions(profile, false)),
        (format!("the kernel, for {}", server.name), kernel_ns, top_functions(profile, true) + &of_kernel),
    ]
}

/// Names the Unix sockets to other services, whose processes are not observed.
fn unix_socket_words(run: &Run) -> String {
    match run.unix_sockets.as_slice() {
        [] => String::new(),
        names => format!("; the processes behind {} are not observed", names.join(", ")),
    }
}

/// Says that the server spent most of its CPU time in the kernel, if it did: then fewer system calls help more than
/// faster code.
fn kernel_words(server: &ServerUse) -> String {
    let share = server.kernel_share().filter(|share| *share > MIN_KERNEL_SHARE);
    share.map_or_else(String::new, |share| {
        format!("; the kernel used {} of the CPU time of its processes", percent_text(share))
    })
}

/// The waits of the server's threads that requests cause.
fn waits(run: &Run, closed: &Run, half: Option<&Run>) -> Vec<Cost> {
    let Some(seen) = &run.server_waits else { return Vec::new() };
    let of_cause = |cause: WaitCause| -> Option<Cost> {
        let wait = seen.waits.iter().find(|wait| wait.kind == cause.kind && wait.on == cause.on)?;
        let evidence = format!("{:.1} of its threads wait there at any moment", wait.threads);
        Some((cause.words(), seen.ns_per_request(wait), evidence))
    };
    wait_causes(closed, half).into_iter().filter_map(of_cause).collect()
}

/// The functions with the most samples of their own, in the kernel or not.
fn top_functions(profile: &Profile, is_kernel: bool) -> String {
    let wanted = if is_kernel { CodeKind::Kernel } else { CodeKind::User };
    let functions = profile.functions.iter().filter(|function| function.code == wanted).take(3);
    let shown: Vec<String> = functions
        .map(|function| {
            let name: String = function.name.chars().take(48).collect();
            format!("{name} {}", percent_text(function.own_share))
        })
        .collect();
    match shown.is_empty() {
        true => "no function stands out in the profile".to_owned(),
        false => format!("of all CPU time: {}", shown.join(", ")),
    }
}
