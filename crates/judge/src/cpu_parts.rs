//! The CPU time of a request by where it was spent: in the server's own code, in the kernel for the server, in
//! interrupts on the server's cores, and in the processes behind it.
//!
//! User and kernel time add up to the server's CPU time. Interrupts are those of whole cores, also for other programs.
//! Linux counts the network's soft interrupts that run at the end of a system call apart from kernel time if it is
//! built with `CONFIG_IRQ_TIME_ACCOUNTING`; otherwise a part of them is in both (`account_system_time` in
//! kernel/sched/cputime.c). So a bar may show more than the server's CPU time, and percentages are those of user and
//! kernel time alone.

use paceline_record::{CoreTime, Run, Trial};
use paceline_stats::ratio;

/// A part of the CPU time of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuPart {
    /// Its name: `user`, `kernel`, `interrupts`, and `behind it` (a run) or `database` (a trial).
    pub name: &'static str,
    /// CPU time per request, in nanoseconds; none if it is not known.
    pub ns_per_request: Option<f64>,
}

/// The parts of a run with an observed server, per request that was sent in the window; none if the division of its CPU
/// time is not known.
pub fn cpu_parts_of_run(run: &Run) -> Option<[CpuPart; 4]> {
    let server = run.server.as_ref()?;
    let kernel = server.kernel_share()? * server.cpu_ns_per_request;
    let behind = run.behind_server.iter().map(|behind| behind.cpu_ns_per_request);
    Some([
        CpuPart { name: "user", ns_per_request: Some(server.cpu_ns_per_request - kernel) },
        CpuPart { name: "kernel", ns_per_request: Some(kernel) },
        CpuPart { name: "interrupts", ns_per_request: interrupt_ns_of_run(run) },
        CpuPart { name: "behind it", ns_per_request: behind.reduce(|a, b| a + b) },
    ])
}

/// The parts of a trial, per response that was completed in the window; none if the division of the server's CPU time
/// is not known.
pub fn cpu_parts_of_trial(trial: &Trial) -> Option<[CpuPart; 4]> {
    let database = trial.database.as_ref().and_then(|database| database.process.as_ref());
    let interrupts = trial.run.as_ref().and_then(|run| interrupt_ns_of_trial(trial, run));
    Some([
        CpuPart { name: "user", ns_per_request: Some(user_ns_of_trial(trial)?) },
        CpuPart { name: "kernel", ns_per_request: Some(kernel_ns_of_trial(trial)?) },
        CpuPart { name: "interrupts", ns_per_request: interrupts },
        CpuPart { name: "database", ns_per_request: database.map(|process| process.cpu_ns_per_request) },
    ])
}

/// User time of a trial's server per response, in nanoseconds.
pub(crate) fn user_ns_of_trial(trial: &Trial) -> Option<f64> {
    Some(trial.usage.as_ref()?.cpu_ns_per_request - kernel_ns_of_trial(trial)?)
}

/// Kernel time of a trial's server per response, in nanoseconds.
pub(crate) fn kernel_ns_of_trial(trial: &Trial) -> Option<f64> {
    let usage = trial.usage.as_ref()?;
    Some(usage.kernel_share()? * usage.cpu_ns_per_request)
}

/// Interrupt time of the server's cores per response, in nanoseconds; none if the generator shares them.
pub(crate) fn interrupt_ns_of_trial(trial: &Trial, run: &Run) -> Option<f64> {
    let responses = run.total.completed_in_window as f64;
    let cores = trial.server_cores();
    let of_server = trial.cores.iter().filter(|core| cores.contains(&core.core));
    let share = interrupt_share(of_server).filter(|_| trial.pinning.disjoint)?;
    (responses > 0.0).then(|| share * run.window_s * 1e9 / responses)
}

/// Interrupt time per request of the server's cores that the generator does not use, in nanoseconds. None with several
/// generators: the cores in the record may then be those of another machine than the server's.
fn interrupt_ns_of_run(run: &Run) -> Option<f64> {
    let server = run.server.as_ref().filter(|_| run.loaders.is_empty())?;
    let own =
        |core: &&CoreTime| server.cores.contains(&core.core) && !run.generator.cores.contains(&core.core);
    let share = interrupt_share(run.generator.by_core.iter().filter(own))?;
    // As many requests as its CPU time was divided by.
    let requests = ratio(server.cpu_s * 1e9, server.cpu_ns_per_request);
    (requests > 0.0).then(|| share * run.window_s * 1e9 / requests)
}

