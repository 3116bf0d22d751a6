//! The connection to a node: opened once for a launch and kept alive. One thread sends one request at a time.

use super::message::{MAX_LINE_BYTES, NodeInfo, NodeSettings, ToNode};
use paceline_host::channel::{Channel, ChannelEvent};
use paceline_host::clock::ours;
use paceline_host::{Interrupt, KeptOutput, Place, PlaceError, ProgramCopy, SshConnection};
use paceline_record::{ClockOffset, Environment};
use serde::de::DeserializeOwned;
use std::io;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time for a node to answer a short request: longer than ssh takes to close a dead connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Interval of the check for an interrupt.
const LOOK: Duration = Duration::from_millis(20);
/// How long a node may take to end: its servers have 5 s after SIGTERM.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long a lost node may take: it may never close its output.
const LOST_LIMIT: Duration = Duration::from_secs(1);
/// Answers that wait to be read: a node sends one for each request.
const MAX_ANSWERS: usize = 4;
/// Bytes kept of the standard error of a copy.
const MAX_SAID_BYTES: usize = 4096;

/// A connection to a node. When it is dropped, the node stops all processes that it started.
#[derive(Debug)]
pub(crate) struct Node {
    host: String,
    place: Place,
    /// Holds the socket by which commands share the connection.
    control: PathBuf,
    answers: Mutex<Receiver<ChannelEvent>>,
    channel: Channel,
    /// Why the connection is no longer usable.
    lost: Mutex<Option<String>>,
    clock: Mutex<ClockOffset>,
    info: NodeInfo,
}

/// A node is no longer reachable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no connection to {host}: {why}")]
pub(crate) struct NodeLost {
    /// The node.
    pub host: String,
    /// What happened, for people.
    pub why: String,
    /// Whether the user ended the wait.
    pub interrupted: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// Connects to a place; this program is copied there if it is missing.
    ///
    /// # Errors
    /// [`NodeLost`] with what the connection printed.
    pub(crate) fn connect(
        place: &Place,
        control: &Path,
        program: &ProgramCopy,
        settings: &NodeSettings,
        interrupt: Interrupt,
    ) -> Result<Arc<Self>, NodeLost> {
        let host = place.name().to_owned();
        let lost = |why: String| NodeLost { host: host.clone(), why, interrupted: false };
        let started = program.start(place, SshConnection::Master(control), &["node"], interrupt);
        let program = started.map_err(|error| match error {
            PlaceError::Remote { said, .. } => NodeLost { interrupted: interrupt.requested(), ..lost(said) },
            PlaceError::Local { .. } => lost(error.to_string()),
        })?;
        let (speaking, answers) = mpsc::sync_channel(MAX_ANSWERS);
        let deliver = move |event| speaking.send(event).is_ok();
        let channel =
            Channel::new(program, MAX_LINE_BYTES, deliver).map_err(|error| lost(error.to_string()))?;
        let mut node = Self {
            host: host.clone(),
            place: place.clone(),
            control: control.to_owned(),
            answers: Mutex::new(answers),
            channel,
            lost: Mutex::default(),
            clock: Mutex::default(),
            info: NodeInfo::default(),
        };
        node.info = node.ask(&ToNode::Hello(Box::new(settings.clone())))?;
        node.compare_clocks()?;
        Ok(Arc::new(node))
    }

    /// The name it was reached by.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Its machine.
    pub(crate) fn environment(&self) -> &Environment {
        &self.info.environment
    }

