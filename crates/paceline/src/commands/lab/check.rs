//! `paceline lab check`: starts servers, asks every case and refusal of the workloads they serve, shows differences.

use super::{Chosen, check_form, check_workloads, warn, workshop};
use crate::exit::{Complaint, Status, told};
use crate::moment;
use crate::places::{complain, shepherd_command};
use anyhow::Context as _;
use paceline_lab::shepherd::Guard;
use paceline_lab::{
    Catalogue, Cores, CoresWanted, Interrupt, LabError, LaunchOf, Manifest, Spoiled, Starter, State,
    Variables, Workload, Workshop, validate,
};
use paceline_record::{Check, CheckOutcome};
use std::io::Write as _;
use std::sync::Arc;

/// Flags of `paceline lab check`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab check go-nethttp     every workload it serves, in the form `single`
  paceline lab check --all          every server that is set up

Exit status: 0 all passed, 1 one failed, 2 usage, manifest or workload, 3 a server named by its id is not set up,
130 interrupted.")]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    /// The form to start servers in
    #[arg(long, default_value = "single", value_name = "FORM")]
    form: String,
    /// Show checks that passed too
    #[arg(long, short)]
    verbose: bool,
}

/// What came of one server.
enum Found {
    /// It was asked.
    Checks(Vec<Check>),
    /// It cannot be started yet.
    NotSetUp(String),
    /// It does not run in that form.
    NoForm(String),
    /// It did not come so far.
    Failed(String),
}

/// Builds where something has changed, starts, asks, stops; server after server.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.chosen.of(catalogue)?;
    meant(&servers, arguments, catalogue)?;
    let mut failed = arguments.chosen.tell_broken(catalogue) > 0;
    let workshop = workshop(catalogue)?;
    let interrupt = Interrupt::listen().context("cannot listen to Ctrl-C")?;
    let logs = Some(catalogue.places.state_dir.join("logs"));
    let starter = Starter { shepherd: shepherd_command()?, guard: Guard::Namespace, logs, interrupt };
    let width = servers.iter().map(|server| server.id.len()).max().unwrap_or_default();
    let mut not_set_up = Vec::new();
    for server in &servers {
        let found = one(server, &arguments.form, catalogue, &workshop, &starter).map_err(complain)?;
        failed |= is_failure(&found);
        if matches!(found, Found::NotSetUp(_)) && arguments.chosen.names(&server.id) {
            not_set_up.push(server.id.as_str());
        }
        let text = shown(&server.id, width, &found, arguments.verbose);
        std::io::stdout().write_all(text.as_bytes())?;
    }
    match (failed, not_set_up.is_empty()) {
        (true, _) => Ok(Status::Failed),
        (false, true) => Ok(Status::Done),
        (false, false) => {
            let names = not_set_up.join(" ");
            Err(Complaint::environment(format!("not set up and not checked: {names}"))
                .hint(format!("paceline lab setup {names}"))
                .into())
        }
    }
}

