//! What a program printed, and what that says of its run.

use crate::quantity::{count, number, total};
use paceline_record::{Bytes, Counts};
use serde_json::Value;
use std::collections::BTreeMap;

/// A report as text, and parsed where it is JSON.
#[derive(Debug)]
pub struct PrintedReport<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The document, if the text is one.
    pub json: Option<Value>,
    /// The number of its first line in the file.
    pub first_line: usize,
}

/// The figures of a run, as its report gives them; what it does not give is empty, 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerReport {
    /// The URL that was loaded.
    pub url: String,
    /// `http/1.0`, `http/1.1`, `h2`; empty where unknown.
    pub protocol: String,
    /// The server's `Server` field.
    pub server: String,
    /// Number of connections.
    pub connections: u32,
    /// Requests that a connection has under way at once; 0 where unknown.
    pub depth: u32,
    /// Requests offered per second, in an open loop.
    pub rate_per_s: Option<f64>,
    /// Number of requests after which it ended.
    pub requests: Option<u64>,
    /// Start of the run, RFC 3339; empty where unknown.
    pub started_at: String,
    /// End of the run, RFC 3339.
    pub finished_at: Option<String>,
    /// The duration of the load, as printed.
    pub elapsed_s: Option<f64>,
    /// The same with more digits, where it follows from other figures.
    pub elapsed_exact_s: Option<f64>,
    /// How the requests ended.
    pub counts: Counts,
    /// Responses by status, if the program counts them.
    pub status: BTreeMap<String, u64>,
    /// The bytes transferred, as far as they are known.
    pub bytes: Bytes,
    /// The printed rate; where that contains requests without a response, as with ab and hey, without them.
    pub requests_per_s: Option<f64>,
    /// Times by `min`, `mean`, `stddev`, `p50`, `p99_9` ..., `max`, in nanoseconds.
    pub times_ns: BTreeMap<String, f64>,
    /// Other figures, by a name that includes the unit.
    pub figures: BTreeMap<String, f64>,
    /// Its place in the text.
    pub place: String,
    /// How the figures must be read.
    pub note: String,
}

impl PrintedReport<'_> {
    /// The output of a program: its JSON may follow a few words.
    pub fn from_output(text: &str) -> PrintedReport<'_> {
        let json = text.find('{').and_then(|start| serde_json::from_str(text[start..].trim()).ok());
        PrintedReport { text, json, first_line: 1 }
    }

    /// Returns true for a JSON object with all of these keys.
    pub fn has(&self, keys: &[&str]) -> bool {
        self.json.as_ref().is_some_and(|json| keys.iter().all(|key| json.get(key).is_some()))
    }

    /// The document.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn json(&self) -> Result<&Value, String> {
        self.json.as_ref().ok_or_else(|| "not JSON".to_owned())
    }

    /// The document as a type.
    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(self.json()?).map_err(|error| error.to_string())
    }

    /// The number at a path of keys; none if the value is not a number.
    pub(crate) fn figure(&self, path: &[&str]) -> Option<f64> {
        let found = path.iter().try_fold(self.json.as_ref()?, |value, key| value.get(key))?;
        found.as_f64().filter(|value| value.is_finite() && *value >= 0.0)
    }

    /// The lines with their numbers in the file.
    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines((self.first_line..).zip(self.text.lines()).collect())
    }
}

/// The lines of a report with their numbers in the file.
pub(crate) struct Lines<'a>(pub Vec<(usize, &'a str)>);

impl<'a> Lines<'a> {
    /// Finds the line that begins with `label`; returns its number in the file and the text after the label. A second
    /// such line is an error: a file with parts of several reports would give figures of one with errors of another.
    pub fn find(&self, label: &str) -> Result<Option<(usize, &'a str)>, String> {
        let labelled =
            |(at, line): &(usize, &'a str)| Some((*at, line.trim_start().strip_prefix(label)?.trim()));
        let mut found = self.0.iter().filter_map(labelled);
        match (found.next(), found.next()) {
            (Some((first, _)), Some((second, _))) => Err(format!(
                "the lines {first} and {second} both begin with \"{label}\": the file has parts of several reports"
            )),
            (found, _) => Ok(found),
        }
    }

    /// The text after `label`.
    pub fn rest(&self, label: &str) -> Result<&'a str, String> {
        let found = self.find(label)?.map(|(_, rest)| rest);
        found.ok_or_else(|| format!("the line \"{label}\" is missing"))
    }

