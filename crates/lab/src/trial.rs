//! One trial: puts a cell under load on a running launch and records it.
//!
//! All errors are recorded: a trial that was begun is never a missing row. Only Ctrl-C leaves no record.

use crate::ValidationResult;
use crate::audit;
use crate::balancer::StatisticsReader as _;
use crate::case_request::{BodyFolder, CaseRequest};
use crate::core_distance::with_after;
use crate::database::RunningDatabase;
use crate::deployment::{Deployment, RolePlace};
use crate::generator::{Assignment, FollowOptions, LoadGenerator, ObservedRun, follow};
use crate::launch::LaunchError;
use crate::recovery::after_database_end;
use paceline_catalogue::{Cell, LoadHttp};
use paceline_host::system;
use paceline_host::tree::TreeSample;
use paceline_judge::{TypedVerdict, judge_trial};
use paceline_record::{
    Balancing, CpuSource, Environment, Fault, FaultKind, InjectedFault, MemoryUse, PackageEnergy, Pinning,
    ProcessRole, ProcessUse, Route, Run, SCHEMA, Sample, Server, Stage, Trial, Usage, Verdict,
};
use sha2::{Digest as _, Sha256};
use std::net::SocketAddr;

/// The position of a trial in its round, for the record.
#[derive(Clone, Copy, Debug)]
pub struct TrialContext<'a> {
    /// The round.
    pub round: &'a str,
    /// The sitting.
    pub sitting: &'a str,
    /// The launch.
    pub launch: &'a str,
    /// The block, which is the repeat of all its cells.
    pub block: u32,
    /// The server, with the receipt of its version.
    pub server: &'a Server,
    /// The cores of each process.
    pub pinning: &'a Pinning,
}

/// A trial that has not been carried out.
pub fn begin(place: &TrialContext<'_>, cell: &Cell, id: String, order: u32, started_at: String) -> Trial {
    Trial {
        schema: SCHEMA,
        id,
        round: place.round.to_owned(),
        sitting: place.sitting.to_owned(),
        launch: place.launch.to_owned(),
        block: place.block,
        order,
        repeat: place.block,
        started_at,
        server: place.server.clone(),
        form: cell.form.clone(),
        workload: cell.case.address.clone(),
        load: cell.load_record(),
        pinning: place.pinning.clone(),
        generator_argv: Vec::new(),
        run: None,
        capacity: None,
        startup: None,
        usage: None,
        memory: None,
        samples: Vec::new(),
        cores: Vec::new(),
        suspended_s: None,
        core_frequencies: Vec::new(),
        core_distance: None,
        energy: None,
        balancing: None,
        database: None,
        validation: None,
        log_tail: String::new(),
        error: None,
        verdicts: Vec::new(),
        imported: None,
        limit: None,
        machines: Vec::new(),
    }
}

/// The trial as one that failed.
pub fn failed(mut trial: Trial, fault: Fault, log_tail: String) -> Trial {
    trial.error = Some(fault);
    trial.log_tail = log_tail;
    judged(trial)
}

/// Puts a cell under load and completes its trial. `None` on Ctrl-C.
pub fn measure(
    mut trial: Trial,
    cell: &Cell,
    seed: u64,
    launch: &mut Deployment,
    validated: &ValidationResult,
    generator: &dyn LoadGenerator,
    following: &FollowOptions<'_>,
) -> Option<Trial> {
    trial.startup = launch.startup();
    trial.machines = launch.machines();
    trial.validation = Some(validated.validation.clone());
    if let Some(message) = validated.failures_of(&cell.case.workload) {
        let fault = Fault { stage: Stage::Validate, message, transient: false };
        return Some(failed(trial, fault, launch.log_tail()));
    }
    let memory = launch.memory();
    let before = counted_database(launch, cell).map(RunningDatabase::counts).transpose();
    let loaded = before.and_then(|before| {
        let job = job(&trial, cell, seed, launch, validated, generator, following)?;
        Ok((before, follow(generator, &job, launch, following)?))
    });
    trial.core_distance = trial.core_distance.map(|distance| with_after(distance, &trial.pinning));
    trial.memory = memory.zip(launch.memory()).map(|(from, to)| MemoryUse {
        limit_bytes: from.limit_bytes,
        rss_bytes_peak: loaded.as_ref().ok().and_then(|(_, followed)| rss_bytes_peak(followed)),
        swapped_bytes: to.swapped_bytes.saturating_sub(from.swapped_bytes),
        oom_kills: to.oom_kills.saturating_sub(from.oom_kills),
        group_oom_kills: to.group_oom_kills_since(&from),
    });
    match loaded {
        Ok((before, followed)) => {
            trial.log_tail = launch.log_tail();
            if followed.measured.run.total.counts.not_ok() > 0 {
                trial.log_tail.push_str(&launch.database_log());
            }
            trial.balancing = balancing(&followed, launch);
            if let Some(database) = counted_database(launch, cell) {
                let (address, interrupt) = (launch.address(), following.interrupt);
                let mut used = audit::database_use(cell, &followed, database, before, address, interrupt)?;
                used.process = processes(&followed, &[ProcessRole::Database]).pop();
                trial.database = Some(used);
            }
            Some(judged(complete(trial, followed, launch.source())))
        }
        Err(LaunchError::Interrupted) => None,
        Err(LaunchError::Fault { fault, .. }) => {
            // The log of a server that died is complete: its shepherd has ended too.
            let log_tail = launch.log_tail();
            let (trial, fault) = after_database_end(trial, fault, cell, launch, following.interrupt)?;
            Some(failed(trial, fault, log_tail))
        }
    }
}

