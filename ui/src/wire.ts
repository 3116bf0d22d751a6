// Generated from the Rust types of crates/web: UPDATE=1 cargo test -p paceline-web --test it wire_types

/** The facts of a round that a reader needs. */
export interface About {
  /** What of the plan was not carried out as it is written. */
  changes?: (string)[];
  /** When it ended; none while it is unfinished. */
  finished_at: string | null;
  /** Id of the round. */
  id: string;
  /** How many launches each row should have. */
  launches_planned: number;
  /** What of the machine was to be changed for it and could not be. */
  not_tuned?: (string)[];
  /** Name of the plan. */
  plan: string;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** How many of them were carried out; a second try of one counts once. */
  trials_done: number;
  /** How many trials were planned. */
  trials_planned: number;
  /** How many trials were second tries. */
  trials_retried: number;
  /** What of the machine was changed for it and put back after it. */
  tuned?: (string)[];
}

/** How the arrivals of an open loop are spaced. */
export type Arrivals = "constant" | "poisson";

/** The instances and the balancer of a launch. */
export interface BalancedLoad {
  /** Name of the folder of the balancer. */
  balancer: string;
  /** What is broken on purpose in the middle of the window. */
  fault?: FaultKind;
  /** How many instances of the server there are. */
  instances: number;
  /** How it chooses an instance. */
  policy: string;
  /** Whether requests go through the balancer or to one instance directly. */
  route: Route;
}

/** One figure of the source, with what stands beside it. */
export interface Beside {
  /** The same figure now, in the same unit. */
  now: Figure | null;
  /** The figure that the source observed. */
  observed: Observation;
  /** The figure now as a share of the source's value. */
  ratio: number | null;
  /** What the figure now can be taken for. */
  standing: Standing2;
}

/** Who is to blame. */
export type Blame = "server" | "generator" | "environment" | "user";

/** Bytes on the wire, and in bodies. */
export interface Bytes {
  /** Bytes of response bodies, framing removed. */
  body: number;
  /** Bytes read from sockets, heads and framing included. */
  received: number;
  /** Bytes that were handed to sockets. */
  sent: number;
}

/** What kept a server from doing more. */
export interface CapacityLimit {
  /** The figures that show the limit, in words. */
  evidence: string;
  /** `server_cpu`, `generator`, `waiting` and others. */
  kind: string;
}

/** How a capacity is searched. */
export interface CapacityLoad {
  /** Length of the window that confirms the long-run rate, in seconds. */
  confirm_s: number;
  /** What must be met: `response.p99<10ms,errors<0.1%`. */
  objective: string;
  /** Windows of the search at most. */
  windows_most: number;
}

/** Requests whose answer was never seen, at the time waited so far: the true time is at least that. */
export interface Censored {
  /** How many (`timed_out` and `unsent`). */
  count: number;
  /** The lowest of the times waited, in nanoseconds; percentiles at or above it are lower bounds. */
  lowest_ns: number;
}

/** One check of a server's answers. */
export interface Check {
  /** The exact difference, where there is one. */
  detail?: string;
  /** What was asked, for people: `GET /hello`. */
  name: string;
  /** Whether the check passed. */
  outcome: CheckOutcome;
}

/** How a check went. */
export type CheckOutcome = "pass" | "warn" | "fail";

/** The rate of one launch in each second since its first request. */
export interface ColdCurve {
  /** The id of the launch. */
  launch: string;
  /** Responses per second in each second. */
  rate_per_s: (number)[];
  /** From the first request to the steady state; none where the limit was reached first. */
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
  /** A difference of at most this share is treated as none. */
  equivalence: number;
  /** What differs between their machines: `kernel: 6.2 instead of 6.1`. */
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
  /** The form. */
  form: string;
  /** The load, as side A has it. */
  load: Load;
  /** Both figures and their ratio, by metric. */
  pairs: Record<string, PairValue>;
  /** The server on either side. */
  server_a: ServerEntry;
  /** The server on the other. */
  server_b: ServerEntry;
  /** What side A's row can be taken for. */
  standing_a: Standing;
  /** What side B's row can be taken for. */
  standing_b: Standing;
  /** The workload. */
  workload: string;
}

