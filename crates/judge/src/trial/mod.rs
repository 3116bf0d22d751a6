//! Verdicts on a trial, from its launch, its sampling and the machine; and on a row, from its launches together.
//!
//! Pure functions of the record, so that a later version can judge a stored trial again. Verdicts that need knowledge
//! of the lab (another round on the machine, a server that stayed busy) are added by the lab, from the same table.

mod limit;

pub use limit::trial_limit;

use crate::generator::disturbance;
use crate::loaders::full;
use crate::{MAX_GENERATOR_BUSY, MIN_FULL, TypedVerdict, frequency, memory, verdict};
use paceline_record::{
    CheckOutcome, CoreTime, CpuSource, Loader, LoopKind, Pinning, ProcessRole, ProcessUse, Route, Run, Stage,
    Tool, Trial, Verdict,
};
use paceline_stats::{WARM_UP_SECONDS, counted, percent_text, warm_up_rates};
use std::collections::BTreeSet;

/// Below this share of a core's busy time, another process kept it busy.
const MIN_OWN: f64 = 0.5;
/// An instance that got this multiple of its even share did not get it by chance: with 1,000 requests or more, drawn at
/// random over four instances, one in a million rounds would be above 1.3.
const MIN_UNEVEN: f64 = 1.3;
/// With fewer requests shares are not meaningful.
const SHARES_NEED: f64 = 1000.0;
/// Below this share of their cores, server and generator had spare time.
const MAX_IDLE: f64 = 0.5;
/// Times below this, in nanoseconds, are too short for a wait.
const MIN_WAIT_NS: u64 = 1_000_000;

/// Statements and rows may be missing by this share: MariaDB's counters lag by less.
const MAX_READ_MISSING: f64 = 0.01;
/// Updated rows may be missing by this share: with 20 rows drawn from 10,000, one response in 53 has a row twice.
const MAX_UPDATED_MISSING: f64 = 0.05;
/// Connections beyond a quarter of the pool that a driver may have: MongoDB's drivers keep one or two to watch the
/// server.
const POOL_BEYOND: u64 = 4;

/// From this difference of body sizes, servers did not do the same work. Smaller differences come from blanks in JSON
/// (716 bytes instead of 637 for twenty rows of `queries`) and random numbers.
const BODY_DIFFERS: f64 = 0.15;
/// Heads differ between servers; above this factor head and body together are a different transfer.
const WHOLE_DIFFERS: f64 = 2.0;

/// Every verdict on a trial, except those on its run.
pub fn trial_verdicts(trial: &Trial) -> Vec<Verdict> {
    let judges = [
        shared_cores,
        server_network_bound,
        cpu_lower_bound,
        server_died,
        still_warming,
        stolen_time,
        frequency::thermal_throttling_in_trial,
        frequency::frequency_changed_in_trial,
        cores_moved,
        claim_does_not_hold,
        waiting,
        memory::bound_in_trial,
        memory::growing_in_trial,
        capacity_not_found,
        core_ran_out,
        balancer_bound,
        balancer_shares_cores,
        instances_share_cores,
        uneven_instances,
        instance_not_taken_out,
        queries_not_run,
        updates_not_stored,
        database_not_counted,
        pool_exceeded,
        database_bound,
        database_shares_cores,
    ];
    judges.iter().filter_map(|judge| judge(trial)).map(|finding| finding.verdict()).collect()
}

/// Every verdict on a row of these runs, except those on each run.
pub fn row_verdicts<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Verdict> {
    verdict::verdicts(generator_changed(runs))
}

/// For each row of a table, given as its runs: whether its responses differ in size from those of the others.
pub fn unequal_work(rows: &[Vec<&Run>]) -> Vec<Option<Verdict>> {
    let sizes: Vec<Option<[f64; 2]>> = rows.iter().map(|runs| bytes_per_response(runs)).collect();
    // Of an even number of rows two are in the middle. If these differ, neither is the one that is right: each row
    // differs from one of them.
    let middles = [0, 1].map(|of| {
        let mut known: Vec<f64> = sizes.iter().flatten().map(|size| size[of]).collect();
        known.sort_by(f64::total_cmp);
        let places = [known.len().saturating_sub(1) / 2, known.len() / 2];
        places.map(|place| known.get(place).copied().unwrap_or_default())
    });
    let judge = |size: &Option<[f64; 2]>| {
        let [body, whole] = (*size)?;
        let [typical_body, typical_whole] = middles.map(|[low, high]| f64::midpoint(low, high));
        let [bodies, wholes] = middles;
        let other_body = bodies.into_iter().any(|middle| (body - middle).abs() > BODY_DIFFERS * middle);
        let is_other = |middle: f64| whole > WHOLE_DIFFERS * middle || middle > WHOLE_DIFFERS * whole;
        let other_size = wholes.into_iter().any(is_other);
        (other_body || other_size).then(|| {
            let finding = TypedVerdict::UnequalWork {
                body_bytes_per_response: if other_body { body } else { typical_body },
                body_bytes_typical: typical_body,
                bytes_per_response: whole,
                bytes_typical: typical_whole,
            };
            finding.verdict()
        })
    };
    sizes.iter().map(judge).collect()
}

