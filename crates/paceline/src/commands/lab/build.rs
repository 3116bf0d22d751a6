//! `paceline lab build`: builds servers whose sources have changed, and prints their versions.
//!
//! The lab crate's provisioner detects changes and runs builds. A server that was never set up is not set up here: use
//! `lab setup`, which prints beforehand what it installs.

use super::selection::{ServerSelection, for_each, notify_of_untried, working};
use crate::commands::format::PrintFormatFlag;
use crate::documents::{BuildDocument, BuiltServer};
use crate::exit::Status;
use paceline_catalogue::Catalogue;
use paceline_lab::{ContainerEngine, StepOutcome};
use paceline_stats::duration_text;
use std::path::PathBuf;

/// Flags of `paceline lab build`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab build --all               every server that has changed
  paceline lab build rust-hyper --again  one server, changed or not
  paceline lab build go-gin --trust ~/FrameworkBenchmarks
                                         a container from this folder")]
pub struct Arguments {
    #[command(flatten)]
    selection: ServerSelection,
    /// Build again even if nothing has changed
    #[arg(long)]
    again: bool,
    /// Accept the containers whose folder is DIR or below: building one runs its code with access to the network
    #[arg(long, value_name = "DIR")]
    trust: Vec<PathBuf>,
    /// The engine that builds containers [default: the first that is installed]
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<EngineFlag>,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// Values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum EngineFlag {
    Podman,
    Docker,
}

impl EngineFlag {
    fn engine(self) -> ContainerEngine {
        match self {
            EngineFlag::Podman => ContainerEngine::Podman,
            EngineFlag::Docker => ContainerEngine::Docker,
        }
    }
}

/// Builds each server and prints its version. After a failure the other servers are still built.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.selection.servers_in(catalogue)?;
    let broken = arguments.selection.print_broken(catalogue);
    notify_of_untried(&servers);
    let provisioner = working(catalogue)?;
    let provisioner =
        provisioner.trusting(arguments.trust.clone()).with_engine(arguments.engine.map(EngineFlag::engine));
    let mut built = Vec::new();
    let failed = for_each(&servers, arguments.print, |server| {
        let made = provisioner.build(server, arguments.again)?;
        let versions = provisioner.versions(server)?.lines().collect::<Vec<_>>().join("; ");
        let took_s = match made {
            StepOutcome::Already => None,
            StepOutcome::Now(took) => Some(took.as_secs_f64()),
        };
        built.push(BuiltServer { server: server.id.clone(), built_in_s: took_s, versions: versions.clone() });
        Ok(match made {
            StepOutcome::Already => format!("up to date ({versions})"),
            StepOutcome::Now(took) => format!("built in {} ({versions})", duration_text(took)),
        })
    })?;
    let absent = servers.iter().filter(|server| built.iter().all(|done| done.server != server.id));
    let absent = absent.map(|server| server.id.clone()).collect();
    arguments.print.print_document(&BuildDocument { built, failed: absent })?;
    Ok(if failed + broken > 0 { Status::Environment } else { Status::Done })
}