/** Connections asked for and had, and who closed them. */
export interface Connections {
  /** Connections that were asked for. */
  asked: number;
  /** Connections given up because what came was not HTTP, or had not been asked for. */
  broke_rules: number;
  /** Closed by either side after the last request that was asked of each. */
  closed_as_asked?: number;
  /** Closed by the server from then on, in the drain too. */
  closed_by_server: number;
  /** Closed by the generator before the end of the run: after a timeout or a response that broke the rules. */
  closed_by_us: number;
  /** The commonest reason of a failed attempt or broken connection, for people. */
  commonest_failure?: string;
  /** Whether a response was compressed although no request accepts that. */
  compressed_unasked?: boolean;
  /** Attempts to connect that failed, the first connect phase included. */
  failed_attempts: number;
  /** Those of them that failed for want of something on this machine: descriptors, ports, memory. */
  failed_here: number;
  /** Open at once when the warm-up began. */
  had: number;
  /** Redirects that were followed, in the warm-up too. */
  redirects_followed?: number;
  /** Requests of the window served by each connection. */
  served?: Served;
  /** The median service time of each connection, in nanoseconds, within a ninth; open loop, of connections that answered at least 16 times. */
  service_time_ns_p50?: Served;
  /** The lowest number of concurrent streams that the server allowed on a connection, where that is below `depth`. */
  streams_allowed?: number;
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

/** How the requests of a cohort ended. `scheduled` is the sum of all the others, always. */
export interface Counts {
  /** Requests answered with another body than expected. */
  bad_body: number;
  /** Requests answered with another status than expected. */
  bad_status: number;
  /** Requests for which no connection could be made. */
  connect_failed: number;
  /** Requests whose connection broke, or whose response was not valid HTTP. */
  io_failed: number;
  /** Requests that were answered as expected. */
  ok: number;
  /** Requests that were due, all outcomes together. */
  scheduled: number;
  /** Requests without a complete response within the timeout. */
  timed_out: number;
  /** Requests that still waited for a connection when the drain's limit was over. */
  unsent: number;
}

/** Where the CPU time of a process tree was read. */
export type CpuSource = "cgroup" | "proc";

/** What a database counted. */
export interface DatabaseCounts {
  /** Most connections that were open to it at once, as far as was seen. */
  connections?: number;
  /** Rows that these statements returned. */
  rows_read: number;
  /** Rows that these statements updated. */
  rows_updated: number;
  /** Statements that read rows of the two tables. */
  selects: number;
  /** Number of statements that updated rows. */
  updates: number;
}

/** The database of a load's launch, and the connections that the server may open to it. */
export interface DatabaseLoad {
  /** Name of the folder of the database. */
  database: string;
  /** Connections of the whole server to the database. */
  pool: number;
}

/** What a database is, with its receipt. */
export interface DatabaseReceipt {
  /** The folder's name. */
  id: string;
  /** Name of the database, for people. */
  name: string;
  /** The settings it was started with. */
  settings: string;
  /** What its version command printed. */
  versions: string;
}

/** What a server did once its database, which had ended under load, was there again. */
export interface DatabaseRecovery {
  /** From the database's return to the server's first valid answer, in seconds; none where there was none in time. */
  answered_after_s?: number;
  /** Requests before it that failed or were answered wrongly, one at a time. */
  failed: number;
  /** What was wrong with the last of them. */
  last_failure?: string;
}

/** What the database was asked over a run, what it counted, and what it cost. */
export interface DatabaseUse {
  /** What it counted from before the run to after it; none where it could not be asked. */
  counted?: DatabaseCounts;
  /** What it is, with its receipt. */
  database: DatabaseReceipt;
  /** What its processes cost over the window. */
  process?: ProcessUse;
  /** What the server did after the database had ended under load and was started again. */
  recovery?: DatabaseRecovery;
  /** Valid responses of the whole run, warm-up included: what the counters are compared with. */
  responses: number;
  /** Rows that a request after the run returned as updated, and how many of them the database has so. */
  stored?: StoredRows;
  /** What it has to do for one valid response. */
  work: DatabaseWork;
}

/** What the database has to do for one valid response. */
export interface DatabaseWork {
  /** Rows that are read for one response. */
  rows_read: number;
  /** Rows that are updated for one response. */
  rows_updated: number;
  /** Statements that read rows, each on its own. */
  selects: number;
}

/** How a time varies around its mean. */
export type Distribution = "constant" | "exponential";

/** What may have shaped a result and cannot be read off it later. What the machine does not tell is left out. */
export interface Environment {
  /** The clock source behind the monotonic clock. */
  clock_source: string | null;
  /** Number of processors online. */
  cores: number;
  /** Model name of the processor. */
  cpu_model: string;
  /** The frequency governor of processor 0. */
  governor: string | null;
  /** Settings that were changed for this run and put back after it. */
  held: (string)[];
  /** Idle states of processor 0 with the time each takes to leave. */
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
  /** The distribution's own name for itself. */
  os: string;
  /** Kernel settings that matter to a server, by name. */
  sysctl: Record<string, string>;
  /** Whether a hypervisor is underneath. */
  virtual_machine: boolean;
}

/** What a verdict means. */
export interface Explanation {
  /** One line: what is wrong. */
  about: string;
  /** When it is given and what it means. */
  text: string;
}

/** A failure of some launches of one server. */
export interface Failure {
  /** How many launches failed so. */
  launches: number;
  /** What happened, as a sentence for people. */
  message: string;
  /** The last line the server or its build printed in the first of them, where there is one. */
  printed_last?: string;
  /** How far it came. */
  stage: Stage;
}

/** Why there is no usable run. */
export interface Fault {
  /** What happened, as a sentence for people. */
  message: string;
  /** The stage at which the trial failed. */
  stage: Stage;
  /** Whether the environment spoiled it, so that a second try may go well. */
  transient: boolean;
}

/** What can be broken on purpose. */
export type FaultKind = "kill-one";

/** One figure over the launches that have it. */
export interface Figure {
  /** Of a percentile: whether it is a minimum: in some launch it lies at or above the shortest wait for an answer that never came. */
  at_least?: boolean;
  /** Of a percentile: whether every launch had requests enough for it: 3.7/(1 - p). Tables leave it out otherwise. */
  enough?: boolean;
  /** The 95 % interval of that mean between launches (moderated t over the rows of the table). */
  interval?: (number)[];
  /** How many launches it was seen in. */
  launches: number;
  /** Figure of the highest launch. */
  max: number;
  /** The geometric mean over the launches; none where a launch has no figure above zero. */
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
  /** The geometric mean over the launches, or the median where one of them is zero. */
  estimate: number;
  /** The upper end, likewise. */
  high: number;
  /** Whether `low` and `high` are the lowest and highest launch for want of an interval. */
  is_range?: boolean;
  /** Launches that have the figure. */
  launches: number;
  /** The lower end of the 95 % interval; without one, the lowest launch. */
  low: number;
  /** Whether too few requests were sampled for this percentile. */
  too_few?: boolean;
}

/** What can be said about a ratio. */
export type Finding = "more" | "less" | "equivalent" | "unclear" | "single" | "not_comparable";

/** What a search found. */
export interface FoundCapacity {
  /** The rate of the closed loop before the search. */
  closed_loop_per_s: number;
  /** Why the search ended before its plan was carried out. */
  ended_early?: string;
  /** The capacity: the rate at which half of the windows meet the objective. None if no window did, or if stalls decide. */
  half_pass_per_s: number | null;
  /** The 95 % interval of the capacity. */
  interval_per_s: RateRange | null;
  /** Whether the interval is as narrow as was asked for. */
  is_precise: boolean;
  /** What kept the server from doing more. */
  limit: CapacityLimit;
  /** The highest rate whose long window met the objective. */
  long_run_per_s: number | null;
  /** From the lowest rate that missed to the highest that passed (0 where none did), where windows far below the capacity missed. */
  stalls_decide?: RateRange;
  /** Length of the windows, in seconds: the capacity depends on it. */
  window_s: number;
  /** Every window of the search, in order. */
  windows: (SearchedRate)[];
}

/** How a gate came out. */
export interface GateOutcome {
  /** The figures it rests on, units in the keys. */
  evidence: Record<string, unknown>;
  /** The gate as it was written, such as `response.p99<10ms`. */
  gate: string;
  /** Whether the run showed that it keeps to it. */
  passed: boolean;
  /** Why the gate did not pass; empty where it passed. */
  reasons?: (GateReason)[];
}

/** Why a gate did not pass. */
export type GateReason = "beyond_limit" | "failures" | "lower_bound" | "too_few_samples" | "not_measured" | "not_delivered" | "invalid" | "stopped" | "broke_rules" | "starved";

/** What the generator itself cost over the window. */
export interface Generator {
  /** Requests due and unsent when the window opened: the warm-up's backlog. */
  backlog_at_window_start: number;
  /** CPU time that did something: `cpu_s` less `spin_s`. */
  busy_s: number;
  /** Each core of the machine over the window, the server's among them where it is on this machine. */
  by_core?: (CoreTime)[];
  /** CPU time of each thread. */
  by_thread: (GeneratorThread)[];
  /** The cores they may run on. */
  cores: (number)[];
  /** `busy_s` for each request sent in the window, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time of all of them over the window, in seconds. */
  cpu_s: number;
  /** What was left to make connections with when the window ended. */
  left?: Left;
  /** Longest time between two turns of a worker's loop in the window, waits that were asked for left out: how long the generator stood still at most, in nanoseconds. */
  longest_gap_ns?: number;
  /** Peak resident memory of the process. */
  rss_bytes_peak: number;
  /** Time runnable but not running, all threads, in seconds. */
  run_delay_s: number;
  /** CPU time of polls that found nothing. */
  spin_s: number;
  /** Time the hypervisor took from the machine, all cores, in seconds. */
  steal_s: number;
  /** Number of threads that sent load. */
  threads: number;
  /** Share of its wall-clock time the busiest thread was busy, or all threads of all their cores where that is more, 0 to 1. */
  utilization: number;
}

/** One generator thread over the window. */
export interface GeneratorThread {
  /** Times the core was taken from it. */
  involuntary_switches: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** Time spent in polls that found nothing, in seconds. */
  spin_s: number;
  /** System CPU time, in seconds. */
  system_s: number;
  /** User CPU time, in seconds. */
  user_s: number;
  /** Times it gave the core up by itself. */
  voluntary_switches: number;
}

/** Counts of times by second and class. */
export interface Heat {
  /** Lower bound of each class and the upper one of the last, in nanoseconds. */
  bounds: (number)[];
  /** One for each stretch of time. */
  columns: (Column)[];
}

/** One idle state of a processor. */
export interface IdleState {
  /** How long leaving it takes, in microseconds, as the driver claims. */
  exit_us: number;
  /** The kernel's name for it. */
  name: string;
}

/** Every round, newest first. */
export interface IndexPage {
  /** Where they are kept. */
  place: string;
  /** The rounds. */
  rounds: (RoundEntry)[];
  /** The id of the single run, where there is nothing else. */
  run?: string;
  /** What could not be read. */
  unreadable: (string)[];
  /** The version of Paceline that shows them. */
  version: string;
}

/** What was left to make connections with when the window ended. */
export interface Left {
  /** File descriptors that the process could still open. */
  descriptors: number;
  /** Local ports for further connections to the target, over all source addresses, if all of TIME_WAIT was ours. */
  ports: number;
  /** TCP sockets in use on the machine, both ends of a connection over loopback counted. */
  sockets_in_use: number;
  /** TCP sockets in TIME_WAIT on the machine. */
  sockets_time_wait: number;
}

/** The load asked for. */
export interface Load {
  /** Spacing of arrivals, open loop. */
  arrivals?: Arrivals;
  /** The instances and the balancer of the launch, where it has a balancer. */
  balanced?: BalancedLoad;
  /** How the capacity is searched, where the load is a search. */
  capacity?: CapacityLoad;
  /** Number of connections of the load generator. */
  connections: number;
  /** The database of the launch, where it has one. */
  database?: DatabaseLoad;
  /** Requests outstanding on a connection at most. */
  depth: number;
  /** Length of the window, in seconds; none where the number of requests bounds it. */
  duration_s?: number;
  /** The version of HTTP that is spoken where it is not 1.1: `1.0`, with keep-alive asked for. */
  http?: string;
  /** Closed or open. */
  kind: LoopKind;
  /** The plan's name for it. */
  name: string;
  /** Whether every connection is closed after one response. */
  no_keep_alive?: boolean;
  /** Offered rate in requests per second; open loop. */
  rate_per_s?: number;
  /** Number of requests, where that bounds the run. */
  requests?: number;
  /** After how many responses a connection is closed and made anew. */
  requests_per_connection?: number;
  /** What the plan asks at full size, where this is a part of it. */
  scaled?: Scaled;
  /** What the offered rate is a share of, where it is one. */
  share?: RateShare;
  /** What it is beside another load of the plan; none for a load that stands for itself. */
  variant?: Variant;
  /** Length of the warm-up, in seconds. */
  warmup_s: number;
}

/** The shape of the load. */
export interface Loop {
  /** How arrivals are spaced, open loop. */
  arrivals?: Arrivals;
  /** Whether a connection sent its next requests only when all of them were answered. */
  batch?: boolean;
  /** Number of connections that was asked for. */
  connections: number;
  /** Requests outstanding on a connection at most. */
  depth: number;
  /** Which loop: `closed` or `open`. */
  kind: LoopKind;
  /** What the schedule asks, open loop: the mean over the window where it changes. */
  offered_per_s?: number;
  /** Requests asked for in all, where the run was bounded by a number instead of a time. */
  requests?: number;
  /** Requests after which each connection was closed and another made. */
  requests_per_connection?: number;
  /** Sessions that the schedule asks for, where it asks for sessions; `offered_per_s` is then the requests of them that fell due. */
  sessions_offered_per_s?: number;
  /** How that rate changes, where it does. */
  shape?: Shape;
  /** How each connection rested between an answer and its next request. */
  think?: Think;
  /** Whether each request had a connection of its own, and said so. */
  without_keep_alive?: boolean;
}

/** Whether a connection's next request waits for its last answer. */
export type LoopKind = "closed" | "open";

/** An environment that some of the trials ran in. */
export interface Machine {
  /** What is not as on the first, for people: `kernel: 6.2 instead of 6.1`. */
  differs: (string)[];
  /** Hardware and system of the machine. */
  environment: Environment;
  /** `A` for the round's first, then `B`, and on. */
  label: string;
}

/** What the generator measured. */
export interface Measured {
  /** Bytes moved. */
  bytes: Bytes;
  /** Requests whose answer was never seen. */
  censored: Censored | null;
  /** Connections asked for and had. */
  connections: Connections;
  /** How the window's requests ended. */
  counts: Counts;
  /** The machine. */
  environment: Environment;
  /** How each gate came out. */
  gates: (GateOutcome)[];
  /** What the generator itself cost. */
  generator: Generator;
  /** Times over time, where the record has the histograms of its seconds. */
  heat: Heat | null;
  /** The shape of the load. */
  loop: Loop;
  /** How the generator waited for the next send. */
  pace: Pace;
  /** When each phase was, from the start of the run. */
  phases: Phases;
  /** Rates over the window. */
  rate_per_s: Rates;
  /** What ended in each second. */
  seconds: (Stretch)[];
  /** The seed of every random choice, as text: JavaScript's numbers are too short for it. */
  seed: string;
  /** Responses by status code. */
  status: Record<string, number>;
  /** Whether it was stopped before its planned end. */
  stopped: boolean;
  /** What was measured. */
  target: Target;
  /** When a request timed out, after its actual send. */
  timeout_ns: number;
  /** Each distribution of times that was recorded. */
  times: (TimesPage)[];
  /** What measured. */
  tool: Tool;
  /** Length of the window, in seconds. */
  window_s: number;
}

/** What a chart can show of a row. */
export interface MetricPage {
  /** What it means. */
  definition: string;
  /** Its id, which stands in addresses: the key in JSON and CSV. */
  id: string;
  /** Whether less of it is better. */
  less_is_better: boolean;
  /** Its name as a title. */
  name: string;
  /** Its name in sentences and columns. */
  short: string;
  /** What it is counted in. */
  unit: MetricUnit;
}

/** What a figure is counted in. */
export type MetricUnit = "per_s" | "ns" | "us" | "ms" | "bytes" | "share" | "count" | "cpu_seconds_per_million";

/** A verdict that some rows of a table carry. */
export interface Note {
  /** Where the cause is: server, generator, environment or user. */
  blame: Blame;
  /** The servers that carry it, with the number of launches that do. */
  launches_by_server: Record<string, number>;
  /** Name of the verdict. */
  name: string;
  /** What to do about it. */
  remedy: string;
  /** The worst of its severities. */
  severity: Severity;
}

/** One figure that a source observed. */
export interface Observation {
  /** The form of the server, where the plan has several. */
  form?: string;
  /** The name of the load in the plan, a twin's with its ending. */
  load?: string;
  /** What is to be known when the two are read side by side. */
  note?: string;
  /** The server's id here, where one stands for what the source measured. */
  server?: string;
  /** The source, a document of `docs/sources.md`. */
  source: string;
  /** What the source calls what it measured. */
  subject: string;
  /** The unit of the value, for people: what `what` is given in. */
  unit: string;
  /** The source's value, in `unit`. */
  value: number;
  /** Which figure was observed. */
  what: Figure2;
  /** The workload of the plan, with its case. */
  workload?: string;
}

/** The pace asked for and the one used. */
export interface Pace {
  /** `auto`, `spin` or `sleep`, as `--pace` said. */
  asked: PaceChoice;
  /** How long before a send is due a hybrid pace begins to poll, in nanoseconds. */
  spin_before_ns: number;
  /** The pace that was used where `auto` was asked for. */
  used: PaceKind;
}

/** How to wait for the next send, as asked for. */
export type PaceChoice = "auto" | "spin" | "sleep";

/** How the generator waits for the next send. */
export type PaceKind = "sleep" | "hybrid" | "spin";

/** One figure on both sides. */
export interface PairValue {
  /** Side A's. */
  a: FigurePage;
  /** Side B's. */
  b: FigurePage;
  /** B relative to A; none where A's is zero. */
  ratio: Ratio | null;
}

/** The name of a phase. */
export type Phase = "connect" | "warmup" | "window" | "drain" | "end";

/** The phases of a run. */
export interface Phases {
  /** Connections are made, a capped number at a time. */
  connect: Span;
  /** Nothing new falls due; what was due is still sent and awaited. */
  drain: Span;
  /** Load without a cohort: caches, compilers and congestion windows settle. */
  warmup: Span;
  /** The window: what is measured. */
  window: Span;
}

/** Which process was allowed on which cores. */
export interface Pinning {
  /** Cores of the balancer, where there is one. */
  balancer?: (number)[];
  /** Cores of the database, where there is one. */
  database?: (number)[];
  /** Whether server and generator share no core. */
  disjoint: boolean;
  /** Cores of the load generator. */
  generator: (number)[];
  /** Cores of each instance, where a launch has several. */
  instances?: ((number)[])[];
  /** Cores of the server. */
  server: (number)[];
}

/** What a process tree is in its launch. */
export type ProcessRole = "instance" | "balancer" | "database";

/** What one process tree cost over the window. */
export interface ProcessUse {
  /** Connections it held, the mean of the samples in the window; there where the balancer does not tell what each instance got. */
  connections_mean?: number;
  /** The cores it may run on. */
  cores: (number)[];
  /** CPU time for each response that the generator completed, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time over the window, in seconds. */
  cpu_s: number;
  /** Which instance, from 0; 0 for the balancer. */
  index: number;
  /** Role of the process: instance or balancer. */
  role: ProcessRole;
  /** Highest resident memory sampled, in bytes. */
  rss_bytes_peak: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** The most threads that it had at once. */
  threads_peak: number;
  /** CPU time as a share of its cores, 0 to 1. */
  utilization: number;
}

/** Events per second. Always positive and finite. */
export type Rate = number;

/** Two rates per second. */
export interface RateRange {
  /** Upper end of the range, per second. */
  high: number;
  /** Lower end of the range, per second. */
  low: number;
}

/** An offered rate as a share of what the server reached under another load of the same launch. */
export interface RateShare {
  /** What 100 % was in this trial, per second: the achieved rate of the closed loop, or the capacity found. */
  full_per_s?: number;
  /** The trial that found it. */
  full_trial?: string;
  /** The name of the other load: closed, or a capacity search. */
  of: string;
  /** The share: 0.5 is 50 %. */
  share: number;
}

/** Rates over the window, per second. */
export interface Rates {
  /** Valid responses completed inside the window. */
  achieved: number;
  /** What the schedule asked; open loop. */
  offered?: number;
  /** Requests handed to sockets inside the window. */
  sent: number;
}

/** B relative to A. */
export interface Ratio {
  /** The ratio of the estimates. */
  estimate: number;
  /** What can be said. */
  finding: Finding;
  /** The upper end. */
  high: number;
  /** The lower end of its interval. */
  low: number;
}

/** A round in the list. */
export interface RoundEntry {
  /** What the plan, or the published document, measured; empty where it does not say. */
  about: string;
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
  /** The command of a load generator other than Paceline. */
  generator: string | null;
  /** Whether its figures were published by others. */
  imported: boolean;
  /** The machines its trials ran on. */
  machines: (Machine)[];
  /** The metrics that some row has. */
  metrics: (MetricPage)[];
  /** What the plan's source observed beside what was observed now. */
  observed: (Beside)[];
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
  /** How servers became warm, with the cold curve of each launch. */
  warm_ups: (WarmUpTable)[];
}

/** Where the requests of a launch with a balancer go. */
export type Route = "direct" | "balanced";

/** One server in a table. */
export interface RowPage {
  /** What failed. */
  failures: (Failure)[];
  /** Launches that were planned. */
  launches_planned: number;
  /** Launches with a usable run. */
  launches_usable: number;
  /** The framework's limits: `no pipelining`. */
  limits: (string)[];
  /** The server's id. */
  server: string;
  /** What it can be taken for. */
  standing: Standing;
  /** Its trials in the order they ran. */
  trials: (TrialEntry)[];
  /** Its figures by metric. */
  values: Record<string, FigurePage>;
  /** The names of its verdicts, the most severe first. */
  verdicts: (string)[];
}

/** Everything about one run. */
export interface RunPage {
  /** The command that repeats it. */
  command: string;
  /** What each of them means. */
  explanations: Record<string, Explanation>;
  /** The trial's id, or the run's where there is no trial. */
  id: string;
  /** What the generator measured; none where it left nothing. */
  measured: Measured | null;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** The conditions it ran under; none for a run outside a round. */
  trial: TrialFacts | null;
  /** Why a number may not mean what it seems to. */
  verdicts: (Verdict)[];
}

/** What a plan asks at full size of a load that was scaled down. */
export interface Scaled {
  /** Number of connections at full size. */
  connections: number;
  /** The one factor on connections, rate and number of requests, below 1. */
  factor: number;
  /** Offered rate at full size. */
  rate_per_s?: number;
  /** Number of requests at full size. */
  requests?: number;
}

/** A rate that was tried. */
export interface SearchedRate {
  /** The achieved rate, per second. */
  achieved_per_s: number;
  /** The offered rate, per second. */
  offered_per_s: number;
  /** Whether the window met the objective: `pass`, `miss` or `void`. */
  outcome: string;
}

/** What ended in one second of a run, whichever phase it was due in. Its window's rows hold every valid response of the achieved rate; cohorts are distinguished in the record's `intervals`. */
export interface Second {
  /** Valid responses, per second. */
  achieved_per_s: number;
  /** When it began, RFC 3339, UTC. */
  at: string;
  /** Requests due and unsent at its end; beyond 4,000 of a thread computed from those; open loop. */
  backlog?: number;
  /** Requests answered with another body than expected. */
  bad_body: number;
  /** Requests answered with another status than expected. */
  bad_status: number;
  /** Bytes that were read from sockets. */
  bytes_received: number;
  /** Bytes that were handed to sockets. */
  bytes_sent: number;
  /** Requests for which no connection could be made. */
  connect_failed: number;
  /** Requests whose connection broke. */
  io_failed: number;
  /** How long it was: 1, but for the time of connecting, which is one row, and for the last. */
  length_s: number;
  /** The rate that the schedule asks for; open loop. */
  offered_per_s?: number;
  /** Requests that were answered as expected. */
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
  /** When it began, in seconds from the start of the run: as `start_ns` of an interval in the record. */
  start_s: number;
  /** Requests without a complete response within the timeout. */
  timed_out: number;
  /** Requests given up unsent when the drain's limit was over. */
  unsent: number;
}

/** How evenly connections were served: one number of each, over all of them. */
export interface Served {
  /** The most of any connection. */
  max: number;
  /** That of the connection in the middle. */
  median: number;
  /** The least of any connection. */
  min: number;
}

/** What was measured. */
export interface ServerEntry {
  /** What speaks HTTP underneath. */
  engine: string;
  /** The framework. */
  framework: string;
  /** The folder's name. */
  id: string;
  /** `platform`, `micro` or `full`. */
  kind: string;
  /** The language it is written in. */
  language: string;
  /** For people. */
  name: string;
  /** The sources that published a figure of it: documents of `docs/sources.md`. */
  sources: (string)[];
  /** `idiomatic` or `tuned`, and others. */
  tags: (string)[];
  /** What its version command printed last. */
  versions: string;
}

/** How much it spoils. */
export type Severity = "note" | "caution" | "invalid";

/** How the offered rate changes over the window. The warm-up is at the rate the window begins with. */
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
  /** Requests per second, step after step. */
  rates_per_s: (Rate)[];
  /** How long each step lasts, in seconds. */
  step_s: number;
} | Trace;