/// Bytes of body, and of head and body, per response of some runs.
fn bytes_per_response(runs: &[&Run]) -> Option<[f64; 2]> {
    let (mut read, mut body, mut received) = (0.0, 0.0, 0.0);
    for total in runs.iter().map(|run| &run.total) {
        let counts = total.counts;
        read +=
            [counts.ok, counts.bad_status, counts.bad_body].iter().map(|count| *count as f64).sum::<f64>();
        body += total.bytes.body as f64;
        received += total.bytes.received as f64;
    }
    (read > 0.0 && received > 0.0).then(|| [body / read, received / read])
}

fn generator_changed<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Option<TypedVerdict> {
    let name = |Tool { name, version, commit }: &Tool| {
        let commit = commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        format!("{name} {version}{commit}")
    };
    let tools: BTreeSet<String> = runs.into_iter().map(|run| name(&run.tool)).collect();
    (tools.len() > 1).then(|| TypedVerdict::GeneratorChanged { tools: tools.into_iter().collect() })
}

fn server_network_bound(trial: &Trial) -> Option<TypedVerdict> {
    let full = trial.machines.iter().filter_map(|machine| Some((full(machine.network.as_ref()?)?, machine)));
    let (link, machine) = full.max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))?;
    Some(TypedVerdict::ServerNetworkBound {
        host: machine.host.clone(),
        interface: link.interface.to_owned(),
        direction: link.direction.name,
        bytes_per_s: link.direction.bytes_per_s,
        speed_bytes_per_s: link.direction.limit_bytes_per_s,
        percent: 100.0 * link.share,
    })
}

fn shared_cores(trial: &Trial) -> Option<TypedVerdict> {
    let server = host(trial, ProcessRole::Instance);
    let loaders: Vec<String> = remote_loaders(trial).map(|loader| loader.host.clone()).collect();
    (!trial.pinning.disjoint || has_loader(trial, server)).then(|| TypedVerdict::SharedCores {
        server_cores: trial.pinning.server.clone(),
        generator_cores: if loaders.is_empty() { trial.pinning.generator.clone() } else { Vec::new() },
        advice: match loaders.is_empty() {
            true => "Server and load generator ran on the same core. Use a machine with at least two cores.",
            false => {
                "A loader ran on the server's machine. Put loaders on other machines (--on ...,loader=HOST)."
            }
        },
        loaders: Some(loaders).filter(|loaders| !loaders.is_empty()),
    })
}

/// The loaders that did not run on the lab's machine.
fn remote_loaders(trial: &Trial) -> impl Iterator<Item = &Loader> {
    let loaders = trial.run.iter().flat_map(|run| &run.loaders);
    loaders.filter(|loader| loader.host != Loader::LOCAL)
}

/// Whether a loader ran on this machine, which is not the lab's: loaders there may use every core.
fn has_loader(trial: &Trial, machine: Option<&str>) -> bool {
    machine.is_some_and(|machine| remote_loaders(trial).any(|loader| loader.host == machine))
}

fn cpu_lower_bound(trial: &Trial) -> Option<TypedVerdict> {
    let usage = trial.usage.as_ref().filter(|usage| usage.source == CpuSource::Proc)?;
    Some(TypedVerdict::CpuLowerBound { cpu_s: usage.cpu_s })
}

