//! `paceline run URL`: put load on one URL and report the results.
//!
//! Flags become a job (`flags.rs` and its groups), which the crate `run` executes; this module prints its record and
//! returns the exit status. The lab starts this command as a child process.

mod changing_load;
mod connections;
mod curl;
mod debug;
mod explain;
mod flags;
mod form;
mod gates;
mod grpc_flags;
mod har;
mod loaders;
mod lua;
mod metrics_flags;
mod once;
mod output_flags;
mod process;
mod profile;
mod repeat;
mod requests;
mod screen;
mod seconds;
mod shape;
mod stream_flags;
mod syscalls;
mod target;
mod values;
mod websocket_flags;
mod write_results;

pub use flags::Arguments;
pub use gates::checked_max_errors;
pub use loaders::loader;
pub use repeat::explain_profiler;
pub use values::duration;
pub use write_results::run_page;

use super::dashboards::Dashboards;
use super::view::{LiveServer, Seconds};
use crate::exit::{Complaint, Status};
use crate::masked_argv::own_argv;
use anyhow::Context as _;
use clap::{Args as _, FromArgMatches as _};
use explain::{explain, explain_through};
use lua::RunScript;
use paceline_engine::StopFlag;
use paceline_job::Job;
use paceline_judge::gate::Gate;
use paceline_record::Run;
use paceline_report::LiveMetrics;
use paceline_run::{Inputs, PhaseEventWriter, Prepared, RunObservers, Sink};
use paceline_web::Library;
use repeat::RepeatedLoad;
use std::path::Path;
use std::time::Duration;

/// Runs the command.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    process::large_blocks_from_kernel();
    let outputs = &arguments.output;
    // Opened first, before any file opened here can get the same descriptor number.
    let events = outputs.events.map(PhaseEventWriter::open).transpose().map_err(explain)?;
    if outputs.prints() {
        crate::exit::check_printable().context(
            Complaint::environment("nothing was measured").hint("-o FILE writes the result to a file"),
        )?;
    }
    outputs.check()?;
    let mut inputs = Inputs::default();
    let mut job = arguments.job(&mut inputs)?;
    let notice = paceline_run::read_trace(&mut job, &mut inputs).map_err(explain)?;
    notice.iter().for_each(|notice| crate::exit::say(notice));
    if arguments.print_job {
        job.check().map_err(|error| explain(error.into()))?;
        crate::exit::print_source(job.masked().to_toml())?;
        return Ok(Status::Done);
    }
    let gates = arguments.gates.all(job.load.is_open(), job.url.scheme.uses_tls())?;
    gates::check_requests(&gates, &job)?;
    match arguments.debug {
        true => outputs.check_for_debug()?,
        false => gates::notices(&gates, &job).iter().for_each(|notice| crate::exit::say(notice)),
    }
    if arguments.loaders.is_asked() {
        outputs.check_for_several()?;
        let run = loaders::run(&arguments.loaders, own_argv(), job, gates, events.as_ref(), &mut inputs)?;
        write_results::write_results(&run, outputs, Vec::new())?;
        return Ok(status(&run, arguments.gates.allow_invalid));
    }
    run_alone(&arguments, job, gates, events, &mut inputs)
}

