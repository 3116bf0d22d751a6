//! Offset between the clock of another machine and this machine's clock: bounds from round trips.
//!
//! The other machine read its clock at some moment between our sending a ping and our reading the pong. So the offset
//! lies between `theirs - received` and `theirs - sent`, however unequal the two directions are; the intersection of
//! the bounds of several round trips is the tightest bound (Cristian, "Probabilistic clock synchronization", 1989).

use paceline_record::ClockOffset;

/// One round trip, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// When the ping was sent, on this machine's clock.
    pub sent_ns: u64,
    /// When the other machine read its clock, on that clock.
    pub theirs_ns: u64,
    /// When the pong was read, on this machine's clock.
    pub received_ns: u64,
}

/// The bounds of the other clock minus this one; `None` without a round trip.
pub fn offset(trips: &[RoundTrip]) -> Option<ClockOffset> {
    let difference = |a: u64, b: u64| a as i64 - b as i64;
    let low_ns = trips.iter().map(|trip| difference(trip.theirs_ns, trip.received_ns)).max()?;
    let high_ns = trips.iter().map(|trip| difference(trip.theirs_ns, trip.sent_ns)).min()?;
    // If the clocks drift between the trips, the bounds may not overlap: then both are set to the same value.
    Some(ClockOffset {
        low_ns: low_ns.min(high_ns),
        high_ns: high_ns.max(low_ns),
        round_trips: trips.len() as u32,
    })
}

/// Converts a time of this clock to the other clock.
pub fn theirs(ours_ns: u64, offset: &ClockOffset) -> u64 {
    ours_ns.saturating_add_signed(offset.middle_ns())
}

/// Converts a time of the other clock to this clock.
pub fn ours(theirs_ns: u64, offset: &ClockOffset) -> u64 {
    theirs_ns.saturating_add_signed(-offset.middle_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_bounds(
            offset_ns in -1_000_000_000_000i64..1_000_000_000_000,
            ways in prop::collection::vec((0u64..5_000_000, 0u64..5_000_000), 1..9),
        ) {
            let mut now = 2_000_000_000_000u64;
            let trips: Vec<RoundTrip> = ways.iter().map(|(there, back)| {
                let sent_ns = now;
                now += there + back;
                RoundTrip { sent_ns, theirs_ns: (sent_ns + there).saturating_add_signed(offset_ns), received_ns: now }
            }).collect();
            let found = offset(&trips).unwrap();
            prop_assert!(found.low_ns <= offset_ns && offset_ns <= found.high_ns, "{found:?}");
            let shortest = ways.iter().map(|(there, back)| there + back).min().unwrap();
            prop_assert!((found.high_ns - found.low_ns) as u64 <= shortest);
            prop_assert_eq!(ours(theirs(now, &found), &found), now);
        }
    }

    #[test]
    fn without_a_round_trip_there_is_no_offset() {
        assert_eq!(offset(&[]), None);
    }
}
