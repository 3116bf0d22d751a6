//! What several subcommands of `paceline lab` share: the selection of servers, its checks, and the provisioner.

use crate::commands::format::PrintFormatFlag;
use crate::exit::{Complaint, error_text, say};
use crate::lab_folders::{complain, end_left_overs, server_user, shepherd_command};
use anyhow::Context as _;
use paceline_catalogue::{Catalogue, Manifest, Select, WorkloadCase, nearest};
use paceline_host::Interrupt;
use paceline_lab::{LabError, Provisioner};
use std::sync::Arc;

/// The servers that a command applies to.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct ServerSelection {
    /// Servers by id, or by pattern: go-nethttp,'rust-*'
    #[arg(value_name = "SERVER", value_delimiter = ',')]
    servers: Vec<String>,
    /// Every server
    #[arg(long)]
    all: bool,
    /// Every server that PLAN selects; PLAN is a file, or the name of a plan in the plans folder
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
}

impl ServerSelection {
    /// One server.
    pub(super) fn of_server(id: &str) -> Self {
        Self { servers: vec![id.to_owned()], all: false, plan: None }
    }

    pub(super) fn servers_in(&self, catalogue: &Catalogue) -> anyhow::Result<Vec<Arc<Manifest>>> {
        if self.all {
            let all = catalogue.selected(&Select::default());
            all.note().iter().for_each(|note| say(note));
            return Ok(all.servers);
        }
        if let Some(plan) = &self.plan {
            return of_plan(plan, catalogue).map_err(complain);
        }
        catalogue.servers_named(&self.servers).map_err(complain)
    }

    /// The servers with the selected balancers and databases: all, those of the plan, or those given by id.
    pub(super) fn with_others(&self, catalogue: &Catalogue) -> anyhow::Result<Vec<Arc<Manifest>>> {
        for (kind, broken) in
            [("balancer", &catalogue.broken_balancers), ("database", &catalogue.broken_databases)]
        {
            if let Some(broken) = broken.iter().find(|broken| self.names(&broken.id)) {
                let what = format!("{kind} `{}` cannot be used: {}", broken.id, broken.error);
                return Err(Complaint::usage(what).into());
            }
        }
        let of_plan = match &self.plan {
            Some(plan) if !self.all => {
                Some(catalogue.plan(plan).and_then(|plan| plan.resolve(catalogue)).map_err(complain)?)
            }
            _ => None,
        };
        let is_meant = |id: &str| self.all || self.names(id);
        let balancers = of_plan.as_ref().map_or(&catalogue.balancers, |resolved| &resolved.balancers);
        let databases = of_plan.as_ref().map_or(&catalogue.databases, |resolved| &resolved.databases);
        let balancers = balancers.iter().filter(|one| of_plan.is_some() || is_meant(&one.id));
        let databases = databases.iter().filter(|one| of_plan.is_some() || is_meant(&one.id));
        let others = balancers.map(|one| (one.id.clone(), one.as_server(None)));
        let others: Vec<(String, Manifest)> =
            others.chain(databases.map(|one| (one.id.clone(), one.as_server()))).collect();
        let is_other = |name: &&String| others.iter().any(|(id, _)| id == *name);
        let servers = self.servers.iter().filter(|name| !is_other(name)).cloned().collect();
        let mut meant = Self { servers, all: self.all, plan: self.plan.clone() }.servers_in(catalogue)?;
        meant.extend(others.into_iter().map(|(_, manifest)| Arc::new(manifest)));
        Ok(meant)
    }

    /// Whether the server was given by its exact id.
    pub(super) fn names(&self, id: &str) -> bool {
        self.servers.iter().any(|name| name == id)
    }

    /// Reports servers that are left out because their manifests are wrong; returns their number.
    pub(super) fn print_broken(&self, catalogue: &Catalogue) -> usize {
        let broken = if self.all { catalogue.broken_servers.as_slice() } else { &[] };
        let balancers = if self.all { catalogue.broken_balancers.as_slice() } else { &[] };
        let databases = if self.all { catalogue.broken_databases.as_slice() } else { &[] };
        for server in broken.iter().chain(balancers).chain(databases) {
            say(&format!("server {} is skipped, because its files have errors: {}", server.id, server.error));
        }
        broken.len() + balancers.len() + databases.len()
    }
}

/// Tells the user which servers are marked as untried, and when that mark is to be removed.
pub(super) fn notify_of_untried(servers: &[Arc<Manifest>]) {
    for server in servers {
        if let Some(reason) = &server.untried {
            say(&format!(
                "{} is marked as not tried: {reason}; a successful `lab check` shows that it works: remove the key \
                 `untried` then",
                server.id
            ));
        }
    }
}

