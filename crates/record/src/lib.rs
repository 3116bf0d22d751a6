//! The wire types of runs and trials, and their schema version.
//!
//! Written by the binary (a run) and the lab (a trial), stored by the store, read by reports and by users' scripts: the
//! JSON Schemas are published under `docs/schema/`. This crate measures nothing. Every number is a measured number, with the
//! evidence needed to check it.

mod accounts;
mod balancing;
mod block;
mod capacity;
mod core_distance;
mod database;
mod error;
#[doc(hidden)]
pub mod fixture;
mod generator;
mod id;
mod kernel_counts;
mod limit;
mod load;
mod parallel;
mod phase;
mod profile;
mod relative;
mod request_results;
mod round;
mod run;
mod schema;
mod second;
mod server_metrics;
mod server_use;
mod server_waits;
pub mod slim;
mod stream_examples;
mod summary;
mod system_calls;
mod target;
mod timestamp;
mod trial;
mod verdict;

pub use balancing::{
    BalancerCounts, BalancerReceipt, Balancing, FaultKind, InjectedFault, InstanceCounts, ProcessRole,
    ProcessUse,
};
pub use block::{Block, BlockSum, Bytes, Censored, Counts, EventCounts, Lengths, TimeKind, TimeLoops, Times};
pub use capacity::{CapacityLoad, FoundCapacity, RateRange, SearchedRate};
pub use core_distance::CoreDistance;
pub use database::{
    DatabaseCounts, DatabaseLoad, DatabaseReceipt, DatabaseRecovery, DatabaseUse, DatabaseWork, StoredRows,
};
pub use error::RecordError;
pub use generator::{
    AddressConnections, ClockOffset, Connections, CoreFrequency, CoreTime, Generator, GeneratorThread, Left,
    LinkDirection, Loader, NetworkUse, SendLimits, Served, TcpCounts, Throttling,
};
pub use id::{Id, InvalidId};
pub use kernel_counts::KernelCounts;
pub use limit::{Limit, LimitKind};
pub use load::{BalancedLoad, Load, RateShare, Route, Scaled, Variant, VariantKind, WorkloadProtocol};
pub use paceline_job::{
    Arrivals, ConnectionPart, ConnectionPlan, Distribution, ExpectedValue, JsonForm, PaceChoice, PaceKind,
    RatePart, Shape, StreamFormat, Think, Trace,
};
pub use parallel::map_parallel;
pub use phase::{ArrivalCheck, Interval, Phase, Phases, Segment, Span};
pub use profile::{CodeKind, Profile, ProfiledCall, ProfiledFunction};
pub use relative::KnownFolders;
pub use request_results::{
    BadBody, BodyFaults, BodyWaits, ExpectContinue, Expectations, FailedCheck, RequestPart, SessionPart,
    SessionStep,
};
pub use round::{Environment, Figure as ObservedFigure, IdleState, Observation, Round, Sitting, Tuned};
pub use run::{CarriedOver, Loop, LoopKind, Pace, Rates, Run, Tool};
pub use schema::{
    SCHEMA, read_round, read_run, read_trial, run_schema, schema_of, second_schema, trial_schema,
};
pub use second::Second;
pub use server_metrics::{GcLog, GcPause, GcRuntime, MetricSeries, SeriesKind, ServerMetrics};
pub use server_use::{FoundBy, MemoryUse, PackageEnergy, ServerSample, ServerUse};
pub use server_waits::{LoopTimers, ServerWaits, ServiceCalls, ThreadWait, WaitKind};
pub use stream_examples::{StreamExample, StreamExampleKind, StreamExamples, StreamGap};
pub use summary::{Summary, SummaryTime};
pub use system_calls::{SystemCall, SystemCalls};
pub use target::{EarlyData, Target, Tls, Tried};
pub use timestamp::is_timestamp;
pub use trial::{
    Check, CheckOutcome, CpuSource, Fault, FrameworkPackage, Imported, Pinning, RoleMachine, Sample, Server,
    Stage, Startup, Trial, Usage, Validation, WarmUp, WarmUpBursts,
};
pub use verdict::{Blame, GateOutcome, GateReason, Severity, Verdict};
