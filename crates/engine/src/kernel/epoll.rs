//! Implements the transport on epoll: edge-triggered, every socket registered once for both directions, so that a
//! request costs one send, one receive and its share of a wait, and no `epoll_ctl`.
//!
//! `run.rs` makes one in each thread, and the worker there drives it through [`Transport`]. It does not retry
//! connections: errors from the kernel are reported to the worker.

use super::address::RawAddress;
use super::socket::{KernelSocket, SocketKind, check};
use super::timestamps::ReceiveTimestamps;
use crate::{
    Address, EngineError, IoProgress, Nanos, Readiness, Settings, Slot, TcpCounts, Timestamps, Transport,
    WaitLimit,
};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The number of events fetched at a time. More make the last of a batch wait for the first; fewer cost more system
/// calls.
const EVENTS: usize = 256;
/// The events that a socket is registered for, once.
const INTEREST: u32 = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
/// The events that report that the peer has closed.
const HANGUP: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// An address to connect to.
#[derive(Debug)]
struct Peer {
    address: RawAddress,
    /// Local addresses of the same family over which the connections of all workers are distributed.
    sources: Box<[IpAddr]>,
}

impl Peer {
    fn new(address: &Address, sources: &[IpAddr]) -> Self {
        let reaches = |source: &&IpAddr| match address {
            Address::Tcp(address) => source.is_ipv4() == address.is_ipv4(),
            Address::Unix(_) => false,
        };
        Self {
            address: RawAddress::from_address(address),
            sources: sources.iter().filter(reaches).copied().collect(),
        }
    }
}

/// The sockets of one worker behind one epoll.
#[derive(Debug)]
pub struct Epoll {
    epoll: OwnedFd,
    /// The address of the target, or several.
    peers: Box<[Peer]>,
    /// Which of several each slot connects to; empty if there is one.
    aims: Vec<u16>,
    kind: SocketKind,
    sockets: Vec<Option<KernelSocket>>,
    /// The counts of closed connections.
    closed: TcpCounts,
    events: Vec<libc::epoll_event>,
    /// The number of the worker, from 0.
    worker: usize,
    /// The number of workers.
    workers: usize,
    /// Reads with timestamps, if enabled.
    stamps: Option<ReceiveTimestamps>,
    /// Whether `epoll_pwait2` (Linux 5.11) is available; without it, waits are in whole milliseconds.
    has_nanoseconds: bool,
}

impl Epoll {
    /// An epoll for the slots of one worker.
    ///
    /// # Errors
    /// [`EngineError::Kernel`] when no epoll can be opened: out of descriptors.
    pub fn new(settings: &Settings, worker: u32) -> Result<Self, EngineError> {
        Self::with_kind(settings, worker, SocketKind::Stream)
    }

    /// The same with sockets of a kind.
    pub(super) fn with_kind(settings: &Settings, worker: u32, kind: SocketKind) -> Result<Self, EngineError> {
        // SAFETY: epoll_create1 takes a number only.
        let raw = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
            .map_err(|source| EngineError::Kernel { what: "create an epoll instance", source })?;
        // SAFETY: `raw` was just opened and is not shared.
        let epoll = unsafe { OwnedFd::from_raw_fd(raw) };
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let addresses = settings.addresses_of(worker);
        let peers: Box<[_]> = addresses.iter().map(|address| Peer::new(address, &settings.sources)).collect();
        Ok(Self {
            epoll,
            aims: vec![0; if peers.len() > 1 { settings.connections_of(worker) as usize } else { 0 }],
            peers,
            kind,
            sockets: (0..settings.connections_of(worker)).map(|_| None).collect(),
            closed: TcpCounts::default(),
            events,
            worker: worker as usize,
            workers: settings.threads as usize,
            stamps: (settings.job.timestamps == Timestamps::Kernel).then(ReceiveTimestamps::default),
            has_nanoseconds: true,
        })
    }

    pub(super) fn socket(&self, slot: Slot) -> io::Result<&KernelSocket> {
        self.sockets[slot as usize].as_ref().ok_or_else(not_connected)
    }

    /// The socket of a slot, and the timestamps of reads if they are enabled.
    pub(super) fn socket_and_stamps(
        &mut self,
        slot: Slot,
    ) -> io::Result<(&KernelSocket, Option<&mut ReceiveTimestamps>)> {
        let socket = self.sockets[slot as usize].as_ref().ok_or_else(not_connected)?;
        Ok((socket, self.stamps.as_mut()))
    }

    /// The address that a slot connects to.
    fn peer(&self, slot: Slot) -> &Peer {
        &self.peers[self.aims.get(slot as usize).map_or(0, |aim| usize::from(*aim))]
    }

    /// The local address of a slot, if addresses were given: cyclically over the connections of all workers to one address
    /// of the target; connections were distributed to the workers one by one.
    fn source(&self, slot: Slot) -> Option<IpAddr> {
        let connection = (slot as usize * self.workers + self.worker) / self.peers.len();
        let sources = &self.peer(slot).sources;
        sources.get(connection % sources.len().max(1)).copied()
    }