/// What is meant can be asked at all: of a server named by its id that is an error, of one of many a finding.
fn meant(servers: &[Arc<Manifest>], arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<()> {
    let form = arguments.form.as_str();
    let no_server_has_it = servers.iter().all(|server| server.form(form).is_none());
    for server in servers {
        let is_named = arguments.chosen.names(&server.id);
        if is_named || no_server_has_it {
            check_form(server, form)?;
        }
        if is_named {
            check_workloads(server, catalogue)?;
        }
    }
    Ok(())
}

fn one(
    server: &Manifest,
    form: &str,
    catalogue: &Catalogue,
    workshop: &Workshop,
    starter: &Starter,
) -> Result<Found, LabError> {
    if let state @ (State::Lacking(_) | State::NotSetUp) = workshop.state(server)? {
        return Ok(Found::NotSetUp(format!("{state}; paceline lab setup {}", server.id)));
    }
    if server.form(form).is_none() {
        return Ok(Found::NoForm(server.forms.keys().cloned().collect::<Vec<_>>().join(", ")));
    }
    // What has no version is not measured.
    match workshop.build(server, false).and_then(|_| workshop.versions(server)) {
        Err(LabError::Interrupted) => return Err(LabError::Interrupted),
        Err(error) => return Ok(Found::Failed(told(&error))),
        Ok(_) => {}
    }
    if let Some(broken) = server.workloads.iter().find_map(|name| catalogue.broken_workload(name)) {
        return Ok(Found::Failed(format!("workload `{}` cannot be used: {}", broken.id, broken.error)));
    }
    let named = |name: &String| catalogue.workload(name).map(Arc::clone);
    let workloads: Vec<Arc<Workload>> = server.workloads.iter().filter_map(named).collect();
    match checked(server, form, &workloads, workshop, starter) {
        Ok(checks) => Ok(Found::Checks(checks)),
        Err(Spoiled::Interrupted) => Err(LabError::Interrupted),
        Err(Spoiled::Fault { fault, log_tail }) => {
            let log: String = log_tail
                .lines()
                .rev()
                .take(10)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .fold(String::new(), |text, line| text + "\n  | " + line);
            Ok(Found::Failed(fault.message + &log))
        }
    }
}

fn checked(
    server: &Manifest,
    form: &str,
    workloads: &[Arc<Workload>],
    workshop: &Workshop,
    starter: &Starter,
) -> Result<Vec<Check>, Spoiled> {
    let fault = |message: String| Spoiled::fault(paceline_record::Stage::Start, message, false);
    let Some(ready) = workloads.iter().flat_map(|workload| &workload.cases).next() else {
        return Err(fault("it serves no sound workload".to_owned()));
    };
    let cores =
        Cores::allowed().map_err(|error| fault(format!("cannot see which cores there are: {error}")))?;
    let cores = cores.split(CoresWanted::of_form(form)).server;
    let variables = workshop.variables(server, 0, cores.len() as u32);
    let launch = starter.launch(&LaunchOf {
        id: &moment::new_id(),
        server,
        form,
        variables: Variables { port: None, ..variables },
        cores: &cores,
        ready,
    })?;
    let found = validate(launch.address, workloads, server.traits, starter.interrupt);
    if let Err(error) = launch.stop() {
        warn(&format!("{}: {error}", server.id));
    }
    Ok(found.map_err(|_| Spoiled::Interrupted)?.validation.checks)
}

fn is_failure(found: &Found) -> bool {
    match found {
        Found::Checks(checks) => checks.iter().any(|check| check.outcome == CheckOutcome::Fail),
        Found::NotSetUp(_) | Found::NoForm(_) => false,
        Found::Failed(_) => true,
    }
}

/// One line for a server, then one for each check that says something.
fn shown(id: &str, width: usize, found: &Found, verbose: bool) -> String {
    let checks = match found {
        Found::NotSetUp(why) => return format!("{id:width$}  not set up  {why}\n"),
        Found::NoForm(has) => return format!("{id:width$}  left out  it has no such form, but {has}\n"),
        Found::Failed(why) => return format!("{id:width$}  fail  {why}\n"),
        Found::Checks(checks) => checks,
    };
    let worst = checks.iter().map(|check| check.outcome).max().unwrap_or(CheckOutcome::Pass);
    let passed = checks.iter().filter(|check| check.outcome == CheckOutcome::Pass).count();
    let mut text = format!("{id:width$}  {}  {passed} of {} checks passed\n", word(worst), checks.len());
    for check in checks.iter().filter(|check| verbose || check.outcome != CheckOutcome::Pass) {
        let detail = if check.detail.is_empty() { String::new() } else { format!(": {}", check.detail) };
        text.push_str(&format!("  {}  {}{detail}\n", word(check.outcome), check.name));
    }
    text
}

fn word(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Pass => "pass",
        CheckOutcome::Warn => "warn",
        CheckOutcome::Fail => "fail",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, outcome: CheckOutcome, detail: &str) -> Check {
        Check { name: name.into(), outcome, detail: detail.into() }
    }

    #[test]
    fn differences_stand_below_their_server() {
        let checks = vec![
            check("GET /hello", CheckOutcome::Pass, ""),
            check("GET /page", CheckOutcome::Fail, "status 500 instead of 200"),
        ];
        let text = shown("go-nethttp", 12, &Found::Checks(checks), false);
        let expected =
            "go-nethttp    fail  1 of 2 checks passed\n  fail  GET /page: status 500 instead of 200\n";
        assert_eq!(text, expected);
    }
}
