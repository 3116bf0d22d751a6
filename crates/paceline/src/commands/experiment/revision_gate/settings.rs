//! The settings of a gate between two revisions: the table `[gate]` of `paceline.toml`, and flags, which win.

use crate::commands::experiment::child::LoadFlags;
use crate::commands::experiment::compare_flags::CompareFlags;
use crate::commands::run::{duration, job_of};
use crate::exit::{Complaint, Status};
use crate::lab_folders::{complain, path_or_nothing};
use paceline_catalogue::{GATE_FILE, GateFile, GateFileLoad};
use paceline_experiment::{ComparedMetric, GateLoad, GateMetric, JudgeRule, RegressionPlan};
use paceline_judge::gate::without_spaces;
use paceline_lab::{BuildOrder, Repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default time in which a gate must decide: twenty blocks with one load take about five minutes.
const BUDGET: Duration = Duration::from_secs(600);
/// The default length of a window. Longer ones do not scatter less, because the machine drifts meanwhile.
const WINDOW: Duration = Duration::from_secs(1);
/// The default warm-up of each load after each start.
const WARM_UP: Duration = Duration::from_secs(1);
const START_TIMEOUT: Duration = Duration::from_secs(30);
const BUILD_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// The default share of failed requests by which the candidate may exceed the base.
const MAX_FAILURES: f64 = 0.001;
/// Which loads have which metrics.
const METRICS_OF_LOADS: &str =
    "rate and service.* need a load without `rate`, response.* one with it, sessions a mix of them";
/// The default number of connections.
const CONNECTIONS: u32 = 32;

/// Flags for two revisions.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Two commits")]
pub struct RevisionFlags {
    /// Compare the current content of this git repository with a branch, a tag or a commit
    ///
    /// Both are checked out, built and started; uncommitted changes are measured too. The base is the commit at which
    /// the candidate left REF. The table [gate] of paceline.toml has the commands, loads and margins.
    #[arg(long, value_name = "REF", conflicts_with_all = ["against", "save", "candidate"])]
    pub base: Option<String>,
    /// Measure this commit instead of the current content
    #[arg(hide_short_help = true, long, value_name = "REF", conflicts_with_all = ["against", "save", "candidate"])]
    pub head: Option<String>,
    /// Command that builds the server in a checkout, for sh -c
    #[arg(long, value_name = "COMMAND", conflicts_with = "candidate")]
    pub build: Option<String>,
    /// Command that starts the server in a checkout, for sh -c; it must listen on $PORT
    #[arg(long, value_name = "COMMAND", conflicts_with = "candidate")]
    pub start: Option<String>,
    /// Time in which the gate must decide [default: 10m]
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration, conflicts_with = "candidate")]
    pub budget: Option<Duration>,
    /// File with the table [gate] [default: paceline.toml in this folder, or in the top folder of the repository]
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "candidate")]
    pub config: Option<PathBuf>,
    /// Folder for checkouts and builds, which are kept [default: paceline/gate in the user's cache folder]
    #[arg(hide_short_help = true, long, value_name = "DIR", env = "PACELINE_GATE_CACHE", hide_env_values = true, value_parser = path_or_nothing())]
    pub cache: Option<PathBuf>,
}

/// Flags that the gate shares with its other modes.
pub struct SharedFlags<'a> {
    /// Rate, window, margin and metric.
    pub flags: &'a CompareFlags,
    /// The load, and the folder for records.
    pub load: &'a LoadFlags,
    /// The exit status of an undecided gate.
    pub undecided: Status,
}

/// A load with what its runs need.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsLoad {
    pub name: String,
    pub path: String,
    pub connections: u32,
    pub rate_per_s: Option<f64>,
    pub flags: Vec<String>,
    /// The folder of the files that its flags name.
    pub folder: PathBuf,
    /// The names of its requests.
    pub requests: Vec<String>,
    pub metrics: Vec<GateMetric>,
}

/// Everything about a gate.
#[derive(Clone, Debug)]
pub struct Settings {
    pub here: PathBuf,
    pub cache: PathBuf,
    pub base: String,
    pub candidate: Option<String>,
    pub build: Option<String>,
    pub start: String,
    pub folder: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    pub pass_env: Vec<String>,
    pub ready: (String, u16),
    pub start_timeout: Duration,
    pub build_timeout: Duration,
    pub budget: Duration,
    pub window: Duration,
    pub warm_up: Duration,
    pub loads: Vec<SettingsLoad>,
    launch: Vec<GateMetric>,
    judge: JudgeRule,
    max_failures: f64,
    pub ignore: Vec<glob::Pattern>,
    /// Facts to print beside the result.
    pub notes: Vec<String>,
    pub records: Option<PathBuf>,
    /// Whether both sides are profiled afterwards, and the folder for the flame graphs if one is given.
    pub profile: Option<Option<PathBuf>>,
    pub undecided: Status,
}

