//! Stores sessions to resume: those of one worker with one server.
//!
//! rustls's own store keeps 8 tickets of TLS 1.3 for a server, which suits a browser. Here every connection stands for
//! a separate client, so as many are kept as there are connections. The locks are required by the trait: each worker
//! has its own store, so that no thread waits for another.

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The stored sessions of a worker's only server.
#[derive(Debug, Default)]
struct SessionCache {
    group: Option<NamedGroup>,
    session: Option<Tls12ClientSessionValue>,
    /// Each is valid for one handshake; the newest is used first.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

/// Sessions of one worker.
#[derive(Debug)]
pub(super) struct Tickets {
    memory: Mutex<SessionCache>,
    most: usize,
}

impl Tickets {
    /// Keeps at most `most` tickets.
    pub(super) fn new(most: usize) -> Self {
        Self { memory: Mutex::default(), most }
    }

    fn memory(&self) -> MutexGuard<'_, SessionCache> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.memory().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.memory().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.memory().session = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.memory().session.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.memory().session = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut memory = self.memory();
        if memory.tickets.len() == self.most {
            memory.tickets.pop_front();
        }
        memory.tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.memory().tickets.pop_back()
    }
}
