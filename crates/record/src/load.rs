//! The requested load of a trial, and its relation to a twin load.
//!
//! Written by the lab when a trial begins, so that a failed trial contains it too. The load that a run really had is in
//! the run.

use crate::{Arrivals, CapacityLoad, DatabaseLoad, FaultKind, LoopKind};
use paceline_job::StreamFormat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requested load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The plan's name for the load.
    pub name: String,
    /// Closed or open.
    pub kind: LoopKind,
    /// Number of connections of the load generator.
    pub connections: u32,
    /// Maximum outstanding requests on a connection.
    pub depth: u32,
    /// Offered rate in requests per second; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_s: Option<f64>,
    /// Spacing of arrivals, open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arrivals: Option<Arrivals>,
    /// Length of the window, in seconds; none if the number of requests bounds the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_s: Option<f64>,
    /// Number of requests, if that bounds the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// The HTTP version if it is not 1.1: `1.0` with keep-alive requested, `2` or `3`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub http: Option<String>,
    /// Whether connections use TLS; HTTP/3 always does.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub tls: bool,
    /// The protocol of the workload, if it is not HTTP.
    #[serde(skip_serializing_if = "WorkloadProtocol::is_http", default)]
    pub protocol: WorkloadProtocol,
    /// How responses are divided into events, if the workload reads them as streams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stream: Option<StreamFormat>,
    /// Whether every connection is closed after one response.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_keep_alive: bool,
    /// Number of responses after which a connection is closed and replaced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests_per_connection: Option<u64>,
    /// The command line of another load generator that the generator carried out as if it were that one: `ab -k ...`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// Its relation to another load of the plan; none for an independent load.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variant: Option<Variant>,
    /// The plan's load at full size, if this load was scaled down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scaled: Option<Scaled>,
    /// The instances and the balancer of the launch, if it has a balancer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balanced: Option<BalancedLoad>,
    /// The database of the launch, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub database: Option<DatabaseLoad>,
    /// The load that the offered rate is a share of, if it is a share.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<RateShare>,
    /// The settings of the capacity search, if the load is a search.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capacity: Option<CapacityLoad>,
}

/// The protocol of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadProtocol {
    /// Requests and responses of HTTP; each load chooses its version.
    #[default]
    Http,
    /// Messages of a WebSocket and their answers.
    WebSocket,
    /// Calls of gRPC, over HTTP/2.
    Grpc,
}

impl WorkloadProtocol {
    /// Whether it is HTTP.
    pub fn is_http(&self) -> bool {
        *self == Self::Http
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::WebSocket => "WebSocket",
            Self::Grpc => "gRPC",
        }
    }

    /// The scheme of its URLs, with or without TLS.
    pub fn scheme(self, tls: bool) -> &'static str {
        match (self, tls) {
            (Self::Http, false) => "http",
            (Self::Http, true) => "https",
            (Self::WebSocket, false) => "ws",
            (Self::WebSocket, true) => "wss",
            (Self::Grpc, false) => "grpc",
            (Self::Grpc, true) => "grpcs",
        }
    }
}

/// An offered rate as a share of the server's rate under another load of the same launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateShare {
    /// The share: 0.5 is 50 %.
    pub share: f64,
    /// The name of the other load: closed, or a capacity search.
    pub of: String,
    /// The rate of 100 % in this trial, per second: the achieved rate of the closed loop, or the capacity found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_per_s: Option<f64>,
    /// The trial that measured it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub full_trial: Option<String>,
}

/// A load that differs from another of the same plan in one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// The name of the other load.
    pub of: String,
    /// The property in which it differs.
    pub kind: VariantKind,
}

/// The property in which a load differs from its twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VariantKind {
    /// The first load on a launch, without warm-up; the other follows on the same launch.
    FirstRun,
    /// HTTP/1.0 with keep-alive requested.
    Http10,
    /// Every connection closed after one response.
    Close,
    /// One request outstanding on a connection instead of several.
    Unpipelined,
    /// Through the balancer; the other goes to one instance of the same launch.
    Balanced,
    /// To all instances without the balancer; the other goes to one instance of the same launch.
    Spread,
}

impl VariantKind {
    /// The suffix added to the other load's name.
    pub fn suffix(self) -> &'static str {
        match self {
            VariantKind::FirstRun => "first",
            VariantKind::Http10 => "http10",
            VariantKind::Close => "close",
            VariantKind::Unpipelined => "unpipelined",
            VariantKind::Balanced => "balanced",
            VariantKind::Spread => "spread",
        }
    }
}

/// The full-size settings in the plan of a load that was scaled down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scaled {
    /// The factor applied to connections, rate and number of requests, below 1.
    pub factor: f64,
    /// Number of connections at full size.
    pub connections: u32,
    /// Offered rate at full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_s: Option<f64>,
    /// Number of requests at full size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub requests: Option<u64>,
}

/// The instances and the balancer of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancedLoad {
    /// Name of the folder of the balancer.
    pub balancer: String,
    /// Its policy for choosing an instance.
    pub policy: String,
    /// Number of instances of the server.
    pub instances: u32,
    /// Where requests go: through the balancer, or directly to one instance or to all.
    pub route: Route,
    /// The fault injected in the middle of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fault: Option<FaultKind>,
}

/// The destination of requests in a launch with a balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// To the first instance; the others and the balancer are idle.
    Direct,
    /// To the balancer.
    Balanced,
    /// To all instances: the load generator spreads its connections over them, and the balancer is idle.
    Spread,
}