/// Reads the file in or above `here` and adds the flags.
pub fn read(here: &Path, flags: &RevisionFlags, shared: SharedFlags<'_>) -> anyhow::Result<Settings> {
    let (file, found) = gate_file(here, flags)?;
    let base = flags.base.clone().or(file.base.clone()).ok_or_else(|| {
        Complaint::usage("no base to compare with")
            .hint(format!("use --base REF, or set `base` in {GATE_FILE}"))
    })?;
    let start = flags.start.clone().or(file.start.clone()).ok_or_else(|| {
        let place = found.as_ref().map_or(GATE_FILE.to_owned(), |path| path.display().to_string());
        Complaint::usage(format!("no command starts the server: there is no `start` in {place}"))
            .hint("use --start COMMAND, or write the file with `paceline gate init`")
    })?;
    let margins = margins(&file, &shared)?;
    let beside = found.as_deref().and_then(Path::parent);
    let folders = [here, beside.unwrap_or(here)];
    let loads = loads(&file, &shared, folders, margins.as_deref())?;
    let window = shared.flags.duration.or(file.window).unwrap_or(WINDOW);
    if window.is_zero() {
        return Err(Complaint::usage("the window is empty: `window` (--duration) must be above 0").into());
    }
    let launch = |metric: &&GateMetric| is_of_launch(metric.metric);
    let note = |metric: &GateMetric| {
        format!("No load has {}, so its margin is not judged.", metric.metric.name_of(None))
    };
    let notes = unjudged(&loads, margins.as_deref()).into_iter().map(note).collect();
    Ok(Settings {
        here: here.to_owned(),
        cache: flags
            .cache
            .clone()
            .filter(|cache| !cache.as_os_str().is_empty())
            .map_or_else(cache_folder, Ok)?,
        base,
        candidate: flags.head.clone(),
        build: flags.build.clone().or(file.build.clone()),
        start,
        folder: folder(&file, found.as_deref()),
        env: file.env.clone(),
        pass_env: file.pass_env.clone(),
        ready: ready(&file, &loads)?,
        start_timeout: file.start_timeout.unwrap_or(START_TIMEOUT),
        build_timeout: file.build_timeout.unwrap_or(BUILD_TIMEOUT),
        budget: flags.budget.or(file.budget).unwrap_or(BUDGET),
        window,
        warm_up: shared.load.warmup.or(file.warm_up).unwrap_or(WARM_UP),
        launch: margins.iter().flatten().filter(launch).cloned().collect(),
        judge: if margins.is_some() { JudgeRule::All } else { JudgeRule::Quietest },
        loads,
        max_failures: max_failures(&file, &shared)?,
        ignore: patterns(&file)?,
        notes,
        records: shared.load.records.clone(),
        profile: shared.flags.profile.clone(),
        undecided: shared.undecided,
    })
}

/// The path that shows that a server is ready, by default that of the first load, and the status of its response.
fn ready(file: &GateFile, loads: &[SettingsLoad]) -> anyhow::Result<(String, u16)> {
    let first = loads.first().map_or("/", |load| load.path.as_str());
    let path = file.ready.as_deref().unwrap_or(first);
    check_path(path)?;
    Ok((path.to_owned(), file.ready_status.unwrap_or(200)))
}

fn check_path(path: &str) -> anyhow::Result<()> {
    if path.starts_with('/') {
        return Ok(());
    }
    Err(Complaint::usage(format!("{GATE_FILE}: the path {path:?} does not begin with /")).into())
}

/// The file, and where it was found.
fn gate_file(here: &Path, flags: &RevisionFlags) -> anyhow::Result<(GateFile, Option<PathBuf>)> {
    let named = |path: &Path| {
        let path = here.join(path);
        let file = GateFile::read(&path).map_err(complain)?;
        anyhow::Ok(file.map(|file| (file, path)))
    };
    let found = match &flags.config {
        Some(path) => Some(
            named(path)?.ok_or_else(|| Complaint::usage(format!("there is no file {}", path.display())))?,
        ),
        None => match named(Path::new(GATE_FILE))? {
            Some(found) => Some(found),
            None => named(&Repository::find(here).map_err(complain)?.root().join(GATE_FILE))?,
        },
    };
    Ok(found.map_or((GateFile::default(), None), |(file, path)| (file, Some(path))))
}

