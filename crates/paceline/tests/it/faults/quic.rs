//! A scripted HTTP/3 server over a UDP socket: `quinn-proto` and one thread.
//!
//! It reads of a request only where it ends. The simulated server of the engine, with loss and random faults, is not
//! compiled into the binary under test.

use super::secure;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, EndpointEvent, Event,
    ServerConfig, StreamEvent, StreamId, VarInt,
};
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest wait for a datagram while no timer of QUIC is earlier.
const TURN: Duration = Duration::from_millis(50);

/// What a server does; requests and connections are numbered from 1.
#[derive(Clone, Copy)]
pub struct Script {
    /// With the first packet of a client.
    pub greet: Greeting,
    /// The bytes of the control stream, which begins with its type.
    pub control: fn() -> Vec<u8>,
    /// The answer to a request, given its number over all connections.
    pub answer: fn(u64) -> Answer,
}

/// What a server does with the first packet of a client.
#[derive(Clone, Copy)]
pub enum Greeting {
    Accept,
    Refuse,
    /// Speaks only version 2 of QUIC (RFC 9369), and says so.
    OtherVersion,
    /// Sends Retry, and accepts the packet that follows it.
    Retry,
    /// Accepts, and closes when the handshake is done.
    Close,
    /// Accepts, and answers each request when its stream opens, after STOP_SENDING with this code.
    StopSending(u32),
}

/// The bytes of the stream of a response, and what follows them.
pub struct Answer {
    pub bytes: Vec<u8>,
    pub end: End,
}

/// The end of a response.
pub enum End {
    Fin,
    /// None: the stream stays open.
    Open,
    Reset(u32),
    /// CONNECTION_CLOSE with this code and reason.
    Close(u32, &'static str),
    /// GOAWAY on the control stream: no request is processed.
    GoAway,
    /// The control stream ends.
    ControlStream,
    /// None: the server forgets the connection, as after a restart, and answers its packets with stateless resets.
    Forget,
}

struct Peer {
    handle: ConnectionHandle,
    connection: Connection,
    control: Option<StreamId>,
    /// Answers of which something is still to be sent.
    answers: Vec<(StreamId, Answer)>,
    is_forgotten: bool,
}

struct Server {
    script: Script,
    endpoint: Endpoint,
    socket: UdpSocket,
    peers: HashMap<SocketAddr, Peer>,
    requests: u64,
}

/// Serves on a free port until the tests end.
pub fn serve(script: Script) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let crypto = QuicServerConfig::try_from(secure::config_of(b"h3")).unwrap();
    let config = ServerConfig::with_crypto(Arc::new(crypto));
    let mut of_endpoint = EndpointConfig::default();
    if let Greeting::OtherVersion = script.greet {
        of_endpoint.supported_versions(vec![0x6b33_43cf]);
    }
    let endpoint = Endpoint::new(Arc::new(of_endpoint), Some(Arc::new(config)), true, None);
    let mut server = Server { script, endpoint, socket, peers: HashMap::new(), requests: 0 };
    std::thread::spawn(move || {
        loop {
            server.turn();
        }
    });
    address
}

impl Server {
    /// Waits for a datagram or a timer and does what follows from it.
    fn turn(&mut self) {
        let now = Instant::now();
        let timers = self.peers.values_mut().filter_map(|peer| peer.connection.poll_timeout());
        let wait = timers.map(|at| at.saturating_duration_since(now)).min().unwrap_or(TURN);
        self.socket.set_read_timeout(Some(wait.clamp(Duration::from_millis(1), TURN))).unwrap();
        let mut datagram = [0; 2048];
        if let Ok((length, client)) = self.socket.recv_from(&mut datagram) {
            self.receive(&datagram[..length], client);
        }
        let clients: Vec<_> = self.peers.keys().copied().collect();
        clients.into_iter().for_each(|client| self.advance(client));
    }

