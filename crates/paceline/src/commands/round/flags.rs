//! The flags of `paceline round`.
//!
//! `open.rs` makes a plan from [`PlanFlags`]; [`ResumeFlags`] says how the round is run, and whether an earlier one is
//! resumed. The lab checks the values, for flags and plan files alike.

use crate::commands::dashboards::DashboardFlags;
use crate::commands::format::Format;
use crate::exit::Complaint;
use crate::lab_folders::FolderArguments;
use crate::store_location::StoreArguments;
use clap::builder::FalseyValueParser;
use paceline_catalogue::{Plan, parse_duration};
use paceline_host::Machines;
use paceline_host::shepherd::TrackingMethod;
use paceline_lab::{FleetSettings, NodeUser};
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `paceline round`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub plan_flags: PlanFlags,
    #[command(flatten)]
    pub resume_flags: ResumeFlags,
    #[command(flatten)]
    pub store: StoreArguments,
    #[command(flatten)]
    pub folders: FolderArguments,
    /// Report as text, or as JSON for programs
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FORMAT",
        default_value = "text",
        value_parser = Format::among(Format::PRINTED)
    )]
    pub format: Format,
}

const EXAMPLES: &str = "\
Examples:
  paceline round plans/quick.toml           run a plan
  paceline round plans/all.toml --full      the whole plan, no time budget
  paceline round quick --servers 'go-*'     only these servers of a plan
  paceline round --servers go-nethttp --workloads hello --repeats 3
  paceline round --servers go-nethttp --generator wrk
  paceline round --resume                   continue the newest unfinished round

Exit status: 0 done, 1 a server has no usable trial under some load, or all rows
are invalid or overloaded, 2 usage or plan, 3 environment, 130 interrupted";

/// What to measure: a plan, or flags that make one.
#[derive(clap::Args)]
pub struct PlanFlags {
    /// The plan: a file, or the name of a plan in the plans folder
    #[arg(value_name = "PLAN", conflicts_with_all = ["forms", "database", "connections", "pipeline", "rate", "duration", "warmup"])]
    pub plan: Option<String>,
    /// A plan that another command made, instead of a file.
    #[arg(skip)]
    pub made: Option<Plan>,
    /// Servers by id or pattern: go-nethttp,'rust-*'
    ///
    /// With a plan: measure only these of its servers.
    #[arg(long, value_name = "GLOB", num_args = 1.., value_delimiter = ',', help_heading = "What to measure")]
    pub servers: Vec<String>,
    /// Workloads or cases: hello,tetra/140 [default: the plan's, or hello]
    ///
    /// With a plan: measure only these of its workloads.
    #[arg(long, value_name = "WORKLOAD", num_args = 1.., value_delimiter = ',', help_heading = "What to measure")]
    pub workloads: Vec<String>,
    /// Databases for workloads that need one, by their folders in databases/: postgresql,mariadb [no default]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "DATABASE",
        num_args = 1..,
        value_delimiter = ',',
        help_heading = "Without a plan"
    )]
    pub database: Vec<String>,
    /// Forms of the servers: single (one process), cores (all given) [default: single]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FORM",
        num_args = 1..,
        value_delimiter = ',',
        help_heading = "Without a plan"
    )]
    pub forms: Vec<String>,
    /// Number of connections [default: 64]
    #[arg(long, short, value_name = "N", help_heading = "Without a plan")]
    pub connections: Option<u32>,
    /// Maximum number of requests outstanding on a connection [default: 1]
    #[arg(hide_short_help = true, long, value_name = "DEPTH", help_heading = "Without a plan")]
    pub pipeline: Option<u32>,
    /// Rates to offer (open loop), one load for each
    ///
    /// In requests per second.
    #[arg(long, short, value_name = "PER_SECOND", num_args = 1.., help_heading = "Without a plan")]
    pub rate: Vec<f64>,
    /// Length of each measured window [default: 3s]
    #[arg(long, short, value_name = "T", value_parser = parse_duration, help_heading = "Without a plan")]
    pub duration: Option<Duration>,
    /// Length of each warm-up [default: 1s]
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = parse_duration, help_heading = "Without a plan")]
    pub warmup: Option<Duration>,
    /// Warm each launch up before its loads until it no longer gets faster, for at most this time; 0s for no warm-up of
    /// launches [default: the plan's, or 60s]
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = parse_duration, env = "PACELINE_STEADY_WITHIN", hide_env_values = true, help_heading = "Order")]
    pub steady_within: Option<Duration>,
    /// Launches of each server [default: the plan's, or 3]
    #[arg(long, value_name = "N", help_heading = "Order")]
    pub repeats: Option<u32>,
    /// Run everything in the plan, without its time budget
    ///
    /// This includes the loads and repeats that the plan leaves out by default.
    #[arg(long, requires = "plan", help_heading = "Order")]
    pub full: bool,
    /// Only print the number of trials and the expected time
    #[arg(long, alias = "dry-run", conflicts_with = "resume", help_heading = "Order")]
    pub estimate: bool,
    /// Seed of the order of trials [default: the plan's, otherwise random]
    ///
    /// A random seed is recorded.
    #[arg(hide_short_help = true, long, value_name = "N", help_heading = "Order")]
    pub seed: Option<u64>,
}

