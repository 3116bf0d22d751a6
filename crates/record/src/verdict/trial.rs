//! Verdicts on a trial: what its launch, its sampling and the machine have to say about its numbers.
//!
//! Pure functions of the record, so that a stored trial can be judged again by a later version. What the run alone
//! tells is judged in `run`; what only the lab knows (a generator of another make) the lab adds itself.

use super::balancing;
use super::disturbance::disturbance;
use super::{Blame, Severity, Verdict};
use crate::{CheckOutcome, CpuSource, Stage, Trial};

/// Everything to be known about a trial's numbers, beside its run's own verdicts.
pub fn of_trial(trial: &Trial) -> Vec<Verdict> {
    let judges = [
        shared_cores,
        cpu_lower_bound,
        server_died,
        stolen_time,
        warned,
        balancing::core_ran_out,
        balancing::balancer_bound,
        balancing::balancer_shares_cores,
        balancing::instances_share_cores,
        balancing::uneven_instances,
        balancing::instance_not_taken_out,
    ];
    judges.iter().filter_map(|judge| judge(trial)).collect()
}

fn shared_cores(trial: &Trial) -> Option<Verdict> {
    (!trial.pinning.disjoint).then(|| {
        Verdict::new("shared_cores", Blame::Environment, Severity::Caution)
            .with("server_cores", trial.pinning.server.clone().into())
            .with("generator_cores", trial.pinning.generator.clone().into())
            .remedy("server and generator take time from each other; use a machine with two cores or more")
    })
}

fn cpu_lower_bound(trial: &Trial) -> Option<Verdict> {
    let usage = trial.usage.as_ref().filter(|usage| usage.source == CpuSource::Proc)?;
    Some(
        Verdict::new("cpu_lower_bound", Blame::Environment, Severity::Note)
            .with("cpu_s", usage.cpu_s.into())
            .remedy("no control group could be made: processes that came and went unseen are missing; run as root, or have a cgroup delegated"),
    )
}

fn server_died(trial: &Trial) -> Option<Verdict> {
    let fault = trial.error.as_ref().filter(|fault| fault.stage == Stage::Load)?;
    Some(
        Verdict::new("server_died", Blame::Server, Severity::Invalid)
            .with("message", fault.message.clone().into())
            .remedy("read the end of the server's log in the trial"),
    )
}

fn stolen_time(trial: &Trial) -> Option<Verdict> {
    let worst = trial.cores.iter().max_by(|a, b| a.steal_share_least().total_cmp(&b.steal_share_least()))?;
    disturbance(worst.steal_share_least()).map(|severity| {
        Verdict::new("stolen_time", Blame::Environment, severity)
            .with("core", worst.core.into())
            .with("steal_s", worst.steal_s.into())
            .with("over_s", worst.over_s.into())
            .remedy("the hypervisor gave the core to somebody else; measure again when the host is quieter, or on a machine of your own")
    })
}

fn warned(trial: &Trial) -> Option<Verdict> {
    let checks = &trial.validation.as_ref()?.checks;
    let warnings: Vec<String> = checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Warn)
        .map(|check| format!("{}: {}", check.name, check.detail))
        .collect();
    (!warnings.is_empty()).then(|| {
        Verdict::new("claim_does_not_hold", Blame::Server, Severity::Note)
            .with("checks", warnings.into())
            .remedy("mend the server, or the traits in its manifest")
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Check, CoreTime, Fault, Load, LoopKind, Pinning, SCHEMA, Server, Usage, Validation};

    /// A sound trial without a run.
    pub fn trial() -> Trial {
        Trial {
            schema: SCHEMA,
            id: "t".into(),
            round: "r".into(),
            sitting: "s".into(),
            launch: "l".into(),
            block: 0,
            order: 0,
            repeat: 0,
            started_at: "2026-11-21T00:00:00.000Z".into(),
            server: Server::default(),
            form: "single".into(),
            workload: "hello".into(),
            load: Load {
                name: "closed-64".into(),
                kind: LoopKind::Closed,
                connections: 64,
                depth: 1,
                duration_s: Some(1.0),
                warmup_s: 1.0,
                ..Load::default()
            },
            pinning: Pinning { server: vec![0], generator: vec![1], disjoint: true, ..Pinning::default() },
            generator_argv: Vec::new(),
            run: None,
            startup: None,
            usage: None,
            samples: Vec::new(),
            cores: Vec::new(),
            balancing: None,
            validation: None,
            log_tail: String::new(),
            error: None,
            verdicts: Vec::new(),
        }
    }

    fn usage(source: CpuSource) -> Usage {
        Usage {
            over_s: 1.0,
            cpu_s: 0.5,
            cpu_ns_per_request: 1.0,
            utilization: 0.5,
            source,
            rss_bytes_peak: 0,
            pss_bytes: None,
            rss_bytes_after: None,
            threads_peak: 1,
            voluntary_switches: 0,
            involuntary_switches: 0,
            run_delay_s: 0.0,
        }
    }

    fn names(trial: &Trial) -> Vec<String> {
        of_trial(trial).into_iter().map(|verdict| verdict.name).collect()
    }

    #[test]
    fn a_sound_trial_has_none() {
        let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s: 0.1 };
        let usage = Some(usage(CpuSource::Cgroup));
        assert_eq!(names(&Trial { usage, cores: vec![core], ..trial() }), [] as [&str; 0]);
    }

    #[test]
    fn much_stolen_time_spoils_a_trial() {
        let severity = |steal_s| {
            let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s };
            of_trial(&Trial { cores: vec![core], ..trial() }).first().map(|verdict| verdict.severity)
        };
        assert_eq!(severity(0.11), None);
        assert_eq!((severity(0.12), severity(1.0)), (Some(Severity::Caution), Some(Severity::Caution)));
        assert_eq!(severity(1.1), Some(Severity::Invalid));
    }

    #[test]
    fn one_tick_of_a_short_window_is_no_evidence() {
        let core = |steal_s| CoreTime { core: 0, over_s: 0.025, busy_s: 0.02, interrupt_s: 0.0, steal_s };
        let names = |steal_s| names(&Trial { cores: vec![core(steal_s)], ..trial() });
        assert_eq!(names(0.01), [] as [&str; 0]);
        assert_eq!(names(0.02), ["stolen_time"]);
    }

    #[test]
    fn each_reason_is_named() {
        let shared = Pinning { server: vec![0], generator: vec![0], disjoint: false, ..Pinning::default() };
        assert_eq!(names(&Trial { pinning: shared, ..trial() }), ["shared_cores"]);
        let usage = Some(usage(CpuSource::Proc));
        assert_eq!(names(&Trial { usage, ..trial() }), ["cpu_lower_bound"]);
        let fault = Fault { stage: Stage::Load, message: "signal 11".into(), transient: false };
        assert_eq!(names(&Trial { error: Some(fault), ..trial() }), ["server_died"]);
        let core = CoreTime { core: 1, over_s: 10.0, busy_s: 9.0, interrupt_s: 0.0, steal_s: 0.3 };
        assert_eq!(names(&Trial { cores: vec![core], ..trial() }), ["stolen_time"]);
        let check = Check { name: "pipelining".into(), outcome: CheckOutcome::Warn, detail: "no".into() };
        let validation = Some(Validation { checks: vec![check] });
        assert_eq!(names(&Trial { validation, ..trial() }), ["claim_does_not_hold"]);
    }
}