fn still_warming(trial: &Trial) -> Option<TypedVerdict> {
    let warm_up = trial.startup.as_ref()?.warm_up.as_ref()?;
    if warm_up.steady_after_s.is_some() {
        return None;
    }
    let rates = warm_up_rates(&warm_up.rate_per_s);
    let finding = match rates {
        Some([before, last]) if before > 0.0 && last > 0.0 => format!(
            "In the last {WARM_UP_SECONDS} s of the launch's warm-up the rate was {} above that of the {WARM_UP_SECONDS} s before.",
            percent_text(last / before - 1.0)
        ),
        Some([before, _]) if before > 0.0 => format!(
            "It is unknown whether the server was warm: in its launch's warm-up it gave no valid response in the last {WARM_UP_SECONDS} s."
        ),
        Some(_) => format!(
            "It is unknown whether the server was warm: in its launch's warm-up it gave no valid response in the {WARM_UP_SECONDS} s before the last {WARM_UP_SECONDS} s."
        ),
        None => format!(
            "The launch's warm-up was too short to check whether the server was warm: it had {} of load, and this check needs {}.",
            counted(warm_up.rate_per_s.len(), "whole second", "whole seconds"),
            2 * WARM_UP_SECONDS
        ),
    };
    Some(TypedVerdict::StillWarming {
        change: None,
        warmed_s: Some(warm_up.warmed_s),
        rate_before_per_s: rates.map(|[before, _]| before),
        rate_last_per_s: rates.map(|[_, last]| last),
        finding,
        advice: match warm_up.bursts {
            None => "Allow each launch a longer warm-up: `steady_within` in the plan, or --steady-within.",
            Some(_) => "Warm each launch up with more bursts: `warmup` in the plan.",
        }
        .to_owned(),
    })
}

fn server_died(trial: &Trial) -> Option<TypedVerdict> {
    let fault = trial.error.as_ref().filter(|fault| fault.stage == Stage::Load)?;
    Some(TypedVerdict::ServerDied { message: fault.message.clone() })
}

fn stolen_time(trial: &Trial) -> Option<TypedVerdict> {
    let used = used_cores(trial);
    let judged = trial.cores.iter().filter(|core| used.is_empty() || used.contains(&core.core));
    let worst = judged.max_by(|a, b| a.min_steal_share().total_cmp(&b.min_steal_share()))?;
    disturbance(worst.min_steal_share()).map(|severity| TypedVerdict::StolenTime {
        core: worst.core,
        steal_s: worst.steal_s,
        over_s: worst.over_s,
        severity,
    })
}

fn cores_moved(trial: &Trial) -> Option<TypedVerdict> {
    let distance = trial.core_distance?;
    let core_distance_ns = distance.unusual_ns()?;
    Some(TypedVerdict::CoresMoved { core_distance_ns, usual_ns: distance.usual_ns })
}

/// The cores of the server's machine that a process of the trial may run on; none if nothing was pinned. Time stolen
/// from other cores does not matter.
fn used_cores(trial: &Trial) -> BTreeSet<u32> {
    let Pinning { server, balancer, instances, .. } = &trial.pinning;
    let machine = host(trial, ProcessRole::Instance);
    let balancer = balancer.iter().filter(|_| host(trial, ProcessRole::Balancer) == machine);
    let pinned = server.iter().chain(balancer).chain(generator_cores(trial, machine));
    pinned.chain(instances.iter().flatten()).copied().collect()
}

/// The cores of a machine that the generator is pinned to, without a name of the lab's machine: none if the loaders ran
/// on others.
fn generator_cores<'a>(trial: &'a Trial, machine: Option<&str>) -> &'a [u32] {
    let mut loaders = trial.run.iter().flat_map(|run| &run.loaders);
    let is_here = loaders.all(|loader| loader.host == Loader::LOCAL);
    if machine.is_none() && is_here { &trial.pinning.generator } else { &[] }
}

fn claim_does_not_hold(trial: &Trial) -> Option<TypedVerdict> {
    let checks = &trial.validation.as_ref()?.checks;
    let warnings = checks.iter().filter(|check| check.outcome == CheckOutcome::Warn);
    let checks: Vec<String> = warnings.map(|check| format!("{}: {}", check.name, check.detail)).collect();
    (!checks.is_empty()).then_some(TypedVerdict::ClaimDoesNotHold { checks })
}

