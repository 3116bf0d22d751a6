//! Keeps the times of single requests, for a report that lists them.

use crate::Nanos;
use std::sync::{Arc, Mutex, PoisonError};

/// A request of the window that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When it was sent, since the end of the connect phase.
    pub sent: Nanos,
    /// How long its connection took, if that was made for it alone in a closed loop; otherwise 0.
    pub connect: Nanos,
    /// From its send to the first byte of the response.
    pub first_byte: Nanos,
    /// From its send to the last byte.
    pub service: Nanos,
    /// The status of the response.
    pub status: u16,
}

impl LoggedRequest {
    /// When its response was complete, since the end of the connect phase.
    pub fn completed(&self) -> Nanos {
        self.sent + self.service
    }
}

/// The requests of a run, up to a maximum. Workers add theirs when they end.
#[derive(Debug)]
pub struct RequestLog {
    max: usize,
    requests: Mutex<Vec<LoggedRequest>>,
}

impl RequestLog {
    /// A log of at most `max` requests, with 40 bytes of memory each.
    pub fn new(max: usize) -> Self {
        Self { max, requests: Mutex::default() }
    }

    /// Takes the requests out that were answered first, in the order of their responses.
    pub fn take(&self) -> Vec<LoggedRequest> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut requests = std::mem::take(&mut *requests);
        requests.sort_by_key(LoggedRequest::completed);
        requests.truncate(self.max);
        requests
    }
}

/// The requests of one worker.
#[derive(Debug)]
pub(crate) struct WorkerLog {
    log: Arc<RequestLog>,
    /// The end of the connect phase.
    pub epoch: Nanos,
    requests: Vec<LoggedRequest>,
}

impl WorkerLog {
    /// An empty one.
    pub(crate) fn new(log: &Arc<RequestLog>) -> Self {
        Self { log: Arc::clone(log), epoch: Nanos::ZERO, requests: Vec::new() }
    }

    /// Adds equal requests.
    pub(crate) fn add(&mut self, request: LoggedRequest, count: u16) {
        let count = usize::from(count).min(self.log.max - self.requests.len());
        self.requests.resize(self.requests.len() + count, request);
    }

    /// Adds them to those of the run.
    pub(crate) fn end(self) {
        self.log.requests.lock().unwrap_or_else(PoisonError::into_inner).extend(self.requests);
    }
}
