//! Jobs as files: TOML for people, JSON for programs.

use crate::Job;
use serde::Deserialize as _;

/// Why a text is not a job.
#[derive(Debug, thiserror::Error)]
pub enum JobFileError {
    /// Invalid TOML, or not a job.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Invalid JSON, or not a job.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Neither the job nor the command line has a URL.
    #[error("the key `url` is missing")]
    NoUrl,
}

impl Job {
    /// Parses a job from TOML. `has_url`: whether the file may omit the URL.
    ///
    /// # Errors
    /// [`JobFileError`] with line and column.
    pub fn from_toml(text: &str, has_url: bool) -> Result<Self, JobFileError> {
        if !has_url && !toml::from_str::<toml::Table>(text)?.contains_key("url") {
            return Err(JobFileError::NoUrl);
        }
        Ok(toml::from_str(text)?)
    }

    /// Parses a job from JSON: a job alone, or the record of a run, which contains its job. `has_url`: whether the file
    /// may omit the URL.
    ///
    /// # Errors
    /// [`JobFileError`] with line and column.
    pub fn from_json(text: &str, has_url: bool) -> Result<Self, JobFileError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        if let Some(job) = value.get("job") {
            return Ok(Job::deserialize(job)?);
        }
        if !has_url && value.get("url").is_none() {
            return Err(JobFileError::NoUrl);
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The job as TOML.
    pub fn to_toml(&self) -> String {
        // Every value of a job has a form in TOML, except nulls in an expected JSON value.
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"))
    }

    /// The shell command that carries it out: its settings, without those that are the defaults, are the input of
    /// `paceline run --job`.
    pub fn to_command(&self) -> String {
        let settings = self.to_short_toml();
        let mut end = "JOB".to_owned();
        while settings.lines().any(|line| line == end) {
            end.push('_');
        }
        format!("paceline run --job /dev/stdin <<'{end}'\n{settings}{end}")
    }

    fn to_short_toml(&self) -> String {
        let table = |job: &Job| toml::Table::try_from(job);
        let (Ok(mut settings), Ok(defaults)) = (table(self), table(&Job::default())) else {
            return self.to_toml();
        };
        settings.retain(|key, value| key == "url" || defaults.get(key) != Some(value));
        toml::to_string(&settings).unwrap_or_else(|_| self.to_toml())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Arrivals, BodyExpectation, Bound, ConnectionPart, ConnectionPlan, Content, ExpectedValue, Headers,
        LoadModel, Nanos, Protocol, Rate, RatePart, RequestSpec, Shape, Think,
    };

    fn jobs() -> Vec<Job> {
        let rate = |rate| Rate::per_second(rate).unwrap();
        let open = |shape| LoadModel::Open { shape, arrivals: Arrivals::Poisson };
        let request = RequestSpec {
            headers: Headers(vec![("X-A".into(), "1".into()), ("X-A".into(), "2".into())]),
            body: Some(Content::File { file: "order.json".into() }),
            expect_body: Some(BodyExpectation::Json(vec![ExpectedValue::parse("/a=1").unwrap()])),
            ..RequestSpec::default()
        };
        vec![
            Job::default(),
            Job {
                load: open(Shape::Steady { rate: rate(2e4) }),
                window: Bound::Requests(7),
                ..Job::default()
            },
            Job { load: open(Shape::Ramp { from: rate(1.5), to: rate(1e9) }), ..Job::default() },
            Job { load: open(Shape::Steps { rates: vec![rate(1.0)], each: Nanos(1) }), ..Job::default() },
            Job {
                load: open(Shape::Parts {
                    parts: vec![RatePart { from: rate(1e-9), to: rate(200.0), length: Nanos(3) }],
                }),
                ..Job::default()
            },
            Job {
                connection_plan: Some(ConnectionPlan::Parts {
                    parts: vec![ConnectionPart { from: 1, to: 50, length: Nanos::from_secs(20) }; 2],
                }),
                ..Job::default()
            },
            Job { connection_plan: Some(ConnectionPlan::Ramp { from: 1, to: 64 }), ..Job::default() },
            Job { think: Some(Think::exponential(Nanos(5))), protocol: Protocol::Http10, ..Job::default() },
            Job { requests: vec![request.clone(), request], seed: Some(1 << 52), ..Job::default() },
        ]
    }

    #[test]
    fn jobs_round_trip_through_toml_and_json() {
        for job in jobs() {
            let text = job.to_toml();
            assert_eq!(Job::from_toml(&text, false).unwrap(), job, "{text}");
            let text = serde_json::to_string(&job).unwrap();
            assert_eq!(Job::from_json(&text, false).unwrap(), job, "{text}");
            let record = format!("{{\"schema\": 1, \"job\": {text}}}");
            assert_eq!(Job::from_json(&record, false).unwrap(), job, "{record}");
        }
    }

    #[test]
    fn a_command_has_the_settings_that_are_not_the_defaults() {
        for job in jobs() {
            let command = job.to_command();
            let (first, rest) = command.split_once('\n').unwrap();
            assert_eq!(first, "paceline run --job /dev/stdin <<'JOB'");
            let settings = rest.strip_suffix("JOB").unwrap();
            assert_eq!(Job::from_toml(settings, false).unwrap(), job, "{settings}");
            assert!(!settings.contains("connect_timeout_s"), "a default: {settings}");
        }
    }

    #[test]
    fn a_short_job_has_defaults_and_errors_have_a_position() {
        let job = Job::from_toml("url = \"http://a/\"\nconnections = 3\n", false).unwrap();
        assert_eq!((job.connections, job.depth, job.url.to_string().as_str()), (3, 1, "http://a/"));
        assert!(matches!(Job::from_toml("connections = 3", false), Err(JobFileError::NoUrl)));
        assert_eq!(Job::from_toml("connections = 3", true).unwrap().connections, 3);
        let error = Job::from_toml("url = \"http://a/\"\nconections = 3\n", false).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("conections"), "{error}");
    }
}
