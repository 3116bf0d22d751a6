//! A Slurm allocation: nodes for exclusive use for a limited time, released in every case.
//!
//! Slurm's own commands are used, each with a time limit. A guard releases the allocation: a shell that waits for the
//! end of its standard input, which comes when the allocation is dropped, and when this process dies. The guard cancels
//! by name, since job ids are reused after a crash of the controller. If the guard fails too, the time limit of the job
//! ends it.

use crate::{Interrupt, KeptOutput, Place, system};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest time for a command that only queries the controller, in seconds. It blocks about 7 s while the controller is
/// down.
const ASK_LIMIT_S: u64 = 20;
/// Bytes kept of a command's list: a line for each node of the largest clusters.
const MAX_LISTED_BYTES: usize = 16 << 20;
/// Bytes kept of a command's standard error, for messages.
const MAX_SAID_BYTES: usize = 4096;
/// Longest time of `salloc` beyond the time it waits for nodes, in seconds.
const GRANT_LIMIT_S: u64 = 20;

/// The variable with the name of the job that a parent process holds, for [`check_job`].
pub const JOB_NAME: &str = "PACELINE_SLURM_JOB";

/// Cancels the jobs of a name when the input ends, and waits until they have ended, at most a minute.
const GUARD: &str = "cat >/dev/null
for i in $(seq 30); do
  timeout 20 scancel --quiet --name=\"$0\" 2>/dev/null
  jobs=$(timeout 20 squeue --all --noheader --name=\"$0\" --format=%i 2>/dev/null) && [ -z \"$jobs\" ] && exit 0
  sleep 0.1; [ $i -lt 10 ] || sleep 2
done";

/// A request for an allocation.
#[derive(Clone, Debug)]
pub struct AllocationRequest {
    /// A name that no other job has.
    pub name: String,
    /// The partition; Slurm's default if missing.
    pub partition: Option<String>,
    /// Roles with the number of nodes for each. A role that is not a feature of any node can use any node.
    pub roles: Vec<(String, u32)>,
    /// Time limit of the job: rounded up to minutes.
    pub limit: Duration,
    /// Longest wait in the queue.
    pub queue_limit: Duration,
}

/// Why there is no allocation.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A command of Slurm cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command.
        command: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A command of Slurm failed.
    #[error("{command} failed: {said}")]
    Failed {
        /// The command.
        command: &'static str,
        /// Its output, or its exit status.
        said: String,
    },
    /// No nodes were granted in time.
    #[error("Slurm granted no nodes within {waited_s} s (--queue-limit): {said}")]
    NotGranted {
        /// The longest wait.
        waited_s: u64,
        /// The output of `salloc`.
        said: String,
    },
    /// The id now belongs to another job: the controller lost its state and gives ids again.
    #[error("Slurm job {job} is now named {found:?}, not {name:?}: Slurm's controller lost its state")]
    OtherJob {
        /// The id.
        job: u64,
        /// The name of the job that was granted.
        name: String,
        /// The name of the job with this id.
        found: String,
    },
    /// The user ended the wait.
    #[error("interrupted while waiting for nodes")]
    Interrupted,
}

/// Granted nodes, released when this is dropped.
#[derive(Debug)]
pub struct Allocation {
    guard: Child,
    name: String,
    /// Role and node of each, in the order of the request.
    nodes: Vec<(String, Place)>,
}