/** One side. */
export interface Side {
  /** The machine it ran on. */
  cpu_model: string;
  /** The facts of its round. */
  round: About;
  /** The one server, where one was chosen. */
  server: ServerEntry | null;
}

/** A stretch of time, in nanoseconds from the start of the run. */
export interface Span {
  /** When it ended, in nanoseconds. */
  end_ns: number;
  /** When it began, in nanoseconds. */
  start_ns: number;
}

/** How far a trial came. */
export type Stage = "setup" | "build" | "start" | "validate" | "load" | "generate";

/** What a row can be taken for. */
export type Standing = "ranked" | "generator_bound" | "overloaded" | "invalid" | "failed";

/** What a figure beside a source's can be taken for. */
export type Standing2 = "measured" | "at_least" | "overloaded" | "invalid" | "failed" | "not_measured" | "no_server";

/** The starts of one server. */
export interface StartRow {
  /** The first start since it was built or its folder changed; none where that was before the round. */
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
  /** Read from disk until then: 0 where all was in memory. */
  disk_read_bytes: Figure | null;
  /** From the start to the first valid answer. */
  first_answer_ms: Figure | null;
  /** From the start to a port that accepts. */
  listening_ms: Figure | null;
  /** Resident memory at the first answer, in bytes. */
  rss_bytes: Figure | null;
}

