//! Implements the transport of datagrams: a connected UDP socket for each slot, behind the same epoll as streams.
//!
//! One system call sends several datagrams (GSO), and one receives several (GRO), where the kernel has them; the size of
//! the received ones is [`Transport::segment`]. A connected socket reports that no one listens on the server's port, as
//! an error of a later call.

use super::Epoll;
use super::message::{receive_message, send_segments};
use super::socket::{KernelSocket, SocketKind};
use crate::{EngineError, IoProgress, Readiness, Settings, Slot, Transport, WaitLimit};
use std::io;

/// The size of a socket's receive buffer, as far as the system allows it: bursts of a large body wait there.
const RECEIVE_BUFFER: i32 = 2 << 20;

/// UDP sockets of one worker behind one epoll.
#[derive(Debug)]
pub struct Datagrams {
    inner: Epoll,
    segment: usize,
    /// Whether the kernel divides what it sends (Linux 4.18).
    has_segmentation: bool,
}

impl Datagrams {
    /// Sockets for the slots of one worker.
    ///
    /// # Errors
    /// As [`Epoll::new`].
    pub fn new(settings: &Settings, worker: u32) -> Result<Self, EngineError> {
        let inner = Epoll::with_kind(settings, worker, SocketKind::Datagram)?;
        Ok(Self { inner, segment: usize::MAX, has_segmentation: true })
    }

    /// Sets the options of a socket. None of them is needed: QUIC works without, only slower.
    fn prepare(socket: &KernelSocket) {
        let _ = socket.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER);
        // QUIC finds the size of datagrams by probes, which must not be fragmented (RFC 9000 §14).
        let _ = socket.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
        let _ = socket.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE);
    }

    fn send_each(&self, slot: Slot, bytes: &[u8], segment: usize) -> io::Result<()> {
        let socket = self.inner.socket(slot)?;
        for (index, datagram) in bytes.chunks(segment).enumerate() {
            match socket.send(datagram) {
                Ok(_) => {}
                Err(error) if is_too_long(&error) => {}
                // A part cannot be taken back: the rest counts as lost on the way, and QUIC sends it again.
                Err(error) if index > 0 && error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Transport for Datagrams {
    type Inner = Epoll;

    const HAS_DATAGRAMS: bool = true;

    #[inline]
    fn inner(&self) -> Option<&Epoll> {
        Some(&self.inner)
    }

    #[inline]
    fn inner_mut(&mut self) -> Option<&mut Epoll> {
        Some(&mut self.inner)
    }

    /// UDP has no handshake.
    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let progress = self.inner.connect(slot).map_err(with_cause)?;
        Self::prepare(self.inner.socket(slot)?);
        Ok(progress)
    }

    fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        self.inner.send(slot, bytes)
    }

    fn send_datagrams(&mut self, slot: Slot, bytes: &[u8], segment: usize) -> io::Result<()> {
        if bytes.len() <= segment || !self.has_segmentation {
            return self.send_each(slot, bytes, segment);
        }
        match send_segments(self.inner.socket(slot)?, bytes, segment as u16) {
            Err(error) if is_too_long(&error) => Ok(()),
            // The kernel, the network card or the size of the network's packets does not allow it.
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::ENOPROTOOPT)) =>
            {
                self.has_segmentation = false;
                self.send_each(slot, bytes, segment)
            }
            sent => sent,
        }
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let (socket, mut stamps) = self.inner.socket_and_stamps(slot)?;
            let mut segment = None;
            if let Some(stamps) = &mut stamps {
                stamps.forget();
            }
            let count = receive_message(socket, buffer, |message| {
                segment = segment.or(message.value::<libc::c_int>(libc::SOL_UDP, libc::UDP_GRO));
                if let Some(stamps) = &mut stamps {
                    stamps.note(message);
                }
            })?;
            // An empty datagram is not the end of a stream, and means nothing to QUIC.
            if count > 0 {
                self.segment =
                    segment.and_then(|segment| usize::try_from(segment).ok()).unwrap_or(count).max(1);
                return Ok(count);
            }
        }
    }

    fn segment(&self) -> usize {
        self.segment
    }

    fn close(&mut self, slot: Slot) {
        self.inner.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        self.inner.wait(wait_limit, ready)
    }
}

/// The error of an attempt to connect with its cause. A socket of UDP gets its port when it connects, and the kernel
/// reports EAGAIN if none is free (`inet_autobind` of net/ipv4/af_inet.c), where TCP has EADDRNOTAVAIL: unlike a unix
/// socket's EAGAIN, it has nothing to do with the server.
fn with_cause(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::from_raw_os_error(libc::EADDRNOTAVAIL),
        _ => error,
    }
}

/// Whether a datagram is longer than the network allows: QUIC takes it for lost, and sends shorter ones.
fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ConnectionFailure;
    use crate::{Job, Requests, ResponseCheck};
    use paceline_http::Method;
    use std::net::UdpSocket;
    use std::sync::Arc;

    #[test]
    fn a_lack_of_ports_is_this_machine_s_failure() {
        let failure = |number| {
            let error = with_cause(io::Error::from_raw_os_error(number));
            ConnectionFailure::from_error(&error)
        };
        assert_eq!(failure(libc::EAGAIN), ConnectionFailure::Os(libc::EADDRNOTAVAIL));
        assert!(failure(libc::EAGAIN).is_ours());
        assert_eq!(failure(libc::ENETUNREACH), ConnectionFailure::Os(libc::ENETUNREACH));
    }

    #[test]
    fn empty_datagrams_are_skipped_without_room_for_each() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let requests = Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, ResponseCheck::default());
        let settings = Settings::new(Job::default(), server.local_addr().unwrap(), Arc::new(requests));
        let mut client = Datagrams::new(&settings, 0).unwrap();
        client.connect(0).unwrap();
        client.send(0, b"hello").unwrap();
        let (_, address) = server.recv_from(&mut [0; 16]).unwrap();
        for _ in 0..300 {
            server.send_to(b"", address).unwrap();
        }
        // The stack has no room for a frame for each of them.
        let reader = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            let emptied = client.receive(0, &mut [0; 16]).map_err(|error| error.kind());
            (client, emptied)
        });
        let (mut client, emptied) = reader.unwrap().join().unwrap();
        assert_eq!(emptied, Err(io::ErrorKind::WouldBlock));
        server.send_to(b"x", address).unwrap();
        assert_eq!(client.receive(0, &mut [0; 16]).unwrap(), 1);
    }
}
