//! A node: another machine on which the lab starts roles of a launch, seen from the lab.
//!
//! `paceline node` runs there (`node_service.rs`) at the other end of one connection, by ssh or Slurm. It starts, samples
//! and ends servers with the code of a local launch; when the connection ends, or nothing comes by it for
//! [`SILENCE_LIMIT`], it ends them and itself. [`Node`] is the connection, [`RemoteProcesses`] a launch behind it.

mod connection;
mod content;
mod message;
mod remote;

pub(crate) use connection::{Node, NodeLost};
pub(crate) use content::{digest, kept_folder};
pub use message::NodeUser;
pub(crate) use message::{
    DatabaseOrder, FolderContent, FrontOrder, LaunchOrder, Launched, LaunchedDatabase, LaunchedFront,
    NodeQuestion, NodeSettings, ToNode, Welcome, line, read_line,
};
pub(crate) use remote::{RemoteDatabase, RemoteProcesses, of_node};

use std::time::Duration;

/// Without a sign of life for so long a node ends all it has started: longer than ssh takes to give a connection up.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(20);