/// The database whose work for a cell is known; a server may have one that the cell does not need.
fn counted_database<'a>(launch: &'a Deployment, cell: &Cell) -> Option<&'a RunningDatabase> {
    launch.database().filter(|_| cell.case.database.is_some())
}

/// What the generator is to do for a trial.
pub fn job(
    trial: &Trial,
    cell: &Cell,
    seed: u64,
    launch: &Deployment,
    validated: &ValidationResult,
    generator: &dyn LoadGenerator,
    following: &FollowOptions<'_>,
) -> Result<Assignment, LaunchError> {
    let fault = |message: String| LaunchError::fault(Stage::Generate, message, false);
    if let Some(why) = generator.refuses(&trial.load, &cell.case) {
        return Err(fault(why));
    }
    let address = launch.address().ok_or_else(|| fault("no process was started".to_owned()))?;
    // A balancer has one port, and no certificate.
    let address = match cell.load.balanced {
        Some(_) => address,
        None => {
            let http = cell.load.http.map(LoadHttp::name);
            cell.server.traits.address(address, http, cell.load.tls)
        }
    };
    let certificate = cell.load.tls.then_some(following.certificate);
    let request = CaseRequest { case: &cell.case, address, certificate };
    let mut flags = request.flags(BodyFolder(following.bodies), &validated.bodies).map_err(fault)?;
    if trial.load.balanced.as_ref().is_some_and(|balanced| balanced.route == Route::Spread) {
        flags.extend(spread_flags(&launch.instance_addresses()));
    }
    Ok(Assignment {
        url: request.url(),
        request: flags,
        load: trial.load.clone(),
        limit: cell.load.limit(),
        threads: threads(following, trial.load.connections),
        status: cell.case.expect.status,
        seed: seed_of(seed, &cell.key(), trial.repeat),
        record: following.folder.join("run.json"),
        places: following.loaders.map(|loaders| loaders.flags.clone()),
        events: -1,
    })
}

/// Flags of `paceline run` that spread connections over these addresses.
fn spread_flags(addresses: &[SocketAddr]) -> [String; 3] {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    ["--connect-to".to_owned(), format!("::{}", addresses.join(",")), "--spread".to_owned()]
}

/// Threads of each generator: one for each of its cores, with at least one connection for each thread.
fn threads(following: &FollowOptions<'_>, connections: u32) -> u32 {
    let (cores, generators) =
        following.loaders.map_or((following.cores.len() as u32, 1), |loaders| (loaders.cores, loaders.count));
    cores.min(connections / generators).max(1)
}

/// A seed for the trial, from the round's: the same plan draws the same arrivals again.
fn seed_of(seed: u64, cell: &str, repeat: u32) -> u64 {
    let digest = Sha256::digest(format!("{seed} {cell} {repeat}"));
    digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte)) & paceline_catalogue::MAX_SEED
}

