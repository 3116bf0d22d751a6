//! Implements one socket, of streams (TCP, unix) or datagrams (UDP): opened, connected, read, written and closed by system
//! calls that never block.
//!
//! Sending and receiving use syscall(2): in a process with several threads glibc's send and recv are cancellation
//! points, which cost 110 instructions a request and are not needed here.

use super::address::RawAddress;
use crate::{IoProgress, LimitedTimes, Nanos, TcpInfo};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `struct tcp_info` of include/uapi/linux/tcp.h as words of four bytes, as far as it is read: it only ever grows, and the
/// C library has an old version.
const TCP_INFO_WORDS: usize = 64;
/// Its field `tcpi_rtt`, in microseconds.
const RTT: usize = 17;
/// Its field `tcpi_snd_cwnd`, in segments.
const SND_CWND: usize = 20;
/// Its field `tcpi_total_retrans`.
const TOTAL_RETRANS: usize = 25;
/// Its field `tcpi_rwnd_limited`, of two words, in microseconds, since Linux 4.10.
const RWND_LIMITED: usize = 44;
/// Its field `tcpi_sndbuf_limited`, of two words, in microseconds, since Linux 4.10.
const SNDBUF_LIMITED: usize = 46;
/// Its field `tcpi_rcv_ooopack`, since Linux 5.4; zero before.
const RCV_OOOPACK: usize = 56;

/// The kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketKind {
    /// TCP or unix.
    Stream,
    /// UDP.
    Datagram,
}

/// A non-blocking socket.
#[derive(Debug)]
pub(super) struct KernelSocket(OwnedFd);

impl KernelSocket {
    /// Opens a socket for the family of `peer`; of TCP with Nagle's algorithm off: a request is handed over whole.
    pub(super) fn open(peer: &RawAddress, kind: SocketKind) -> io::Result<Self> {
        let number = match kind {
            SocketKind::Stream => libc::SOCK_STREAM,
            SocketKind::Datagram => libc::SOCK_DGRAM,
        };
        // SAFETY: socket(2) takes numbers only.
        let raw = check(unsafe {
            libc::socket(peer.family(), number | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: `raw` was just opened and is not shared.
        let socket = Self(unsafe { OwnedFd::from_raw_fd(raw) });
        if kind == SocketKind::Stream && peer.family() != libc::AF_UNIX {
            socket.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        Ok(socket)
    }

    /// Binds to a local address and leaves the choice of the port to connect: the kernel then needs a port that is free
    /// towards the target only (ip(7), IP_BIND_ADDRESS_NO_PORT), and finds it fast.
    pub(super) fn bind(&self, source: IpAddr) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        let local = RawAddress::from_address(&SocketAddr::new(source, 0).into());
        // SAFETY: pointer and length are those of an address that outlives the call.
        check(unsafe { libc::bind(self.raw(), local.pointer(), local.length()) })?;
        Ok(())
    }

    /// Enables timestamps: the time at which the kernel receives each segment.
    pub(super) fn ask_for_stamps(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
    }

    pub(super) fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the pointer is to an i32 that outlives the call, and the length is its size.
        check(unsafe { libc::setsockopt(self.raw(), level, option, (&raw const value).cast(), length) })?;
        Ok(())
    }

    /// Starts the handshake. A unix socket has none: it is connected at once, or `WouldBlock` while the server has too
    /// many connections to accept (connect(2)), and no event reports the end of that.
    pub(super) fn connect(&self, peer: &RawAddress) -> io::Result<IoProgress> {
        // SAFETY: pointer and length are those of an address that outlives the call.
        match check(unsafe { libc::connect(self.raw(), peer.pointer(), peer.length()) }) {
            Ok(_) => Ok(IoProgress::Done),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(IoProgress::Pending),
            Err(error) => Err(error),
        }
    }

    /// The state of the handshake: its error if it failed, pending while there is no peer yet.
    pub(super) fn finish_connect(&self) -> io::Result<IoProgress> {
        let (mut error, mut length) = (0i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: both pointers are to locals that outlive the call, and the length is the size of the first.
        check(unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &raw mut length,
            )
        })?;
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: sockaddr_storage is plain old data, for which zeroes are a valid value.
        let mut peer: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        // SAFETY: as above; the kernel writes at most `length` bytes.
        match check(unsafe { libc::getpeername(self.raw(), (&raw mut peer).cast(), &raw mut length) }) {
            Ok(_) => Ok(IoProgress::Done),
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Ok(IoProgress::Pending),
            Err(error) => Err(error),
        }
    }

    /// Sends bytes. A broken connection is an error, not a signal.
    #[inline]
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let (address, flags) = (std::ptr::null::<libc::c_void>(), libc::MSG_NOSIGNAL);
        // SAFETY: the pointer and length are those of a live slice; there is no address.
        let taken = unsafe {
            libc::syscall(libc::SYS_sendto, self.raw(), bytes.as_ptr(), bytes.len(), flags, address, 0usize)
        };
        if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
    }