    /// The address by which it was reached.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.info.address
    }

    /// Its cores, in groups of hardware threads that share one physical core.
    pub(crate) fn cores(&self) -> &[Vec<u32>] {
        &self.info.cores
    }

    /// Identifies the machine, also under another name.
    pub(crate) fn machine_id(&self) -> Option<&str> {
        self.info.machine_id.as_deref()
    }

    /// Its monotonic clock minus this machine's.
    pub(crate) fn clock(&self) -> ClockOffset {
        *locked(&self.clock)
    }

    /// Converts a moment of its clock to this machine's clock.
    pub(crate) fn ours(&self, theirs_ns: u64) -> u64 {
        ours(theirs_ns, &self.clock())
    }

    /// Compares its clock with this machine's.
    pub(crate) fn compare_clocks(&self) -> Result<(), NodeLost> {
        match self.channel.compare_clocks(ANSWER_LIMIT) {
            Ok(Some(offset)) => {
                *locked(&self.clock) = offset;
                Ok(())
            }
            Ok(None) => match self.receive(ANSWER_LIMIT, None) {
                Ok(_) => Err(self.give_up("it sent a message without a request".to_owned(), false)),
                Err(lost) => Err(lost),
            },
            Err(silent) => Err(self.give_up(silent.to_string(), false)),
        }
    }

    /// Sends a request with a short time limit.
    pub(crate) fn ask<T: DeserializeOwned>(&self, message: &ToNode) -> Result<T, NodeLost> {
        self.ask_at(message, ANSWER_LIMIT, None)
    }

    /// Sends a request that may take long.
    pub(crate) fn ask_within<T: DeserializeOwned>(
        &self,
        message: &ToNode,
        limit: Duration,
        interrupt: Interrupt,
    ) -> Result<T, NodeLost> {
        self.ask_at(message, limit + ANSWER_LIMIT, Some(interrupt))
    }

    fn ask_at<T: DeserializeOwned>(
        &self,
        message: &ToNode,
        limit: Duration,
        interrupt: Option<Interrupt>,
    ) -> Result<T, NodeLost> {
        if let Some(why) = locked(&self.lost).clone() {
            return Err(NodeLost { host: self.host.clone(), why, interrupted: false });
        }
        // A lost node is noticed by the end of its output.
        let _ = self.channel.send(message);
        let line = self.receive(limit, interrupt)?;
        serde_json::from_slice(&line).map_err(|error| self.invalid(&error))
    }

    /// Copies a folder of this machine to the same path there.
    pub(crate) fn send(&self, folder: &Path) -> io::Result<()> {
        let there = folder.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let arguments = ["--extract", "--preserve-permissions", "--file=-", "--directory", there];
        let mut receiving = self.place.command_by(SshConnection::Through(&self.control), "tar", &arguments);
        let mut receiving =
            receiving.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let to = receiving.stdin.take().map_or_else(Stdio::null, Stdio::from);
        let errors = receiving
            .stderr
            .take()
            .map(|errors| KeptOutput::from_stream(errors, MAX_SAID_BYTES))
            .transpose()?;
        let mut sending = Command::new("tar");
        sending.args(["--create", "--file=-", "--directory"]).arg(folder).arg(".");
        let sent = sending.stdin(Stdio::null()).stdout(to).stderr(Stdio::piped()).output();
        // Dropping it closes its end of the pipe, so that the other side reads the end of input.
        drop(sending);
        let received = receiving.wait()?;
        let sent = sent?;
        let received_said = errors.map_or_else(String::new, |errors| errors.line());
        match copy_problem(sent.status, &sent.stderr, received, &received_said) {
            Some(problem) => Err(io::Error::other(problem)),
            None => Ok(()),
        }
    }

    fn receive(&self, limit: Duration, interrupt: Option<Interrupt>) -> Result<Vec<u8>, NodeLost> {
        let answers = locked(&self.answers);
        let deadline = Instant::now() + limit;
        loop {
            match answers.recv_timeout(LOOK) {
                Ok(ChannelEvent::Message(_, line)) => return Ok(line),
                Ok(ChannelEvent::Invalid(error)) => return Err(self.invalid(&error)),
                Ok(ChannelEvent::Ended(said)) => return Err(self.ended(said)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(String::new())),
                Err(RecvTimeoutError::Timeout) if interrupt.is_some_and(Interrupt::requested) => {
                    return Err(self.give_up("interrupted".to_owned(), true));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > deadline => {
                    return Err(self.give_up(format!("no response within {} s", limit.as_secs()), false));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn ended(&self, said: String) -> NodeLost {
        let why = if said.is_empty() {
            "Paceline on that machine ended without an error message".to_owned()
        } else {
            said
        };
        self.give_up(why, false)
    }

    fn invalid(&self, error: &dyn std::error::Error) -> NodeLost {
        self.give_up(format!("it sent an invalid message: {error}"), false)
    }

    /// Closes the connection: the node stops its processes.
    fn give_up(&self, why: String, interrupted: bool) -> NodeLost {
        self.channel.close();
        *locked(&self.lost) = Some(why.clone());
        NodeLost { host: self.host.clone(), why, interrupted }
    }
}

/// Why a copy failed, from the ends of tar here and of the connection with tar there. A sender killed by SIGPIPE is not
/// the cause: the other side ended first, and says why.
fn copy_problem(
    sent: ExitStatus,
    sent_said: &[u8],
    received: ExitStatus,
    received_said: &str,
) -> Option<String> {
    let text = |said: &str, status: ExitStatus| match said {
        "" => status.to_string(),
        said => said.to_owned(),
    };
    if !sent.success() && sent.signal() != Some(libc::SIGPIPE) {
        let said = sent_said.get(..MAX_SAID_BYTES).unwrap_or(sent_said);
        let said = String::from_utf8_lossy(said).trim().replace('\n', "; ");
        return Some(format!("tar failed on this machine: {}", text(&said, sent)));
    }
    (!received.success()).then(|| text(received_said, received))
}

impl Drop for Node {
    /// The node ends when its channel does; a lost one is hardly waited for.
    fn drop(&mut self) {
        let limit = if locked(&self.lost).is_some() { LOST_LIMIT } else { END_LIMIT };
        self.channel.end(Instant::now() + limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_the_other_side_ended_is_not_a_failure_of_this_machine() {
        let problem = |sent, sent_said: &str, received, received_said| {
            let (sent, received) = (ExitStatus::from_raw(sent), ExitStatus::from_raw(received));
            copy_problem(sent, sent_said.as_bytes(), received, received_said)
        };
        assert_eq!(problem(0, "", 0, ""), None);
        let missing = "sh: 1: tar: not found";
        assert_eq!(problem(libc::SIGPIPE, "", 127 << 8, missing).as_deref(), Some(missing));
        assert_eq!(problem(0, "", 2 << 8, "").as_deref(), Some("exit status: 2"));
        let unreadable = problem(2 << 8, "tar: ./a: Cannot open: Permission denied\ntar: Exiting\n", 0, "");
        let expected = "tar failed on this machine: tar: ./a: Cannot open: Permission denied; tar: Exiting";
        assert_eq!(unreadable.as_deref(), Some(expected));
        let killed = problem(libc::SIGKILL, "", 2 << 8, "tar: Unexpected EOF in archive").unwrap();
        assert!(killed.starts_with("tar failed on this machine: signal: 9"), "{killed}");
    }
}