/// How to run it.
#[derive(clap::Args)]
#[command(next_help_heading = "How to run it")]
pub struct ResumeFlags {
    /// Resume this round, or the newest unfinished one
    ///
    /// ROUND is its id, or a prefix of its id.
    #[arg(long, value_name = "ROUND", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["servers", "workloads", "database", "forms", "connections", "pipeline", "rate", "duration", "warmup", "repeats", "seed", "full"])]
    pub resume: Option<String>,
    /// Load generator: wrk, oha, h2load, ab, fortio or a command [default: this program]
    ///
    /// A command is a template such as 'wrk -t1 -c{connections} -d{duration_s}s --latency {url}', or any program that
    /// accepts the flags of `paceline run`. A resumed round keeps its generator by default.
    #[arg(long, value_name = "CMD")]
    pub generator: Option<String>,
    /// Run on other machines: ssh:server=HOST,loader=HOST,loader=HOST, slurm or slurm:PARTITION
    ///
    /// Servers are built on this machine and copied to the machine that runs them. With ssh, that is server=HOST, or this
    /// machine if it is left out; with Slurm, a node, or this machine if --listen is given. If servers run on this
    /// machine, --listen is the address at which loaders reach them.
    #[arg(hide_short_help = true, long, value_name = "WHERE", conflicts_with = "generator")]
    pub on: Option<String>,
    /// Maximum time that each launch waits for nodes from Slurm
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = parse_duration, default_value = "60s")]
    pub queue_limit: Duration,
    /// Share the load among N loaders (processes that send requests), as in `paceline run --loaders`
    #[arg(hide_short_help = true, long, value_name = "N", conflicts_with = "generator")]
    pub loaders: Option<u32>,
    /// The address that servers listen on [default: 127.0.0.1]
    #[arg(hide_short_help = true, long, value_name = "ADDRESS")]
    pub listen: Option<std::net::IpAddr>,
    /// Start servers without a PID namespace, for machines that do not allow one
    #[arg(hide_short_help = true, long)]
    no_namespace: bool,
    /// Change settings of this machine for the round, and restore them afterwards: kernel limits, ports, queues, the
    /// frequency governor, idle states (--quiet-cpu)
    ///
    /// Every setting is printed and recorded, even if it could not be changed; most settings need root.
    #[arg(hide_short_help = true, long)]
    pub tune: bool,
    /// Keep processors out of idle states while the round runs, if permitted (/dev/cpu_dma_latency)
    ///
    /// On a virtual machine this prevents most steal: a hypervisor gives a core to other machines mainly while the
    /// core is idle.
    #[arg(hide_short_help = true, long)]
    pub quiet_cpu: bool,
    /// Folder of the machine's settings (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub tune_root: PathBuf,
    /// Run even if another round is running on this machine; the trials get a warning
    #[arg(hide_short_help = true, long, env = "PACELINE_SHARE_MACHINE", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub share_machine: bool,
    /// Exit 0 even if no row of the report is usable: all invalid, overloaded or failed
    #[arg(hide_short_help = true, long, env = "PACELINE_ALLOW_INVALID", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub allow_invalid: bool,
    /// Then profile each server under the first closed load: flame graphs, table of functions
    ///
    /// In launches after all trials, which are not stored. Needs perf; DIR gets SERVER.svg and functions.txt.
    #[arg(hide_short_help = true, long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "profiles", conflicts_with_all = ["on", "loaders"])]
    pub profile: Option<PathBuf>,
    /// Print only the report and errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the round in a browser while it runs, and its results afterwards until Ctrl-C
    #[arg(hide_short_help = true, long)]
    pub view: bool,
    #[command(flatten)]
    pub dashboards: DashboardFlags,
}

