//! Carries a job out and returns its record.
//!
//! [`Prepared::new`] reads the files that a job names, resolves the target, sets up TLS and checks the limits of this
//! process. [`Prepared::carry_out`] drives the engine, samples the machine and makes the record. This crate prints no
//! output; a [`Sink`] can show a run in progress.

mod blocks;
mod body_file;
mod body_pieces;
mod content;
mod copied_body;
mod debug;
mod energy;
pub mod environment;
mod error;
mod even_samples;
mod events;
mod exchange;
mod follow;
mod free_resources;
mod grpc;
mod health;
mod host_connection;
mod inputs;
mod outcome;
mod prepare;
mod proxy;
mod replay;
mod requests;
mod schedule;
mod segments;
mod server;
mod server_chain;
mod server_metrics;
mod sessions;
mod sources;
mod stream_examples;
mod target;
pub mod wall_clock;
mod websocket;

pub use blocks::block;
pub use content::KEPT_FILE_BYTES;
pub use debug::{DebugExchange, DebugOutcome};
pub use error::{RunError, RunProblem};
pub use events::PhaseEventWriter;
pub use follow::{PhaseCallback, RowSettings, Rows, RunProgress, Sink, times};
pub use health::Health;
pub use host_connection::connect_to_host;
pub use inputs::{Inputs, MAX_BYTES};
pub use outcome::RunObservers;
pub use prepare::{Prepared, allowed_cores, read_trace};
pub use replay::fuzz_log;
pub use schedule::fuzz_schedule;
pub use segments::arrival_check;
pub use server_metrics::{MetricsSources, fuzz_gc_log, fuzz_metrics_page};
pub use target::remedy;
