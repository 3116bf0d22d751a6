//! What a Lua script of wrk is given: how it is called, and the results of the run that `done` reads.

/// A script on a command line of wrk or wrk2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptCall {
    /// Its file.
    pub file: String,
    /// The arguments of `init`: the URL, and what follows it.
    pub arguments: Vec<String>,
    /// The headers of the command line, the last of each name.
    pub headers: Vec<(String, String)>,
    /// `http` or `https`.
    pub scheme: String,
    /// The host in the URL, an IPv6 address without brackets.
    pub host: String,
    /// The port in the URL, if it has one.
    pub port: Option<String>,
    /// The path in the URL, with what follows it; `/` if there is none.
    pub path: String,
    /// The method and the body of the command line, if it has them.
    pub method: Option<String>,
    /// See `method`.
    pub body: Option<Vec<u8>>,
    /// Whether wrk2 is called, whose interface differs in details.
    pub is_wrk2: bool,
    /// Whether `request` and `response` get the table of their connection, and `response` may refuse a response:
    /// `paceline run --lua`.
    pub has_connections: bool,
}

/// Results of a run as a script reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptResults {
    /// Length of the window, in microseconds.
    pub duration_us: u64,
    /// Responses in the window.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// What failed.
    pub errors: ScriptErrors,
    /// Times of responses, in microseconds.
    pub latency_us: SampleValues,
    /// Responses per second of a thread, for each second.
    pub rates: SampleValues,
}

/// Counts of failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptErrors {
    /// Connections that were not made.
    pub connect: u64,
    /// Requests whose connection broke.
    pub read: u64,
    /// Always 0: what is not sent is not counted apart.
    pub write: u64,
    /// Responses with a status above 399.
    pub status: u64,
    /// Requests without a response in time.
    pub timeout: u64,
}

/// Values in ascending order, with how often each occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleValues {
    /// The values and their counts.
    pub values: Vec<(u64, u64)>,
}

impl SampleValues {
    /// From values in any order.
    pub fn from_counted(mut counted: Vec<(u64, u64)>) -> Self {
        counted.sort_unstable();
        counted.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        Self { values: counted }
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.values.iter().map(|(_, count)| count).sum()
    }

    /// The smallest; 0 if there are none.
    pub fn min(&self) -> u64 {
        self.values.first().map_or(0, |(value, _)| *value)
    }

    /// The largest; 0 if there are none.
    pub fn max(&self) -> u64 {
        self.values.last().map_or(0, |(value, _)| *value)
    }

    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        // The sum of no floats is -0.
        self.values
            .iter()
            .map(|(value, count)| of(*value as f64) * *count as f64)
            .fold(0.0, |sum, part| sum + part)
    }

    /// The mean; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.sum(|value| value) / self.count().max(1) as f64
    }

    /// The standard deviation of a sample (n - 1).
    pub fn stdev(&self) -> f64 {
        let (mean, count) = (self.mean(), self.count());
        if count < 2 { 0.0 } else { (self.sum(|value| (value - mean).powi(2)) / (count - 1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_counted_together() {
        let samples = SampleValues::from_counted(vec![(4, 1), (2, 2), (4, 3), (9, 1)]);
        assert_eq!(samples.values, [(2, 2), (4, 4), (9, 1)]);
        assert_eq!((samples.count(), samples.min(), samples.max()), (7, 2, 9));
        assert!((samples.mean() - 29.0 / 7.0).abs() < 1e-12);
        assert!((samples.stdev() - 2.340_126_7).abs() < 1e-6);
        assert_eq!(SampleValues::default().stdev(), 0.0);
    }
}
