//! Where a process is started: on this machine, on another machine by ssh, or on a node of a Slurm allocation.
//!
//! This module is the only interface to other machines. A started command is a local child process whose standard
//! streams are connected to those of the remote process, so that all other code (pipes, waiting, stopping) is the same
//! for every place. When the local child is killed, the remote process reads the end of its standard input.

use crate::{Interrupt, KeptOutput, system};
use paceline_escape::shell_line;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a program's SHA-256 that are part of its name.
const DIGEST_BYTES: usize = 12;
/// Longest time to establish an ssh connection, in seconds.
const SSH_CONNECT_S: u32 = 10;
/// Seconds between two keep-alive messages of an ssh connection, and how many may be lost: a link that is cut for 15 s
/// is given up.
const SSH_ALIVE_S: u32 = 5;
const SSH_ALIVE_MISSING: u32 = 3;
/// Longest time until a place has received and started a program: some tens of megabytes, also behind a slow link.
const START_LIMIT: Duration = Duration::from_secs(120);
/// Longest time until a place prints its first line: ssh gives up connecting after 10 s, a login shell may read a slow
/// home folder.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// Most bytes that a login shell may print before the program starts.
const MAX_GREETING_BYTES: u64 = 1 << 20;
/// How long a process may take to end after its output has ended.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Bytes kept of a process's standard error, for messages.
const MAX_SAID_BYTES: usize = 4096;

/// The variable with the digest of a program that a parent process has already computed: see [`ProgramCopy::note`].
pub const PROGRAM_DIGEST: &str = "PACELINE_PROGRAM_DIGEST";

/// The variable with the folder of ssh's control sockets, for sharing connections that a parent process holds.
pub const SSH_CONTROL: &str = "PACELINE_SSH_CONTROL";

/// Whether a command over ssh opens a separate connection.
#[derive(Clone, Copy, Debug)]
pub enum SshConnection<'a> {
    /// Uses the connection held for [`SSH_CONTROL`], if there is one.
    Shared,
    /// Uses the connection held by a socket in this folder, if there is one.
    Through(&'a Path),
    /// Opens the connection that later commands share, by a socket in this folder.
    Master(&'a Path),
}

/// A machine that a process can be started on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This machine.
    Local,
    /// Another machine, by ssh: a host name, or `USER@HOST`.
    Ssh {
        /// The host in the form that `ssh` accepts.
        host: String,
    },
    /// A node of a Slurm allocation.
    Slurm {
        /// The allocation's job id.
        job: u64,
        /// The node's name.
        node: String,
    },
}

/// Identifies the running machine: the kernel's id of its current boot. Two host names, or two containers, of one
/// machine have the same id.
pub fn machine_id() -> Option<String> {
    let id = paceline_files::read_text(Path::new("/proc/sys/kernel/random/boot_id"), 64).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Where the roles of a run or a round are placed: the value of `--on`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Machines {
    /// Known machines, each with its role: hosts reached by ssh, or nodes of an existing allocation.
    Named(Vec<(String, Place)>),
    /// Nodes that Slurm chooses by role.
    Slurm {
        /// The partition; Slurm's default if missing.
        partition: Option<String>,
    },
}

/// Roles that a machine can have.
const ROLES: [&str; 4] = ["server", "balancer", "database", "loader"];

impl std::str::FromStr for Machines {
    type Err = String;

    /// Parses `ssh:loader=HOST,loader=HOST`, `slurm` or `slurm:PARTITION`, and `job:ID:loader=NODE` for granted nodes.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("slurm", None) => Ok(Machines::Slurm { partition: None }),
            ("slurm", Some(name)) if is_word(name) => {
                Ok(Machines::Slurm { partition: Some(name.to_owned()) })
            }
            ("slurm", Some(name)) => Err(format!("{name:?} is not the name of a Slurm partition")),
            ("ssh", Some(list)) => named(list, |host| Place::Ssh { host }),
            ("job", Some(list)) => {
                let (job, list) = list.split_once(':').ok_or("write job:ID:loader=NODE,loader=NODE")?;
                let job = job.parse().map_err(|_| format!("{job:?} is not the number of a Slurm job"))?;
                named(list, |node| Place::Slurm { job, node })
            }
            _ => Err("write slurm, slurm:PARTITION, or ssh:loader=HOST,loader=HOST".to_owned()),
        }
    }
}

/// Parses machines as `ROLE=HOST,ROLE=HOST`.
fn named(list: &str, place: impl Fn(String) -> Place) -> Result<Machines, String> {
    list.split(',').map(|text| role_and_place(text, &place)).collect::<Result<_, _>>().map(Machines::Named)
}

