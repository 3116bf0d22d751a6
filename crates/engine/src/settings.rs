//! Defines the settings of a run: a job, and the values that were looked up or computed for it.

use crate::script::Scripts;
use crate::tls::TlsSettings;
use crate::{Address, Bound, EngineError, Job, Nanos, PaceKind, RequestLog, Requests};
use paceline_job::{LoaderShare, Protocol};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The pipelined requests of a connection are one piece of memory in each thread; a larger size is a mistake.
const MAX_OUTGOING_BYTES: usize = 1 << 30;
/// The requests in flight of all connections have places in tables that are filled before the run begins: 8 GiB for
/// this many, twice that with HTTP/2. A larger number is a mistake.
const MAX_OUTSTANDING: u64 = 1 << 28;

/// A job that is ready to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The job to run.
    pub job: Job,
    /// The address that connections go to.
    pub address: Address,
    /// The addresses that connections are spread over, the first of which is `address`; empty if all go to that.
    pub spread: Arc<[SocketAddr]>,
    /// TLS, if it is used.
    pub tls: Option<Arc<TlsSettings>>,
    /// The requests of the job as bytes, and the checks of their responses.
    pub requests: Arc<Requests>,
    /// The programs that make the requests, if there are any: one for each thread.
    pub scripts: Option<Scripts>,
    /// Where single requests are kept, if a report lists them.
    pub request_log: Option<Arc<RequestLog>>,
    /// The addresses that the connections of single threads go to instead, by thread.
    pub thread_addresses: Arc<[Option<Address>]>,
    /// The number of threads, each with its own connections: those of the job, or more if one descriptor table does not
    /// suffice.
    pub threads: u32,
    /// The pace chosen for the job on this machine.
    pub pace: PaceKind,
    /// Local addresses over which connections are distributed; if there are none, the kernel chooses.
    pub sources: Arc<[IpAddr]>,
    /// Whether each thread has its own descriptor table, and with it its own limit.
    pub own_descriptors: bool,
    /// The seed of random arrivals, of the choice among requests and of the values in them.
    pub seed: u64,
}

impl Settings {
    /// Settings for a job in plain text with its own threads and seed, sleeping between sends, from addresses chosen by
    /// the kernel.
    pub fn new(job: Job, address: impl Into<Address>, requests: Arc<Requests>) -> Self {
        Self {
            address: address.into(),
            spread: Arc::from([]),
            tls: None,
            requests,
            scripts: None,
            request_log: None,
            thread_addresses: Arc::from([]),
            threads: job.threads,
            pace: PaceKind::Sleep,
            sources: Arc::from([]),
            own_descriptors: false,
            seed: job.seed.unwrap_or_default(),
            job,
        }
    }

