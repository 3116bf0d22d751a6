//! `paceline lab serve`: starts one server as a round would and leaves it running until Ctrl-C.
//!
//! The server must give one correct answer before its URL is printed; `lab check` checks the other answers. No load is
//! put on the server, and it is not restarted when it exits.

use super::selection::{check_form, check_workloads, notify_of_untried, start_case, working};
use crate::commands::format::PrintFormatFlag;
use crate::exit::{Complaint, Status, print, say};
use crate::lab_folders::{complain, scratch, server_user, shepherd_command};
use anyhow::Context as _;
use paceline_catalogue::{
    CERTIFICATE_NAME, Catalogue, Manifest, POOL, Trait, Variables, WorkloadCase, fresh_seed,
};
use paceline_escape::JsonText;
use paceline_host::Interrupt;
use paceline_host::shepherd::TrackingMethod;
use paceline_lab::{Cores, Databases, LaunchError, LaunchSpec, ReadyCondition, RunningServer, Starter};
use paceline_record::WorkloadProtocol;
use paceline_run::wall_clock;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often a running server is checked.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Flags of `paceline lab serve`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab serve go-nethttp               one process, on a free port
  paceline lab serve go-nethttp --form cores  as its authors recommend
  paceline lab serve go-nethttp --port 8080 --cores 0 1

Exit status: 2 usage, manifest or workload, 3 the server could not be built or
started, or exited, 130 stopped by Ctrl-C")]
pub struct Arguments {
    /// The server's id
    server: String,
    /// The form to start the server in: single (one process) or cores (all given)
    #[arg(long, default_value = "single", value_name = "FORM")]
    form: String,
    /// Start this database for the server
    #[arg(long, value_name = "DATABASE")]
    database: Option<String>,
    /// The port to listen on [default: a free one outside the ephemeral range]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The cores that the server may run on, by number: 0,1 [default: as in a round]
    #[arg(long, value_name = "CORE", num_args = 1.., value_delimiter = ',')]
    cores: Vec<u32>,
    /// Let the server's runtime name its functions for a profile
    #[arg(long)]
    profiled: bool,
    #[command(flatten)]
    print: PrintFormatFlag,
    /// Start the server without a PID namespace, for machines that do not allow one
    #[arg(long)]
    no_namespace: bool,
}

/// A running server, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Serving {
    /// Where it listens, ending in a slash.
    pub url: String,
    /// From its start to its first answer, in nanoseconds.
    pub first_answer_ns: u64,
    /// The cores it may run on.
    pub cores: Vec<u32>,
    /// The process of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<i32>,
}

/// Builds the server if anything changed, starts it, prints the URL and waits.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let server = catalogue.server(&arguments.server).map_err(complain)?;
    let server = if arguments.profiled { Arc::new(server.profiled()) } else { server };
    check_form(&server, &arguments.form)?;
    let ready = ready(&server, catalogue)?;
    let cores = cores(arguments, &server)?;
    notify_of_untried(std::slice::from_ref(&server));
    let provisioner = working(catalogue)?;
    provisioner.build(&server, false).map_err(complain)?;
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    let guard = if arguments.no_namespace { TrackingMethod::Subreaper } else { TrackingMethod::Namespace };
    let user = server_user(&catalogue.folders)?;
    let scratch = scratch(&catalogue.folders.state_dir, &wall_clock::new_id())?;
    let starter = Starter {
        shepherd: shepherd_command()?,
        guard,
        logs: None,
        scratch: scratch.folder().to_owned(),
        interrupt,
        user,
    };
    let variables = provisioner.variables(&server, 0, cores.len() as u32);
    let databases = Databases { provisioner: &provisioner, starter: &starter };
    let database = match arguments.database.as_deref().or(server.database_at_start()) {
        Some(name) => {
            let database = catalogue.database(name).map_err(complain)?;
            match databases.start(&database, &server, &wall_clock::new_id(), &[], fresh_seed()) {
                Ok(started) => Some(started),
                Err(LaunchError::Interrupted) => return Ok(Status::Interrupted),
                Err(LaunchError::Fault { fault, .. }) => {
                    return Err(Complaint::environment(fault.message).into());
                }
            }
        }
        None => None,
    };
    let access = database.as_ref().map(|(_, running)| running.access(POOL));
    let image = provisioner.image_launch(&server, &arguments.form).map_err(complain)?;
    let launched = starter.launch(&LaunchSpec {
        id: &wall_clock::new_id(),
        server: &server,
        form: &arguments.form,
        variables: Variables { port: arguments.port, database: access, ..variables },
        image,
        cores: &cores,
        ready: ReadyCondition::Answers(&ready),
    });
    let launch = match launched {
        Ok(launch) => launch,
        Err(LaunchError::Interrupted) => return Ok(Status::Interrupted),
        Err(LaunchError::Fault { fault, .. }) => {
            return Err(Complaint::environment(format!("{}: {}", server.id, fault.message)).into());
        }
    };
    let certificate = provisioner.certificate(&server);
    announce(arguments.print, &server, &launch, &cores, ready.protocol, &certificate)?;
    let status = wait(&server, launch, interrupt);
    if let Some((process, _running)) = database {
        process.stop().context("cannot stop the database")?;
    }
    status
}