/// Parses one `ROLE=HOST`.
fn role_and_place(text: &str, place: impl Fn(String) -> Place) -> Result<(String, Place), String> {
    let (role, host) =
        text.split_once('=').ok_or_else(|| format!("{text:?} is not ROLE=HOST, such as loader=n3"))?;
    if !ROLES.contains(&role) {
        return Err(format!("{role:?} is not a role: use {}", ROLES.join(", ")));
    }
    if !is_word(host) {
        return Err(format!("{host:?} is not a host name"));
    }
    Ok((role.to_owned(), place(host.to_owned())))
}

/// Whether a name cannot be mistaken for an option, a list or a pattern.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:[]".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Why the program could not be sent to a place, or started there.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The local side failed: the program cannot be read, or ssh or srun is missing.
    #[error("cannot send {program} to {host} with ssh or srun: {source}")]
    Local {
        /// The program.
        program: String,
        /// The destination.
        host: String,
        /// The cause.
        source: io::Error,
    },
    /// The other side failed.
    #[error("cannot start {program} on {host}: {said}")]
    Remote {
        /// The program.
        program: String,
        /// The destination.
        host: String,
        /// Its standard error, or its exit status.
        said: String,
    },
}

/// A program that runs at a place.
#[derive(Debug)]
pub struct StartedProgram {
    /// The local process, with its standard input.
    pub child: Child,
    /// Its output from its start on.
    pub output: BufReader<ChildStdout>,
    /// Its standard error.
    pub errors: KeptOutput,
}

/// How long a start may take.
#[derive(Clone, Copy)]
struct StartLimits {
    /// Until the first line of output.
    silence: Duration,
    /// In all.
    all: Duration,
}

/// What came of a start, as far as its output shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartOutput {
    /// The program runs.
    There,
    /// The output ended.
    Ended,
    /// The output is not that of a login shell: it has no end, or is too long.
    TooLong,
}

/// Why a start was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartKilled {
    Interrupted,
    Late(Duration),
}

impl SshConnection<'_> {
    /// Options for ssh. Without a folder ssh follows its own configuration.
    fn options(self) -> Vec<OsString> {
        let (folder, master) = match self {
            SshConnection::Shared => match std::env::var_os(SSH_CONTROL) {
                Some(folder) => (folder, "no"),
                None => return Vec::new(),
            },
            SshConnection::Through(folder) => (folder.as_os_str().to_owned(), "no"),
            SshConnection::Master(folder) => (folder.as_os_str().to_owned(), "yes"),
        };
        let mut path = OsString::from("ControlPath=");
        path.push(folder);
        // A name of fixed length for user, host and port: a socket's path has at most 107 bytes.
        path.push("/%C");
        ["-o".into(), format!("ControlMaster={master}").into(), "-o".into(), path].into()
    }
}

impl Place {
    /// The name in records.
    pub fn name(&self) -> &str {
        match self {
            Place::Local => paceline_record::Loader::LOCAL,
            Place::Ssh { host } => host,
            Place::Slurm { node, .. } => node,
        }
    }

    /// A command that runs a program there, in a separate process group: a terminal's Ctrl-C does not reach it.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        self.command_by(SshConnection::Shared, program, arguments)
    }

    /// As [`Place::command`]; `control` sets whether its connection is shared.
    pub fn command_by(&self, control: SshConnection<'_>, program: &str, arguments: &[&str]) -> Command {
        let mut command = match self {
            Place::Local => Command::new(program),
            Place::Ssh { host } => {
                let mut ssh = Command::new("ssh");
                ssh.args(["-T", "-o", "BatchMode=yes"]);
                ssh.args(["-o", &format!("ConnectTimeout={SSH_CONNECT_S}")]);
                ssh.args(["-o", &format!("ServerAliveInterval={SSH_ALIVE_S}")]);
                ssh.args(["-o", &format!("ServerAliveCountMax={SSH_ALIVE_MISSING}")]);
                ssh.args(control.options());
                ssh.args(["--", host]);
                // The arguments of ssh are parsed by a shell on the other side.
                ssh.arg(shell_line(std::iter::once(program).chain(arguments.iter().copied())));
                ssh
            }
            Place::Slurm { job, node } => {
                let mut srun = Command::new("srun");
                srun.args([format!("--jobid={job}"), format!("--nodelist={node}")]);
                srun.args(["--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--quit-on-interrupt"]);
                srun.arg(program);
                srun
            }
        };
        if !matches!(self, Place::Ssh { .. }) {
            command.args(arguments);
        }
        command.process_group(0);
        command
    }
}

/// A program to send to other machines, read once for all of them.
#[derive(Clone, Debug)]
pub struct ProgramCopy {
    program: PathBuf,
    bytes: u64,
    id: String,
}