/// Whether the state of a server is unknown for a reason that concerns it alone: a tool reports no version, a container
/// is refused, or a file of it cannot be read.
pub(super) fn concerns_one_server(error: &LabError) -> bool {
    matches!(error, LabError::ToolVersion { .. } | LabError::Container { .. } | LabError::File { .. })
}

/// The commands that make servers ready to start: a container has no set-up, and its build says what it lacks.
pub(super) fn remedy<'a>(servers: impl Iterator<Item = &'a Arc<Manifest>>) -> String {
    let (built, set_up): (Vec<_>, Vec<_>) = servers.partition(|server| server.container.is_some());
    let commands = [("setup", set_up), ("build", built)].into_iter().filter(|(_, some)| !some.is_empty());
    let commands = commands.map(|(name, some)| {
        let ids: Vec<&str> = some.iter().map(|server| server.id.as_str()).collect();
        format!("paceline lab {name} {}", ids.join(" "))
    });
    commands.collect::<Vec<_>>().join("; ")
}

/// Checks that a server has the form; the error lists the forms that it has.
pub(super) fn check_form(server: &Manifest, form: &str) -> anyhow::Result<()> {
    if server.form(form).is_some() {
        return Ok(());
    }
    let forms = || server.forms.keys().map(String::as_str);
    let hint = nearest(form, forms()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let there = forms().collect::<Vec<_>>().join(", ");
    Err(Complaint::usage(format!("server {} cannot run in the form `{form}`{hint}", server.id))
        .hint(format!("its forms: {there}"))
        .into())
}

/// Checks the workloads of a server; the error is the one that a round reports.
pub(super) fn check_workloads(server: &Manifest, catalogue: &Catalogue) -> anyhow::Result<()> {
    let broken = server.workloads.iter().find_map(|name| catalogue.broken_workload(name));
    broken.map_or(Ok(()), |broken| {
        Err(Complaint::usage(format!("workload `{}` cannot be used: {}", broken.id, broken.error)).into())
    })
}

/// The case with which the start of a server is checked: the first that needs no database, unless the server has one from
/// its start. The error says that there is none.
pub(super) fn start_case(server: &Manifest, catalogue: &Catalogue) -> Result<WorkloadCase, &'static str> {
    let known = server.workloads.iter().filter_map(|name| catalogue.workload_of(server, name));
    let has_database = server.database_at_start().is_some();
    let mut workloads: Vec<_> = known.filter(|one| has_database || !one.needs_database()).collect();
    workloads.sort_by_key(|workload| workload.needs_database());
    workloads.iter().flat_map(|workload| &workload.cases).next().cloned().ok_or(
        "all workloads of this server need a database, but Paceline needs a workload without a database to check \
         that the server has started: add one, such as `hello`, to the server and to `workloads` in its server.toml",
    )
}

/// The servers in a plan's cells, each once. What the plan leaves out, and why, is reported by the round.
fn of_plan(name: &str, catalogue: &Catalogue) -> Result<Vec<Arc<Manifest>>, LabError> {
    let cells = catalogue.plan(name)?.resolve(catalogue)?.cells;
    let mut servers: Vec<Arc<Manifest>> = cells.into_iter().map(|cell| cell.server).collect();
    servers.dedup_by(|a, b| a.id == b.id);
    Ok(servers)
}

pub(super) fn provisioner(catalogue: &Catalogue) -> anyhow::Result<Provisioner> {
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    let provisioner = Provisioner::new(&catalogue.folders, shepherd_command()?, interrupt).with_notice(say);
    Ok(provisioner.with_user(server_user(&catalogue.folders)?))
}

/// The provisioner, with a check that its user can be used. Ends what an earlier lab left running.
pub(super) fn working(catalogue: &Catalogue) -> anyhow::Result<Provisioner> {
    let provisioner = provisioner(catalogue)?;
    if let Some(notice) = end_left_overs() {
        say(&notice);
    }
    provisioner.prepare_user().map_err(complain)?;
    Ok(provisioner)
}

/// Runs `step` for each server and continues after a failure, which is reported immediately; an interruption ends the
/// loop.
pub(super) fn for_each(
    servers: &[Arc<Manifest>],
    format: PrintFormatFlag,
    mut step: impl FnMut(&Manifest) -> Result<String, LabError>,
) -> anyhow::Result<usize> {
    let mut failed = 0;
    for server in servers {
        match step(server) {
            Ok(done) => format.print_line(&format!("{}: {done}\n", server.id))?,
            Err(LabError::Interrupted) => return Err(complain(LabError::Interrupted)),
            Err(error) => {
                failed += 1;
                let hint = error.hint();
                say(&format!("paceline: {}", error_text(&error)));
                if let Some(hint) = hint {
                    say(&format!("  hint: {hint}"));
                }
            }
        }
    }
    Ok(failed)
}
