//! Checks that the parts of a job are consistent with each other. Over 600 lines: all of it is what excludes what.

use crate::{
    AnswerRule, Arrivals, BodyExpectation, Bound, ConnectionPlan, Job, LoadModel, Nanos, PathPattern,
    Protocol, ReplaySpec, RequestSpec, Shape, StreamFormat, StreamSpec,
};
use paceline_http::Scheme;
use std::fmt;

/// Limited, since each step has a separate block with histograms.
const MAX_STEPS: usize = 100;

/// The maximum number of groups of a log's requests, since each has a separate block with histograms.
const MAX_REPLAY_GROUPS: usize = 100;

/// The maximum number of streams that a connection has open at once, over HTTP/2 and HTTP/3: each has a place in a
/// table, whose length is a power of two.
pub const MAX_STREAMS: u16 = 1 << 15;

/// All problems of a job: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobError(pub Vec<JobProblem>);

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "; " })?;
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for JobError {}

/// One problem of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobProblem {
    /// `connections` is 0.
    #[error("-c 0: use at least 1 connection")]
    NoConnections,
    /// `threads` is 0.
    #[error("-t 0: use at least 1 thread")]
    NoThreads,
    /// A thread would have no connection.
    #[error("more threads (-t) than connections (-c): every thread needs at least one connection")]
    TooManyThreads,
    /// `depth` is 0.
    #[error("--pipeline 0 sends nothing: use at least 1")]
    NoDepth,
    /// More requests at once than a connection can have streams.
    #[error(
        "--pipeline (--streams) is at most {max} over HTTP/2 and HTTP/3: use more connections (-c)",
        max = MAX_STREAMS
    )]
    TooManyStreams,
    /// The window has no length.
    #[error("the window is empty: use a longer duration (-d) or more requests (-n)")]
    EmptyWindow,
    /// The timeout is shorter than the interval at which timers are checked.
    #[error("--timeout must be at least 1ms")]
    ShortTimeout,
    /// The connect timeout is 0.
    #[error("--connect-timeout must be above 0")]
    NoConnectTimeout,
    /// The index is not below the number of loaders, or there are no loaders.
    #[error("key `share` of the job: `index` must be below `of`, the number of load generators")]
    NoSuchShare,
    /// A bounded number of requests and a warm-up.
    #[error("-n cannot be combined with --warmup: use -d instead of -n")]
    RequestsWithWarmup,
    /// Batches in an open loop.
    #[error("--pipeline-batch cannot be combined with -r: an open loop sends each request when it is due")]
    BatchInOpenLoop,
    /// A bounded number of requests with a rate that changes.
    #[error("a rate that changes cannot be combined with -n: use -d")]
    RequestsWithShape,
    /// No step, or steps without length.
    #[error("a load with steps needs at least one step, and each step a duration above 0")]
    NoSteps,
    /// More than [`MAX_STEPS`] steps.
    #[error("the load has more than 100 steps, where a ramp of ten seconds or more counts as ten: use fewer")]
    TooManySteps,
    /// The window differs from the sum of the steps.
    #[error("the window must be as long as all steps together")]
    WindowOfSteps,
    /// A setting that excludes a number of connections that changes.
    #[error("a number of connections that changes (-c) cannot be combined with {0}")]
    ConnectionPlanWith(&'static str),
    /// A closed loop would have no connection at some time.
    #[error("-c: a number of connections that changes must be at least 1 at all times")]
    NoPlannedConnections,
    /// `connections` is not the highest number of the plan.
    #[error("key `connections` of the job: must be the highest number of `connection_plan`")]
    ConnectionsOfPlan,
    /// A schedule without sends.
    #[error("the schedule is empty")]
    EmptySchedule,
    /// A schedule whose times decrease.
    #[error("the times in the schedule must not decrease")]
    ScheduleDecreases,
    /// Every send of the schedule is in the warm-up.
    #[error("the schedule ends before the warm-up ends: shorten the warm-up")]
    ScheduleInWarmup,
    /// A schedule with random arrivals.
    #[error("--schedule cannot be combined with --arrivals poisson")]
    ScheduleWithArrivals,
    /// A log that is replayed too slowly or too fast.
    #[error("key `speed` of a replay: a speed is a number from 0.001 to 1000000")]
    ReplaySpeed,
    /// A setting that the requests of a log do not have.
    #[error("--replay cannot be combined with {0}")]
    ReplayWith(&'static str),
    /// Several requests that are no groups of a log's paths.
    #[error(
        "--replay cannot be combined with several requests (--mix): to group the results of a log, use --replay-group; in a job, the `path` of each group is a pattern, and the last one is /*, for all others"
    )]
    ReplayGroups,
    /// More than [`MAX_REPLAY_GROUPS`] groups.
    #[error("--replay has more than 100 groups: use fewer")]
    TooManyReplayGroups,
    /// A setting that a script does not have.
    #[error("--lua cannot be combined with {0}")]
    LuaWith(&'static str),
    /// `requests_per_connection` is 0.
    #[error("0 requests per connection sends nothing: use at least 1")]
    NoRequestsPerConnection,
    /// Several requests on a connection without keep-alive.
    #[error("--requests-per-connection above 1 cannot be combined with --no-keepalive")]
    RequestsWithoutKeepAlive,
    /// Several outstanding requests on a connection without keep-alive.
    #[error(
        "--pipeline cannot be combined with --no-keepalive: a connection without keep-alive carries one request"
    )]
    DepthWithoutKeepAlive,
    /// Think time in an open loop.
    #[error("--think cannot be combined with -r")]
    ThinkInOpenLoop,
    /// Sessions of users that are pipelined, or on connections that are not kept alive.
    #[error(
        "{feature} cannot be combined with {conflict}, because each request depends on the previous response of its connection: remove one of the two"
    )]
    UsersOnConnections {
        /// The feature that has users.
        feature: &'static str,
        /// The setting that it excludes.
        conflict: &'static str,
    },
    /// The proxy itself decides which address to connect to.
    #[error(
        "--proxy cannot be combined with --unix-socket, --resolve or --connect-to: the proxy opens the connections"
    )]
    ProxyWithAddress,
    /// Connections to a unix socket or a proxy have one destination.
    #[error("--spread cannot be combined with {with}: connections have one destination there")]
    SpreadWith {
        /// The setting that it excludes.
        with: &'static str,
    },
    /// A proxy cannot carry HTTP/2 without TLS.
    #[error("--proxy cannot be combined with --http 2 for an http:// URL: use https://, or HTTP/1.1")]
    ProxyWithHttp2,
    /// HTTP/3 exists only over QUIC, which contains TLS.
    #[error("--http 3 needs an https:// URL: HTTP/3 is always encrypted")]
    Http3WithoutTls,
    /// HTTP/3 over what carries only streams of bytes.
    #[error("--http 3 cannot be combined with {with}, which does not carry UDP: remove one of the two")]
    Http3Without {
        /// The setting that it excludes.
        with: &'static str,
    },
    /// Early data over TCP, where Paceline sends none.
    #[error("--early-data needs --http 3: over HTTP/1.1 and HTTP/2 no early data is sent")]
    EarlyDataWithoutHttp3,
    /// Early data without the sessions that it belongs to.
    #[error(
        "--early-data cannot be combined with --no-tls-resumption: only a resumed session carries early data"
    )]
    EarlyDataWithoutResumption,
    /// A stream that is also compared with an expected body.
    #[error("a stream cannot be combined with an expected body: its events are checked as they come")]
    StreamWithBody,
    /// A stream that would end before its first event.
    #[error(
        "a stream must have at least 1 event, a duration above 0, and a text that is not empty to end with"
    )]
    EmptyStream,
    /// Streams that are pipelined.
    #[error(
        "--stream cannot be combined with --pipeline over HTTP/1.1: one stream would wait for the other; use --http 2"
    )]
    StreamsPipelined,
    /// Messages over plain HTTP.
    #[error("--stream messages needs a ws://, wss://, grpc:// or grpcs:// URL")]
    NoMessages,
    /// A setting that WebSocket does not have.
    #[error("{feature} cannot be combined with a ws:// or wss:// URL: remove it")]
    WebSocketWith {
        /// The setting.
        feature: &'static str,
    },
    /// A setting that only WebSocket has.
    #[error("{feature} needs a ws:// or wss:// URL")]
    NeedsWebSocket {
        /// The setting.
        feature: &'static str,
    },
    /// Messages that would need different connections.
    #[error(
        "messages of a WebSocket cannot have a method, path or headers of their own: set the path in the URL, and headers with -H"
    )]
    MessageWithHead,
    /// A setting that gRPC does not have.
    #[error("{feature} cannot be combined with a grpc:// or grpcs:// URL: remove it")]
    GrpcWith {
        /// The setting.
        feature: &'static str,
    },
    /// A setting that only gRPC has.
    #[error("{feature} needs a grpc:// or grpcs:// URL")]
    NeedsGrpc {
        /// The setting.
        feature: &'static str,
    },
    /// A way of sending bodies, for requests without one.
    #[error("{feature} needs a body: use --body, --form or -F")]
    NoBody {
        /// The feature.
        feature: &'static str,
    },
    /// A way of sending bodies that another setting excludes.
    #[error("{feature} cannot be combined with {conflict}: remove one of the two")]
    BodyWith {
        /// The feature.
        feature: &'static str,
        /// The setting that it excludes.
        conflict: &'static str,
    },
    /// Requests in pieces that are not plain requests of HTTP/1.1.
    #[error(
        "--fragment cannot be combined with {conflict}: it writes plain requests of HTTP/1.1, whose bytes are not in frames"
    )]
    FragmentWith {
        /// The setting that it excludes.
        conflict: &'static str,
    },
    /// Think time between pipelined requests.
    #[error("--think cannot be combined with --pipeline")]
    ThinkWithDepth,
}