impl Allocation {
    /// Requests nodes and waits until they are granted.
    ///
    /// # Errors
    /// [`SlurmError`]; no node is held then.
    pub fn request(request: &AllocationRequest, interrupt: Interrupt) -> Result<Self, SlurmError> {
        let guard = Command::new("sh")
            .args(["-c", GUARD, &request.name])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| SlurmError::Start { command: "sh", source })?;
        let mut allocation = Self { guard, name: request.name.clone(), nodes: Vec::new() };
        let partition: Vec<String> =
            request.partition.iter().map(|name| format!("--partition={name}")).collect();
        let features = ask("sinfo", &[&partition[..], &["-h".to_owned(), "-o%f".to_owned()]].concat())?;
        let features: BTreeSet<&str> = features.split([',', '\n']).map(str::trim).collect();
        let job = grant(request, &partition, &features, interrupt)?;
        // Without -a, partitions that are configured as hidden are left out.
        let list = ask("squeue", &["-ah".to_owned(), format!("-j{job}"), "-o%N".to_owned()])?;
        let nodes = ask("sinfo", &["-ahN".to_owned(), format!("-n{}", list.trim()), "-o%N %f".to_owned()])?;
        let assigned = assign(&request.roles, &nodes, &features).collect();
        let assigned = complete(assigned, &request.roles, job, list.trim())?.into_iter();
        allocation.nodes = assigned.map(|(role, node)| (role, Place::Slurm { job, node })).collect();
        Ok(allocation)
    }

    /// Role and place of each node, in the order of the requested roles.
    pub fn nodes(&self) -> &[(String, Place)] {
        &self.nodes
    }

    /// The job's name: the value of [`JOB_NAME`] for child processes that start steps in it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Allocation {
    /// Releases the nodes and waits until they are released.
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Checks that a job is the one that the parent process holds ([`JOB_NAME`]), before steps are started in it: an id is
/// not a key. Without that variable, or if the controller does not answer, there is nothing to compare.
///
/// # Errors
/// [`SlurmError::OtherJob`].
pub fn check_job(job: u64) -> Result<(), SlurmError> {
    let Ok(name) = std::env::var(JOB_NAME) else { return Ok(()) };
    let listed = ask("squeue", &["-h".to_owned(), format!("-j{job}"), "-o%j".to_owned()]).unwrap_or_default();
    match other_name(&listed, &name) {
        Some(found) => Err(SlurmError::OtherJob { job, found: found.to_owned(), name }),
        None => Ok(()),
    }
}

/// The name that `squeue` lists, if it is another one.
fn other_name<'a>(listed: &'a str, name: &str) -> Option<&'a str> {
    listed.lines().map(str::trim).find(|line| !line.is_empty()).filter(|found| *found != name)
}

/// Requests the allocation; returns the job's id.
fn grant(
    request: &AllocationRequest,
    partition: &[String],
    features: &BTreeSet<&str>,
    interrupt: Interrupt,
) -> Result<u64, SlurmError> {
    let waited_s = request.queue_limit.as_secs().max(1);
    let count: u32 = request.roles.iter().map(|(_, count)| count).sum();
    let mut command = Command::new("timeout");
    command.arg((waited_s + GRANT_LIMIT_S).to_string());
    // Without --no-kill, the loss of one node ends the job on all nodes.
    command.args(["salloc", "--no-shell", "--no-kill", "--exclusive"]).args(partition);
    command.args([format!("--nodes={count}"), format!("--job-name={}", request.name)]);
    command.arg(format!("--time={}", request.limit.as_secs().div_ceil(60).max(1)));
    command.arg(format!("--immediate={waited_s}"));
    command.args(constraint(&request.roles, features));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let start = |source| SlurmError::Start { command: "salloc", source };
    let begun = Instant::now();
    let mut child = command.spawn().map_err(start)?;
    let errors =
        child.stderr.take().map(|errors| KeptOutput::from_stream(errors, MAX_SAID_BYTES)).transpose();
    let errors = errors.map_err(start)?;
    let status = wait_for_grant(&mut child, interrupt)?;
    let elapsed = begun.elapsed();
    let said = errors.map_or_else(String::new, |errors| errors.text());
    let granted =
        said.lines().find_map(|line| line.split("Granted job allocation ").nth(1)?.trim().parse().ok());
    granted.ok_or_else(|| not_granted(&said, status, elapsed, waited_s))
}

/// Waits for the end of `timeout`, which leads a process group with `salloc`. An interrupt kills both: `salloc` alone
/// would still submit its job, after the guard has cancelled.
fn wait_for_grant(child: &mut Child, interrupt: Interrupt) -> Result<ExitStatus, SlurmError> {
    let failed = |source| SlurmError::Start { command: "salloc", source };
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(status);
        }
        if interrupt.requested() {
            let _ = system::kill_group(child.id().cast_signed(), libc::SIGKILL);
            let _ = child.wait();
            return Err(SlurmError::Interrupted);
        }
        std::thread::sleep(Interrupt::CHECK_INTERVAL);
    }
}

