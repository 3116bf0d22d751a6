//! A node: another machine on which the lab starts roles of a launch, seen from the lab.
//!
//! `paceline node` runs there (`node_service.rs`) at the other end of one connection, by ssh or Slurm. It starts,
//! samples and ends servers with the code of a local launch; when the connection ends, or is silent for
//! [`SILENCE_LIMIT`], it stops them and exits. [`Node`] is the connection, [`RemoteProcesses`] a launch behind it.

mod connection;
mod content;
mod message;
mod remote;

pub(crate) use connection::{Node, NodeLost};
pub(crate) use content::{digest, kept_folder};
pub use message::NodeUser;
pub(crate) use message::{
    BalancerOrder, DatabaseOrder, FolderContent, LaunchOrder, Launched, LaunchedBalancer, LaunchedDatabase,
    NodeInfo, NodeQuery, NodeSettings, ToNode, line, read_line,
};
pub(crate) use remote::{RemoteDatabase, RemoteProcesses, of_node};

use std::time::Duration;

/// After this time without a message a node stops all its processes: longer than ssh takes to close a dead connection.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(20);
