//! The shepherd: one small process for each launch, which ensures that no process survives the lab, even if the lab is
//! killed.
//!
//! The lab starts `paceline shepherd`, writes an [`ShepherdOrder`] to its standard input and keeps that pipe open. The
//! shepherd starts the command under a tracker ([`descendants`]) and answers with [`ShepherdReport`]s on its standard
//! output. When the pipe ends (on request, or because the lab is dead), it sends SIGTERM, waits, and kills the
//! remaining processes until there are none. It never speaks HTTP, and measures only the total CPU time and memory of
//! its children.

mod descendants;
mod handle;
mod log;
mod protocol;
mod spawn;
mod supervisor;
mod view;

pub(crate) use protocol::{put_setting, setting};

pub use handle::{CommandResult, Ended, Shepherd};
pub use protocol::{
    CommandOutput, FileView, ImageRoot, Restore, ShepherdOrder, ShepherdReport, TrackingMethod,
};
pub use supervisor::watch;