/// Why `salloc` ended without nodes: it has waited for them, or Slurm refused the request at once, such as one for a
/// partition that does not exist.
fn not_granted(said: &str, status: ExitStatus, elapsed: Duration, waited_s: u64) -> SlurmError {
    let said = said.trim().replace('\n', "; ");
    let said = if said.is_empty() { status.to_string() } else { said };
    // Slurm counts whole seconds.
    if elapsed.as_secs() + 1 < waited_s {
        return SlurmError::Failed { command: "salloc", said };
    }
    SlurmError::NotGranted { waited_s, said }
}

/// The features that the nodes must have; `None` if no node has any of them.
fn constraint(roles: &[(String, u32)], features: &BTreeSet<&str>) -> Option<String> {
    let known: Vec<_> = roles.iter().filter(|(role, _)| features.contains(role.as_str())).collect();
    match known.as_slice() {
        [] => None,
        [(role, _)] if roles.len() == 1 => Some(format!("--constraint={role}")),
        several => {
            let each: Vec<String> = several.iter().map(|(role, count)| format!("{role}*{count}")).collect();
            Some(format!("--constraint=[{}]", each.join("&")))
        }
    }
}

/// Assigns nodes to each role: nodes with its feature first, then any. `nodes` has a line for each node, with its
/// features.
fn assign<'a>(
    roles: &'a [(String, u32)],
    nodes: &str,
    features: &BTreeSet<&str>,
) -> impl Iterator<Item = (String, String)> + use<'a> {
    let line = |line: &str| {
        let (node, features) = line.trim().split_once(' ')?;
        Some((node.to_owned(), features.split(',').map(str::to_owned).collect::<Vec<String>>()))
    };
    // A node in several partitions is listed several times.
    let lines: BTreeSet<_> = nodes.lines().filter_map(line).collect();
    let mut free: Vec<_> = lines.into_iter().collect();
    let mut assigned = Vec::new();
    let is_known = |role: &String| features.contains(role.as_str());
    let order = roles
        .iter()
        .filter(|(role, _)| is_known(role))
        .chain(roles.iter().filter(|(role, _)| !is_known(role)));
    for (role, count) in order {
        for _ in 0..*count {
            let fits = free.iter().position(|(_, of_node)| of_node.contains(role));
            if let Some(index) = fits.or((!free.is_empty()).then_some(0)) {
                assigned.push((role.clone(), free.remove(index).0));
            }
        }
    }
    let place = |role: &String| roles.iter().position(|(known, _)| known == role);
    assigned.sort_by_key(|(role, _)| place(role));
    assigned.into_iter()
}

/// The assigned nodes of a job, if each role has its number of them: a role without a node would run on this machine.
/// `list` is that of the job's nodes; it is empty if the job has ended, and `sinfo` then lists every node.
fn complete(
    assigned: Vec<(String, String)>,
    roles: &[(String, u32)],
    job: u64,
    list: &str,
) -> Result<Vec<(String, String)>, SlurmError> {
    if list.is_empty() {
        return Err(SlurmError::Failed {
            command: "squeue",
            said: format!("it lists no nodes of job {job}"),
        });
    }
    let asked: u64 = roles.iter().map(|(_, count)| u64::from(*count)).sum();
    if (assigned.len() as u64) < asked {
        let said = format!("it lists {} of the {asked} nodes of job {job} ({list})", assigned.len());
        return Err(SlurmError::Failed { command: "sinfo", said });
    }
    Ok(assigned)
}