    fn register(&self, slot: Slot, socket: &KernelSocket) -> io::Result<()> {
        let mut event = libc::epoll_event { events: INTEREST, u64: u64::from(slot) };
        // SAFETY: both descriptors are open and `event` outlives the call.
        check(unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, socket.raw(), &raw mut event)
        })?;
        Ok(())
    }

    fn fetch(&mut self, wait_limit: WaitLimit) -> io::Result<usize> {
        if self.has_nanoseconds {
            match self.fetch_by_nanoseconds(wait_limit) {
                Err(error) if is_not_had(&error) => self.has_nanoseconds = false,
                result => return result,
            }
        }
        let millis = match wait_limit {
            WaitLimit::Poll => 0,
            WaitLimit::For(time) => i32::try_from(time.0 / 1_000_000).unwrap_or(i32::MAX),
            WaitLimit::Forever => -1,
        };
        let (events, most) = (self.events.as_mut_ptr(), EVENTS as i32);
        // SAFETY: `events` has room for EVENTS entries, all of them initialised.
        check(unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, most, millis) })
            .map(|count| count as usize)
    }

    fn fetch_by_nanoseconds(&mut self, wait_limit: WaitLimit) -> io::Result<usize> {
        let mut limit = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        if let WaitLimit::For(time) = wait_limit {
            limit.tv_sec = (time.0 / 1_000_000_000) as _;
            limit.tv_nsec = (time.0 % 1_000_000_000) as libc::c_long;
        }
        let limit = if wait_limit == WaitLimit::Forever { std::ptr::null() } else { &raw const limit };
        let (epoll, events) = (self.epoll.as_raw_fd(), self.events.as_mut_ptr());
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `events` has room for EVENTS entries, `limit` is null or a live timespec, no signal mask is given.
        let count =
            unsafe { libc::syscall(libc::SYS_epoll_pwait2, epoll, events, EVENTS, limit, no_mask, 0usize) };
        check(count as i32).map(|count| count as usize)
    }
}

impl Transport for Epoll {
    type Inner = Self;

    fn aim(&mut self, slot: Slot, address: u16) {
        if let Some(aim) = self.aims.get_mut(slot as usize) {
            *aim = address;
        }
    }

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let peer = &self.peer(slot).address;
        let socket = KernelSocket::open(peer, self.kind)?;
        if let Some(source) = self.source(slot) {
            socket.bind(source)?;
        }
        if self.stamps.is_some() {
            socket.ask_for_stamps()?;
        }
        // Registered before it connects: the event of a handshake that completes at once is not missed.
        self.register(slot, &socket)?;
        let progress = socket.connect(peer)?;
        self.sockets[slot as usize] = Some(socket);
        Ok(progress)
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        self.socket(slot)?.finish_connect()
    }

    #[inline]
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        self.socket(slot)?.send(bytes)
    }

    #[inline]
    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(socket) = &self.sockets[slot as usize] else { return Err(not_connected()) };
        match &mut self.stamps {
            None => socket.receive(buffer),
            Some(stamps) => stamps.receive(socket, buffer),
        }
    }

    #[inline]
    fn received_at(&self) -> Option<Nanos> {
        self.stamps.as_ref()?.last()
    }

    fn tcp_counts(&self) -> TcpCounts {
        let mut counts = self.closed.clone();
        let open = self.sockets.iter().flatten().filter_map(|socket| socket.tcp_info(self.kind));
        open.for_each(|info| counts.add(&info));
        counts
    }

    fn close(&mut self, slot: Slot) {
        let info = self.sockets[slot as usize].as_ref().and_then(|socket| socket.tcp_info(self.kind));
        info.into_iter().for_each(|info| self.closed.add(&info));
        // Closing the only descriptor of a socket removes it from the epoll (epoll(7)).
        self.sockets[slot as usize] = None;
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let count = match self.fetch(wait_limit) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        if let Some(stamps) = &mut self.stamps {
            stamps.set_clock();
        }
        ready.extend(self.events[..count].iter().map(|event| {
            let (flags, slot) = (event.events, event.u64 as Slot);
            Readiness {
                slot,
                readable: flags & libc::EPOLLIN as u32 != 0,
                writable: flags & libc::EPOLLOUT as u32 != 0,
                hangup: flags & HANGUP != 0,
            }
        }));
        Ok(())
    }
}

/// Whether a system call is not available: the kernel is older than the call, or the filter of a container rejects
/// unknown calls, often with EPERM.
fn is_not_had(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

fn not_connected() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOTCONN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unavailable_system_call_is_not_used() {
        let refused = |number| is_not_had(&io::Error::from_raw_os_error(number));
        assert_eq!([libc::ENOSYS, libc::EPERM].map(refused), [true; 2]);
        assert_eq!([libc::EINTR, libc::EBADF, libc::EINVAL].map(refused), [false; 3]);
    }
}