    /// The same with a changed job.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Job)) -> Self {
        change(&mut self.job);
        self
    }

    /// Checks the job, and that the prepared parts fit it.
    ///
    /// # Errors
    /// [`EngineError::Job`] or [`EngineError::Settings`] naming the invalid part.
    pub fn check(&self) -> Result<(), EngineError> {
        self.job.check().map_err(EngineError::Job)?;
        let segments = self.inner_segment_ends().len() + 2;
        let problem = if self.threads == 0 || self.threads > self.job.connections {
            "more threads (-t) than connections (-c): every thread needs at least one connection"
        } else if !self.sources_fit() {
            "a source address and the target have different IP versions"
        } else if !self.address.is_possible() {
            "the path of a unix socket must have 1 to 107 bytes"
        } else if self.scripts.as_ref().is_some_and(|scripts| scripts.count() < self.threads as usize) {
            "there are more threads than programs that make requests; this is a bug in Paceline"
        } else if self.scripts.is_some() && (self.job.protocol == Protocol::Http3 || self.job.is_websocket())
        {
            "scripts and logs make requests of HTTP/1.1 and HTTP/2 only: leave --http 3 out, and use an http:// or https:// URL"
        } else if self.requests.is_empty() {
            "there is no request, or a request is empty"
        } else if self.job.protocol.has_streams()
            && !self.job.is_websocket()
            && self.requests.http2().len() != self.requests.kinds().len()
        {
            "the requests were not prepared for HTTP/2 and HTTP/3; this is a bug in Paceline"
        } else if self.job.protocol == Protocol::Http3
            && !self.tls.as_ref().is_some_and(|tls| tls.has_tls13())
        {
            "HTTP/3 needs TLS 1.3: use an https:// URL, and leave --tls-version 1.2 out"
        } else if self.job.is_websocket() != self.requests.upgrade().is_some() {
            "the requests were not prepared for the URL's protocol; this is a bug in Paceline"
        } else if self.requests.longest().saturating_mul(self.job.depth.into()) > MAX_OUTGOING_BYTES {
            "the outstanding requests of one connection exceed 1 GiB in total: pipeline fewer requests, or send shorter ones"
        } else if u64::from(self.job.connections) * u64::from(self.job.depth) > MAX_OUTSTANDING {
            "more than 268 million requests would be in flight at once: use fewer connections (-c), or pipeline fewer requests"
        } else if segments * self.requests.kinds().len() > usize::from(u16::MAX) {
            "too many different requests for a rate with so many steps: use fewer requests, or fewer steps"
        } else {
            return Ok(());
        };
        Err(EngineError::Settings(problem))
    }

    /// The number of kinds of request, each with its own block.
    pub(crate) fn kinds(&self) -> u16 {
        u16::try_from(self.requests.kinds().len()).unwrap_or(u16::MAX)
    }

    /// The ends of the window's segments, relative to its beginning, except for the last, which ends with the window.
    pub(crate) fn inner_segment_ends(&self) -> Vec<Nanos> {
        let mut ends: Vec<_> = self.job.segments().iter().map(|segment| segment.end).collect();
        ends.pop();
        ends
    }

    /// The number of connections of worker `k`.
    pub(crate) fn connections_of(&self, worker: u32) -> u32 {
        self.job.connections_of(worker, self.threads)
    }

    /// The number of connections of worker `k` at a moment from the beginning of the window on, and when it changes next;
    /// [`Nanos::NEVER`] if it does not.
    pub(crate) fn planned_connections(&self, worker: u32, moment: Nanos) -> (u32, Nanos) {
        match (&self.job.connection_plan, self.job.window) {
            (Some(plan), Bound::Duration(window)) => {
                let (connections, until) = plan.at(window, moment);
                (Job::share_of(connections, worker, self.threads), until)
            }
            (None, _) | (Some(_), Bound::Requests(_)) => (self.connections_of(worker), Nanos::NEVER),
        }
    }

    /// The address that the connections of worker `k` go to.
    pub(crate) fn address_of(&self, worker: u32) -> &Address {
        self.thread_addresses.get(worker as usize).and_then(Option::as_ref).unwrap_or(&self.address)
    }

    /// The index of worker `k` among the workers of all loaders, and their number. Loader i of N has the ticks i, i +
    /// N, ..., and divides them among its workers: equal numbers of threads give all workers equal parts.
    pub(crate) fn place_of(&self, worker: u32) -> (u32, u32) {
        let share = self.job.share.unwrap_or(LoaderShare::ALL);
        (share.index + share.of * worker, share.of * self.threads)
    }

    /// The addresses that the connections of worker `k` are spread over; one if they are not.
    pub(crate) fn addresses_of(&self, worker: u32) -> Vec<Address> {
        match &*self.spread {
            [] => vec![self.address_of(worker).clone()],
            spread => spread.iter().copied().map(Address::Tcp).collect(),
        }
    }

    /// Whether every source address can reach the target, or one of its addresses.
    fn sources_fit(&self) -> bool {
        let reaches = |source: &IpAddr, target: &SocketAddr| source.is_ipv4() == target.is_ipv4();
        self.sources.iter().all(|source| match &self.address {
            _ if !self.spread.is_empty() => self.spread.iter().any(|target| reaches(source, target)),
            Address::Tcp(target) => reaches(source, target),
            Address::Unix(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResponseCheck;
    use paceline_http::Method;

    #[test]
    fn more_requests_in_flight_than_memory_has_room_for_are_refused() {
        let check = |connections| {
            let requests =
                Requests::fixed(b"GET / HTTP/1.1\r\n\r\n", Method::Other, ResponseCheck::default());
            let job = Job { connections, depth: u16::MAX, ..Job::default() };
            Settings::new(job, SocketAddr::from(([127, 0, 0, 1], 9)), Arc::new(requests)).check()
        };
        assert!(check(4_096).is_ok());
        let error = check(4_097).unwrap_err().to_string();
        assert!(error.contains("(-c)"), "{error}");
    }
}
