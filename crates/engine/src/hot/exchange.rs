//! Stores the exchanges in flight: which requests were sent and have not ended, by connection and place.
//!
//! A protocol chooses the place of an exchange in its connection, and addresses it by that: HTTP/1.1 in a ring, since
//! responses come in the order of the requests, HTTP/2 by stream, since they come in any order. The table is one
//! allocation made at the start; it does not depend on the protocol.

use super::blocks::BlockIndex;
use crate::{Nanos, Slot};

/// The position of an exchange in its connection's part of the table.
pub type ExchangeIndex = u16;

/// One exchange: the three moments from which its times are computed, and its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The intended send; equal to `actual` in a closed loop.
    pub intended: Nanos,
    /// Just before its first byte was handed to the socket.
    pub actual: Nanos,
    /// When the connection became free for it.
    pub free_at: Nanos,
    /// The block in which it is counted.
    pub block: BlockIndex,
    /// How often the server has handed it back unprocessed.
    pub returns: u8,
}

impl Exchange {
    /// A place without an exchange.
    pub(crate) const VACANT: Self =
        Self { intended: Nanos::ZERO, actual: Nanos::NEVER, free_at: Nanos::ZERO, block: 0, returns: 0 };

    fn is_vacant(&self) -> bool {
        self.actual == Nanos::NEVER
    }
}

/// A step of a session that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub struct WaitingStep {
    /// The block in which it is counted.
    pub block: BlockIndex,
    /// When it is due.
    pub due: Nanos,
    /// Its exchange, if it was sent before.
    pub sent: Option<SetAside>,
}

/// An exchange that was removed from its place and has not ended: another request will continue it.
#[derive(Clone, Copy, Debug)]
pub struct SetAside {
    /// The exchange.
    pub exchange: Exchange,
    /// Why it is not in its place.
    pub reason: SetAsideReason,
}

/// The reason why an exchange was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetAsideReason {
    /// It was answered by a redirect, which the next request follows.
    Redirect,
    /// The server has not processed it: the same request is sent again.
    HandedBack,
}

/// All exchanges in flight of a worker.
#[derive(Debug)]
pub struct Exchanges {
    /// The number of places of each connection.
    places: usize,
    table: Vec<Exchange>,
    /// Exchanges in flight, by connection.
    live: Vec<u16>,
    /// Their sum.
    outstanding: u64,
}

impl Exchanges {
    /// A table with this many places for each connection.
    pub(super) fn new(connections: u32, places: u16) -> Self {
        let (connections, places) = (connections as usize, usize::from(places));
        Self {
            places,
            table: vec![Exchange::VACANT; connections * places],
            live: vec![0; connections],
            outstanding: 0,
        }
    }

    /// Exchanges in flight over all connections.
    #[inline]
    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Exchanges in flight on a connection.
    #[inline]
    pub(crate) fn live(&self, slot: Slot) -> u16 {
        self.live[slot as usize]
    }

    #[inline]
    fn index(&self, slot: Slot, place: ExchangeIndex) -> usize {
        slot as usize * self.places + usize::from(place)
    }

    /// The places of a connection.
    fn part(&self, slot: Slot) -> &[Exchange] {
        let start = self.index(slot, 0);
        &self.table[start..start + self.places]
    }

    /// The exchange at an occupied place.
    #[inline]
    pub(crate) fn at(&self, slot: Slot, place: ExchangeIndex) -> &Exchange {
        &self.table[self.index(slot, place)]
    }

    /// Puts an exchange at a vacant place.
    #[inline]
    pub(crate) fn begin(&mut self, slot: Slot, place: ExchangeIndex, exchange: Exchange) {
        let index = self.index(slot, place);
        debug_assert!(self.table[index].is_vacant());
        self.table[index] = exchange;
        self.live[slot as usize] += 1;
        self.outstanding += 1;
    }

    /// Puts equal exchanges at the vacant places after those in flight, of which `oldest` is the first, cyclically.
    #[inline(always)]
    pub(crate) fn begin_alike(&mut self, slot: Slot, oldest: ExchangeIndex, count: u16, exchange: Exchange) {
        let start = slot as usize * self.places;
        let ring = &mut self.table[start..start + self.places];
        let live = &mut self.live[slot as usize];
        let mut at = usize::from(oldest) + usize::from(*live);
        if at >= ring.len() {
            at -= ring.len();
        }
        *live += count;
        self.outstanding += u64::from(count);
        for _ in 0..count {
            ring[at] = exchange;
            at = if at + 1 == ring.len() { 0 } else { at + 1 };
        }
    }

