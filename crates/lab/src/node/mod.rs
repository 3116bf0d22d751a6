//! A node: another machine on which the lab starts roles of a launch, seen from the lab.
//!
//! `paceline node` runs there (`node_service.rs`) at the other end of one connection, by ssh or Slurm. It starts,
//! samples and ends servers with the code of a local launch; when the connection ends or is silent, it stops them and
//! exits. [`Node`] is the connection, [`RemoteProcesses`] a launch behind it.

mod connection;
mod content;
mod message;
mod remote;

pub(crate) use connection::{Node, NodeLost};
pub(crate) use content::{digest, kept_folder};
pub use message::NodeUser;
pub(crate) use message::{
    BalancerOrder, DatabaseOrder, FolderContent, LaunchOrder, Launched, LaunchedBalancer, LaunchedDatabase,
    MAX_LINE_BYTES, NodeInfo, NodeQuery, NodeSettings, ToNode,
};
pub(crate) use remote::{RemoteDatabase, RemoteProcesses, of_node};
