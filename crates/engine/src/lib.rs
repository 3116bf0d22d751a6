//! Implements the load engine: schedule, connections and workers.
//!
//! The schedule and choice of requests, the state of a connection, the outcome of a request and its recording are plain
//! state machines over a [`Clock`] and a [`Transport`]. The kernel's are in [`kernel`]; the simulated ones in [`sim`]
//! run an hour of load against a stalling server in seconds, so that all statements about time are tested exactly.
//!
//! Start reading at [`hot`]: it follows one request from its due time to its record. The engine never prints, never
//! reads a file, and shares no data between threads while it measures.

mod address;
mod arrivals;
mod check;
mod error;
mod fragments;
mod grpc;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod hot;
pub mod kernel;
mod observer;
mod outcome;
mod pace;
mod profile;
mod random;
mod read_body;
mod request_log;
mod requests;
mod run;
pub mod script;
mod scripted;
pub mod session;
mod settings;
#[cfg(any(test, feature = "simulation"))]
pub mod sim;
pub mod stream;
mod tally;
mod tap;
mod tcp_counts;
mod timeline;
mod timers;
pub mod tls;
mod transport;
pub mod websocket;

pub use address::Address;
pub use arrivals::gaps_of_all;
pub use check::{BodyCheck, BodyFault, DecodeError, ResponseCheck, WrongBody, decoded};
pub use error::EngineError;
pub use grpc::{CallCheck, CallFault, CountedStatus};
pub use hot::scheduled_in_window;
pub use observer::{NoObserver, Observer, WorkerSecond};
pub use outcome::{
    AddressCounts, Carried, ConnectionCounts, ConnectionFailure, ContinueCounts, RunOutcome, Stall,
    ThreadOutcome,
};
pub use pace::SPIN_BEFORE;
pub use paceline_job::{
    Arrivals, Bound, Distribution, ExpectedValue, Job, LoadModel, Nanos, PaceKind, Rate, Shape, Think,
    Timestamps, Trace,
};
pub use profile::due_between;
pub use random::Random;
pub use read_body::{BodySource, ReadBody};
pub use request_log::{LoggedRequest, RequestLog};
pub use requests::{RequestKind, Requests, UpgradeRequest, Upload, UploadBody};
pub use run::{RunStart, StopFlag, run, run_when};
pub use settings::Settings;
pub(crate) use tally::Sums;
pub use tally::{CompactTally, Ending, Endings, KeptInterval, Measure, StreamCounts, Tally, TallyCounts};
pub use tap::{TapEvent, TapEventKind, run_tapped};
pub(crate) use tcp_counts::{LimitedTimes, TcpInfo};
pub use tcp_counts::{SendLimits, TcpCounts};
pub use timeline::{Phase, PhaseTimes, Timeline, WindowLength};
pub use transport::{Clock, Direction, IoProgress, Readiness, Slot, StreamEnd, Transport, WaitLimit};