fn complete(mut trial: Trial, followed: ObservedRun, source: CpuSource) -> Trial {
    trial.usage = usage(&followed, trial.server_cores().len(), source);
    trial.energy = energy_of(&followed);
    let unsampled = unsampled(&followed).or_else(|| not_sampled(&followed));
    trial.generator_argv = followed.argv;
    trial.samples = followed.samples;
    trial.cores = followed.cores.1.since(&followed.cores.0);
    trial.suspended_s = followed.suspended_s;
    trial.core_frequencies = followed.core_frequencies;
    for (machine, network) in trial.machines.iter_mut().zip(followed.networks) {
        machine.network = network;
    }
    trial.run = Some(followed.measured.run);
    trial.capacity = followed.measured.capacity;
    trial.verdicts = followed.measured.verdicts;
    trial.verdicts.extend(unsampled);
    trial
}

/// The factor from CPU time over the sampled stretch to that of the window. `None` if the stretch does not represent
/// the window.
fn of_window(followed: &ObservedRun) -> Option<f64> {
    let ((from, to), window_s) = (&followed.over, followed.measured.run.window_s);
    let sampled_s = followed.window.sampled_s(from.monotonic_ns, to.monotonic_ns, window_s)?;
    Some(window_s / sampled_s)
}

/// The least CPU time that a request can cost, in seconds: two system calls.
const MIN_REQUEST_S: f64 = 1e-6;

/// Whether the sampled processes can have answered the requests: there were some, and they used enough CPU time.
fn is_sampled(followed: &ObservedRun) -> bool {
    let (from, to) = &followed.over;
    let cpu_s = to.cpu_s - from.cpu_s;
    let used_s = match (from.scheduled_s, to.scheduled_s) {
        (Some(from_s), Some(to_s)) => cpu_s.max(to_s - from_s),
        // Each process can have used nearly a clock tick without being counted.
        _ => cpu_s + f64::from(to.processes.max(1)) / system::ticks_per_s(),
    };
    to.processes > 0 && used_s >= completed(&followed.measured.run) as f64 * MIN_REQUEST_S
}

/// A verdict if the processes that answered were not those that were sampled.
fn not_sampled(followed: &ObservedRun) -> Option<Verdict> {
    let (from, to) = &followed.over;
    let responses = completed(&followed.measured.run);
    (responses > 0 && of_window(followed).is_some() && !is_sampled(followed)).then(|| {
        TypedVerdict::NotSampled { processes: to.processes, cpu_s: to.cpu_s - from.cpu_s, responses }
            .verdict()
    })
}

/// A note if there are answers but no CPU figures.
fn unsampled(followed: &ObservedRun) -> Option<Verdict> {
    let run = &followed.measured.run;
    let over_ns = followed.over.1.monotonic_ns.saturating_sub(followed.over.0.monotonic_ns);
    (completed(run) > 0 && of_window(followed).is_none()).then(|| {
        let sampled_s = over_ns as f64 * 1e-9;
        TypedVerdict::WindowNotSampled { sampled_s, window_s: run.window_s }.verdict()
    })
}

/// CPU time of the process trees of some roles over the window; empty if the sampled stretch does not represent the
/// window.
fn processes(followed: &ObservedRun, roles: &[ProcessRole]) -> Vec<ProcessUse> {
    let Some(of_window) = of_window(followed) else { return Vec::new() };
    let of_roles = followed.each.iter().filter(|stretch| roles.contains(&stretch.place.role));
    let used = of_roles.map(|stretch| {
        let over_s = stretch.to.monotonic_ns.saturating_sub(stretch.from.monotonic_ns) as f64 * 1e-9;
        let cpu_s = (stretch.to.cpu_s - stretch.from.cpu_s).max(0.0);
        let RolePlace { role, index, cores } = stretch.place.clone();
        ProcessUse {
            role,
            index,
            cpu_s,
            utilization: if over_s > 0.0 { cpu_s / (over_s * cores.len().max(1) as f64) } else { 0.0 },
            cpu_ns_per_request: cpu_s * of_window * 1e9 / completed(&followed.measured.run).max(1) as f64,
            cores,
            rss_bytes_peak: stretch.rss_bytes_peak,
            threads_peak: stretch.threads_peak,
            run_delay_s: (stretch.to.run_delay_s - stretch.from.run_delay_s).max(0.0),
            connections_mean: stretch.connections_mean,
        }
    });
    used.collect()
}

