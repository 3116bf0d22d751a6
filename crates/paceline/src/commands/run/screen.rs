//! Draws the live view in place on the terminal of standard error.
//!
//! No terminal state is changed, so nothing has to be restored however the run ends: the cursor stays at the beginning
//! of the view, below which there is nothing else, and everything from there on is redrawn or cleared. A terminal that
//! rewraps the lines of the view when it is resized keeps the cursor at that place.

use paceline_engine::{Measure, WorkerSecond};
use paceline_report::LiveView;
use paceline_run::{Rows, RunProgress, Sink, times};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Returns to the beginning of the line and clears to the end of the screen (ECMA-48: CR, ED).
const CLEAR: &[u8] = b"\r\x1b[J";

/// Minimum time between two drawings of the live view.
const REDRAW: Duration = Duration::from_millis(200);

/// Whether a view is on the terminal now: for a signal handler that may not return.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// Whether a view is being written at this moment,
static IS_DRAWING: AtomicBool = AtomicBool::new(false);
/// and whether drawing is disabled from now on.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// How many times, 1 ms apart, a signal handler checks whether the drawing thread has finished. A busy machine may
/// delay that thread for seconds; a terminal that accepts no output (Ctrl-S) may block it forever.
const LOOKS: u32 = 3_000;

/// Clears the view, if there is one, permanently. Safe to call from a signal handler.
pub fn clear_on_exit() {
    IS_OVER.store(true, Ordering::SeqCst);
    for _ in 0..LOOKS {
        if !IS_DRAWING.load(Ordering::SeqCst) {
            break;
        }
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: nanosleep(2) is async-signal-safe, and `moment` outlives the call.
        unsafe { libc::nanosleep(&raw const moment, std::ptr::null_mut()) };
    }
    if IS_DRAWN.swap(false, Ordering::Relaxed) {
        // SAFETY: write(2) is async-signal-safe, the buffer is a constant. The result no longer matters.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, CLEAR.as_ptr().cast(), CLEAR.len()) };
    }
}

/// Writes to the terminal, unless the view was permanently cleared. During the write this thread blocks signals: a
/// handler would wait for the write that it interrupts, and an interrupted write may be cut short.
fn undisturbed(write: impl FnOnce()) {
    // SAFETY: a sigset_t is plain data, which sigfillset(3) fills in; both sets outlive the calls.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    };
    IS_DRAWING.store(true, Ordering::SeqCst);
    if !IS_OVER.load(Ordering::SeqCst) {
        write();
    }
    IS_DRAWING.store(false, Ordering::SeqCst);
    // SAFETY: the set is the previous one of this thread.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
}

/// A terminal with the live view on it.
pub(super) struct Screen {
    colour: bool,
    /// Whether the last drawing stays after the run.
    stays: bool,
    drawn: Instant,
    /// Lines of the last drawing.
    height: usize,
    live: LiveView,
}

impl Screen {
    /// Standard error, if it is a terminal that supports drawing.
    pub(super) fn of_stderr(with_colour: bool, stays: bool) -> Option<Self> {
        let can_draw = std::io::stderr().is_terminal() && !crate::terminal::is_dumb();
        can_draw.then(|| Self {
            colour: with_colour && crate::terminal::takes_colour(),
            stays,
            drawn: Instant::now(),
            height: 0,
            live: LiveView::default(),
        })
    }

    /// Draws the view, at most every 200 ms.
    fn draw_if_due(&mut self, rows: &Rows) {
        if self.drawn.elapsed() < REDRAW || !is_in_foreground() {
            return;
        }
        self.drawn = Instant::now();
        let Some((width, height)) = crate::terminal::size_of_stderr() else { return };
        // The last column stays empty: terminals differ in how they handle a character there.
        let RunProgress { phase, done, left, stopping } = rows.progress();
        (self.live.phase, self.live.done, self.live.left, self.live.stopping) = (phase, done, left, stopping);
        rows.target().clone_into(&mut self.live.target);
        let height = height.saturating_sub(1).max(1);
        let mut lines = self.live.lines(width.saturating_sub(1), height, self.colour);
        lines.truncate(height);
        self.height = lines.len();
        undisturbed(|| {
            IS_DRAWN.store(true, Ordering::Relaxed);
            show(drawing(&lines).as_bytes());
        });
    }
}

impl Sink for Screen {
    fn second(&mut self, row: &paceline_record::Second, second: &WorkerSecond, rows: &Rows) {
        if row.phase != paceline_record::Phase::Connect {
            let measure = if rows.is_open() { Measure::Response } else { Measure::Service };
            self.live.add(row, &times(second, measure, |_| true));
        }
    }

    fn wants_ticks(&self) -> bool {
        true
    }

    fn tick(&mut self, rows: &Rows) {
        self.draw_if_due(rows);
    }

    fn end(self: Box<Self>) -> Vec<std::io::Error> {
        undisturbed(|| {
            if IS_DRAWN.swap(false, Ordering::Relaxed) {
                match self.stays {
                    true => show(format!("{}\n", "\n".repeat(self.height.saturating_sub(1))).as_bytes()),
                    false => show(CLEAR),
                }
            }
        });
        Vec::new()
    }
}

/// The lines as one write: each clears the rest of its line, the last one also clears below, then the cursor goes up.
/// Meanwhile a line that is too long after a resize is cut and not wrapped (DECAWM off, then on again).
fn drawing(lines: &[String]) -> String {
    let up = match lines.len() {
        0 | 1 => String::new(),
        count => format!("\x1b[{}A", count - 1),
    };
    format!("\r\x1b[?7l{}\x1b[K\x1b[J{up}\r\x1b[?7h", lines.join("\x1b[K\r\n"))
}

/// Whether this process may draw on the terminal: a background job must not.
fn is_in_foreground() -> bool {
    // SAFETY: both only read a number from the kernel; the first is -1 if the terminal is not the controlling terminal
    // of this process.
    let (foreground, ours) = unsafe { (libc::tcgetpgrp(libc::STDERR_FILENO), libc::getpgrp()) };
    foreground < 0 || foreground == ours
}

/// A terminal that has gone is ignored and does not stop the run.
fn show(bytes: &[u8]) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_restores_the_cursor_position() {
        let lines = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        assert_eq!(drawing(&lines), "\r\x1b[?7lone\x1b[K\r\ntwo\x1b[K\r\nthree\x1b[K\x1b[J\x1b[2A\r\x1b[?7h");
        assert_eq!(drawing(&lines[..1]), "\r\x1b[?7lone\x1b[K\x1b[J\r\x1b[?7h");
    }
}