/** How the server started. */
export interface Startup {
  /** What its processes had read from disk by the first answer, in bytes: 0 where all of it was in memory already, as after a build; none where the kernel does not tell. */
  disk_read_bytes?: number;
  /** From fork to the first complete valid answer, in nanoseconds. */
  first_answer_ns: number;
  /** Whether no start since it was built, or its folder changed, had answered before; none where nobody kept count. */
  first_since_build?: boolean;
  /** How far the clean-up of its processes is guaranteed: `pid_namespace` or `subreaper`. */
  guarantee: string;
  /** From fork to a port that accepts, in nanoseconds. */
  listening_ns: number;
  /** Processes of the tree then. */
  processes: number;
  /** Resident memory of the process tree then, in bytes. */
  rss_bytes: number;
  /** How the launch was warmed up before its first load; none where it was not. */
  warm_up?: WarmUp;
}

/** How many of the rows that were returned as updated are stored so. */
export interface StoredRows {
  /** Rows that were returned, each id once. */
  returned: number;
  /** Those of them that the database has with the returned value. */
  stored: number;
}

/** What ended in one stretch of a run. */
export interface Stretch {
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
  /** The rows, best first by that metric. */
  rows: (RowPage)[];
  /** Whether each row has one launch at most, so that nothing is known of its spread. */
  single: boolean;
  /** The smallest difference between two rows that is claimed, as a share, by metric. */
  smallest_difference: Record<string, number>;
  /** Pairs of rows without a claimed difference, by metric, as indexes into `rows`. Rows that do not count are left out. A metric that is not a key has no ranks: each row has one launch, or there are too many rows to compare in pairs. */
  ties: Record<string, ([number, number])[]>;
  /** The workload. */
  workload: string;
}

