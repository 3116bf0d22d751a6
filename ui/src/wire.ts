// Generated from the Rust types of crates/web: UPDATE=1 cargo test -p paceline-web --test it wire_types

/** The facts of a round that a reader needs. */
export interface About {
  /** Deviations from the plan. */
  changes?: (string)[];
  /** When it ended; none while it is unfinished. */
  finished_at: string | null;
  /** Id of the round. */
  id: string;
  /** Planned number of launches per row. */
  launches_planned: number;
  /** Machine settings that were to be changed for it but could not be. */
  not_tuned?: (string)[];
  /** Name of the plan. */
  plan: string;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** Number of trials carried out; a second attempt counts as the same trial. */
  trials_done: number;
  /** Number of planned trials. */
  trials_planned: number;
  /** Number of second attempts. */
  trials_retried: number;
  /** Machine settings that were changed for it and restored after it. */
  tuned?: (string)[];
}

/** The connections to one of several addresses of the target. */
export interface AddressConnections {
  /** The address and port. */
  address: string;
  /** The most frequent reason of a failed attempt or broken connection, as text. */
  commonest_failure?: string;
  /** Attempts to connect that failed, in the whole run. */
  failed_attempts: number;
  /** Connections that were made, in the whole run. */
  made: number;
  /** Those that failed: no response, or another one than expected. */
  not_ok: number;
  /** Requests of the window that were sent on its connections and have ended. */
  requests: number;
}

/** A question and the table that answers it. */
export interface Answer {
  /** Whether only the best row of each language is shown. */
  by_language: boolean;
  /** Rows that are compared. */
  compared: number;
  /** What the table decides about the first rank. */
  decision: AnswerDecision;
  /** The servers that may be the first: all with the best possible rank 1. */
  first: (string)[];
  /** `single` or `cores`. */
  form: string;
  /** Its id. */
  id: string;
  /** The load. */
  load: Load;
  /** The label of the machine within the round. */
  machine: string;
  /** The metric. */
  metric: MetricPage;
  /** What the table can tell apart, as a sentence. */
  resolution: string | null;
  /** The round, with the machine that the table was measured on. */
  round: RoundEntry;
  /** The first rows. */
  rows: (AnswerRow)[];
  /** The question as a title. */
  title: string;
  /** The workload. */
  workload: string;
}

/** What a table decides about the first rank. */
export type AnswerDecision = "one" | "several" | "nothing" | "single";

/** A row of a card. */
export interface AnswerRow {
  /** What limited it, as after "limited by". */
  limit: string | null;
  /** The server. */
  server: ServerEntry;
  /** The worst severity of its verdicts; none without a verdict. */
  severity: Severity | null;
  /** Its figure. */
  value: FigurePage;
  /** Its verdicts, the most severe first. */
  verdicts: (string)[];
}

/** Which message of a WebSocket answers one that was sent. */
export type AnswerRule = "next" | "any" | "match";

/** The answers of some rounds. */
export interface AnswersPage {
  /** The questions that some round answers, in order. */
  answers: (Answer)[];
  /** The plans that were measured several times on one machine. */
  plans: (PlanHistory)[];
}

/** The check that the actual sends of random arrivals were random: the Anderson-Darling test of a sample of their gaps against the requested distribution. */
export interface ArrivalCheck {
  /** The Anderson-Darling statistic of the test, A². */
  anderson_darling: number;
  /** Number of tested gaps between sends. */
  gaps: number;
  /** The probability of a statistic at least this large if the sends follow the requested distribution. */
  p_value: number;
}

/** Distribution of the arrivals of an open loop. */
export type Arrivals = "constant" | "poisson";

/** An unexpected body: the first of its kind, warm-up included. */
export interface BadBody {
  /** When it was complete, in nanoseconds from the start of the run. */
  at_ns: number;
  /** Length of the body, in bytes. */
  body_bytes: number;
  /** The first byte that differs from the expected body, from 0, if that body is known. */
  differs_at?: number;
  /** The difference from the expectation, as text. */
  fault: string;
  /** The request of a mix that it answered. */
  request?: string;
  /** An excerpt, from shortly before that byte or from the start. Bytes that are not UTF-8 are replaced. */
  shown: string;
  /** Offset of the excerpt in the body. */
  shown_from: number;
  /** The status of the response. */
  status: number;
}

/** The instances and the balancer of a launch. */
export interface BalancedLoad {
  /** Name of the folder of the balancer. */
  balancer: string;
  /** The fault injected in the middle of the window. */
  fault?: FaultKind;
  /** Number of instances of the server. */
  instances: number;
  /** Its policy for choosing an instance. */
  policy: string;
  /** Where requests go: through the balancer, or directly to one instance or to all. */
  route: Route;
}

/** The counters of a balancer over the window. */
export interface BalancerCounts {
  /** Counts of each instance, in order. */
  by_instance: (InstanceCounts)[];
  /** Client connections that it accepted. */
  connections?: number;
  /** Requests that it answered with its own error, or aborted. */
  failures?: number;
  /** Counters that such a source does not report, as text. */
  not_reported: (string)[];
  /** Requests sent to another instance than the one first chosen. */
  redispatches?: number;
  /** Requests that the balancer received. */
  requests?: number;
  /** Attempts to reach an instance that were retried. */
  retries?: number;
  /** The source of the counters: `haproxy stats socket`, `nginx stub_status`. */
  source: string;
}

/** The balancer, with its version and configuration. */
export interface BalancerReceipt {
  /** Its configuration: the filled template. */
  configuration: string;
  /** Name of the balancer's folder. */
  id: string;
  /** Display name of the balancer. */
  name: string;
  /** Output of its version command. */
  versions: string;
}

/** Several instances behind a balancer, over the window. */
export interface Balancing {
  /** The balancer: its version and configuration. */
  balancer: BalancerReceipt;
  /** The balancer's own counters; none if they could not be read. */
  counts?: BalancerCounts;
  /** The injected fault. */
  fault?: InjectedFault;
  /** Each instance, in order, then the balancer. */
  processes: (ProcessUse)[];
}

/** One figure of the source, with its counterpart. */
export interface Beside {
  /** The same figure in this round, in the same unit. */
  now: Figure | null;
  /** The figure that the source observed. */
  observed: Observation;
  /** The round's figure as a share of the source's value. */
  ratio: number | null;
  /** How far the round's figure is comparable. */
  standing: Standing2;
}

/** The party to blame. */
export type Blame = "server" | "generator" | "environment" | "user";

/** The outcomes and times of a set of requests. A time that was not measured is left out, never zero. */
export interface Block {
  /** Body lengths of valid responses. */
  body_bytes?: Lengths;
  /** Bytes sent and received. */
  bytes: Bytes;
  /** Requests that are in the histograms at the time waited so far. */
  censored?: Censored;
  /** Valid responses completed inside the window, whenever they fell due: what the achieved rate counts. */
  completed_in_window: number;
  /** From the start of connecting, TLS handshake included, to the last byte of the response. */
  connect_and_service_time_ns?: Times;
  /** Time to establish a connection, for connections made in this block, without the TLS handshake. */
  connect_time_ns?: Times;
  /** From when a request was due until a connection, or a stream on one, was free for it. */
  connection_wait_ns?: Times;
  /** The number of requests by outcome. */
  counts: Counts;
  /** Time between two events of a stream. Events that were read together have a gap of 0. Streams that failed later are included. */
  event_gap_ns?: Times;
  /** Time until each failed request failed, from the intended send, or from the actual send in a closed loop. Requests that timed out are not included: they count in the response time (closed loop: in the service time). */
  failed_time_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the first byte of a stream's body. */
  first_body_ns?: Times;
  /** From the actual send to the first byte of the response. */
  first_byte_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the end of a stream's first event: for a language model, the time to the first token as its user sees it. Streams that failed later are included. */
  first_event_ns?: Times;
  /** Delay caused by the load generator: it begins when the request is due and a connection is free, and ends when the request is sent. It is part of the response time. */
  generator_lag_ns?: Times;
  /** Time of the TLS handshake after connecting, full and resumed ones together. Early data is sent meanwhile. */
  handshake_time_ns?: Times;
  /** The longest gap between two events of each stream that ended as asked. */
  longest_gap_ns?: Times;
  /** From the time that an event of a stream carries to its arrival, by the wall clock of the load generator: the clocks must agree. Events without a time, or with one after their arrival, have no delay; they are counted. */
  message_delay_ns?: Times;
  /** From when the kernel had received the last byte to when it was read: how long responses waited for the load generator. It is part of the service time. */
  receive_delay_ns?: Times;
  /** From the moment at which the request was due by the schedule (the intended send) to the last byte of the response. It includes waiting for a connection and any lag of the load generator. */
  response_time_ns?: Times;
  /** From the actual send (the first byte of the request is passed to the socket) to the last byte of the response. */
  service_time_ns?: Times;
  /** Number of responses by status code. */
  status: Record<string, number>;
  /** The events of streams; none without streams. */
  stream_events?: EventCounts;
  /** From the first byte of a stream's body to the end of the stream, for each stream that ended as asked. */
  stream_time_ns?: Times;
}

/** The check of a body. */
export type BodyExpectation = {
  exact: Content;
} | {
  sha256: string;
} | {
  json: (ExpectedValue)[];
} | {
  json_form: JsonForm;
};

/** What went wrong with the files of request bodies that were read while they were sent. */
export interface BodyFaults {
  /** The names of the files that were modified during the run, without their folders. */
  changed: (string)[];
  /** Connections that were closed because a body could not be read to its end. */
  connections: number;
}

/** Reads of files of request bodies, while these were sent, that had to wait for the disk in the window. */
export interface BodyWaits {
  /** Their number. The file's content was not in memory; where the file system does not report that, the reads that took at least a millisecond. */
  reads: number;
  /** The longest of them, in nanoseconds. */
  wait_ns_max: number;
  /** How long they took, added up over the threads, in nanoseconds. */
  wait_ns_total: number;
}

/** The end of the window. */
export type Bound = {
  duration_s: number;
} | {
  requests: number;
};

/** Bytes on the wire, and in bodies. */
export interface Bytes {
  /** Bytes of response bodies, framing removed. */
  body: number;
  /** Bytes read from sockets, heads and framing included. */
  received: number;
  /** Bytes that were handed to sockets. */
  sent: number;
}

/** The settings of a capacity search. */
export interface CapacityLoad {
  /** Length of the window that confirms the long-run rate, in seconds. */
  confirm_s: number;
  /** The objective: `response.p99<10ms,errors<0.1%`. */
  objective: string;
  /** Maximum number of windows of the search. */
  windows_most: number;
}

/** A capacity. */
export interface CapacityPage {
  /** The command line that found it, with secrets replaced. */
  argv?: (string)[];
  /** The rate of the closed loop before the search. */
  closed_loop_per_s: number;
  /** The command that repeats it; empty in results of earlier versions. */
  command: string;
  /** The load, the machine and the time of the first run. */
  conditions?: Conditions;
  /** The long windows, in order. */
  confirmations: (Confirmation)[];
  /** Connections of each load. */
  connections: number;
  /** Windows of the search that count, and those that were disturbed. */
  counted: number;
  /** The load-response curve, by rising rate. */
  curve: (CurvePoint)[];
  /** Windows that were disturbed and do not count. */
  disturbed: number;
  /** Why the search ended early. */
  ended_early?: string;
  /** The rate at which half of the windows meet the objective. None if none or all did, or if stalls decide. */
  half_pass_per_s: number | null;
  /** Its 95 % interval. */
  interval_per_s: Range | null;
  /** Whether the interval is as narrow as requested. */
  is_precise: boolean;
  /** The offered rate at which the p99 response time is twice that of the lowest load, interpolated. */
  knee_per_s: number | null;
  /** What limited the server. */
  limit: Limit;
  /** What limited the server, in words. */
  limit_words: string;
  /** The highest rate whose long window met the objective. */
  long_run_per_s: number | null;
  /** When and on which machine it was measured: `measured 2026-11-28T10:00:00Z on ...`; empty if not known. */
  measured: string;
  /** The objective. */
  objective: Objective;
  /** The objective in one line: `response.p99<10ms, errors<0.1%`. */
  objective_text: string;
  /** The version of these keys. */
  schema: number;
  /** From the lowest rate that missed to the highest that passed (0 if none did), if windows far below the capacity missed. Stalls then decide, not load, and no interval is valid. */
  stalls_decide?: Range;
  /** What was measured: a URL, or the id of a server; the caller sets it, and `argv`. */
  target: string;
  /** The report that a terminal shows of it. */
  text: string;
  /** What all of its rates count. */
  unit: RateUnit;
  /** Length of the windows, in seconds: the half-pass rate depends on it. */
  window_s: number;
  /** Every window of the search, in order. */
  windows: (CapacityWindow)[];
}

/** One window of the search. */
export interface CapacityWindow {
  /** The achieved rate. */
  achieved_per_s: number;
  /** The results of each request of a mix. */
  by_request?: (RequestSummary)[];
  /** The results of each kind of session. */
  by_session?: (RequestSummary)[];
  /** Requests whose outcome is not ok. */
  failed: number;
  /** The offered rate. */
  offered_per_s: number;
  /** Whether it met the objective. */
  outcome: WindowOutcome;
  /** The file with its record. */
  record?: string;
  /** The response time. */
  response_time_ns: TimeSummary | null;
  /** Why it is void. */
  void_because?: string;
}

/** Requests of the warm-up that were outstanding when the window opened. They are in no count of the window's cohort. */
export interface CarriedOver {
  /** Sent, or due, and not ended when the window opened. */
  outstanding: number;
  /** Those without a response, because of a timeout or the end of the run. */
  unanswered: number;
}

/** Requests without a response, at the time waited so far: the true time is at least that. */
export interface Censored {
  /** Their number (`timed_out` and `unsent`). */
  count: number;
  /** The lowest of the times waited, in nanoseconds; percentiles at or above it are lower bounds. */
  lowest_ns: number;
}

/** One check of a server's responses. */
export interface Check {
  /** The exact difference, if there is one. */
  detail?: string;
  /** The request, as text: `GET /hello`. */
  name: string;
  /** Whether the check passed. */
  outcome: CheckOutcome;
}

/** The outcome of a check. */
export type CheckOutcome = "pass" | "warn" | "fail";

/** Bounds of the difference between two clocks. Each round trip gives bounds; these are the tightest of several. */
export interface ClockOffset {
  /** The offset is at most this, in nanoseconds. */
  high_ns: number;
  /** The offset is at least this, in nanoseconds. */
  low_ns: number;
  /** Number of round trips measured. */
  round_trips: number;
}

/** Where code runs. */
export type CodeKind = "user" | "kernel" | "thread";

/** The rate of one launch in each second since its first request. */
export interface ColdCurve {
  /** The id of the launch. */
  launch: string;
  /** Responses per second in each second. */
  rate_per_s: (number)[];
  /** From the first request to the steady state; none if the limit was reached first. */
  steady_after_s: number | null;
}

/** A stretch of time. */
export interface Column {
  /** Requests of that class and the following ones. */
  counts: (number)[];
  /** When it ended. */
  end_s: number;
  /** The first class that has any. */
  first: number;
  /** When it began, in seconds from the start of the run. */
  start_s: number;
}

/** Two sides. */
export interface ComparePage {
  /** The side that ratios are relative to. */
  a: Side;
  /** The other. */
  b: Side;
  /** The command that compares the two in a terminal. */
  command: string;
  /** A difference of at most this share is treated as none. */
  equivalence: number;
  /** Servers over all of their rows together. */
  joint: (JointRow)[];
  /** What differs between the machines of compared rows: `kernel: 6.2 instead of 6.1`. */
  machine_differs: (string)[];
  /** The metrics that both have. */
  metrics: (MetricPage)[];
  /** Cells that both have. */
  rows: (CompareRow)[];
  /** Cells that only one of them has. */
  unmatched: number;
}

/** A cell that both sides have. */
export interface CompareRow {
  /** What its failed requests say, if that speaks against side B or against comparing: as a sentence. */
  failures: string | null;
  /** The form. */
  form: string;
  /** The load, as side A has it. */
  load: Load;
  /** The label of side A's machine, where its round ran on several. */
  machine_a?: string;
  /** The label of side B's machine, where its round ran on several. */
  machine_b?: string;
  /** Both figures and their ratio, by metric. */
  pairs: Record<string, PairValue>;
  /** The server on either side. */
  server_a: ServerEntry;
  /** The server on the other. */
  server_b: ServerEntry;
  /** The workload. */
  workload: string;
}