impl ProgramCopy {
    /// Reads a program's size and digest.
    ///
    /// # Errors
    /// When the program cannot be read.
    pub fn from_program(program: &Path) -> io::Result<Self> {
        let noted = std::env::var(PROGRAM_DIGEST).unwrap_or_default();
        let known =
            noted.split_once(' ').filter(|(stamp, _)| stamp_of(program).is_ok_and(|own| own == *stamp));
        let (bytes, id) = match known.filter(|(_, id)| is_digest(id)) {
            Some((_, id)) => (std::fs::metadata(program)?.len(), id.to_owned()),
            None => identity(program)?,
        };
        Ok(Self { program: program.to_owned(), bytes, id })
    }

    /// The value of [`PROGRAM_DIGEST`] for child processes, which then need not read the whole program again.
    ///
    /// # Errors
    /// When the metadata of the file cannot be read.
    pub fn note(&self) -> io::Result<String> {
        Ok(format!("{} {}", stamp_of(&self.program)?, self.id))
    }

    /// A command that runs the program at a place. If the program is missing there, the command requests it first: it
    /// prints [`ProgramCopy::MISSING`], reads the program, and prints [`ProgramCopy::THERE`] before the program starts.
    /// All of this uses one connection.
    pub fn command(&self, place: &Place, control: SshConnection<'_>, arguments: &[&str]) -> Command {
        if *place == Place::Local {
            let script = format!("echo {}; exec \"$0\" \"$@\"", Self::THERE);
            let program = self.program.to_string_lossy().into_owned();
            let words: Vec<&str> = ["-c", &script, &program].iter().chain(arguments).copied().collect();
            return place.command_by(control, "sh", &words);
        }
        let script = format!(
            "{}{}echo {}\nexec \"$f\" \"$@\"",
            architecture_script(std::env::consts::ARCH),
            keeping_script(&self.id, self.bytes),
            Self::THERE
        );
        let words: Vec<&str> = ["-c", &script, "paceline"].iter().chain(arguments).copied().collect();
        place.command_by(control, "sh", &words)
    }

    /// Starts the program at a place, sends it there if it is missing, and waits until it runs: at most two
    /// minutes, and not after an interrupt. What the place prints until then is bounded.
    ///
    /// # Errors
    /// [`PlaceError`] when the program cannot be read, sent or started.
    pub fn start(
        &self,
        place: &Place,
        control: SshConnection<'_>,
        arguments: &[&str],
        interrupt: Interrupt,
    ) -> Result<StartedProgram, PlaceError> {
        // A step of Slurm may wait for another one.
        let silence = if matches!(place, Place::Slurm { .. }) { START_LIMIT } else { SILENCE_LIMIT };
        let limits = StartLimits { silence, all: START_LIMIT };
        self.start_by(self.command(place, control, arguments), place.name(), limits, interrupt)
    }