/// A closed loop without think times whose connections wait while no core is full. A load of a fixed number of requests
/// may end before anything is busy.
fn waiting(trial: &Trial) -> Option<TypedVerdict> {
    let run = trial.usable_run()?;
    let asks =
        run.loop_.kind == LoopKind::Closed && run.loop_.think.is_none() && run.loop_.requests.is_none();
    let server_utilization = trial.usage.as_ref()?.utilization;
    let service = run.total.service_time_ns.as_ref()?;
    let full = |core: &CoreTime| core.over_s > 0.0 && core.busy_s / core.over_s >= MIN_FULL;
    let balancer = balanced_processes(trial).into_iter().flatten();
    let idle = server_utilization < MAX_IDLE
        && run.generator.utilization < MAX_IDLE.min(MAX_GENERATOR_BUSY)
        && !trial.cores.iter().any(full)
        && balancer.into_iter().all(|process| process.utilization < MAX_IDLE);
    (asks && idle && service.p50 >= MIN_WAIT_NS).then(|| TypedVerdict::Waiting {
        server_utilization,
        generator_utilization: run.generator.utilization,
        service_time_ns_p50: service.p50,
        first_byte_ns_p50: run.total.first_byte_ns.as_ref().map(|times| times.p50),
    })
}

fn capacity_not_found(trial: &Trial) -> Option<TypedVerdict> {
    let found = trial.capacity.as_ref()?;
    if let Some(span) = found.stalls_decide {
        let (lowest_missed_per_s, highest_passed_per_s) = (span.low, span.high);
        let try_per_s = (highest_passed_per_s / 2.0).max(lowest_missed_per_s);
        return Some(TypedVerdict::StallsDecide { lowest_missed_per_s, highest_passed_per_s, try_per_s });
    }
    let advice = || match &found.ended_early {
        Some(why) => format!("The search ended early: {why}. Remove the cause, then repeat the search."),
        None => "No tested rate met the objective. Test a lower rate (paceline run -r), or choose another \
                 objective."
            .to_owned(),
    };
    found.half_pass_per_s.is_none().then(|| TypedVerdict::CapacityNotFound {
        windows: found.windows.len(),
        lowest_offered_per_s: found.windows.iter().map(|window| window.offered_per_s).reduce(f64::min),
        ended_early: found.ended_early.clone(),
        advice: advice(),
    })
}

/// A full core, with the processes that may run on it.
#[derive(Clone, Debug, PartialEq)]
pub struct FullCore {
    /// Its number.
    pub core: u32,
    /// Not idle, as a share of the window.
    pub busy_share: f64,
    /// The processes that may run on it: `instance 0`, `balancer`, `generator`; and `mostly other processes` if their
    /// part was the smaller one.
    pub processes: Vec<String>,
}

/// The full cores of a balanced trial, busiest first.
pub fn full_cores(trial: &Trial) -> Vec<FullCore> {
    let Some(balancing) = &trial.balancing else { return Vec::new() };
    let server = host(trial, ProcessRole::Instance);
    let mut cores: Vec<FullCore> = trial
        .cores
        .iter()
        .filter(|core| core.over_s > 0.0 && core.busy_s / core.over_s >= MIN_FULL)
        .map(|core| {
            let own = balancing
                .processes
                .iter()
                .filter(|process| process.cores.contains(&core.core) && host(trial, process.role) == server);
            let mut processes: Vec<String> = own.clone().map(process_name).collect();
            let generator = generator_cores(trial, server);
            processes.extend(generator.contains(&core.core).then(|| "generator".to_owned()));
            let used_s: f64 = own.map(|process| process.cpu_s / process.cores.len() as f64).sum();
            let by_generator_s = trial.run.as_ref().map_or(0.0, |run| run.generator.cpu_s);
            let by_generator_s = by_generator_s / generator.len().max(1) as f64;
            let used_s = used_s + if generator.contains(&core.core) { by_generator_s } else { 0.0 };
            if used_s < MIN_OWN * core.busy_s {
                processes.push("mostly other processes".to_owned());
            }
            FullCore { core: core.core, busy_share: (core.busy_s / core.over_s).min(1.0), processes }
        })
        .collect();
    cores.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share).then(a.core.cmp(&b.core)));
    cores
}

/// The machine of a role, if it is not the lab's.
fn host(trial: &Trial, role: ProcessRole) -> Option<&str> {
    let machine = trial.machines.iter().find(|machine| machine.role == role)?;
    Some(&machine.host)
}

/// The display name of a process: `instance 2`, `balancer`.
pub fn process_name(process: &ProcessUse) -> String {
    match process.role {
        ProcessRole::Balancer => "balancer".to_owned(),
        ProcessRole::Instance => format!("instance {}", process.index),
        ProcessRole::Database => "database".to_owned(),
    }
}