/// The folder of the commands: `folder`, relative to the folder of the file.
fn folder(file: &GateFile, found: Option<&Path>) -> Option<PathBuf> {
    let beside = found.and_then(Path::parent).map(Path::to_owned);
    match (&file.folder, beside) {
        (Some(folder), Some(beside)) => Some(beside.join(folder)),
        (Some(folder), None) => Some(folder.clone()),
        (None, beside) => beside,
    }
}

/// The margins that the file or `--metric` gives; none for the defaults.
fn margins(file: &GateFile, shared: &SharedFlags<'_>) -> anyhow::Result<Option<Vec<GateMetric>>> {
    if let Some((metric, step)) = shared.flags.metric.clone() {
        return Ok(Some(vec![GateMetric { metric, step, margin: shared.flags.margin / 100.0 }]));
    }
    if file.margins.is_empty() {
        return Ok(None);
    }
    let metric = |(name, margin): (&String, &paceline_catalogue::Margin)| {
        let named =
            ComparedMetric::of_named(name).filter(|(metric, _)| *metric != ComparedMetric::CapacityPerS);
        let (metric, step) = named.ok_or_else(|| {
            let names = ComparedMetric::ALL.iter().filter(|metric| **metric != ComparedMetric::CapacityPerS);
            let names: Vec<&str> = names.map(|metric| metric.name()).collect();
            Complaint::usage(format!("{GATE_FILE}: [gate.margins] has no metric `{name}`"))
                .hint(format!("use {}, step(NAME).p50 or step(NAME).p99", names.join(", ")))
        })?;
        anyhow::Ok(GateMetric { metric, step, margin: margin.0 })
    };
    file.margins.iter().map(metric).collect::<anyhow::Result<Vec<_>>>().map(Some)
}

fn is_of_launch(metric: ComparedMetric) -> bool {
    matches!(metric, ComparedMetric::RssBytes | ComparedMetric::StartNs)
}

/// What a run with the flags of a load sends, and when.
struct LoadShape {
    /// The names of its requests.
    requests: Vec<String>,
    /// Whether it follows a schedule.
    is_open: bool,
    /// Whether its requests are steps of sessions.
    has_sessions: bool,
}

/// Whether a load has a metric of all requests.
fn has_metric(shape: &LoadShape, metric: ComparedMetric) -> bool {
    match metric {
        ComparedMetric::RatePerS | ComparedMetric::ServiceTimeNsP50 | ComparedMetric::ServiceTimeNsP99 => {
            !shape.is_open
        }
        ComparedMetric::SessionsPerS => !shape.is_open && shape.has_sessions,
        ComparedMetric::ResponseTimeNsP50 | ComparedMetric::ResponseTimeNsP99 => shape.is_open,
        ComparedMetric::ServerCpuNsPerRequest => true,
        ComparedMetric::CapacityPerS
        | ComparedMetric::RssBytes
        | ComparedMetric::StartNs
        | ComparedMetric::Judged(_) => false,
    }
}

/// A metric under a load: of one request, its response time with a rate, else its service time. None if the load does
/// not have it.
fn under_load(metric: &GateMetric, shape: &LoadShape) -> Option<GateMetric> {
    let Some(step) = &metric.step else {
        return has_metric(shape, metric.metric).then(|| metric.clone());
    };
    let of_loop = match metric.metric {
        ComparedMetric::ServiceTimeNsP50 if shape.is_open => ComparedMetric::ResponseTimeNsP50,
        ComparedMetric::ServiceTimeNsP99 if shape.is_open => ComparedMetric::ResponseTimeNsP99,
        same => same,
    };
    let is_sent = shape.requests.iter().any(|name| without_spaces(name) == *step);
    is_sent.then(|| GateMetric { metric: of_loop, ..metric.clone() })
}

