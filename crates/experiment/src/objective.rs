//! Objectives that a server must meet: `response.p99<10ms,errors<0.1%`.
//!
//! The limits on times are written and judged like those of `paceline run --slo`. This file splits them, checks their
//! form, and computes the number of requests that a window needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples beyond a percentile that it needs, as for `--slo`.
const SAMPLES_BEYOND: f64 = 10.0;

/// An objective: each part must be met, and every failed request counts as beyond any limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// Expressions for `paceline run --slo`.
    pub slos: Vec<String>,
    /// The value for `paceline run --max-errors`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_errors: Option<String>,
}

/// Why an objective cannot be parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid objective {expression:?}: {reason}. Write for example 'response.p99<10ms,errors<0.1%'")]
pub struct ObjectiveError {
    expression: String,
    reason: &'static str,
}

impl Objective {
    /// Parses `response.p99<10ms,errors<0.1%`: limits on open-loop times, separated by commas, and at most one on
    /// errors.
    ///
    /// # Errors
    /// [`ObjectiveError`] if a part has another form, or if there is no limit on a time.
    pub fn parse(text: &str) -> Result<Self, ObjectiveError> {
        let dense: String = text.split_whitespace().collect();
        let mut objective = Self { slos: Vec::new(), max_errors: None };
        for part in dense.split(',') {
            let error = |reason| ObjectiveError { expression: part.to_owned(), reason };
            let (subject, value) = part.split_once('<').ok_or(error("a limit needs \"<\""))?;
            let value = value.strip_prefix('=').unwrap_or(value);
            if value.is_empty() {
                return Err(error("the limit is missing"));
            }
            match split(subject) {
                None if subject == "errors" && objective.max_errors.is_some() => {
                    return Err(error("two limits are set for errors: remove one"));
                }
                None if subject == "errors" => objective.max_errors = Some(value.to_owned()),
                Some((_, statistic))
                    if percentile(statistic).is_some() || statistic == "mean" || statistic == "max" =>
                {
                    objective.slos.push(part.to_owned());
                }
                _ => {
                    return Err(error(
                        "an objective can use only times (response.p99, service.mean, ...) and errors",
                    ));
                }
            }
        }
        if objective.slos.is_empty() {
            return Err(ObjectiveError {
                expression: text.to_owned(),
                reason: "at least one limit on a time is needed",
            });
        }
        Ok(objective)
    }

    /// The percentile of the first limit, 0 to 1, if it limits a time of all requests; none for a mean or maximum.
    pub fn request_percentile(&self) -> Option<f64> {
        let (time, statistic) = parts(self.slos.first()?);
        percentile(statistic).filter(|_| time != "session" && !time.starts_with("step("))
    }

    /// Length in seconds that a window needs before the objective can be judged. `per_s` is the number of times of one
    /// kind (`response`, `session`, `step(login)`) that a second gives.
    pub fn seconds_needed(&self, per_s: impl Fn(&str) -> f64) -> f64 {
        let of_slo = |slo: &String| {
            let (time, statistic) = parts(slo);
            let samples = percentile(statistic).map_or(SAMPLES_BEYOND, |p| SAMPLES_BEYOND / (1.0 - p));
            samples / per_s(time).max(f64::MIN_POSITIVE)
        };
        self.slos.iter().map(of_slo).fold(0.0, f64::max)
    }
}

impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let errors = self.max_errors.iter().map(|most| format!("errors<={most}"));
        f.write_str(&self.slos.iter().cloned().chain(errors).collect::<Vec<_>>().join(", "))
    }
}

/// `response` and `p99` of `response.p99<10ms`.
fn parts(slo: &str) -> (&str, &str) {
    split(slo.split('<').next().unwrap_or_default()).unwrap_or_default()
}

/// Splits `response.p99` or `step(a.b).p99` into the time and its statistic.
fn split(subject: &str) -> Option<(&str, &str)> {
    paceline_judge::gate::split_subject(subject)
}

/// 0.99 of `p99`.
fn percentile(statistic: &str) -> Option<f64> {
    let percent: f64 = statistic.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_split_into_the_flags_of_run() {
        let objective = Objective::parse("response.p99.9<=10ms, errors<0.1%,response.mean<2ms").unwrap();
        assert_eq!(objective.slos, ["response.p99.9<=10ms", "response.mean<2ms"]);
        assert_eq!(objective.max_errors.as_deref(), Some("0.1%"));
        assert_eq!(objective.to_string(), "response.p99.9<=10ms, response.mean<2ms, errors<=0.1%");
        assert!((objective.request_percentile().unwrap() - 0.999).abs() < 1e-12);
        assert!((objective.seconds_needed(|_| 1_000.0) - 10.0).abs() < 1e-6);
        let objective = Objective::parse("session.p99<1s,step(a.b).p90<2ms").unwrap();
        assert_eq!(objective.request_percentile(), None);
        let needed = objective.seconds_needed(|time| if time == "session" { 100.0 } else { 5.0 });
        assert!((needed - 20.0).abs() < 1e-6, "the step is rarer than the session: {needed}");
    }

    #[test]
    fn errors_name_the_invalid_part_of_an_objective() {
        for (text, part) in [
            ("response.p99", "response.p99"),
            ("errors<1%", "errors<1%"),
            ("response.p99<10ms,rate>5", "rate>5"),
            ("response.p100<1ms", "response.p100<1ms"),
            ("response.p99<", "response.p99<"),
            ("response.p99<1ms,errors<1%,errors<2%", "errors<2%"),
            ("", ""),
        ] {
            let error = Objective::parse(text).unwrap_err();
            assert_eq!(error.expression, part, "{text}: {error}");
        }
    }
}
