//! WebSockets: each kind of message is sent once, on a separate connection, or that connection listens.

use super::{DebugExchange, DebugOutcome, Timeout};
use crate::exchange::{Message, over_http2, over_websocket};
use crate::{Prepared, RunError};
use paceline_engine::{Ending, EngineError, Nanos, Settings, ThreadOutcome, run_tapped};
use paceline_job::{Protocol, RequestSpec};
use std::error::Error as _;

/// The maximum number of connections shown for a message that was answered: a server may have ended those before.
const MAX_CONNECTIONS: usize = 2;

impl Prepared {
    /// Sends each kind of message once, or listens on a connection for each.
    ///
    /// # Errors
    /// [`RunError`] if no handshake was sent.
    pub(super) fn debug_websockets(&self) -> Result<DebugOutcome, RunError> {
        let (mut exchanges, requests) = (Vec::new(), &self.settings.requests);
        for (kind, requests) in (0..).map_while(|kind| Some((kind, requests.only(kind)?))) {
            let settings = self.once(requests, 1).with(|job| {
                job.requests = job.requests.get(kind).cloned().into_iter().collect();
            });
            let (outcome, events) = run_tapped(&settings);
            let connections = match settings.job.protocol {
                Protocol::Http2 => over_http2(&events),
                Protocol::Http10 | Protocol::Http11 | Protocol::Http3 => {
                    over_websocket(&events, settings.job.line_ends())
                }
            };
            exchanges.extend(self.connections(&settings, connections, &outcome));
            if let Err(error) = outcome {
                let error = RunError::Engine(error);
                return if exchanges.is_empty() {
                    Err(error)
                } else {
                    Ok(DebugOutcome { exchanges, error: Some(error) })
                };
            }
        }
        Ok(DebugOutcome { exchanges, error: None })
    }

    /// The last connections of a message, of which the last one has the result. If all failed, they are alike.
    fn connections(
        &self,
        settings: &Settings,
        mut connections: Vec<Message>,
        outcome: &Result<ThreadOutcome, EngineError>,
    ) -> Vec<DebugExchange> {
        let faults = faults(outcome, settings.job.timeout);
        let most = if faults.is_empty() { MAX_CONNECTIONS } else { 1 };
        connections.drain(..connections.len().saturating_sub(most));
        let name = settings.job.requests.first().map_or("", RequestSpec::shown_name);
        let last = connections.len().saturating_sub(1);
        let shown = connections.into_iter().enumerate().map(|(index, mut connection)| {
            if let Some(frames) = &mut connection.websocket {
                frames.end();
            }
            let faults = match index == last {
                true => faults.clone(),
                false => vec!["no answer on this connection".to_owned()],
            };
            self.shown(name, connection, None, faults, outcome.as_ref().ok())
        });
        shown.collect()
    }
}

/// What was wrong with the answer to a message, or with its connection.
fn faults(outcome: &Result<ThreadOutcome, EngineError>, limit: Nanos) -> Vec<String> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return vec![error.source().map_or_else(|| error.to_string(), ToString::to_string)],
    };
    let ended = |ending| outcome.total.counts.ended(ending) > 0;
    if ended(Ending::Ok) {
        return Vec::new();
    }
    let mut faults: Vec<String> =
        outcome.wrong_bodies.iter().flatten().map(|wrong| format!("body: {}", wrong.fault)).collect();
    faults.extend(outcome.connections.failures.iter().map(|(failure, _)| {
        match outcome.connections.details_of(*failure) {
            Some(details) => format!("{failure} ({details})"),
            None => failure.to_string(),
        }
    }));
    faults.extend(ended(Ending::TimedOut).then(|| format!("no answer {}", Timeout { limit })));
    if faults.is_empty() {
        faults.push("no answer".to_owned());
    }
    faults
}