/// The output of a Slurm command.
fn ask(command: &'static str, arguments: &[String]) -> Result<String, SlurmError> {
    let mut asking = Command::new("timeout");
    asking.arg(ASK_LIMIT_S.to_string()).arg(command).args(arguments).stdin(Stdio::null()).process_group(0);
    let failed = |source| SlurmError::Start { command, source };
    let mut child = asking.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed(io::ErrorKind::BrokenPipe.into()));
    };
    let output = KeptOutput::from_stream(output, MAX_LISTED_BYTES);
    let errors = KeptOutput::from_stream(errors, MAX_SAID_BYTES);
    let status = child.wait().map_err(failed)?;
    let (output, errors) = (output.map_err(failed)?, errors.map_err(failed)?);
    if status.success() {
        return Ok(output.text());
    }
    let said = errors.line();
    Err(SlurmError::Failed { command, said: if said.is_empty() { status.to_string() } else { said } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(roles: &[(&str, u32)]) -> Vec<(String, u32)> {
        roles.iter().map(|(role, count)| ((*role).to_owned(), *count)).collect()
    }

    #[test]
    fn roles_are_features_where_nodes_have_them() {
        let known: BTreeSet<&str> = ["server", "loader"].into();
        assert_eq!(constraint(&roles(&[("loader", 2)]), &known).unwrap(), "--constraint=loader");
        let both = constraint(&roles(&[("server", 1), ("loader", 2)]), &known);
        assert_eq!(both.unwrap(), "--constraint=[server*1&loader*2]");
        assert_eq!(constraint(&roles(&[("loader", 2)]), &["(null)"].into()), None);
    }

    #[test]
    fn an_interrupt_leaves_no_request_behind() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo begun; wait"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.process_group(0).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        io::Read::read_exact(&mut output, &mut [0; 6]).unwrap();
        let (interrupt, flag) = Interrupt::by_hand();
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(wait_for_grant(&mut child, interrupt), Err(SlurmError::Interrupted)));
        // The output ends with the last process that holds it.
        assert_eq!(io::Read::read_to_end(&mut output, &mut Vec::new()).unwrap(), 0);
    }

    #[test]
    fn a_refused_request_is_no_wait_for_nodes() {
        let of = |said: &str, elapsed_ms| {
            let elapsed = Duration::from_millis(elapsed_ms);
            not_granted(said, ExitStatus::default(), elapsed, 60).to_string()
        };
        let refused = "salloc: error: Job submit/allocate failed: Invalid partition name specified\n";
        assert_eq!(of(refused, 200), format!("salloc failed: {}", refused.trim()));
        assert_eq!(of("", 200), format!("salloc failed: {}", ExitStatus::default()));
        assert_eq!(of("a\nb\n", 60_100), "Slurm granted no nodes within 60 s (--queue-limit): a; b");
        assert_eq!(of("a", 59_500), "Slurm granted no nodes within 60 s (--queue-limit): a");
    }

    #[test]
    fn a_job_is_known_by_its_name_not_by_its_id() {
        assert_eq!(other_name("paceline-a\n", "paceline-a"), None);
        assert_eq!(other_name("", "paceline-a"), None, "srun reports a job that is missing");
        assert_eq!(other_name("  bash\n", "paceline-a"), Some("bash"));
    }

    #[test]
    fn each_role_gets_its_nodes() {
        let nodes = "n1 server\nn3 loader,fast\nn4 loader\nn4 loader\n";
        let known: BTreeSet<&str> = ["server", "loader"].into();
        let assigned = |asked: &[(&str, u32)], known: &BTreeSet<&str>| {
            let roles = roles(asked);
            assign(&roles, nodes, known).map(|(role, node)| format!("{role}={node}")).collect::<Vec<_>>()
        };
        assert_eq!(
            assigned(&[("loader", 2), ("server", 1)], &known),
            ["loader=n3", "loader=n4", "server=n1"]
        );
        assert_eq!(assigned(&[("database", 1), ("server", 1)], &known), ["database=n3", "server=n1"]);
        assert_eq!(assigned(&[("x", 9)], &BTreeSet::new()).len(), 3);
    }

    #[test]
    fn a_job_without_a_node_for_each_role_is_an_error() {
        let roles = roles(&[("server", 1), ("loader", 2)]);
        let nodes = |count| vec![("loader".to_owned(), "n3".to_owned()); count];
        let error = |count, list| {
            complete(nodes(count), &roles, 7, list).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(error(3, "n[1,3-4]"), "");
        assert_eq!(error(2, "n[1,3-4]"), "sinfo failed: it lists 2 of the 3 nodes of job 7 (n[1,3-4])");
        assert_eq!(error(3, ""), "squeue failed: it lists no nodes of job 7");
    }

    #[test]
    fn the_allocation_is_cancelled_by_name_when_the_input_ends() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        for (name, body) in [("scancel", "echo \"$@\" >>\"$LOG\""), ("squeue", "")] {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let paths = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "pl-1"]).env("PATH", paths).env("LOG", &log).stdin(Stdio::piped());
        let mut guard = guard.spawn().unwrap();
        assert!(guard.try_wait().unwrap().is_none() && !log.exists());
        drop(guard.stdin.take());
        assert!(guard.wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "--quiet --name=pl-1\n");
    }
}