/** What was measured. */
export interface Target {
  /** The address connections went to; a unix socket as `unix:/path`. */
  address: string;
  /** The protocol that was spoken, such as `http/1.1`. */
  protocol: string;
  /** The local addresses they came from, where they were spread over several. */
  sources?: (string)[];
  /** TLS, where it was spoken. */
  tls?: Tls;
  /** Addresses of the same name that were tried before it, in order. */
  tried?: (Tried)[];
  /** The URL as given, normalised. */
  url: string;
}

/** How long users think between a response and their next request. */
export interface Think {
  /** How the pause varies: fixed or random. */
  distribution: Distribution;
  /** Mean length of the pause, in nanoseconds. */
  mean_ns: number;
}

/** A distribution of times, in nanoseconds. */
export interface TimesPage {
  /** How many times were recorded. */
  count: number;
  /** The percentile curve: 1/(1 - p), and the time. */
  curve: ([number, number])[];
  /** What it is. */
  definition: string;
  /** `response_time`, `service_time` and so on. */
  id: string;
  /** The exact highest. */
  max: number;
  /** The arithmetic mean. */
  mean: number;
  /** The exact lowest. */
  min: number;
  /** Its name. */
  name: string;
  /** The median. */
  p50: number;
  /** 75 % were at or below it. */
  p75: number;
  /** 90 % were at or below it. */
  p90: number;
  /** 95 % were at or below it. */
  p95: number;
  /** 99 % were at or below it. */
  p99: number;
  /** 99.9 % were at or below it. */
  p99_9: number;
  /** 99.99 % were at or below it. */
  p99_99: number;
  /** Up to which 1/(1 - p) there were samples enough for a 95 % interval of order statistics. */
  reliable_to: number;
}

