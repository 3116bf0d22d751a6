//! The processes of a launch on a node.

use super::connection::{Node, NodeLost};
use super::message::{Launched, NodeQuery, ToNode};
use crate::error::LaunchError;
use paceline_host::shepherd::{CommandResult, Ended};
use paceline_host::tree::TreeSample;
use paceline_host::{CoreTicks, Interrupt, MemoryAccount, NetworkCounters};
use paceline_record::{CpuSource, DatabaseCounts, Stage};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval of the check whether a launch has ended, while a caller waits for its end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a command of a database may take there.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// The end of a launch whose node was lost: its exit status is unknown.
const UNSEEN: Ended = Ended { code: None, signal: None, asked: false };

/// The processes of a launch on a node. Once the node is lost, they count as ended.
#[derive(Debug)]
pub(crate) struct RemoteProcesses {
    node: Arc<Node>,
    launch: u32,
    last: TreeSample,
    stopped: bool,
}

impl RemoteProcesses {
    /// What a node has started.
    pub(crate) fn new(node: &Arc<Node>, launched: &Launched) -> Self {
        let (node, launch) = (Arc::clone(node), launched.launch);
        Self { node, launch, last: TreeSample::default(), stopped: false }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    fn ask<T: DeserializeOwned>(&self, query: NodeQuery) -> Result<T, NodeLost> {
        self.node.ask(&ToNode::Of { launch: self.launch, query })
    }

    pub(crate) fn sample(&mut self) -> TreeSample {
        if let Ok(sample) = self.ask::<TreeSample>(NodeQuery::Sample) {
            self.last = TreeSample { monotonic_ns: self.node.ours(sample.monotonic_ns), ..sample };
        }
        self.last
    }

    pub(crate) fn mark_threads(&self) {
        let _ = self.ask::<()>(NodeQuery::MarkThreads);
    }

    pub(crate) fn search(&self) {
        // A lost node is reported by `ended`.
        let _ = self.ask::<()>(NodeQuery::Search);
    }

    pub(crate) fn source(&self) -> CpuSource {
        self.ask(NodeQuery::Source).unwrap_or(CpuSource::Proc)
    }

    pub(crate) fn sockets(&self) -> u64 {
        self.ask(NodeQuery::Sockets).unwrap_or_default()
    }

    pub(crate) fn is_runnable(&self) -> bool {
        self.ask(NodeQuery::IsRunnable).unwrap_or_default()
    }

    pub(crate) fn pss_bytes(&self) -> Option<u64> {
        self.ask(NodeQuery::PssBytes).unwrap_or_default()
    }

    pub(crate) fn memory(&self) -> Option<MemoryAccount> {
        self.ask(NodeQuery::Memory).unwrap_or_default()
    }

    pub(crate) fn cores(&self) -> CoreTicks {
        self.node.ask(&ToNode::Cores).unwrap_or_else(|_| CoreTicks::now())
    }

    /// Traffic of its machine's network interfaces.
    pub(crate) fn network(&self, speeds: bool) -> Option<NetworkCounters> {
        self.node.ask(&ToNode::Network { speeds }).ok()
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ask(NodeQuery::Ended).unwrap_or(Some(UNSEEN))
    }

    pub(crate) fn wait_ended(&self, limit: Duration) -> Option<Ended> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.ended();
            if ended.is_some() || Instant::now() >= deadline {
                return ended;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The end of its log; for a lost node, the reason of the loss.
    pub(crate) fn log_tail(&self) -> String {
        self.ask(NodeQuery::LogTail).unwrap_or_else(|lost| lost.to_string())
    }

    pub(crate) fn kill(&self) {
        let _ = self.ask::<()>(NodeQuery::Kill);
    }

    /// The node has stopped them, or will.
    pub(crate) fn forget(mut self) {
        self.stopped = true;
    }

    pub(crate) fn stop(mut self) -> io::Result<CommandResult> {
        self.stopped = true;
        let gone: Result<CommandResult, String> = self.ask(NodeQuery::Stop).map_err(io::Error::other)?;
        gone.map_err(io::Error::other)
    }
}

/// A database on a node, whose processes are a launch there.
#[derive(Debug)]
pub(crate) struct RemoteDatabase {
    node: Arc<Node>,
    launch: u32,
}

impl RemoteDatabase {
    /// What a node has started.
    pub(crate) fn new(node: &Arc<Node>, launched: &Launched) -> Self {
        Self { node: Arc::clone(node), launch: launched.launch }
    }

    /// The answer of its commands, which can take long.
    fn ask<T: DeserializeOwned>(&self, query: NodeQuery) -> Result<T, LaunchError> {
        let message = ToNode::Of { launch: self.launch, query };
        let answer: Result<T, LaunchError> =
            self.node.ask_within(&message, COMMAND_LIMIT, Interrupt::never()).map_err(of_node)?;
        answer
    }

    pub(crate) fn reset(&self) -> Result<(), LaunchError> {
        self.ask(NodeQuery::Reset)
    }

    pub(crate) fn counts(&self) -> Result<DatabaseCounts, LaunchError> {
        self.ask(NodeQuery::Counts)
    }

    pub(crate) fn world(&self) -> Result<BTreeMap<u32, u32>, LaunchError> {
        self.ask(NodeQuery::World)
    }

    /// Starts it again after it has ended, under the same number.
    pub(crate) fn start_again(&self, cores: &[u32]) -> Result<Launched, LaunchError> {
        let message = ToNode::StartAgain { launch: self.launch, cores: cores.to_vec() };
        let launched: Result<Launched, LaunchError> =
            self.node.ask_within(&message, COMMAND_LIMIT, Interrupt::never()).map_err(of_node)?;
        launched
    }

    /// Its processes after a start.
    pub(crate) fn processes(&self, launched: &Launched) -> RemoteProcesses {
        RemoteProcesses::new(&self.node, launched)
    }
}

/// The record of a lost node: the environment spoiled the trial.
pub(crate) fn of_node(lost: NodeLost) -> LaunchError {
    match lost.interrupted {
        true => LaunchError::Interrupted,
        false => LaunchError::fault(Stage::Setup, lost.to_string(), true),
    }
}

impl Drop for RemoteProcesses {
    fn drop(&mut self) {
        if !self.stopped {
            let _ = self.ask::<Result<CommandResult, String>>(NodeQuery::Stop);
        }
    }
}