/// The shape of a load on a path whose runs begin in `folder`. The flags are those of its runs, so that a wrong one is
/// known before anything is built.
fn shape_of(load: &GateFileLoad, path: &str, folder: &Path) -> anyhow::Result<LoadShape> {
    let connections = format!("--connections={}", load.connections.unwrap_or(CONNECTIONS));
    let flags = [connections, "--warmup=1s".to_owned(), "--duration=1s".to_owned()];
    let rate = load.rate.map(|rate| format!("--rate={rate}"));
    let flags: Vec<String> = flags.into_iter().chain(rate).chain(load.flags.iter().cloned()).collect();
    let job = job_of(path, &flags, folder)?;
    Ok(LoadShape {
        requests: job.requests.iter().map(|request| request.shown_name().to_owned()).collect(),
        is_open: job.load.is_open(),
        has_sessions: job.has_sessions(),
    })
}

/// The load as it is run, with its metrics: those of the margins that it has, or the defaults.
fn settings_load(
    load: GateFileLoad,
    folder: &Path,
    margins: Option<&[GateMetric]>,
    margin: f64,
) -> anyhow::Result<SettingsLoad> {
    let path = load.path.clone().unwrap_or_else(|| "/".to_owned());
    check_path(&path)?;
    let shape = shape_of(&load, &path, folder)?;
    let metrics = match margins {
        Some(margins) => margins.iter().filter_map(|metric| under_load(metric, &shape)).collect(),
        None => {
            let first =
                if shape.is_open { ComparedMetric::ResponseTimeNsP50 } else { ComparedMetric::RatePerS };
            [first, ComparedMetric::ServerCpuNsPerRequest]
                .map(|metric| GateMetric { metric, step: None, margin })
                .to_vec()
        }
    };
    let rate = load.rate.map_or(String::new(), |rate| format!(" at {rate}/s"));
    Ok(SettingsLoad {
        name: load.name.unwrap_or_else(|| format!("{path}{rate}")),
        connections: load.connections.unwrap_or(CONNECTIONS),
        rate_per_s: load.rate,
        flags: load.flags,
        folder: folder.to_owned(),
        requests: shape.requests,
        metrics,
        path,
    })
}

/// The loads. The files that flags name are relative to the first folder on the command line, and to the second in the
/// file.
fn loads(
    file: &GateFile,
    shared: &SharedFlags<'_>,
    [here, beside]: [&Path; 2],
    margins: Option<&[GateMetric]>,
) -> anyhow::Result<Vec<SettingsLoad>> {
    let of_flags = || GateFileLoad {
        path: shared.load.path.clone(),
        rate: shared.flags.rate,
        connections: shared.load.connections,
        flags: shared.load.run_flags.clone(),
        ..GateFileLoad::default()
    };
    if let Some(flag) = load_flags(shared).next().filter(|_| !file.loads.is_empty()) {
        return Err(Complaint::usage(format!("{flag} conflicts with the loads in {GATE_FILE}"))
            .hint(format!("change the load in {GATE_FILE}, or name a file without loads with --config FILE"))
            .into());
    }
    let (written, folder) = match file.loads.is_empty() {
        true => (vec![of_flags()], here),
        false => (file.loads.clone(), beside),
    };
    let margin = shared.flags.margin / 100.0;
    let loads = written.into_iter().map(|load| settings_load(load, folder, margins, margin));
    let loads: Vec<SettingsLoad> = loads.collect::<anyhow::Result<_>>()?;
    for (index, load) in loads.iter().enumerate() {
        if loads[..index].iter().any(|other| other.name == load.name) {
            return Err(
                Complaint::usage(format!("{GATE_FILE}: two loads have the name `{}`", load.name)).into()
            );
        }
    }
    check_metrics(&loads, margins)?;
    // Flags may describe another load each time, and the margins of the file are those of all.
    if let Some(missing) = unjudged(&loads, margins).first().filter(|_| !file.loads.is_empty()) {
        let metric = missing.metric.name_of(None);
        let what = format!("{GATE_FILE}: no load has the metric {metric} of [gate.margins]");
        return Err(Complaint::usage(what).hint(METRICS_OF_LOADS).into());
    }
    Ok(loads)
}

/// The margins of all requests that no load has.
fn unjudged<'a>(loads: &[SettingsLoad], margins: Option<&'a [GateMetric]>) -> Vec<&'a GateMetric> {
    let is_judged = |metric: &GateMetric| {
        let mut judged = loads.iter().flat_map(|load| &load.metrics);
        judged.any(|other| other.metric == metric.metric && other.step.is_none())
    };
    let of_loads = margins.unwrap_or_default().iter();
    let of_loads = of_loads.filter(|metric| metric.step.is_none() && !is_of_launch(metric.metric));
    of_loads.filter(|metric| !is_judged(metric)).collect()
}

