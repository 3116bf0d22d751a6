//! `--quiet-cpu`: keeps processors out of deep sleep for as long as a descriptor is open.
//!
//! Waking an idle server costs tens of microseconds, which then stand in every response time at low rates. Holding
//! /dev/cpu_dma_latency at 0 (kernel Documentation/power/pm_qos_interface) avoids it and leaves nothing changed once
//! closed. It is a condition of the result, so the record says that it was held.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Keeps the processors awake, or returns a notice why it cannot.
pub(crate) fn hold() -> Result<File, String> {
    let opened = OpenOptions::new().write(true).open(DEVICE);
    let held = opened.and_then(|mut file| file.write_all(&0i32.to_ne_bytes()).map(|()| file));
    held.map_err(|error| format!("--quiet-cpu: cannot hold {DEVICE} ({error}); continuing without"))
}

/// What the record says of it.
pub(crate) fn description() -> String {
    format!("{DEVICE} = 0 (idle states off)")
}
