//! The table of all verdicts: name, scope, blame, severity, evidence, documentation and remedy.
//!
//! Over 600 lines, because it is one list. The judges in `load.rs`, `generator.rs`, `answers.rs`, `steady.rs`,
//! `trial/` and the lab decide when a verdict is given; the compiler requires every field from them. After a change
//! here: `UPDATE=1 cargo test -p paceline-judge --test it` rewrites `docs/reference/verdicts.md`.

use crate::verdict::verdict_table;
use paceline_record::{Blame, Severity};
use std::collections::BTreeMap;

verdict_table! {
    /// No request was due in the window. In an open loop the window is shorter than a gap of the schedule. In a closed
    /// loop no connection was free: each was waiting for the response to a request sent before the window, being opened,
    /// or pausing, or the server allowed no HTTP/2 stream.
    NothingScheduled "nothing_scheduled" Run [User, Server: *blame] [Invalid] "No request was scheduled in the window."
    { window_s: f64 = "length of the window, in seconds" } with { blame: Blame, advice: &'static str = "No request was due in the window. Use a longer window (-d) or a higher rate (-r)." }
    => "{advice}";

    /// Every request of the window was still waiting for a connection when the drain ended: the backlog of the warm-up
    /// took all of the window, or the server allowed no HTTP/2 stream. The user is to blame if the server completed
    /// responses meanwhile (the rate was too high for it), the server if it completed none.
    NothingSent "nothing_sent" Run [User, Server: if *achieved_per_s > 0.0 { Blame::User } else { Blame::Server }]
    [Invalid] "No request of the window was sent."
    {
        unsent: u64 = "requests that were due in the window and were never sent",
        backlog_at_window_start: u64 = "requests of the warm-up that were still unsent when the window opened",
        achieved_per_s: f64 = "responses completed in the window, per second",
    } with { advice: String = "Lower -r below the achieved rate, or check the server: `curl -i URL`" }
    => "No request of the window was sent. {advice}";

    /// From some moment on, until the end of the run or for a part of it, no valid response arrived and requests failed:
    /// the server ended, restarted, or answered only with errors. The rate is an average over that time, and a closed loop
    /// sends hardly any requests in it. Given if the stretch is at least a tenth of the window (a second, if the window
    /// is longer than 10 s) and at least ten responses are missing at the pace before. A server that answers the waiting
    /// requests afterwards only paused (`outage`).
    /// The environment is to blame, here and in other verdicts on failures, if most of the requests failed because this
    /// machine was out of ports, descriptors or memory and could open no connection for them.
    StoppedAnswering "stopped_answering" Run [Server, Environment: *blame] [Invalid] "Valid responses stopped arriving."
    {
        silent_share: f64 = "length of the stretch as a share of the window, 0 to 1; with `-n`, of the time until the run gave up",
        silent_from_s: f64 = "when the stretch began, in seconds from the start of the window: the end of the last interval with a valid response",
        silent_until_s: Option<f64> = "when it ended; none if it lasted until the end of the run",
        failed: u64 = "requests that failed in the stretch, or got no response after it began",
        commonest_failure: Option<String> = "the most frequent failure of the stretch",
    } with { blame: Blame, finding: String = "No valid response arrived after the first `<SECONDS>` s of the window.", advice: String = "Look in the server's log for a crash, a restart or errors, then repeat the run." }
    => "{finding} {advice}";

    /// Closed loop: requests without a response held at least 5 % of the connections' time, as when one of several backends
    /// is gone, or requests hang. The load was that of the other connections, although only a small share of the requests
    /// failed: each holds its connection until the timeout.
    HeldConnections "held_connections" Run [Server] [Invalid] "Requests that hang held connections."
    {
        held_share: f64 = "time that requests without a response held connections, as a share of the window on all connections, 0 to 1",
        timed_out: u64 = "requests without a complete response within the timeout",
    } with { percent: f64 }
    => "Requests without a response held {percent:.0} % of the connections' time: the rate is that of the others. Look for the reason in the server's log: a backend that is gone, a lock, or a full pool.";

    /// A run bounded by a number of requests (`-n`) ended before it had sent them: for longer than a request may take, no
    /// connection could be opened or took a request; or connections were opened, and on each of them ten requests in a row
    /// failed. The rate does not include the time spent waiting.
    GaveUp "gave_up" Run [Server, Environment: *blame] [Invalid] "Paceline gave up before all requests were sent."
    {
        asked: u64 = "requests to send (`-n`)",
        scheduled: u64 = "requests that were due",
        commonest_failure: Option<String> = "the most frequent connection error",
    } with { blame: Blame, finding: String = "Every connection failed again and again.", look: String = "Check with: `curl -i URL`" }
    => "{finding} {look}";

    /// No response arrived for a part of the window, although many arrived before or after: the server paused. The
    /// rate is an average over that pause, and so are the percentiles of a closed loop. Given if the longest pause
    /// lasted at least 100 ms and ten times longer than the median time, and all pauses together 2 % of the window.
    /// Requests that are slow while others are answered are not a pause. A pause of the generator is `generator_stall`;
    /// a queue that keeps growing is `saturated`.
    Outage "outage" Run [Server] [Caution] "The server paused."
    {
        longest_s: f64 = "length of the longest pause, in seconds",
        pauses: u64 = "estimated number of pauses about as long as the longest; those in adjacent intervals count as one",
        paused_share: f64 = "number of pauses times the longest one as a share of the window, estimated, 0 to 1",
    } with { finding: String = "The server did not respond for `<SECONDS>` s." }
    => "{finding} Look in its log for garbage collection, a restart or disk writes.";

    /// Responses broke the rules of HTTP: bytes arrived that no request had asked for (two responses to one request, a
    /// response before its request, a body longer than declared), or something that is not HTTP. The connection was
    /// closed. Gates fail.
    BrokeRules "broke_rules" Run [Server] [Caution] "The server sent invalid HTTP."
    {
        connections: u64 = "connections that Paceline closed because of invalid HTTP",
        commonest_failure: Option<String> = "the most frequent connection error",
    } with { look: String = "Check with: `curl -i --raw URL`" }
    => "The server broke the rules of the protocol. If another protocol uses this port, correct the URL; otherwise fix the server before comparing it. {look}";

    /// Requests that were sent before the window opened got no response, or connections got no response in the
    /// window while others did, or requests that hang held at least half of the connections (`saturated`). The
    /// percentiles do not include requests from before the window, because they count requests that were due in it.
    /// The remedy depends on whether some connections got no response at all, or requests hang on any connection.
    /// Gates on errors fail.
    StarvedConnections "starved_connections" Run [Server] [Caution] "Some requests or connections got no response."
    {
        unanswered: Option<u64> = "requests that were outstanding when the window opened and got no response",
        outstanding_at_window_start: Option<u64> = "requests outstanding when the window opened",
        timed_out: Option<u64> = "requests of the window without a complete response within the timeout, if requests hang on any connection",
        connections: u64 = "open connections",
        served_min: Option<u64> = "lowest number of responses per connection in the window",
        served_median: Option<u64> = "median number of responses per connection in the window",
    } with { advice: &'static str = "The server responds on only some of its connections. Raise its worker or connection limit, or lower -c." }
    => "{advice}";

    /// Requests were sent, and none was answered as expected, so the figures do not measure the server's work. The
    /// remedy depends on the most frequent failure: a redirect, another status, another body, a timeout, something that
    /// is not HTTP, closed connections ([faults.md](faults.md) lists all).
    NoValidResponse "no_valid_response" Run [Server, Environment: *blame] [Invalid] "No valid response."
    {
        scheduled: u64 = "requests that were due",
        status: Option<BTreeMap<String, u64>> = "responses by status code, if some had an unexpected status",
        bad_body: Option<u64> = "responses with an unexpected body",
        commonest_failure: Option<String> = "the most frequent connection error",
    } with { blame: Blame, advice: String = "What to change depends on the most frequent failure. To see a response: `curl -i URL`" }
    => "{advice}";

    /// The file of a request's body, which is read while it is sent (above 32 MiB), was modified during the run, or
    /// could not be read to its end: requests had parts of both versions, or ended in the middle, and Paceline closed
    /// their connections.
    BodyChanged "body_changed" Run [User]
    [Caution, Invalid: if *connections > 0 { Severity::Invalid } else { Severity::Caution }]
    "The file of a request's body changed during the run."
    {
        changed: Vec<String> = "names of the files that were modified",
        connections: u64 = "connections that Paceline closed because a body could not be read to its end",
    }
    => "The file of a request's body was modified or became unreadable during the run. Send a copy that nothing changes.";

    /// The busiest generator thread was busy for more than 97 % of the window, or for more than 90 % while the server
    /// used less than 95 % of its cores or its use of them is unknown. In a closed loop the rate is then a minimum,
    /// printed with "at least" or `≥`. An open loop that also delivered less than 99 % of its schedule is invalid: it is
    /// unknown whether the generator or the server was the bottleneck.
    GeneratorBound "generator_bound" Run [Generator] [Caution, Invalid: *severity]
    "The load generator was the bottleneck."
    {
        generator_utilization: f64 = "CPU utilization of the busiest generator thread, 0 to 1",
        threads: u32 = "generator threads",
    } with { severity: Severity }
    => "Paceline was the bottleneck; the server may be faster than this result. Give Paceline more threads on separate cores (-t), or compare CPU per request at a fixed rate (-r).";

    /// The generator stalled for a part of the window: its process was stopped, or its thread did not get a core.
    /// Responses that arrived meanwhile were read late, and their times contain the stall. Given if the stall lasted
    /// at least 10 ms and 2 % of the window; invalid above 10 % of the window.
    GeneratorStall "generator_stall" Run [Generator] [Caution, Invalid: *severity] "Paceline stalled."
    {
        longest_s: f64 = "longest time between two iterations of Paceline's event loop, in seconds",
        share_of_window: f64 = "longest stall as a share of the window, 0 to 1",
    } with { severity: Severity, pin: String = "Pin Paceline: `taskset -c 1 paceline run ...`" }
    => "Paceline itself was paused for {longest_s:.2} s: delays in this time are not caused by the server. Repeat the run. {pin}";

    /// Reads of the file of a request's body, which is read while it is sent (above 32 MiB), waited for the disk for
    /// more than 5 % of the time, or one of them for longer than the 99th percentile of the service time: a part of the
    /// times is the disk's. A read holds up its thread with all requests in flight on it. The share is therefore that
    /// of the threads' time in the window, or that of the sum of the service times if this is shorter: fewer requests
    /// than threads were in flight.
    SlowBodyFile "slow_body_file" Run [Generator] [Caution] "Paceline waited for the disk to read a request's body."
    {
        share: f64 = "time that reads waited for the disk, as a share of the threads' time in the window or, if shorter, of the sum of the service times, 0 to 1",
        waited_s: f64 = "time that reads waited, added up over the threads, in seconds",
        of_s: f64 = "the time that it is a share of, in seconds",
        longest_s: f64 = "longest wait of a read, in seconds",
        reads: u64 = "reads that waited",
    } with { finding: String = "Reads of the body's file took 1.20 s of 9.80 s; the longest took 80.0 ms." }
    => "{finding} The service times contain this. Put the file on a faster disk or into memory (/dev/shm), or use a smaller one.";

    /// A CPU limit of Paceline's own control group (Kubernetes, Docker, systemd) was reached: the kernel stopped Paceline
    /// until the next period of the limit. Requests that were due meanwhile were sent late, and responses were read late.
    /// Given above 1 % of the window; invalid above 10 %. Other verdicts on lost CPU time are then not given.
    GeneratorThrottled "generator_throttled" Run [Generator] [Caution, Invalid: *severity]
    "Paceline's CPU limit was reached."
    {
        throttled_periods: u64 = "periods of the limit in which it was reached",
        periods: u64 = "periods of the limit in the window",
        throttled_s: f64 = "time in which the kernel stopped Paceline, added up over its cores, in seconds",
        cores_allowed: Option<f64> = "CPU time that the limit allows, in cores",
    } with { severity: Severity, limit: String = " of 0.5 cores" }
    => "The CPU limit{limit} of Paceline's control group stopped it in {throttled_periods} of {periods} periods: the delays are not caused by the server. Remove the limit or raise it (Kubernetes: resources.limits.cpu, Docker: --cpus, systemd: CPUQuota), or lower the load.";

    /// Completions fell behind the schedule: the number of outstanding requests grew through the window, by more than
    /// chance explains. The response times are those of a queue that grows for as long as the load lasts, not the
    /// server's speed. Judged by the growth of outstanding requests over the intervals of the window with its 95 %
    /// interval; where the offered rate changes, by the first segment of the window in which completions fell behind;
    /// for a file of send times, by the growth over the tenths of the window. A single pause is an `outage`.
    ///
    /// `waited_for` says what the requests waited for. `server`: its queue, so that its times grew with the load.
    /// `connections`: all were busy while the server's times did not grow (the 10th percentile in the second half of the
    /// window is below 1.5 times the shortest time of the run), so that more connections give a higher rate; see
    /// `too_few_connections`. `server or connections`: the times vary too much to tell. `requests that hang`: they held
    /// at least half of the connections, while others were answered within a tenth of the timeout.
    Saturated "saturated" Run [Server, User: *blame] [Caution] "Responses fell behind the offered rate."
    {
        achieved_per_s: f64 = "valid responses completed in the window, per second",
        offered_per_s: Option<f64> = "rate that the schedule asked for",
        outstanding_growth_per_s: Option<f64> = "how fast the number of outstanding requests grows, in requests per second (average over the window)",
        outstanding_growth_per_s_low: Option<f64> = "lower end of the 95 % interval of the growth of outstanding requests",
        outstanding_growth_per_s_high: Option<f64> = "upper end of the 95 % interval of the growth of outstanding requests",
        kept_up_at_per_s: Option<f64> = "for a schedule with several rates: the last rate before the server fell behind",
        fell_behind_at_per_s: Option<f64> = "for a schedule with several rates: the first rate at which the server fell behind",
        waited_for: &'static str = "what requests waited for: `server`, `connections`, `server or connections`, or `requests that hang`",
    } with {
        blame: Blame,
        advice: String = "The server cannot keep up: requests queue, and the response times depend on the length of the run. Try -r `<RATE>`.",
    }
    => "{advice}";

    /// At a fixed rate: the server ran on this machine and was observed (`--pid`, or found by its port), and it used at
    /// least 90 % of the cores that it may run on, or one of its threads was on a core for at least 90 % of the window.
    /// A higher load gives no higher rate, and times grow from here on. In a closed loop this is the limit that such a
    /// load looks for: it is shown with the server's figures, not as a verdict.
    ServerBusy "server_busy" Run [Server] [Note] "The server's CPU was the bottleneck."
    {
        cores_used: f64 = "CPU time of the server per second of the window",
        cores_allowed: u32 = "cores that the server may run on",
        busiest_thread_utilization: Option<f64> = "CPU time of the server's busiest thread as a share of the window, 0 to 1; none if threads that ended may have used more",
    } with { advice: &'static str = "The server's cores were fully used. Give the server more cores, or reduce its CPU time per request." }
    => "{advice}";

    /// Paceline sent late, and reported response times contain that: at a percentile up to the 99th its lag is above
    /// 200 µs and above a tenth of the response time (`affected_from` is the lowest such percentile), or it stalled for
    /// at least 10 ms, 1 % of the window and half of the response time's 99th percentile. Invalid where the median lag
    /// is above 200 µs and above half of the median response time. Where Paceline waited for a CPU for more than 10 % of
    /// the window, `generator_descheduled` is given instead.
    GeneratorLag "generator_lag" Run [Generator] [Caution, Invalid: *severity] "Paceline sent requests late."
    {
        affected_from: &'static str = "lowest percentile of the response time of which the lag is more than a tenth",
        generator_lag_ns_p99: u64 = "99th percentile of the generator's lag",
        generator_lag_ns_max: u64 = "maximum of the generator's lag",
        response_time_ns_p99: u64 = "99th percentile of the response time, including the generator's lag",
    } with { severity: Severity, lag: String, cause: String, pin: String = "Pin Paceline: `taskset -c 1 paceline run ...`" }
    => "Paceline sent requests late (p99 {lag}), which response times from {affected_from} on contain.{cause} {pin}";

    /// With `--timestamps kernel`: at the median, responses waited in the generator's socket for more than half of the
    /// service time before they were read. Every closed loop at its limit has such a queue.
    OwnQueue "own_queue" Run [Generator] [Caution] "Paceline read responses late."
    { receive_delay_ns_p50: u64 = "median time a response waited to be read", service_time_ns_p50: u64 = "median service time" }
    => "Responses waited in Paceline's socket before they were read, so the times are too long. Measure at a fixed rate (-r) below the server's maximum.";

    /// With random arrivals (`--arrivals`): the gaps between a sample of the actual sends do not follow the requested
    /// distribution (Anderson-Darling test, p below 0.001). Late requests were sent in bursts. The schedule was still
    /// random, and response times count from it.
    ArrivalsOff "arrivals_off" Run [Generator] [Note] "Requests were not sent at the requested arrival times."
    {
        anderson_darling: f64 = "statistic of the Anderson-Darling test",
        p_value: f64 = "p-value: probability of a deviation at least this large if the sends follow the requested distribution",
        gaps: u64 = "number of gaps between sends that the Anderson-Darling test used",
    } with { pin: String = "Pin Paceline: `taskset -c 1 paceline run ...`" }
    => "The gaps between sends do not follow --arrivals. Use --pace spin: Paceline then polls instead of sleeping. {pin}";

    /// By Little's law an offered rate needs at least as many connections as the rate times the mean service time.
    /// There were fewer, and more than half of the requests waited for one. Not given if the service time contains the
    /// server's queue (`saturated`, which says what requests waited for).
    TooFewConnections "too_few_connections" Run [User] [Caution] "Requests waited for a free connection."
    {
        connections: u64 = "open connections",
        connections_needed: f64 = "highest offered rate times mean service time, divided by the maximum number of outstanding requests per connection",
        connection_wait_ns_p50: u64 = "median wait for a free connection",
    }
    => "Requests waited for a free connection. Use more connections: -c {connections_needed}";

    /// A closed loop had fewer requests outstanding than its connections carry: by Little's law their mean number is
    /// the rate times the mean service time, and it was below three quarters of the requested number. For a part of the
    /// window connections had no request: the generator did not send the next one at once, or connections were being
    /// opened.
    IdleConnections "idle_connections" Run [Generator] [Note] "Connections were idle for a part of the window."
    {
        outstanding_mean: f64 = "mean number of outstanding requests: responses per second times mean service time",
        outstanding_asked: f64 = "requested number of outstanding requests: connections times depth",
    } with { pin: String = "Pin Paceline: `taskset -c 1 paceline run ...`" }
    => "Paceline did not keep all connections of -c busy. Use fewer connections, or more threads (-t). {pin}";

    /// Requests did not end as `ok`. Those without a response (`timed_out`, `unsent`) count too, unless only a queue that
    /// grows explains them (`saturated`); all others are in no percentile of service or response time. Invalid where more
    /// than 1 % failed, or more than `--max-errors` allows, if that is more; also if no session was completed. Requests
    /// in flight when the user stops the run do not count.
    FailedRequests "failed_requests" Run [Server, Environment: *blame] [Caution, Invalid: *severity] "Requests failed."
    {
        share: f64 = "failed requests as a share of all requests, 0 to 1",
        failed: u64 = "requests that failed: the sum of the following",
        bad_status: Option<u64> = "responses with an unexpected status",
        bad_body: Option<u64> = "responses with an unexpected body",
        connect_failed: Option<u64> = "requests for which no connection could be opened",
        io_failed: Option<u64> = "requests whose connection broke, or whose response was not valid HTTP",
        timed_out: Option<u64> = "requests without a complete response within the timeout",
        unsent: Option<u64> = "requests that were never sent",
        status: Option<BTreeMap<String, u64>> = "responses by status code, if some had an unexpected status",
        commonest_failure: Option<String> = "the most frequent connection error of the whole run",
    } with { blame: Blame, severity: Severity, look: String = " Check with: `curl -i URL`" }
    => "The percentiles leave out failed requests: judge a server by its percentiles and its failures.{look}";

    /// Requests got no response: `timed_out` after they were sent, or `unsent` when the drain ended. They are in
    /// the histogram at the time waited so far. Percentiles at or above the lowest of those times are minimums, printed
    /// with `≥`.
    Censored "censored" Run [Server] [Caution] "Some requests got no response."
    {
        timed_out: u64 = "requests without a complete response within the timeout",
        unsent: u64 = "requests never sent",
        lowest_ns: u64 = "shortest waiting time of a request that timed out or was never sent",
    }
    => "Some requests got no response; times marked ≥ are minimums.";

    /// Fewer connections were open when the warm-up began than requested, so the load is not the requested one: a
    /// closed loop with less than 99 % of them is invalid. The environment is to blame if attempts failed on this machine (ports, descriptors, memory).
    ConnectionsShort "connections_short" Run
    [Server, Environment: if *failed_here > 0 { Blame::Environment } else { Blame::Server }]
    [Caution, Invalid: *severity] "Not all connections could be opened."
    {
        had: u64 = "connections open when the warm-up began",
        asked: u64 = "connections asked for",
        commonest_failure: Option<String> = "the most frequent reason why a connection failed",
        failed_here: u64 = "connection attempts that failed because of a limit of this machine",
    } with { severity: Severity, advice: String = "Raise the limit that was reached (`ulimit -n 20000`, the server's listen backlog), or lower -c." }
    => "Not all connections could be opened ({had} of {asked}). {advice}";

    /// The server allows fewer concurrent HTTP/2 streams on a connection than requested
    /// (SETTINGS_MAX_CONCURRENT_STREAMS). Further requests waited for a stream; this time counts as connection wait.
    StreamsLimited "streams_limited" Run [Server] [Note] "The server allows fewer HTTP/2 streams than requested."
    {
        streams_allowed: u32 = "lowest number of streams that the server allowed on a connection",
        streams_asked: u32 = "requested number of concurrent streams on each connection",
    }
    => "The server's limit of concurrent HTTP/2 streams is {streams_allowed} per connection; {streams_asked} were requested. Raise this limit, or use more connections (-c).";

    /// The server ended HTTP/2 connections with ENHANCE_YOUR_CALM after Paceline had cancelled requests: those that timed
    /// out, streams that ended as asked before the server ended them, and those that were answered before their body was
    /// sent. Many cancelled requests look like an attack (rapid reset, CVE-2023-44487), and servers end the connection
    /// after some.
    EndedAfterCancels "ended_after_cancels" Run [User] [Caution] "The server ended connections because requests were cancelled."
    { connections: u64 = "connections that the server ended after requests on it had been cancelled" }
    => "Over HTTP/2 a request is cancelled if it times out, if its stream ends as asked (--stream-events), or if it is answered before its body was sent; the server takes many of these for an attack. Raise --timeout, lower the load, or let the server end its streams: other requests failed with these connections.";

    /// A CPU limit of the server's control group (Kubernetes, Docker, systemd) was reached in more than 1 % of its
    /// periods: the kernel stopped the server until the next period, of 100 ms if nothing else was set. Responses that
    /// were due meanwhile waited, also where the server was idle for most of the second. Not given if Paceline itself is
    /// in that group and was stopped. The server is observed if it runs on this machine.
    ServerThrottled "server_throttled" Run [Server] [Note] "The server's CPU limit was reached."
    {
        throttled_periods: u64 = "periods of the limit in which it was reached",
        periods: u64 = "periods of the limit in the window",
        throttled_s: f64 = "time in which the kernel stopped the server, added up over its cores, in seconds",
        cores_allowed: Option<f64> = "CPU time that the limit allows, in cores",
    } with { limit: String = " of 0.5 cores" }
    => "The CPU limit{limit} of the server's control group stopped it in {throttled_periods} of {periods} periods, and responses waited for the next period. That is the limit's effect, not the program's. Raise it (Kubernetes: resources.limits.cpu, Docker: --cpus, systemd: CPUQuota) to measure the program alone.";

    /// The memory of the server grew through the window, by more than chance explains (95 % interval of the growth), by at
    /// least 5 % and 4 MB, and in the last third of the window still at half of its mean pace or more. The warm-up is not
    /// judged. The server is sampled once a second if it runs on this machine (in a round: by the lab); a window of less
    /// than ten seconds is not judged. In a closed loop a faster server grows faster: compare the growth for each response.
    MemoryGrowing "memory_growing" Run [Server] [Note] "The server's memory kept growing."
    {
        growth_bytes_per_s: f64 = "mean growth of the resident memory, in bytes per second",
        growth_bytes_per_s_low: f64 = "lower end of the 95 % interval of the growth",
        growth_bytes_per_s_high: f64 = "upper end of the 95 % interval of the growth",
        growth_bytes_per_response: Option<f64> = "growth for each valid response, in bytes",
        rss_bytes_first: u64 = "resident memory when the window began, in bytes",
        rss_bytes_last: u64 = "resident memory when the window ended, in bytes",
    } with { grown: String = "2.00 MB", try_s: f64 = "100" }
    => "The server's memory grew by {grown} per second until the end of the window. Measure longer (-d {try_s:.0}s): a heap or a cache that fills levels off, a leak does not. For a leak, look at what each request leaves behind (a heap profile of the server).";

    /// The queue of the server's listening socket was full, so that the kernel dropped handshakes, and connecting took a
    /// second or longer: a client tries again after 1, 3 and 7 s. The count is that of this machine.
    ListenOverflows "listen_overflows" Run [Server] [Note] "The server's listen queue overflowed."
    { overflows: u64 = "handshakes that the kernel dropped during the run", connect_time_ns_max: u64 = "longest connect time" }
    => "The kernel dropped {overflows} handshakes because the server's listen queue was full, and connections took 1, 3 or 7 s. Raise the server's backlog and net.core.somaxconn, or open fewer connections at once.";

    /// Connecting took a second or longer, and the kernel counted repeated attempts to connect: no answer came to the first,
    /// and a client tries again after 1, 3 and 7 s. Either packets were lost, or the queue of the listening socket was full,
    /// which only the server's machine counts; if that is this machine, `listen_overflows` is given instead. The count is
    /// that of this machine.
    SynRetransmits "syn_retransmits" Run [Environment] [Note] "Attempts to connect were repeated."
    {
        retransmits: u64 = "attempts to connect that were repeated during the run",
        connect_time_ns_max: u64 = "longest connect time",
    } with { longest: String = "1.02 s" }
    => "The kernel repeated {retransmits} attempts to connect, because no answer came, and connecting took up to {longest}. On the server's machine, `nstat -az TcpExtListenOverflows TcpExtListenDrops` shows whether its listen queue was full (then raise the server's backlog and net.core.somaxconn); otherwise look for a firewall or lost packets on the way.";

    /// Segments of the run's TCP connections were lost or late: at least one for a thousand requests was sent again by this
    /// machine or received out of order, and the 99.9th percentile contains the shortest timeout of TCP (200 ms) while the
    /// median does not.
    Retransmits "retransmits" Run [Environment] [Caution] "Packets were lost or late on the network."
    {
        retransmits: u64 = "segments that were sent again on the run's connections, without attempts to connect",
        out_of_order: u64 = "segments that were received out of order on the run's connections",
        packets_dropped: Option<u64> = "packets that this machine dropped because the queue of a core was full",
        time_ns_p99_9: u64 = "99.9th percentile of the response time (closed loop: service time)",
    } with { advice: &'static str = "Look for lost packets on the way: `ip -s link` on both machines." }
    => "TCP sent {retransmits} segments again and received {out_of_order} out of order: the high percentiles contain its timeouts, not the server's time. {advice}";

    /// The server's receive window was full for more than a tenth of the time of its connections, from the warm-up to
    /// the end of the drain: rates and times contain its slow reading. Every closed loop of long bodies at the server's
    /// limit has such a queue. Counted over TCP, by Linux 4.10 or later.
    ReceiveWindowFull "receive_window_full" Run [Server] [Note] "The server did not read its requests as fast as they were sent."
    {
        full_share: f64 = "time in which the receive window was full, as a share of the time of all connections, 0 to 1",
        full_s: f64 = "the same time, added up over the connections, in seconds",
        limited_connections: u64 = "connections with such a time",
        connections: u64 = "open connections",
    } with { percent: f64 }
    => "The server did not read its requests as fast as they were sent (receive window full {percent:.0} % of the time). Look for what keeps it from reading (`paceline why`), or raise its receive buffer (net.ipv4.tcp_rmem).";

    /// The server read its own memory from a disk, at least once for a hundred requests: pages of its program or of files
    /// that it maps were not in memory. The server is observed if it runs on this machine.
    MajorFaults "major_faults" Run [Environment] [Note] "The server waited for a disk to read its memory."
    { faults: u64 = "page faults of the server that waited for a disk, in the window", faults_per_request: f64 = "the same for each request" }
    => "The server waited {faults} times for its own pages to be read from a disk. Use a longer warm-up (--warmup), so that files are read before the window; if it continues, the machine has too little memory for the server's data.";

    /// Users did not keep some of the cookies that the server set, and did not send them: a user keeps 64 cookies of at
    /// most 4,096 bytes each, so that a server cannot fill the memory.
    CookiesDropped "cookies_dropped" Run [Server] [Note] "Some cookies were not kept."
    { dropped: u64 = "cookies that were not kept, including the warm-up" }
    => "Paceline keeps 64 cookies of at most 4,096 bytes for each user, and did not send the others. Set fewer or shorter cookies.";

    /// Responses were compressed (`Content-Encoding`) although no request accepts that: compressing is part of the
    /// server's cost, and the bytes of the row are those of compressed bodies.
    CompressedUnasked "compressed_unasked" Run [Server] [Note] "The server compresses responses without being asked."
    {}
    => "Responses are compressed, although no request accepts compression. Turn compression off in the server, or measure all servers with --accept-encoding gzip.";

    /// The server closed the connection after nearly every response. The row measures connecting as well as answering.
    KeepAliveRefused "keep_alive_refused" Run [Server] [Caution] "The server does not keep connections open."
    { closed_by_server: u64 = "connections that the server closed", protocol: String = "the version of HTTP that was used" }
    => "The server closed connections after a response, so the results include connecting. Turn keep-alive on in the server, or compare them only with runs without it (--no-keepalive).";

    /// The generator's threads were ready to run but did not get a core, and a reported number contains that. In an open
    /// loop: for more than 10 % of the window, and requests were sent late by it (`affected_from`, as in
    /// `generator_lag`). In a closed loop: for more than 5 % of the window, by which the rate may be too low. Above 10 %
    /// the run is invalid if the generator was pinned, or (closed loop) if cores that it may use were idle for as long:
    /// the kernel had put generator and server on one core. Otherwise an unpinned generator shares the machine's cores
    /// with the server. Waiting that changed no reported number is in the record (`generator.run_delay_s`).
    GeneratorDescheduled "generator_descheduled" Run [Environment] [Caution, Invalid: *severity]
    "Paceline waited for a CPU."
    {
        run_delay_share: f64 = "time in which Paceline's threads were ready to run but got no core, as a share of the window, 0 to 1",
        affected_from: Option<&'static str> = "open loop: lowest percentile of the response time of which the lag is more than a tenth",
        idle_cores: Option<f64> = "idle time of the cores that Paceline may use, per second of the window",
    }
    with { severity: Severity, percent: f64, finding: String = "The server may be faster than this result by as much.", pin: String = "Pin Paceline: `taskset -c 1 paceline run ...`" }
    => "Paceline waited for a CPU for {percent:.1} % of the window. {finding} {pin}";

    /// Other processes than the server, those behind it and Paceline used the server's cores, by more than 5 % of one,
    /// while the server's threads waited for a core, and a reported number contains that: in an open loop more than a
    /// tenth of the mean response time (and 10 µs) is such waiting, in a closed loop a thread waited for more than 5 %
    /// of the window, by which the rate may be too low. High percentiles may contain whole time slices of other
    /// processes (some milliseconds). The server is observed if it runs on this machine. A limit (`--slo`) that is
    /// missed then says so.
    ServerDescheduled "server_descheduled" Run [Environment] [Caution] "Other processes used the server's CPU."
    {
        others_cores: f64 = "CPU time that other processes used on the server's cores, per second of the window",
        most_delayed_thread_share: f64 = "time in which the most delayed thread of the server was ready to run but got no core, as a share of the window, 0 to 1",
        wait_mean_ns: f64 = "waiting for a core because of other processes, per request",
    } with { finding: String = "for `<PERCENT>` % of the window: its rate may be higher by as much.", cores: String = "0" }
    => "Other processes used {others_cores:.2} of the server's cores, and the server waited for a core {finding} Stop them, or keep them off the server's cores ({cores}).";

    /// The hypervisor took a part of the time of the cores in use during the window, and a reported number contains
    /// that: more than 5 % in a closed loop, by which the rate may be too low; in an open loop more than 1 % if
    /// requests were sent late, otherwise 10 %. Above 10 % the run is invalid. The cores in use are those that Paceline
    /// may run on, or those of the server, if it runs on this machine and they lost more. One kernel tick (10 ms) per
    /// core is not counted, so `steal_share` is a minimum.
    Steal "steal" Run [Environment] [Caution, Invalid: *severity] "The hypervisor took CPU time from the machine."
    { steal_share: f64 = "CPU time that the hypervisor took, as a share of the time of the cores in use, 0 to 1" } with { severity: Severity }
    => "The hypervisor gave CPU time of this machine to other virtual machines. Repeat with --quiet-cpu (the hypervisor then does not take idle CPUs), or on a quieter host.";

    /// The machine was suspended, to memory or to disk, between the start and the end of the run: CLOCK_BOOTTIME gained
    /// on CLOCK_MONOTONIC by at least 0.1 s. Every figure is measured by the latter, which stood still: a request that
    /// was under way took longer than its time says, and schedule, connections and caches are not those of a run without
    /// a pause. A round repeats such a trial.
    MachineSuspended "machine_suspended" Run [Environment] [Invalid] "The machine was suspended during the run."
    {
        suspended_s: f64 = "time for which the machine was suspended, in seconds",
        host: Option<String> = "the machine, if it is a loader's or the server's",
    }
    => "The machine was suspended for {suspended_s:.1} s during the run, and its clocks stood still. Repeat the run, and keep the machine awake: systemd-inhibit --what=sleep paceline ...";

    /// Heat reduced the clock frequency of a core in use during the window: the kernel counted it for the core or for
    /// its package (Intel; rarely in a virtual machine). The cores are those of generator, server, balancer and database.
    ThermalThrottling "thermal_throttling" Run [Environment] [Caution] "Heat slowed down a core in use."
    {
        throttle_events: u64 = "how often the core with the most such events was throttled in the window",
        cores: Vec<u32> = "the cores that were throttled",
        host: Option<String> = "the machine, if it is a loader's",
    } with { listed: String = "0,1" }
    => "Heat slowed down cores in use ({listed}): rates, times and CPU time per request are not comparable with those of a cool machine. Improve its cooling, turn turbo off (see `paceline doctor`), or let it cool down, and repeat.";

    /// The clock frequency of a core in use, busy for at least 80 % of the window, differed by more than 10 % between
    /// the window's beginning and end. A slower core has a lower rate and needs more CPU time for a request.
    FrequencyChanged "frequency_changed" Run [Environment] [Note] "The clock frequency of a core in use changed."
    {
        change: f64 = "frequency at the end of the window divided by that at its beginning, minus 1",
        core: u32 = "the core whose frequency changed most",
        frequency_mhz_start: u64 = "its frequency when the window began, in MHz",
        frequency_mhz_end: u64 = "its frequency when the window ended, in MHz",
        host: Option<String> = "the machine, if it is a loader's",
    }
    => "Core {core} ran at {frequency_mhz_start} MHz when the window began and at {frequency_mhz_end} MHz when it ended. Choose the governor `performance` and turn turbo off (see `paceline doctor`), or use a longer warm-up.";

    /// The last third of the window was significantly slower than the first: by more than 5 % and by more than three
    /// standard errors (consecutive seconds are assumed to be correlated), or by a factor of at least 2 with every part
    /// of the last third slower than every part of the first. An open loop, whose rate is given, is judged by the median
    /// service time, which must change by more than 20 µs (on a virtual machine: 60 µs); a closed loop by its rate,
    /// which must change by more responses than twice the requests that may be outstanding. The rate and the times of
    /// the run are averages over the change. Not given if other processes or the hypervisor took more than 10 % of the
    /// generator's time.
    SlowingDown "slowing_down" Run [Server] [Caution] "The server became slower during the window."
    {
        change: f64 = "relative change of the responses per second (closed loop) or of the median service time (open loop), from the first to the last third of the window",
    } with { change_in_words: String = "The rate fell by `<PERCENT>` %" }
    => "{change_in_words} from the first to the last third of the window. Look for leaks, growing data or throttling, and measure longer.";

    /// The server was still becoming faster: during the window (from its first to its last third, by the rule of
    /// `slowing_down`), or at the end of the launch's warm-up (which reached its time limit while the rate of the last 4
    /// s was still more than 5 % above that of the 4 s before). Also given if the launch's warm-up was too short for
    /// this rule.
    StillWarming "still_warming" Run [User] [Caution] "The server may not have been warm."
    {
        change: Option<f64> = "relative change of the responses per second (closed loop) or of the median service time (open loop), from the first to the last third of the window",
        warmed_s: Option<f64> = "length of the launch's warm-up, in seconds",
        rate_before_per_s: Option<f64> = "responses per second from 8 s to 4 s before the end of the launch's warm-up",
        rate_last_per_s: Option<f64> = "responses per second in the last 4 s of the launch's warm-up",
    } with { finding: String = "The rate rose by `<PERCENT>` % from the first to the last third of the window.", advice: String = "Use a longer warm-up: --warmup `<TIME>`" }
    => "{finding} {advice}";

    /// No part of the window was steady, neither its start nor its end. The rate and the times of the run are averages
    /// over changes. Judged by the median service time (open loop) or the rate (closed loop) of each second.
    Unsteady "unsteady" Run [Server] [Caution] "The server was not steady in any part of the window."
    {
        variation_share: f64 = "range over the intervals of the window, (highest - lowest) / mean: of their responses per second (closed loop) or of their median service times (open loop)",
        intervals: usize = "number of intervals of the window that were compared",
    } with { what: &'static str = "rate", percent: f64 }
    => "The {what} varied by {percent:.0} % during the window. Measure longer (-d), and look for periodic work in the server.";

    /// Responses take about 40 ms longer to complete than to begin, while nothing is busy: the usual sign of Nagle's
    /// algorithm on the server in combination with delayed acknowledgements (Linux waits 40 ms). The server writes a
    /// response in two pieces without TCP_NODELAY. Not given for HTTP/3, for streams, and for bodies above 256 KiB.
    DelayedAck "delayed_ack" Run [Server] [Caution] "Responses waited for a delayed TCP acknowledgement."
    { first_byte_ns_p50: u64 = "median time to the first byte", service_time_ns_p50: u64 = "median time to the last byte" }
    => "Each response took about 40 ms longer because its second part waited for a TCP acknowledgement. Set TCP_NODELAY in the server, or send headers and body in one write.";

    /// No expected body was given, and valid responses differed in length. This may be intended; or some are error
    /// pages with status 200.
    BodyLengthVaries "body_length_varies" Run [User] [Note] "Responses differ in length."
    { body_bytes_min: u64 = "shortest body", body_bytes_max: u64 = "longest body" }
    => "Responses had different lengths. If they should be equal, check them with --expect-body, --expect-json or --expect-sha256.";

    /// Events carry times that are after their arrival. The clock of their sender is ahead of that of the machine with
    /// Paceline, one of the two was set during the run, or the times are rounded up. These events have no delay, and a
    /// gate counts each as a miss. If the clocks differ, the delays of all other events are too short by the
    /// difference.
    ClocksDiffer "clocks_differ" Run [Environment] [Caution] "Events arrived before the times that they carry."
    {
        events: u64 = "events whose time is after their arrival",
        share: f64 = "their share of the events with a time, 0 to 1",
        ahead_s: f64 = "longest time by which one is ahead, in seconds",
    }
    => "Events arrived up to {ahead_s:.6} s before the times that they carry, so the delays of the others are not reliable either. Synchronise the clocks of both machines, or send from this machine.";

    /// No event of a stream has a time at the JSON pointer of `--message-time`, so there are no delays. A time is a
    /// number since 1970 in seconds, milliseconds, microseconds or nanoseconds, or a text as in RFC 3339 with its
    /// offset from UTC. A time more than 39 hours before the arrival counts as none.
    NoMessageTimes "no_message_times" Run [User] [Caution] "No event carried a time."
    { events: u64 = "events without a time" }
    => "No event has a time where --message-time points, so no delay was measured. Compare the pointer with an event, which --debug shows.";

    /// The window was shorter than 100 ms, as with a small `-n`. Shares of it mean nothing: the kernel counts CPU time in
    /// steps of 10 ms, and a single time slice of another process takes some milliseconds. Verdicts on CPU use, pauses of
    /// Paceline, waiting for a CPU, idle connections and changes are not given, nor is `few_samples`.
    TooShort "too_short" Run [User] [Note] "The run was too short to judge shares of it."
    { window_s: f64 = "length of the window, in seconds", requests: u64 = "requests that were due in it" } with { few: &'static str = "" }
    => "The window is too short to judge CPU use, pauses or changes in it{few}. Measure longer (-d 5s).";

    /// Fewer requests than a 95 % interval for the 99th percentile needs: 370, by 3.7/(1 - p). A limit on it (`--slo`)
    /// needs more: 1,000, so that 10 requests lie above it.
    FewSamples "few_samples" Run [User] [Note] "Too few requests for the 99th percentile."
    { samples: u64 = "requests measured", samples_for_p99: f64 = "requests needed" }
    => "There are too few requests for a reliable p99. Measure longer (-d).";

    /// At least one of the loaders that share the run has no result: it did not start, began late, was ended, or its
    /// connection broke. Its part of the load was not sent, or was sent and not counted. The other loaders kept to
    /// their parts of the schedule, so the load was smaller by the missing share.
    LoaderLost "loader_lost" Run [Environment] [Invalid] "A load generator failed."
    {
        loaders_lost: usize = "loaders without a result",
        loaders: usize = "number of loaders",
        missing_share: Option<f64> = "open loop: share of the scheduled requests that the failed loaders should have sent, 0 to 1",
        reasons: Vec<String> = "host and reason of each failure",
    }
    => "A load generator on one of the machines failed, so less load was sent than requested. Repeat the run.";

    /// The windows of the loaders that share the run began or ended further apart than 1 % of their length: a loader
    /// received the start time too late, its clock stopped for a while, or it ended early. The window was cut to the
    /// whole intervals that all loaders have in common. Invalid if less than half of it is left, or if it could not be
    /// cut and they are further apart than 10 %.
    LoadersApart "loaders_apart" Run [Environment] [Caution, Invalid: *severity] "The load generators did not run at the same time."
    {
        apart_s: f64 = "largest difference between the starts or the ends of two loaders' windows, in seconds",
        share_of_window: f64 = "`apart_s` as a share of the window, 0 to 1",
        window_s: f64 = "length of the window that all loaders have in common, in seconds",
        left_out: Option<u64> = "requests that are not counted, because they ended outside the common window",
        parts_missing: Vec<&'static str> = "parts of the record that are left out, because they cannot be limited to the window that all loaders have in common: `by_segment`, `by_request`, `sessions`, `stream_examples`",
    } with { severity: Severity }
    => "The windows of the load generators began or ended at different times. Repeat the run with a longer window (-d). Check the network between coordinator and loaders if it happens again.";

    /// The loaders that share the run measured different things: their median service times differ by more than a
    /// quarter and 100 µs, or their shares of failed requests by more than 1 %, and by more than chance: their 95 %
    /// intervals do not overlap. One path is slower, or one loader is overloaded. The merged percentiles are a mixture.
    LoadersDiffer "loaders_differ" Run [Environment] [Caution] "The results of the load generators differ."
    {
        service_time_ns_p50: Vec<u64> = "median service time of each loader",
        failed_share_least: f64 = "lowest share of failed requests among the loaders",
        failed_share_most: f64 = "highest share of failed requests among the loaders",
    } with { host: String }
    => "The results of the load generators differ. Compare the generators one by one (`by_generator` in the record). Begin with the CPU and the network path of {host}.";

    /// A loader's network interface carried at least 90 % of its limit, in one direction, in the window. The network
    /// was the bottleneck, or close to it. The limit of sending is the speed of the device, or the rate of a token
    /// bucket on the interface if that is lower; the limit of receiving is the speed of the device. Interfaces without
    /// a device (veth) have no limit.
    NetworkBound "network_bound" Run [Environment] [Caution] "The network was the bottleneck."
    {
        host: String = "host of the loader",
        interface: String = "network interface of this host",
        direction: &'static str = "`sent` or `received`",
        bytes_per_s: f64 = "bytes per second in this direction",
        speed_bytes_per_s: f64 = "maximum in this direction, in bytes per second",
    } with { percent: f64 }
    => "Interface {interface} of {host} was {percent:.0} % utilized (bytes {direction}). Use a faster link, loaders on more machines (--on), or smaller requests and responses.";

    /// The network interface of a server's machine, or of its balancer's or database's, carried at least 90 % of its
    /// limit, in one direction, in the window. The network was the bottleneck, or close to it. The limit of sending is
    /// the speed of the device, or the rate of a token bucket on the interface if that is lower; the limit of receiving
    /// is the speed of the device. Interfaces without a device (veth) have no limit.
    ServerNetworkBound "server_network_bound" Trial [Environment] [Caution] "A server's network interface was the bottleneck."
    {
        host: String = "host of the server, balancer or database",
        interface: String = "network interface of this host",
        direction: &'static str = "`sent` or `received`",
        bytes_per_s: f64 = "bytes per second in this direction",
        speed_bytes_per_s: f64 = "maximum in this direction, in bytes per second",
    } with { percent: f64 }
    => "Interface {interface} of {host} was {percent:.0} % utilized (bytes {direction}). Use a faster link, or smaller responses.";

    /// Server and generator could not get separate cores and took CPU time from each other: the machine has one core, or
    /// a loader of `--on` runs on the server's machine, where it is not restricted to other cores.
    SharedCores "shared_cores" Trial [Environment] [Caution] "Server and generator share cores."
    {
        server_cores: Vec<u32> = "the server's cores",
        generator_cores: Vec<u32> = "the generator's cores on the machine that runs the round",
        loaders: Option<Vec<String>> = "the machines of the load generators, if these are not the machine on which the round was started",
    } with { advice: &'static str = "Server and load generator ran on the same core. Use a machine with at least two cores." }
    => "{advice}";

    /// No control group could be made for the server, so its CPU time was read from `/proc`. Processes that started and
    /// ended between two samples are missing: the figure is a minimum.
    CpuLowerBound "cpu_lower_bound" Trial [Environment] [Note] "The server's CPU time may be incomplete."
    { cpu_s: f64 = "CPU time that was measured, in seconds" }
    => "The CPU time of processes that started and ended during the run may be missing. Run as root, or in a delegated control group: systemd-run --user --scope -p Delegate=yes paceline ...";

    /// The server, or the load balancer or database of its deployment, ended under load. The blame is `server` in each
    /// case; `message` names the process, if it is known.
    ServerDied "server_died" Trial [Server] [Invalid] "A process under test ended under load."
    { message: String = "which process ended, and how" }
    => "The server, or its load balancer or database, ended under load; see `message`. Read the end of the log (`log_tail` in the record).";

    /// The hypervisor took more than 1 % of the window of a core that server, balancer or generator may run on, less
    /// one kernel tick; above 10 % the trial is invalid.
    StolenTime "stolen_time" Trial [Environment] [Caution, Invalid: *severity] "The hypervisor took CPU time from a core in use."
    {
        steal_s: f64 = "time for which the hypervisor did not run the core `core`, in seconds",
        core: u32 = "the core from which the hypervisor took the most time",
        over_s: f64 = "length of the window, in seconds",
    } with { severity: Severity }
    => "The hypervisor took CPU time from a core in use. Repeat with --quiet-cpu (the hypervisor then does not take idle CPUs), or on a dedicated machine.";

    /// The host of the virtual machine moved the server's or the generator's core: just before or after the load a cache
    /// line took a time from one to the other that differs by more than a factor of 1.4 from the usual one of the round.
    /// Every response over loopback costs more the farther the cores are apart. A round waits for the usual distance, at
    /// most half a minute, and repeats such a trial.
    CoresMoved "cores_moved" Trial [Environment] [Caution] "The host moved the cores in use."
    {
        core_distance_ns: f64 = "time of a cache line from the server's core to the generator's, before or after the load",
        usual_ns: f64 = "the usual time of the round",
    }
    => "The host of this virtual machine moved the cores in use: rates and CPU time per request are not comparable with the other rows. Repeat the round on a machine with cores of its own.";

    /// A check before the load found that a trait of the server's manifest (pipelining, keep-alive in HTTP/1.0) does
    /// not hold, or holds although the manifest denies it.
    ClaimDoesNotHold "claim_does_not_hold" Trial [Server] [Note] "The server does not match its manifest."
    { checks: Vec<String> = "the checks that differ" }
    => "The server does not behave as its manifest says: paceline lab check SERVER shows the difference. Fix the server, or [traits] in its server.toml.";

    /// The rate was low although nothing was busy: server, generator and balancer were below half of their cores while
    /// every connection waited. The limit was waiting, for locks, a database or the network, not CPU.
    Waiting "waiting" Trial [Server] [Note] "No core was fully used: requests waited for something else."
    {
        server_utilization: f64 = "CPU utilization of the server's cores by the server, 0 to 1",
        generator_utilization: f64 = "CPU utilization of the generator's busiest thread, 0 to 1",
        service_time_ns_p50: u64 = "median service time",
        first_byte_ns_p50: Option<u64> = "median time to the first byte",
    }
    => "The rate is limited by waiting, not by CPU. Look at locks, sleeps, back ends and TCP settings, or use more connections.";

    /// Memory was short under the load: the machine killed a process because it was out of memory (the result is then
    /// invalid), swapped 16 MiB or more, or the server used at least 90 % of its memory limit: the lowest limit of its
    /// control groups, or the machine's memory. A sum over its processes above 110 % of the limit says nothing: pages
    /// that they share count in each. Kills and swapping are counted for the whole machine.
    MemoryBound "memory_bound" Run [Environment] [Caution, Invalid: if *oom_kills > 0 { Severity::Invalid } else { Severity::Caution }]
    "Memory was short."
    {
        limit_bytes: Option<u64> = "memory that the server may use, in bytes",
        rss_bytes_peak: Option<u64> = "highest resident memory of the server, in bytes",
        swapped_bytes: u64 = "bytes that the machine swapped in and out under the load",
        oom_kills: u64 = "processes that the kernel killed under the load because memory ran out",
    } with { advice: &'static str = "The server used at least 90 % of the memory that it may use. Raise its limit (memory.max of its control group or of one above it) or, without a limit, add memory to the machine; or give the server a smaller heap or fewer processes." }
    => "{advice}";

    /// A search for the capacity missed its objective in windows far below rates that met it, or at every rate with a
    /// short median and no failures: pauses of the server decide the result, not the load, so the capacity is
    /// undefined.
    StallsDecide "stalls_decide" Trial [Server] [Invalid] "The result depends on pauses of the server, not on the load."
    {
        lowest_missed_per_s: f64 = "the lowest rate that missed the objective",
        highest_passed_per_s: f64 = "the highest rate that met the objective; 0 if none did",
    } with { try_per_s: f64 }
    => "The server pauses regardless of the rate, so its capacity under this objective is undefined. Find the cause of the pauses (paceline run -r {try_per_s:.0}), or use longer windows.";

    /// A search for the capacity found no rate: no window met the objective, or the generator or the machine disturbed
    /// the windows.
    CapacityNotFound "capacity_not_found" Trial [Server, Environment: if ended_early.is_some() { Blame::Environment } else { Blame::Server }]
    [Invalid] "The search found no rate that meets the objective."
    {
        windows: usize = "windows of the search",
        lowest_offered_per_s: Option<f64> = "the lowest rate that was offered",
        ended_early: Option<String> = "why the search ended early",
    } with { advice: String = "No tested rate met the objective. Test a lower rate (paceline run -r), or choose another objective." }
    => "{advice}";

    /// Another round ran on the machine before, during or after the trial: one of the two was started with
    /// `--share-machine`.
    SharedMachine "shared_machine" Trial [User] [Caution] "Another round ran on this machine before, during or after the trial."
    { other: String = "each other round, with its process" }
    => "Another round used this machine before, during or after this trial. Measure again when no other round runs.";

    /// In a trial with a balancer, at least one core was busy for 90 % of the window or more.
    CoreRanOut "core_ran_out" Trial [Environment] [Note] "A CPU core was fully used."
    { cores: Vec<String> = "each fully used core, with the processes on it and its utilization" }
    => "At least one core was fully used and limited the rate. Give the process on that core more cores.";

    /// The balancer used 90 % of its cores or more: it was the bottleneck, not the instances.
    BalancerBound "balancer_bound" Trial [Environment] [Caution] "The load balancer was the bottleneck."
    {
        balancer_utilization: f64 = "the balancer's CPU time as a share of its cores, 0 to 1",
        balancer_cpu_ns_per_request: f64 = "the balancer's CPU time per response",
    }
    => "The load balancer was the bottleneck, not the servers behind it. Give it more cores.";

    /// The balancer ran on cores of the instances or of the generator, so these had less CPU time.
    BalancerSharesCores "balancer_shares_cores" Trial [Environment] [Caution] "The load balancer shares cores with other processes."
    { balancer_cores: Vec<u32> = "the balancer's cores", with: Vec<String> = "other processes on these cores" }
    => "The load balancer shared cores with the server or the load generator. Use a machine with at least three cores, or pin the balancer to a separate core.";

    /// The database counted fewer statements or rows than the valid responses need: by more than 1 %. The server
    /// caches, or reads several rows with one statement where each needs its own. Counted from before the run to after
    /// it, warm-up included.
    QueriesNotRun "queries_not_run" Trial [Server] [Invalid] "The server ran fewer queries than its responses need."
    {
        selects: u64 = "statements that the database counted",
        selects_expected: u64 = "expected number of statements, from the valid responses",
        rows_expected: u64 = "expected number of rows, from the valid responses",
        rows_read: u64 = "rows that the database returned",
    }
    => "The valid responses need {selects_expected} statements and {rows_expected} rows; the database counted {selects} and {rows_read}. Run one statement for each row, and do not cache rows.";

    /// The database counted fewer updated rows than the valid responses need, by more than 5 % (one response may pick
    /// the same row twice), or does not have the values that responses after the run reported.
    UpdatesNotStored "updates_not_stored" Trial [Server] [Invalid] "The database does not contain the updates that the server reported."
    {
        rows_updated: u64 = "rows that the database counted as updated",
        rows_expected: u64 = "rows that the valid responses reported as updated",
        returned: u64 = "rows reported as updated by the responses to the requests that Paceline sent after the run",
        stored: u64 = "number of these rows that were found in the database",
    }
    => "The database updated {rows_updated} of {rows_expected} expected rows. After the run, Paceline sent more requests: their responses reported {returned} updated rows, of which the database contained {stored}. Write each row to the database before sending the response.";

    /// The database used at least 90 % of its cores, and the server less of its own: the number measures the database
    /// more than the server.
    DatabaseBound "database_bound" Trial [Environment] [Caution] "The database was the bottleneck."
    {
        database_utilization: f64 = "CPU utilization of the database's cores by the database, 0 to 1",
        server_utilization: f64 = "CPU utilization of the server's cores by the server, 0 to 1",
        database_cpu_ns_per_request: f64 = "the database's CPU time per response",
    }
    => "The database was the bottleneck, not the server. Give the database more cores, or compare servers by their CPU time per request.";

    /// The database's counters for the run could not be read, or a request after a run with updates, whose rows are
    /// compared with the stored ones, got no response: it is unknown whether the server ran its queries and stored its
    /// updates. The database ended, has no room on its disk, or accepts no further connection.
    DatabaseNotCounted "database_not_counted" Trial [Environment] [Invalid] "The database queries or updates could not be checked."
    {
        responses: u64 = "valid responses for which the number of database queries is unknown",
        missing: &'static str = "which of the two could not be read: `counters` (the database's statement counters) or `response after the run` (its rows are compared with those in the database)",
    } with { advice: &'static str = "The database's statement counters could not be read, so its queries are not verified. Read the end of the database's log in the record, and measure again." }
    => "{advice}";

    /// The server had more connections to the database open at the end of the load than its pool (`DATABASE_POOL`) may
    /// have, by more than a quarter of the pool plus four (drivers may keep connections for themselves). Other servers
    /// of the table had fewer, so the rows are not comparable.
    PoolExceeded "pool_exceeded" Trial [Server] [Caution] "The server opened too many database connections."
    { connections: u64 = "number of open database connections", pool: u32 = "connections that the plan allows" }
    => "The server opened more database connections ({connections}) than allowed ({pool}). Divide DATABASE_POOL among its processes.";

    /// The database ran on cores of the server, of the balancer or of the generator, so these had less CPU time. On
    /// the same cores as the server, a request costs the CPU time of both.
    DatabaseSharesCores "database_shares_cores" Trial [Environment] [Note] "The database shares cores with other processes."
    {
        database_cores: Vec<u32> = "the database's cores",
        with: Vec<String> = "other processes on these cores",
        database_share: f64 = "the database's share of the CPU time of database and server, 0 to 1",
    }
    => "The database shared cores with the server or the load generator. Use a machine with more cores, or another machine for the database (--on ssh:database=HOST), and compare the server's CPU time per request too.";

    /// There were more instances than cores for them: together they cannot do more than one instance per core.
    InstancesShareCores "instances_share_cores" Trial [Environment] [Note] "There are more server instances than cores."
    { instances: usize = "instances", cores: usize = "cores that the instances may use" }
    => "There were more server instances than cores, so this measures the cost of the load balancer, not the gain of more instances. Use one core per instance.";

    /// The balancer gave one instance more than 1.3 times its even share.
    UnevenInstances "uneven_instances" Trial [Environment] [Note] "The load balancer distributes requests unevenly."
    { requests_by_instance: Vec<u64> = "requests given to each instance" }
    => "The load balancer gave one instance more than its share, so that instance reaches its limit first. Check the balancer's policy.";

    /// An instance was killed, and the balancer considered it alive until the end of the run.
    InstanceNotTakenOut "instance_not_taken_out" Trial [Environment] [Caution] "The load balancer kept using a dead instance."
    { instance: u32 = "the instance that was killed" }
    => "The load balancer never marked the killed instance as down. Check the balancer's health checks, or measure longer.";

    /// Ten seconds after the load had ended the server was still working on it. This work would have slowed the next
    /// load of the launch, so the server was restarted. A caution if the loads of a launch belong together (a first run
    /// and the run after it): then it was not restarted.
    BusyAfterLoad "busy_after_load" Trial [Server] [Note, Caution: if *is_whole { Severity::Caution } else { Severity::Note }]
    "The server was still busy after the load."
    { waited_s: f64 = "how long Paceline waited for the server to become idle, in seconds", cores_used: f64 = "CPU use of the server at the end of this wait, in cores" }
    with { is_whole: bool, consequence: &'static str = "The server was still processing this load when the next load began, so the rate measured for the next load may be too low. Put the two loads into separate plans." }
    => "{consequence}";

    /// Requests were answered, but the processes that the lab found used too little CPU time to have answered them: the
    /// server hands its work to a process outside its own tree (a service manager, a container daemon). Processes are
    /// looked for in the control group, among descendants, in the session and behind the port. CPU time and memory are
    /// missing then, not zero.
    NotSampled "not_sampled" Trial [Server] [Caution] "The processes that sent the responses were not found."
    {
        processes: u32 = "server processes that Paceline found",
        cpu_s: f64 = "CPU time of these processes over the window",
        responses: u64 = "responses in the window",
    }
    => "The processes that sent the responses were not found, so CPU time and memory are missing. Run the server in the foreground, so that it stays in the process tree of its command.";

    /// The lab's samples of the server do not match the run's window (too short a window, a busy machine, or a
    /// generator that did not report its end), so the trial has no CPU figures.
    WindowNotSampled "window_not_sampled" Trial [Environment] [Note] "The server's CPU time was not measured."
    { sampled_s: f64 = "time that the samples cover, in seconds", window_s: f64 = "length of the window, in seconds" }
    => "This trial has no CPU figures, because the samples of the server's CPU time do not match the window. Measure longer, or when the machine is less busy.";

    /// The load came from another generator (such as wrk or oha). In the trial it checked no body and had no warm-up,
    /// and its percentiles may leave out requests that a stalled server kept it from sending: compare its rate, not
    /// its percentiles.
    ForeignGenerator "foreign_generator" Trial [User] [Note] "A load generator other than Paceline was used."
    { percentiles_ns: BTreeMap<String, u64> = "percentiles as the other generator printed them" } with { generator: String = "wrk" }
    => "In this trial, {generator} checked no body and had no warm-up, and its percentiles may leave out requests that it could not send while the server stalled. Compare its rate, not its percentiles.";

    /// The row's responses differ in size from those of the table's other rows: their bodies by more than 15 % from the
    /// median over the rows, or headers and body together by more than a factor of two. Of an even number of rows, each
    /// of the two in the middle counts as the median: of two rows whose bodies differ by more than 18 %, both have this
    /// verdict. The servers did not do the same work, and a saturated network delivers fewer of the larger responses per
    /// second.
    UnequalWork "unequal_work" Row [Server] [Note, Caution: if *body_bytes_per_response != *body_bytes_typical { Severity::Caution } else { Severity::Note }]
    "The row's responses differ in size from those of other rows."
    {
        bytes_per_response: f64 = "bytes received per response of this row, headers included",
        bytes_typical: f64 = "bytes received per response, headers included: median over the rows of the table",
        body_bytes_per_response: f64 = "body bytes per response in this row",
        body_bytes_typical: f64 = "body bytes per response: median over the rows of the table",
    }
    => "This row's responses have {body_bytes_per_response:.0} bytes of body ({bytes_per_response:.0} with headers); the median over the rows of the table is {body_bytes_typical:.0} ({bytes_typical:.0}). Check what the server sends: curl -i URL";

    /// The launches of the row were not all measured by the same build of the generator: its name, version or commit
    /// differs. The launches then differ in more than the server.
    GeneratorChanged "generator_changed" Row [User] [Caution] "The launches were measured by different generators."
    { tools: Vec<String> = "name, version and commit of each generator" }
    => "The launches of this row were measured by different versions of the load generator. Measure all of them with one version.";
}