impl Job {
    /// Checks that the parts of the job are consistent with each other.
    ///
    /// # Errors
    /// [`JobError`] with all problems.
    pub fn check(&self) -> Result<(), JobError> {
        use JobProblem::*;
        let has_count = matches!(self.window, Bound::Requests(_));
        let is_open = self.load.is_open();
        let thinks = self.think.is_some();
        let mut problems: Vec<JobProblem> = [
            (self.connections == 0, NoConnections),
            (self.threads == 0, NoThreads),
            (self.threads > self.connections && self.connections > 0, TooManyThreads),
            (self.depth == 0, NoDepth),
            (self.depth > MAX_STREAMS && self.protocol.has_streams() && !self.is_websocket(), TooManyStreams),
            (matches!(self.window, Bound::Duration(Nanos::ZERO) | Bound::Requests(0)), EmptyWindow),
            (self.timeout < Nanos::from_millis(1), ShortTimeout),
            (self.connect_timeout == Nanos::ZERO, NoConnectTimeout),
            (self.share.is_some_and(|share| share.index >= share.of), NoSuchShare),
            (has_count && self.warmup != Nanos::ZERO, RequestsWithWarmup),
            (self.batch && is_open, BatchInOpenLoop),
            (self.requests_per_connection == Some(0), NoRequestsPerConnection),
            (!self.keep_alive && self.requests_per_connection > Some(1), RequestsWithoutKeepAlive),
            (!self.keep_alive && self.depth > 1, DepthWithoutKeepAlive),
            (thinks && is_open, ThinkInOpenLoop),
            (thinks && self.depth > 1, ThinkWithDepth),
            (self.proxy.is_some() && self.names_addresses(), ProxyWithAddress),
            (
                self.proxy.is_some() && self.protocol == Protocol::Http2 && !self.url.scheme.uses_tls(),
                ProxyWithHttp2,
            ),
        ]
        .into_iter()
        .filter_map(|(is_wrong, problem)| is_wrong.then_some(problem))
        .collect();
        problems.extend(self.spread_problem());
        problems.extend(self.http3_problem());
        problems.extend(self.early_data_problem());
        problems.extend(self.users_problem());
        problems.extend(self.stream_problem());
        problems.extend(self.body_problem());
        problems.extend(self.fragment_problem());
        problems.extend(self.lua_problem());
        problems.extend(self.websocket_problem());
        problems.extend(self.grpc_problem());
        if let LoadModel::Open { shape, arrivals } = &self.load {
            problems.extend(self.shape_problem(shape, *arrivals));
        }
        problems.extend(self.connection_plan.as_ref().and_then(|plan| self.connection_plan_problem(plan)));
        if problems.is_empty() { Ok(()) } else { Err(JobError(problems)) }
    }

