//! Reads kernel receive timestamps: when the last segment of a read arrived, on the monotonic clock.
//!
//! The kernel stamps with CLOCK_REALTIME (socket(7), SO_TIMESTAMPNS; it does so for TCP too, with the stamp of the last
//! segment). The difference between that clock and the monotonic one is measured again before each batch, so that a
//! step of the wall clock affects one batch at most. These are receive times only: the time at which a send left is
//! unknown.

use super::KernelClock;
use super::socket::KernelSocket;
use crate::{Clock as _, Nanos};
use std::io;

/// Room for the control message that carries a stamp: its header and a timespec, with a margin.
const CONTROL: usize = 128;

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
        let before = KernelClock.now();
        let mut wall = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `wall` is a valid timespec to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut wall) };
        let after = KernelClock.now();
        let middle = i128::from(before.0) + i128::from(after.since(before).0 / 2);
        self.distance = wall_ns(&wall) - middle;
    }

    /// Reads received bytes and notes when the last of them arrived.
    pub(super) fn receive(&mut self, socket: &KernelSocket, buffer: &mut [u8]) -> io::Result<usize> {
        let mut control = [0u64; CONTROL / 8];
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: msghdr is plain old data, for which zeroes are a valid value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        // A size_t in glibc, a socklen_t in musl.
        message.msg_controllen = CONTROL as _;
        // SAFETY: every pointer in `message` is to a live local or to `buffer`, with its length.
        let count = unsafe { libc::recvmsg(socket.raw(), &raw mut message, 0) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        self.last = self.stamp_of(&message);
        Ok(count as usize)
    }

    /// The last read's stamp on the monotonic clock.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.last
    }

    fn stamp_of(&self, message: &libc::msghdr) -> Option<Nanos> {
        // SAFETY: the kernel filled `message` and its control buffer in; CMSG_FIRSTHDR returns null or a header in it.
        let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
        if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            return None;
        }
        // SAFETY: a message of this type carries a timespec, possibly unaligned.
        let wall = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
        u64::try_from(wall_ns(&wall) - self.distance).ok().map(Nanos)
    }
}

fn wall_ns(wall: &libc::timespec) -> i128 {
    i128::from(wall.tv_sec) * 1_000_000_000 + i128::from(wall.tv_nsec)
}
