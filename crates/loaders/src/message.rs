//! The messages between coordinator and loader: one JSON object per line.
//!
//! The order of a conversation: `order`, then the loader connects and says `connected`; some `ping` and `pong`; `start`
//! with the moment to begin; the load; `done` with the result, or `failed`; `ping` and `pong` again; the end of the
//! loader's standard input. That end also comes when the coordinator dies: a loader whose work is not done ends then.

use paceline_job::Job;
use paceline_record::{NetworkUse, Run};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

/// Longest line: a record of hours with all its histograms is a tenth of it.
const MAX_LINE_BYTES: u64 = 1 << 28;

/// To a loader.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToLoader {
    /// What to do.
    Order(Box<LoaderOrder>),
    /// Keep-alive: the coordinator still waits for the result. No answer.
    Alive,
    /// Answer with the time.
    Ping,
    /// Begin the warm-up at this moment of the loader's monotonic clock.
    Start { epoch_ns: u64 },
    /// End the window now, and send the result.
    Stop,
}

/// What a loader is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoaderOrder {
    /// Its share of the job, with the seed of all.
    pub job: Job,
    /// The moments of a schedule read from a file, which a job does not contain.
    pub moments_ns: Option<Vec<u64>>,
    /// The coordinator's working directory: files that the job names are searched there, if it exists.
    pub folder: PathBuf,
}

/// From a loader.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromLoader {
    /// Its connections are open.
    Connected { had: u64 },
    /// The time of its monotonic clock when the ping was read.
    Pong { monotonic_ns: u64 },
    /// Its result.
    Done(Box<Done>),
    /// It has none.
    Failed(LoaderFailure),
}

/// The result of a loader.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// Start of its warm-up on its monotonic clock: the agreed moment, or whole seconds later.
    pub epoch_ns: u64,
    /// Its record. Its rates and verdicts are not used: they are computed from all records.
    pub run: Run,
    /// Sends noted to test random arrivals, since the beginning of the warm-up, by stretch.
    pub noted_ns: Vec<Vec<u64>>,
    /// Traffic of its network interface over the window.
    pub network: Option<NetworkUse>,
}

/// Why a loader has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoaderFailure {
    /// What happened.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether the request is at fault, and not this machine.
    pub is_usage: bool,
}

/// Writes a message as one line.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads the next message; none at the end. `at` is asked for the time when the line is complete.
pub(crate) fn read<M: DeserializeOwned>(
    from: &mut impl BufRead,
    at: impl Fn() -> u64,
) -> io::Result<Option<(u64, M)>> {
    let Some(line) = paceline_files::read_line(from, MAX_LINE_BYTES)? else { return Ok(None) };
    let at = at();
    let message = serde_json::from_slice(&line)?;
    Ok(Some((at, message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> io::Result<Vec<ToLoader>> {
        let mut from = text;
        let mut messages = Vec::new();
        while let Some((_, message)) = read(&mut from, || 0)? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[test]
    fn messages_round_trip() {
        let mut text = Vec::new();
        for message in [ToLoader::Ping, ToLoader::Start { epoch_ns: 5 }, ToLoader::Stop] {
            write(&mut text, &message).unwrap();
        }
        assert_eq!(format!("{:?}", all(&text).unwrap()), "[Ping, Start { epoch_ns: 5 }, Stop]");
    }

    #[test]
    fn an_invalid_message_is_an_error() {
        assert!(all(b"").unwrap().is_empty());
        for text in [&b"\"ping\""[..], b"hello\n", b"{\"start\":{}}\n", b"\xff\n", b"\n"] {
            assert!(all(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