    /// The first setting that leaves no addresses to spread connections over.
    fn spread_problem(&self) -> Option<JobProblem> {
        let excluded = [(self.unix_socket.is_some(), "--unix-socket"), (self.proxy.is_some(), "--proxy")];
        let (_, with) = excluded.into_iter().find(|(is_set, _)| *is_set && self.spread)?;
        Some(JobProblem::SpreadWith { with })
    }

    /// The first setting that excludes HTTP/3.
    fn http3_problem(&self) -> Option<JobProblem> {
        if self.protocol != Protocol::Http3 {
            return None;
        }
        let (is_tcp_only, proxied) = (self.unix_socket.is_some(), self.proxy.is_some());
        let excluded = [(is_tcp_only, "--unix-socket"), (proxied, "--proxy")];
        match excluded.into_iter().find(|(is_set, _)| *is_set) {
            Some((_, with)) => Some(JobProblem::Http3Without { with }),
            None => (self.url.scheme == Scheme::Http).then_some(JobProblem::Http3WithoutTls),
        }
    }

    /// The first setting that excludes early data.
    fn early_data_problem(&self) -> Option<JobProblem> {
        if !self.tls.early_data {
            None
        } else if self.protocol != Protocol::Http3 {
            Some(JobProblem::EarlyDataWithoutHttp3)
        } else {
            self.tls.no_resumption.then_some(JobProblem::EarlyDataWithoutResumption)
        }
    }

    fn names_addresses(&self) -> bool {
        self.unix_socket.is_some() || self.connect_to.is_some() || !self.resolve.is_empty()
    }

    /// The first setting that excludes users, whose requests depend on earlier responses.
    fn users_problem(&self) -> Option<JobProblem> {
        let features = [
            (self.follow > 0, "--follow"),
            (self.cookies, "--cookies"),
            (self.has_sessions(), "a session (--mix)"),
        ];
        let conflicts = [
            (self.depth > 1 && !self.protocol.has_streams(), "--pipeline"),
            (!self.keep_alive, "--no-keepalive"),
            (self.requests_per_connection.is_some(), "--requests-per-connection"),
            (self.think.is_some(), "--think"),
        ];
        let (_, feature) = features.into_iter().find(|(is_used, _)| *is_used)?;
        let (_, conflict) = conflicts.into_iter().find(|(is_set, _)| *is_set)?;
        Some(JobProblem::UsersOnConnections { feature, conflict })
    }

