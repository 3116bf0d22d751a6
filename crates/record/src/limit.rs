//! What limited a load: one kind for each trial, with its evidence.
//!
//! The judge decides it for a trial and for a run; a capacity search has that of its closed loop. Reports show it as a
//! column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limited a load, with the evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The kind of the limit.
    pub kind: LimitKind,
    /// The figures that show the limit, in words.
    pub evidence: String,
}

/// The kind of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// All cores of the server were full.
    ServerCpu,
    /// One core, or one thread, of the server was full while others were free.
    ServerThread,
    /// The load generator was the bottleneck: the server can do more.
    Generator,
    /// The load balancer was full.
    Balancer,
    /// The database was full, or used most of the cores that it shares with the server.
    Database,
    /// A network interface was full.
    Network,
    /// Requests waited while nothing was full: for locks, sleeps, back ends or the next request of a connection.
    Waiting,
    /// More than 1 % of the requests failed.
    Errors,
    /// The server's memory reached its limit, or the machine swapped or killed processes.
    Memory,
    /// Too few connections for the offered rate and the service time.
    Connections,
    /// Other processes kept the server off its cores.
    Neighbours,
    /// Nothing limited the server: it answered all of the load that was offered.
    OfferedRate,
    /// The server could not be observed.
    #[default]
    #[serde(other)]
    Unknown,
}

impl LimitKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::OfferedRate,
        Self::ServerCpu,
        Self::ServerThread,
        Self::Generator,
        Self::Balancer,
        Self::Database,
        Self::Network,
        Self::Waiting,
        Self::Errors,
        Self::Memory,
        Self::Connections,
        Self::Neighbours,
        Self::Unknown,
    ];

    /// The kind in words, as after "limited by".
    pub fn words(self) -> &'static str {
        match self {
            Self::ServerCpu => "server CPU",
            Self::ServerThread => "one thread",
            Self::Generator => "generator",
            Self::Balancer => "balancer",
            Self::Database => "database",
            Self::Network => "network",
            Self::Waiting => "waiting",
            Self::Errors => "errors",
            Self::Memory => "memory",
            Self::Connections => "connections",
            Self::Neighbours => "other work",
            Self::OfferedRate => "offered rate",
            Self::Unknown => "unknown",
        }
    }

    /// When a row has it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ServerCpu => {
                "the server's cores were at least 90 % busy, mostly with the server's own work"
            }
            Self::ServerThread => {
                "one core or thread of the server was at least 90 % busy while others were free"
            }
            Self::Generator => {
                "the generator's core was over 90 % busy while the server had time left: the server may be faster"
            }
            Self::Balancer => {
                "the balancer's cores were at least 90 % busy, mostly with the balancer's own work"
            }
            Self::Database => {
                "the database's cores were at least 90 % busy, mostly with the database's own work"
            }
            Self::Network => "a network interface was at least 90 % utilized",
            Self::Waiting => {
                "no resource was saturated: the server waited for locks, timers, back ends or the next request on a \
                 connection"
            }
            Self::Errors => "more than 1 % of the requests failed",
            Self::Memory => {
                "the server came near its memory limit, or the machine swapped or killed processes"
            }
            Self::Connections => "there were too few connections for the offered rate",
            Self::Neighbours => "other processes used the server's cores",
            Self::OfferedRate => "not limited: the server responded to all requests of the offered load",
            Self::Unknown => "the server's CPU time was not measured",
        }
    }
}
