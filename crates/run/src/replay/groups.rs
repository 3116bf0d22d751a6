//! The groups of a log's requests, by patterns of their paths: each is a kind of request of the run.

use paceline_job::{PathPattern, RequestSpec};

/// The groups of a replay, in order; none if its requests have one kind.
#[derive(Debug, Default)]
pub struct PathGroups(Vec<PathPattern>);

impl PathGroups {
    /// The groups that the requests of a job are.
    pub fn of_requests(requests: &[RequestSpec]) -> Self {
        let pattern = |spec: &RequestSpec| spec.path.as_deref()?.parse().ok();
        let patterns: Option<Vec<_>> = requests.iter().map(pattern).collect();
        Self(patterns.filter(|patterns| patterns.len() > 1).unwrap_or_default())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The group of a path, the last one if no pattern matches: `Job::check` limits their number.
    pub fn kind_of(&self, target: &str) -> u8 {
        let last = self.0.len().saturating_sub(1);
        let kind = self.0.iter().position(|pattern| pattern.matches(target)).unwrap_or(last);
        u8::try_from(kind).unwrap_or(u8::MAX)
    }
}