impl ResumeFlags {
    /// The command of the load generator, if one was given: `paceline run` with flags if several generators share the
    /// load.
    pub fn generator(&self) -> anyhow::Result<Option<String>> {
        let mut command = String::new();
        if let Some(on) = &self.on {
            self.machines(on)?;
            command.push_str(&format!(" --on {on}"));
        }
        if let Some(loaders) = self.loaders {
            command.push_str(&format!(" --loaders {loaders}"));
        }
        Ok(if command.is_empty() { self.generator.clone() } else { Some(format!("paceline{command}")) })
    }

    /// Parses the value of `--on`, and checks that other machines that send requests to servers on this one can reach
    /// them. A database on another machine is sent requests from here.
    fn machines(&self, on: &str) -> anyhow::Result<Machines> {
        let machines = on.parse::<Machines>();
        let machines = machines.map_err(|error| Complaint::usage(format!("--on {on}: {error}")))?;
        let needs_address = match &machines {
            Machines::Named(hosts) => {
                let has = |role: &str| hosts.iter().any(|(known, _)| known == role);
                !has("server") && (has("loader") || has("balancer"))
            }
            Machines::Slurm { .. } => false,
        };
        if needs_address && self.listen.is_none() {
            let what = format!(
                "--on {on}: servers run on this machine, and loaders or a balancer on other machines need its address"
            );
            let hint = match self.resume {
                Some(_) => "add --listen ADDRESS, as when the round was begun",
                None => "add --listen ADDRESS, or server=HOST to --on",
            };
            return Err(Complaint::usage(what).hint(hint).into());
        }
        Ok(machines)
    }

    /// The machines in a round's generator command, if any; `user` is the user that servers run as. A resumed round has
    /// them from its record, and the address of its servers from the flags again.
    pub fn fleet(
        &self,
        generator: Option<&str>,
        user: Option<NodeUser>,
    ) -> anyhow::Result<Option<FleetSettings>> {
        let words: Vec<&str> = generator.unwrap_or_default().split_ascii_whitespace().collect();
        let value = |flag: &str| {
            let at = words.iter().position(|word| *word == flag)?;
            words.get(at + 1).copied()
        };
        let (Some(&"paceline"), Some(on)) = (words.first(), value("--on")) else { return Ok(None) };
        Ok(Some(FleetSettings {
            machines: self.machines(on)?,
            loaders: value("--loaders").and_then(|count| count.parse().ok()),
            listen: self.listen,
            queue_limit: self.queue_limit,
            guard: self.guard(),
            user,
        }))
    }

    /// How the processes of a server are kept together.
    pub fn guard(&self) -> TrackingMethod {
        if self.no_namespace { TrackingMethod::Subreaper } else { TrackingMethod::Namespace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct TestFlags {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_resumed_round_needs_the_address_of_its_servers_again() {
        let flags = |more: &[&str]| {
            TestFlags::parse_from([&["round", "--resume"][..], more].concat()).arguments.resume_flags
        };
        let kept = Some("paceline --on ssh:loader=n1");
        let refused = flags(&[]).fleet(kept, None).unwrap_err().to_string();
        assert!(refused.contains("loaders or a balancer on other machines need its address"), "{refused}");
        assert!(flags(&[]).fleet(Some("paceline --on ssh:database=n2"), None).unwrap().is_some());
        assert!(flags(&["--listen", "10.0.0.1"]).fleet(kept, None).unwrap().is_some());
        let elsewhere = Some("paceline --on ssh:server=n1,loader=n2");
        assert!(flags(&[]).fleet(elsewhere, None).unwrap().is_some());
    }

    #[test]
    fn values_are_separated_by_spaces_or_commas_or_flags() {
        for flags in [
            &["--servers", "a-one,b-*", "c", "--workloads", "hello,tetra/140", "--forms", "single,cores"][..],
            &[
                "--servers",
                "a-one",
                "b-*",
                "c",
                "--workloads",
                "hello",
                "tetra/140",
                "--forms",
                "single",
                "cores",
            ],
            &[
                "--servers=a-one",
                "--servers=b-*,c",
                "--workloads=hello",
                "--workloads=tetra/140",
                "--forms=single,cores",
            ],
        ] {
            let plan_flags = TestFlags::parse_from([&["round"], flags].concat()).arguments.plan_flags;
            assert_eq!(plan_flags.servers, ["a-one", "b-*", "c"], "{flags:?}");
            assert_eq!(plan_flags.workloads, ["hello", "tetra/140"], "{flags:?}");
            assert_eq!(plan_flags.forms, ["single", "cores"], "{flags:?}");
        }
    }
}
