//! The schedule that the times of a log make.

use super::entry::EntryTime;
use paceline_engine::Nanos;
use std::time::Duration;

/// The sends of a log, collected line by line.
#[derive(Debug, Default)]
pub struct LoggedSends {
    /// Since the first request.
    moments: Vec<Nanos>,
    /// Of their lines, in bytes.
    positions: Vec<u64>,
    /// The time of the first request, since 1970.
    first: Option<Duration>,
    /// The time of the last line, whether it is known to the second only, and the first send with it.
    last: (Duration, bool, usize),
}

impl LoggedSends {
    /// Adds a request.
    pub fn push(&mut self, time: &EntryTime, position: u64) {
        let EntryTime { at, is_whole_second, .. } = *time;
        self.first.get_or_insert(at);
        if (at, is_whole_second) != (self.last.0, self.last.1) {
            self.spread();
            self.last = (at, is_whole_second, self.moments.len());
        }
        self.moments.push(Nanos::ZERO);
        self.positions.push(position);
    }

    /// Sets the moments of all sends with the last time; those of a second without a fraction are spread over it.
    fn spread(&mut self) {
        let (at, is_whole_second, start) = self.last;
        let since_first = at.saturating_sub(self.first.unwrap_or_default());
        let (earlier, alike) = self.moments.split_at_mut(start);
        let count = alike.len() as f64;
        // Servers log at the end of a response, so that lines may be out of order.
        let mut latest = earlier.last().copied().unwrap_or_default();
        for (place, moment) in alike.iter_mut().enumerate() {
            let share = if is_whole_second { place as f64 / count } else { 0.0 };
            latest = latest.max(Nanos::from(since_first + Duration::from_secs_f64(share)));
            *moment = latest;
        }
    }

    /// The moments of the sends at this many times the speed of the log, and their positions.
    pub fn finish(mut self, speed: f64) -> (Vec<Nanos>, Vec<u64>) {
        self.spread();
        self.moments.iter_mut().for_each(|moment| moment.0 = (moment.0 as f64 / speed) as u64);
        (self.moments, self.positions)
    }
}