/** What client and server agreed on in the first handshake, and how many there were in the whole run, the connect phase included. Without any handshake that was done, nothing was agreed on. */
export interface Tls {
  /** The application protocol the server chose; left out where it chose none. */
  alpn?: string;
  /** The cipher suite, by its name at IANA. */
  cipher?: string;
  /** Number of full handshakes. */
  full: number;
  /** The group of the key exchange. */
  group?: string;
  /** The name asked for: sent to the server unless it is an address, and looked for in its certificate. */
  name: string;
  /** Number of handshakes that resumed an earlier session. */
  resumed: number;
  /** Whether sessions were resumed where the server allowed it. */
  resumption: boolean;
  /** Whether the server's certificate was checked. */
  verified: boolean;
  /** The protocol's version, `1.2` or `1.3`. */
  version?: string;
}

/** The program that measured. */
export interface Tool {
  /** The commit it was built from, where known. */
  commit: string | null;
  /** Name of the program. */
  name: string;
  /** Version of the program. */
  version: string;
}

/** The moments of all sends. */
export interface Trace {
  /** The file they were read from. */
  file?: string;
  /** Number of sends in the file. */
  sends: number;
}

/** A trial of a row. */
export interface TrialEntry {
  /** Its id. */
  id: string;
  /** Which repeat of its cell it counts as, from 0. */
  repeat: number;
  /** Wall-clock start, RFC 3339, UTC. */
  started_at: string;
  /** Whether it has a usable run. */
  usable: boolean;
}

