//! One channel to a Paceline process at another place, over its standard input and output.
//!
//! [`Channel`] is this machine's end, [`listen`] and [`ChannelOutput`] are that process's. A line is one message as
//! JSON, or one of the channel's own: an empty line keeps the channel alive, `?` asks for the other clock, and `!` with
//! nanoseconds answers. The process notices the end of the channel by the end of its input, or by silence: a cut link
//! may not close the connection.

use crate::clock::{RoundTrip, offset};
use crate::system::monotonic_ns;
use crate::{KeptOutput, StartedProgram};
use paceline_record::ClockOffset;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Interval of keep-alive lines to the process.
const ALIVE_EVERY: Duration = Duration::from_secs(4);
/// After this time without a line the process takes the channel for lost: ssh closes a dead connection after 15 s.
const SILENCE_LIMIT: Duration = Duration::from_secs(20);
/// Longest delay after that limit until silence is noticed.
const LOOK: Duration = Duration::from_millis(100);
/// Round trips for a clock comparison.
const ROUND_TRIPS: usize = 8;
/// Longest time that a process takes to end when its channel is dropped.
const END_LIMIT: Duration = Duration::from_secs(5);
/// The interval at which the end of a process is checked.
const END_LOOK: Duration = Duration::from_millis(5);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line, in either direction.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Alive,
    Ping,
    Pong {
        theirs_ns: u64,
    },
    /// JSON.
    Message(Vec<u8>),
}

/// The next line of at most `most` bytes, with the moment when it was complete; `None` at the end.
fn read_line(from: &mut impl BufRead, most: u64) -> io::Result<Option<(u64, Line)>> {
    let Some(line) = paceline_files::read_line(from, most)? else { return Ok(None) };
    let at = monotonic_ns();
    let line = match line.as_slice() {
        b"\n" => Line::Alive,
        b"?\n" => Line::Ping,
        [b'!', number @ .., b'\n'] => {
            let number = str::from_utf8(number).ok().and_then(|number| number.parse().ok());
            Line::Pong { theirs_ns: number.ok_or(io::ErrorKind::InvalidData)? }
        }
        _ => Line::Message(line),
    };
    Ok(Some((at, line)))
}

fn message_line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn write_line(to: &mut impl Write, line: &[u8]) -> io::Result<()> {
    to.write_all(line)?;
    to.flush()
}

/// What a process sends.
#[derive(Debug)]
pub enum ChannelEvent {
    /// A message as JSON, with the moment when it was read, on this machine's monotonic clock in nanoseconds.
    Message(u64, Vec<u8>),
    /// A line that cannot be read: nothing after it is.
    Invalid(io::Error),
    /// Its output has ended; the last line of its standard error.
    Ended(String),
}

/// The channel to a process that was started at a place. When it is dropped, the process ends.
#[derive(Debug)]
pub struct Channel {
    shared: Arc<Shared>,
    child: Child,
}

#[derive(Debug)]
struct Shared {
    /// Keep-alive lines are written beside messages.
    input: Mutex<Option<ChildStdin>>,
    reply: Mutex<ClockReply>,
    replied: Condvar,
}

/// The state of a clock comparison.
#[derive(Debug, Default)]
struct ClockReply {
    /// When an answer was read, and the time in it.
    pong: Option<(u64, u64)>,
    has_ended: bool,
}

/// A process did not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no response within {} s", .0.as_secs())]
pub struct ChannelSilent(pub Duration);

impl Shared {
    fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut input = locked(&self.input);
        write_line(input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?, line)
    }

    /// Passes on the messages of `output` until its end, or until `deliver` returns false.
    fn read(
        &self,
        mut output: BufReader<ChildStdout>,
        most: u64,
        errors: &KeptOutput,
        mut deliver: impl FnMut(ChannelEvent) -> bool,
    ) {
        let is_wanted = loop {
            match read_line(&mut output, most) {
                Ok(Some((at, Line::Message(line)))) => {
                    if !deliver(ChannelEvent::Message(at, line)) {
                        break false;
                    }
                }
                Ok(Some((at, Line::Pong { theirs_ns }))) => {
                    locked(&self.reply).pong = Some((at, theirs_ns));
                    self.replied.notify_all();
                }
                Ok(Some((_, Line::Alive | Line::Ping))) => {}
                Ok(None) => break true,
                Err(error) => break deliver(ChannelEvent::Invalid(error)),
            }
        };
        if is_wanted {
            deliver(ChannelEvent::Ended(errors.line()));
        }
        locked(&self.reply).has_ended = true;
        self.replied.notify_all();
    }
}

