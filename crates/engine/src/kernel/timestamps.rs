//! Reads kernel receive timestamps: when the last segment of a read arrived, on the monotonic clock; compares that
//! clock with the wall clock.
//!
//! The kernel stamps with CLOCK_REALTIME (socket(7), SO_TIMESTAMPNS; it does so for TCP too, with the stamp of the last
//! segment). The difference between that clock and the monotonic one is measured again before each batch, so that a
//! step of the wall clock affects one batch at most. These are receive times only: the time at which a send left is
//! unknown.

use super::KernelClock;
use super::message::{ControlMessage, receive_message};
use super::socket::KernelSocket;
use crate::{Clock as _, Nanos};
use std::io;

/// Comparisons of the clocks, of which the shortest counts: the thread may lose its core during one of them.
const COMPARISONS: u32 = 16;

/// Reads with timestamps.
#[derive(Debug, Default)]
pub(super) struct ReceiveTimestamps {
    /// The wall clock minus the monotonic clock, in nanoseconds.
    distance: i128,
    /// The last read's stamp.
    last: Option<Nanos>,
}

impl ReceiveTimestamps {
    /// Measures the difference between the clocks.
    pub(super) fn set_clock(&mut self) {
        (self.distance, _) = compare_clocks();
    }

    /// Reads received bytes and notes when the last of them arrived.
    pub(super) fn receive(&mut self, socket: &KernelSocket, buffer: &mut [u8]) -> io::Result<usize> {
        self.last = None;
        receive_message(socket, buffer, |message| self.note(message))
    }

    /// Notes a stamp, if a control message carries one.
    pub(super) fn note(&mut self, message: &ControlMessage<'_>) {
        if let Some(wall) = message.value::<libc::timespec>(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            self.last = u64::try_from(wall_ns(&wall) - self.distance).ok().map(Nanos);
        }
    }

    /// Forgets the stamp of the read before.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// The last read's stamp on the monotonic clock.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.last
    }
}

/// The wall clock minus the monotonic clock, in nanoseconds. It stays the same until the wall clock is set: what
/// adjusts the speed of one clock adjusts the other's.
pub fn wall_clock_distance() -> i128 {
    let comparisons = (0..COMPARISONS).map(|_| compare_clocks());
    comparisons.min_by_key(|(_, uncertainty)| *uncertainty).map_or(0, |(distance, _)| distance)
}

/// The wall clock minus the monotonic clock, in nanoseconds, and the time that reading them took.
fn compare_clocks() -> (i128, Nanos) {
    let before = KernelClock.now();
    let mut wall = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `wall` is a valid timespec to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut wall) };
    let took = KernelClock.now().since(before);
    let middle = i128::from(before.0) + i128::from(took.0 / 2);
    (wall_ns(&wall) - middle, took)
}

fn wall_ns(wall: &libc::timespec) -> i128 {
    i128::from(wall.tv_sec) * 1_000_000_000 + i128::from(wall.tv_nsec)
}
