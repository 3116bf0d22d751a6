//! Keeps rounds and trials in a SQLite file, and gives them back exactly as they were put in.
//!
//! Called by the command `round` (which stores each trial when it ends) and by everything that shows results. The
//! interface blocks: it owns a small runtime for `sqlx`, so callers need none, and must not be called from inside
//! one. Every statement keeps to the dialect that SQLite and PostgreSQL share (`$n`, BIGINT, TEXT); what is
//! SQLite's alone is in one file. Nothing here interprets a record.

mod error;
mod histograms;
mod migrations;
mod rounds;
mod sqlite;
mod store;
mod trials;

pub use error::StoreError;
pub use store::Store;