    /// Reads received bytes.
    #[inline]
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (address, flags) = (std::ptr::null::<libc::c_void>(), 0);
        // SAFETY: the pointer and length are those of a live, exclusively borrowed slice; no address is requested.
        let count = unsafe {
            libc::syscall(
                libc::SYS_recvfrom,
                self.raw(),
                buffer.as_mut_ptr(),
                buffer.len(),
                flags,
                address,
                address,
            )
        };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }

    /// What the kernel counted on this connection; none unless it is TCP.
    pub(super) fn tcp_info(&self, kind: SocketKind) -> Option<TcpInfo> {
        if kind != SocketKind::Stream {
            return None;
        }
        let mut info = [0u32; TCP_INFO_WORDS];
        let mut length = size_of_val(&info) as libc::socklen_t;
        // SAFETY: pointer and length are those of an array that outlives the call; the kernel writes at most that much,
        // less in older versions. It fails for a unix socket.
        check(unsafe {
            let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
            libc::getsockopt(self.raw(), level, option, info.as_mut_ptr().cast(), &raw mut length)
        })
        .ok()?;
        Some(tcp_info(&info, length as usize / size_of::<u32>()))
    }

    /// The descriptor.
    #[inline]
    pub(super) fn raw(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// The fields that are read of `struct tcp_info`, of which the kernel has written this number of words.
fn tcp_info(info: &[u32; TCP_INFO_WORDS], written: usize) -> TcpInfo {
    let [rtt_us, congestion_window, retransmits, out_of_order] =
        [RTT, SND_CWND, TOTAL_RETRANS, RCV_OOOPACK].map(|word| u64::from(info[word]));
    let [receive_window, send_buffer] =
        [RWND_LIMITED, SNDBUF_LIMITED].map(|word| Nanos::from_micros(two_words(info, word)));
    TcpInfo {
        retransmits,
        out_of_order,
        round_trip_time: (rtt_us > 0).then(|| Nanos::from_micros(rtt_us)),
        congestion_window,
        limited: (written >= SNDBUF_LIMITED + 2).then_some(LimitedTimes { receive_window, send_buffer }),
    }
}

/// A number of eight bytes that begins at a word.
fn two_words(info: &[u32; TCP_INFO_WORDS], word: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&info[word].to_ne_bytes());
    bytes[4..].copy_from_slice(&info[word + 1].to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// Turns a system call's -1 into its error.
pub(super) fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    #[test]
    fn a_shorter_structure_has_no_limited_times() {
        let mut info = [0; TCP_INFO_WORDS];
        (info[RTT], info[SND_CWND]) = (250, 10);
        let limited_us = u64::from(u32::MAX) + 7;
        info[RWND_LIMITED..RWND_LIMITED + 2].copy_from_slice(&words(limited_us));
        let read = tcp_info(&info, SNDBUF_LIMITED + 2);
        assert_eq!((read.round_trip_time, read.congestion_window), (Some(Nanos(250_000)), 10));
        let limited = read.limited.unwrap();
        assert_eq!((limited.receive_window, limited.send_buffer), (Nanos(1_000 * limited_us), Nanos::ZERO));
        // The structure of Linux 4.9 ends with `tcpi_delivery_rate`.
        assert_eq!(tcp_info(&info, 42).limited, None);
    }

    /// A number of eight bytes as two words.
    fn words(number: u64) -> [u32; 2] {
        let bytes = number.to_ne_bytes();
        [0, 4].map(|at| u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte])))
    }

    /// A connected socket, and the peer's end.
    fn pair() -> (KernelSocket, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = RawAddress::from_address(&listener.local_addr().unwrap().into());
        let socket = KernelSocket::open(&peer, SocketKind::Stream).unwrap();
        socket.connect(&peer).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        (socket, accepted)
    }

    #[test]
    fn a_peer_that_does_not_read_limits_sending() {
        let (socket, _silent) = pair();
        let bytes = [0; 1 << 16];
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            // More than the buffers of both ends can hold: from some time on the receive window is full.
            while socket.send(&bytes).is_ok() {}
            let info = socket.tcp_info(SocketKind::Stream).unwrap();
            assert!(info.round_trip_time.is_some() && info.congestion_window > 0, "{info:?}");
            let Some(limited) = info.limited else { return };
            if limited.receive_window > Nanos::ZERO {
                return;
            }
            assert!(Instant::now() < until, "{info:?}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_idle_connection_is_not_limited() {
        let (socket, _accepted) = pair();
        let limited = socket.tcp_info(SocketKind::Stream).unwrap().limited.unwrap_or_default();
        assert_eq!(limited, LimitedTimes::default());
        assert_eq!(socket.tcp_info(SocketKind::Datagram), None);
    }
}
