//! Pacing: how long to sleep before the next send is due.
//!
//! A pure function, so that it is tested as a table. The worker asks it before each wait, and the transport does the
//! waiting. Which pace suits the machine is for the binary to find out (`--pace auto`).

use crate::Nanos;

/// How long before a send is due a hybrid pace begins to poll. A timer wake-up comes about 20 microseconds late on
/// the machines measured, 50 covers all but the rarest (docs/methodology.md, "Pacing").
pub const SPIN_BEFORE: Nanos = Nanos::from_micros(50);

/// How to wait for the next send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Asleep in the kernel until an event or the next send is due.
    Sleep,
    /// Asleep until this long before the next send, then polling.
    Hybrid(Nanos),
    /// Always polling.
    Spin,
}

impl Pace {
    /// How long to wait for an event at `now`, when the next send is due at `send` and something else (a timer, the
    /// end of a phase) at `other`. [`Nanos::ZERO`] means poll and come back; [`Nanos::NEVER`] means wait for an event.
    #[inline]
    pub fn wait(self, now: Nanos, send: Nanos, other: Nanos) -> Nanos {
        let wake_for_send = match self {
            Pace::Spin => return Nanos::ZERO,
            Pace::Sleep => send,
            Pace::Hybrid(before) if send == Nanos::NEVER => Nanos(send.0.max(before.0)),
            Pace::Hybrid(before) => send.since(before),
        };
        let wake = wake_for_send.min(other);
        if wake == Nanos::NEVER { Nanos::NEVER } else { wake.since(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits() {
        let never = Nanos::NEVER;
        let hybrid = Pace::Hybrid(Nanos(50));
        for (pace, now, send, other, wait) in [
            (Pace::Sleep, 100, Nanos(300), never, Nanos(200)),
            (Pace::Sleep, 100, Nanos(300), Nanos(150), Nanos(50)),
            (Pace::Sleep, 100, Nanos(80), never, Nanos::ZERO),
            (Pace::Sleep, 100, never, never, never),
            (hybrid, 100, Nanos(300), never, Nanos(150)),
            (hybrid, 100, Nanos(149), never, Nanos::ZERO),
            (hybrid, 100, Nanos(300), Nanos(120), Nanos(20)),
            (hybrid, 100, never, never, never),
            (hybrid, 100, never, Nanos(400), Nanos(300)),
            (Pace::Spin, 100, never, never, Nanos::ZERO),
        ] {
            assert_eq!(
                pace.wait(Nanos(now), send, other),
                wait,
                "{pace:?} at {now}, send {send}, other {other}"
            );
        }
    }
}