fn core_ran_out(trial: &Trial) -> Option<TypedVerdict> {
    let line = |core: &FullCore| {
        format!("core {} ({}): {}", core.core, core.processes.join(", "), percent_text(core.busy_share))
    };
    let cores: Vec<String> = full_cores(trial).iter().map(line).collect();
    (!cores.is_empty()).then_some(TypedVerdict::CoreRanOut { cores })
}

fn balancer_bound(trial: &Trial) -> Option<TypedVerdict> {
    let balancer = balancer_of(trial)?;
    (balancer.utilization >= MIN_FULL).then_some(TypedVerdict::BalancerBound {
        balancer_utilization: balancer.utilization,
        balancer_cpu_ns_per_request: balancer.cpu_ns_per_request,
    })
}

fn balancer_shares_cores(trial: &Trial) -> Option<TypedVerdict> {
    let balancer = balancer_of(trial)?;
    let own = host(trial, ProcessRole::Balancer);
    let overlap = |cores: &[u32]| cores.iter().any(|core| balancer.cores.contains(core));
    let instances = instances_of(trial)?;
    let server = host(trial, ProcessRole::Instance);
    let beside = instances.filter(|process| server == own && overlap(&process.cores));
    let mut with: Vec<String> = beside.map(process_name).collect();
    let beside_generator = has_loader(trial, own) || overlap(generator_cores(trial, own));
    with.extend(beside_generator.then(|| "generator".to_owned()));
    (!with.is_empty())
        .then(|| TypedVerdict::BalancerSharesCores { balancer_cores: balancer.cores.clone(), with })
}

fn instances_share_cores(trial: &Trial) -> Option<TypedVerdict> {
    let instances = instances_of(trial)?.count();
    let cores: BTreeSet<u32> = instances_of(trial)?.flat_map(|process| &process.cores).copied().collect();
    (instances > cores.len()).then_some(TypedVerdict::InstancesShareCores { instances, cores: cores.len() })
}

fn uneven_instances(trial: &Trial) -> Option<TypedVerdict> {
    let balanced = trial.load.balanced.as_ref()?;
    if balanced.route != Route::Balanced || balanced.fault.is_some() {
        return None;
    }
    let reported = trial.balancing.as_ref()?.counts.as_ref()?;
    let requests: Vec<u64> = reported.by_instance.iter().filter_map(|instance| instance.requests).collect();
    let most = requests.iter().copied().max()?;
    let sum: f64 = requests.iter().map(|requests| *requests as f64).sum();
    let share = most as f64 * requests.len() as f64 / sum.max(1.0);
    (sum >= SHARES_NEED && share > MIN_UNEVEN)
        .then_some(TypedVerdict::UnevenInstances { requests_by_instance: requests })
}

fn instance_not_taken_out(trial: &Trial) -> Option<TypedVerdict> {
    let fault = trial.balancing.as_ref()?.fault?;
    (fault.balancer_tells && fault.taken_out_after_s.is_none())
        .then_some(TypedVerdict::InstanceNotTakenOut { instance: fault.instance })
}

/// The processes of a trial whose requests went to all instances.
fn balanced_processes(trial: &Trial) -> Option<&[ProcessUse]> {
    let balanced = trial.load.balanced.as_ref().filter(|balanced| balanced.route != Route::Direct);
    balanced.and(trial.balancing.as_ref()).map(|balancing| &*balancing.processes)
}

/// The balancer that the requests passed through.
fn balancer_of(trial: &Trial) -> Option<&ProcessUse> {
    trial.load.balanced.as_ref().filter(|balanced| balanced.route == Route::Balanced)?;
    balanced_processes(trial)?.iter().find(|process| process.role == ProcessRole::Balancer)
}

fn instances_of(trial: &Trial) -> Option<impl Iterator<Item = &ProcessUse>> {
    Some(balanced_processes(trial)?.iter().filter(|process| process.role == ProcessRole::Instance))
}

fn is_short(found: u64, expected: u64, max_missing: f64) -> bool {
    (found as f64) < expected as f64 * (1.0 - max_missing)
}

fn queries_not_run(trial: &Trial) -> Option<TypedVerdict> {
    let used = trial.database.as_ref()?;
    let counted = used.counted?;
    let selects_expected = used.responses.saturating_mul(u64::from(used.work.selects));
    let rows_expected = used.responses.saturating_mul(u64::from(used.work.rows_read));
    let short = is_short(counted.selects, selects_expected, MAX_READ_MISSING)
        || is_short(counted.rows_read, rows_expected, MAX_READ_MISSING);
    short.then_some(TypedVerdict::QueriesNotRun {
        selects_expected,
        selects: counted.selects,
        rows_expected,
        rows_read: counted.rows_read,
    })
}