/// Costs and counters of instances and balancer, if there is a balancer.
fn balancing(followed: &ObservedRun, launch: &Deployment) -> Option<Balancing> {
    let balancer = launch.receipt()?.clone();
    let run = &followed.measured.run;
    let processes = processes(followed, &[ProcessRole::Instance, ProcessRole::Balancer]);
    let window_ns = run.phases.window.start_ns;
    let statistics = launch.statistics();
    Some(Balancing {
        balancer,
        processes,
        counts: followed.counted.as_ref().map(|(from, to)| statistics.counts(from, to)),
        fault: followed.fault.map(|made| InjectedFault {
            kind: FaultKind::KillOne,
            instance: made.instance as u32,
            at_ns: window_ns + made.after_window_start.as_nanos() as u64,
            balancer_tells: statistics.names_instances(),
            taken_out_after_s: made.taken_out_after.map(|after| after.as_secs_f64()),
        }),
    })
}

/// The server's resource usage. `None` if there were no answers to divide it by, or if the sampled stretch does not
/// represent the window.
fn usage(followed: &ObservedRun, cores: usize, source: CpuSource) -> Option<Usage> {
    let (from, to) = &followed.over;
    let over_s = to.monotonic_ns.saturating_sub(from.monotonic_ns) as f64 * 1e-9;
    let cpu_s = to.cpu_s - from.cpu_s;
    let completed = completed(&followed.measured.run);
    let of_window = of_window(followed)?;
    if completed == 0 || !is_sampled(followed) {
        return None;
    }
    let modes = from.modes.zip(to.modes).and_then(|(from, to)| to.since(from).divide(cpu_s));
    let peak = |of: fn(&Sample) -> u64| followed.samples.iter().map(of).max().unwrap_or_default();
    Some(Usage {
        over_s,
        cpu_s,
        user_s: modes.map(|modes| modes.user_s),
        system_s: modes.map(|modes| modes.system_s),
        cpu_ns_per_request: cpu_s * of_window * 1e9 / completed as f64,
        utilization: cpu_s / (over_s * cores.max(1) as f64),
        source,
        rss_bytes_peak: peak(|sample| sample.rss_bytes),
        pss_bytes: followed.pss_bytes,
        rss_bytes_after: Some(followed.rss_bytes_after),
        threads_peak: peak(|sample| sample.threads.into()) as u32,
        voluntary_switches: to.voluntary_switches.saturating_sub(from.voluntary_switches),
        involuntary_switches: to.involuntary_switches.saturating_sub(from.involuntary_switches),
        run_delay_s: (to.run_delay_s - from.run_delay_s).max(0.0),
        busiest_thread_utilization: busiest_thread_s(from, to).map(|busy_s| (busy_s / over_s).min(1.0)),
    })
}

/// The energy of the CPU packages. `None` if it cannot be read, if there were no answers to divide it by, or if the
/// sampled stretch does not represent the window.
fn energy_of(followed: &ObservedRun) -> Option<PackageEnergy> {
    let (joules, packages) = followed.energy?;
    let (from, to) = &followed.over;
    let of_window = of_window(followed)?;
    let completed = completed(&followed.measured.run);
    (completed > 0).then(|| PackageEnergy {
        over_s: to.monotonic_ns.saturating_sub(from.monotonic_ns) as f64 * 1e-9,
        packages,
        joules,
        joules_per_request: joules * of_window / completed as f64,
    })
}

/// CPU time of the busiest thread between two samples.
fn busiest_thread_s(from: &TreeSample, to: &TreeSample) -> Option<f64> {
    Some((to.busiest_thread_s? - from.busiest_thread_s?).max(0.0))
}

fn rss_bytes_peak(followed: &ObservedRun) -> Option<u64> {
    followed.samples.iter().map(|sample| sample.rss_bytes).max()
}

fn completed(run: &Run) -> u64 {
    run.total.completed_in_window
}

/// Adds the machine, and the trial's id and time, to the run of a generator that records none of them.
pub fn with_environment(mut trial: Trial, environment: &Environment) -> Trial {
    if let Some(run) = trial.run.as_mut().filter(|run| run.id.is_empty()) {
        run.id.clone_from(&trial.id);
        run.started_at.clone_from(&trial.started_at);
        run.environment = environment.clone();
    }
    trial
}

fn judged(mut trial: Trial) -> Trial {
    judge_trial(&mut trial);
    trial
}

#[cfg(test)]
mod tests;
