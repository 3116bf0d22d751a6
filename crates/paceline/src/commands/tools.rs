//! `paceline wrk` and the like: another tool's command line and report, measured by this engine.
//!
//! The crate `peers` turns the command line into a job and the run into the report. A symbolic link to this program with
//! the name of a tool is the same command. The exit status is the tool's.

use super::run::carry_out_job;
use crate::exit::{self, Complaint};
use paceline_engine::Address;
use paceline_escape::JsonText;
use paceline_peers::{FirstResponse, ToolCommand, ToolOutput, tool_command, tools};
use paceline_record::Run;
use paceline_run::Prepared;
use std::ffi::OsString;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

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

/// Carries out the command line of a tool.
pub fn run(name: &str, arguments: &Arguments) -> ExitCode {
    match outcome(name, &arguments.arguments) {
        Ok(output) => finish(&output),
        Err(error) => exit::code_of(Err(error)),
    }
}

fn finish(output: &ToolOutput) -> ExitCode {
    let written = output
        .files
        .iter()
        .try_for_each(|(path, text)| crate::file::write_whole(Path::new(path), text.as_bytes()));
    let printed = exit::print(&output.stdout).and(written);
    let message = output.stderr.trim_end_matches('\n');
    if !message.is_empty() {
        exit::say(message);
    }
    match printed {
        Ok(()) => ExitCode::from(output.status),
        Err(error) => exit::code_of(Err(error)),
    }
}

fn outcome(name: &str, arguments: &[String]) -> anyhow::Result<ToolOutput> {
    let parsed = tool_command(name, arguments);
    let command = match parsed.ok_or_else(|| Complaint::usage(format!("{name} is not a known tool")))? {
        Ok(command) => command,
        Err(output) => return Ok(output),
    };
    let (mut unreachable, mut first) = (None, None);
    let begin = |prepared: &Prepared| {
        let probed = probe(&prepared.settings.address, prepared.settings.job.connect_timeout.into());
        let output =
            |error: &io::Error| command.unreachable(&reason(error), error.raw_os_error().unwrap_or(1));
        unreachable = probed.as_ref().err().map(output);
        if probed.is_ok() {
            exit::print(&command.begin())?;
        }
        if probed.is_ok() && command.wants_first_response() {
            first = first_response(prepared);
        }
        anyhow::Ok(probed.is_ok())
    };
    let run = carry_out_job(command.job(), command.time_limit(), begin)?;
    match (run, unreachable) {
        (Some(run), _) => {
            write_record(command.as_ref(), &run)?;
            Ok(command.report(&run, first.as_ref()))
        }
        (None, output) => Ok(output.unwrap_or_default()),
    }
}

/// Sends the request once. A failure is left to the run, which counts it.
fn first_response(prepared: &Prepared) -> Option<FirstResponse> {
    let exchange = prepared.debug().ok()?.into_iter().next()?;
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