    /// The first problem with streams.
    fn stream_problem(&self) -> Option<JobProblem> {
        let is_pipelined = self.depth > 1 && !self.protocol.has_streams();
        let has_messages = self.is_websocket() || self.url.scheme.is_grpc();
        self.requests.iter().find_map(|request| match &request.stream {
            Some(_) if request.expect_body.is_some() => Some(JobProblem::StreamWithBody),
            Some(_) if is_pipelined => Some(JobProblem::StreamsPipelined),
            Some(stream) if stream.is_empty() => Some(JobProblem::EmptyStream),
            Some(stream) if stream.format == StreamFormat::Messages && !has_messages => {
                Some(JobProblem::NoMessages)
            }
            Some(_) | None => None,
        })
    }

    /// The first problem with bodies that are sent in chunks, are generated, or wait for 100 Continue.
    fn body_problem(&self) -> Option<JobProblem> {
        let has = |is_one: fn(&RequestSpec) -> bool| self.requests.iter().any(is_one);
        let waits = has(|request| request.expect_continue);
        let features = [
            (waits, "--expect-continue"),
            (has(|request| request.chunk_bytes.is_some()), "--chunked"),
            (has(|request| request.generated_body() != Ok(None)), "a body of {bytes:SIZE}"),
        ];
        let (_, feature) = features.into_iter().find(|(is_used, _)| *is_used)?;
        if !has(|request| request.body.is_some()) {
            return Some(JobProblem::NoBody { feature });
        }
        let of_waits = [
            (waits && self.protocol.has_streams(), "--http 2 or 3, whose streams need no wait"),
            (waits && self.depth > 1, "--pipeline"),
        ];
        let mut conflicts = self.upload_conflicts().into_iter().chain(of_waits);
        let conflict = conflicts.find_map(|(is_set, conflict)| is_set.then_some(conflict))?;
        Some(JobProblem::BodyWith { feature, conflict })
    }

    /// The settings that exclude bodies which do not follow their heads at once.
    fn upload_conflicts(&self) -> [(bool, &'static str); 7] {
        [
            (self.is_websocket(), "a ws:// or wss:// URL"),
            (self.url.scheme.is_grpc(), "a grpc:// or grpcs:// URL"),
            (self.protocol == Protocol::Http10, "--http 1.0"),
            (self.follow > 0, "--follow"),
            (self.cookies, "--cookies"),
            (self.has_sessions(), "a session (--mix)"),
            (self.is_replay(), "--replay"),
        ]
    }

    /// The first setting because of which no body can be made while it is sent; none if any can.
    pub fn body_conflict(&self) -> Option<&'static str> {
        let others = [(self.lua.is_some(), "--lua"), (self.fragment.is_some(), "--fragment")];
        let mut conflicts = self.upload_conflicts().into_iter().chain(others);
        conflicts.find_map(|(is_set, conflict)| is_set.then_some(conflict))
    }

    /// The first setting that requests in pieces exclude.
    fn fragment_problem(&self) -> Option<JobProblem> {
        let follows = |request: &RequestSpec| request.expect_continue || request.generated_body() != Ok(None);
        let conflicts = [
            (self.protocol.has_streams(), "--http 2 or 3"),
            (self.is_websocket(), "a ws:// or wss:// URL"),
            (self.follow > 0, "--follow"),
            (self.cookies, "--cookies"),
            (self.has_sessions(), "a session (--mix)"),
            (self.is_replay(), "--replay"),
            (self.requests.iter().any(follows), "--expect-continue or a body of {bytes:SIZE}"),
        ];
        let (_, conflict) = conflicts.into_iter().find(|(is_set, _)| *is_set && self.fragment.is_some())?;
        Some(JobProblem::FragmentWith { conflict })
    }

    fn is_replay(&self) -> bool {
        matches!(&self.load, LoadModel::Open { shape: Shape::Trace(trace), .. } if trace.replay.is_some())
    }

    /// The first setting that a script excludes.
    fn lua_problem(&self) -> Option<JobProblem> {
        self.lua.as_ref()?;
        let has = |is_one: fn(&RequestSpec) -> bool| self.requests.iter().any(is_one);
        let conflicts = [
            (self.requests.len() != 1, "several requests (--mix): make them in the script"),
            (self.has_users(), "--cookies, --follow or a session: keep what is needed in the script"),
            (self.is_replay(), "--replay"),
            (self.share.is_some(), "--loaders: use one load generator"),
            (self.is_websocket() || self.url.scheme.is_grpc(), "a ws://, wss://, grpc:// or grpcs:// URL"),
            (self.protocol == Protocol::Http3, "--http 3: use HTTP/1.1 or 2"),
            (self.depth > 1 && !self.protocol.has_streams(), "--pipeline over HTTP/1.1: use --http 2"),
            (self.fragment.is_some(), "--fragment"),
            (has(|request| request.stream.is_some()), "--stream"),
            (has(|request| request.expect_continue), "--expect-continue"),
            (has(|request| request.chunk_bytes.is_some()), "--chunked"),
            (has(|request| request.generated_body() != Ok(None)), "a body of {bytes:SIZE}"),
        ];
        conflicts.into_iter().find_map(|(is_set, with)| is_set.then_some(JobProblem::LuaWith(with)))
    }

