//! One request's life, in the order of the files:
//! [`schedule`] (when is it due), [`connect`] (have a connection), [`send`], [`receive`] (parse, check the body),
//! [`record`].
//!
//! All of it is one [`Worker`] with one loop, generic over clock and transport. Closed or open, constant or Poisson,
//! pipelined or not, validating or not are values in that loop, never copies of it. After warm-up, for plaintext
//! HTTP, nothing that is done for each request allocates, locks, formats, logs or calls through `dyn`; a response that
//! arrives in one piece costs two clock reads. Once a second what was counted is put away, which allocates, and told of
//! to whoever listens.

mod answers;
mod blocks;
mod connect;
mod connection;
mod fairness;
mod familiar;
mod inspect;
mod intervals;
mod life;
mod outgoing;
mod phases;
mod receive;
mod record;
mod schedule;
mod send;
mod ticks;
mod worker;

pub(crate) use intervals::join_intervals;
pub use record::Recorder;
pub(crate) use worker::settling_nap;
pub use worker::{Conductor, Worker};