/** The conditions of a set of observations. */
export interface Conditions {
  /** Everything that was requested, as `paceline run` records it, without the server's address and the seed: a flat table of keys and values. */
  load: Record<string, unknown>;
  /** The machine: processor, number of cores, kernel, memory, and the CPU quota of a container. */
  machine: Record<string, unknown>;
  /** When the first observation began, RFC 3339. */
  measured_at: string;
  /** The version of Paceline. */
  paceline: string;
}

/** A long window at a rate that should meet the objective over a longer time. */
export interface Confirmation {
  /** The results of each request of a mix. */
  by_request?: (RequestSummary)[];
  /** The results of each kind of session. */
  by_session?: (RequestSummary)[];
  /** Requests whose outcome is not ok. */
  failed: number;
  /** The offered rate. */
  offered_per_s: number;
  /** Whether it met the objective. */
  outcome: WindowOutcome;
  /** The file with its record. */
  record?: string;
  /** Requests that were due in it. */
  scheduled: number;
  /** Its 95 % interval within the window. */
  value_interval_ns: Range | null;
  /** The value at the objective's percentile. */
  value_ns: number | null;
  /** Its length in seconds. */
  window_s: number;
}

/** A part of the window in which the number of connections is constant or changes evenly: every number in between is held for the same time. */
export interface ConnectionPart {
  /** Connections at its beginning. */
  from: number;
  /** Its length, in seconds. */
  length_s: number;
  /** Connections at its end. */
  to: number;
}

/** How the number of connections changes over the window. The warm-up has the number of the window's beginning. */
export type ConnectionPlan = {
  /** Connections at the beginning. */
  from: number;
  kind: "ramp";
  /** Connections at the end. */
  to: number;
} | {
  kind: "parts";
  /** The parts, in order. */
  parts: (ConnectionPart)[];
};

/** Connections requested and opened, and the side that closed them. */
export interface Connections {
  /** The number of requested connections; of a number that changes, the highest one. */
  asked: number;
  /** Connections abandoned because the received bytes were not HTTP, or were not requested. */
  broke_rules: number;
  /** What became of the connections to each address of the target, if they were spread over several. */
  by_address?: (AddressConnections)[];
  /** Closed by either side after the last request of the connection. */
  closed_as_asked?: number;
  /** Closed by the server from then on, including the drain. */
  closed_by_server: number;
  /** Closed by the generator before the end of the run: after a timeout or a response that broke the rules. */
  closed_by_us: number;
  /** The most frequent reason of a failed attempt or broken connection, as text. */
  commonest_failure?: string;
  /** Whether a response was compressed although no request accepts that. */
  compressed_unasked?: boolean;
  /** Cookies that were not kept, because a user had 64 already or the cookie was longer than 4,096 bytes. */
  cookies_dropped?: number;
  /** HTTP/2 connections that the server ended with ENHANCE_YOUR_CALM after requests on it were cancelled: because they timed out, because their stream ended as asked, or because they were answered before their body was sent. */
  ended_after_cancels?: number;
  /** Attempts to connect that failed, the first connect phase included. */
  failed_attempts: number;
  /** Failed attempts caused by missing resources of this machine: descriptors, ports, memory. */
  failed_here: number;
  /** Open at the same time when the warm-up began; of a number that changes, the most at any time from then on. */
  had: number;
  /** Failures because a response had more than 64 KiB of headers, which Paceline does not read. */
  heads_too_long?: number;
  /** Handshakes that this machine's kernel dropped during the run because a listen queue was full; if the target is on this machine. */
  listen_overflows?: number;
  /** Redirects that were followed, including the warm-up. */
  redirects_followed?: number;
  /** Responses that timed out because they had neither a length nor chunks, and the server did not close the connection. */
  responses_without_end?: number;
  /** Requests of the window served by each connection. */
  served?: Served;
  /** The median service time of each connection, in nanoseconds, within a ninth; open loop, of connections with at least 16 responses. */
  service_time_ns_p50?: Served;
  /** The lowest number of concurrent streams that the server allowed on a connection, if below `depth`. */
  streams_allowed?: number;
  /** What the kernel counted on its TCP connections: segments that were lost or late, round-trip times, and what limited sending. */
  tcp?: TcpCounts;
}

/** Bytes: given as text, or the content of a file. */
export type Content = string | {
  /** The path of the file; `-` is standard input. */
  file: string;
} | {
  /** The bytes in base64 (RFC 4648 section 4). */
  base64: string;
} | {
  /** The separator between the parts; it must not occur in a part. */
  boundary: string;
  /** The parts, in order. */
  parts: (FormPart)[];
};

/** The time that a cache line takes from the server's first core to the generator's, in nanoseconds. A virtual machine's host may move its cores at any time, and responses over loopback cost more the farther they are apart. */
export interface CoreDistance {
  /** Immediately after it; none if it could not be measured. */
  after_ns?: number;
  /** Immediately before the load. */
  before_ns: number;
  /** The usual distance: the first quartile of those that the round had seen before the trial. */
  usual_ns: number;
  /** How long the load was delayed because the distance was not the usual one, in seconds. */
  waited_s: number;
}

/** The clock frequency of one core at both ends of the window, and how often heat reduced it meanwhile. What the kernel does not report is missing, and so is a frequency that took long to read or is that of an idle core. */
export interface CoreFrequency {
  /** Number of the core, from 0. */
  core: number;
  /** Its frequency without turbo, in MHz (`cpufreq/base_frequency`). */
  frequency_mhz_base?: number;
  /** The same at the end of the window. */
  frequency_mhz_end?: number;
  /** Its highest frequency, in MHz (`cpufreq/cpuinfo_max_freq`). */
  frequency_mhz_max?: number;
  /** Its frequency at the beginning of the window, in MHz (`cpufreq/scaling_cur_freq`). */
  frequency_mhz_start?: number;
  /** The same for its package (`thermal_throttle/package_throttle_count`), whose cores all count it. */
  package_throttle_events?: number;
  /** How often the core was throttled in the window because it was too hot (`thermal_throttle/core_throttle_count`). */
  throttle_events?: number;
}

/** Time of one core over the window, in seconds. */
export interface CoreTime {
  /** Time that the core was not idle, interrupts included, in seconds. */
  busy_s: number;
  /** Number of the core, from 0. */
  core: number;
  /** Time in hard and soft interrupts, in seconds. */
  interrupt_s: number;
  /** Length of the sample, in seconds. */
  over_s: number;
  /** Time that the hypervisor took from it, in seconds. */
  steal_s: number;
}

/** The outcomes of the requests of a cohort. `scheduled` is always the sum of all the others. */
export interface Counts {
  /** Requests answered with another body than expected. */
  bad_body: number;
  /** Requests answered with another status than expected. */
  bad_status: number;
  /** Requests without a connection, because connecting failed. */
  connect_failed: number;
  /** Requests whose connection broke, or whose response was not valid HTTP. */
  io_failed: number;
  /** Requests with the expected response. */
  ok: number;
  /** Requests that were due, all outcomes together. */
  scheduled: number;
  /** Requests without a complete response within the timeout. */
  timed_out: number;
  /** Requests that still waited for a connection when the drain's limit was over. */
  unsent: number;
}

/** A part of the CPU time of a request. */
export interface CpuPartPage {
  /** Its name: user, kernel, interrupts, and the database or what else is behind the server. */
  name: string;
  /** CPU time per request, in nanoseconds. */
  ns_per_request: number;
}

/** The source of the CPU time of a process tree. */
export type CpuSource = "cgroup" | "proc";

/** A point of the load-response curve. */
export interface CurvePoint {
  /** The achieved rate. */
  achieved_per_s: number;
  /** The offered rate. */
  offered_per_s: number;
  /** Whether the window met the objective. */
  outcome: WindowOutcome;
  /** The response time. */
  response_time_ns: TimeSummary | null;
  /** CPU cores that the server used. */
  server_cores_used: number | null;
  /** Share of the half-pass rate. */
  share: number;
}

/** The counters of a database. */
export interface DatabaseCounts {
  /** Transactions that clients ended with COMMIT; a statement outside of one is a transaction itself. None in records of older versions, and if the database does not count them. */
  commits?: number;
  /** Open connections when the load was over. */
  connections?: number;
  /** Rows that these statements returned. */
  rows_read: number;
  /** Rows that these statements updated. */
  rows_updated: number;
  /** Statements that read rows of its tables. */
  selects: number;
  /** Number of statements that updated rows. */
  updates: number;
}

/** The database of a load's launch, and the connections that the server may open to it. */
export interface DatabaseLoad {
  /** Name of the database's folder. */
  database: string;
  /** Connections of the whole server to the database. */
  pool: number;
}

/** The identity of a database: version and settings. */
export interface DatabaseReceipt {
  /** Name of its folder. */
  id: string;
  /** Display name of the database. */
  name: string;
  /** Its settings at start. */
  settings: string;
  /** Output of its version command. */
  versions: string;
}

/** The recovery of a server after its database had ended under load and was available again. */
export interface DatabaseRecovery {
  /** From the database's return to the server's first valid response, in seconds; none if there was none in time. */
  answered_after_s?: number;
  /** Failed or wrong requests before it, sent one at a time. */
  failed: number;
  /** The fault of the last of them. */
  last_failure?: string;
}

/** The database's work over a run, its counters, and its CPU and memory use. */
export interface DatabaseUse {
  /** Its counters from before the run to after it; none if they could not be read. */
  counted?: DatabaseCounts;
  /** The database, with its version and settings. */
  database: DatabaseReceipt;
  /** CPU and memory of its processes over the window. */
  process?: ProcessUse;
  /** The server's recovery after the database had ended under load and was restarted. */
  recovery?: DatabaseRecovery;
  /** Valid responses of the whole run, warm-up included, for comparison with the counters. */
  responses: number;
  /** Rows that requests after the run returned as updated, and how many the database stores with such a value. */
  stored?: StoredRows;
  /** Its work for one valid response. */
  work: DatabaseWork;
}

/** The work of the database for one valid response. */
export interface DatabaseWork {
  /** Rows that are read for one response. */
  rows_read: number;
  /** Rows that are updated for one response. */
  rows_updated: number;
  /** Separate statements that read rows. */
  selects: number;
}

/** Distribution of a time around its mean. */
export type Distribution = "constant" | "exponential";

/** Requests that were sent before the handshake of a resumed connection was done (0-RTT), in the whole run. */
export interface EarlyData {
  /** Number of those whose server accepted early data. On the others the requests were sent again. */
  accepted: number;
  /** Number of connections on which at least one request was sent early, of those whose handshake was completed. */
  sent: number;
}

/** Conditions that may affect a result and cannot be derived from it later. Values that the machine does not report are left out. */
export interface Environment {
  /** The clock source behind the monotonic clock. */
  clock_source: string | null;
  /** Number of processors online. */
  cores: number;
  /** Model name of the processor. */
  cpu_model: string;
  /** The frequency governor of processor 0. */
  governor: string | null;
  /** Settings that were changed for this run and restored after it. */
  held: (string)[];
  /** Idle states of processor 0 with the exit time of each. */
  idle_states: (IdleState)[];
  /** Release and version of the kernel. */
  kernel: string;
  /** Physical memory of the machine, in bytes. */
  memory_bytes: number;
  /** State of each processor vulnerability's mitigation. */
  mitigations: Record<string, string>;
  /** The hard limit of open files (`ulimit -Hn`). */
  open_files_hard: number;
  /** The soft limit of open files of the process (`ulimit -n`). */
  open_files_soft: number;
  /** The distribution's name. */
  os: string;
  /** Kernel settings that affect a server, by name. */
  sysctl: Record<string, string>;
  /** Whether the machine runs under a hypervisor. */
  virtual_machine: boolean;
}

/** The events of streams (`--stream`). */
export interface EventCounts {
  /** The longest time by which one of these is ahead, in nanoseconds. */
  ahead_of_clock_ns_max?: number;
  /** The sum of the number that `--count-json` names, over all events. */
  counted: number;
  /** The sum over those that came inside the window. */
  counted_in_window: number;
  /** Those that the server ended before what was asked for, in the middle of an event, or without one. */
  ended_early: number;
  /** Events of all streams, also of those that failed later. */
  events: number;
  /** Events whose time is after their arrival, because the clocks of sender and Paceline differ; they have no delay. */
  events_ahead_of_clock?: number;
  /** Those that came inside the window. */
  events_in_window: number;
  /** Most events of a stream that ended as asked. */
  events_max?: number;
  /** Fewest events of a stream that ended as asked. */
  events_min?: number;
  /** Those of streams that ended as asked inside the window; the rate of messages of gRPC counts these alone. */
  events_of_ok_in_window?: number;
  /** Events without a time where `--message-time` points; they have no delay. */
  events_without_time?: number;
  /** Streams whose responses have ended, however they ended. */
  streams: number;
}

/** How request bodies that waited for 100 Continue were sent: of requests of the window whose wait has ended. */
export interface ExpectContinue {
  /** Bodies that were not sent, because a final status came instead. */
  answered: number;
  /** Time from the actual send to 100 Continue. */
  continue_time_ns?: Times;
  /** Bodies that were sent after 100 Continue. */
  continued: number;
  /** Bodies that were sent after a second without either. */
  silent: number;
}

/** What counted as a valid response. Without any, a 2xx status is valid. */
export interface Expectations {
  /** The expected body's length; every response's bytes were compared with that body. */
  body_bytes?: number;
  /** The SHA-256 of the expected body, in hexadecimal. Without `body_bytes` only the hash was given: the first body that matches it is the reference for the others. */
  body_sha256?: string;
  /** Whether every answer had to equal its message, each of which was different (WebSocket). */
  echo?: boolean;
  /** The status of gRPC that every call must end with. */
  grpc_status?: string;
  /** The expected values in a JSON body. */
  json?: (ExpectedValue)[];
  /** The expected form of a JSON body. */
  json_form?: JsonForm;
  /** The status that every response must have. */
  status?: number;
}

/** A value that a JSON body must contain. */
export interface ExpectedValue {
  /** Where the value is: a JSON pointer (RFC 6901); empty for the whole document. */
  pointer: string;
  /** The expected value. */
  value: unknown;
}

/** What a verdict means. */
export interface Explanation {
  /** One line: what is wrong. */
  about: string;
  /** When it is given and what it means. */
  text: string;
}

/** A place of a value in a response. */
export type ExtractFrom = {
  json: string;
} | {
  header: string;
} | {
  regex: string;
};

/** A value that is extracted from a response. */
export interface Extraction {
  /** The place of the value in the response. */
  from: ExtractFrom;
  /** Name of the value, for `{var:NAME}`. */
  name: string;
}

/** A check of a script (`--lua`) that responses of the window failed. */
export interface FailedCheck {
  /** The number of responses that were refused for it. */
  count: number;
  /** The reason, as the script gives it. */
  reason: string;
}

/** A failure of some launches of one server. */
export interface Failure {
  /** Number of launches with this failure. */
  launches: number;
  /** The error message. */
  message: string;
  /** The last line that the server or its build printed in the first of them, if there is one. */
  printed_last?: string;
  /** The stage that it reached. */
  stage: Stage;
}

/** Why there is no usable run. */
export interface Fault {
  /** The error message. */
  message: string;
  /** The stage at which the trial failed. */
  stage: Stage;
  /** Whether the environment caused the error, so that a second attempt may succeed. */
  transient: boolean;
}

/** Faults that can be injected. */
export type FaultKind = "kill-one";

/** One figure over the launches that have it. */
export interface Figure {
  /** For percentiles: whether it is a minimum, because in some launch it is at or above the shortest wait of a request without a response. */
  at_least?: boolean;
  /** For percentiles: whether every launch had enough requests for it: 3.7/(1 - p). Tables leave it out otherwise. */
  enough?: boolean;
  /** The 95 % interval of that mean between launches (moderated t over the rows of the table). */
  interval?: (number)[];
  /** Number of launches with this figure. */
  launches: number;
  /** Figure of the highest launch. */
  max: number;
  /** The geometric mean over the launches; none if a launch has no figure above zero. */
  mean?: number;
  /** Figure of the middle launch, or the mean of the middle two. */
  median: number;
  /** Figure of the lowest launch. */
  min: number;
}

/** A figure that a source may have observed and a round can show. */
export type Figure2 = "requests_per_s" | "requests_per_s_per_core" | "time_ms_p50" | "time_ms_p99" | "bytes_per_response" | "kept_alive_percent" | "rss_mb" | "cpu_percent" | "failed";

