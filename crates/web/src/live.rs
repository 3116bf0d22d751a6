//! Events of a run or a round in progress, for any number of visitors.
//!
//! Every event is kept, up to a limit, so that a page that is opened late or reloaded shows all events so far.

use crate::content::page_json;
use paceline_record::Second;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt as _};

/// Events that are kept for late visitors: an hour of seconds.
const MAX_EVENTS: usize = 3_600;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct LiveEvent {
    /// Counts events from 0.
    pub number: u64,
    /// `start`, `second`, `changed` or `end`.
    pub kind: &'static str,
    /// What is to be known about it.
    pub json: Arc<str>,
}

/// A second of a run in progress.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LiveSecond {
    /// What was measured in it.
    #[serde(flatten)]
    pub second: Second,
    /// Requests of this second and of all before it that did not end as `ok`, also of seconds that are no longer kept.
    pub failed_so_far: u64,
    /// Time until the window ends, in seconds, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
}

/// A run or round that may be in progress.
#[derive(Clone)]
pub struct LiveFeed(Arc<Mutex<EventBuffer>>);

struct EventBuffer {
    next: u64,
    /// Requests that failed in the seconds so far.
    failed: u64,
    kept: Vec<LiveEvent>,
    sender: broadcast::Sender<LiveEvent>,
}

impl Default for LiveFeed {
    fn default() -> Self {
        let (sender, _) = broadcast::channel(256);
        Self(Arc::new(Mutex::new(EventBuffer { next: 0, failed: 0, kept: Vec::new(), sender })))
    }
}

impl LiveFeed {
    /// Sends a second of the run to every visitor, with the time until its window ends, if that is known.
    pub fn publish_second(&self, second: Second, left_s: Option<f64>) {
        let failed_so_far = {
            let mut events = self.events();
            events.failed = events.failed.saturating_add(second.not_ok());
            events.failed
        };
        self.publish("second", &LiveSecond { second, failed_so_far, left_s });
    }

    /// Sends an event to every visitor.
    pub fn publish(&self, kind: &'static str, what: &impl Serialize) {
        let Ok(json) = page_json(what) else { return };
        let mut events = self.events();
        let event = LiveEvent { number: events.next, kind, json: json.into() };
        events.next += 1;
        if events.kept.len() >= MAX_EVENTS {
            // The first says what it is about.
            events.kept.remove(1);
        }
        events.kept.push(event.clone());
        // It fails only without a receiver.
        let _ = events.sender.send(event);
    }

    /// The events so far, then each as it comes. A receiver that falls far behind misses some.
    pub fn follow(&self) -> impl Stream<Item = LiveEvent> + use<> {
        let events = self.events();
        let coming = BroadcastStream::new(events.sender.subscribe()).filter_map(Result::ok);
        tokio_stream::iter(events.kept.clone()).chain(coming)
    }

    fn events(&self) -> MutexGuard<'_, EventBuffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_requests_are_counted_beyond_the_events_that_are_kept() {
        let live = LiveFeed::default();
        live.publish("start", &"a run");
        for _ in 0..MAX_EVENTS + 10 {
            live.publish_second(Second { ok: 5, timed_out: 1, unsent: 1, ..Second::default() }, None);
        }
        let events = live.events();
        assert_eq!((events.kept.len(), events.kept[0].kind), (MAX_EVENTS, "start"));
        let last: serde_json::Value = serde_json::from_str(&events.kept[MAX_EVENTS - 1].json).unwrap();
        assert_eq!(last["failed_so_far"], 2 * (MAX_EVENTS + 10));
        assert_eq!(last["timed_out"], 1);
    }
}