/** What a trial adds to a run. */
export interface TrialFacts {
  /** What a search for the capacity found. */
  capacity: FoundCapacity | null;
  /** Time of every core over the window. */
  cores: (CoreTime)[];
  /** What became of the database. */
  database: DatabaseUse | null;
  /** Why there is no usable run. */
  error: Fault | null;
  /** `single` or `cores`. */
  form: string;
  /** The start of the server it ran against. */
  launch: string;
  /** The load asked for. */
  load: Load;
  /** The end of what the server printed. */
  log_tail: string;
  /** Which process was allowed where. */
  pinning: Pinning;
  /** Which repeat of its cell it counts as, from 0. */
  repeat: number;
  /** The round it belongs to. */
  round: string;
  /** CPU and memory of the server over time. */
  samples: (UsagePoint)[];
  /** What was under test. */
  server: ServerEntry;
  /** The sitting. */
  sitting: string;
  /** How the server started. */
  startup: Startup | null;
  /** What the server cost over the window. */
  usage: Usage | null;
  /** The answers checked before the load. */
  validation: Validation | null;
  /** The workload. */
  workload: string;
}

/** An address that was tried and not used. */
export interface Tried {
  /** The address and port that were tried. */
  address: string;
  /** Why it was not used, for people. */
  failure: string;
}

