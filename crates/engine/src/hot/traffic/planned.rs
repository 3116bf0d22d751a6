//! Follows a plan of connections: a closed loop whose number of connections changes over the window.
//!
//! The connections in use are those of the first slots. A further one is made when the number grows. When it falls, the
//! last ones retire: each ends when its requests are answered and the sessions that have begun on it are over.

use super::Traffic;
use crate::hot::pool::{ClosedBy, ConnectionState};
use crate::hot::protocol::ProtocolHandler;
use crate::hot::scenario::Scenario;
use crate::timers::TimerKind;
use crate::{Clock, Nanos, Slot, Timeline, Transport};

impl<C: Clock, T: Transport, P: ProtocolHandler> Traffic<'_, C, T, P> {
    /// Follows the plan from the beginning of the window on, if there is one.
    pub(super) fn begin_plan(&mut self, timeline: &Timeline) {
        self.window_start = timeline.window_start;
        if self.pool.is_planned() {
            self.timers.set(timeline.window_start, 0, TimerKind::Plan);
        }
    }

    /// Sets the number of connections to that of the plan, and the alarm for its next change.
    #[cold]
    pub(super) fn follow_plan(&mut self, now: Nanos) {
        let (count, until) = self.settings.planned_connections(self.worker, now.since(self.window_start));
        let before = self.pool.set_active(count);
        (before..count).for_each(|slot| self.resume(slot, now));
        (count..before).for_each(|slot| self.retire(slot, now));
        if until != Nanos::NEVER {
            self.timers.set(self.window_start + until, 0, TimerKind::Plan);
        }
    }

    /// A connection is needed.
    fn resume(&mut self, slot: Slot, now: Nanos) {
        match self.pool.state(slot) {
            ConnectionState::Closed if self.wants_connections() => self.pool.handshakes.queue(slot),
            ConnectionState::Retiring { .. } => {
                self.pool.connections.resume(slot);
                self.keep(slot, false, now);
            }
            ConnectionState::Closed
            | ConnectionState::Connecting { .. }
            | ConnectionState::Greeting { .. }
            | ConnectionState::Last
            | ConnectionState::Thinking { .. }
            | ConnectionState::Full { .. }
            | ConnectionState::Open { .. } => {}
        }
    }

    /// A connection is not needed any more. An attempt to connect is not abandoned: the connection ends when it is made.
    pub(super) fn retire(&mut self, slot: Slot, now: Nanos) {
        match self.pool.state(slot) {
            ConnectionState::Closed
            | ConnectionState::Connecting { .. }
            | ConnectionState::Greeting { .. }
            | ConnectionState::Last
            | ConnectionState::Retiring { .. } => {}
            ConnectionState::Thinking { .. }
            | ConnectionState::Full { .. }
            | ConnectionState::Open { .. } => {
                self.pool.connections.retire(slot);
                if self.is_used_up(slot) {
                    self.disconnect(slot, ClosedBy::Plan, None, now);
                }
            }
        }
    }

    /// Whether a connection is needed: it is in use, or a session that has begun on it waits for its next step.
    pub(super) fn is_needed(&self, slot: Slot) -> bool {
        self.pool.is_active(slot) || self.has_waiting_step(slot)
    }

    /// Whether a session on a connection waits for its next step.
    pub(super) fn has_waiting_step(&self, slot: Slot) -> bool {
        P::Scenario::IS_USED && self.protocol.scenario().next_step(slot) != Nanos::NEVER
    }

    /// Counts the connections that are open from now on, if their number is planned.
    pub(super) fn count_open(&mut self, now: Nanos) {
        if self.pool.is_planned() {
            let open = self.pool.open();
            self.tracker.recorder().set_open(open, now);
        }
    }
}