/** One figure of a row. */
export interface FigurePage {
  /** Whether it is a minimum. */
  at_least?: boolean;
  /** The figure that every report shows: the geometric mean over the launches, the median where one of them is zero, of failed requests the worst launch. */
  estimate: number;
  /** The upper end, likewise. */
  high: number;
  /** Whether a verdict on its row says that it does not answer the question: it is not compared. */
  invalid?: boolean;
  /** Whether `low` and `high` are the lowest and highest launch for want of an interval. */
  is_range?: boolean;
  /** Launches that have the figure. */
  launches: number;
  /** The lower end of the 95 % interval; without one, the lowest launch. */
  low: number;
  /** The first and the last rank that it may have in its table; none where it is not compared, and of a descriptive metric. */
  ranks?: (number)[];
  /** Whether too few requests were sampled for this percentile. */
  too_few?: boolean;
}

/** One part of a form. */
export interface FormPart {
  /** Its content: a text or a file. */
  content: Content;
  /** The media type of the content. */
  content_type?: string;
  /** The file name that is sent to the server. */
  file_name?: string;
  /** The name of the field. */
  name: string;
}

/** How the processes of a server were found. */
export type FoundBy = "pid" | "port" | "connection";

/** The result of a search. */
export interface FoundCapacity {
  /** The rate of the closed loop before the search. */
  closed_loop_per_s: number;
  /** Why the search ended early. */
  ended_early?: string;
  /** The capacity: the rate at which half of the windows meet the objective. None if no window did, or if stalls decide. */
  half_pass_per_s: number | null;
  /** The 95 % interval of the capacity. */
  interval_per_s: RateRange | null;
  /** Whether the interval is as narrow as requested. */
  is_precise: boolean;
  /** What limited the server. */
  limit: Limit;
  /** The highest rate whose long window met the objective. */
  long_run_per_s: number | null;
  /** From the lowest rate that missed to the highest that passed (0 if none did), if windows far below the capacity missed. */
  stalls_decide?: RateRange;
  /** Length of the windows, in seconds: the capacity depends on it. */
  window_s: number;
  /** Every window of the search, in order. */
  windows: (SearchedRate)[];
}

/** The pieces in which requests are written. */
export interface FragmentSpec {
  /** The length of a piece. */
  bytes: number;
  /** The pause between two pieces of a request, in seconds. */
  pause_s: number;
}

/** An installed system package that a framework comes from. */
export interface FrameworkPackage {
  /** Name of the package: `libh2o-evloop-dev`. */
  name: string;
  /** Version of the package: `2.2.5+dfsg2-7`. */
  version: string;
}

/** The outcome of a gate. */
export interface GateOutcome {
  /** The figures that support the outcome, units in the keys. */
  evidence: Record<string, unknown>;
  /** The gate as written, such as `response.p99<10ms`. */
  gate: string;
  /** Whether the run proved that the limit was met. */
  passed: boolean;
  /** Why the gate did not pass; empty if it passed. */
  reasons?: (GateReason)[];
}

/** Why a gate did not pass. */
export type GateReason = "beyond_limit" | "failures" | "lower_bound" | "too_few_samples" | "not_measured" | "not_delivered" | "invalid" | "stopped" | "broke_rules" | "starved" | "generator_late" | "server_delayed";

/** Pauses of a garbage collector during a run, from its log. */
export interface GcLog {
  /** Lines that were added during the run. */
  lines: number;
  /** The file of the log. */
  path: string;
  /** The pauses of the run, the longest if there are very many, in order of time. */
  pauses: (GcPause)[];
  /** The runtime whose lines were recognized; none without a pause. */
  runtime?: GcRuntime;
  /** The longest of them, in nanoseconds. */
  window_longest_ns?: number;
  /** Their sum, in seconds. */
  window_paused_s: number;
  /** Number of pauses in the window. */
  window_pauses: number;
}

/** A pause of a garbage collector. */
export interface GcPause {
  /** When it was, from the start of the run, in nanoseconds: by the time in its line. */
  at_ns: number;
  /** How long all threads stood still, in nanoseconds. */
  length_ns: number;
}

/** A runtime with a garbage collector. */
export type GcRuntime = "jvm" | "go" | "node";

/** CPU time and memory of the generator over the window. */
export interface Generator {
  /** Requests due and unsent when the window opened: the warm-up's backlog. */
  backlog_at_window_start: number;
  /** Useful CPU time: `cpu_s` minus `spin_s`. */
  busy_s: number;
  /** Each core of the machine over the window, including the server's if it is on this machine. */
  by_core?: (CoreTime)[];
  /** CPU time of each thread. */
  by_thread: (GeneratorThread)[];
  /** Clock frequency of the generator's cores, and of the server's if it is on this machine: of the first 16, if the kernel reports it (rarely in a virtual machine). Of a run of several loaders it is in each loader's entry. */
  core_frequencies?: (CoreFrequency)[];
  /** The cores they may run on. */
  cores: (number)[];
  /** `busy_s` per request sent in the window, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time of all of them over the window, in seconds. */
  cpu_s: number;
  /** Resources left for further connections when the window ended. */
  left?: Left;
  /** Longest time between two turns of a worker's loop in the window, excluding intended waits: the longest stall of the generator, in nanoseconds. */
  longest_gap_ns?: number;
  /** Peak resident memory of the process. */
  rss_bytes_peak: number;
  /** Time runnable but not running, all threads, in seconds. */
  run_delay_s: number;
  /** CPU time of polls that found nothing. */
  spin_s: number;
  /** Time the hypervisor took from the machine, all cores, in seconds. */
  steal_s: number;
  /** Time for which the machine was suspended during the run, in seconds, if it was. The clocks of all other figures stood still meanwhile. Of several loaders, the longest time of one. */
  suspended_s?: number;
  /** Number of threads that sent load. */
  threads: number;
  /** What a CPU limit of the generator's control group cost in the window, if it was reached. */
  throttling?: Throttling;
  /** Share of wall-clock time for which the busiest thread was busy, or the share of all threads on all their cores if that is higher, 0 to 1. */
  utilization: number;
}

/** One generator thread over the window. */
export interface GeneratorThread {
  /** Number of involuntary context switches. */
  involuntary_switches: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** Time spent in polls that found nothing, in seconds. */
  spin_s: number;
  /** System CPU time, in seconds. */
  system_s: number;
  /** User CPU time, in seconds. */
  user_s: number;
  /** Number of voluntary context switches. */
  voluntary_switches: number;
}

/** How the JSON of request bodies becomes messages of gRPC. Without source files, the server is asked for its schema (server reflection). */
export interface GrpcSpec {
  /** The `.proto` files that define the services. */
  proto?: (string)[];
  /** The folders in which imports are looked for. */
  proto_path?: (string)[];
  /** Whether request bodies are encoded messages, which are sent as they are. */
  raw?: boolean;
}

export type Headers = (string)[];

/** Counts of times by second and class. */
export interface Heat {
  /** Lower bound of each class and the upper one of the last, in nanoseconds. */
  bounds: (number)[];
  /** One for each stretch of time. */
  columns: (Column)[];
}

/** One idle state of a processor. */
export interface IdleState {
  /** Exit time in microseconds, according to the driver. */
  exit_us: number;
  /** The kernel's name for it. */
  name: string;
}

/** The origin of an imported trial, and the figures that have no other place in it. Figures missing in the source are left out here and 0 in the run. The run's phases, generator and connections are not meaningful. */
export interface Imported {
  /** Other figures, by a name that includes the unit: `server_cpu_percent`. */
  figures?: Record<string, number>;
  /** The kind of report: `ab`, `techempower`, `figures` and others. */
  format: string;
  /** Notes on the figures. */
  note?: string;
  /** The file, and the place in it: lines or a path of keys. */
  place: string;
  /** Times as the source gives them, in nanoseconds, by `min`, `mean`, `stddev`, `p50`, `p99_9`, `max` and similar keys: service times of a closed loop, response times of an open one. */
  times_ns?: Record<string, number>;
}

/** Every round, newest first. */
export interface IndexPage {
  /** The address of the single run or capacity, where there is nothing else: `/run`, `/capacity`. */
  only?: string;
  /** Where they are kept. */
  place: string;
  /** The rounds. */
  rounds: (RoundEntry)[];
  /** What could not be read. */
  unreadable: (string)[];
  /** The version of Paceline that shows them. */
  version: string;
}

/** An injected fault. */
export interface InjectedFault {
  /** Time of the fault, in nanoseconds from the start of the run. */
  at_ns: number;
  /** Whether the balancer reports the state of an instance. */
  balancer_tells: boolean;
  /** Index of the affected instance, from 0. */
  instance: number;
  /** The kind of fault. */
  kind: FaultKind;
  /** Time until the balancer reported the instance as down, in seconds; polled twice a second. */
  taken_out_after_s?: number;
}

/** The counters of a balancer for one instance over the window. */
export interface InstanceCounts {
  /** Attempts to connect to it that failed. */
  connect_failures?: number;
  /** Requests that the balancer sent to this instance. */
  requests?: number;
  /** Responses of it that were broken or missing. */
  response_failures?: number;
  /** The state that the balancer reported at the end of the run: `UP`, `DOWN`. */
  state_at_end?: string;
}

/** The requests that ended in an interval. */
export interface Interval {
  /** The requests of that cohort that ended in it. */
  block: Block;
  /** The mean number of connections open in it, if their number changes as planned. */
  connections?: number;
  /** The cohort: requests due in the warm-up or in the window. */
  phase: Phase;
  /** Start of the interval, in nanoseconds from the start of the run. */
  start_ns: number;
}

/** The IP version of the addresses that are used. */
export type IpVersion = "4" | "6";

/** The settings of a run. */
export interface Job {
  /** Whether a connection sends its next requests only when all outstanding ones are answered, as wrk's scripts do, instead of one after each response. */
  batch: boolean;
  /** Longest connect phase, and longest single attempt to connect, TLS handshake included, in seconds. */
  connect_timeout_s: number;
  /** Connect to another host and port than the URL's: `HOST:PORT:HOST2:PORT2`; an empty part matches any value, or keeps the URL's. `HOST2:PORT2` may be several, separated by commas. */
  connect_to?: string;
  /** How that number changes over the window; closed loop only. */
  connection_plan?: ConnectionPlan;
  /** Number of connections, over all threads; the highest one if it changes. */
  connections: number;
  /** Whether each connection keeps the cookies that the server sets. A session always keeps them, from its first step on. */
  cookies?: boolean;
  /** Most outstanding requests on a connection; above 1 they are pipelined, or multiplexed over HTTP/2. */
  depth: number;
  /** Longest wait for outstanding responses after the window, in seconds. */
  drain_s: number;
  /** Most redirects followed for one request. Its status and body are those of the last response, its times include the whole chain. */
  follow?: number;
  /** The pieces in which requests are written; whole if missing. */
  fragment?: FragmentSpec;
  /** The messages of gRPC, for a `grpc://` or `grpcs://` URL. */
  grpc?: GrpcSpec;
  /** Use only addresses of this IP version. */
  ip_version?: IpVersion;
  /** Whether a connection is used for more than one request. If not, requests say `Connection: close`. */
  keep_alive: boolean;
  /** Accept responses whose head has lines that end in LF alone (RFC 9112, section 2.2). */
  lenient?: boolean;
  /** When requests are sent: closed or open loop. */
  loop: LoadModel;
  /** A script in Lua that makes the requests, and reads the responses if it has a function for that. */
  lua?: string;
  /** How to wait for the next send. */
  pace: PaceChoice;
  /** The version of HTTP for requests. */
  protocol: Protocol;
  /** The HTTP proxy that requests go through: `http://[USER:PASS@]HOST:PORT`. */
  proxy?: string;
  /** Keep processors out of deep idle states during the run. */
  quiet_cpu?: boolean;
  /** The requests, and the expected responses: one request, or several with weights. */
  request: (RequestSpec)[];
  /** A connection is closed and replaced after this many requests; if missing, it carries as many as the server allows. */
  requests_per_connection?: number;
  /** Addresses to use for a host and port instead of resolving the name: `HOST:PORT:ADDR[,ADDR]`. */
  resolve?: (string)[];
  /** Seed of every random choice; a random one if missing. */
  seed?: number;
  /** The part of the load for this loader, if several loaders share it. Rate and number of requests are those of all loaders together, connections and threads those of this one. */
  share?: LoaderShare;
  /** Local addresses to connect from, in turn: `ADDR[,ADDR|/PREFIX]`; the kernel chooses if missing. */
  source?: string;
  /** Whether connections are spread over all addresses of the host, instead of the first that accepts one. */
  spread?: boolean;
  /** Pause between a response and the next request of a connection; closed loop only. */
  think?: Think;
  /** Threads; the connections are divided among them. */
  threads: number;
  /** A request times out when its response is not complete after this time from its send, in seconds. The check runs up to a 64th of the timeout later (at least 1 ms, at most 250 ms): a response that arrives in between counts. A stream times out when no event came for this long. */
  timeout_s: number;
  /** The timestamps that are taken of responses. */
  timestamps: Timestamps;
  /** How TLS is used: certificates, names and versions. */
  tls?: TlsSpec;
  /** Connect to this unix socket; the URL still sets the path and the host that are requested. */
  unix_socket?: string;
  /** The URL that is loaded. */
  url: string;
  /** Length of the warm-up, in seconds. */
  warmup_s: number;
  /** How messages of a WebSocket are sent, and what answers them. */
  websocket?: WebSocketSpec;
  /** The end of the window: a time or a number of requests. */
  window: Bound;
}

/** A server over all of its rows, by one metric. */
export interface JointRow {
  /** How many of them have more of it on side B. */
  higher: number;
  /** The loop of these rows, if the metric means something else in the other one. */
  loop_kind: LoopKind | null;
  /** The metric's id. */
  metric: string;
  /** B relative to A over all of these rows: one value for each launch. */
  ratio: Ratio;
  /** Rows that count on both sides. */
  rows: number;
  /** The server on side A. */
  server_a: string;
  /** The server on side B. */
  server_b: string;
}

/** The required form of a JSON document. Written as JSON: `{"id": "1..10000"}` is an object with exactly this field, an integer from 1 to 10,000; `[20, {"id": "1..10000"}]` is an array of 20 such objects, `["*", FORM]` one of any length. `"boolean"` is `true` or `false`, `"any"` any value. An object whose form has the field `"...": "any"` may have more fields. A field written with a tilde before its name, `"~id"`, is found in any case. */
export type JsonForm = unknown;

/** Counts of the kernel of the generator's machine, from before the first connection to the end of the window. They are those of its network namespace, of other programs too. */
export interface KernelCounts {
  /** Handshakes that were dropped at a listening socket, for any reason. */
  listen_drops: number;
  /** Packets that were dropped before any protocol read them, because the queue of a core was full; on the whole machine. */
  packets_dropped: number;
  /** Segments of TCP that were sent again, handshakes included. */
  retransmits: number;
  /** Connection attempts that were repeated, because no answer came: after 1, 3 and 7 s. */
  syn_retransmits: number;
  /** Datagrams that were dropped because the buffer of their socket was full. */
  udp_buffer_errors: number;
}

/** Resources left for further connections when the window ended. */
export interface Left {
  /** File descriptors that the process could still open. */
  descriptors: number;
  /** Local ports for further connections to the target, over all source addresses, assuming that all TIME_WAIT sockets are the generator's. */
  ports: number;
  /** TCP sockets in use on the machine; a connection over loopback counts twice. */
  sockets_in_use: number;
  /** TCP sockets in TIME_WAIT on the machine. */
  sockets_time_wait: number;
}

/** The lengths of the bodies of valid responses: they should not vary unless the target intends it. */
export interface Lengths {
  /** Length of the longest body, in bytes. */
  max: number;
  /** Length of the shortest body, in bytes. */
  min: number;
}

/** What limited a load, with the evidence. */
export interface Limit {
  /** The figures that show the limit, in words. */
  evidence: string;
  /** The kind of the limit. */
  kind: LimitKind;
}

/** The kind of a limit. */
export type LimitKind = "server_cpu" | "server_thread" | "generator" | "balancer" | "database" | "network" | "waiting" | "errors" | "memory" | "connections" | "neighbours" | "offered_rate" | "unknown";

/** What limited a row. */
export interface LimitPage {
  /** The figures that show it. */
  evidence: string;
  /** What the name means. */
  meaning: string;
  /** Its name, as after "limited by". */
  name: string;
}

