//! Makes what is sent: upgrade requests with their keys, and messages in masked frames.
//!
//! Keys and masks are drawn from the seed of the run. A mask protects proxies from scripts in browsers (RFC 6455 §10.3),
//! which a load does not contain.

use super::connection::WebSocketConnection;
use crate::hot::{RequestSource, SendTimes, Tracker};
use crate::{BodyCheck, Random, RequestKind, Settings, Slot, Transport};
use paceline_http::websocket::{
    HandshakeKey, MAX_FRAME_HEAD_BYTES, MessageType, Opcode, write_control, write_message,
};
use paceline_http::{Expander, RequestTemplate};
use std::io;

/// Separates the random streams of handshakes and of masks from other uses of the seed.
const KEYS: u64 = 0x7765_6273_6f63_6b65;
const MASKS: u64 = 0x6d61_736b_696e_6700;

/// The random numbers of a worker, for a use.
fn random(settings: &Settings, worker: u32, stream: u64) -> Random {
    let (place, _) = settings.place_of(worker);
    let mut seeds = Random::new(settings.seed ^ stream);
    (0..place).for_each(|_| _ = seeds.next_u64());
    Random::new(seeds.next_u64())
}

/// Makes the upgrade requests of one worker.
#[derive(Debug)]
pub(super) struct Upgrades {
    template: RequestTemplate,
    subprotocols: Vec<String>,
    expander: Expander<Random>,
    keys: Random,
    /// The last request.
    request: Vec<u8>,
}

impl Upgrades {
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let (place, places) = settings.place_of(worker);
        let (template, subprotocols) = match settings.requests.upgrade() {
            Some(upgrade) => (upgrade.template.clone(), upgrade.subprotocols.clone()),
            None => (RequestTemplate::fixed(Vec::new()), Vec::new()),
        };
        let mut keys = random(settings, worker, KEYS);
        let values = Random::new(keys.next_u64());
        let files = settings.requests.files();
        let expander = Expander::new(place, places, values, files, std::iter::once(&template));
        Self { template, subprotocols, expander, keys, request: Vec::new() }
    }

    /// The subprotocols that they offer.
    pub(super) fn subprotocols(&self) -> impl Iterator<Item = &str> + Clone {
        self.subprotocols.iter().map(String::as_str)
    }

    /// The request for a connection, which awaits its answer from now on.
    pub(super) fn make(&mut self, connection: &mut WebSocketConnection) -> &[u8] {
        let nonce = u128::from(self.keys.next_u64()) << 64 | u128::from(self.keys.next_u64());
        let key = HandshakeKey::from_nonce(nonce.to_ne_bytes());
        connection.upgrade(&key);
        self.request.clear();
        self.expander.expand(&self.template, &mut self.request);
        self.request.extend_from_slice(key.as_bytes());
        self.request.extend_from_slice(b"\r\n\r\n");
        &self.request
    }
}

/// Makes the messages of one worker.
#[derive(Debug)]
pub(super) struct Messages {
    source: RequestSource,
    kind: MessageType,
    depth: u16,
    masks: Random,
    /// The frames that are sent next, and the end of each.
    frames: Vec<u8>,
    ends: Vec<usize>,
    /// The numbers of the messages in flight, by connection and place.
    numbers: Box<[u64]>,
    /// Those messages, if their answers have to equal them and each is different.
    sent: Box<[Vec<u8>]>,
}