/** What the server cost over the window. */
export interface Usage {
  /** CPU time for each response completed in the window, in nanoseconds. */
  cpu_ns_per_request: number;
  /** CPU time of the process tree, in seconds. */
  cpu_s: number;
  /** Times a core was taken from a thread. */
  involuntary_switches: number;
  /** Length of what was sampled, in seconds. */
  over_s: number;
  /** Proportional share of memory after the window, in bytes, where the kernel tells. */
  pss_bytes?: number;
  /** Resident memory once the generator had ended, summed over processes, in bytes. */
  rss_bytes_after?: number;
  /** Highest resident memory sampled, summed over processes (shared pages count in each), in bytes. */
  rss_bytes_peak: number;
  /** Time runnable but not running, in seconds. */
  run_delay_s: number;
  /** Where the CPU time was read. */
  source: CpuSource;
  /** Most threads seen. */
  threads_peak: number;
  /** CPU time as a share of the cores it was given, 0 to 1. */
  utilization: number;
  /** Times a thread gave its core up by itself. */
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
}

/** The answers checked before the load. */
export interface Validation {
  /** The checks, in the order they were made. */
  checks: (Check)[];
}

/** A load that differs from another of the same plan in one thing. */
export interface Variant {
  /** The one thing in which it differs. */
  kind: VariantKind;
  /** The name of the other load. */
  of: string;
}

/** In what a load differs from its twin. */
export type VariantKind = "first_run" | "http10" | "close" | "unpipelined" | "balanced";

/** A named reason why a number may not mean what it seems to. */
export interface Verdict {
  /** Where the cause is: server, generator, environment or user. */
  blame: Blame;
  /** The figures it rests on, units in the keys. */
  evidence: Record<string, unknown>;
  /** Its name, in snake case; docs/reading-a-verdict.md explains each. */
  name: string;
  /** What to do about it. */
  remedy: string;
  /** How much it affects the result: `note`, `caution` or `invalid`. */
  severity: Severity;
}

/** A launch's warm-up: a closed loop until the server no longer became faster, and its rate in each second (the cold curve). */
export interface WarmUp {
  /** Connections of the closed loop. */
  connections: number;
  /** The limit that the plan sets, in seconds. */
  limit_s: number;
  /** Responses per second in each second. */
  rate_per_s: (number)[];
  /** From the first request to the steady state: until the last 4 s were no more than 5 % faster than the 4 s before them. None where the limit was reached first. */
  steady_after_s?: number;
  /** How long it took, in seconds. */
  warmed_s: number;
  /** The workloads that were requested, in equal shares. */
  workloads: (string)[];
}

/** The warm-ups of one server. */
export interface WarmUpRow {
  /** Each launch's curve, in the order they ran. */
  curves: (ColdCurve)[];
  /** Responses in the first second. */
  first_second_per_s: Figure | null;
  /** Responses per second in the last 4 s. */
  last_per_s: Figure | null;
  /** Launches that were still getting faster at the limit. */
  launches_not_steady: number;
  /** The server's id. */
  server: string;
  /** From the first request to the steady state, of the launches that came to it. */
  steady_after_s: Figure | null;
}

/** The warm-ups of the servers of one form on one machine. */
export interface WarmUpTable {
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

export type LiveSecond = Second;
