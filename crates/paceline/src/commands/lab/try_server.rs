//! `paceline lab try DIR`: the path of a server's author, from a folder to a page that can be shared.
//!
//! It sets the server up and checks it like `setup` and `check`, then carries out a plan in which the server is measured
//! beside others and beside a copy of itself, and writes the round's page and a badge.

use super::selection::{concerns_one_server, notify_of_untried, provisioner, remedy, start_case, working};
use super::{check, setup};
use crate::commands::{report, round};
use crate::exit::{Complaint, Status, error_text, fitted_lines, print, say};
use crate::file::{self, FileIdentity};
use crate::lab_folders::complain;
use paceline_catalogue::{Catalogue, MANIFEST_FILE, Manifest, Plan, Select};
use paceline_escape::shell_word;
use paceline_lab::{LabError, Provisioner, ServerState};
use paceline_report::{Report, ServerRate};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `paceline lab try`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab try ./go-mine                       beside the servers of plans/try.toml
  paceline lab try ./go-mine --against rust-axum   beside this server
  paceline lab try ./go-mine -o result.html        writes result.html and result.svg

Exit status: 0 done, 1 a check failed or no figure is usable, 2 usage, manifest
or plan, 3 environment, 130 interrupted")]
pub struct Arguments {
    /// The server's folder, with its server.toml; it may be anywhere
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The servers to compare it with, by id or pattern [default: those of the plan that are set up]
    #[arg(long, value_name = "SERVER", num_args = 1.., value_delimiter = ',')]
    against: Vec<String>,
    /// Workload to measure [default: the plan's, or the first that the server has]
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// The plan with the loads, the number of launches and the servers to compare with
    #[arg(long, value_name = "PLAN", default_value = "try")]
    plan: String,
    /// The page to write, with the badge beside it [default: DIR's name with .html, in the current folder]
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Accept a container whose folder is TRUSTED or below: building it runs its code with access to the network
    #[arg(long, value_name = "TRUSTED")]
    trust: Vec<PathBuf>,
}

/// Sets the server up, checks it, measures it, and writes page and badge.
pub fn run(arguments: &Arguments, mut catalogue: Catalogue) -> anyhow::Result<Status> {
    if !arguments.folder.join(MANIFEST_FILE).is_file() {
        let folder = arguments.folder.display();
        return Err(Complaint::usage(format!("{folder} has no {MANIFEST_FILE}"))
            .hint("`paceline lab new ./LANGUAGE-NAME` writes a folder with one")
            .into());
    }
    let server = catalogue.add_server(&arguments.folder).map_err(complain)?;
    // The user that runs the servers must be able to enter its folder.
    if let Some(parent) = server.folder.parent() {
        catalogue.folders.servers_dir = parent.to_owned();
    }
    let page = match &arguments.output {
        Some(page) => page.clone(),
        None => PathBuf::from(format!("{}.html", server.id)),
    };
    let badge = page.with_extension("svg");
    if FileIdentity::of_path(&page) == FileIdentity::of_path(&badge) {
        let what = format!("{} is the place of the badge: name the page differently", page.display());
        return Err(Complaint::usage(what).hint("-o FILE.html also writes FILE.svg").into());
    }
    [&page, &badge].into_iter().try_for_each(|path| file::check_writable(path))?;
    let plan = catalogue.plan(&arguments.plan).map_err(complain)?;
    let workload = workload(&server, &plan, arguments.workload.as_deref(), &catalogue)?;
    let provisioner = provisioner(&catalogue)?;
    let others = others(arguments, &plan, &server, &workload, &catalogue, &provisioner)?;
    notify_of_untried(std::slice::from_ref(&server));
    let status = prepare(arguments, &server, &provisioner, &catalogue)?;
    if status != Status::Done {
        return Ok(status);
    }
    let status = check::check_one(&server, &catalogue)?;
    if status != Status::Done {
        say(&format!(
            "{} is not measured, because a check failed: mend it, then run this command again",
            server.id
        ));
        return Ok(status);
    }
    let plan = measured(plan, &server, &others, workload);
    let (status, records) = round::run_plan(plan, &catalogue)?;
    let report = Report::new(&records.round, &records.trials);
    let text = report::page(&records.round, &records.trials, &report)?;
    file::write_whole(&page, text.to_string().as_bytes())?;
    let Some(rate) = ServerRate::of_server(&report, &server.id) else {
        let what =
            format!("plan `{}` has no closed loop, so there is no rate for a badge", report.round.plan);
        return Err(Complaint::usage(what).hint(format!("the page is {}", page.display())).into());
    };
    file::write_whole(&badge, rate.badge(&report).to_string().as_bytes())?;
    let written = format!(
        "\n{}\n\n{}  the page to share, in one file\n{}  the badge, for a README\n",
        rate.sentence(&report),
        page.display(),
        badge.display()
    );
    print(&fitted_lines(&written))?;
    Ok(status)
}