    /// The first problem with a log that is replayed.
    fn replay_problem(&self, replay: &ReplaySpec) -> Option<JobProblem> {
        let conflicts = [
            (self.share.is_some(), "--loaders"),
            (self.has_users(), "--cookies, --follow or a session"),
            (self.requests.iter().any(|request| request.stream.is_some()), "--stream"),
            (self.protocol.has_streams(), "--http 2 or 3: a log is replayed over HTTP/1.1"),
        ];
        let conflict = conflicts.into_iter().find_map(|(is_set, conflict)| is_set.then_some(conflict));
        let is_slow_or_fast = !ReplaySpec::is_speed(replay.speed);
        conflict
            .map(JobProblem::ReplayWith)
            .or(is_slow_or_fast.then_some(JobProblem::ReplaySpeed))
            .or((!self.groups_replay()).then_some(JobProblem::ReplayGroups))
            .or((self.requests.len() > MAX_REPLAY_GROUPS).then_some(JobProblem::TooManyReplayGroups))
    }

    /// Whether the requests are one, or each the pattern of a group of a log's paths, with one for all others.
    fn groups_replay(&self) -> bool {
        let is_pattern = |path: &String| path.parse::<PathPattern>().is_ok();
        let paths = || self.requests.iter().map(|request| request.path.as_ref());
        let has_rest = paths().next_back().flatten().is_some_and(|path| path == PathPattern::ANY);
        self.requests.len() == 1 || has_rest && paths().all(|path| path.is_some_and(is_pattern))
    }

    /// The first setting that WebSocket does not have, or only WebSocket.
    fn websocket_problem(&self) -> Option<JobProblem> {
        let has = |is_one: fn(&RequestSpec) -> bool| self.requests.iter().any(is_one);
        let sends_messages = |stream: &StreamSpec| stream.format == StreamFormat::Messages;
        if !self.is_websocket() {
            let features = [
                (self.websocket.binary, "--ws-binary"),
                (self.websocket.answer != AnswerRule::Next, "--ws-answer"),
            ];
            let found = features.into_iter().find(|(is_used, _)| *is_used);
            return found.map(|(_, feature)| JobProblem::NeedsWebSocket { feature });
        }
        let streams = self.requests.iter().filter_map(|request| request.stream.as_ref());
        let features = [
            (!matches!(self.protocol, Protocol::Http11 | Protocol::Http2), "--http 1.0 or 3"),
            (self.proxy.is_some() && !self.url.scheme.uses_tls(), "--proxy"),
            (self.follow > 0, "--follow"),
            (self.cookies, "--cookies"),
            (self.has_sessions(), "a session (--mix)"),
            (has(|request| request.expect_status.is_some()), "--expect-status"),
            (!streams.clone().all(sends_messages), "a --stream of another format than messages"),
            (streams.clone().next().is_some() && self.requests.len() > 1, "--stream with --mix"),
            (
                streams.clone().next().is_some() && self.websocket.answer != AnswerRule::Next,
                "--stream with --ws-answer",
            ),
        ];
        if let Some((_, feature)) = features.into_iter().find(|(is_used, _)| *is_used) {
            return Some(JobProblem::WebSocketWith { feature });
        }
        let shared = self.requests.first()?;
        let is_same = |request: &RequestSpec| {
            (&request.path, &request.method, &request.headers)
                == (&shared.path, &shared.method, &shared.headers)
        };
        (!self.requests.iter().all(is_same)).then_some(JobProblem::MessageWithHead)
    }

