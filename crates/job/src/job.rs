//! The job: all settings of a run.

use crate::request::MASKED;
use crate::target::localhost;
use crate::time::seconds;
use crate::{
    ConnectionPlan, GrpcSpec, IpVersion, LoadModel, LoadSegment, LoaderShare, Nanos, Proxy, RequestSpec,
    Think, TlsSpec, WebSocketSpec,
};
use paceline_http::{LineEnds, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// The URL that is loaded.
    #[serde(with = "crate::target::url")]
    #[schemars(with = "String")]
    pub url: Url,
    /// Connect to this unix socket; the URL still sets the path and the host that are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<PathBuf>,
    /// Addresses to use for a host and port instead of resolving the name: `HOST:PORT:ADDR[,ADDR]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<String>,
    /// Whether connections are spread over all addresses of the host, instead of the first that accepts one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// Connect to another host and port than the URL's: `HOST:PORT:HOST2:PORT2`; an empty part matches any value, or
    /// keeps the URL's. `HOST2:PORT2` may be several, separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_to: Option<String>,
    /// The HTTP proxy that requests go through: `http://[USER:PASS@]HOST:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub proxy: Option<Proxy>,
    /// Use only addresses of this IP version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<IpVersion>,
    /// Local addresses to connect from, in turn: `ADDR[,ADDR|/PREFIX]`; the kernel chooses if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How TLS is used: certificates, names and versions.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: TlsSpec,
    /// The version of HTTP for requests.
    pub protocol: Protocol,
    /// How messages of a WebSocket are sent, and what answers them.
    #[serde(skip_serializing_if = "is_default")]
    pub websocket: WebSocketSpec,
    /// The messages of gRPC, for a `grpc://` or `grpcs://` URL.
    #[serde(skip_serializing_if = "is_default")]
    pub grpc: GrpcSpec,
    /// When requests are sent: closed or open loop.
    #[serde(rename = "loop")]
    pub load: LoadModel,
    /// Number of connections, over all threads; the highest one if it changes.
    pub connections: u32,
    /// How that number changes over the window; closed loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_plan: Option<ConnectionPlan>,
    /// Most outstanding requests on a connection; above 1 they are pipelined, or multiplexed over HTTP/2.
    pub depth: u16,
    /// Whether a connection sends its next requests only when all outstanding ones are answered, as wrk's scripts do,
    /// instead of one after each response.
    pub batch: bool,
    /// Whether a connection is used for more than one request. If not, requests say `Connection: close`.
    pub keep_alive: bool,
    /// The pieces in which requests are written; whole if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragment: Option<FragmentSpec>,
    /// A connection is closed and replaced after this many requests; if missing, it carries as many as the server
    /// allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// Pause between a response and the next request of a connection; closed loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// The end of the window: a time or a number of requests.
    pub window: Bound,
    /// Length of the warm-up, in seconds.
    #[serde(rename = "warmup_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub warmup: Nanos,
    /// Longest wait for outstanding responses after the window, in seconds.
    #[serde(rename = "drain_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub drain: Nanos,
    /// A request times out when its response is not complete after this time from its send, in seconds. The check runs
    /// up to a 64th of the timeout later (at least 1 ms, at most 250 ms): a response that arrives in between counts. A
    /// stream times out when no event came for this long.
    #[serde(rename = "timeout_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub timeout: Nanos,
    /// Longest connect phase, and longest single attempt to connect, TLS handshake included, in seconds.
    #[serde(rename = "connect_timeout_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub connect_timeout: Nanos,
    /// How to wait for the next send.
    pub pace: PaceChoice,
    /// The timestamps that are taken of responses.
    pub timestamps: Timestamps,
    /// Threads; the connections are divided among them.
    pub threads: u32,
    /// Seed of every random choice; a random one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The part of the load for this loader, if several loaders share it. Rate and number of requests are those of all
    /// loaders together, connections and threads those of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<LoaderShare>,
    /// Whether each connection keeps the cookies that the server sets. A session always keeps them, from its first step
    /// on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cookies: bool,
    /// Most redirects followed for one request. Its status and body are those of the last response, its times include
    /// the whole chain.
    #[serde(skip_serializing_if = "is_default")]
    pub follow: u16,
    /// A script in Lua that makes the requests, and reads the responses if it has a function for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lua: Option<PathBuf>,
    /// Accept responses whose head has lines that end in LF alone (RFC 9112, section 2.2).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// Keep processors out of deep idle states during the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quiet_cpu: bool,
    /// The requests, and the expected responses: one request, or several with weights.
    #[serde(rename = "request")]
    pub requests: Vec<RequestSpec>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Job {
    /// The defaults of `paceline run`.
    fn default() -> Self {
        Self {
            url: localhost(),
            unix_socket: None,
            resolve: Vec::new(),
            spread: false,
            connect_to: None,
            proxy: None,
            ip_version: None,
            source: None,
            tls: TlsSpec::default(),
            protocol: Protocol::default(),
            websocket: WebSocketSpec::default(),
            grpc: GrpcSpec::default(),
            load: LoadModel::Closed,
            connections: 64,
            connection_plan: None,
            depth: 1,
            batch: false,
            keep_alive: true,
            fragment: None,
            requests_per_connection: None,
            think: None,
            window: Bound::Duration(Nanos::from_secs(10)),
            warmup: Nanos::from_secs(1),
            drain: Nanos::from_secs(10),
            timeout: Nanos::from_secs(10),
            connect_timeout: Nanos::from_secs(10),
            pace: PaceChoice::Auto,
            timestamps: Timestamps::User,
            threads: 1,
            seed: None,
            share: None,
            cookies: false,
            follow: 0,
            lua: None,
            lenient: false,
            quiet_cpu: false,
            requests: vec![RequestSpec::default()],
        }
    }
}

impl Job {
    /// Whether it is the load that a URL, a number of connections, a rate and times describe, all else as by default.
    pub fn is_plain(&self) -> bool {
        let Self { url, connections, load, window, warmup, seed, .. } = self.clone();
        *self == Self { url, connections, load, window, warmup, seed, ..Self::default() }
    }

    /// Whether the results of each request are reported separately.
    pub fn is_mix(&self) -> bool {
        self.requests.len() != 1 || self.requests.iter().any(|request| request.name.is_some())
    }

    /// Whether connections change to WebSocket, and requests are messages.
    pub fn is_websocket(&self) -> bool {
        self.url.scheme.is_websocket()
    }

    /// Whether requests are steps of sessions.
    pub fn has_sessions(&self) -> bool {
        self.requests.iter().any(|request| request.session.is_some())
    }

    /// Whether there are users: a request may depend on the previous response to its user.
    pub fn has_users(&self) -> bool {
        self.cookies || self.follow > 0 || self.has_sessions()
    }

    /// How lines of a response's head may end.
    pub fn line_ends(&self) -> LineEnds {
        if self.lenient { LineEnds::LfAllowed } else { LineEnds::CrLf }
    }

    /// The header field whose value was masked, as in the job of a record: without it the job cannot be repeated.
    pub fn masked_field(&self) -> Option<&str> {
        let fields = self.requests.iter().flat_map(|request| &request.headers.0);
        let of_request = fields.into_iter().find(|(_, value)| value == MASKED).map(|(name, _)| name.as_str());
        let credentials = self.proxy.as_ref().and_then(|proxy| proxy.credentials.as_deref());
        of_request.or_else(|| credentials.filter(|value| *value == MASKED).map(|_| "Proxy-Authorization"))
    }

    /// The job with secrets replaced, so that it can be shown to others.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        masked.proxy = self.proxy.as_ref().map(Proxy::masked);
        for request in &mut masked.requests {
            request.headers = request.headers.masked();
        }
        masked
    }

    /// Most requests on one connection.
    pub fn requests_per_connection_max(&self) -> u32 {
        if self.keep_alive { self.requests_per_connection.unwrap_or(u32::MAX) } else { 1 }
    }

    /// Whether connections carry any number of requests, without a pause, for the whole run.
    pub fn has_plain_connections(&self) -> bool {
        let is_limited = self.requests_per_connection.is_some() || self.connection_plan.is_some();
        self.keep_alive && !is_limited && self.think.is_none()
    }

    /// A connection is free for another request while it has fewer outstanding requests than this.
    #[inline]
    pub fn free_below(&self) -> u16 {
        if self.batch { 1 } else { self.depth }
    }

    /// Number of connections of worker `k` of `threads`: `connections` are distributed one by one.
    pub fn connections_of(&self, worker: u32, threads: u32) -> u32 {
        Self::share_of(self.connections, worker, threads)
    }

    /// The part of worker `k` of `threads` in a number of connections, which are distributed one by one.
    pub fn share_of(connections: u32, worker: u32, threads: u32) -> u32 {
        connections / threads + u32::from(worker < connections % threads)
    }

    /// The parts of the window that are reported separately; none if the load does not change.
    pub fn segments(&self) -> Vec<LoadSegment> {
        match (&self.load, self.window) {
            (LoadModel::Open { shape, .. }, Bound::Duration(window)) => shape.segments(self.warmup, window),
            (LoadModel::Closed, Bound::Duration(window)) => {
                self.connection_plan.as_ref().map_or_else(Vec::new, |plan| plan.segments(window))
            }
            (_, Bound::Requests(_)) => Vec::new(),
        }
    }
}