impl Channel {
    /// The channel to a started process. `deliver` is called in a separate thread with each message of at most `most`
    /// bytes, and at the end; it returns whether more are wanted.
    ///
    /// # Errors
    /// When a thread cannot be started; the process is killed.
    pub fn new(
        program: StartedProgram,
        most: u64,
        deliver: impl FnMut(ChannelEvent) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let StartedProgram { mut child, output, errors } = program;
        let input = Mutex::new(child.stdin.take());
        let shared = Arc::new(Shared { input, reply: Mutex::default(), replied: Condvar::new() });
        let mut channel = Self { shared: Arc::clone(&shared), child };
        let kept = Arc::downgrade(&shared);
        let read = move || shared.read(output, most, &errors, deliver);
        let started = thread::Builder::new().name("channel".to_owned()).spawn(read);
        let started = started.and_then(|_| {
            thread::Builder::new().name("channel alive".to_owned()).spawn(move || keep_alive(&kept))
        });
        match started {
            Ok(_) => Ok(channel),
            Err(error) => {
                channel.end(Instant::now());
                Err(error)
            }
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the process no longer reads. Its end is delivered too.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        self.shared.write(&message_line(message)?)
    }

    /// The other clock minus this machine's, from some round trips; `None` if the process ends before the first.
    ///
    /// # Errors
    /// [`ChannelSilent`] when an answer takes longer than `limit`.
    pub fn compare_clocks(&self, limit: Duration) -> Result<Option<ClockOffset>, ChannelSilent> {
        let mut trips = Vec::with_capacity(ROUND_TRIPS);
        for _ in 0..ROUND_TRIPS {
            locked(&self.shared.reply).pong = None;
            let sent_ns = monotonic_ns();
            // A process that no longer reads is noticed by the end of its output.
            let _ = self.shared.write(b"?\n");
            let is_open = |reply: &mut ClockReply| reply.pong.is_none() && !reply.has_ended;
            let reply = self.shared.replied.wait_timeout_while(locked(&self.shared.reply), limit, is_open);
            let (reply, waited) = reply.unwrap_or_else(PoisonError::into_inner);
            match reply.pong {
                Some((received_ns, theirs_ns)) => trips.push(RoundTrip { sent_ns, theirs_ns, received_ns }),
                None if waited.timed_out() => return Err(ChannelSilent(limit)),
                None => break,
            }
        }
        Ok(offset(&trips))
    }

    /// Closes the input of the process, which makes it end.
    pub fn close(&self) {
        let _ = locked(&self.shared.input).take();
    }

    /// Ends the process: it ends when its input does, and is killed if it has not by `deadline`.
    pub fn end(&mut self, deadline: Instant) {
        self.close();
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(END_LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.end(Instant::now() + END_LIMIT);
    }
}

/// Sends keep-alive lines for as long as the channel is open.
fn keep_alive(shared: &Weak<Shared>) {
    loop {
        thread::sleep(ALIVE_EVERY);
        let Some(shared) = shared.upgrade() else { return };
        if shared.write(b"\n").is_err() {
            return;
        }
    }
}

/// The output of a process that was started for a channel.
#[derive(Debug)]
pub struct ChannelOutput<W>(Mutex<W>);

impl<W: Write> ChannelOutput<W> {
    /// Messages are written to `output`.
    pub fn new(output: W) -> Self {
        Self(Mutex::new(output))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the other end no longer reads.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        write_line(&mut *locked(&self.0), &message_line(message)?)
    }

    fn pong(&self, at_ns: u64) -> io::Result<()> {
        write_line(&mut *locked(&self.0), format!("!{at_ns}\n").as_bytes())
    }
}

/// The first message for this process; `None` where the input ends before.
///
/// # Errors
/// When a line cannot be read, or is another message.
pub fn first_message<M: DeserializeOwned>(input: &mut impl BufRead, most: u64) -> io::Result<Option<M>> {
    loop {
        match read_line(input, most)? {
            None => return Ok(None),
            Some((_, Line::Alive)) => {}
            Some((_, Line::Message(line))) => return Ok(Some(serde_json::from_slice(&line)?)),
            Some((_, Line::Ping | Line::Pong { .. })) => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// How a channel ended, seen from the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelEnd {
    /// The input has ended, had a line that is not a message, or was not wanted any more.
    Closed,
    /// Nothing was heard for too long.
    Silent,
}

/// Reads the messages for this process in a separate thread, and answers questions for its clock there. `handle` returns
/// whether more messages are wanted. `ended` is called at the end of the input, and when the other end is silent.
///
/// # Errors
/// When a thread cannot be started.
pub fn listen<M: DeserializeOwned>(
    input: impl BufRead + Send + 'static,
    output: Arc<ChannelOutput<impl Write + Send + 'static>>,
    most: u64,
    handle: impl FnMut(M) -> bool + Send + 'static,
    ended: impl Fn(ChannelEnd) + Send + Sync + 'static,
) -> io::Result<()> {
    let heard = Arc::new(Mutex::new(Instant::now()));
    let ended = Arc::new(ended);
    let (watched, silent) = (Arc::downgrade(&heard), Arc::clone(&ended));
    thread::Builder::new().name("silence".to_owned()).spawn(move || {
        if is_silent(&watched, SILENCE_LIMIT) {
            silent(ChannelEnd::Silent);
        }
    })?;
    thread::Builder::new().name("messages".to_owned()).spawn(move || {
        read_messages(input, &output, most, &heard, handle);
        ended(ChannelEnd::Closed);
    })?;
    Ok(())
}

fn read_messages<M: DeserializeOwned>(
    mut input: impl BufRead,
    output: &ChannelOutput<impl Write>,
    most: u64,
    heard: &Mutex<Instant>,
    mut handle: impl FnMut(M) -> bool,
) {
    while let Ok(Some((at, line))) = read_line(&mut input, most) {
        *locked(heard) = Instant::now();
        let is_wanted = match line {
            Line::Alive => true,
            Line::Ping => output.pong(at).is_ok(),
            Line::Pong { .. } => false,
            Line::Message(line) => serde_json::from_slice(&line).is_ok_and(&mut handle),
        };
        if !is_wanted {
            return;
        }
    }
}

/// Waits until nothing was heard for longer than `limit`; false if the channel has ended before.
fn is_silent(heard: &Weak<Mutex<Instant>>, limit: Duration) -> bool {
    loop {
        let Some(heard) = heard.upgrade() else { return false };
        let silent = locked(&heard).elapsed();
        drop(heard);
        if silent > limit {
            return true;
        }
        thread::sleep(limit - silent + LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;

    const MAX_BYTES: u64 = 64;

    /// A process at the end of a channel: answers pings with 7 ns, and sends every other line back.
    fn started(script: &str) -> (Channel, mpsc::Receiver<ChannelEvent>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let errors = KeptOutput::from_stream(child.stderr.take().unwrap(), 100).unwrap();
        let (sender, events) = mpsc::channel();
        let program = StartedProgram { child, output, errors };
        let deliver = move |event| sender.send(event).is_ok();
        (Channel::new(program, MAX_BYTES, deliver).unwrap(), events)
    }

    #[test]
    fn messages_clock_and_end_of_a_process() {
        let script = "while read line; do case $line in '?') echo '!7';; *) echo \"$line\";; esac; done; \
                      echo gone >&2";
        let (channel, events) = started(script);
        channel.send(&["one"]).unwrap();
        let now = monotonic_ns();
        let clock = channel.compare_clocks(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(clock.round_trips, ROUND_TRIPS as u32);
        assert!(clock.low_ns <= 7 - now as i64 && clock.high_ns <= 7, "{clock:?}");
        channel.close();
        assert!(channel.send(&["two"]).is_err());
        assert!(matches!(events.recv(), Ok(ChannelEvent::Message(_, line)) if line == b"[\"one\"]\n"));
        assert!(matches!(events.recv(), Ok(ChannelEvent::Ended(said)) if said == "gone"));
        assert_eq!(channel.compare_clocks(Duration::from_secs(60)), Ok(None));
    }

    #[test]
    fn a_line_beyond_the_limit_ends_the_channel() {
        let (_channel, events) = started("printf '%0100d\\n' 1; cat");
        assert!(matches!(events.recv(), Ok(ChannelEvent::Invalid(_))));
        assert!(matches!(events.recv(), Ok(ChannelEvent::Ended(_))));
    }

    #[test]
    fn a_process_that_does_not_answer_is_silent() {
        let (mut channel, _events) = started("sleep 600");
        let limit = Duration::from_millis(20);
        assert_eq!(channel.compare_clocks(limit), Err(ChannelSilent(limit)));
        channel.end(Instant::now());
    }

    /// What a process with this input handles and answers.
    fn handled(input: &'static [u8]) -> (Vec<u32>, String) {
        let output = Arc::new(ChannelOutput::new(Vec::new()));
        let mut messages = Vec::new();
        let heard = Mutex::new(Instant::now());
        let handle = |message: u32| {
            messages.push(message);
            message != 9
        };
        read_messages(input, &output, MAX_BYTES, &heard, handle);
        let answers = String::from_utf8(locked(&output.0).clone()).unwrap();
        (messages, answers)
    }

    #[test]
    fn a_process_handles_messages_and_answers_pings() {
        let (messages, answers) = handled(b"1\n\n?\n2\n9\n3\n");
        assert_eq!(messages, [1, 2, 9]);
        let at: u64 = answers.trim_end().strip_prefix('!').unwrap().parse().unwrap();
        assert!(at <= monotonic_ns());
        for invalid in [&b"\"1\"\n2\n"[..], b"!x\n2\n", b"!1\n2\n", b"\xff\n2\n", b"2"] {
            assert_eq!(handled(invalid).0, [0; 0], "{}", String::from_utf8_lossy(invalid));
        }
    }

    #[test]
    fn the_first_message_follows_keep_alive_lines() {
        let first = |mut input: &[u8]| first_message::<u32>(&mut input, MAX_BYTES).ok();
        assert_eq!(first(b"\n\n5\n6\n"), Some(Some(5)));
        assert_eq!(first(b"\n"), Some(None));
        assert_eq!((first(b"?\n"), first(b"[]\n")), (None, None));
    }

    #[test]
    fn silence_is_noticed_and_an_ended_channel_is_not_silent() {
        let heard = Arc::new(Mutex::new(Instant::now()));
        assert!(is_silent(&Arc::downgrade(&heard), Duration::ZERO));
        let weak = Arc::downgrade(&heard);
        drop(heard);
        assert!(!is_silent(&weak, Duration::from_secs(600)));
    }
}
