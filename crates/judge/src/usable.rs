//! Whether the numbers of a result can be used: the rule behind the exit status of `paceline run`, behind gates and
//! behind comparisons.

use crate::VerdictName;
use paceline_record::{Severity, Verdict};

/// The verdict that makes a result unusable: its headline numbers are missing, or describe another load than the
/// requested one. It is invalid, or the server was overloaded: its response times are then those of a queue that grows
/// with the length of the run.
pub fn unusable_because(verdicts: &[Verdict]) -> Option<&Verdict> {
    let is_overload = |verdict: &&Verdict| verdict.name == VerdictName::Saturated.as_str();
    let invalid = verdicts.iter().find(|verdict| verdict.severity == Severity::Invalid);
    invalid.or_else(|| verdicts.iter().find(is_overload))
}
