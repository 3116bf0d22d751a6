//! Events of a run or a round in progress, for any number of visitors.
//!
//! Every event is kept, up to a limit, so that a page that is opened late or reloaded shows all events so far.

use crate::content::page_json;
use paceline_record::Second;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Time until the window ends, in seconds, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
}

/// A run or round that may be in progress.
#[derive(Clone)]
pub struct LiveFeed(Arc<Mutex<EventBuffer>>);

struct EventBuffer {
    next: u64,
    kept: Vec<LiveEvent>,
    sender: broadcast::Sender<LiveEvent>,
}

impl Default for LiveFeed {
    fn default() -> Self {
        let (sender, _) = broadcast::channel(256);
        Self(Arc::new(Mutex::new(EventBuffer { next: 0, kept: Vec::new(), sender })))
    }
}

impl LiveFeed {
    /// Sends an event to every visitor.
    pub fn publish(&self, kind: &'static str, what: &impl Serialize) {
        let Ok(json) = page_json(what) else { return };
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let coming = BroadcastStream::new(events.sender.subscribe()).filter_map(Result::ok);
        tokio_stream::iter(events.kept.clone()).chain(coming)
    }
}