    fn start_by(
        &self,
        mut command: Command,
        host: &str,
        limits: StartLimits,
        interrupt: Interrupt,
    ) -> Result<StartedProgram, PlaceError> {
        let (program, host) = (self.program.display().to_string(), host.to_owned());
        let local = |source| PlaceError::Local { program: program.clone(), host: host.clone(), source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(local)?;
        let (Some(mut input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(local(io::ErrorKind::BrokenPipe.into()));
        };
        let (group, mut output) = (child.id().cast_signed(), BufReader::new(output));
        let errors = KeptOutput::from_stream(errors, MAX_SAID_BYTES)
            .inspect_err(|_| end(&mut child))
            .map_err(local)?;
        let (heard, hearing) = mpsc::channel::<()>();
        let (found, killed) = thread::scope(|scope| {
            let watch = scope.spawn(move || kill_when_late(group, limits, interrupt, &hearing));
            let found = self.wait_until_there(&mut input, &mut output, &heard);
            drop(heard);
            (found, watch.join().unwrap_or_default())
        });
        if found == StartOutput::There && killed.is_none() {
            child.stdin = Some(input);
            return Ok(StartedProgram { child, output, errors });
        }
        drop((input, output));
        let status = end_soon(&mut child).map_err(local)?;
        let said = match (killed, found, errors.text().trim()) {
            (Some(StartKilled::Interrupted), ..) => "interrupted".to_owned(),
            (Some(StartKilled::Late(limit)), ..) => {
                format!("the program did not start within {} s", limit.as_secs())
            }
            (None, StartOutput::TooLong, _) => format!(
                "the other side printed more than {} KiB before the program started",
                MAX_GREETING_BYTES >> 10
            ),
            (None, _, "") => format!("the program ended with {status}"),
            (None, _, said) => said.to_owned(),
        };
        Err(PlaceError::Remote { program, host, said })
    }

    /// Sends the program if the place requests it, once. `heard` is told when the first line has arrived.
    fn wait_until_there(
        &self,
        input: &mut ChildStdin,
        output: &mut BufReader<ChildStdout>,
        heard: &Sender<()>,
    ) -> StartOutput {
        let mut greeting = output.by_ref().take(MAX_GREETING_BYTES);
        let mut is_sent = false;
        loop {
            let line = match paceline_files::read_line(&mut greeting, MAX_GREETING_BYTES) {
                Ok(Some(line)) => line,
                _ if greeting.limit() == 0 => return StartOutput::TooLong,
                _ => return StartOutput::Ended,
            };
            // The watch has ended only if it killed the process.
            let _ = heard.send(());
            match line.trim_ascii() {
                word if word == Self::THERE.as_bytes() => return StartOutput::There,
                word if word == Self::MISSING.as_bytes() && !is_sent => {
                    is_sent = true;
                    // A place that fails while it receives says why.
                    let _ = self.write(input);
                }
                // Output of a login shell.
                _ => {}
            }
        }
    }

    /// The line that requests the program.
    pub const MISSING: &'static str = "missing";
    /// The line after which the program starts.
    pub const THERE: &'static str = "there";

    /// Writes the program.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        io::copy(&mut File::open(&self.program)?, to)?;
        to.flush()
    }
}

/// Kills a process group when a limit is over or at an interrupt, unless the other end of `heard` is dropped before;
/// returns why it did. The limit of silence ends with the first message.
fn kill_when_late(
    group: i32,
    limits: StartLimits,
    interrupt: Interrupt,
    heard: &Receiver<()>,
) -> Option<StartKilled> {
    let begun = Instant::now();
    let mut limit = limits.silence;
    loop {
        match heard.recv_timeout(Interrupt::CHECK_INTERVAL) {
            Ok(()) => limit = limits.all,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let is_late = (begun.elapsed() >= limit).then_some(StartKilled::Late(limit));
        if let Some(why) = interrupt.requested().then_some(StartKilled::Interrupted).or(is_late) {
            let _ = system::kill_group(group, libc::SIGKILL);
            return Some(why);
        }
    }
}

/// Kills a process group that leads itself, and waits for its first process.
fn end(child: &mut Child) {
    let _ = system::kill_group(child.id().cast_signed(), libc::SIGKILL);
    let _ = child.wait();
}

/// Waits a moment for the end of a process, then ends it.
fn end_soon(child: &mut Child) -> io::Result<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < END_LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    end(child);
    child.wait()
}

/// Metadata that changes when a file is written or replaced.
fn stamp_of(path: &Path) -> io::Result<String> {
    let found = std::fs::metadata(path)?;
    let (seconds, nanos) = (found.ctime(), found.ctime_nsec());
    Ok(format!("{}:{}:{}:{seconds}.{nanos}", found.dev(), found.ino(), found.len()))
}

/// Whether a word has the form of a digest of [`identity`].
fn is_digest(word: &str) -> bool {
    word.len() == 2 * DIGEST_BYTES && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The size of a file in bytes, and the beginning of its SHA-256 in hexadecimal.
fn identity(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut digest, mut piece, mut bytes) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        digest.update(piece.get(..read).unwrap_or_default());
    }
    Ok((bytes, digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()))
}

/// A script that ends with an error on a machine of another architecture. Some shells would run the program as a script
/// there, and print syntax errors. Only architectures that `uname` gives the same name are compared.
fn architecture_script(own: &str) -> String {
    match own {
        "x86_64" | "aarch64" | "riscv64" | "s390x" => format!(
            "m=$(uname -m); [ \"$m\" = {own} ] || {{ echo \"this program is for {own}, not for $m\" >&2; exit 1; }}\n"
        ),
        _ => String::new(),
    }
}

/// A script that stores the program from standard input in the user's cache, where other users cannot replace it, as
/// `$f`. An incomplete file is removed.
fn keeping_script(id: &str, bytes: u64) -> String {
    format!(
        "set -e; d=\"${{XDG_CACHE_HOME:-${{HOME:?}}/.cache}}/paceline/bin\"; f=\"$d/paceline-{id}\"
if [ ! -x \"$f\" ]; then
  mkdir -p \"$d\"; chmod 700 \"$d\"; t=\"$f.$$\"; trap 'rm -f \"$t\"' EXIT; echo {missing}
  head -c {bytes} >\"$t\"; [ \"$(wc -c <\"$t\")\" -eq {bytes} ] || {{ echo 'the program did not arrive completely' >&2; exit 1; }}
  chmod 755 \"$t\"; mv \"$t\" \"$f\"
fi
",
        missing = ProgramCopy::MISSING
    )
}

#[cfg(test)]
mod tests;
