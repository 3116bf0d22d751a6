//! `paceline round`: servers x workloads x loads, repeated, each trial kept when it ends; then the ranked report.
//!
//! The lab runs the trials; this module has the flags, the store, the progress and the exit status.

mod flags;
mod generator;
mod machine;
mod new_round;
mod open;
mod plan;
mod profiles;
mod progress;
mod resume;
mod store;

pub use machine::lock_round;

pub use flags::Arguments;

use super::dashboards::Dashboards;
use super::format::Format;
use super::view::LiveServer;
use crate::exit::{Complaint, Status, check_printable, fitted_lines, json, print};
use crate::lab_folders::{complain, end_left_overs, scratch, server_user, shepherd_command, user_notice};
use crate::{store_location, terminal};
use anyhow::Context as _;
use clap::Parser as _;
use flags::{PlanFlags, ResumeFlags};
use open::OpenedRound;
use paceline_catalogue::{Catalogue, Folders, Plan};
use paceline_host::{Interrupt, User};
use paceline_lab::{
    Cores, CurrentSitting, Fleet, LabError, NodeUser, Provisioner, RoundContext, RoundEstimate, RoundEvent,
    RoundSummary, Starter, carry_out,
};
use paceline_record::Round;
use paceline_report::{Options, Report, RoundMetrics};
use paceline_run::wall_clock;
use paceline_store::Store;
use paceline_web::{Library, Records};
use profiles::RoundProfiles;
use progress::RoundProgress;
use std::net::IpAddr;
use std::path::Path;
use store::{RoundTrialStore, TrialFeed};

/// Runs or resumes a round.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let Arguments { plan_flags, resume_flags, store, folders, format } = arguments;
    check_printable()?;
    let catalogue = folders.catalogue()?;
    if plan_flags.estimate {
        let estimate = open::estimate(&plan_flags, &catalogue)?;
        if format == Format::Json {
            print(json(&estimate)?)?;
        } else {
            print(&open::estimate_text(&estimate))?;
        }
        return Ok(Status::Done);
    }
    let place = store.path(&catalogue.folders.state_dir);
    Ok(run_in(&plan_flags, resume_flags, &catalogue, &place, format)?.0)
}

/// Carries out a plan that another command made, with the defaults of the flags, and prints its report. Returns the
/// round with its trials.
pub fn run_plan(plan: Plan, catalogue: &Catalogue) -> anyhow::Result<(Status, Records)> {
    let flags = DefaultFlags::try_parse_from(["round"]);
    let Arguments { plan_flags, resume_flags, store, format, .. } =
        flags.map_err(|error| Complaint::usage(error.to_string()))?.arguments;
    let plan_flags = PlanFlags { made: Some(plan), ..plan_flags };
    let place = store.path(&catalogue.folders.state_dir);
    let (status, round) = run_in(&plan_flags, resume_flags, catalogue, &place, format)?;
    let store = Store::open_existing(&place).map_err(store_location::complain)?;
    let trials = store_location::ReadableRecords::from_read(store.readable_whole_trials(&round.id))?.records;
    Ok((status, Records { round, trials, unreadable: Vec::new() }))
}

/// The flags of a round that a command carries out.
#[derive(clap::Parser)]
struct DefaultFlags {
    #[command(flatten)]
    arguments: Arguments,
}