/// Carries the job out in this process alone, or shows its requests with `--debug`.
fn run_alone(
    arguments: &Arguments,
    job: Job,
    gates: Vec<Gate>,
    events: Option<PhaseEventWriter>,
    inputs: &mut Inputs,
) -> anyhow::Result<Status> {
    let outputs = &arguments.output;
    let repeated = outputs.repeating_flag().map(|flag| repeat::repeatable(&job, flag)).transpose()?;
    let mut prepared = Prepared::new(job, gates, inputs).map_err(explain)?;
    // The lab follows the events and watches the server itself.
    if !arguments.target.pid.is_empty() || outputs.events.is_none() {
        prepared.watch_server(&arguments.target.pid).map_err(explain)?;
    }
    if arguments.debug {
        prepared.notices.iter().for_each(|notice| crate::exit::say(notice));
        return debug::run(&prepared);
    }
    let source = lua::source(&prepared.settings.job, inputs)?;
    output_flags::keep_inputs(inputs, &outputs.outputs())?;
    for path in outputs.written_at_the_end() {
        crate::file::check_writable(path).context(Complaint::environment("nothing was measured"))?;
    }
    let series = arguments.metrics.open(&mut prepared).map_err(explain)?;
    prepared.notices.iter().for_each(|notice| crate::exit::say(notice));
    let mut sinks = sinks(outputs, series)?;
    let view = live_views(arguments, &mut sinks)?;
    let observers = RunObservers { events, sinks, on_phase: None };
    let stop = process::listen()?;
    let script = source.as_deref().map(|source| RunScript::begin(source, &mut prepared, stop)).transpose()?;
    let proxy = prepared.settings.job.proxy.clone();
    let in_words = |error| lua::explain(script.as_ref(), explain_through(error, proxy.as_ref()));
    let (mut run, unwritten) = prepared.carry_out(own_argv(), observers, stop).map_err(in_words)?;
    if let Some(job) = repeated.filter(|_| !run.stopped) {
        observe_server(&mut run, job, source.as_deref(), arguments, stop);
    }
    script.iter().for_each(|script| script.add_to(&mut run));
    write_results::write_results(&run, outputs, unwritten.into_iter().map(anyhow::Error::from).collect())?;
    let failed = script.and_then(|script| script.finish(&run));
    if let Some(view) = view {
        view.show(&run);
        view.serve_until_interrupted();
    }
    Ok(failed.unwrap_or_else(|| status(&run, arguments.gates.allow_invalid)))
}

/// Repeats the load of a run that is over, in a separate window for each flag that observes the server.
fn observe_server(
    run: &mut Run,
    job: Job,
    script: Option<&[u8]>,
    arguments: &Arguments,
    stop: &'static StopFlag,
) {
    let load = RepeatedLoad { job, script, pids: &arguments.target.pid, stop };
    if arguments.output.profile.is_some() {
        profile::add_profile(run, &load);
    }
    if arguments.output.syscalls {
        syscalls::add_system_calls(run, &load);
    }
}

