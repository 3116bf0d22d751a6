//! The answer of `paceline why` as one page of text.

use crate::capacity_text::rate;
use crate::load::RateUnit;
use crate::why::{RequestCost, Why, WhyLoad};
use crate::why_steps::limit_words;
use paceline_stats::{percent_text, time_text};

/// The page: the limit, the two loads, the costs, and what to try.
pub fn why_text(why: &Why) -> String {
    let mut text = format!("{}\n\n", why.url);
    text += &format!("limit        {}\n", limit_words(&why.limit));
    text += &format!("at the limit {}\n", load(&why.closed));
    text += &match &why.half {
        Some(half) => format!("at half      {}\n", load(half)),
        None => format!("at half      {}\n", why.half_failure.as_deref().unwrap_or("not measured")),
    };
    if let Some(profile) = &why.profile {
        let kernel = profile.kernel_share.map_or("kernel not sampled".to_owned(), |share| {
            format!("{} in the kernel", percent_text(share))
        });
        let named = percent_text(profile.named_share);
        text += &format!("profile      {} samples, {kernel}, {named} with a name\n", profile.samples);
    }
    if let Some(failure) = &why.profile_failure {
        text += &format!("profile      none: {failure}\n");
    }
    // What keeps perf from both is said once.
    if why.syscalls_failure != why.profile_failure
        && let Some(failure) = &why.syscalls_failure
    {
        text += &format!("system calls not counted: {failure}\n");
    }
    text += "\nwhere the time of a request goes\n";
    for (number, cost) in (1..).zip(&why.costs) {
        text += &cost_lines(number, cost);
    }
    if why.costs.is_empty() {
        text += match why.closed.server_cpu_ns_per_request {
            Some(_) => "  not known: there was no valid response\n",
            None => "  the server was not observed: it is not on this machine, or belongs to another user\n",
        };
    }
    text += "\ntry next\n";
    if let Some(serve) = why.serve.as_ref().filter(|_| !why.next.is_empty()) {
        text +=
            &format!("     the server has ended: start it again first (PID is its process)\n     {serve}\n");
    }
    for (number, step) in (1..).zip(&why.next) {
        text += &format!("  {number}  {}\n", step.what);
        text += &step.command.as_ref().map_or(String::new(), |command| format!("     {command}\n"));
        text += &format!("     because: {}\n", step.because);
    }
    if why.next.is_empty() {
        text += "  nothing stands out: the server answered the load with time to spare\n";
    }
    text
}

/// `25,300 requests/s with 64 connections; p50 2.5 ms, p99 4.1 ms; 39 µs of CPU per request`.
fn load(load: &WhyLoad) -> String {
    let connections = paceline_stats::counted(load.connections, "connection", "connections");
    let times = load.time_ns.as_ref().map_or(String::new(), |times| {
        format!("; p50 {}, p99 {}", time_text(times.p50 as f64), time_text(times.p99 as f64))
    });
    let cpu = load.server_cpu_ns_per_request;
    let cpu = cpu.map_or(String::new(), |cpu_ns| format!("; {} of CPU per request", time_text(cpu_ns)));
    format!("{} with {connections}{times}{cpu}", rate(load.achieved_per_s, RateUnit::Requests))
}