/** A second of a run in progress. */
export interface LiveSecond {
  /** Valid responses, per second. */
  achieved_per_s: number;
  /** Start time, RFC 3339, UTC. */
  at: string;
  /** Requests due and unsent at its end; above 4,000 per thread, computed from those; open loop. */
  backlog?: number;
  /** Requests answered with another body than expected. */
  bad_body: number;
  /** Requests answered with another status than expected. */
  bad_status: number;
  /** Bytes that were read from sockets. */
  bytes_received: number;
  /** Bytes that were handed to sockets. */
  bytes_sent: number;
  /** Requests without a connection, because connecting failed. */
  connect_failed: number;
  /** Requests of this second and of all before it that did not end as `ok`, also of seconds that are no longer kept. */
  failed_so_far: number;
  /** Requests whose connection broke. */
  io_failed: number;
  /** Time until the window ends, in seconds, if it is known. */
  left_s?: number;
  /** Its length in seconds: 1, except for the connect phase, which is one row, and for the last row. */
  length_s: number;
  /** The rate of the schedule; open loop. */
  offered_per_s?: number;
  /** Requests with the expected response. */
  ok: number;
  /** The phase in which it began. */
  phase: Phase;
  /** Highest response time, in nanoseconds. */
  response_time_ns_max?: number;
  /** Median response time, in nanoseconds; open loop, as are the other response times. */
  response_time_ns_p50?: number;
  /** 90 % of the response times were at or below it, in nanoseconds. */
  response_time_ns_p90?: number;
  /** 99 % of the response times were at or below it, in nanoseconds. */
  response_time_ns_p99?: number;
  /** 99.9 % of the response times were at or below it, in nanoseconds. */
  response_time_ns_p99_9?: number;
  /** Requests handed to sockets, per second. */
  sent_per_s: number;
  /** Cores that the server kept busy on average; this and its other figures if it runs on the generator's machine. */
  server_cores_used?: number;
  /** Series that the server published of itself (`--scrape`), by name, as they were last read before its end. */
  server_metrics?: Record<string, number>;
  /** Resident memory of the server at its end, in bytes. */
  server_rss_bytes?: number;
  /** Threads of the server at its end. */
  server_threads?: number;
  /** Highest service time, in nanoseconds. */
  service_time_ns_max?: number;
  /** Median service time, in nanoseconds. */
  service_time_ns_p50?: number;
  /** 90 % of the service times were at or below it, in nanoseconds. */
  service_time_ns_p90?: number;
  /** 99 % of the service times were at or below it, in nanoseconds. */
  service_time_ns_p99?: number;
  /** 99.9 % of the service times were at or below it, in nanoseconds. */
  service_time_ns_p99_9?: number;
  /** Start time, in seconds from the start of the run: as `start_ns` of an interval in the record. */
  start_s: number;
  /** Requests without a complete response within the timeout. */
  timed_out: number;
  /** Requests still unsent when the drain's limit was over. */
  unsent: number;
}

/** The requested load. */
export interface Load {
  /** Spacing of arrivals, open loop. */
  arrivals?: Arrivals;
  /** The instances and the balancer of the launch, if it has a balancer. */
  balanced?: BalancedLoad;
  /** The settings of the capacity search, if the load is a search. */
  capacity?: CapacityLoad;
  /** Number of connections of the load generator. */
  connections: number;
  /** The database of the launch, if it has one. */
  database?: DatabaseLoad;
  /** Maximum outstanding requests on a connection. */
  depth: number;
  /** Length of the window, in seconds; none if the number of requests bounds the run. */
  duration_s?: number;
  /** The HTTP version if it is not 1.1: `1.0` with keep-alive requested, `2` or `3`. */
  http?: string;
  /** Closed or open. */
  kind: LoopKind;
  /** The plan's name for the load. */
  name: string;
  /** Whether every connection is closed after one response. */
  no_keep_alive?: boolean;
  /** The protocol of the workload, if it is not HTTP. */
  protocol?: WorkloadProtocol;
  /** Offered rate in requests per second; open loop. */
  rate_per_s?: number;
  /** Number of requests, if that bounds the run. */
  requests?: number;
  /** Number of responses after which a connection is closed and replaced. */
  requests_per_connection?: number;
  /** The plan's load at full size, if this load was scaled down. */
  scaled?: Scaled;
  /** The load that the offered rate is a share of, if it is a share. */
  share?: RateShare;
  /** How responses are divided into events, if the workload reads them as streams. */
  stream?: StreamFormat;
  /** Whether connections use TLS; HTTP/3 always does. */
  tls?: boolean;
  /** The command line of another load generator that the generator carried out as if it were that one: `ab -k ...`. */
  tool?: string;
  /** Its relation to another load of the plan; none for an independent load. */
  variant?: Variant;
  /** Length of the warm-up, in seconds. */
  warmup_s: number;
}

/** When the next request is sent: the open and the closed model of Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale" (NSDI 2006). */
export type LoadModel = {
  kind: "closed";
} | {
  /** How arrivals are spaced. */
  arrivals: Arrivals;
  kind: "open";
  /** The offered rate over time. */
  shape: Shape;
};

/** One of several generators of a run. */
export interface Loader {
  /** Its monotonic clock minus the coordinator's, after the run. */
  clock_after?: ClockOffset;
  /** Its monotonic clock minus the coordinator's, before the run. */
  clock_before?: ClockOffset;
  /** Connections of this loader. */
  connections?: Connections;
  /** CPU time and memory of this loader. */
  generator?: Generator;
  /** The machine it ran on: `local`, or the name used to connect to it. */
  host: string;
  /** Delay of its warm-up after the agreed time; none if it began then. */
  late_ns?: number;
  /** Requests of its window that are not counted: they ended outside the part of the window common to all loaders. */
  left_out?: number;
  /** Why it has no result. Its share of the load was not sent, or not counted. */
  lost?: string;
  /** The traffic of its network interface over the window, if the target is not on the same machine. */
  network?: NetworkUse;
  /** Requests of the window that the schedule assigned to it; open loop. */
  share?: number;
  /** Its window on the coordinator's clock, from the start of the run, before cutting. */
  window?: Span;
}

/** The part of a load for one of several loaders: the ticks of the open loop with this index modulo the number of loaders. Threads divide the share of their loader in the same way. */
export interface LoaderShare {
  /** Number of this loader, from 0. */
  index: number;
  /** Number of loaders. */
  of: number;
}

/** The shape of the load. */
export interface Loop {
  /** The spacing of arrivals, open loop. */
  arrivals?: Arrivals;
  /** Whether a connection sent its next requests only after all of them were answered. */
  batch?: boolean;
  /** How that number changes over the window, if it does. */
  connection_plan?: ConnectionPlan;
  /** Number of requested connections; the highest one if it changes. */
  connections: number;
  /** Maximum outstanding requests on a connection. */
  depth: number;
  /** Which loop: `closed` or `open`. */
  kind: LoopKind;
  /** The rate of the schedule, open loop: the mean over the window if it changes. */
  offered_per_s?: number;
  /** Total number of requests, if the run was bounded by a number instead of a time. */
  requests?: number;
  /** Number of requests after which each connection was closed and replaced. */
  requests_per_connection?: number;
  /** The session rate of the schedule, if it schedules sessions; `offered_per_s` is then the rate of their requests that fell due. */
  sessions_offered_per_s?: number;
  /** The change of that rate, if it changes. */
  shape?: Shape;
  /** The pause of each connection between a response and its next request. */
  think?: Think;
  /** Whether each request used a separate connection, and announced that it is closed. */
  without_keep_alive?: boolean;
}

/** Whether a connection's next request waits for its last response. */
export type LoopKind = "closed" | "open";

/** Threads that waited for events of any kind, at most until a timer was due: event loops with something to do within a second. What the events are is not known. */
export interface LoopTimers {
  /** Mean time from the start of such a wait until its timer was due, in nanoseconds. The kernel counts milliseconds. */
  due_ns_mean: number;
  /** Number of threads, on average over all looks. */
  threads: number;
}

/** An environment in which some of the trials ran. */
export interface Machine {
  /** Differences from the first machine, as text: `kernel: 6.2 instead of 6.1`. */
  differs: (string)[];
  /** Hardware and system of the machine. */
  environment: Environment;
  /** `A` for the round's first machine, then `B`, and so on. */
  label: string;
}

/** What the generator measured, and what follows from it. */
export interface Measured {
  /** The command line, so that the run can be repeated by hand. */
  argv: (string)[];
  /** The check that random arrivals left at random times. */
  arrival_check?: ArrivalCheck;
  /** The first unexpected body of each request. */
  bad_bodies?: (BadBody)[];
  /** The same of the servers on this machine that the server has connections to, such as an application behind a proxy and its database, nearest first. */
  behind_server?: (ServerUse)[];
  /** What went wrong with the files of request bodies that were read while they were sent; none if nothing did. */
  body_faults?: BodyFaults;
  /** Waits for the disk in the window, if bodies were read from files while they were sent. */
  body_waits?: BodyWaits;
  /** The cohort by generator, if several shared one run. */
  by_generator?: (Block)[];
  /** The cohort by request of a mix, in the order of the request file. */
  by_request?: (RequestPart)[];
  /** The cohort by segment of a ramp or a staircase, in order. */
  by_segment?: (Segment)[];
  /** The requests that were outstanding when the window opened, and their outcome. */
  carried_over?: CarriedOver;
  /** Connections requested and opened, and the side that closed them. */
  connections: Connections;
  /** Energy of the CPU packages over the window, if the server is observed and the kernel reports it. The run of a trial has none: the trial has it. */
  energy?: PackageEnergy;
  /** The machine that the load generator ran on. */
  environment: Environment;
  /** How request bodies that waited for 100 Continue were sent. */
  expect_continue?: ExpectContinue;
  /** The definition of a valid response. */
  expectations: Expectations;
  /** The reasons for which a script refused responses of the window, the most frequent first. */
  failed_checks?: (FailedCheck)[];
  /** For each gate, the figure by which it was judged, and why it did not pass. */
  gate_words: (string)[];
  /** The outcome of each requested gate (`--slo`, `--max-errors`). */
  gates?: (GateOutcome)[];
  /** Pauses of the server's garbage collector, if its log was given (`--gc-log`). */
  gc_log?: GcLog;
  /** CPU time, memory and quality figures of the generator. */
  generator: Generator;
  /** CPU and memory of the generator over time; its CPU time includes spinning. */
  generator_points: (UsagePoint)[];
  /** The generator's process at the same times; its CPU time includes spinning. */
  generator_samples?: (ServerSample)[];
  /** Times over time, where the record has the histograms of its seconds. */
  heat: Heat | null;
  /** Unique: start time and a random part. */
  id: string;
  /** The requests that ended in each interval, warm-up included; a long run has longer intervals. */
  intervals: (Interval)[];
  /** The requested settings, with secrets replaced: `paceline run --job` repeats the run. */
  job?: Job;
  /** What the kernel of the generator's machine counted of lost and repeated packets; of one generator. */
  kernel?: KernelCounts;
  /** Those generators, in the same order. */
  loaders?: (Loader)[];
  /** The shape of the load. */
  loop: Loop;
  /** The series that the server published and that changed. */
  metric_lines: (MetricLine)[];
  /** The share of failed requests that the user accepts (`--max-errors`), 0 to 1. */
  not_ok_share_allowed?: number;
  /** How the generator waited for the next send. */
  pace: Pace;
  /** The seconds in which pauses of the server ended, that of the longest first. */
  pauses_at_s: (number)[];
  /** The time of each phase, from the start of the run. */
  phases: Phases;
  /** Where the CPU time of the server went, if requested (`--profile`). */
  profile?: Profile;
  /** Why there is no profile although it was requested. */
  profile_failure?: string;
  /** Whether the achieved rate is a minimum, because the generator was the bottleneck or was disturbed. */
  rate_is_minimum: boolean;
  /** Rates over the window, derived from `total` and the schedule. */
  rate_per_s: Rates;
  /** The version of these keys; a change of any number's meaning raises it. */
  schema: number;
  /** What ended in each second. */
  seconds: (Stretch)[];
  /** The seed of every random choice. */
  seed: number;
  /** The seed as text: JavaScript's numbers are too short for it. */
  seed_text: string;
  /** The achieved rate of each segment. */
  segments_per_s: (number)[];
  /** CPU time and memory of the server, if it runs on this machine and could be observed. */
  server?: ServerUse;
  /** Series that the server published of itself, if requested (`--scrape`). */
  server_metrics?: ServerMetrics;
  /** The server once a second, from before the first connection to the end of the run; at longer intervals in a long run. */
  server_samples?: (ServerSample)[];
  /** What the server waited for, with a profile. */
  server_waits?: ServerWaits;
  /** The sessions of a request file, in its order. */
  sessions?: (SessionPart)[];
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** Whether it was stopped before its planned end. */
  stopped: boolean;
  /** A few streams with the times of their events. */
  stream_examples?: StreamExamples;
  /** The most important figures, under the same keys for both loops. */
  summary?: Summary;
  /** The system calls of the server for each request, if requested (`--syscalls`). */
  syscalls?: SystemCalls;
  /** Why system calls were not counted although it was requested. */
  syscalls_failure?: string;
  /** The URL that was measured, and the connection to it. */
  target: Target;
  /** The report that a terminal shows of it. */
  text: string;
  /** From actual send; a request without a complete response by then is `timed_out`. */
  timeout_ns: number;
  /** Each distribution of times that was recorded. */
  times: (TimesPage)[];
  /** The load generator. */
  tool: Tool;
  /** All requests that were due in the window: their outcomes and their times. */
  total: Block;
  /** The Unix sockets that the server, or a server behind it, had connections to. The processes that serve them are not in `behind_server`. */
  unix_sockets?: (string)[];
  /** Why a number may not mean what it seems to. */
  verdicts: (Verdict)[];
  /** Length of the window, in seconds: the divisor of rates. */
  window_s: number;
}

/** Memory limits and pressure of a server under a load. */
export interface MemoryUse {
  /** Those of them in the server's own control group; none if that was not counted. */
  group_oom_kills?: number;
  /** Its memory limit, in bytes: the lowest limit of its control groups, or the machine's memory. */
  limit_bytes?: number;
  /** Processes on the machine that the kernel killed during the load because it was out of memory. */
  oom_kills: number;
  /** Highest resident memory sampled, in bytes; none if it ended before. */
  rss_bytes_peak?: number;
  /** Bytes that the machine swapped in and out during the load. */
  swapped_bytes: number;
}

/** A series that the server published, where it changed. */
export interface MetricLine {
  /** Its name with its labels. */
  name: string;
  /** Whether the points are the growth of a counter per second. */
  per_second: boolean;
  /** Its values, at seconds from the start of the run. */
  points: ([number, number])[];
}

/** What a chart can show of a row. */
export interface MetricPage {
  /** What it means. */
  definition: string;
  /** Its id, which stands in addresses: the key in JSON and CSV. */
  id: string;
  /** Whether it only describes: neither more nor less of it is better. */
  is_neutral?: boolean;
  /** Whether less of it is better; of a descriptive metric, whether less of it stands first. */
  less_is_better: boolean;
  /** Its name as a title. */
  name: string;
  /** Its name in sentences and columns. */
  short: string;
  /** What it is counted in. */
  unit: MetricUnit;
}

/** One series over a run. */
export interface MetricSeries {
  /** How its values are read. */
  kind: SeriesKind;
  /** Its name with its labels, or its JSON pointer. */
  name: string;
  /** A value for each time of the samples; null where the server gave none. */
  values: (number | null)[];
}

/** What a figure is counted in. */
export type MetricUnit = "per_s" | "ns" | "us" | "ms" | "bytes" | "share" | "count" | "cpu_seconds_per_million";

/** The traffic of a network interface over the window. */
export interface NetworkUse {
  /** Name of the network interface. */
  interface: string;
  /** Bytes received through it, per second. */
  received_bytes_per_s: number;
  /** Bytes sent through it, per second. */
  sent_bytes_per_s: number;
  /** Limit of what it sends, in bytes per second: the rate of a token bucket (`tc tbf`). It does not limit what is received. */
  sent_limit_bytes_per_s?: number;
  /** Speed of its device in bytes per second, in each direction. In records without `sent_limit_bytes_per_s`, a token bucket's rate may be here. */
  speed_bytes_per_s?: number;
}