/// Sets the server up, or builds a container whose folder is accepted now: `lab build` does not know a server outside
/// the folder of servers.
fn prepare(
    arguments: &Arguments,
    server: &Manifest,
    provisioner: &Provisioner,
    catalogue: &Catalogue,
) -> anyhow::Result<Status> {
    // A container has no set-up but its packages: its build says which engine or right is missing.
    let has_setup = server.container.is_none() || !server.packages.is_empty();
    match provisioner.state(server).map_err(complain)? {
        ServerState::Lacking(_) | ServerState::NotSetUp if has_setup => {
            setup::run(&setup::Arguments::of_server(&server.id), catalogue)
        }
        ServerState::Lacking(_) | ServerState::NotSetUp | ServerState::Untrusted => {
            let built = working(catalogue)?.trusting(arguments.trust.clone()).build(server, false);
            built.map(|_| Status::Done).map_err(|error| explain(error, &arguments.folder))
        }
        ServerState::NotBuilt | ServerState::Stale | ServerState::Ready => Ok(Status::Done),
    }
}

/// An error of a build. A container is accepted with this command.
fn explain(error: LabError, tried: &Path) -> anyhow::Error {
    let LabError::Untrusted { folder, .. } = &error else { return complain(error) };
    let [tried, trusted] = [tried, folder.as_path()].map(|path| shell_word(&path.to_string_lossy()));
    let hint = format!("if you trust it: paceline lab try {tried} --trust {trusted}");
    Complaint::environment(error_text(&error)).hint(hint).into()
}

/// The workload to measure: the one given, else the plan's first that the server has, else its first without a database.
fn workload(
    server: &Manifest,
    plan: &Plan,
    asked: Option<&str>,
    catalogue: &Catalogue,
) -> anyhow::Result<String> {
    let has = |name: &&str| server.workloads.iter().any(|one| name.split('/').next() == Some(one));
    if let Some(asked) = asked {
        return match Some(asked).filter(has) {
            Some(asked) => Ok(asked.to_owned()),
            None => {
                Err(Complaint::usage(format!("server {} does not have the workload `{asked}`", server.id))
                    .hint(format!("its workloads: {}", server.workloads.join(", ")))
                    .into())
            }
        };
    }
    if let Some(known) = plan.workloads.iter().map(String::as_str).find(has) {
        return Ok(known.to_owned());
    }
    let first = start_case(server, catalogue)
        .map_err(|message| Complaint::usage(format!("{}: {message}", server.id)))?;
    let of_case = |name: &&String| {
        let workload = catalogue.workload_of(server, name);
        workload.is_some_and(|workload| workload.cases.iter().any(|case| case.address == first.address))
    };
    Ok(server.workloads.iter().find(of_case).cloned().unwrap_or_default())
}

/// The servers to compare with. One that was asked for must be set up; of the plan's, those that are and can be read.
fn others(
    arguments: &Arguments,
    plan: &Plan,
    server: &Manifest,
    workload: &str,
    catalogue: &Catalogue,
    provisioner: &Provisioner,
) -> anyhow::Result<Vec<Arc<Manifest>>> {
    let is_asked = !arguments.against.is_empty();
    let chosen = match is_asked {
        true => catalogue.servers_named(&arguments.against).map_err(complain)?,
        false => catalogue.selected(&plan.select).servers,
    };
    let name = workload.split('/').next().unwrap_or_default();
    let (mut others, mut absent) = (Vec::new(), Vec::new());
    for other in chosen.into_iter().filter(|other| other.id != server.id) {
        if !other.workloads.iter().any(|one| one == name) {
            say(&format!("{} is left out: it does not have the workload `{name}`", other.id));
            continue;
        }
        let state = match provisioner.state(&other) {
            Err(error) if !is_asked && concerns_one_server(&error) => {
                say(&format!("{} is left out: {}", other.id, error_text(&error)));
                continue;
            }
            state => state.map_err(complain)?,
        };
        match state {
            ServerState::NotBuilt | ServerState::Stale | ServerState::Ready => others.push(other),
            ServerState::Lacking(_) | ServerState::NotSetUp | ServerState::Untrusted => absent.push(other),
        }
    }
    if absent.is_empty() {
        return Ok(others);
    }
    let ids: Vec<&str> = absent.iter().map(|other| other.id.as_str()).collect();
    let what = format!("not set up: {}", ids.join(", "));
    let hint = format!("set them up with: {}", remedy(absent.iter()));
    if is_asked {
        return Err(Complaint::environment(what).hint(hint).into());
    }
    say(&format!("servers of the plan that are left out because they are {what}; {hint}"));
    Ok(others)
}

/// The plan with these servers, one workload, and a copy of the server.
fn measured(plan: Plan, server: &Manifest, others: &[Arc<Manifest>], workload: String) -> Plan {
    let ids = std::iter::once(server.id.clone()).chain(others.iter().map(|other| other.id.clone()));
    Plan {
        select: Select { servers: ids.collect(), ..Select::default() },
        copies: vec![server.id.clone()],
        workloads: vec![workload],
        ..plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_accepted_with_the_command_that_knows_it() {
        let about = "it downloads the image a".to_owned();
        let folder = PathBuf::from("/srv/go mine");
        let error = LabError::Untrusted { server: "go-mine".to_owned(), folder, about };
        let explained = explain(error, Path::new("../own/go-mine"));
        let complaint = explained.downcast_ref::<Complaint>().unwrap();
        let hint = complaint.hint.as_deref().unwrap();
        assert!(hint.ends_with("paceline lab try ../own/go-mine --trust '/srv/go mine'"), "{hint}");
        assert!(complaint.what.contains("the image a") && complaint.status == Status::Environment);
    }
}