/// The answer required from the server before its URL is printed.
fn ready(server: &Manifest, catalogue: &Catalogue) -> anyhow::Result<WorkloadCase> {
    check_workloads(server, catalogue)?;
    let case = start_case(server, catalogue);
    Ok(case.map_err(|message| Complaint::usage(format!("{}: {message}", server.id)))?)
}

fn cores(arguments: &Arguments, server: &Manifest) -> anyhow::Result<Vec<u32>> {
    let cores = Cores::allowed().context("cannot read the list of cores")?;
    if arguments.cores.is_empty() {
        return Ok(cores.split(server.cores_of(&arguments.form)).server);
    }
    let there = cores.numbers();
    if let Some(absent) = arguments.cores.iter().find(|core| !there.contains(core)) {
        let there: Vec<String> = there.iter().map(u32::to_string).collect();
        return Err(Complaint::usage(format!(
            "core {absent} is not available; this process may use cores {}",
            there.join(", ")
        ))
        .into());
    }
    Ok(arguments.cores.clone())
}

fn announce(
    format: PrintFormatFlag,
    server: &Manifest,
    launch: &RunningServer,
    cores: &[u32],
    protocol: WorkloadProtocol,
    certificate: &Path,
) -> anyhow::Result<()> {
    let url = format!("{}://{}/", protocol.scheme(false), launch.address);
    let first_answer_ns = launch.startup.first_answer_ns;
    if format.is_json() {
        let serving = Serving { url, first_answer_ns, cores: cores.to_vec(), process: launch.process() };
        return print(JsonText::of_document(&serde_json::to_string(&serving)?));
    }
    let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
    let start_s = first_answer_ns as f64 * 1e-9;
    let others = other_urls(server, launch.address, protocol, certificate);
    print(&format!(
        "{url}\n{others}{} was ready after {start_s:.2} s (cores: {}); Ctrl-C stops it\n",
        server.id,
        cores.join(", ")
    ))
}

/// Where a server speaks other protocols than at its first port, a line for each.
fn other_urls(
    server: &Manifest,
    address: SocketAddr,
    protocol: WorkloadProtocol,
    certificate: &Path,
) -> String {
    let traits = &server.traits;
    let trust = format!("--cacert {} --sni {CERTIFICATE_NAME}", certificate.display());
    let mut lines = String::new();
    if traits.address(address, Some("2"), false) != address {
        lines += &format!("http://{}/ for HTTP/2 (--http 2)\n", traits.address(address, Some("2"), false));
    }
    if traits.has(Trait::Tls) == Some(true) {
        let (scheme, address) = (protocol.scheme(true), traits.address(address, None, true));
        lines += &format!("{scheme}://{address}/ with TLS ({trust})\n");
    }
    if traits.has(Trait::Http3) == Some(true) {
        let address = traits.address(address, Some("3"), true);
        lines += &format!("https://{address}/ for HTTP/3 (--http 3 {trust})\n");
    }
    lines
}

fn wait(server: &Manifest, mut launch: RunningServer, interrupt: Interrupt) -> anyhow::Result<Status> {
    loop {
        if let Some(ended) = launch.wait_ended(LOOK_EVERY) {
            return Err(Complaint::environment(format!("server {} ended with {ended}", server.id)).into());
        }
        if interrupt.requested() {
            say(&format!("stopping server {}, which may take 5 s; Ctrl-C again kills it", server.id));
            launch.stop().with_context(|| format!("cannot stop {}", server.id))?;
            return Ok(Status::Interrupted);
        }
    }
}