fn updates_not_stored(trial: &Trial) -> Option<TypedVerdict> {
    let used = trial.database.as_ref().filter(|used| used.work.rows_updated > 0)?;
    let rows_expected = used.responses.saturating_mul(u64::from(used.work.rows_updated));
    let rows_updated = used.counted.map(|counted| counted.rows_updated);
    let seen = used.stored.unwrap_or_default();
    let short = rows_updated.is_some_and(|rows| is_short(rows, rows_expected, MAX_UPDATED_MISSING));
    let is_stored = used.stored.is_none_or(|seen| seen.returned > 0 && seen.stored == seen.returned);
    (short || !is_stored).then_some(TypedVerdict::UpdatesNotStored {
        rows_expected,
        rows_updated: rows_updated.unwrap_or_default(),
        returned: seen.returned,
        stored: seen.stored,
    })
}

fn database_bound(trial: &Trial) -> Option<TypedVerdict> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let server_utilization = trial.usage.as_ref()?.utilization;
    let shares = shares_cores(trial, &process.cores);
    (!shares && process.utilization >= MIN_FULL && server_utilization < MIN_FULL).then_some(
        TypedVerdict::DatabaseBound {
            database_utilization: process.utilization,
            server_utilization,
            database_cpu_ns_per_request: process.cpu_ns_per_request,
        },
    )
}

fn database_not_counted(trial: &Trial) -> Option<TypedVerdict> {
    // A database that ended under load is the trial's error.
    let used = trial.database.as_ref().filter(|_| trial.error.is_none())?;
    let (missing, advice) = match (used.counted, used.stored) {
        (None, _) => (
            "counters",
            "The database's statement counters could not be read, so its queries are not verified. Read the end of the database's log in the record, and measure again.",
        ),
        (Some(_), None) if used.work.returns_updated_rows() => (
            "response after the run",
            "The stored rows could not be checked: the server or the database did not respond to the requests after the run. Lower the load, and read their logs.",
        ),
        (Some(_), _) => return None,
    };
    Some(TypedVerdict::DatabaseNotCounted { responses: used.responses, missing, advice })
}

fn pool_exceeded(trial: &Trial) -> Option<TypedVerdict> {
    let pool = trial.load.database.as_ref()?.pool;
    let connections = trial.database.as_ref()?.counted?.connections?;
    let most = u64::from(pool) + u64::from(pool / 4) + POOL_BEYOND;
    (connections > most).then_some(TypedVerdict::PoolExceeded { connections, pool })
}

/// Whether a core of the database belongs to the server: on one machine.
fn shares_cores(trial: &Trial, cores: &[u32]) -> bool {
    host(trial, ProcessRole::Instance) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.server.contains(core))
}

/// Whether a core of the database belongs to the generator, on one machine.
fn shares_with_generator(trial: &Trial, cores: &[u32]) -> bool {
    let machine = host(trial, ProcessRole::Database);
    let generator = generator_cores(trial, machine);
    has_loader(trial, machine) || cores.iter().any(|core| generator.contains(core))
}

/// Whether a core of the database belongs to the balancer that the requests passed through, on one machine.
fn shares_with_balancer(trial: &Trial, cores: &[u32]) -> bool {
    trial.load.balanced.as_ref().is_some_and(|balanced| balanced.route == Route::Balanced)
        && host(trial, ProcessRole::Balancer) == host(trial, ProcessRole::Database)
        && cores.iter().any(|core| trial.pinning.balancer.contains(core))
}

fn database_shares_cores(trial: &Trial) -> Option<TypedVerdict> {
    let process = trial.database.as_ref()?.process.as_ref()?;
    let usage = trial.usage.as_ref()?;
    let both_s = process.cpu_s + usage.cpu_s;
    let sharers = [
        ("server", shares_cores(trial, &process.cores)),
        ("balancer", shares_with_balancer(trial, &process.cores)),
        ("generator", shares_with_generator(trial, &process.cores)),
    ];
    let with: Vec<String> =
        sharers.iter().filter(|(_, shares)| *shares).map(|(name, _)| (*name).to_owned()).collect();
    (!with.is_empty()).then(|| TypedVerdict::DatabaseSharesCores {
        database_cores: process.cores.clone(),
        with,
        database_share: if both_s > 0.0 { process.cpu_s / both_s } else { 0.0 },
    })
}

#[cfg(test)]
mod tests;
