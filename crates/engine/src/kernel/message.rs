//! Receives with recvmsg(2), and reads the control messages that the kernel attaches: timestamps, the size of segments.

use super::socket::KernelSocket;
use std::io;

/// Room for control messages: a timestamp and a segment size, with a margin.
const CONTROL: usize = 128;

/// A control message (cmsg(3)).
pub(super) struct ControlMessage<'m>(&'m libc::cmsghdr);

impl ControlMessage<'_> {
    /// The value of the message, if it is of this type, whose value is a `T`, which every bit pattern is.
    pub(super) fn value<T: Copy>(&self, level: i32, kind: i32) -> Option<T> {
        // SAFETY: the header was returned by CMSG_FIRSTHDR or CMSG_NXTHDR; CMSG_LEN takes a number only.
        let has_value = self.0.cmsg_len >= unsafe { libc::CMSG_LEN(size_of::<T>() as u32) } as _;
        if (self.0.cmsg_level, self.0.cmsg_type) != (level, kind) || !has_value {
            return None;
        }
        // SAFETY: a message of this type carries a T, possibly unaligned, and is long enough for it.
        Some(unsafe { libc::CMSG_DATA(self.0).cast::<T>().read_unaligned() })
    }
}

/// Reads received bytes, and passes on the control messages that came with them.
pub(super) fn receive_message(
    socket: &KernelSocket,
    buffer: &mut [u8],
    mut control_message: impl FnMut(&ControlMessage<'_>),
) -> io::Result<usize> {
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
    // SAFETY: the kernel filled `message` and its control buffer in; CMSG_FIRSTHDR returns null or a header in it.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    while let Some(found) = header {
        control_message(&ControlMessage(found));
        // SAFETY: as above; `found` is a header of `message`.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, found).as_ref() };
    }
    Ok(count as usize)
}

/// Sends bytes as datagrams of `segment` bytes each, which the kernel or the network card divides (udp(7), UDP_SEGMENT).
pub(super) fn send_segments(socket: &KernelSocket, bytes: &[u8], segment: u16) -> io::Result<()> {
    let mut control = [0u64; CONTROL / 8];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: msghdr is plain old data, for which zeroes are a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE takes a number only.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) } as _;
    // SAFETY: the control buffer has room for a header and is aligned for it, so CMSG_FIRSTHDR returns one in it.
    if let Some(header) = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_mut() } {
        header.cmsg_level = libc::SOL_UDP;
        header.cmsg_type = libc::UDP_SEGMENT;
        // SAFETY: CMSG_LEN takes a number only.
        header.cmsg_len = unsafe { libc::CMSG_LEN(size_of::<u16>() as u32) } as _;
        // SAFETY: there is room for a u16 after the header, possibly unaligned.
        unsafe { libc::CMSG_DATA(header).cast::<u16>().write_unaligned(segment) };
    }
    // SAFETY: every pointer in `message` is to a live local or to `bytes`, which the kernel only reads.
    let sent = unsafe { libc::sendmsg(socket.raw(), &raw const message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
