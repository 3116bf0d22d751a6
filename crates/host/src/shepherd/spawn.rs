//! Starts the command of an order: in a new session, on its cores, in its control groups, without inherited
//! descriptors.
//!
//! `supervisor.rs` calls this in the shepherd's process: the groups are opened before tracking starts, and the command
//! is started behind it. One descriptor is inherited if the order names it. This module does not wait for processes;
//! see `supervisor.rs`.

use super::view;
use super::{CommandOutput, FileView, ShepherdOrder};
use crate::left_over::LaunchMark;
use crate::system;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
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
    if is_image(order) {
        // The environment of an image is its own.
    } else if let Some(user) = &order.user {
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
    let user = order.user.as_ref().map(|user| (user.uid, user.gid));
    let (mut reasons, mut reason) = io::pipe()?;
    let (cores, inherit, is_image) = (order.cores.clone(), order.inherit, is_image(order));
    let settings = Settings { cores, groups, mark, user, inherit, is_image };
    let seen = order.view.clone();
    // SAFETY: between fork and exec in a process of one thread, so that no lock is held by another one.
    unsafe {
        command.pre_exec(move || {
            settings.enter_groups()?;
            if let Some(seen) = &seen {
                enter(seen, &mut reason)?;
            }
            settings.settle()
        })
    };
    let started = command.spawn();
    // The closure has the write end.
    drop(command);
    let child = started.map_err(|error| {
        let mut text = String::new();
        // Without a reason the system's error is the whole message.
        let _ = reasons.read_to_string(&mut text);
        if text.is_empty() { error } else { io::Error::new(error.kind(), text) }
    })?;
    Ok(Spawned { child, printed })
}

/// Whether the command runs on the files of an image.
pub fn is_image(order: &ShepherdOrder) -> bool {
    order.view.as_ref().is_some_and(|view| view.root.is_some())
}

/// Enters the view; the standard library passes only a number to the parent process, so the reason takes a pipe.
fn enter(seen: &FileView, reason: &mut io::PipeWriter) -> io::Result<()> {
    view::enter(seen).inspect_err(|error| {
        // The number that the standard library passes remains.
        let _ = write!(reason, "{error}");
    })
}

/// What a child process sets before exec.
struct Settings {
    cores: Vec<u32>,
    groups: Vec<File>,
    mark: Option<LaunchMark>,
    user: Option<(u32, u32)>,
    inherit: Option<i32>,
    is_image: bool,
}

impl Settings {
    /// The part that needs the machine's file system.
    fn enter_groups(&self) -> io::Result<()> {
        system::unblock_signals()?;
        system::new_session()?;
        system::die_with_parent()?;
        system::raise_open_files()?;
        for mut group in &self.groups {
            group.write_all(b"0")?;
        }
        Ok(())
    }

    /// The rest, after which no right is left that the command should not have.
    fn settle(&self) -> io::Result<()> {
        if let Some(mark) = self.mark {
            // A sandbox may refuse it; the shepherd and the groups work without it.
            let _ = mark.set();
        }
        if !self.cores.is_empty() {
            system::set_affinity(&self.cores)?;
        }
        if let Some((uid, gid)) = self.user {
            system::become_user(uid, gid)?;
            // A change of user resets it (prctl(2)).
            system::die_with_parent()?;
        }
        if self.is_image {
            system::drop_capabilities()?;
        }
        self.inherit.map_or(Ok(()), system::keep_on_exec)
    }
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
