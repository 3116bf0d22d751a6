//! The messages between coordinator and loader, over a [`paceline_host::channel`].
//!
//! The order of a conversation: `order`, then the loader connects and says `connected`; a comparison of clocks; `start`
//! with the moment to begin; the load; `done` with the result, or `failed`; another comparison; the end of the loader's
//! standard input. That end also comes when the coordinator dies: a loader whose work is not done ends then.

use paceline_job::Job;
use paceline_record::{NetworkUse, Run};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Longest line: a record of hours with all its histograms is a tenth of it.
pub(crate) const MAX_LINE_BYTES: u64 = 1 << 28;

/// To a loader.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToLoader {
    /// What to do.
    Order(Box<LoaderOrder>),
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
