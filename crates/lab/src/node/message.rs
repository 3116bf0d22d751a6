//! The messages between the lab and a node, over a [`paceline_host::channel`].
//!
//! The lab sends one request at a time and the node answers each. The type of the answer is named beside each request.
//! Moments use the node's clock.

use crate::provision::ImageLaunch;
use paceline_catalogue::{Folders, Variables, WorkloadCase};
use paceline_host::shepherd::TrackingMethod;
use paceline_record::{BalancerReceipt, DatabaseReceipt, Environment, Startup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Longest line: a workload's body is a tenth of it.
pub(crate) const MAX_LINE_BYTES: u64 = 1 << 26;

/// To a node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToNode {
    /// How launches are started. Answer: [`NodeInfo`].
    Hello(Box<NodeSettings>),
    /// Whether a folder is there with this content. Answer: `bool`.
    Has(FolderContent),
    /// Empties a folder that was sent before, or creates it; any other folder is an error. Answer: `Result<(),
    /// String>`.
    Prepare(FolderContent),
    /// A folder has arrived. Answer: `Result<(), String>`.
    Arrived(FolderContent),
    /// Which programs are missing. Answer: `Vec<String>`.
    Missing(Vec<String>),
    /// Starts a server. Answer: `Result<Launched, LaunchError>`.
    Launch { order: Box<LaunchOrder>, ready: Box<WorkloadCase> },
    /// Starts a database. Answer: `Result<LaunchedDatabase, LaunchError>`.
    Database(Box<DatabaseOrder>),
    /// Starts a database again that has ended, under its number. Answer: `Result<Launched, LaunchError>`.
    StartAgain { launch: u32, cores: Vec<u32> },
    /// Starts a balancer. Answer: `Result<LaunchedBalancer, LaunchError>`.
    Front(Box<BalancerOrder>),
    /// CPU time of every core. Answer: `CoreTicks`.
    Cores,
    /// Traffic of its network interfaces, with their speeds if requested. Answer: `NetworkCounters`.
    Network { speeds: bool },
    /// A request about a launch; its answers are listed there.
    Of { launch: u32, query: NodeQuery },
}

/// About a launch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeQuery {
    /// `TreeSample`
    Sample,
    /// `()`
    MarkThreads,
    /// `()`
    Search,
    /// `CpuSource`
    Source,
    /// `u64`
    Sockets,
    /// `bool`
    IsRunnable,
    /// `Option<u64>`
    PssBytes,
    /// `Option<MemoryAccount>`
    Memory,
    /// `Option<Ended>`
    Ended,
    /// `String`
    LogTail,
    /// `()`
    Kill,
    /// `Result<Gone, String>`
    Stop,
    /// Of a database: `Result<(), LaunchError>`
    Reset,
    /// Of a database: `Result<DatabaseCounts, LaunchError>`
    Counts,
    /// Of a database: `Result<BTreeMap<u32, u32>, LaunchError>`
    World,
}

/// A database to be started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DatabaseOrder {
    /// Its folder, with the manifest.
    pub folder: PathBuf,
    /// The launch that it is for.
    pub id: String,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// Whether it must listen on the port that its clients expect.
    pub expected_port: bool,
    /// Its rows are drawn from this.
    pub seed: u64,
    /// The address of the node that it listens on.
    pub listen: IpAddr,
}

/// A database that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchedDatabase {
    pub launched: Launched,
    /// What it is.
    pub receipt: DatabaseReceipt,
}

/// A balancer to be started before instances.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BalancerOrder {
    /// Unique: names the log and the control group.
    pub id: String,
    /// Its folder, with the manifest.
    pub balancer: PathBuf,
    /// Policy for choosing instances, as a plan names it.
    pub policy: String,
    /// Most connections of any load.
    pub connections: u64,
    /// Where the instances are.
    pub instances: Vec<SocketAddr>,
    /// The address that it listens on.
    pub listen: IpAddr,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// The expected response once it is ready.
    pub ready: WorkloadCase,
}

/// A balancer that answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchedBalancer {
    pub launched: Launched,
    /// What it is.
    pub receipt: BalancerReceipt,
    /// Address of its statistics.
    pub statistics_at: SocketAddr,
}

/// How launches are started on a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeSettings {
    /// The lab's folders, which have the same paths there.
    pub folders: Folders,
    /// How descendants are tracked.
    pub guard: TrackingMethod,
    /// User of servers on the node; none for the user of the connection.
    pub user: Option<NodeUser>,
}

/// The user that servers on other machines run as, known there by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeUser {
    /// Its name.
    pub name: String,
    /// Whether it was named explicitly: a user chosen by default for root is ignored if the lab is not logged in as
    /// root.
    pub is_named: bool,
}

/// Properties that a node reports.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NodeInfo {
    /// The address by which this connection reached it.
    pub address: Option<IpAddr>,
    /// Its cores, in groups of hardware threads that share one physical core.
    pub cores: Vec<Vec<u32>>,
    /// Identifies the machine, also under another name.
    pub machine_id: Option<String>,
    /// Its machine.
    pub environment: Environment,
}

/// A launch as plain data, for the machine that it is started on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchOrder {
    /// Unique: names the log and the control group.
    pub id: String,
    /// The server's id.
    pub server: String,
    /// The server's folder: its commands run there.
    pub folder: PathBuf,
    /// The form's command.
    pub command: String,
    /// The form's own variables, to be expanded.
    pub env: BTreeMap<String, String>,
    /// Variables of the lab's environment that it inherits beside the known ones.
    pub pass_env: Vec<String>,
    /// Variables for its commands; without a port, one is chosen.
    pub variables: Variables,
    /// Host names that resolve to its database.
    pub hosts: Vec<String>,
    /// How its image is run: only on the lab's own machine.
    #[serde(skip)]
    pub image: Option<ImageLaunch>,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// The TCP ports that must be free too, as offsets from its own.
    pub tcp_offsets: Vec<u16>,
    /// The UDP ports that must be free.
    pub udp_offsets: Vec<u16>,
    /// How long its start may take.
    pub start_timeout: Duration,
}

/// A folder by its path and its content's digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FolderContent {
    pub folder: PathBuf,
    pub digest: String,
}

/// A launch that answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launched {
    /// Its number on the node.
    pub launch: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it started.
    pub startup: Startup,
}