/// Refuses margins of which none applies, and those of a request that no load has.
fn check_metrics(loads: &[SettingsLoad], margins: Option<&[GateMetric]>) -> anyhow::Result<()> {
    let margins = margins.unwrap_or_default();
    let judged = || loads.iter().flat_map(|load| &load.metrics);
    let is_missing =
        |metric: &&GateMetric| metric.step.is_some() && judged().all(|other| other.step != metric.step);
    if let Some(missing) = margins.iter().find(is_missing) {
        let names: Vec<&str> = loads.iter().flat_map(|load| &load.requests).map(String::as_str).collect();
        let metric = missing.metric.name_of(missing.step.as_deref());
        return Err(Complaint::usage(format!("{metric}: no load has a request of this name"))
            .hint(format!("the names are {}", names.join(", ")))
            .into());
    }
    let of_launch = margins.iter().filter(|metric| is_of_launch(metric.metric)).count();
    if judged().count() + of_launch == 0 {
        return Err(Complaint::usage(format!(
            "{GATE_FILE}: no metric of [gate.margins] applies to its loads"
        ))
        .hint(METRICS_OF_LOADS)
        .into());
    }
    Ok(())
}

/// The flags that describe a load.
fn load_flags(shared: &SharedFlags<'_>) -> impl Iterator<Item = &'static str> {
    let flags = [
        ("--rate", shared.flags.rate.is_some()),
        ("--connections", shared.load.connections.is_some()),
        ("--path", shared.load.path.is_some()),
        ("a flag after --", !shared.load.run_flags.is_empty()),
    ];
    flags.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
}

/// The accepted share of failed requests.
fn max_failures(file: &GateFile, shared: &SharedFlags<'_>) -> anyhow::Result<f64> {
    let of_file = file.max_errors.map_or(MAX_FAILURES, |most| most.0);
    let Some(text) = &shared.flags.max_errors else { return Ok(of_file) };
    let percent = match text.trim() {
        "0" => Some(0.0),
        text => text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok()),
    };
    percent.map(|percent| percent / 100.0).ok_or_else(|| {
        Complaint::usage(format!("--max-errors {text}: with --base, write a share such as 0.1%")).into()
    })
}

fn patterns(file: &GateFile) -> anyhow::Result<Vec<glob::Pattern>> {
    let pattern = |text: &String| {
        glob::Pattern::new(text).map_err(|error| {
            Complaint::usage(format!("{GATE_FILE}: invalid pattern {text:?}: {error}")).into()
        })
    };
    file.ignore.iter().map(pattern).collect()
}

/// `paceline/gate` in the user's cache folder (XDG Base Directory Specification).
fn cache_folder() -> anyhow::Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Complaint::usage("no folder for checkouts and builds: HOME is not set").hint("use --cache DIR")
    })?;
    Ok(cache.join("paceline").join("gate"))
}

impl Settings {
    /// The plan of the comparison.
    pub fn plan(&self, names: [String; 2], notes: Vec<String>) -> RegressionPlan {
        let load = |load: &SettingsLoad| GateLoad { name: load.name.clone(), metrics: load.metrics.clone() };
        RegressionPlan {
            names,
            loads: self.loads.iter().map(load).collect(),
            launch: self.launch.clone(),
            judge: self.judge,
            budget: self.budget,
            max_failures: self.max_failures,
            notes,
        }
    }

    /// How a revision is built.
    pub fn build_order(&self, repository: &Repository) -> anyhow::Result<BuildOrder> {
        let folder = match &self.folder {
            None => PathBuf::from("."),
            Some(folder) => {
                let canonical = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                let root = repository.root().canonicalize().unwrap_or_else(|_| repository.root().to_owned());
                let inside = canonical.strip_prefix(&root).map_err(|_| {
                    let hint = format!(
                        "the commands run in the folder of the file with [gate], or in its `folder`: set `folder` to \
                         one in {}",
                        root.display()
                    );
                    Complaint::usage(format!("the folder {} is outside the repository", folder.display()))
                        .hint(hint)
                })?;
                inside.to_owned()
            }
        };
        Ok(BuildOrder {
            command: self.build.clone(),
            folder,
            env: self.env.clone(),
            pass_env: self.pass_env.clone(),
            limit: self.build_timeout,
        })
    }

    /// Whether a changed file cannot change the speed.
    pub fn ignores(&self, file: &str) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(file))
    }
}
