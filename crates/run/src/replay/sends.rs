//! The schedule that the times of a log make.

use super::entry::EntryTime;
use paceline_engine::Nanos;
use std::time::Duration;

/// The sends of a log, collected line by line.
#[derive(Debug, Default)]
pub struct LoggedSends {
    /// As logged, since the first request.
    moments: Vec<Nanos>,
    /// Of their lines, in bytes.
    positions: Vec<u64>,
    /// The time of the first request, since 1970.
    first: Option<Duration>,
    /// Whether a time is known more exactly than to the second. A whole second is then a time like the others.
    has_fractions: bool,
}

impl LoggedSends {
    /// Adds a request.
    pub fn push(&mut self, time: &EntryTime, position: u64) {
        let first = *self.first.get_or_insert(time.at);
        self.has_fractions |= !time.is_whole_second;
        self.moments.push(Nanos::from(time.at.saturating_sub(first)));
        self.positions.push(position);
    }

    /// The moments of the sends at this many times the speed of the log, and their positions. In a log of whole seconds,
    /// the sends of a second are spread over it.
    pub fn finish(mut self, speed: f64) -> (Vec<Nanos>, Vec<u64>) {
        // Servers log at the end of a response, so that lines may be out of order.
        let mut latest = Nanos::ZERO;
        for moment in &mut self.moments {
            latest = latest.max(*moment);
            *moment = latest;
        }
        if !self.has_fractions {
            self.moments.chunk_by_mut(|a, b| a == b).for_each(spread);
        }
        self.moments.iter_mut().for_each(|moment| moment.0 = (moment.0 as f64 / speed) as u64);
        (self.moments, self.positions)
    }
}

/// Spreads sends of the same second over it.
fn spread(alike: &mut [Nanos]) {
    let count = alike.len() as f64;
    for (place, moment) in alike.iter_mut().enumerate() {
        *moment += Nanos::from(Duration::from_secs_f64(place as f64 / count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(millis: &[u64]) -> Vec<u64> {
        let mut sends = LoggedSends::default();
        for (position, at) in millis.iter().enumerate() {
            sends.push(&EntryTime::from_millis(1_700_000_000_000 + at), position as u64);
        }
        sends.finish(1.0).0.into_iter().map(|moment| moment.0 / 1_000_000).collect()
    }

    #[test]
    fn sends_of_a_second_are_spread_only_in_a_log_of_whole_seconds() {
        assert_eq!(moments(&[0, 0, 0, 0, 2_000, 2_000]), [0, 250, 500, 750, 2_000, 2_500]);
        // Three lines at the beginning of a second, in a log of milliseconds.
        assert_eq!(moments(&[990, 1_000, 1_000, 1_001, 1_500]), [0, 10, 10, 11, 510]);
    }

    #[test]
    fn a_line_that_is_out_of_order_is_sent_with_the_latest_one() {
        assert_eq!(moments(&[0, 1_500, 1_200, 1_600]), [0, 1_500, 1_500, 1_600]);
    }
}