fn cost_lines(number: usize, cost: &RequestCost) -> String {
    format!(
        "  {number}  {} ({})  {}\n     {}\n",
        time_text(cost.ns_per_request),
        percent_text(cost.share),
        cost.what,
        cost.evidence
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::explain_why;
    use crate::why_calls::tests::calls;
    use paceline_record::{
        Blame, CodeKind, LoopKind, Profile, ProfiledFunction, Run, Severity, Verdict, fixture,
    };
    use std::collections::BTreeMap;

    fn run(kind: LoopKind) -> Run {
        let mut run = fixture::run(0);
        run.loop_.kind = kind;
        run.total.generator_lag_ns = None;
        run.server = Some(fixture::server_use(1, 9.9));
        if kind == LoopKind::Closed {
            run.rate_per_s.offered = None;
        }
        run
    }

    #[test]
    fn the_page_names_the_limit_the_costs_and_the_next_command() {
        let mut closed = run(LoopKind::Closed);
        let function = |name: &str, code, own_share| ProfiledFunction {
            name: name.to_owned(),
            code,
            own_share,
            total_share: own_share,
            ..ProfiledFunction::default()
        };
        closed.profile = Some(Profile {
            samples: 4_000,
            kernel_share: Some(0.25),
            named_share: 1.0,
            functions: vec![
                function("render", CodeKind::User, 0.4),
                function("tcp_sendmsg", CodeKind::Kernel, 0.1),
            ],
            ..Profile::default()
        });
        closed.syscalls = Some(calls(&[("write", 2.5), ("read", 1.0)]));
        let why = explain_why("http://h/", "closed.json", None, &closed, Some(&run(LoopKind::Open)));
        let text = why_text(&why);
        for line in [
            "limit        server CPU: ",
            "profile      4000 samples, 25 % in the kernel, 100 % with a name",
            "code of server\n     of all CPU time: render 40 %",
            "of all CPU time: tcp_sendmsg 10 %; 3.50 system calls per request: write 2.50, read 1.00\n",
            "the kernel, for server\n     of all CPU time",
            "paceline run http://h/ -c 4 -r 500 --profile=after.svg",
            "because: server CPU: ",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert!(why.costs.len() <= 3 && why.costs.is_sorted_by(|a, b| a.ns_per_request >= b.ns_per_request));
        let half = run(LoopKind::Open);
        let text = why_text(&explain_why("http://h/?a=1&b=2", "closed.json", None, &closed, Some(&half)));
        assert!(text.starts_with("http://h/?a=1&b=2\n"), "{text}");
        assert!(text.contains("     paceline run 'http://h/?a=1&b=2' -c 4"), "{text}");
    }

    #[test]
    fn the_evidence_names_kernel_time_above_two_thirds() {
        let text = |user_s, profile: Option<Profile>| {
            let mut closed = run(LoopKind::Closed);
            let server = closed.server.as_mut().unwrap();
            (server.user_s, server.system_s) = (Some(user_s), Some(server.cpu_s - user_s));
            closed.profile = profile;
            why_text(&explain_why("http://h/", "closed.json", None, &closed, None))
        };
        let words = "; the kernel used 80 % of the CPU time of its processes";
        assert!(text(0.2 * 9.9, None).contains(&format!("over the window{words}\n")));
        let profile = Profile { samples: 4_000, kernel_share: Some(0.8), ..Profile::default() };
        assert!(text(0.2 * 9.9, Some(profile)).contains(words));
        assert!(!text(0.4 * 9.9, None).contains("the kernel used"), "60 % is not most of it");
    }

    #[test]
    fn a_load_below_the_limit_counts_unless_it_was_not_reached() {
        let counts = |name: &str, blame, severity| {
            let mut half = run(LoopKind::Open);
            let (evidence, remedy) = (BTreeMap::new(), String::new());
            half.verdicts = vec![Verdict { name: name.to_owned(), blame, severity, evidence, remedy }];
            explain_why("http://h/", "closed.json", None, &run(LoopKind::Closed), Some(&half)).half.is_some()
        };
        assert!(counts("steal", Blame::Environment, Severity::Invalid));
        assert!(counts("generator_lag", Blame::Generator, Severity::Caution));
        assert!(!counts("generator_bound", Blame::Generator, Severity::Invalid));
        assert!(!counts("saturated", Blame::Server, Severity::Caution));
    }

    #[test]
    fn without_a_valid_response_no_part_of_a_request_is_known() {
        let mut closed = run(LoopKind::Closed);
        (closed.total.service_time_ns, closed.rate_per_s.achieved) = (None, 0.0);
        let text = why_text(&explain_why("http://h/", "closed.json", None, &closed, None));
        for line in [
            "at half      not measured: the closed loop had no valid response\n",
            "where the time of a request goes\n  not known: there was no valid response\n",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn a_load_below_the_limit_that_failed_says_why() {
        let mut half = run(LoopKind::Open);
        let (name, evidence, remedy) = ("failed_requests".to_owned(), BTreeMap::new(), String::new());
        let (blame, severity) = (Blame::Server, Severity::Invalid);
        half.verdicts = vec![Verdict { name, blame, severity, evidence, remedy }];
        let closed = run(LoopKind::Closed);
        let text = why_text(&explain_why("http://h/", "closed.json", None, &closed, Some(&half)));
        assert!(text.contains("at half      not usable: Requests failed.\n"), "{text}");
    }

    #[test]
    fn a_server_on_another_machine_is_said_to_be_unknown() {
        let mut closed = run(LoopKind::Closed);
        closed.server = None;
        let not_found = Some("the server's processes were not found on this machine".to_owned());
        (closed.profile_failure, closed.syscalls_failure) = (not_found.clone(), not_found);
        let text = why_text(&explain_why("http://h/", "closed.json", None, &closed, None));
        assert!(text.contains("limit        unknown: ") && text.contains("profile      none: "), "{text}");
        assert!(!text.contains("system calls not counted"), "the same reason once: {text}");
        closed.syscalls_failure = Some("perf trace failed: no rights".to_owned());
        let other = why_text(&explain_why("http://h/", "closed.json", None, &closed, None));
        assert!(other.contains("system calls not counted: perf trace failed: no rights\n"), "{other}");
        assert!(text.contains("not measured") && text.contains("--pid PID"), "{text}");
    }
}
