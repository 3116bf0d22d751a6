//! Ctrl-C: the first ends the window and keeps the results so far, the second exits immediately.
//!
//! `paceline run` installs the handler shortly before the engine starts; before that a signal ends the process. Rounds
//! and the lab's commands have servers to stop and use the lab's `Interrupt`.

use paceline_engine::Stop;
use paceline_host::system::{end_signals, handle_signal};
use std::io;

static STOP: Stop = Stop::new();

/// The exit status of an interrupted command, for the handler that may not return.
const INTERRUPTED: i32 = 130;

/// Stops the run on SIGINT, SIGTERM and, except under nohup, SIGHUP from now on.
pub fn listen() -> io::Result<&'static Stop> {
    for signal in end_signals() {
        handle_signal(signal, on_signal)?;
    }
    Ok(&STOP)
}

/// Calls only what signal-safety(7) allows: atomics, clock_gettime, nanosleep, write and _exit.
extern "C" fn on_signal(_signal: i32) {
    if STOP.at() != paceline_engine::Nanos::NEVER {
        super::screen::clear_on_exit();
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(INTERRUPTED) };
    }
    STOP.request();
}
