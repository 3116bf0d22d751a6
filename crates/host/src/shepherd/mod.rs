//! The shepherd: one small process for each launch, so that no process survives the lab, whatever ends the lab.
//!
//! The lab starts `paceline shepherd`, hands it an [`Order`] on its standard input and keeps that pipe open. The
//! shepherd starts the command behind a [`fence`], answers with [`Report`]s on its standard output, and when the pipe
//! ends (asked to, or because the lab is dead) sends SIGTERM, waits, and kills what is left until nothing is.
//! It never speaks HTTP, and measures nothing but what its children cost in all.

mod fence;
mod handle;
mod log;
mod order;
mod spawn;
mod watch;

pub(crate) use order::setting;

pub use handle::{Ended, Gone, Shepherd};
pub use order::{Guard, Order, Output, Report, Restore};
pub use watch::watch;