    /// The first setting that gRPC does not have, or only gRPC.
    fn grpc_problem(&self) -> Option<JobProblem> {
        let has = |is_one: fn(&RequestSpec) -> bool| self.requests.iter().any(is_one);
        let formats = || self.requests.iter().filter_map(|request| Some(request.stream.as_ref()?.format));
        if !self.url.scheme.is_grpc() {
            let features = [
                (!self.grpc.proto.is_empty(), "--proto"),
                (!self.grpc.proto_path.is_empty(), "--proto-path"),
                (self.grpc.raw, "--grpc-raw"),
                (has(|request| request.expect_grpc_status.is_some()), "--expect-grpc-status"),
            ];
            let found = features.into_iter().find(|(is_used, _)| *is_used);
            return found.map(|(_, feature)| JobProblem::NeedsGrpc { feature });
        }
        // Messages of gRPC are no text.
        let reads_text = |stream: &StreamSpec| {
            stream.count_json.is_some() || stream.message_time.is_some() || stream.until.is_some()
        };
        let is_text = self.requests.iter().filter_map(|request| request.stream.as_ref()).any(reads_text);
        let is_json = |request: &RequestSpec| {
            matches!(request.expect_body, Some(BodyExpectation::Json(_) | BodyExpectation::JsonForm(_)))
        };
        let features = [
            (self.protocol != Protocol::Http2, "another version of HTTP than 2 (--http)"),
            (self.follow > 0, "--follow"),
            (self.cookies, "--cookies"),
            (has(|request| !request.extract.is_empty()), "an extracted value (--mix)"),
            (has(|request| request.expect_status.is_some()), "--expect-status (use --expect-grpc-status)"),
            (has(is_json), "--expect-json or --expect-json-form (use --expect-body)"),
            (has(|request| request.method != "POST" && request.method != "GET"), "-X"),
            (
                formats().any(|format| format != StreamFormat::Messages),
                "a --stream of another format than messages",
            ),
            (is_text, "--count-json, --message-time or --stream-until"),
            (self.grpc.raw && !self.grpc.proto.is_empty(), "--proto with --grpc-raw"),
        ];
        let found = features.into_iter().find(|(is_used, _)| *is_used);
        found.map(|(_, feature)| JobProblem::GrpcWith { feature })
    }

    /// The first problem with the shape of an open loop.
    fn shape_problem(&self, shape: &Shape, arrivals: Arrivals) -> Option<JobProblem> {
        let has_count = matches!(self.window, Bound::Requests(_));
        match shape {
            Shape::Steady { .. } => None,
            _ if has_count => Some(JobProblem::RequestsWithShape),
            Shape::Ramp { .. } => None,
            Shape::Steps { rates, each } => self.steps_problem(rates.iter().map(|_| *each), shape.length()),
            Shape::Parts { parts } => {
                self.steps_problem(parts.iter().map(|part| part.length), shape.length())
            }
            Shape::Trace(trace) => match trace.moments.as_ref() {
                [] => Some(JobProblem::EmptySchedule),
                moments if !moments.is_sorted() => Some(JobProblem::ScheduleDecreases),
                [.., last] if *last < self.warmup => Some(JobProblem::ScheduleInWarmup),
                _ if arrivals.is_random() => Some(JobProblem::ScheduleWithArrivals),
                _ => trace.replay.as_ref().and_then(|replay| self.replay_problem(replay)),
            },
        }
    }

    /// The first problem with steps of these lengths.
    fn steps_problem(
        &self,
        mut lengths: impl Iterator<Item = Nanos>,
        sum: Option<Nanos>,
    ) -> Option<JobProblem> {
        if sum == Some(Nanos::ZERO) || lengths.any(|length| length == Nanos::ZERO) {
            Some(JobProblem::NoSteps)
        } else if sum.map(Bound::Duration) != Some(self.window) {
            Some(JobProblem::WindowOfSteps)
        } else {
            (self.segments().len() > MAX_STEPS).then_some(JobProblem::TooManySteps)
        }
    }

