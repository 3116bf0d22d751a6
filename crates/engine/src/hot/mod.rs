//! Implements the life of one request, in the order of the files: [`schedule`] (when it is due), [`source`] (which
//! request it is), [`exchange`] (its place while in flight), [`inspect`] (the check of its response) and [`streams`] (its events), [`record`] (its
//! outcome), and the [`request_tracker`] that combines these; [`pool`] (free connections), [`pauses`] (of the
//! generator); [`protocol`] (its bytes); [`scenario`] (requests that depend on responses); [`traffic`] and [`worker`] (the loop).
//!
//! There is one loop, generic over clock, transport and protocol. Closed or open, constant or Poisson, pipelined or
//! not, validating or not are values in that loop, never copies of it. After warm-up, for plaintext HTTP, the code run
//! for each request does not allocate, lock, format, log or call through `dyn`; a response that arrives in one piece
//! costs two clock reads. Once a second the counts are stored, which allocates, and reported to the observer.

mod schedule;
mod ticks;

mod source;

mod exchange;

mod inspect;
mod streams;

mod addresses;
mod blocks;
mod fairness;
mod record;

mod pauses;
mod pool;
mod protocol;
mod request_tracker;
mod scenario;
mod traffic;
mod worker;

pub(crate) use blocks::BlockIndex;
pub(crate) use exchange::{Exchange, ExchangeIndex, SetAside, WaitingStep};
pub(crate) use inspect::JudgedHead;
pub use protocol::ProtocolHandler;
pub(crate) use protocol::{CancelOutcome, Flow, ProtocolFault};
pub use record::Recorder;
pub(crate) use record::{ReceivedResponse, join_intervals};
pub(crate) use request_tracker::{AnswerGroup, PartialResponse, SendTimes, Tracker};
pub(crate) use scenario::{MadeStep, ResponsePart, ScenarioCounts};
pub use scenario::{PlainLoad, Scenario};
pub use schedule::scheduled_in_window;
pub(crate) use source::{RequestOrder, RequestSource};
pub(crate) use worker::settling_nap;
pub use worker::{RunControl, Worker};