    fn receive(&mut self, datagram: &[u8], client: SocketAddr) {
        let (mut reply, now) = (Vec::new(), Instant::now());
        match self.endpoint.handle(now, client, None, None, datagram.into(), &mut reply) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Greeting::Refuse = self.script.greet {
                    let _ = self.endpoint.refuse(incoming, &mut reply);
                } else if matches!(self.script.greet, Greeting::Retry) && incoming.may_retry() {
                    let _ = self.endpoint.retry(incoming, &mut reply);
                } else if let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut reply, None)
                {
                    let (control, answers) = (None, Vec::new());
                    let peer = Peer { handle, connection, control, answers, is_forgotten: false };
                    self.peers.insert(client, peer);
                }
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let peer = self.peers.get_mut(&client).filter(|peer| peer.handle == handle);
                if let Some(peer) = peer {
                    peer.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        let _ = self.socket.send_to(&reply, client);
    }

    fn advance(&mut self, client: SocketAddr) {
        let Some(mut peer) = self.peers.remove(&client) else { return };
        let now = Instant::now();
        if peer.connection.poll_timeout().is_some_and(|at| at <= now) {
            peer.connection.handle_timeout(now);
        }
        while let Some(event) = peer.connection.poll() {
            match event {
                Event::Connected => self.greet(&mut peer, now),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = peer.connection.streams().accept(dir) {
                        self.read(&mut peer, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(&mut peer, id),
                _ => {}
            }
        }
        let answers = std::mem::take(&mut peer.answers);
        peer.answers = answers.into_iter().filter_map(|(id, answer)| send(&mut peer, id, answer)).collect();
        if peer.is_forgotten {
            self.endpoint.handle_event(peer.handle, EndpointEvent::drained());
            return;
        }
        while let Some(event) = peer.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(peer.handle, event) {
                peer.connection.handle_event(event);
            }
        }
        let mut datagram = Vec::new();
        while peer.connection.poll_transmit(now, 1, &mut datagram).is_some() {
            let _ = self.socket.send_to(&datagram, client);
            datagram.clear();
        }
        if !peer.connection.is_drained() {
            self.peers.insert(client, peer);
        }
    }

    fn greet(&self, peer: &mut Peer, now: Instant) {
        if let Greeting::Close = self.script.greet {
            // H3_INTERNAL_ERROR (RFC 9114 §8.1).
            return peer.connection.close(now, VarInt::from_u32(0x102), "no worker".into());
        }
        peer.control = peer.connection.streams().open(Dir::Uni);
        if let Some(id) = peer.control {
            let answer = Answer { bytes: (self.script.control)(), end: End::Open };
            peer.answers.push((id, answer));
        }
    }

    /// Reads a stream of the client; the end of a request is answered.
    fn read(&mut self, peer: &mut Peer, id: StreamId) {
        let mut recv = peer.connection.recv_stream(id);
        if let (Greeting::StopSending(code), Dir::Bi) = (self.script.greet, id.dir()) {
            if recv.stop(VarInt::from_u32(code)).is_ok() {
                self.answer(peer, id);
            }
            return;
        }
        let Ok(mut chunks) = recv.read(true) else { return };
        let is_whole = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        if is_whole && id.dir() == Dir::Bi {
            self.answer(peer, id);
        }
    }

    fn answer(&mut self, peer: &mut Peer, id: StreamId) {
        self.requests += 1;
        peer.answers.push((id, (self.script.answer)(self.requests)));
    }
}

/// Sends as much of an answer as the client takes now; returns the rest.
fn send(peer: &mut Peer, id: StreamId, mut answer: Answer) -> Option<(StreamId, Answer)> {
    while !answer.bytes.is_empty() {
        match peer.connection.send_stream(id).write(&answer.bytes) {
            Ok(written) => drop(answer.bytes.drain(..written)),
            Err(quinn_proto::WriteError::Blocked) => return Some((id, answer)),
            Err(_) => return None,
        }
    }
    let code = VarInt::from_u32;
    // The client may have ended the stream.
    match answer.end {
        End::Open => {}
        End::Forget => peer.is_forgotten = true,
        End::Fin => drop(peer.connection.send_stream(id).finish()),
        End::Reset(number) => drop(peer.connection.send_stream(id).reset(code(number))),
        End::Close(number, reason) => peer.connection.close(Instant::now(), code(number), reason.into()),
        End::GoAway => {
            let mut bytes = Vec::new();
            paceline_http::h3::write_goaway(&mut bytes, 0);
            peer.control.map(|control| peer.connection.send_stream(control).write(&bytes));
        }
        End::ControlStream => drop(peer.control.map(|control| peer.connection.send_stream(control).finish())),
    }
    None
}
