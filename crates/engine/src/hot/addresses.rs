//! Spreads the connections of a worker over the addresses of the target, and counts what became of them on each.
//!
//! A connection is made to the address that has the fewest connections of its worker, among equals the next in turn.
//! After a failed attempt it goes to the address after that one, so that an address that refuses does not cost the load
//! its connections. A run with one address does not use this module.

use crate::outcome::{AddressCounts, ConnectionFailure};
use crate::{Settings, Slot};

/// The position of an address in [`Settings::spread`].
pub type AddressIndex = u16;

/// The addresses of a target, and which of them each connection goes to.
#[derive(Debug, Default)]
pub(crate) struct AddressSpread {
    /// Empty if there is only one.
    addresses: Box<[SpreadAddress]>,
    slots: Box<[SpreadSlot]>,
    /// The address whose turn is next.
    next: usize,
}

/// One address.
#[derive(Clone, Debug, Default)]
struct SpreadAddress {
    /// Connections to it, and attempts under way.
    connections: u32,
    counts: AddressCounts,
}

/// The address of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct SpreadSlot {
    address: AddressIndex,
    /// Whether its last attempt failed.
    has_failed: bool,
    /// Requests of the window that earlier connections of the slot had served.
    served_before: u64,
}

impl AddressSpread {
    /// The addresses for the connections of worker `worker`. The turns of the workers follow each other, so that all
    /// connections together are spread evenly.
    pub(super) fn new(settings: &Settings, worker: u32, connections: u32) -> Self {
        let count = settings.spread.len();
        if count < 2 {
            return Self::default();
        }
        let earlier: u64 = (0..worker).map(|worker| u64::from(settings.connections_of(worker))).sum();
        let loader = settings.job.share.map_or(0, |share| u64::from(share.index));
        Self {
            addresses: vec![SpreadAddress::default(); count].into(),
            slots: vec![SpreadSlot::default(); connections as usize].into(),
            next: ((earlier + loader) % count as u64) as usize,
        }
    }

    /// The address of the next attempt of a slot; none if there is only one.
    pub(super) fn choose(&mut self, slot: Slot) -> Option<AddressIndex> {
        let count = self.addresses.len();
        let at = self.slots.get_mut(slot as usize)?;
        let first = if at.has_failed { usize::from(at.address) + 1 } else { self.next };
        let mut turns = (0..count).map(|turn| (first + turn) % count);
        let chosen = match at.has_failed {
            true => turns.next(),
            // The first of the lowest.
            false => turns.min_by_key(|address| self.addresses[*address].connections),
        }?;
        self.next = (chosen + 1) % count;
        at.address = chosen as AddressIndex;
        self.addresses[chosen].connections += 1;
        Some(at.address)
    }

    /// A connection was made.
    pub(super) fn made(&mut self, slot: Slot) {
        if let Some(at) = self.slots.get_mut(slot as usize) {
            at.has_failed = false;
            self.addresses[usize::from(at.address)].counts.made += 1;
        }
    }

    /// An attempt to connect ended without a connection: it failed, or could not begin.
    pub(super) fn attempt_ended(&mut self, slot: Slot, failure: Option<ConnectionFailure>) {
        let Some(at) = self.slots.get_mut(slot as usize) else { return };
        let address = &mut self.addresses[usize::from(at.address)];
        address.connections -= 1;
        if let Some(failure) = failure {
            at.has_failed = true;
            address.counts.failed_attempts += 1;
            address.counts.note(failure, 1);
        }
    }

    /// A connection was closed. Its slot has served this many requests of the window, on all its connections.
    pub(super) fn closed(&mut self, slot: Slot, served: u64, failure: Option<ConnectionFailure>) {
        if let Some(at) = self.slots.get_mut(slot as usize) {
            let address = &mut self.addresses[usize::from(at.address)];
            address.connections -= 1;
            address.counts.requests += served - at.served_before;
            at.served_before = served;
            failure.into_iter().for_each(|failure| address.counts.note(failure, 1));
        }
    }

