//! The clock as an interface. The clocks are in `kernel` and `sim`.

use crate::Nanos;

/// A clock that never runs backwards.
pub trait Clock {
    /// The moment now, since the clock's own zero.
    fn now(&self) -> Nanos;
}