/** A verdict on some rows of a table. */
export interface Note {
  /** Where the cause is: server, generator, environment or user. */
  blame: Blame;
  /** The servers with this verdict, and the number of affected launches. */
  launches_by_server: Record<string, number>;
  /** Name of the verdict. */
  name: string;
  /** What to do about it: the remedy as a sentence. */
  remedy: string;
  /** The worst of its severities. */
  severity: Severity;
}

/** An objective: each part must be met, and every failed request counts as beyond any limit. */
export interface Objective {
  /** The value for `paceline run --max-errors`. */
  max_errors?: string;
  /** Expressions for `paceline run --slo`. */
  slos: (string)[];
}

/** One figure that a source observed. */
export interface Observation {
  /** The form of the server, if the plan has several. */
  form?: string;
  /** The name of the load in the plan; for a twin, with its suffix. */
  load?: string;
  /** Notes for the comparison of the two figures. */
  note?: string;
  /** The id of the corresponding server in this repository, if there is one. */
  server?: string;
  /** The source, a document of `history/sources.md`. */
  source: string;
  /** The source's name for the measured object. */
  subject: string;
  /** The unit of the value, as text: the unit of `what`. */
  unit: string;
  /** The source's value, in `unit`. */
  value: number;
  /** The kind of figure. */
  what: Figure2;
  /** The workload of the plan, with its case. */
  workload?: string;
}

/** The overall scores by one metric. */
export interface OverallPage {
  /** The servers that lack a valid figure in some of the tables. */
  left_out: (string)[];
  /** The metric's id. */
  metric: string;
  /** The tables from which a visitor can choose: those of one machine and form that have the metric. */
  offered: (string)[];
  /** One for each server, best first. */
  rows: (OverallRow)[];
  /** The difference by which two scores must differ to be told apart, as a share; none where it is not known. */
  smallest_difference: number | null;
  /** The tables over which the scores are computed, by id. */
  tables: (string)[];
}

/** A server's score. */
export interface OverallRow {
  /** Whether it is a minimum, because a figure is one. */
  at_least: boolean;
  /** The 95 % interval of the score between launches; none with one launch. */
  interval: (number)[] | null;
  /** Launches that every table has. */
  launches: number;
  /** The first and the last rank that the launches leave possible; none with one launch. */
  ranks: (number)[] | null;
  /** The geometric mean of its shares of each table's best figure: 1 if it is the best of all. */
  score: number;
  /** The server's id. */
  server: string;
}

/** The requested pace and the one used. */
export interface Pace {
  /** `auto`, `spin` or `sleep`, as set with `--pace`. */
  asked: PaceChoice;
  /** Time before a send is due at which a hybrid pace begins to poll, in nanoseconds. */
  spin_before_ns: number;
  /** The pace that was used if `auto` was requested. */
  used: PaceKind;
}

/** How to wait for the next send: the requested setting. */
export type PaceChoice = "auto" | "spin" | "sleep";

/** How the generator waits for the next send. */
export type PaceKind = "sleep" | "hybrid" | "spin";

/** Energy of all CPU packages of the server's machine over the window. All processes on their cores share it, the load generator too, and idle cores are included. */
export interface PackageEnergy {
  /** Energy of all packages over that period, in joules. */
  joules: number;
  /** Energy per response completed in the window, in joules. */
  joules_per_request: number;
  /** Length of the sampled period, in seconds. */
  over_s: number;
  /** Number of packages. */
  packages: number;
}

/** One figure on both sides. */
export interface PairValue {
  /** Side A's. */
  a: FigurePage;
  /** Side B's. */
  b: FigurePage;
  /** B relative to A. */
  ratio: Ratio;
}

/** A load on one instance beside the same load on all of them, under one workload and form on one machine. */
export interface PairingPage {
  /** `single` or `cores`. */
  form: string;
  /** The name of the load on one instance. */
  load: string;
  /** The label of the machine. */
  machine: string;
  /** The table of text and Markdown. Each row begins with the server's id. */
  sheet: Sheet;
  /** The name of the same load on all of them. */
  twin: string;
  /** The workload. */
  workload: string;
}

/** The name of a phase. */
export type Phase = "connect" | "warmup" | "window" | "drain" | "end";

/** The phases of a run. */
export interface Phases {
  /** Connections are made, a capped number at a time. */
  connect: Span;
  /** No new requests fall due; due requests are still sent and awaited. */
  drain: Span;
  /** Load without a cohort: caches, compilers and congestion windows settle. */
  warmup: Span;
  /** The window: what is measured. */
  window: Span;
}

/** The cores that each process was allowed to use. */
export interface Pinning {
  /** Cores of the balancer, if there is one. */
  balancer?: (number)[];
  /** Cores of the database, if there is one. */
  database?: (number)[];
  /** Whether server and generator share no core. */
  disjoint: boolean;
  /** Cores of the load generator. */
  generator: (number)[];
  /** Cores of each instance, if a launch has several. */
  instances?: ((number)[])[];
  /** Cores of the server. */
  server: (number)[];
}

/** How a plan's results changed over its rounds on one machine. */
export interface PlanHistory {
  /** The plan. */
  plan: string;
  /** The rounds, oldest first. */
  points: (PlanPoint)[];
}

/** One round of a plan. */
export interface PlanPoint {
  /** The geometric mean over all rows that this round and the newest one have, relative to the newest one; more is better. None without such rows. */
  relative: number | null;
  /** The round. */
  round: string;
  /** Number of these rows. */
  rows: number;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
}

/** The role of a process tree in its launch. */
export type ProcessRole = "instance" | "balancer" | "database";

/** CPU and memory of one process tree over the window. */
export interface ProcessUse {
  /** Connections it held, the mean of the samples in the window; given if the balancer does not report the requests of each instance. */
  connections_mean?: number;
  /** The cores it may run on. */
  cores: (number)[];
  /** CPU time per response that the generator completed, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time over the window, in seconds. */
  cpu_s: number;
  /** Index of the instance, from 0; 0 for the balancer. */
  index: number;
  /** Role of the process: instance or balancer. */
  role: ProcessRole;
  /** Highest resident memory sampled, in bytes. */
  rss_bytes_peak: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** Highest number of threads at one time. */
  threads_peak: number;
  /** CPU time as a share of its cores, 0 to 1. */
  utilization: number;
}

/** Where the CPU time of the server went, in a window of the same load after the measured one. */
export interface Profile {
  /** Valid responses per second in the profiled window: beside the rate of the run, the cost of profiling. */
  achieved_per_s: number;
  /** The tree of calls in depth-first order; calls with too few samples to be drawn are left out. */
  calls: (ProfiledCall)[];
  /** What triggered the samples: `cycles`, or `cpu-clock` on a machine without hardware counters. */
  event: string;
  /** Samples per second of CPU time. */
  frequency_hz: number;
  /** The functions with the most samples of their own, the first ten. */
  functions: (ProfiledFunction)[];
  /** Share of the samples in the kernel, 0 to 1; none if only the code of the processes may be sampled. */
  kernel_share?: number;
  /** Share of the samples whose function has a name, 0 to 1. */
  named_share: number;
  /** Number of samples. */
  samples: number;
  /** The profiler and its version. */
  tool: string;
  /** Length of the profiled window, in seconds. */
  window_s: number;
}

/** A call in the tree of calls. */
export interface ProfiledCall {
  /** Where it runs. */
  code: CodeKind;
  /** Number of callers above it: 0 for a thread's name. */
  depth: number;
  /** The function, or the name of the threads. */
  name: string;
  /** Samples in it or in a function that it called. */
  samples: number;
}

/** A function of a profile. */
export interface ProfiledFunction {
  /** Where it runs. */
  code: CodeKind;
  /** The program, library or part of the kernel that it is in. */
  module: string;
  /** Its name; `[unknown]` for all code of a module without names. */
  name: string;
  /** Share of the samples in the function itself, 0 to 1. */
  own_share: number;
  /** Share of the samples in it or in a function that it called, 0 to 1. */
  total_share: number;
}

/** The version of HTTP for requests. */
export type Protocol = "http/1.0" | "http/1.1" | "http/2" | "http/3";

/** An interval with units, as results print it. */
export interface Range {
  /** The upper end. */
  high: number;
  /** The lower end. */
  low: number;
}

/** Events per second. Always positive and finite. */
export type Rate = number;

/** A part of the window in which the offered rate is constant or changes linearly. */
export interface RatePart {
  /** Requests per second at its beginning. */
  from_per_s: Rate;
  /** Its length, in seconds. */
  length_s: number;
  /** Requests per second at its end. */
  to_per_s: Rate;
}

/** Two rates per second. */
export interface RateRange {
  /** Upper end of the range, per second. */
  high: number;
  /** Lower end of the range, per second. */
  low: number;
}

/** An offered rate as a share of the server's rate under another load of the same launch. */
export interface RateShare {
  /** The rate of 100 % in this trial, per second: the achieved rate of the closed loop, or the capacity found. */
  full_per_s?: number;
  /** The trial that measured it. */
  full_trial?: string;
  /** The name of the other load: closed, or a capacity search. */
  of: string;
  /** The share: 0.5 is 50 %. */
  share: number;
}

/** What a schedule and a capacity count. */
export type RateUnit = "requests" | "sessions";

/** Rates over the window, per second. */
export interface Rates {
  /** Valid responses completed inside the window. */
  achieved: number;
  /** The rate of the schedule; open loop. */
  offered?: number;
  /** Requests handed to sockets inside the window. */
  sent: number;
  /** Sessions completed inside the window. */
  sessions_achieved?: number;
}

/** B relative to A. */
export type Ratio = {
  /** The ratio of the estimates. */
  estimate: number;
  /** The upper end. */
  high: number;
  /** The lower end of its interval. */
  low: number;
} & ({
  decision: "better";
} | {
  decision: "worse";
} | {
  decision: "equivalent";
} | {
  decision: "higher";
} | {
  decision: "lower";
} | {
  decision: "undecided";
  /** The approximate number of further pairs until a decision. */
  more_pairs: number;
} | {
  decision: "single";
} | {
  decision: "not_comparable";
});

/** Which requests of an access log are sent, and how fast. */
export interface ReplaySpec {
  /** Whether requests with a method that is not safe (RFC 9110 §9.2.1) are sent too. */
  all_methods?: boolean;
  /** The form of a line, as in nginx's `log_format`; if missing, each line is in one of the known formats. */
  format?: string;
  /** Earlier requests are left out: a time of day (`14:05`), or one with a date (RFC 3339). */
  from?: string;
  /** How many times as fast as they were logged. */
  speed: number;
  /** Requests from this time on are left out. */
  until?: string;
}

/** One request of a mix: the request, its frequency, and its results. */
export interface RequestPart {
  /** Body lengths of valid responses. */
  body_bytes?: Lengths;
  /** Bytes sent and received. */
  bytes: Bytes;
  /** Requests that are in the histograms at the time waited so far. */
  censored?: Censored;
  /** Valid responses completed inside the window, whenever they fell due: what the achieved rate counts. */
  completed_in_window: number;
  /** From the start of connecting, TLS handshake included, to the last byte of the response. */
  connect_and_service_time_ns?: Times;
  /** Time to establish a connection, for connections made in this block, without the TLS handshake. */
  connect_time_ns?: Times;
  /** From when a request was due until a connection, or a stream on one, was free for it. */
  connection_wait_ns?: Times;
  /** The number of requests by outcome. */
  counts: Counts;
  /** Time between two events of a stream. Events that were read together have a gap of 0. Streams that failed later are included. */
  event_gap_ns?: Times;
  /** What counted as a valid response to it. */
  expectations: Expectations;
  /** Time until each failed request failed, from the intended send, or from the actual send in a closed loop. Requests that timed out are not included: they count in the response time (closed loop: in the service time). */
  failed_time_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the first byte of a stream's body. */
  first_body_ns?: Times;
  /** From the actual send to the first byte of the response. */
  first_byte_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the end of a stream's first event: for a language model, the time to the first token as its user sees it. Streams that failed later are included. */
  first_event_ns?: Times;
  /** Delay caused by the load generator: it begins when the request is due and a connection is free, and ends when the request is sent. It is part of the response time. */
  generator_lag_ns?: Times;
  /** Time of the TLS handshake after connecting, full and resumed ones together. Early data is sent meanwhile. */
  handshake_time_ns?: Times;
  /** The longest gap between two events of each stream that ended as asked. */
  longest_gap_ns?: Times;
  /** From the time that an event of a stream carries to its arrival, by the wall clock of the load generator: the clocks must agree. Events without a time, or with one after their arrival, have no delay; they are counted. */
  message_delay_ns?: Times;
  /** Method of the request. */
  method: string;
  /** Its name in the request file. */
  name: string;
  /** Its path, with placeholders as written. */
  path: string;
  /** From when the kernel had received the last byte to when it was read: how long responses waited for the load generator. It is part of the service time. */
  receive_delay_ns?: Times;
  /** From the moment at which the request was due by the schedule (the intended send) to the last byte of the response. It includes waiting for a connection and any lag of the load generator. */
  response_time_ns?: Times;
  /** From the actual send (the first byte of the request is passed to the socket) to the last byte of the response. */
  service_time_ns?: Times;
  /** Number of responses by status code. */
  status: Record<string, number>;
  /** The events of streams; none without streams. */
  stream_events?: EventCounts;
  /** From the first byte of a stream's body to the end of the stream, for each stream that ended as asked. */
  stream_time_ns?: Times;
  /** Its relative frequency. */
  weight: number;
}

/** One kind of request: its content, its weight, and the expected response. */
export interface RequestSpec {
  /** The body that is sent. */
  body?: Content;
  /** The size of the chunks in which the body is sent, in bytes; if missing, it is sent with its length. */
  chunk_bytes?: number;
  /** The expected body; for a call of gRPC, the expected message. */
  expect_body?: BodyExpectation;
  /** Whether the body waits for 100 Continue. */
  expect_continue?: boolean;
  /** The status of gRPC that every call must end with, such as `NOT_FOUND`; `OK` if missing. */
  expect_grpc_status?: string;
  /** The status that every response must have; any 2xx if missing. */
  expect_status?: number;
  /** In a session: values of the response that later steps use as `{var:NAME}`. */
  extract?: (Extraction)[];
  /** Where the files of `{line:FILE}` are; the working directory if missing. */
  folder?: string;
  /** Header fields to send, in order. */
  headers?: Headers;
  /** Whether path, headers and body are sent as they are, without placeholders. */
  literal?: boolean;
  /** The method, such as `GET`. */
  method: string;
  /** The name in records; the path if missing. */
  name?: string;
  /** Names of fields that are otherwise sent by default, and are left out: `User-Agent`, `Accept`. */
  omit?: (string)[];
  /** The path with its query; that of the job's URL if missing. */
  path?: string;
  /** The session that contains this request as a step: the requests of a session are consecutive, and one user sends them in order. */
  session?: string;
  /** How the response is read as a stream of events; as a whole if missing. */
  stream?: StreamSpec;
  /** In a session: pause between the response to the previous step and this request. */
  think?: Think;
  /** How often it is sent, relative to the other requests. */
  weight: number;
}

/** The results of one request of a mix, or of one kind of session. */
export interface RequestSummary {
  /** Those whose outcome is not ok. */
  failed: number;
  /** Its name in the request file. */
  name: string;
  /** Requests, or sessions, of the window's cohort. */
  scheduled: number;
  /** The response time (closed loop: service time), or the session time. */
  time_ns: TimeSummary | null;
}

/** The machine on which a role of a launch ran. */
export interface RoleMachine {
  /** Its monotonic clock minus the lab's. */
  clock: ClockOffset;
  /** The environment of that machine. */
  environment: Environment;
  /** The name used to connect to it. */
  host: string;
  /** Index within its role, from 0. */
  index: number;
  /** The traffic of its network interface over the window. */
  network?: NetworkUse;
  /** The role that ran on it. */
  role: ProcessRole;
}

/** A round in the list. */
export interface RoundEntry {
  /** What the plan, or the published document, measured; empty where it does not say. */
  about: string;
  /** How it differs from its plan, such as by fewer servers; none where it was imported. */
  changes: (string)[];
  /** Processors online. */
  cores: number;
  /** The processor's name. */
  cpu_model: string;
  /** When it ended; none while it is unfinished. */
  finished_at: string | null;
  /** Its id. */
  id: string;
  /** Whether its figures were published by others: it has no plan that was carried out. */
  imported: boolean;
  /** How many are kept, where that is known. */
  kept: number | null;
  /** Figures of the plan's source that stand beside its own. */
  observed: number;
  /** The plan's name. */
  plan: string;
  /** How many trials were planned. */
  planned: number;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** Whether the machine is a virtual one. */
  virtual_machine: boolean;
}