/// The pieces in which requests are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FragmentSpec {
    /// The length of a piece.
    pub bytes: NonZeroU32,
    /// The pause between two pieces of a request, in seconds.
    #[serde(rename = "pause_s", with = "seconds", default)]
    #[schemars(with = "f64")]
    pub pause: Nanos,
}

/// The end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Bound {
    /// The window ends after this many seconds.
    #[serde(rename = "duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    Duration(Nanos),
    /// The window ends after this many requests.
    #[serde(rename = "requests")]
    Requests(u64),
}

/// The version of HTTP for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Protocol {
    /// HTTP/1.0, requesting keep-alive unless disabled
    #[serde(rename = "http/1.0")]
    #[cfg_attr(feature = "clap", value(name = "1.0"))]
    Http10,
    /// HTTP/1.1
    #[default]
    #[serde(rename = "http/1.1")]
    #[cfg_attr(feature = "clap", value(name = "1.1"))]
    Http11,
    /// HTTP/2: by ALPN over TLS, with prior knowledge in plain text
    #[serde(rename = "http/2")]
    #[cfg_attr(feature = "clap", value(name = "2"))]
    Http2,
    /// HTTP/3: over QUIC, for https:// URLs
    #[serde(rename = "http/3")]
    #[cfg_attr(feature = "clap", value(name = "3"))]
    Http3,
}

impl Protocol {
    /// Whether a connection carries many requests at once, whose responses may come in any order.
    pub fn has_streams(self) -> bool {
        match self {
            Protocol::Http10 | Protocol::Http11 => false,
            Protocol::Http2 | Protocol::Http3 => true,
        }
    }

    /// The name in records and reports.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http10 => "http/1.0",
            Protocol::Http11 => "http/1.1",
            Protocol::Http2 => "http/2",
            Protocol::Http3 => "http/3",
        }
    }
}

/// How to wait for the next send: the requested setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum PaceChoice {
    /// Hybrid if no other process uses the generator's cores, otherwise sleep
    #[default]
    Auto,
    /// Always poll: the least lag, a whole core
    Spin,
    /// Never poll: the least CPU
    Sleep,
}

/// How the generator waits for the next send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaceKind {
    /// Sleeps in the kernel until an event arrives or the next send is due.
    #[default]
    Sleep,
    /// Sleeps until shortly before the next send, then polls.
    Hybrid,
    /// Always polls.
    Spin,
}

/// The timestamps that are taken of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// When a response was read
    #[default]
    User,
    /// Also when the kernel received it; costs 3 to 5 % more CPU per request
    Kernel,
}