    /// Requests of the window on a connection were answered, but not as expected.
    #[cold]
    pub(super) fn answered_wrong(&mut self, slot: Slot, count: u16) {
        if let Some(at) = self.slots.get(slot as usize) {
            self.addresses[usize::from(at.address)].counts.failed_requests += u64::from(count);
        }
    }

    /// A request of the window on a connection ended without an answer.
    pub(super) fn unanswered(&mut self, slot: Slot) {
        if let Some(at) = self.slots.get(slot as usize) {
            let counts = &mut self.addresses[usize::from(at.address)].counts;
            counts.requests += 1;
            counts.failed_requests += 1;
        }
    }

    /// Returns the counts, given the requests of the window that each slot has served.
    pub(super) fn into_counts(mut self, served: &[u64]) -> Vec<AddressCounts> {
        for (at, served) in self.slots.iter().zip(served) {
            self.addresses[usize::from(at.address)].counts.requests += served - at.served_before;
        }
        self.addresses.into_iter().map(|address| address.counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Requests, ResponseCheck};
    use paceline_http::Method;
    use std::net::SocketAddr;
    use std::sync::Arc;

    fn settings(connections: u32, threads: u32, addresses: u16) -> Settings {
        let requests = Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, ResponseCheck::default());
        let job = Job { connections, threads, ..Job::default() };
        let spread: Vec<_> = (1..=addresses).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        Settings { spread: spread.clone().into(), ..Settings::new(job, spread[0], Arc::new(requests)) }
    }

    /// The number of first attempts at each address, over all workers.
    fn first_attempts(settings: &Settings) -> Vec<u32> {
        let mut attempts = vec![0; settings.spread.len()];
        for worker in 0..settings.threads {
            let count = settings.connections_of(worker);
            let mut spread = AddressSpread::new(settings, worker, count);
            for slot in 0..count {
                attempts[usize::from(spread.choose(slot).unwrap())] += 1;
            }
        }
        attempts
    }

    #[test]
    fn connections_of_all_workers_are_spread_evenly() {
        for (connections, threads, addresses, expected) in
            [(4, 2, 4, &[1, 1, 1, 1][..]), (10, 3, 2, &[5, 5]), (3, 3, 3, &[1, 1, 1]), (7, 2, 3, &[3, 2, 2])]
        {
            assert_eq!(first_attempts(&settings(connections, threads, addresses)), expected);
        }
        assert_eq!(AddressSpread::new(&settings(4, 1, 1), 0, 4).choose(0), None, "only one address");
    }

    #[test]
    fn a_failed_connection_goes_on_and_a_closed_one_is_replaced_where_it_is_missing() {
        let mut spread = AddressSpread::new(&settings(4, 1, 2), 0, 4);
        assert_eq!([0, 1, 2, 3].map(|slot| spread.choose(slot)), [0, 1, 0, 1].map(Some));
        [0, 2, 3].into_iter().for_each(|slot| spread.made(slot));
        spread.attempt_ended(1, Some(ConnectionFailure::Closed));
        assert_eq!(spread.choose(1), Some(0), "the next address");
        spread.made(1);
        spread.closed(3, 7, None);
        assert_eq!(spread.choose(3), Some(1), "the one with fewer connections");
        spread.made(3);
        spread.answered_wrong(3, 2);
        spread.unanswered(3);
        let counts = spread.into_counts(&[5, 6, 0, 9]);
        let requests: Vec<_> = counts.iter().map(|counts| (counts.made, counts.requests)).collect();
        assert_eq!(requests, [(3, 11), (2, 7 + 2 + 1)]);
        assert_eq!((counts[1].failed_attempts, counts[1].failed_requests), (1, 3));
        assert_eq!(counts[1].failures, [(ConnectionFailure::Closed, 1)]);
    }

    #[test]
    fn one_connection_visits_the_addresses_in_turn() {
        let mut spread = AddressSpread::new(&settings(1, 1, 3), 0, 1);
        let visited = [(); 5].map(|()| {
            let address = spread.choose(0);
            spread.made(0);
            spread.closed(0, 0, None);
            address
        });
        assert_eq!(visited, [0, 1, 2, 0, 1].map(Some));
    }
}
