//! Objectives that a server must meet: `response.p99<10ms,errors<0.1%`.
//!
//! The limits on times are written and judged like those of `paceline run --slo`. This file splits them, checks their
//! form, and computes the number of requests that a window needs.

use serde::{Deserialize, Serialize};

/// Samples beyond a percentile that it needs, as for `--slo`.
const SAMPLES_BEYOND: f64 = 10.0;

/// An objective: each part must be met, and every failed request counts as beyond any limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            match subject.split_once('.') {
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

    /// The percentile of the first limit, 0 to 1; none for a mean or maximum.
    pub fn percentile(&self) -> Option<f64> {
        self.slos.first().and_then(|slo| percentile(statistic(slo)))
    }

    /// Number of requests that a window needs before the objective can be judged.
    pub fn samples_needed(&self) -> f64 {
        let of_slo =
            |slo: &String| percentile(statistic(slo)).map_or(SAMPLES_BEYOND, |p| SAMPLES_BEYOND / (1.0 - p));
        self.slos.iter().map(of_slo).fold(SAMPLES_BEYOND, f64::max)
    }
}

impl std::fmt::Display for Objective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let errors = self.max_errors.iter().map(|most| format!("errors<={most}"));
        f.write_str(&self.slos.iter().cloned().chain(errors).collect::<Vec<_>>().join(", "))
    }
}

/// `p99` of `response.p99<10ms`.
fn statistic(slo: &str) -> &str {
    slo.split_once('.').map_or("", |(_, rest)| rest.split('<').next().unwrap_or_default())
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
        assert!((objective.percentile().unwrap() - 0.999).abs() < 1e-12);
        assert!((objective.samples_needed() - 10_000.0).abs() < 1e-6);
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