    /// The first problem with a number of connections that changes.
    fn connection_plan_problem(&self, plan: &ConnectionPlan) -> Option<JobProblem> {
        let conflicts = [
            (
                self.load.is_open(),
                "-r, --schedule or --replay, because these determine the load: use -c with the highest number",
            ),
            (matches!(self.window, Bound::Requests(_)), "-n: use -d"),
            (self.share.is_some(), "--loaders: use one load generator"),
        ];
        let conflict = conflicts.into_iter().find_map(|(is_set, conflict)| is_set.then_some(conflict));
        let lengths = match plan {
            ConnectionPlan::Ramp { .. } => None,
            ConnectionPlan::Parts { parts } => {
                self.steps_problem(parts.iter().map(|part| part.length), plan.length())
            }
        };
        let (least, most) = plan.range();
        conflict
            .map(JobProblem::ConnectionPlanWith)
            .or(lengths)
            .or((least == 0).then_some(JobProblem::NoPlannedConnections))
            .or((most != self.connections).then_some(JobProblem::ConnectionsOfPlan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConnectionPart, Distribution, LoaderShare, Rate, Think, Trace};
    use paceline_http::Url;

    fn problems(change: impl FnOnce(&mut Job)) -> Vec<JobProblem> {
        let mut job = Job::default();
        change(&mut job);
        job.check().map_or_else(|JobError(problems)| problems, |()| Vec::new())
    }

    fn open(shape: Shape) -> LoadModel {
        LoadModel::Open { shape, arrivals: Arrivals::Constant }
    }

    #[test]
    fn http3_needs_tls_and_udp() {
        let with = |url: &str, change: fn(&mut Job)| {
            problems(|job| {
                (job.protocol, job.url) = (Protocol::Http3, Url::parse(url).unwrap());
                change(job);
            })
        };
        assert_eq!(with("https://a/", |_| {}), []);
        assert_eq!(with("https://a/", |job| job.depth = 10), []);
        assert_eq!(with("http://a/", |_| {}), [JobProblem::Http3WithoutTls]);
        let over_socket = with("https://a/", |job| job.unix_socket = Some("/s".into()));
        assert_eq!(over_socket, [JobProblem::Http3Without { with: "--unix-socket" }]);
    }

    #[test]
    fn a_connection_has_a_limited_number_of_streams() {
        let with = |protocol, depth| {
            problems(|job| {
                (job.protocol, job.url) = (protocol, Url::parse("https://a/").unwrap());
                job.depth = depth;
            })
        };
        for protocol in [Protocol::Http2, Protocol::Http3] {
            assert_eq!(with(protocol, MAX_STREAMS), []);
            assert_eq!(with(protocol, MAX_STREAMS + 1), [JobProblem::TooManyStreams]);
        }
        assert_eq!(with(Protocol::Http11, u16::MAX), []);
        let text = JobProblem::TooManyStreams.to_string();
        assert!(text.contains("at most 32768") && text.contains("-c"), "{text}");
    }

    #[test]
    fn early_data_needs_quic_and_resumption() {
        let with = |protocol, no_resumption| {
            problems(|job| {
                (job.protocol, job.url) = (protocol, Url::parse("https://a/").unwrap());
                (job.tls.early_data, job.tls.no_resumption) = (true, no_resumption);
            })
        };
        assert_eq!(with(Protocol::Http3, false), []);
        assert_eq!(with(Protocol::Http3, true), [JobProblem::EarlyDataWithoutResumption]);
        for protocol in [Protocol::Http10, Protocol::Http11, Protocol::Http2] {
            assert_eq!(with(protocol, false), [JobProblem::EarlyDataWithoutHttp3]);
        }
    }

    #[test]
    fn the_default_is_valid_and_every_problem_is_reported() {
        assert_eq!(problems(|_| {}), []);
        let all = problems(|job| {
            job.connections = 0;
            job.depth = 0;
            job.timeout = Nanos::ZERO;
        });
        assert_eq!(all, [JobProblem::NoConnections, JobProblem::NoDepth, JobProblem::ShortTimeout]);
        let text = JobError(all).to_string();
        assert!(text.starts_with("-c 0: use at least 1 connection; --pipeline 0"), "{text}");
    }

    #[test]
    fn settings_that_a_websocket_has_or_has_not() {
        let messages = |job: &mut Job| job.requests[0].stream = Some(StreamSpec::new(StreamFormat::Messages));
        let of_websocket = |change: &dyn Fn(&mut Job)| {
            problems(|job| {
                job.url.scheme = Scheme::Ws;
                change(job);
            })
        };
        assert_eq!(of_websocket(&messages), []);
        assert_eq!(of_websocket(&|job| job.protocol = Protocol::Http2), []);
        assert_eq!(problems(messages), [JobProblem::NoMessages]);
        for (change, feature) in [
            (&(|job: &mut Job| job.protocol = Protocol::Http10) as &dyn Fn(&mut Job), "--http 1.0 or 3"),
            (&|job| job.cookies = true, "--cookies"),
            (&|job| job.requests[0].expect_status = Some(200), "--expect-status"),
        ] {
            assert_eq!(of_websocket(change), [JobProblem::WebSocketWith { feature }]);
        }
        let second = RequestSpec { path: Some("/other".to_owned()), ..RequestSpec::default() };
        let mixed = of_websocket(&|job| job.requests.push(second.clone()));
        assert_eq!(mixed, [JobProblem::MessageWithHead]);
    }

    #[test]
    fn settings_that_exclude_each_other() {
        let rate = Rate::per_second(10.0).unwrap();
        let think = Some(Think { mean: Nanos(1), distribution: Distribution::Constant });
        let steady = || open(Shape::Steady { rate });
        assert_eq!(problems(|job| (job.think, job.load) = (think, steady())), [JobProblem::ThinkInOpenLoop]);
        assert_eq!(problems(|job| (job.think, job.depth) = (think, 2)), [JobProblem::ThinkWithDepth]);
        assert_eq!(
            problems(|job| (job.keep_alive, job.depth) = (false, 2)),
            [JobProblem::DepthWithoutKeepAlive]
        );
        assert_eq!(problems(|job| (job.batch, job.load) = (true, steady())), [JobProblem::BatchInOpenLoop]);
        let stream = |until: Option<&str>| StreamSpec {
            until: until.map(str::to_owned),
            ..StreamSpec::new(StreamFormat::Sse)
        };
        let with = |protocol, stream: StreamSpec| {
            problems(move |job| {
                (job.protocol, job.depth, job.requests[0].stream) = (protocol, 2, Some(stream));
            })
        };
        assert_eq!(with(Protocol::Http11, stream(None)), [JobProblem::StreamsPipelined]);
        assert_eq!(with(Protocol::Http2, stream(Some(""))), [JobProblem::EmptyStream]);
        assert_eq!(with(Protocol::Http2, stream(Some("x"))), []);
        let upload = |change: fn(&mut Job)| {
            problems(|job| {
                job.requests[0].body = Some(crate::Content::Text("hi".to_owned()));
                job.requests[0].expect_continue = true;
                change(job);
            })
        };
        let feature = "--expect-continue";
        assert_eq!(upload(|_| {}), []);
        assert_eq!(upload(|job| job.requests[0].body = None), [JobProblem::NoBody { feature }]);
        let conflict = "--pipeline";
        assert_eq!(upload(|job| job.depth = 2), [JobProblem::BodyWith { feature, conflict }]);
        let replay = |speed| Trace {
            replay: Some(ReplaySpec { speed, ..ReplaySpec::default() }),
            ..vec![Nanos::ZERO].into()
        };
        let replayed = |speed, share: Option<LoaderShare>| {
            problems(|job| {
                (job.load, job.warmup, job.share) = (open(Shape::Trace(replay(speed))), Nanos::ZERO, share)
            })
        };
        assert_eq!(replayed(2.0, None), []);
        assert_eq!(replayed(f64::NAN, None), [JobProblem::ReplaySpeed]);
        assert_eq!(replayed(2.0, Some(LoaderShare::ALL)), [JobProblem::ReplayWith("--loaders")]);
        let needs = |change: fn(&mut Job)| problems(change);
        assert_eq!(needs(|job| job.grpc.raw = true), [JobProblem::NeedsGrpc { feature: "--grpc-raw" }]);
        let call = |change: fn(&mut Job)| {
            problems(|job| {
                (job.url.scheme, job.protocol) = (paceline_http::Scheme::Grpc, Protocol::Http2);
                change(job);
            })
        };
        assert_eq!(call(|_| {}), []);
        assert_eq!(call(|job| job.follow = 1), [JobProblem::GrpcWith { feature: "--follow" }]);
        let sse = |job: &mut Job| job.requests[0].stream = Some(StreamSpec::new(StreamFormat::Sse));
        let feature = "a --stream of another format than messages";
        assert_eq!(call(sse), [JobProblem::GrpcWith { feature }]);
        let steps = Shape::Steps { rates: [rate].into(), each: Nanos::from_secs(1) };
        assert_eq!(problems(|job| job.load = open(steps)), [JobProblem::WindowOfSteps]);
    }

    #[test]
    fn several_requests_of_a_replay_are_groups_of_paths() {
        let grouped = |paths: &[&str]| {
            problems(|job| {
                let trace = Trace { replay: Some(ReplaySpec::default()), ..vec![Nanos::ZERO].into() };
                (job.load, job.warmup) = (open(Shape::Trace(trace)), Nanos::ZERO);
                let spec =
                    |path: &&str| RequestSpec { path: Some((*path).to_owned()), ..RequestSpec::default() };
                job.requests = paths.iter().map(spec).collect();
            })
        };
        assert_eq!(grouped(&["/a/{id}", "/*"]), []);
        assert_eq!(grouped(&["/a/{id}", "/b"]), [JobProblem::ReplayGroups]);
        assert_eq!(grouped(&["a", "/*"]), [JobProblem::ReplayGroups]);
        assert_eq!(grouped(&["/*"; 101]), [JobProblem::TooManyReplayGroups]);
    }

    #[test]
    fn a_number_of_connections_that_changes_needs_a_closed_loop() {
        let planned = |change: &dyn Fn(&mut Job)| {
            problems(|job| {
                (job.connections, job.connection_plan) = (50, Some(ConnectionPlan::Ramp { from: 1, to: 50 }));
                change(job);
            })
        };
        assert_eq!(planned(&|_| {}), []);
        let is_refused = |problems: &[JobProblem], with: &str| matches!(problems, [JobProblem::ConnectionPlanWith(conflict)] if conflict.starts_with(with));
        let rate = Rate::per_second(10.0).unwrap();
        assert!(is_refused(&planned(&|job| job.load = open(Shape::Steady { rate })), "-r"));
        let counted = |job: &mut Job| (job.window, job.warmup) = (Bound::Requests(9), Nanos::ZERO);
        assert!(is_refused(&planned(&counted), "-n"));
        assert!(is_refused(&planned(&|job| job.share = Some(LoaderShare::ALL)), "--loaders"));
        assert_eq!(planned(&|job| job.connections = 60), [JobProblem::ConnectionsOfPlan]);
        let none = |job: &mut Job| job.connection_plan = Some(ConnectionPlan::Ramp { from: 50, to: 0 });
        assert_eq!(planned(&none), [JobProblem::NoPlannedConnections]);
        let parts = |count: usize, length: Nanos| {
            move |job: &mut Job| {
                let part = ConnectionPart { from: 1, to: 50, length };
                job.connection_plan = Some(ConnectionPlan::Parts { parts: vec![part; count] });
                job.window = Bound::Duration(Nanos(length.0 * count as u64));
            }
        };
        assert_eq!(planned(&parts(10, Nanos::from_secs(30))), []);
        assert_eq!(planned(&parts(11, Nanos::from_secs(30))), [JobProblem::TooManySteps]);
        assert!(planned(&parts(2, Nanos::ZERO)).contains(&JobProblem::NoSteps));
    }
}
