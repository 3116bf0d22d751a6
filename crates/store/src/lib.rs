//! Stores rounds and trials in a SQLite file or a PostgreSQL database, and returns them exactly as they were put in.
//!
//! Used by `paceline round`, which stores each trial when it ends, and by all commands that show results. All calls
//! block; a [`Store`] is `Send + Sync`, so an async server calls it from its blocking threads. Every statement is in
//! the dialect that both databases share (`$1`, TEXT, BIGINT); statements for only one of them are in `sqlite.rs` or
//! `postgres.rs`. Only `check.rs` interprets the content of records.

pub mod archive;
mod check;
mod database;
mod error;
mod histograms;
mod migrations;
mod postgres;
mod postgres_connection;
mod rounds;
mod sqlite;
mod store;
mod trials;

pub use check::Checked;
pub use error::{DatabaseError, StoreError};
pub use store::Store;
pub use trials::fuzz_document;
