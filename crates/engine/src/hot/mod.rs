//! One request's life, in the order of the files:
//! [`schedule`] (when is it due), [`source`] (which one is it), [`exchange`] (where is it while it is in flight),
//! [`inspect`] (is its answer right), [`record`] (what came of it), and the [`ledger`] that puts these together;
//! [`pool`] (which connection is free); [`protocol`] (how it becomes bytes); [`traffic`] and [`worker`] (the loop).
//!
//! There is one loop, generic over clock, transport and protocol. Closed or open, constant or Poisson, pipelined or not,
//! validating or not are values in that loop, never copies of it. After warm-up, for plaintext HTTP, nothing that is done
//! for each request allocates, locks, formats, logs or calls through `dyn`; a response that arrives in one piece costs two
//! clock reads. Once a second what was counted is put away, which allocates, and reported to the observer.

mod schedule;
mod ticks;

mod source;

mod exchange;

mod inspect;

mod blocks;
mod fairness;
mod record;

mod ledger;
mod pool;
mod protocol;
mod traffic;
mod worker;

pub(crate) use blocks::Block;
pub(crate) use exchange::{Exchange, Place};
pub(crate) use ledger::{AnswerGroup, Departure, Incoming, Ledger};
pub use protocol::ProtocolHandler;
pub(crate) use protocol::{Cancelled, Fault, Flow, WaitingStep};
pub use record::Recorder;
pub(crate) use record::{Response, join_intervals};
pub use schedule::scheduled_in_window;
pub(crate) use source::{KindChoice, RequestSource};
pub(crate) use worker::settling_nap;
pub use worker::{Conductor, Worker};