    /// Removes an exchange; none if the place is vacant.
    #[inline(always)]
    pub(crate) fn end(&mut self, slot: Slot, place: ExchangeIndex) -> Option<Exchange> {
        let index = self.index(slot, place);
        let exchange = self.table[index];
        if exchange.is_vacant() {
            return None;
        }
        self.table[index].actual = Nanos::NEVER;
        self.live[slot as usize] -= 1;
        self.outstanding -= 1;
        Some(exchange)
    }

    /// Removes the exchange at a place and those in the places after it, cyclically, that were sent at the same time:
    /// at most `most` in all. Pipelined requests that share a send share their times.
    #[inline(always)]
    pub(crate) fn end_alike(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        most: u16,
    ) -> Option<(Exchange, u16)> {
        let most = most.min(self.live[slot as usize]);
        if most == 0 {
            return None;
        }
        let start = slot as usize * self.places;
        let ring = &mut self.table[start..start + self.places];
        let mut at = usize::from(place);
        let first = ring[at];
        ring[at].actual = Nanos::NEVER;
        let mut taken = 1;
        while taken < most {
            at = if at + 1 == ring.len() { 0 } else { at + 1 };
            if ring[at] != first {
                break;
            }
            ring[at].actual = Nanos::NEVER;
            taken += 1;
        }
        self.live[slot as usize] -= taken;
        self.outstanding -= u64::from(taken);
        Some((first, taken))
    }

    /// When the oldest exchange in flight on a connection was sent.
    pub(super) fn oldest(&self, slot: Slot) -> Option<Nanos> {
        if self.live(slot) == 0 {
            return None;
        }
        self.part(slot).iter().map(|exchange| exchange.actual).min()
    }

    /// The number of places of a connection.
    pub(super) fn places(&self) -> ExchangeIndex {
        self.places as ExchangeIndex
    }

    /// Whether there is an exchange at a place that was sent at or before `latest`.
    pub(super) fn is_sent_by(&self, slot: Slot, place: ExchangeIndex, latest: Nanos) -> bool {
        let exchange = self.at(slot, place);
        !exchange.is_vacant() && exchange.actual <= latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_at(actual: u64) -> Exchange {
        Exchange { actual: Nanos(actual), ..Exchange::VACANT }
    }

    #[test]
    fn exchanges_end_in_any_order() {
        let mut exchanges = Exchanges::new(2, 4);
        for (place, at) in [(3, 30), (0, 10), (2, 20)] {
            exchanges.begin(1, place, sent_at(at));
        }
        assert_eq!((exchanges.live(0), exchanges.live(1), exchanges.outstanding()), (0, 3, 3));
        assert_eq!((exchanges.oldest(0), exchanges.oldest(1)), (None, Some(Nanos(10))));
        assert_eq!(exchanges.end(1, 0).map(|exchange| exchange.actual), Some(Nanos(10)));
        assert_eq!(exchanges.end(1, 0), None, "ended once");
        let sent_by = |latest| (0..4).filter(|place| exchanges.is_sent_by(1, *place, Nanos(latest))).count();
        assert_eq!((sent_by(19), sent_by(20), sent_by(30)), (0, 1, 2));
        assert_eq!((exchanges.live(1), exchanges.outstanding()), (2, 2));
    }

    #[test]
    fn exchanges_of_one_send_end_together_around_the_ring() {
        let mut exchanges = Exchanges::new(1, 3);
        for (place, at) in [(1, 5), (2, 7), (0, 7)] {
            exchanges.begin(0, place, sent_at(at));
        }
        assert_eq!(exchanges.end_alike(0, 1, 3).map(|(_, count)| count), Some(1), "the next was sent later");
        assert_eq!(exchanges.end_alike(0, 2, 3).map(|(_, count)| count), Some(2));
        assert_eq!(exchanges.end_alike(0, 1, 3), None);
        assert_eq!(exchanges.outstanding(), 0);
    }
}