/** A round. */
export interface RoundPage {
  /** Its facts. */
  about: About;
  /** The servers whose framework comes from system packages, with their releases: the sentences below the tables of a report. */
  framework_packages: (string)[];
  /** The command of a load generator other than Paceline. */
  generator: string | null;
  /** Whether its figures were published by others. */
  imported: boolean;
  /** The machines its trials ran on. */
  machines: (Machine)[];
  /** The metrics that some row has, and those that order a table. */
  metrics: (MetricPage)[];
  /** What the plan's source observed beside what was observed now. */
  observed: (Beside)[];
  /** Servers by metric, best over all tables first: by the geometric mean of their shares of each table's best. Those without a figure are left out. */
  overall: Record<string, (string)[]>;
  /** Loads on one instance beside the same loads on all of them: they stand above the tables. */
  pairings: (PairingPage)[];
  /** What its plan says of itself in one sentence; empty where it says nothing. */
  plan_about: string;
  /** What was measured, by id. */
  servers: Record<string, ServerEntry>;
  /** How servers started. */
  starts: (StartTable)[];
  /** A table for each workload, form and load, machine by machine. */
  tables: (TablePage)[];
  /** What could not be read. */
  unreadable: (string)[];
  /** What each verdict that occurs means. */
  verdicts: Record<string, Explanation>;
  /** How servers became warm, with the warm-up curve of each launch. */
  warm_ups: (WarmUpTable)[];
}

/** The destination of requests in a launch with a balancer. */
export type Route = "direct" | "balanced" | "spread";

/** One server in a table. */
export interface RowPage {
  /** What failed, and the launches that are left out. */
  failures: (Failure)[];
  /** Launches that were planned. */
  launches_planned: number;
  /** Launches with a usable run. */
  launches_usable: number;
  /** What limited it; none without a usable launch, and in imported rounds. */
  limit: LimitPage | null;
  /** The server's id. */
  server: string;
  /** The worst severity among them; none without a verdict. */
  severity: Severity | null;
  /** What it can be taken for. */
  standing: Standing;
  /** Its trials in the order they ran. */
  trials: (TrialEntry)[];
  /** Its figures by metric. */
  values: Record<string, FigurePage>;
  /** The names of its verdicts, the most severe first. */
  verdicts: (string)[];
}

/** One generator against one target, once. */
export interface Run {
  /** The command line, so that the run can be repeated by hand. */
  argv: (string)[];
  /** The check that random arrivals left at random times. */
  arrival_check?: ArrivalCheck;
  /** The first unexpected body of each request. */
  bad_bodies?: (BadBody)[];
  /** The same of the servers on this machine that the server has connections to, such as an application behind a proxy and its database, nearest first. */
  behind_server?: (ServerUse)[];
  /** What went wrong with the files of request bodies that were read while they were sent; none if nothing did. */
  body_faults?: BodyFaults;
  /** Waits for the disk in the window, if bodies were read from files while they were sent. */
  body_waits?: BodyWaits;
  /** The cohort by generator, if several shared one run. */
  by_generator?: (Block)[];
  /** The cohort by request of a mix, in the order of the request file. */
  by_request?: (RequestPart)[];
  /** The cohort by segment of a ramp or a staircase, in order. */
  by_segment?: (Segment)[];
  /** The requests that were outstanding when the window opened, and their outcome. */
  carried_over?: CarriedOver;
  /** Connections requested and opened, and the side that closed them. */
  connections: Connections;
  /** Energy of the CPU packages over the window, if the server is observed and the kernel reports it. The run of a trial has none: the trial has it. */
  energy?: PackageEnergy;
  /** The machine that the load generator ran on. */
  environment: Environment;
  /** How request bodies that waited for 100 Continue were sent. */
  expect_continue?: ExpectContinue;
  /** The definition of a valid response. */
  expectations: Expectations;
  /** The reasons for which a script refused responses of the window, the most frequent first. */
  failed_checks?: (FailedCheck)[];
  /** The outcome of each requested gate (`--slo`, `--max-errors`). */
  gates?: (GateOutcome)[];
  /** Pauses of the server's garbage collector, if its log was given (`--gc-log`). */
  gc_log?: GcLog;
  /** CPU time, memory and quality figures of the generator. */
  generator: Generator;
  /** The generator's process at the same times; its CPU time includes spinning. */
  generator_samples?: (ServerSample)[];
  /** Unique: start time and a random part. */
  id: string;
  /** The requests that ended in each interval, warm-up included; a long run has longer intervals. */
  intervals: (Interval)[];
  /** The requested settings, with secrets replaced: `paceline run --job` repeats the run. */
  job?: Job;
  /** What the kernel of the generator's machine counted of lost and repeated packets; of one generator. */
  kernel?: KernelCounts;
  /** Those generators, in the same order. */
  loaders?: (Loader)[];
  /** The shape of the load. */
  loop: Loop;
  /** The share of failed requests that the user accepts (`--max-errors`), 0 to 1. */
  not_ok_share_allowed?: number;
  /** How the generator waited for the next send. */
  pace: Pace;
  /** The time of each phase, from the start of the run. */
  phases: Phases;
  /** Where the CPU time of the server went, if requested (`--profile`). */
  profile?: Profile;
  /** Why there is no profile although it was requested. */
  profile_failure?: string;
  /** Rates over the window, derived from `total` and the schedule. */
  rate_per_s: Rates;
  /** The version of these keys; a change of any number's meaning raises it. */
  schema: number;
  /** The seed of every random choice. */
  seed: number;
  /** CPU time and memory of the server, if it runs on this machine and could be observed. */
  server?: ServerUse;
  /** Series that the server published of itself, if requested (`--scrape`). */
  server_metrics?: ServerMetrics;
  /** The server once a second, from before the first connection to the end of the run; at longer intervals in a long run. */
  server_samples?: (ServerSample)[];
  /** What the server waited for, with a profile. */
  server_waits?: ServerWaits;
  /** The sessions of a request file, in its order. */
  sessions?: (SessionPart)[];
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** Whether it was stopped before its planned end. */
  stopped: boolean;
  /** A few streams with the times of their events. */
  stream_examples?: StreamExamples;
  /** The most important figures, under the same keys for both loops. */
  summary?: Summary;
  /** The system calls of the server for each request, if requested (`--syscalls`). */
  syscalls?: SystemCalls;
  /** Why system calls were not counted although it was requested. */
  syscalls_failure?: string;
  /** The URL that was measured, and the connection to it. */
  target: Target;
  /** From actual send; a request without a complete response by then is `timed_out`. */
  timeout_ns: number;
  /** The load generator. */
  tool: Tool;
  /** All requests that were due in the window: their outcomes and their times. */
  total: Block;
  /** The Unix sockets that the server, or a server behind it, had connections to. The processes that serve them are not in `behind_server`. */
  unix_sockets?: (string)[];
  /** Why a number may not mean what it seems to. */
  verdicts: (Verdict)[];
  /** Length of the window, in seconds: the divisor of rates. */
  window_s: number;
}

/** Everything about one run: its record, without the parts that pages do not show, and what follows from it. */
export interface RunPage {
  /** The command that repeats it. */
  command: string;
  /** The CPU time of a request by where it was spent; empty where that is not known. */
  cpu_parts: (CpuPartPage)[];
  /** What each of them means. */
  explanations: Record<string, Explanation>;
  /** The trial's id, or the run's where there is no trial. */
  id: string;
  /** What the generator measured; none where it left nothing. */
  measured: Measured | null;
  /** What else is known of the server, by name and in words: energy, and Unix sockets to services behind it. */
  server_facts: ([string, string])[];
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** The trial with its conditions, without its run and samples; none for a run outside a round. */
  trial: Trial | null;
  /** CPU and memory of the server over time. */
  usage_points: (UsagePoint)[];
  /** Why a number may not mean what it seems to. */
  verdicts: (Verdict)[];
}

/** The server's process tree at one moment. Counters are totals since the launch. */
export interface Sample {
  /** From the start of the generator, in nanoseconds. */
  at_ns: number;
  /** CPU time, in seconds. */
  cpu_s: number;
  /** Number of involuntary context switches. */
  involuntary_switches: number;
  /** Phase of the run at that time. */
  phase: Phase;
  /** Number of processes of the server. */
  processes: number;
  /** Resident memory summed over processes, in bytes. */
  rss_bytes: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** Number of threads of the server. */
  threads: number;
  /** Number of voluntary context switches. */
  voluntary_switches: number;
}

/** The full-size settings in the plan of a load that was scaled down. */
export interface Scaled {
  /** Number of connections at full size. */
  connections: number;
  /** The factor applied to connections, rate and number of requests, below 1. */
  factor: number;
  /** Offered rate at full size. */
  rate_per_s?: number;
  /** Number of requests at full size. */
  requests?: number;
}

/** A rate that was offered. */
export interface SearchedRate {
  /** The achieved rate, per second. */
  achieved_per_s: number;
  /** The offered rate, per second. */
  offered_per_s: number;
  /** Whether the window met the objective: `pass`, `miss` or `void`. */
  outcome: string;
}

/** A part of the window with its own load: a step, or a tenth of a ramp. Its block contains the requests that fell due in it. */
export interface Segment {
  /** Body lengths of valid responses. */
  body_bytes?: Lengths;
  /** Bytes sent and received. */
  bytes: Bytes;
  /** Requests that are in the histograms at the time waited so far. */
  censored?: Censored;
  /** Valid responses completed in it, whenever they fell due: the achieved rate of the segment counts them. */
  completed_in_segment: number;
  /** Valid responses completed inside the window, whenever they fell due: what the achieved rate counts. */
  completed_in_window: number;
  /** From the start of connecting, TLS handshake included, to the last byte of the response. */
  connect_and_service_time_ns?: Times;
  /** Time to establish a connection, for connections made in this block, without the TLS handshake. */
  connect_time_ns?: Times;
  /** From when a request was due until a connection, or a stream on one, was free for it. */
  connection_wait_ns?: Times;
  /** The mean number of connections planned for the segment, if that changes. */
  connections?: number;
  /** The number of requests by outcome. */
  counts: Counts;
  /** End, in nanoseconds from the start of the run. */
  end_ns: number;
  /** Time between two events of a stream. Events that were read together have a gap of 0. Streams that failed later are included. */
  event_gap_ns?: Times;
  /** Time until each failed request failed, from the intended send, or from the actual send in a closed loop. Requests that timed out are not included: they count in the response time (closed loop: in the service time). */
  failed_time_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the first byte of a stream's body. */
  first_body_ns?: Times;
  /** From the actual send to the first byte of the response. */
  first_byte_ns?: Times;
  /** From the intended send (closed loop: the actual send) to the end of a stream's first event: for a language model, the time to the first token as its user sees it. Streams that failed later are included. */
  first_event_ns?: Times;
  /** Delay caused by the load generator: it begins when the request is due and a connection is free, and ends when the request is sent. It is part of the response time. */
  generator_lag_ns?: Times;
  /** Time of the TLS handshake after connecting, full and resumed ones together. Early data is sent meanwhile. */
  handshake_time_ns?: Times;
  /** The longest gap between two events of each stream that ended as asked. */
  longest_gap_ns?: Times;
  /** From the time that an event of a stream carries to its arrival, by the wall clock of the load generator: the clocks must agree. Events without a time, or with one after their arrival, have no delay; they are counted. */
  message_delay_ns?: Times;
  /** The mean offered rate of the segment, per second; 0 in a closed loop, which has no schedule. */
  offered_per_s: number;
  /** From when the kernel had received the last byte to when it was read: how long responses waited for the load generator. It is part of the service time. */
  receive_delay_ns?: Times;
  /** From the moment at which the request was due by the schedule (the intended send) to the last byte of the response. It includes waiting for a connection and any lag of the load generator. */
  response_time_ns?: Times;
  /** From the actual send (the first byte of the request is passed to the socket) to the last byte of the response. */
  service_time_ns?: Times;
  /** Start, in nanoseconds from the start of the run. */
  start_ns: number;
  /** Number of responses by status code. */
  status: Record<string, number>;
  /** The events of streams; none without streams. */
  stream_events?: EventCounts;
  /** From the first byte of a stream's body to the end of the stream, for each stream that ended as asked. */
  stream_time_ns?: Times;
}

/** For how long sending was limited, added up over the connections of a run, from when each was opened until it was closed or the run ended. The kernel counts these times in clock ticks (1 to 10 ms). */
export interface SendLimits {
  /** Connections with such a time. */
  receive_window_connections: number;
  /** Time in which the server's receive window was full, in nanoseconds (`tcpi_rwnd_limited` of linux/tcp.h). */
  receive_window_ns: number;
  /** Connections with such a time. */
  send_buffer_connections: number;
  /** Time in which the send buffer of the generator's socket was too small, in nanoseconds (`tcpi_sndbuf_limited`). */
  send_buffer_ns: number;
}

/** How the values of a series are read. */
export type SeriesKind = "gauge" | "counter";

/** The distribution over connections: one number for each connection. */
export interface Served {
  /** The highest value of a connection. */
  max: number;
  /** The median over connections. */
  median: number;
  /** The lowest value of a connection. */
  min: number;
}

/** The server under test. */
export interface Server {
  /** The id of the original if the server is a copy: a round may contain a server twice to check its own noise. */
  copy_of?: string;
  /** The HTTP engine that the framework runs on. */
  engine: string;
  /** Name of the framework. */
  framework: string;
  /** The system package that its framework comes from; none if the framework comes from elsewhere, such as a registry of the language, and in records of older versions. */
  framework_package?: FrameworkPackage;
  /** Name of its folder; for a copy, with the suffix `-copy`. */
  id: string;
  /** Kind of the framework: `platform`, `micro` or `full`. */
  kind: string;
  /** The language it is written in. */
  language: string;
  /** Display name of the server. */
  name: string;
  /** `idiomatic` or `tuned`, and others. */
  tags: (string)[];
  /** The framework's limits from its manifest, checked against the server: `pipelining`, `keep_alive`. */
  traits?: Record<string, boolean>;
  /** Output of its version command. */
  versions: string;
}

/** What was measured. */
export interface ServerEntry {
  /** The id of the original if the server is a copy: a round may contain a server twice to check its own noise. */
  copy_of?: string;
  /** The HTTP engine that the framework runs on. */
  engine: string;
  /** Name of the framework. */
  framework: string;
  /** The system package that its framework comes from; none if the framework comes from elsewhere, such as a registry of the language, and in records of older versions. */
  framework_package?: FrameworkPackage;
  /** Name of its folder; for a copy, with the suffix `-copy`. */
  id: string;
  /** Kind of the framework: `platform`, `micro` or `full`. */
  kind: string;
  /** The language it is written in. */
  language: string;
  /** Display name of the server. */
  name: string;
  /** The sources that published a figure of it: documents of `history/sources.md`. */
  sources: (string)[];
  /** `idiomatic` or `tuned`, and others. */
  tags: (string)[];
  /** The framework's limits from its manifest, checked against the server: `pipelining`, `keep_alive`. */
  traits?: Record<string, boolean>;
  /** Output of its version command. */
  versions: string;
}

/** Series that the server published, read once a second. */
export interface ServerMetrics {
  /** When each sample was taken, from the start of the run, in nanoseconds; a long run keeps fewer. */
  at_ns: (number)[];
  /** Number of scrapes that failed. */
  failed: number;
  /** Why the first of them failed. */
  first_failure?: string;
  /** Number of scrapes with values. */
  scrapes: number;
  /** The series that were read. */
  series: (MetricSeries)[];
  /** Chosen series that were left out because there were too many. */
  series_left_out?: number;
  /** Where they were read. */
  url: string;
}

/** The server at one moment of a run, all of its processes together. */
export interface ServerSample {
  /** From the start of the run, in nanoseconds. */
  at_ns: number;
  /** CPU time since the first sample, in seconds. */
  cpu_s: number;
  /** Number of processes. */
  processes: number;
  /** Resident memory summed over processes, in bytes. */
  rss_bytes: number;
  /** Number of threads. */
  threads: number;
}