/// The job of runs with these flags, which a child process without standard input puts on a path of a server in a folder
/// again and again. It is checked.
pub fn job_of(path: &str, flags: &[String], folder: &Path) -> anyhow::Result<Job> {
    let url = format!("http://localhost{path}");
    // The format and the file are those of a child's record.
    let own = ["paceline run", url.as_str(), "--format=json", "--output=record.json"];
    let line = own.into_iter().chain(flags.iter().map(String::as_str));
    let parsed = Arguments::augment_args(clap::Command::new("paceline run"))
        .try_get_matches_from(line)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let wrong = |what: &str| Complaint::usage(format!("the flags of the load, {}: {what}", flags.join(" ")));
    let arguments = parsed.map_err(|error| {
        let text = error.to_string();
        wrong(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    let for_people = [
        ("--print-job", arguments.print_job),
        ("--debug", arguments.debug),
        ("--view", arguments.output.view),
    ];
    if let Some((flag, _)) = for_people.into_iter().find(|(_, is_given)| *is_given) {
        return Err(wrong(&format!("{flag} cannot be used in runs that are repeated")).into());
    }
    let mut inputs = Inputs::of_child(folder);
    let mut job = arguments.job(&mut inputs)?;
    // What it notices, each run prints.
    paceline_run::read_trace(&mut job, &mut inputs).map_err(explain)?;
    job.check().map_err(|error| explain(error.into()))?;
    repeat::repeatable(&job, "a gate")
}

/// Carries out a job without flags of its own. `begin` is called when everything is ready, and may change it; if it
/// returns false, there is no run. The run ends at the latest after `limit`. Its phases are reported to `events`.
pub fn carry_out_job(
    job: Job,
    limit: Option<Duration>,
    events: Option<PhaseEventWriter>,
    begin: impl FnOnce(&mut Prepared, &'static StopFlag) -> anyhow::Result<bool>,
) -> anyhow::Result<Option<Run>> {
    process::large_blocks_from_kernel();
    let mut prepared = Prepared::new(job, Vec::new(), &mut Inputs::default()).map_err(explain)?;
    prepared.watch_server(&[]).map_err(explain)?;
    prepared.notices.iter().for_each(|notice| crate::exit::say(notice));
    let stop = process::listen()?;
    if !begin(&mut prepared, stop)? {
        return Ok(None);
    }
    if let Some(limit) = limit {
        // It ends with the process.
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            stop.request();
        });
    }
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let carried_out =
        prepared.carry_out(arguments.collect(), RunObservers { events, ..RunObservers::default() }, stop);
    carried_out.map(|(run, _)| Some(run)).map_err(explain)
}

/// The exit status of a run that has a record: whether its numbers can be used, as the table in
/// `docs/outputs-and-gates.md` says.
fn status(run: &Run, allow_invalid: bool) -> Status {
    let is_unusable = paceline_judge::unusable_because(&run.verdicts).is_some();
    let failed = is_unusable && !allow_invalid || run.gates.iter().any(|gate| !gate.passed);
    match (run.stopped, failed) {
        (true, _) => Status::Interrupted,
        (false, true) => Status::Failed,
        (false, false) => Status::Done,
    }
}

/// Adds the dashboards and the page that show the run to its sinks; returns the server of the page.
fn live_views(arguments: &Arguments, sinks: &mut Vec<Box<dyn Sink>>) -> anyhow::Result<Option<LiveServer>> {
    let (outputs, what) = (&arguments.output, arguments.url.as_deref().unwrap_or("a run"));
    let dashboards = Dashboards::start(&outputs.dashboards, || LiveMetrics::new(what))?;
    sinks.extend(dashboards.map(|dashboards| Box::new(dashboards) as Box<dyn Sink>));
    let view = outputs.view.then(|| LiveServer::start(what, None, Library::empty())).transpose()?;
    sinks.extend(view.iter().map(|view| Box::new(Seconds(view.live())) as Box<dyn Sink>));
    Ok(view)
}

/// The outputs that are written and shown during the run, with these series of the server.
fn sinks(outputs: &output_flags::OutputFlags, series: Vec<String>) -> anyhow::Result<Vec<Box<dyn Sink>>> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    let files = seconds::Files::open(outputs, series)?;
    if !files.is_empty() {
        sinks.push(Box::new(files));
    }
    if let Some(screen) =
        screen::Screen::of_stderr(!outputs.no_color, outputs.keep_live).filter(|_| !outputs.no_live)
    {
        sinks.push(Box::new(screen));
    }
    Ok(sinks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of exit statuses: a row's text in the document, a run, its status, and that with `--allow-invalid`.
    #[test]
    fn the_exit_status_says_what_a_result_can_be_used_for() {
        use paceline_judge::VerdictName;
        use paceline_record::{Blame, GateOutcome, Severity, Verdict, fixture};
        use std::collections::BTreeMap;
        let verdict = |name: VerdictName, severity| Verdict {
            name: name.as_str().to_owned(),
            blame: Blame::Server,
            severity,
            evidence: BTreeMap::new(),
            remedy: String::new(),
        };
        let judged = |name, severity| Run { verdicts: vec![verdict(name, severity)], ..fixture::run(0) };
        let gate = GateOutcome {
            gate: "errors<=0".to_owned(),
            passed: false,
            reasons: Vec::new(),
            evidence: BTreeMap::new(),
        };
        let (done, failed, interrupted) = (Status::Done, Status::Failed, Status::Interrupted);
        let document = include_str!("../../../../../docs/outputs-and-gates.md");
        for (row, run, plain, allowed) in [
            (
                "no verdict, or only notes and cautions",
                judged(VerdictName::Outage, Severity::Caution),
                done,
                done,
            ),
            (
                "at most 1 % of the requests failed",
                judged(VerdictName::FailedRequests, Severity::Caution),
                done,
                done,
            ),
            ("more requests failed", judged(VerdictName::FailedRequests, Severity::Invalid), failed, done),
            (
                "a verdict is *invalid*",
                judged(VerdictName::StoppedAnswering, Severity::Invalid),
                failed,
                done,
            ),
            ("the target was overloaded", judged(VerdictName::Saturated, Severity::Caution), failed, done),
            ("a gate failed", Run { gates: vec![gate.clone()], ..fixture::run(0) }, failed, failed),
            (
                "interrupted",
                Run { stopped: true, gates: vec![gate], ..fixture::run(0) },
                interrupted,
                interrupted,
            ),
        ] {
            assert_eq!((status(&run, false), status(&run, true)), (plain, allowed), "{row}");
            let line = document.lines().find(|line| line.starts_with(&format!("| {row}")));
            let numbers = format!(
                "| {} | {} |",
                crate::exit::number_of(Ok(plain)),
                crate::exit::number_of(Ok(allowed))
            );
            assert!(line.is_some_and(|line| line.ends_with(&numbers)), "{row}: {line:?}");
        }
    }
}
