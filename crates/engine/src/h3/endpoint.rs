//! Wraps `quinn-proto`, the state machines of QUIC (RFC 9000, 9001, 9002): its configuration, its time, and datagrams in
//! and out.
//!
//! Each connection has its own connected socket, so packets to Paceline need no connection id (RFC 9000 §5.1), and the
//! network address of the server has no meaning here: QUIC is given one that names the slot. Migration is not used.

use crate::tls::{QuicTls, TlsSettings};
use crate::{Nanos, Settings, Slot};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, EndpointEvent,
    IdleTimeout, RandomConnectionIdGenerator, TransportConfig, VarInt,
};
use std::io;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bytes of a stream that the server may send ahead: a body of 200 MB is not held back by the round trips of a fast
/// network. What has come is read at once, so it does not wait in memory.
const STREAM_WINDOW: u32 = 16 << 20;
/// The bytes of bodies that are read while they are sent which a connection keeps until they are acknowledged: four
/// pieces, in place of the 10 MB that QUIC keeps by default. Bodies of other kinds share their bytes.
const READ_BODY_WINDOW: u64 = 256 * 1024;
/// The unidirectional streams that a server may open: RFC 9114 §6.2 asks for at least three.
const SERVER_STREAMS: u32 = 16;
/// The idle timeout, unless requests may take longer: the default of most implementations.
const MIN_IDLE: Nanos = Nanos::from_secs(30);
/// The port in the addresses of slots, which must not be 0.
const PORT: u16 = 443;

/// A connection of QUIC.
pub(super) struct Quic {
    pub handle: ConnectionHandle,
    pub connection: Box<Connection>,
}

/// QUIC for the connections of a worker.
pub(super) struct QuicEndpoint {
    endpoint: Endpoint,
    config: ClientConfig,
    pub tls: QuicTls,
    /// The origin of QUIC's time. Only differences count, so any moment will do, and this type has no zero.
    origin: Instant,
    /// Replies of the endpoint itself, which a client never sends.
    replies: Vec<u8>,
}

impl QuicEndpoint {
    /// QUIC for worker `worker`. The check of the settings has made sure that they have TLS 1.3.
    pub(super) fn new(settings: &Settings, worker: u32) -> Option<Self> {
        let connections = settings.connections_of(worker);
        let tls: &TlsSettings = settings.tls.as_ref()?;
        let tls = QuicTls::new(tls, connections)?;
        let mut config = EndpointConfig::default();
        config.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&settings.seed.to_be_bytes());
        seed[8..12].copy_from_slice(&worker.to_be_bytes());
        let endpoint = Endpoint::new(Arc::new(config), None, true, Some(seed));
        let mut client = ClientConfig::new(tls.config());
        client.transport_config(Arc::new(transport_config(settings)));
        Some(Self { endpoint, config: client, tls, origin: Instant::now(), replies: Vec::new() })
    }

    /// A moment as QUIC has it.
    #[inline]
    pub(super) fn instant(&self, now: Nanos) -> Instant {
        self.origin + Duration::from_nanos(now.0)
    }

    /// When the next timer of a connection runs out.
    #[inline]
    pub(super) fn timeout(&self, connection: &mut Connection) -> Nanos {
        connection.poll_timeout().map_or(Nanos::NEVER, |at| {
            u64::try_from(at.saturating_duration_since(self.origin).as_nanos()).map_or(Nanos::NEVER, Nanos)
        })
    }

    /// Begins a handshake.
    pub(super) fn connect(&mut self, slot: Slot, now: Nanos) -> io::Result<Quic> {
        let (config, now) = (self.config.clone(), self.instant(now));
        let (handle, connection) =
            self.endpoint.connect(now, config, name_of(slot), "").map_err(io::Error::other)?;
        Ok(Quic { handle, connection: Box::new(connection) })
    }

    /// Passes received datagrams of `segment` bytes each to their connection.
    pub(super) fn receive(&mut self, slot: Slot, quic: &mut Quic, input: &[u8], segment: usize, now: Nanos) {
        let now = self.instant(now);
        for datagram in input.chunks(segment) {
            self.replies.clear();
            let data = BytesMut::from(datagram);
            let event = self.endpoint.handle(now, name_of(slot), None, None, data, &mut self.replies);
            if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
                && handle == quic.handle
            {
                quic.connection.handle_event(event);
            }
        }
        self.exchange_events(quic);
    }

    /// Exchanges the events between a connection and its endpoint.
    pub(super) fn exchange_events(&mut self, quic: &mut Quic) {
        while let Some(event) = quic.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(quic.handle, event) {
                quic.connection.handle_event(event);
            }
        }
    }

    /// Forgets a connection.
    pub(super) fn forget(&mut self, quic: &Quic) {
        self.endpoint.handle_event(quic.handle, EndpointEvent::drained());
    }
}

/// The address that names a slot.
fn name_of(slot: Slot) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::from(u128::from(slot) + 1), PORT))
}

fn transport_config(settings: &Settings) -> TransportConfig {
    let idle = settings.job.timeout.max(MIN_IDLE).0 / 1_000_000;
    let idle = VarInt::from_u64(idle).map_or(VarInt::MAX, |millis| millis);
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(SERVER_STREAMS))
        .max_idle_timeout(Some(IdleTimeout::from(idle)))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .datagram_receive_buffer_size(None);
    if settings.requests.have_read_bodies() {
        config.send_window(READ_BODY_WINDOW);
    }
    config
}
