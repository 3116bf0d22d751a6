//! `--quiet-cpu`: keeps processors out of deep sleep for as long as a descriptor is open.
//!
//! Waking an idle server takes tens of microseconds, which are then part of every response time at low rates. Holding
//! /dev/cpu_dma_latency at 0 (kernel Documentation/power/pm_qos_interface) avoids this, and closing it restores the
//! previous state. It is a condition of the result, so the record contains it.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Keeps the processors awake, or returns a notice with the reason why it cannot.
pub(crate) fn hold() -> Result<File, String> {
    let opened = OpenOptions::new().write(true).open(DEVICE);
    let held = opened.and_then(|mut file| file.write_all(&0i32.to_ne_bytes()).map(|()| file));
    held.map_err(|error| format!("--quiet-cpu: cannot hold {DEVICE} ({error}); continuing without"))
}

/// Its description in the record.
pub(crate) fn description() -> String {
    format!("{DEVICE} = 0 (idle states off)")
}