    /// The first word after `label`.
    pub fn word(&self, label: &str) -> Result<&'a str, String> {
        let found = self.rest(label)?.split_whitespace().next();
        found.ok_or_else(|| format!("the line \"{label}\" is missing"))
    }

    /// The number after `label`.
    pub fn number(&self, label: &str) -> Result<f64, String> {
        number(self.word(label)?)
    }

    /// The count after `label`.
    pub fn count(&self, label: &str) -> Result<u64, String> {
        count(self.word(label)?)
    }

    /// The count after `label`, or 0 if the program leaves the line out because the count is 0.
    pub fn count_or_zero(&self, label: &str) -> Result<u64, String> {
        self.find(label)?.map_or(Ok(0), |(_, rest)| count(rest))
    }
}

impl PeerReport {
    /// Sets the responses by status, and those that were right: with a status of 200 to 399.
    pub(crate) fn set_status(&mut self, status: BTreeMap<String, u64>) {
        let is_right = |status: &str| status.starts_with(['2', '3']);
        let sum = |right: bool| {
            total(status.iter().filter(|(status, _)| is_right(status) == right).map(|(_, count)| *count))
        };
        (self.counts.ok, self.counts.bad_status) = (sum(true), sum(false));
        self.status = status;
    }

    /// The report with the rate of its responses, if the printed rate is that of all requests: otherwise 20,000 refused
    /// connections per second would be a rate of a server.
    pub(crate) fn with_rate_of_responses(mut self) -> Self {
        let Counts { ok, bad_status, bad_body, .. } = self.counts;
        let (answered, all) = (total([ok, bad_status, bad_body].into_iter()), self.counts.ended());
        if all > 0 {
            self.requests_per_s = self.requests_per_s.map(|printed| printed * (answered as f64 / all as f64));
        }
        self
    }

    /// The report with only the responses of this status counted as right, if it counts them by status.
    #[must_use]
    pub fn expecting(mut self, status: u16) -> Self {
        if let Some(ok) =
            self.status.get(&status.to_string()).copied().or((!self.status.is_empty()).then_some(0))
        {
            let answered = self.counts.ok.saturating_add(self.counts.bad_status);
            (self.counts.ok, self.counts.bad_status) = (ok, answered.saturating_sub(ok));
        }
        self.counts.scheduled = self.counts.ended();
        self
    }

    /// The duration of the load; `None` if it is not more than 0, so that no rate can be derived.
    pub fn duration_s(&self) -> Option<f64> {
        self.elapsed_exact_s.or(self.elapsed_s).filter(|s| s.is_finite() && *s > 0.0)
    }

    /// The percentiles by keys such as `p99.9_ns`, without those that were rounded to 0.
    pub fn percentiles_ns(&self) -> BTreeMap<String, u64> {
        let percentiles = self.times_ns.iter().filter_map(|(name, ns)| {
            let percent = name.strip_prefix('p')?.replace('_', ".");
            Some((format!("p{percent}_ns"), ns.round() as u64)).filter(|(_, ns)| *ns > 0)
        });
        percentiles.collect()
    }

    /// The report with its times, each by a name and in nanoseconds.
    pub(crate) fn with_times(mut self, times: impl IntoIterator<Item = (&'static str, Option<f64>)>) -> Self {
        let given = times.into_iter().filter_map(|(name, ns)| Some((name.to_owned(), ns?)));
        self.times_ns.extend(given);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_expected_status_is_right() {
        let mut report = PeerReport::default();
        report.set_status([("200".to_owned(), 7), ("302".to_owned(), 2), ("500".to_owned(), 1)].into());
        assert_eq!((report.counts.ok, report.counts.bad_status), (9, 1));
        let expecting = |status| {
            let counts = report.clone().expecting(status).counts;
            (counts.ok, counts.bad_status, counts.scheduled)
        };
        assert_eq!((expecting(200), expecting(302), expecting(204)), ((7, 3, 10), (2, 8, 10), (0, 10, 10)));
    }

    #[test]
    fn json_may_follow_words() {
        assert!(PrintedReport::from_output("Run x -C\n{\t\"a\": 1}\n").has(&["a"]));
        assert!(PrintedReport::from_output("{ no document").json.is_none());
    }

    #[test]
    fn percentiles_that_were_rounded_to_nothing_are_left_out() {
        let times = [("p50", Some(0.0)), ("p99_9", Some(2e6)), ("max", Some(3e6)), ("p75", None)];
        let report = PeerReport::default().with_times(times);
        assert_eq!(report.percentiles_ns(), [("p99.9_ns".to_owned(), 2_000_000)].into());
    }
}