/** CPU time and memory of the server over the window, all of its processes together. */
export interface ServerUse {
  /** CPU time of its busiest thread as a share of the window, 0 to 1. Missing if threads that ended in the window used more CPU time: the CPU time of each of them is unknown. */
  busiest_thread_utilization?: number;
  /** The cores that the first process may run on. */
  cores?: (number)[];
  /** Cores that the first process may run on. */
  cores_allowed: number;
  /** CPU time per request that was sent in the window, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time over the window, in seconds. */
  cpu_s: number;
  /** How its root processes were found; the others are their descendants. */
  found_by: FoundBy;
  /** Page faults that waited for a disk, in the window. */
  major_faults?: number;
  /** Its memory limit, and memory pressure on the machine in the window. */
  memory?: MemoryUse;
  /** The same of the thread that waited most, as a share of the window, 0 to 1. */
  most_delayed_thread_share?: number;
  /** Names of its programs that used at least a tenth of its CPU time, the largest first; if none was counted, that of its first process. */
  name: string;
  /** The first of its processes. */
  pid: number;
  /** Processes when the window ended. */
  processes: number;
  /** Resident memory when the window ended, in bytes. */
  rss_bytes: number;
  /** Resident memory before the first connection, in bytes. */
  rss_bytes_before?: number;
  /** The highest resident memory of the samples in the window, in bytes. */
  rss_bytes_peak?: number;
  /** Time runnable but not running, all threads, in seconds. */
  run_delay_s?: number;
  /** The part of `cpu_s` in kernel mode, in seconds. */
  system_s?: number;
  /** Threads when the window ended. */
  threads: number;
  /** What a CPU limit of the control group of its first process cost in the window, if it was reached. */
  throttling?: Throttling;
  /** The part of `cpu_s` in user mode, in seconds. This and `system_s` add up to `cpu_s`; the shares are those of utime and stime (proc_pid_stat(5)). Both are missing if fewer than 10 clock ticks (0.1 s) were counted, and in records of older versions. */
  user_s?: number;
  /** CPU time as a share of the window on all cores that it may run on, 0 to 1. */
  utilization: number;
}

/** What the server waited for, in a window of the same load after the measured one. */
export interface ServerWaits {
  /** Valid responses per second in that window. */
  achieved_per_s: number;
  /** What the server sent to other services over TCP, most messages first. */
  calls?: (ServiceCalls)[];
  /** How often all threads were looked at. */
  looks: number;
  /** Event loops that waited for a timer; none if none was seen. */
  loop_timers?: LoopTimers;
  /** The waits of threads, most threads first. Threads that wait for a request are left out. */
  waits?: (ThreadWait)[];
}

/** What the server sent to another service. */
export interface ServiceCalls {
  /** Its address and port. */
  address: string;
  /** Segments with data that were sent to it for each valid response: as many messages, if these are small. */
  messages_per_request: number;
}

/** One session of a request file: steps in order by one user. Each step is one of `by_request`, too. */
export interface SessionPart {
  /** Sessions whose last step was answered as expected. */
  completed: number;
  /** Sessions that were completed inside the window, those that began in the warm-up included; none in older records. */
  completed_in_window?: number;
  /** Sessions with a failed step; the steps after it were not sent. */
  failed: number;
  /** Its name in the request file. */
  name: string;
  /** Time from the due time of a session to its last response, pauses included; completed sessions only. */
  session_time_ns?: Times;
  /** Sessions of the window's cohort; each was completed, failed or unfinished. */
  started: number;
  /** The steps of the session, in order. */
  steps: (SessionStep)[];
  /** Sessions that the end of the run interrupted between two steps. */
  unfinished: number;
  /** Its relative frequency. */
  weight: number;
}

/** One step of a session. */
export interface SessionStep {
  /** Its name, as in `by_request`. */
  name: string;
  /** Sessions that did not reach it: an earlier step failed, or the run ended. */
  not_reached: number;
}

/** The severity of a verdict. */
export type Severity = "note" | "caution" | "invalid";

/** How the offered rate changes over the window. The warm-up has the rate of the window's beginning. */
export type Shape = {
  kind: "steady";
  /** The offered rate, in requests per second. */
  per_s: Rate;
} | {
  /** Requests per second at the beginning. */
  from_per_s: Rate;
  kind: "ramp";
  /** Requests per second at the end. */
  to_per_s: Rate;
} | {
  kind: "steps";
  /** Requests per second of each step. */
  rates_per_s: (Rate)[];
  /** How long each step lasts, in seconds. */
  step_s: number;
} | {
  kind: "parts";
  /** The parts, in order. */
  parts: (RatePart)[];
} | Trace;

/** Rows of texts under heads, with notes on them. */
export interface Sheet {
  /** The heading of each column. */
  heads: (string)[];
  /** How to read it, in one or two sentences. */
  lead: string;
  /** The notes below it, one sentence each. */
  lines: (string)[];
  /** The cells. */
  rows: ((string)[])[];
  /** Its subject. */
  title: string;
  /** Number of leading columns that hold words, aligned left. */
  words: number;
}

/** One side. */
export interface Side {
  /** The processors of the machines that it ran on, each once. */
  cpu_model: string;
  /** The facts of its round. */
  round: About;
  /** The one server, where one was chosen. */
  server: ServerEntry | null;
}

/** A stretch of time, in nanoseconds from the start of the run. */
export interface Span {
  /** End, in nanoseconds. */
  end_ns: number;
  /** Start, in nanoseconds. */
  start_ns: number;
}

/** The stage that a trial reached. */
export type Stage = "setup" | "build" | "start" | "validate" | "load" | "generate";

/** The standing of a row: whether its numbers measure the server. */
export type Standing = "ranked" | "generator_bound" | "overloaded" | "disturbed" | "invalid" | "failed";

/** How far a figure beside a source's is comparable. */
export type Standing2 = "measured" | "at_least" | "overloaded" | "invalid" | "failed" | "not_measured" | "no_server";

/** The starts of one server. */
export interface StartRow {
  /** The first start since it was built or its folder changed; none if that was before the round. */
  first: Starts | null;
  /** The later starts of the round. */
  later: Starts | null;
  /** Resident memory once a launch's last load had ended. */
  rss_bytes_after: Figure | null;
  /** The server's id. */
  server: string;
}

/** The starts of the servers of one form on one machine. */
export interface StartTable {
  /** `single` or `cores`. */
  form: string;
  /** The label of the machine. */
  machine: string;
  /** The rows, one for each server. */
  rows: (StartRow)[];
}

/** Some starts, each launch one observation. */
export interface Starts {
  /** Read from disk until then: 0 if all of it was in memory. */
  disk_read_bytes: Figure | null;
  /** From the start to the first valid response. */
  first_answer_ms: Figure | null;
  /** From the start to a port that accepts connections. */
  listening_ms: Figure | null;
  /** Resident memory at the first response, in bytes. */
  rss_bytes: Figure | null;
}

/** The start of a server. */
export interface Startup {
  /** Bytes that its processes had read from disk by the first response: 0 if all of it was in memory already, as after a build; none if the kernel does not report it. */
  disk_read_bytes?: number;
  /** From fork to the first complete valid response, in nanoseconds. */
  first_answer_ns: number;
  /** Whether this is the first answered start since the server was built or its folder changed; none if starts were not counted. */
  first_since_build?: boolean;
  /** The guarantee for the cleanup of its processes: `pid_namespace` or `subreaper`. */
  guarantee: string;
  /** From fork to a port that accepts connections, in nanoseconds. */
  listening_ns: number;
  /** Whether the launch had a network of its own, so that its fixed port was free. */
  private_network?: boolean;
  /** Processes of the tree at that time. */
  processes: number;
  /** Resident memory of the process tree at that time, in bytes. */
  rss_bytes: number;
  /** The warm-up of the launch before its first load; none if there was none. */
  warm_up?: WarmUp;
}

/** The number of rows returned as updated that are stored with that value. */
export interface StoredRows {
  /** Rows returned, each id once. */
  returned: number;
  /** Rows that the database stores with a returned value. */
  stored: number;
}

/** A stream with the times of its events. Times count from its intended send, in a closed loop from its actual send. */
export interface StreamExample {
  /** When it ended, in nanoseconds. */
  ended_ns: number;
  /** When its events came, in nanoseconds: the first, and of the others those that `kept_every` says; at most 256. */
  event_ns: (number)[];
  /** The number of events. */
  events: number;
  /** When the first byte of its body came, in nanoseconds. */
  first_body_ns: number;
  /** The intended send, from the start of the run, in nanoseconds. */
  intended_ns: number;
  /** 1 if the times of all events are kept, 2 if those of every second one are, and so on. */
  kept_every: number;
  /** Why it is an example. */
  kind: StreamExampleKind;
  /** When its last event came, in nanoseconds. */
  last_event_ns: number;
  /** The longest time between two events; none if there was one event. */
  longest_gap?: StreamGap;
}

/** Why a stream is an example. */
export type StreamExampleKind = "longest_gap" | "typical" | "slowest_first_event";

/** Examples of the window's streams that ended as asked. */
export interface StreamExamples {
  /** At most one of each kind. */
  examples: (StreamExample)[];
  /** Streams whose events were recorded, from which the examples were chosen: up to 64 at a time on each thread. */
  watched: number;
}

/** How a body is divided into events. */
export type StreamFormat = "sse" | "ndjson" | "lines" | "chunks" | "messages";

/** A gap between two events of a stream. */
export interface StreamGap {
  /** The number of the event before it, from 1. */
  after_event: number;
  /** The time to the next event, in nanoseconds. */
  length_ns: number;
  /** When that event came, from the intended send, in nanoseconds. */
  start_ns: number;
}

/** How responses are read as streams of events. Of the ends that are given, the first that is reached ends a stream; if none is given, the server does. */
export interface StreamSpec {
  /** The JSON pointer (RFC 6901) of a number in each event that is added up, such as tokens. Events without it count 0. */
  count_json?: string;
  /** End a stream after this many events. */
  events?: number;
  /** End a stream this many seconds after its response begins. */
  for_s?: number;
  /** How a body is divided into events. */
  format: StreamFormat;
  /** The JSON pointer (RFC 6901) of the time in each event at which it was sent, from which its delay is computed: a number since 1970 in seconds, milliseconds, microseconds or nanoseconds, or text as in RFC 3339. */
  message_time?: string;
  /** End a stream with the event that contains this text, as sent: `data: [DONE]`. */
  until?: string;
}

/** What ended in one stretch of a run. */
export interface Stretch {
  /** 99 % of the requests were sent at most this late by the generator, in nanoseconds; open loop. */
  lag_p99?: number;
  /** How long it was. */
  length_s: number;
  /** The highest. */
  max?: number;
  /** Requests per second that did not end well. */
  not_ok_per_s: number;
  /** Valid responses per second. */
  ok_per_s: number;
  /** Median of the time the run is judged by, in nanoseconds. */
  p50?: number;
  /** 90 % of the times were at or below it. */
  p90?: number;
  /** 99 % of the times were at or below it. */
  p99?: number;
  /** The phase in which it began. */
  phase: Phase;
  /** When it began, in seconds from the start of the run. */
  start_s: number;
}

/** The most important figures of a run. */
export interface Summary {
  /** Valid responses completed in the window, per second of it. */
  achieved_per_s: number;
  /** The sum of the numbers in those events (`--count-json`), per second of the window; none without such numbers. */
  counted_per_s: number | null;
  /** Events of streams received in the window, per second of it; none without streams. */
  events_per_s: number | null;
  /** For a load of several rates, the first one at which the server fell behind, per second. */
  fell_behind_at_per_s: number | null;
  /** For a load of several rates, the last one before the first at which the server fell behind, per second; the highest if it kept up with all, none if it fell behind at the first. The other rates are means over the window. */
  kept_up_at_per_s: number | null;
  /** The maximum of that time, in nanoseconds. */
  max_ns: number | null;
  /** The mean of that time, in nanoseconds. */
  mean_ns: number | null;
  /** Requests with another outcome: failed, wrong, timed out or unsent. */
  not_ok: number;
  /** The rate of the schedule, per second; none in a closed loop. */
  offered_per_s: number | null;
  /** Requests with the expected response. */
  ok: number;
  /** The median of that time, in nanoseconds. */
  p50_ns: number | null;
  /** The 90th percentile of that time, in nanoseconds. */
  p90_ns: number | null;
  /** The 95th percentile of that time, in nanoseconds. */
  p95_ns: number | null;
  /** The 99.9th percentile of that time, in nanoseconds. */
  p99_9_ns: number | null;
  /** The 99th percentile of that time, in nanoseconds. */
  p99_ns: number | null;
  /** Requests of the window's cohort. */
  requests: number;
  /** Sessions completed in the window, per second of it; none without sessions. */
  sessions_achieved_per_s: number | null;
  /** The kind of time in the following figures: the response time in an open loop, the service time in a closed one. */
  time: SummaryTime;
  /** Names of the verdicts, the severe ones first. */
  verdicts: (string)[];
}

/** The kind of time in a summary. */
export type SummaryTime = "response" | "service";

/** One kind of system call. */
export interface SystemCall {
  /** Calls per request. */
  calls_per_request: number;
  /** Calls that returned an error, per request. `EAGAIN` of a socket without data is one. */
  errors_per_request: number;
  /** Its name, as perf prints it. */
  name: string;
  /** Mean time from the start of a call to its end, in nanoseconds. It includes waiting: that of `epoll_wait` is mostly the time until something happens. */
  time_ns_mean: number;
}

/** The system calls of the server, in a window of the same load after the measured one. */
export interface SystemCalls {
  /** Valid responses per second in the traced window: beside the rate of the run, the cost of tracing. */
  achieved_per_s: number;
  /** The kinds with the most calls, at most twenty, the most frequent first. */
  calls: (SystemCall)[];
  /** System calls of all kinds per request. */
  calls_per_request: number;
  /** Events that perf lost, because it could not keep up. Above 0, the numbers of calls are lower bounds. */
  lost_events: number;
  /** Valid responses while calls were counted: the divisor of all numbers per request. */
  requests: number;
  /** Threads and processes that the server started meanwhile, whose calls are not counted. Above 0, the numbers of calls are lower bounds. */
  threads_started: number;
  /** The tracer and its version. */
  tool: string;
  /** Length of the traced window, in seconds. */
  window_s: number;
}

/** The rows of one workload, load and form on one machine. */
export interface TablePage {
  /** `single` or `cores`. */
  form: string;
  /** Unique within the round, made of what sets it apart. */
  id: string;
  /** The load. */
  load: Load;
  /** The label of the machine. */
  machine: string;
  /** The id of the metric that it is ordered by where no other is chosen. */
  metric: string;
  /** The verdicts that some rows carry. */
  notes: (Note)[];
  /** Where server and generator ran. */
  pinnings: (Pinning)[];
  /** What the table can tell apart by each metric, as a sentence: the one above the table in a report. */
  resolution: Record<string, string>;
  /** The rows, best first by that metric. */
  rows: (RowPage)[];
  /** Whether each row has one launch at most, so that nothing is known of its spread. */
  single: boolean;
  /** Pairs of rows without a claimed difference, by metric, as indexes into `rows`. Rows that do not count are left out. A metric that is not a key has no ranks: each row has one launch, or there are too many rows to compare in pairs. */
  ties: Record<string, ([number, number])[]>;
  /** The workload. */
  workload: string;
}

/** The measured target. */
export interface Target {
  /** The address of the connections; a unix socket as `unix:/path`. */
  address: string;
  /** The protocol used, such as `http/1.1`. */
  protocol: string;
  /** The local addresses of the connections, if they were spread over several. */
  sources?: (string)[];
  /** TLS, if it was used. */
  tls?: Tls;
  /** Addresses of the same name that were tried before it, in order. */
  tried?: (Tried)[];
  /** The URL as given, normalised. */
  url: string;
}

/** What the kernel counted on the connections of a run over their whole lives, failed attempts included. */
export interface TcpCounts {
  /** The congestion window of each connection at the same moment, in segments (`tcpi_snd_cwnd`). */
  congestion_window_segments?: Served;
  /** Connections that were counted. */
  connections: number;
  /** Segments that were received out of order: an earlier one was lost or late. */
  out_of_order: number;
  /** Segments that were sent again: they, or their acknowledgements, were lost or late. */
  retransmits: number;
  /** The smoothed round-trip time of each connection when it was closed or the run ended, in nanoseconds (`tcpi_rtt` of linux/tcp.h, in steps of a microsecond): from a segment to its acknowledgement. The server's kernel often delays that until the response, for up to 40 ms: then it contains the server's time. */
  round_trip_time_ns?: Served;
  /** What limited sending, since Linux 4.10. */
  send_limits?: SendLimits;
}