impl Messages {
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let requests = &settings.requests;
        let (place, places) = settings.place_of(worker);
        let depth = settings.job.depth;
        let all = settings.connections_of(worker) as usize * usize::from(depth);
        let is_echo = |kind: &RequestKind| matches!(kind.check.body, BodyCheck::Echo);
        let kept = if requests.kinds().iter().any(is_echo) { all } else { 0 };
        let longest = requests.longest() + MAX_FRAME_HEAD_BYTES;
        Self {
            source: RequestSource::new(requests, depth.into(), settings.seed, place, places),
            kind: requests.upgrade().map_or(MessageType::Text, |upgrade| upgrade.kind),
            depth,
            masks: random(settings, worker, MASKS),
            frames: Vec::with_capacity(longest * usize::from(depth)),
            ends: Vec::with_capacity(depth.into()),
            numbers: vec![0; all].into(),
            sent: vec![Vec::new(); kept].into(),
        }
    }

    fn index(&self, slot: Slot, place: u16) -> usize {
        slot as usize * usize::from(self.depth) + usize::from(place)
    }

    fn mask(masks: &mut Random) -> [u8; 4] {
        (masks.next_u64() as u32).to_ne_bytes()
    }

    /// Sends messages and begins those of which at least a byte was taken; the rest of the last one waits.
    pub(super) fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        connection: &mut WebSocketConnection,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let Self { source, masks, frames, ends, kind, .. } = self;
        frames.clear();
        ends.clear();
        for message in source.make_each(wanted.into()) {
            write_message(*kind, message, Self::mask(masks), frames);
            ends.push(frames.len());
        }
        let taken = transport.send(slot, frames)?;
        let (mut started, mut start) = (0, 0);
        while let Some(end) = self.ends.get(usize::from(started)).copied().filter(|_| start < taken) {
            let place = connection.place_after(tracker.exchanges().live(slot), self.depth);
            let index = self.index(slot, place);
            let Some((made, message)) = self.source.take() else { break };
            self.numbers[index] = made.number;
            if let Some(sent) = self.sent.get_mut(index) {
                sent.clear();
                sent.extend_from_slice(message);
            }
            let exchange = tracker.begin(send_times, made.kind, 1, taken.min(end) - start);
            tracker.exchanges_mut().begin_alike(slot, connection.oldest, 1, exchange);
            if end > taken {
                connection.out.extend_from_slice(&self.frames[taken..end]);
                (connection.unsent_block, connection.counts_unsent) = (exchange.block, true);
                connection.unsent_since = exchange.actual;
            }
            (started, start) = (started + 1, end);
        }
        Ok(started)
    }

    /// Sends the upgrade request of a connection, with which an exchange begins. Its message, if it has one, follows when
    /// the connection is open.
    pub(super) fn begin_listening<T: Transport>(
        &mut self,
        slot: Slot,
        connection: &mut WebSocketConnection,
        upgrades: &mut Upgrades,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let request = upgrades.make(connection);
        let taken = match transport.send(slot, request) {
            Ok(taken) => taken,
            Err(error) => {
                connection.close();
                return Err(error);
            }
        };
        connection.out.extend_from_slice(&request[taken..]);
        self.source.make(1);
        let Some((made, message)) = self.source.take() else { return Ok(0) };
        if !message.is_empty() {
            let mask = Self::mask(&mut self.masks);
            write_message(self.kind, message, mask, &mut connection.first_message);
        }
        let exchange = tracker.begin(send_times, made.kind, 1, taken);
        tracker.exchanges_mut().begin_alike(slot, connection.oldest, 1, exchange);
        (connection.unsent_block, connection.counts_unsent) = (exchange.block, true);
        connection.unsent_since = exchange.actual;
        Ok(1)
    }

    /// Appends a control frame to the bytes that wait.
    pub(super) fn write_control(&mut self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
        write_control(opcode, payload, Self::mask(&mut self.masks), out);
    }

    /// The message at a place, if its answer has to equal it.
    pub(super) fn sent(&self, slot: Slot, place: u16) -> &[u8] {
        self.sent.get(self.index(slot, place)).map_or(&[], Vec::as_slice)
    }

    /// The server has not answered the message at a place: it is sent again, with its number.
    pub(super) fn give_back(&mut self, slot: Slot, place: u16, kind: u16) {
        let number = self.numbers[self.index(slot, place)];
        self.source.give_back(kind, number);
    }

    /// Skips the next message, which will not be sent; returns its kind.
    pub(super) fn skip(&mut self) -> u16 {
        self.source.skip()
    }
}
