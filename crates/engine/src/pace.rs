//! Computes the pace: how long to sleep before the next send is due.
//!
//! A pure function, so that it is tested as a table. The worker calls it before each wait, and the transport waits. The
//! binary chooses the pace that suits the machine (`--pace auto`).

use crate::{Nanos, PaceKind};

/// The time before a due send at which a hybrid pace begins to poll. A timer wake-up comes about 20 microseconds late
/// on the machines measured; 50 covers all but the rarest (docs/methodology.md, "Pacing").
pub const SPIN_BEFORE: Nanos = Nanos::from_micros(50);

/// The maximum wait for an event at `now`, if the next send is due at `send` and another timer or the end of a phase at
/// `other`. [`Nanos::ZERO`] means poll and return; [`Nanos::NEVER`] means wait for an event.
#[inline]
pub(crate) fn wait(pace: PaceKind, now: Nanos, send: Nanos, other: Nanos) -> Nanos {
    let wake_for_send = match pace {
        PaceKind::Spin => return Nanos::ZERO,
        PaceKind::Sleep => send,
        PaceKind::Hybrid if send == Nanos::NEVER => send,
        PaceKind::Hybrid => send.since(SPIN_BEFORE),
    };
    let wake = wake_for_send.min(other);
    if wake == Nanos::NEVER { Nanos::NEVER } else { wake.since(now) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits() {
        let (never, us) = (Nanos::NEVER, Nanos::from_micros);
        for (pace, now, send, other, expected) in [
            (PaceKind::Sleep, 100, us(300), never, us(200)),
            (PaceKind::Sleep, 100, us(300), us(150), us(50)),
            (PaceKind::Sleep, 100, us(80), never, Nanos::ZERO),
            (PaceKind::Sleep, 100, never, never, never),
            (PaceKind::Hybrid, 100, us(300), never, us(150)),
            (PaceKind::Hybrid, 100, us(149), never, Nanos::ZERO),
            (PaceKind::Hybrid, 100, us(300), us(120), us(20)),
            (PaceKind::Hybrid, 100, never, never, never),
            (PaceKind::Hybrid, 100, never, us(400), us(300)),
            (PaceKind::Spin, 100, never, never, Nanos::ZERO),
        ] {
            let found = wait(pace, us(now), send, other);
            assert_eq!(found, expected, "{pace:?} at {now}, send {send}, other {other}");
        }
    }
}