/** The rounds with published figures beside their own. */
export interface ThenPage {
  /** The newest of each plan, newest first. */
  rounds: (ThenRound)[];
}

/** A round with published figures beside its own. */
export interface ThenRound {
  /** The loads that the figures name. */
  loads: Record<string, Load>;
  /** The figures. */
  observed: (Beside)[];
  /** The round. */
  round: RoundEntry;
}

/** Time between a response and the same user's next request. */
export interface Think {
  /** Distribution of the pause. */
  distribution: Distribution;
  /** Mean length of the pause, in nanoseconds. */
  mean_ns: number;
}

/** Threads that waited for one thing. */
export interface ThreadWait {
  /** What kind of thing. */
  kind: WaitKind;
  /** Which: the path of a file, the address of a service; empty for a lock and a timer. */
  on: string;
  /** Number of threads, on average over all looks. */
  threads: number;
}

/** A CPU limit that was reached in the window: the kernel stopped all threads of the control group until the next period. */
export interface Throttling {
  /** The CPU time that the limit allows, in cores. */
  cores_allowed?: number;
  /** Periods of the limit in which the group ran. */
  periods: number;
  /** Periods in which the limit was reached. */
  throttled_periods: number;
  /** Time in which the group was stopped, added up over its cores, in seconds. */
  throttled_s: number;
}

/** Percentiles of a time, in nanoseconds. */
export interface TimeSummary {
  /** The maximum. */
  max: number;
  /** The mean. */
  mean: number;
  /** The median. */
  p50: number;
  /** The 99th percentile. */
  p99: number;
}

/** One workload, form and load on one machine. */
export interface TimelineLine {
  /** `single` or `cores`. */
  form: string;
  /** The load. */
  load: Load;
  /** The machine: processor and its number of cores, with a number from the second of alike machines on. No other machine of the page has this name. */
  machine: string;
  /** The metric that its tables are ordered by. */
  metric: string;
  /** Oldest first. */
  points: (TimelinePoint)[];
  /** The workload. */
  workload: string;
}

/** A server over time. */
export interface TimelinePage {
  /** That its framework comes from a system package in the newest round, as a sentence; empty if it does not. */
  framework_packages: (string)[];
  /** Its lines, the longest first. */
  lines: (TimelineLine)[];
  /** The metrics that some point has. */
  metrics: (MetricPage)[];
  /** Older rounds that were not read. */
  not_read: number;
  /** The server, as the newest round has it. */
  server: ServerEntry;
}

/** What one round measured. */
export interface TimelinePoint {
  /** The difference from the point before it, by metric; none for the first point. */
  changes: Record<string, Ratio>;
  /** The name of the load in it. */
  load: string;
  /** The label of the machine in it. */
  machine: string;
  /** Its plan. */
  plan: string;
  /** The round. */
  round: string;
  /** The worst severity of its verdicts; none without a verdict. */
  severity: Severity | null;
  /** What the row can be taken for. */
  standing: Standing;
  /** Wall-clock start of the round, RFC 3339, UTC. */
  started_at: string;
  /** Its figures. */
  values: Record<string, FigurePage>;
  /** Its verdicts, the most severe first. */
  verdicts: (string)[];
  /** What the server's version command printed. */
  versions: string;
}

/** A distribution of times, in nanoseconds: some percentiles for reading, the whole histogram for computation. */
export interface Times {
  /** Number of recorded times. With a count of 0 every number is 0. */
  count: number;
  /** HdrHistogram V2 compressed encoding, base64. */
  histogram: string;
  /** The highest time, exact. */
  max: number;
  /** The arithmetic mean of the times. */
  mean: number;
  /** The lowest time, exact. */
  min: number;
  /** The median, to three significant digits, as are the other percentiles. */
  p50: number;
  /** 75 % of the times were at or below it. */
  p75: number;
  /** 90 % of the times were at or below it. */
  p90: number;
  /** 95 % of the times were at or below it. */
  p95: number;
  /** 99 % of the times were at or below it. */
  p99: number;
  /** 99.9 % of the times were at or below it. */
  p99_9: number;
  /** 99.99 % of the times were at or below it. */
  p99_99: number;
}

/** A distribution of times, in nanoseconds. */
export interface TimesPage {
  /** Number of recorded times. With a count of 0 every number is 0. */
  count: number;
  /** The percentile curve: 1/(1 - p), and the time. */
  curve: ([number, number])[];
  /** What it is. */
  definition: string;
  /** HdrHistogram V2 compressed encoding, base64. */
  histogram: string;
  /** `response_time`, `service_time` and so on. */
  id: string;
  /** The highest time, exact. */
  max: number;
  /** The arithmetic mean of the times. */
  mean: number;
  /** The lowest time, exact. */
  min: number;
  /** Its name. */
  name: string;
  /** The median, to three significant digits, as are the other percentiles. */
  p50: number;
  /** 75 % of the times were at or below it. */
  p75: number;
  /** 90 % of the times were at or below it. */
  p90: number;
  /** 95 % of the times were at or below it. */
  p95: number;
  /** 99 % of the times were at or below it. */
  p99: number;
  /** 99.9 % of the times were at or below it. */
  p99_9: number;
  /** 99.99 % of the times were at or below it. */
  p99_99: number;
  /** Up to which 1/(1 - p) there were samples enough for a 95 % interval of order statistics. */
  reliable_to: number;
}

/** The timestamps that are taken of responses. */
export type Timestamps = "user" | "kernel";

/** The parameters negotiated in the first TLS handshake, and the number of handshakes in the whole run, the connect phase included. Without a completed handshake the negotiated parameters are missing. */
export interface Tls {
  /** The application protocol that the server chose; left out if it chose none. */
  alpn?: string;
  /** The cipher suite, by its IANA name. */
  cipher?: string;
  /** Early data, if it was asked for. */
  early_data?: EarlyData;
  /** Number of full handshakes. */
  full: number;
  /** The group of the key exchange. */
  group?: string;
  /** The requested name: sent to the server unless it is an address, and checked against its certificate. */
  name: string;
  /** Number of handshakes that resumed an earlier session. */
  resumed: number;
  /** Whether sessions were resumed if the server allowed it. */
  resumption: boolean;
  /** Whether the server's certificate was checked. */
  verified: boolean;
  /** The protocol's version, `1.2` or `1.3`. */
  version?: string;
}

/** How TLS is used; for https URLs only. */
export interface TlsSpec {
  /** Trust the certificates in this PEM file instead of the system's. */
  ca_file?: string;
  /** The file of the client certificate and its chain, PEM. */
  cert_file?: string;
  /** Whether GET and HEAD requests may leave in the handshake of a resumed connection (RFC 8446 §2.3), over HTTP/3. */
  early_data?: boolean;
  /** Whether the check of the server's certificate is disabled. */
  insecure?: boolean;
  /** The file of the client certificate's key, PEM; `cert_file` if missing. */
  key_file?: string;
  /** Whether session resumption is disabled, so that every handshake is a full one. */
  no_resumption?: boolean;
  /** The server name to request and to expect in the certificate; the URL's host if missing. */
  server_name?: string;
  /** The only version to offer; all if missing. */
  version?: TlsVersion;
}

/** A version of TLS. */
export type TlsVersion = "1.2" | "1.3";

/** The load generator. */
export interface Tool {
  /** The commit it was built from, if known. */
  commit: string | null;
  /** Name of the program. */
  name: string;
  /** Version of the program. */
  version: string;
}

/** The times of all sends. */
export interface Trace {
  /** The file that the times were read from. */
  file?: string;
  /** How the file is read if it is an access log whose requests are sent; if missing, it is a list of times. */
  replay?: ReplaySpec;
  /** Number of sends in the file. */
  sends: number;
}

/** A run with the server's launch and all its conditions. */
export interface Trial {
  /** Results of the instances and the balancer, if the launch had one. */
  balancing?: Balancing;
  /** The randomised block it ran in. */
  block: number;
  /** The result of a capacity search; the run is then that of its last window. */
  capacity?: FoundCapacity;
  /** How far apart the cores of server and generator were; only for loads of at most 15 s on a virtual machine that is not shared with other rounds, with both on disjoint cores of it. */
  core_distance?: CoreDistance;
  /** Clock frequency over the window of the cores of server, balancer and database: of the first 16, if the launch ran on the lab's machine and the kernel reports it. The generator's are in the run. */
  core_frequencies?: (CoreFrequency)[];
  /** Time of every core over the window, with interrupts and steal separately. */
  cores: (CoreTime)[];
  /** Results of the database, if the launch had one. */
  database?: DatabaseUse;
  /** Energy of the CPU packages over the window, if the server ran on the lab's machine and the kernel reports it. */
  energy?: PackageEnergy;
  /** Why there is no usable run. */
  error?: Fault;
  /** The form of the server: `single` or `cores`. */
  form: string;
  /** Command line of the load generator. */
  generator_argv: (string)[];
  /** Id of the trial, unique. */
  id: string;
  /** The origin of the figures, if Paceline did not measure them. */
  imported?: Imported;
  /** The server launch that it ran against; trials of one launch share it. */
  launch: string;
  /** What limited it; none if there is no usable run, and in records of older versions. */
  limit?: Limit;
  /** The requested load. */
  load: Load;
  /** The end of the server's output. */
  log_tail: string;
  /** The machines of roles that did not run on the lab's own machine. The machines of loaders are in the run. */
  machines?: (RoleMachine)[];
  /** The server's memory under the load, if it could be observed. */
  memory?: MemoryUse;
  /** Its position in the order of its sitting, from 0. */
  order: number;
  /** The cores that each process was allowed to use. */
  pinning: Pinning;
  /** The repeat of its cell, from 0; a second attempt keeps the number. */
  repeat: number;
  /** The round it belongs to. */
  round: string;
  /** The generator's measurements, unless it failed. */
  run?: Run;
  /** The server's process tree over time. */
  samples: (Sample)[];
  /** The version of these keys. */
  schema: number;
  /** The server that was measured. */
  server: Server;
  /** The sitting: a round that was interrupted and resumed has several. */
  sitting: string;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** The start of the server. */
  startup?: Startup;
  /** Time for which the server's machine was suspended under the load, in seconds, if it was. The clocks of all other figures stood still meanwhile. */
  suspended_s?: number;
  /** CPU time and memory of the server over the run's window. */
  usage?: Usage;
  /** The responses checked before the load. */
  validation?: Validation;
  /** Why a number may not mean what it seems to; the run has its own verdicts. */
  verdicts: (Verdict)[];
  /** The workload, with its case if it has several: `hello`, `tetra/140`. */
  workload: string;
}

/** A trial of a row. */
export interface TrialEntry {
  /** Whether the figures of its row come from it: of the attempts at a repeat, one at most. */
  counts: boolean;
  /** Its id. */
  id: string;
  /** Which repeat of its cell it counts as, from 0. */
  repeat: number;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
}

/** An address that was tried and not used. */
export interface Tried {
  /** The address and port that were tried. */
  address: string;
  /** Why it was not used, for people. */
  failure: string;
}

/** CPU time and memory of the server over the window. */
export interface Usage {
  /** CPU time of the busiest thread as a share of the sampled period, 0 to 1; none in records of older versions, and if the kernel does not keep it. */
  busiest_thread_utilization?: number;
  /** CPU time per response completed in the window, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time of the process tree, in seconds. */
  cpu_s: number;
  /** Number of involuntary context switches. */
  involuntary_switches: number;
  /** Length of the sampled period, in seconds. */
  over_s: number;
  /** Proportional share of memory after the window, in bytes, if the kernel reports it. */
  pss_bytes?: number;
  /** Resident memory after the generator had ended, summed over processes, in bytes. */
  rss_bytes_after?: number;
  /** Highest resident memory sampled, summed over processes (shared pages count in each), in bytes. */
  rss_bytes_peak: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** The source of the CPU time. */
  source: CpuSource;
  /** The part of `cpu_s` in kernel mode, in seconds. */
  system_s?: number;
  /** Highest observed number of threads. */
  threads_peak: number;
  /** The part of `cpu_s` in user mode, in seconds. This and `system_s` add up to `cpu_s`; the shares are those that its source reports. Both are missing if fewer than 10 clock ticks (0.1 s) were counted, and in records of older versions. */
  user_s?: number;
  /** CPU time as a share of its cores, 0 to 1. */
  utilization: number;
  /** Number of voluntary context switches. */
  voluntary_switches: number;
}

/** What the server's processes used between two samples. */
export interface UsagePoint {
  /** The middle of the stretch, in seconds from the start of the run. */
  at_s: number;
  /** Cores kept busy on average. */
  cores_busy: number;
  /** Resident memory at its end. */
  rss_bytes: number;
  /** Threads at its end. */
  threads: number;
}

/** The responses checked before the load. */
export interface Validation {
  /** The checks, in the order they were made. */
  checks: (Check)[];
}

/** A load that differs from another of the same plan in one property. */
export interface Variant {
  /** The property in which it differs. */
  kind: VariantKind;
  /** The name of the other load. */
  of: string;
}

/** The property in which a load differs from its twin. */
export type VariantKind = "first_run" | "http10" | "close" | "unpipelined" | "balanced" | "spread";

/** A named reason why a number may not mean what it seems to. */
export interface Verdict {
  /** Where the cause is: server, generator, environment or user. */
  blame: Blame;
  /** The figures that support it, units in the keys. */
  evidence: Record<string, unknown>;
  /** Its name, in snake case; docs/reference/verdicts.md explains each. */
  name: string;
  /** What to do about it: the remedy as a sentence. */
  remedy: string;
  /** How much it affects the result: `note`, `caution` or `invalid`. */
  severity: Severity;
}

/** What a thread waits for. */
export type WaitKind = "lock" | "timer" | "file" | "name_lookup" | "service";

/** A launch's warm-up: a closed loop until the server no longer became faster, or in bursts, and its rate in each second of load (the warm-up curve). */
export interface WarmUp {
  /** Its bursts; none if the load was continuous. */
  bursts?: WarmUpBursts;
  /** Connections of the closed loop. */
  connections: number;
  /** The limit that the plan sets, in seconds; of bursts their length with the pauses. */
  limit_s: number;
  /** Responses per second in each second of load. */
  rate_per_s: (number)[];
  /** Load from the first request to the steady state, without pauses: until the last 4 s were no more than 5 % faster than the 4 s before. None if the limit was reached first, or if the server still became faster in the last burst. */
  steady_after_s?: number;
  /** Its length in seconds. */
  warmed_s: number;
  /** The workloads that were requested, in equal shares. */
  workloads: (string)[];
}

/** The form of a warm-up in which pauses interrupt the load, so that a compiler that shares the server's core has time. */
export interface WarmUpBursts {
  /** The number of bursts. */
  count: number;
  /** The length of a burst, in seconds. */
  length_s: number;
  /** The pause after a burst, in seconds. */
  pause_s: number;
}

/** The warm-ups of one server. */
export interface WarmUpRow {
  /** Each launch's curve, in the order they ran. */
  curves: (ColdCurve)[];
  /** Responses in the first second. */
  first_second_per_s: Figure | null;
  /** The rate in the first second as a share of the rate in the last 4 s: the mean over launches. */
  first_second_share: number | null;
  /** Responses per second in the last 4 s. */
  last_per_s: Figure | null;
  /** Launches that were still getting faster at the limit. */
  launches_not_steady: number;
  /** The server's id. */
  server: string;
  /** From the first request to the steady state, for the launches that reached it. */
  steady_after_s: Figure | null;
}

/** The warm-ups of the servers of one form on one machine. */
export interface WarmUpTable {
  /** The bursts of the load; none if it was continuous. */
  bursts?: WarmUpBursts;
  /** Connections of the closed loop. */
  connections: number;
  /** `single` or `cores`. */
  form: string;
  /** The limit of a warm-up, in seconds. */
  limit_s: number;
  /** The label of the machine. */
  machine: string;
  /** A row for each server. */
  rows: (WarmUpRow)[];
  /** The workloads that were requested, in equal shares. */
  workloads: (string)[];
}

/** How messages of a WebSocket are sent, and what answers them; for ws and wss URLs only. */
export interface WebSocketSpec {
  /** Which message answers one that was sent. */
  answer?: AnswerRule;
  /** Whether messages are binary instead of text. */
  binary?: boolean;
}

/** The result of a window against the objective. */
export type WindowOutcome = "pass" | "miss" | "void";

/** The protocol of a workload. */
export type WorkloadProtocol = "http" | "websocket" | "grpc";