fn run_in(
    plan_flags: &PlanFlags,
    resume_flags: ResumeFlags,
    catalogue: &Catalogue,
    place: &Path,
    format: Format,
) -> anyhow::Result<(Status, Round)> {
    let store = Store::open(place).map_err(store_location::complain)?;
    store.notify_of_waits(store_location::tell_wait);
    // Before the machine is described: what an earlier lab left may keep it busy.
    let left_overs = end_left_overs();
    let mut opened = open::open(plan_flags, &resume_flags, catalogue, &store)?;
    let mut progress = RoundProgress::new(resume_flags.quiet);
    left_overs.iter().chain(&opened.notes).for_each(|note| progress.note(note));
    if let Some(other) = &opened.shares_with {
        progress.note(&format!("another round runs on this machine and disturbs this one: {other}"));
    }
    opened.round.changes.iter().for_each(|change| progress.note(change));
    progress.begin(
        &opened.round,
        opened.is_resumed,
        &RoundEstimate::from_launches(&opened.launches, opened.warm_up),
    );
    let view = resume_flags.view.then(|| begin_view(&opened.round, place)).transpose()?;
    let watched = view.as_ref().map(|view| watched(view, &opened.round, &store)).transpose()?;
    let mut dashboards = dashboards(&resume_flags, &opened.round, &store)?;
    let mut trial_store = RoundTrialStore::new(&store, &opened.round.id, watched, dashboards.as_ref());
    let mut profiles = open_profiles(&resume_flags, &mut progress)?;
    let outcome = sit(&opened, &resume_flags, catalogue, &mut trial_store, &mut progress, profiles.as_mut());
    progress.end();
    if let Some(error) = dashboards.as_mut().and_then(Dashboards::finish) {
        progress.note(&format!("metrics were not exported: {error}"));
    }
    machine::restore_settings(std::mem::take(&mut opened.held), &mut progress);
    let summary = match outcome {
        Ok(summary) => summary,
        Err(StopReason::Interrupted) if plan_flags.made.is_some() => {
            return Err(Complaint::interrupted("interrupted").into());
        }
        Err(StopReason::Interrupted) => return Err(interrupted(&opened.round.id)),
        Err(StopReason::By(error)) => return Err(store_location::resumable(&error, &opened.round.id)),
    };
    opened.round.finished_at = Some(wall_clock::now_rfc3339());
    let put = store.put_round(&opened.round).map_err(store_location::complain);
    put.map_err(|error| store_location::resumable(&error, &opened.round.id))?;
    let mut status = print_unusable(&summary, &mut progress);
    // All is kept and nothing runs: Ctrl-C ends the round also where the reader of the report does not read.
    paceline_host::system::end_by_signals();
    let report = print_report(&opened.round, &store, format)?;
    print_profiles(profiles, format, &mut progress)?;
    if !resume_flags.allow_invalid && !report.has_sound_row() {
        progress.note("every row is invalid, overloaded or failed, so no row is ranked (exit status 1)");
        status = Status::Failed;
    }
    if let Some(view) = view {
        view.serve_until_interrupted();
    }
    Ok((status, opened.round))
}

/// Serves the store in a browser during the round, through a read-only connection.
fn begin_view(round: &Round, place: &Path) -> anyhow::Result<LiveServer> {
    let store = Store::open_existing(place).map_err(store_location::complain)?;
    LiveServer::start(&round.plan, Some(&round.id), Library::of_store(store))
}

fn watched(view: &LiveServer, round: &Round, store: &Store) -> anyhow::Result<TrialFeed> {
    let (kept, _) = store.tally(&round.id).map_err(store_location::complain)?;
    Ok(TrialFeed::begin(view.live(), kept as u32, round.planned))
}

/// Where its metrics go, with the trials of earlier sittings.
fn dashboards(
    flags: &ResumeFlags,
    round: &Round,
    store: &Store,
) -> anyhow::Result<Option<Dashboards<RoundMetrics>>> {
    let (kept, _) = match flags.dashboards.is_given() {
        true => store.readable_trials(&round.id).map_err(store_location::complain)?,
        false => Default::default(),
    };
    Dashboards::start(&flags.dashboards, || RoundMetrics::new(round, &kept))
}

/// Why a round stopped early.
enum StopReason {
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// A problem that must be fixed first.
    By(anyhow::Error),
}

impl From<LabError> for StopReason {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => StopReason::Interrupted,
            error => StopReason::By(complain(error)),
        }
    }
}

