//! `paceline wrk` and the like: another tool's command line and report, measured by this engine.
//!
//! The crate `peers` turns the command line into a job and the run into the report. A symbolic link to this program with
//! the name of a tool is the same command. The exit status is the tool's.

use super::run::carry_out_job;
use super::script::LoadedScript;
use crate::exit::{self, Complaint};
use paceline_engine::{Address, LoggedRequest, RequestLog, Settings, StopFlag};
use paceline_escape::{JsonText, TerminalText};
use paceline_peers::{
    FirstResponse, ListedRequest, ScriptCall, ScriptResults, ToolCommand, ToolInputs, ToolOutput,
    tool_command, tools,
};
use paceline_record::Run;
use paceline_run::{PhaseEventWriter, Prepared};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The exit status of a script's failure: that of wrk.
const SCRIPT_FAILED: u8 = 1;
/// Longer lists of URLs, logs and settings are refused.
const MAX_INPUT_BYTES: u64 = 64 << 20;
/// Longer scripts are refused: they are text that a person writes, or data that a generator made of it.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// Arguments of such a command.
#[derive(clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Arguments {
    /// The flags and arguments of the tool, and --paceline-record FILE for the whole record
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// The arguments of this process; called by the name of a tool, those of its command.
pub fn arguments_by_name() -> Vec<OsString> {
    let mut given: Vec<OsString> = std::env::args_os().collect();
    let called = given.first().and_then(|path| Path::new(path).file_name()?.to_str());
    if let Some(tool) = called.and_then(|name| tools().find(|tool| *tool == name)) {
        given.insert(1, tool.into());
    }
    given
}

/// The flag with which the lab follows the phases of a run; removed from the arguments of the tool.
const EVENTS: &str = "--paceline-events";

/// Carries out the command line of a tool.
pub fn run(name: &str, arguments: &Arguments) -> ExitCode {
    match outcome(name, arguments.arguments.clone()) {
        Ok(ended) => finish(&ended),
        Err(error) => exit::code_of(Err(error)),
    }
}

/// What a tool prints, and the scripts that print after it.
#[derive(Default)]
struct Ended {
    output: ToolOutput,
    script: Option<(LoadedScript, ScriptResults)>,
}

fn finish(Ended { output, script }: &Ended) -> ExitCode {
    let written = output
        .files
        .iter()
        .try_for_each(|(path, text)| crate::file::write_whole(Path::new(path), text.as_bytes()));
    let logged = output.log.as_ref().map_or(Ok(()), |row| {
        crate::file::append(Path::new(&row.path), row.heading.as_bytes(), row.text.as_bytes())
    });
    let printed = print(output).and(written).and(logged);
    let done = script.as_ref().map_or(Ok(()), |(script, results)| script.scripts.done(results));
    if let Err(error) = &done {
        exit::say(&error.to_string());
    }
    match printed {
        Ok(()) if done.is_err() => ExitCode::from(SCRIPT_FAILED),
        Ok(()) => ExitCode::from(output.status),
        Err(error) => exit::code_of(Err(error)),
    }
}

/// Prints the texts of a tool as they are: programs read them.
fn print(output: &ToolOutput) -> anyhow::Result<()> {
    let printed = exit::print(TerminalText::table(&output.stdout));
    exit::print_to_stderr(&TerminalText::table(&output.stderr));
    printed
}

/// The files that a command line names, and the environment.
struct Inputs;

impl ToolInputs for Inputs {
    fn read(&self, path: &str) -> Result<String, String> {
        paceline_files::read_text(Path::new(path), MAX_INPUT_BYTES).map_err(|error| reason(&error))
    }

