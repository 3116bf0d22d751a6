//! `--lua`: a script makes the requests of a run, and checks their responses.

use crate::commands::script::LoadedScript;
use crate::exit::{Complaint, Status};
use anyhow::Context as _;
use paceline_engine::{Settings, StopFlag};
use paceline_job::Job;
use paceline_peers::{ScriptCall, run_results};
use paceline_record::{FailedCheck, Run};
use paceline_run::{Inputs, Prepared};

/// The script of a run.
pub struct RunScript(LoadedScript);

/// Reads the script that a job names.
pub fn source(job: &Job, inputs: &mut Inputs) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(file) = &job.lua else { return Ok(None) };
    let wrong = || Complaint::usage(format!("--lua {}", file.display()));
    inputs.read("--lua", file).map(Some).with_context(wrong)
}

impl RunScript {
    /// Loads a script, with the request of the job as its default.
    pub fn begin(source: &[u8], prepared: &mut Prepared, stop: &'static StopFlag) -> anyhow::Result<Self> {
        let call = call(&prepared.settings)?;
        let loaded = LoadedScript::load(call, source, &mut prepared.settings, stop);
        loaded.map(Self).map_err(|error| Complaint::usage(format!("--lua: {error}")).into())
    }

    /// Adds to a record what the script has counted.
    pub fn add_to(&self, run: &mut Run) {
        let counted = self.0.scripts.failed_checks().into_iter();
        run.failed_checks = counted.map(|(reason, count)| FailedCheck { reason, count }).collect();
    }

    /// The failure that ended the run, after which its output is written.
    pub fn failure(&self) -> Option<String> {
        self.0.end()
    }

    /// Calls `done`, after the results are written. Returns the exit status of a script that failed.
    pub fn finish(&self, run: &Run) -> Option<Status> {
        let failure = self.failure();
        let done = self.0.scripts.done(&run_results(run, run.generator.threads)).err();
        let failures: Vec<String> = failure.into_iter().chain(done.map(|error| error.to_string())).collect();
        failures.iter().for_each(|failure| crate::exit::say(failure));
        (!failures.is_empty()).then_some(Status::Failed)
    }
}

/// The error of a run that has no record: the failure of the script, if it failed.
pub fn explain(script: Option<&RunScript>, error: anyhow::Error) -> anyhow::Error {
    match script.and_then(RunScript::failure) {
        Some(failure) => Complaint::failed(failure).into(),
        None => error,
    }
}

/// What the script is given: the request that the run would send without it.
fn call(settings: &Settings) -> anyhow::Result<ScriptCall> {
    let job = &settings.job;
    let text = settings.requests.as_fixed().ok_or_else(|| {
        Complaint::usage("--lua cannot be combined with placeholders in the request")
            .hint("make the values in the script, or add --literal")
    })?;
    let head_end = text.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(text.len());
    let head = String::from_utf8_lossy(&text[..head_end]);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next(), words.next());
    let fields = lines.filter_map(|line| line.split_once(": "));
    let body = text.get(head_end + 4..).filter(|body| !body.is_empty());
    Ok(ScriptCall {
        file: job.lua.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
        arguments: vec![job.url.to_string()],
        headers: fields
            .filter(|(name, _)| !name.eq_ignore_ascii_case("Content-Length"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        scheme: job.url.scheme.name().to_owned(),
        host: job.url.host.clone(),
        port: Some(job.url.port.to_string()),
        path: path.unwrap_or_default(),
        method,
        body: body.map(<[u8]>::to_vec),
        is_wrk2: false,
        has_connections: true,
    })
}