/// One sitting: all remaining trials of the round.
fn sit(
    opened: &OpenedRound,
    resume_flags: &ResumeFlags,
    catalogue: &Catalogue,
    trial_store: &mut RoundTrialStore<'_>,
    progress: &mut RoundProgress,
    mut profiles: Option<&mut RoundProfiles>,
) -> Result<RoundSummary, StopReason> {
    let interrupt = Interrupt::listen_saying(progress.stopping())
        .context("cannot install the handler for Ctrl-C (SIGINT)")
        .map_err(StopReason::By)?;
    let shepherd = shepherd_command().map_err(StopReason::By)?;
    let cores = Cores::allowed().context("cannot read the list of cores").map_err(StopReason::By)?;
    let state = &catalogue.folders.state_dir;
    let scratch = scratch(state, &opened.sitting).map_err(StopReason::By)?;
    let starter_command = shepherd.clone();
    let listen = resume_flags.listen.unwrap_or(IpAddr::from([127, 0, 0, 1]));
    let user = server_user(&catalogue.folders).map_err(StopReason::By)?;
    let provisioner = Provisioner::new(&catalogue.folders, shepherd.clone(), interrupt)
        .listening_on(listen)
        .with_notice(progress.notice())
        .with_user(user.clone());
    let there = node_user(&catalogue.folders, user.as_ref());
    let fleet = resume_flags.fleet(opened.round.generator.as_deref(), there).map_err(StopReason::By)?;
    if let Some(notice) = user_notice(&catalogue.folders, user.as_ref()) {
        progress.note(&notice);
    }
    provisioner.prepare_user()?;
    let program = Path::new(&starter_command[0]);
    let fleet = fleet
        .map(|settings| Fleet::new(settings, &catalogue.folders, program, interrupt, wall_clock::new_id))
        .transpose()?;
    let context = RoundContext {
        provisioner: &provisioner,
        starter: &Starter {
            shepherd,
            guard: resume_flags.guard(),
            logs: Some(state.join("logs")),
            scratch: scratch.folder().to_owned(),
            interrupt,
            user,
        },
        generator: &*opened.generator,
        own_generator: &starter_command[..1],
        warm_up: opened.warm_up,
        neighbours: opened.neighbours.as_ref(),
        cores: &cores,
        workloads: &opened.workloads,
        balancers: &opened.balancers,
        databases: &opened.databases,
        fleet: fleet.as_ref(),
        shares_machine: resume_flags.share_machine,
        environment: &opened.environment,
        scratch: scratch.folder().to_owned(),
        bodies: state.join("bodies"),
        is_profiled: profiles.is_some(),
        now: wall_clock::now_rfc3339,
        new_id: wall_clock::new_id,
    };
    let sitting = CurrentSitting {
        round: &opened.round.id,
        sitting: &opened.sitting,
        seed: opened.round.seed,
        gone: &opened.gone,
    };
    let mut listener = |event: RoundEvent<'_>| tell(event, profiles.as_deref_mut(), progress);
    Ok(carry_out(&context, sitting, &opened.launches, trial_store, &mut listener)?)
}

fn tell(event: RoundEvent<'_>, profiles: Option<&mut RoundProfiles>, progress: &mut RoundProgress) {
    if let (RoundEvent::Profiled { launch, run }, Some(profiles)) = (event, profiles) {
        profiles.add(launch, run);
    }
    progress.handle_event(event);
}

/// The user that servers on other machines run as: the one given, else the one that they run as here.
fn node_user(folders: &Folders, user: Option<&User>) -> Option<NodeUser> {
    let named = folders.user.clone().map(|name| NodeUser { name, is_named: true });
    named.or_else(|| user.map(|user| NodeUser { name: user.name.clone(), is_named: false }))
}

fn interrupted(round: &str) -> anyhow::Error {
    Complaint::interrupted("interrupted; the trials so far are stored")
        .hint(format!("continue it with: paceline round --resume {round}"))
        .into()
}

/// The profiles of `--profile`, if there can be any.
fn open_profiles(flags: &ResumeFlags, progress: &mut RoundProgress) -> anyhow::Result<Option<RoundProfiles>> {
    let Some(folder) = &flags.profile else { return Ok(None) };
    if let Some(why) = RoundProfiles::missing() {
        progress.note(&why);
        return Ok(None);
    }
    RoundProfiles::open(folder).map(Some)
}

fn print_profiles(
    profiles: Option<RoundProfiles>,
    format: Format,
    progress: &mut RoundProgress,
) -> anyhow::Result<()> {
    let Some(profiles) = profiles else { return Ok(()) };
    let (text, notes) = profiles.finish();
    if format != Format::Json {
        print(text)?;
    }
    notes.iter().for_each(|note| progress.note(note));
    Ok(())
}

fn print_report(round: &Round, store: &Store, format: Format) -> anyhow::Result<Report> {
    let trials = store_location::ReadableRecords::from_read(store.readable_trials(&round.id))?.records;
    let options = Options { width: terminal::width(), colour: terminal::wants_colour(), full: false };
    let report = Report::new(round, &trials);
    if format == Format::Json {
        print(report.json())?;
    } else {
        print(report.text(options))?;
        let place = store.path().display();
        print(&fitted_lines(&format!("\nround {} is stored in {place}\n", round.id)))?;
    }
    Ok(report)
}

/// A cell without any usable result makes the round a failure.
fn print_unusable(summary: &RoundSummary, progress: &mut RoundProgress) -> Status {
    if summary.unusable.is_empty() {
        return Status::Done;
    }
    progress.note("these combinations of server, workload and load have no usable trial:");
    summary.unusable.iter().for_each(|cell| progress.note(&format!("  {cell}")));
    Status::Failed
}