    fn unreadable(&self, path: &str) -> Option<String> {
        // To open a pipe would take its text, or wait for its writer.
        let opened = fs::metadata(path)
            .and_then(|file| if file.is_file() { File::open(path).map(drop) } else { Ok(()) });
        opened.err().map(|error| reason(&error))
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// The writer of the phases, if the arguments end with its flag.
fn take_events(arguments: &mut Vec<String>) -> anyhow::Result<Option<PhaseEventWriter>> {
    let Some([flag, descriptor]) = arguments.last_chunk().filter(|[flag, _]| flag == EVENTS) else {
        return Ok(None);
    };
    let number =
        descriptor.parse().map_err(|_| Complaint::usage(format!("{flag}: {descriptor} is no number")))?;
    arguments.truncate(arguments.len() - 2);
    Ok(Some(PhaseEventWriter::open(number)?))
}

fn outcome(name: &str, mut arguments: Vec<String>) -> anyhow::Result<Ended> {
    // Opened first, before any file opened here can get the same descriptor number.
    let events = take_events(&mut arguments)?;
    let parsed = tool_command(name, &arguments, &Inputs);
    let command = match parsed.ok_or_else(|| Complaint::usage(format!("{name} is not a known tool")))? {
        Ok(command) => command,
        Err(output) => return Ok(Ended { output, script: None }),
    };
    let mut start = Start::default();
    let begin = |prepared: &mut Prepared, stop: &'static StopFlag| {
        start.refusal = start.begin(command.as_ref(), prepared, stop)?;
        anyhow::Ok(start.refusal.is_none())
    };
    let run = carry_out_job(command.job(), command.time_limit(), events, begin);
    let Start { refusal, first, script, log } = start;
    let failure = script.as_ref().and_then(LoadedScript::end);
    let run = match (run, failure.as_ref()) {
        (Ok(Some(run)), _) => run,
        (Err(_), Some(failure)) => return Ok(Ended { output: refused(failure), script: None }),
        (Err(error), None) => {
            let output = unresolved(command.as_ref()).ok_or(error)?;
            return Ok(Ended { output, script: None });
        }
        (Ok(None), _) => return Ok(Ended { output: refusal.unwrap_or_default(), script: None }),
    };
    write_record(command.as_ref(), &run)?;
    let mut output = command.report(&run, first.as_ref());
    if let Some(log) = log {
        command.list(&run, log.take().iter().map(listed).collect(), &mut output);
    }
    if let Some(failure) = failure {
        output =
            ToolOutput { stderr: refused(failure).stderr + &output.stderr, status: SCRIPT_FAILED, ..output };
    }
    Ok(Ended { output, script: script.map(|script| (script, command.script_results(&run))) })
}

/// What is learned and made before a run.
#[derive(Default)]
struct Start {
    /// What the tool prints instead of a run.
    refusal: Option<ToolOutput>,
    first: Option<FirstResponse>,
    script: Option<LoadedScript>,
    /// The single requests, if the report lists them.
    log: Option<Arc<RequestLog>>,
}

impl Start {
    /// Prepares the run, and prints the text before it. Returns what the tool prints instead if there is none.
    fn begin(
        &mut self,
        command: &dyn ToolCommand,
        prepared: &mut Prepared,
        stop: &'static StopFlag,
    ) -> anyhow::Result<Option<ToolOutput>> {
        let settings = &prepared.settings;
        if let Err(error) = probe(&settings.address, settings.job.connect_timeout.into()) {
            let errno = error.raw_os_error().unwrap_or(1);
            return Ok(Some(command.unreachable(&reason(&error), errno)));
        }
        if let Some(call) = command.script() {
            match load(call, &mut prepared.settings, stop) {
                Ok(script) => self.script = Some(script),
                Err(refusal) => return Ok(Some(refusal)),
            }
        }
        print(&command.begin())?;
        if command.wants_first_response() {
            self.first = first_response(prepared);
        }
        self.log =
            Some(command.max_listed()).filter(|max| *max > 0).map(|max| Arc::new(RequestLog::new(max)));
        prepared.settings.request_log.clone_from(&self.log);
        Ok(None)
    }
}

fn listed(request: &LoggedRequest) -> ListedRequest {
    let &LoggedRequest { sent, connect, first_byte, service, status } = request;
    ListedRequest { sent, connect, first_byte, service, status }
}

/// Loads a script, and lets it make the requests of a run.
fn load(
    call: ScriptCall,
    settings: &mut Settings,
    stop: &'static StopFlag,
) -> Result<LoadedScript, ToolOutput> {
    let file = call.file.clone();
    let source = paceline_files::read(Path::new(&file), MAX_SCRIPT_BYTES)
        .map_err(|error| refused(format!("{file}: cannot open {file}: {}", reason(&error))))?;
    LoadedScript::load(call, &source, settings, stop).map_err(refused)
}

fn refused(problem: impl ToString) -> ToolOutput {
    let stderr = format!("{}\n", problem.to_string());
    ToolOutput { stderr, status: SCRIPT_FAILED, ..ToolOutput::default() }
}

/// Sends the request once. A failure is left to the run, which counts it.
fn first_response(prepared: &Prepared) -> Option<FirstResponse> {
    let debugged = prepared.debug().ok().filter(|debugged| debugged.error.is_none())?;
    let exchange = debugged.exchanges.into_iter().next()?;
    let head = String::from_utf8_lossy(&exchange.head).into_owned();
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut server = fields.filter(|(name, _)| name.eq_ignore_ascii_case("server"));
    // ab reads the field up to the first blank.
    let word = |value: &str| value.split_whitespace().next().unwrap_or_default().to_owned();
    Some(FirstResponse {
        server: server.next().map(|(_, value)| word(value)).unwrap_or_default(),
        body_bytes: exchange.body.len() as u64,
    })
}

/// What a tool prints if a run failed because the name to connect to has no address.
fn unresolved(command: &dyn ToolCommand) -> Option<ToolOutput> {
    let job = command.job();
    let url = job.proxy.as_ref().map_or(&job.url, |proxy| &proxy.url);
    let error = (url.host.as_str(), url.port).to_socket_addrs().err()?;
    // The standard library puts its own words before those of the resolver.
    let text = error.to_string();
    let why = text.rsplit(": ").next().unwrap_or_default();
    Some(command.unresolved(&url.host, why))
}

/// Opens one connection, as the tools do before they print anything.
fn probe(address: &Address, limit: Duration) -> io::Result<()> {
    match address {
        Address::Tcp(address) => TcpStream::connect_timeout(address, limit).map(drop),
        Address::Unix(_) => Ok(()),
    }
}

/// The words of the C library for an error, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn write_record(command: &dyn ToolCommand, run: &Run) -> anyhow::Result<()> {
    let Some(file) = command.record_file() else { return Ok(()) };
    let text = JsonText::of_document(&serde_json::to_string(run)?);
    crate::file::write_whole(Path::new(file), paceline_escape::Printable::from(text).as_bytes())
}