/// Interrupt time of some cores as a share of time, summed over the cores; none without a core.
fn interrupt_share<'a>(cores: impl Iterator<Item = &'a CoreTime>) -> Option<f64> {
    let shares = cores.filter(|core| core.over_s > 0.0).map(|core| core.interrupt_s / core.over_s);
    shares.reduce(|a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;
    use paceline_record::{CpuSource, fixture};

    fn core(core: u32, interrupt_s: f64) -> CoreTime {
        CoreTime { core, over_s: 10.0, busy_s: 9.0, interrupt_s, steal_s: 0.0 }
    }

    fn part(parts: Option<[CpuPart; 4]>, name: &str) -> Option<f64> {
        parts?.iter().find(|part| part.name == name)?.ns_per_request
    }

    #[test]
    fn user_and_kernel_time_add_up_to_the_cpu_time_of_a_request() {
        let mut run = fixture::run(0);
        let mut server = fixture::server_use(1, 5.0);
        run.server = Some(server.clone());
        assert_eq!(cpu_parts_of_run(&run), None, "an older record");
        (server.user_s, server.system_s) = (Some(1.0), Some(4.0));
        let cpu_ns = server.cpu_ns_per_request;
        run.server = Some(server);
        run.behind_server = vec![fixture::server_use(1, 1.0), fixture::server_use(1, 2.0)];
        let of = |name| part(cpu_parts_of_run(&run), name);
        let (user, kernel) = of("user").zip(of("kernel")).unwrap();
        assert!((user + kernel - cpu_ns).abs() < 1e-6 && (kernel / cpu_ns - 0.8).abs() < 1e-9);
        assert_eq!(of("behind it"), Some(3e5));
        assert_eq!(of("interrupts"), None, "no core was observed");
    }

    #[test]
    fn interrupts_of_a_run_are_those_of_cores_without_the_generator() {
        let mut run = fixture::run(0);
        let mut server = fixture::server_use(2, 5.0);
        (server.user_s, server.system_s) = (Some(1.0), Some(4.0));
        run.server = Some(server);
        // The generator of the fixture runs on core 1; the server may run on both. It answered 10,000 requests.
        run.generator.by_core = vec![core(0, 0.5), core(1, 3.0), core(2, 7.0)];
        let interrupts = part(cpu_parts_of_run(&run), "interrupts").unwrap();
        assert!((interrupts - 50_000.0).abs() < 1e-6, "{interrupts}");
        run.generator.cores = vec![0, 1];
        assert_eq!(part(cpu_parts_of_run(&run), "interrupts"), None);
    }

    #[test]
    fn parts_of_a_trial_are_the_metrics_of_its_row() {
        let mut trial = fixture::trial();
        let run = fixture::run(0);
        let mut usage = fixture::usage(CpuSource::Cgroup, 0.5);
        usage.cpu_ns_per_request = 20_000.0;
        let of = |trial: &Trial, metric: Metric| (metric.of)(trial, &run).map(|value| value.value);
        trial.usage = Some(usage.clone());
        assert_eq!(of(&trial, Metric::SERVER_SYSTEM), None, "an older record");
        (usage.user_s, usage.system_s) = (Some(0.1), Some(0.4));
        trial.usage = Some(usage);
        trial.cores = vec![core(0, 0.25), core(1, 9.0)];
        trial.run = Some(run.clone());
        let parts = [Metric::SERVER_USER, Metric::SERVER_SYSTEM].map(|metric| of(&trial, metric).unwrap());
        assert!((parts[0] + parts[1] - 20.0).abs() < 1e-9 && (parts[1] - 16.0).abs() < 1e-9, "{parts:?}");
        let interrupts = of(&trial, Metric::SERVER_INTERRUPT).unwrap();
        assert!((interrupts - 25.0).abs() < 1e-9, "0.25 s for 10,000 responses: {interrupts}");
        assert_eq!(part(cpu_parts_of_trial(&trial), "interrupts").map(|ns| ns / 1e3), Some(interrupts));
        trial.pinning.disjoint = false;
        assert_eq!(of(&trial, Metric::SERVER_INTERRUPT), None);
    }
}
