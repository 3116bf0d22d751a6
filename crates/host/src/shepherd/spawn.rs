//! Starts the command of an order: in a new session, on its cores, in its control groups, without inherited
//! descriptors.
//!
//! `supervisor.rs` calls this in the shepherd's process: the groups are opened before tracking starts, and the command
//! is started behind it. One descriptor is inherited if the order names it. This module does not wait for processes;
//! see `supervisor.rs`.

use super::{CommandOutput, ShepherdOrder};
use crate::left_over::LaunchMark;
use crate::system;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// A started command, and the pipe of its output if the shepherd keeps that.
pub struct Spawned {
    /// The command's own process: leader of its session.
    pub child: Child,
    /// The read end, if the output is bounded.
    pub printed: Option<OwnedFd>,
}

/// Opens the order's control groups while the shepherd is permitted to: inside a user namespace it is not.
pub fn open_groups(order: &ShepherdOrder) -> io::Result<Vec<File>> {
    order.groups.iter().map(|group| OpenOptions::new().write(true).open(group.join("cgroup.procs"))).collect()
}

/// Starts the order's command with a mark, if there is one. `groups` come from [`open_groups`].
///
/// # Errors
/// The system's error for the program, the folder, the cores or the groups.
pub fn spawn(order: &ShepherdOrder, groups: Vec<File>, mark: Option<LaunchMark>) -> io::Result<Spawned> {
    let (program, arguments) = order
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command to start is empty"))?;
    let (stdout, stderr, printed) = streams(order)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&order.folder);
    let inherited = order.inherits.select_from(std::env::vars_os(), &order.pass_env);
    command.env_clear();
    if let Some(user) = &order.user {
        command.envs(user.environment(inherited.into_iter()));
        // Java reads the home folder from /etc/passwd instead of HOME; `nobody` has none there.
        command.env("MAVEN_OPTS", format!("-Duser.home={}", user.home.display()));
        command.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name);
        for own in ["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
        {
            command.env_remove(own);
        }
    } else {
        command.envs(inherited);
    }
    command.envs(&order.env);
    command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    let (cores, inherit) = (order.cores.clone(), order.inherit);
    let user = order.user.as_ref().map(|user| (user.uid, user.gid));
    // SAFETY: between fork and exec in a process of one thread; only system calls.
    unsafe { command.pre_exec(move || settle(&cores, &groups, mark, user, inherit)) };
    let child = command.spawn()?;
    Ok(Spawned { child, printed })
}

/// Prepares the child process before exec.
fn settle(
    cores: &[u32],
    groups: &[File],
    mark: Option<LaunchMark>,
    user: Option<(u32, u32)>,
    inherit: Option<i32>,
) -> io::Result<()> {
    system::unblock_signals()?;
    system::new_session()?;
    system::die_with_parent()?;
    system::raise_open_files()?;
    for mut group in groups {
        group.write_all(b"0")?;
    }
    if let Some(mark) = mark {
        // A sandbox may refuse it; the shepherd and the groups work without it.
        let _ = mark.set();
    }
    if !cores.is_empty() {
        system::set_affinity(cores)?;
    }
    if let Some((uid, gid)) = user {
        system::become_user(uid, gid)?;
        // A change of user resets it (prctl(2)).
        system::die_with_parent()?;
    }
    inherit.map_or(Ok(()), system::keep_on_exec)
}

fn streams(order: &ShepherdOrder) -> io::Result<(Stdio, Stdio, Option<OwnedFd>)> {
    Ok(match &order.output {
        CommandOutput::Bounded { .. } => {
            let (printed, writer) = system::pipe()?;
            if let Some(user) = &order.user {
                // PHP-FPM and other programs open /dev/stderr, which requires the rights of the pipe's owner.
                std::os::unix::fs::fchown(&writer, Some(user.uid), Some(user.gid))?;
            }
            (writer.try_clone()?.into(), writer.into(), Some(printed))
        }
        CommandOutput::Files { stdout, stderr } => {
            (File::create(stdout)?.into(), File::create(stderr)?.into(), None)
        }
        // The shepherd's standard output is the pipe for its reports.
        CommandOutput::Inherit => (io::stderr().into(), Stdio::inherit(), None),
    })
}
