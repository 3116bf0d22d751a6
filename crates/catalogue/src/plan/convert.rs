//! Makes the load that a round carries out from a load of a plan, and says what is wrong with its keys.

use super::planned_load::{CapacitySearch, LaunchGroup, LoadEnd, LoadHttp, LoadPace, LoadWork, PlannedLoad};
use super::{Balance, LoadSearch, Pin, PinDatabase, Plan, PlanLoad};
use paceline_job::MAX_STREAMS;
use paceline_record::{Arrivals, RateShare, VariantKind};
use std::time::Duration;

/// The default warm-up; with `requests` there is none, as with the binary's `-n`.
const WARMUP: Duration = Duration::from_secs(1);
/// The default length of the confirming window.
const CONFIRM: Duration = Duration::from_secs(20);
/// Windows of a search at most, as in the command.
const MAX_WINDOWS: u32 = 40;
/// Instances behind a balancer at most: each is at least one process, with a port of its own.
const MAX_INSTANCES: u32 = 1_000;
/// What is wrong with a load: the key to blame, and the problem in words.
pub(super) type KeyProblem = (&'static str, String);

impl PlanLoad {
    /// Whether its version of HTTP is this one: `1.0`, `1.1`, `2` or `3`.
    fn is_http(&self, version: LoadHttp) -> bool {
        self.http.as_deref() == Some(version.name())
    }

    /// Whether it names a version of HTTP that has several streams on a connection.
    fn has_streams(&self) -> bool {
        self.is_http(LoadHttp::Http2) || self.is_http(LoadHttp::Http3)
    }

    /// Whether its connections are encrypted.
    fn uses_tls(&self) -> bool {
        self.tls || self.is_http(LoadHttp::Http3)
    }

    /// Whether it searches for a capacity.
    fn is_search(&self) -> bool {
        self.load == Some(LoadSearch::Capacity)
    }

    /// The load that a round carries out, without what depends on the plan's other keys: `expand` adds the scale, the
    /// balancer and the database.
    ///
    /// # Errors
    /// All problems of its keys, given those of `plan` for every load.
    pub(super) fn planned(&self, plan: &Plan) -> Result<PlannedLoad, Vec<KeyProblem>> {
        let mut problems = contradictions(plan, self);
        let (http, work) = (self.planned_http(), self.work());
        let (http, work) = match (http, work) {
            (Ok(http), Ok(work)) if problems.is_empty() => (http, work),
            (http, work) => {
                problems.extend(http.err());
                problems.extend(work.err().into_iter().flatten());
                return Err(problems);
            }
        };
        let is_counted = matches!(work, LoadWork::Fixed { end: LoadEnd::Requests { .. }, .. });
        let default_warmup = if is_counted { Duration::ZERO } else { WARMUP };
        Ok(PlannedLoad {
            name: self.name.clone(),
            connections: self.connections,
            depth: self.depth,
            // The command line of another generator describes the whole load.
            warmup: match self.tool {
                Some(_) => Duration::ZERO,
                None => self.warmup.unwrap_or(default_warmup),
            },
            work,
            http,
            tls: self.uses_tls(),
            keep_alive: self.keep_alive,
            requests_per_connection: self.requests_per_connection,
            tool: self.tool.clone(),
            workloads: self.workloads.clone(),
            pin: self.pin.unwrap_or_default(),
            variant: None,
            scaled: None,
            balanced: None,
            database: None,
            group: LaunchGroup::default(),
        })
    }

    fn planned_http(&self) -> Result<Option<LoadHttp>, KeyProblem> {
        let Some(text) = &self.http else { return Ok(None) };
        let version = LoadHttp::ALL.into_iter().find(|version| version.name() == text);
        let problem = || ("http", format!("`http` is {text:?}; use \"1.0\", \"1.1\", \"2\" or \"3\""));
        version.map(Some).ok_or_else(problem)
    }

    fn work(&self) -> Result<LoadWork, Vec<KeyProblem>> {
        if self.of.is_some() && self.rate.is_none() {
            return Err(vec![("of", "`of` needs a `rate` in percent, such as rate = \"50%\"".into())]);
        }
        if self.is_search() {
            return self.search().map(LoadWork::Search).map_err(|problem| vec![problem]);
        }
        match (self.pace(), self.end()) {
            (Ok(pace), Ok(end)) => Ok(LoadWork::Fixed { pace, end }),
            (pace, end) => Err(pace.err().into_iter().chain(end.err()).collect()),
        }
    }

    /// When requests are sent, of a load that is not a search.
    fn pace(&self) -> Result<LoadPace, KeyProblem> {
        let only_for_search = [
            ("objective", self.objective.is_some()),
            ("confirm", self.confirm.is_some()),
            ("windows", self.windows.is_some()),
        ];
        if let Some((key, _)) = only_for_search.iter().find(|(_, given)| *given) {
            return Err((key, format!("`{key}` needs `load = \"capacity\"`")));
        }
        let arrivals = self.arrivals.unwrap_or(Arrivals::Constant);
        match (self.rate_per_s, self.rate) {
            (Some(_), Some(_)) => {
                Err(("rate", "has both `rate` and `rate_per_s`: remove one of them".into()))
            }
            (Some(per_s), None) if per_s.is_finite() && per_s > 0.0 => Ok(LoadPace::Rate { per_s, arrivals }),
            (Some(_), None) => Err(("rate_per_s", "`rate_per_s` must be above 0".into())),
            (None, Some(percent)) => {
                let of = self.of.clone().unwrap_or_default();
                let share = RateShare { share: percent.0, of, full_per_s: None, full_trial: None };
                Ok(LoadPace::Share { share, arrivals })
            }
            (None, None) if self.arrivals.is_some() => {
                let problem = "`arrivals` needs `rate_per_s` or `rate`: a closed loop has no arrival times";
                Err(("arrivals", problem.into()))
            }
            (None, None) => Ok(LoadPace::Closed),
        }
    }

    /// The end of the window, of a load that is not a search.
    fn end(&self) -> Result<LoadEnd, KeyProblem> {
        match (self.duration, self.requests) {
            (Some(duration), None) if duration.is_zero() => Err(("duration", "`duration` is 0".into())),
            (None, Some(0)) => Err(("requests", "`requests` is 0".into())),
            (Some(duration), None) => Ok(LoadEnd::Duration(duration)),
            (None, Some(count)) => Ok(LoadEnd::Requests { count, usual_length: self.usual_length }),
            _ => Err(("requests", "exactly one of `duration` and `requests` is needed".into())),
        }
    }

    fn search(&self) -> Result<CapacitySearch, KeyProblem> {
        let wrong = |key, problem: &str| Err((key, format!("a capacity search {problem}")));
        let Some(objective) = self.objective.clone() else {
            return wrong("load", "needs an `objective`, such as \"response.p99<10ms,errors<0.1%\"");
        };
        let max_windows = self.windows.unwrap_or(MAX_WINDOWS);
        if max_windows == 0 {
            return wrong("windows", "needs `windows` to be at least 1");
        }
        if self.rate.is_some() || self.rate_per_s.is_some() {
            let key = if self.rate.is_some() { "rate" } else { "rate_per_s" };
            return wrong(key, "chooses its rates itself: remove `rate` and `rate_per_s`");
        }
        let Some(window) = self.duration else {
            return wrong("load", "needs a `duration`, the length of a window");
        };
        self.end()?;
        if self.first_run || !self.twins.is_empty() {
            let key = if self.first_run { "first_run" } else { "twins" };
            return wrong(key, "cannot have `first_run` or `twins`: write a separate load for each");
        }
        if self.fault.is_some() {
            return wrong("fault", "cannot have a `fault`: write a separate load for it");
        }
        let arrivals = self.arrivals.unwrap_or(Arrivals::Constant);
        Ok(CapacitySearch {
            window,
            objective,
            confirm: self.confirm.unwrap_or(CONFIRM),
            max_windows,
            arrivals,
        })
    }

    /// Its own keys of instances and balancer.
    pub(super) fn balance(&self) -> Balance {
        Balance {
            instances: self.instances,
            balancer: self.balancer.clone(),
            policy: self.policy.clone(),
            fault: self.fault,
            pin: self.pin,
        }
    }
}

/// Keys of a load that contradict each other, given the plan's values for all loads. [`PlanLoad::planned`] finds the
/// other problems.
fn contradictions(plan: &Plan, load: &PlanLoad) -> Vec<KeyProblem> {
    let mut wrong = Vec::new();
    wrong.extend(unsupported_setting(load));
    if load.name.is_empty() || load.name.contains('/') {
        wrong.push(("name", "a name must not be empty or contain `/`".into()));
    }
    if load.connections == 0 || load.depth == 0 {
        let key = if load.connections == 0 { "connections" } else { "depth" };
        wrong.push((key, "`connections` and `depth` must be at least 1".into()));
    }
    let others = [
        shape(load),
        tool(load),
        balance(load, &load.balance().or(&plan.balance()), !plan.databases.is_empty()),
    ];
    wrong.extend(others.into_iter().filter_map(Result::err));
    wrong.extend(twins(load).map(|text| ("twins", text)));
    wrong
}

/// Settings of a load that `paceline run` has no flag for: `-n` and `--warmup` exclude each other, `--pipeline` and
/// `--requests-per-connection` are limited in size.
fn unsupported_setting(load: &PlanLoad) -> Option<KeyProblem> {
    if load.requests.is_some() && load.warmup.is_some_and(|warmup| !warmup.is_zero()) {
        return Some(("warmup", "`warmup` needs `duration`: a load with `requests` has no warm-up".into()));
    }
    let (most, over) =
        if load.has_streams() { (MAX_STREAMS, " over HTTP/2 and HTTP/3") } else { (u16::MAX, "") };
    if load.depth > most.into() {
        return Some(("depth", format!("`depth` is {}; the maximum is {most}{over}", load.depth)));
    }
    let requests = load.requests_per_connection.filter(|requests| *requests > u64::from(u32::MAX))?;
    let problem = format!("`requests_per_connection` is {requests}; the maximum is {}", u32::MAX);
    Some(("requests_per_connection", problem))
}

/// Problems of a load's instances and pinning, with the plan's values for all.
fn balance(load: &PlanLoad, balance: &Balance, has_database: bool) -> Result<(), KeyProblem> {
    if balance.instances == Some(0) {
        return Err(("instances", "`instances` must be at least 1".into()));
    }
    if let Some(instances) = balance.instances.filter(|instances| *instances > MAX_INSTANCES) {
        return Err(("instances", format!("`instances` is {instances}; the maximum is {MAX_INSTANCES}")));
    }
    let pin = balance.pin.unwrap_or_default();
    if pin.database != PinDatabase::Own && !has_database {
        return Err(("pin", "`pin` assigns cores to a database, but the plan has no `databases`".into()));
    }
    let is_spread = load.twins.contains(&VariantKind::Spread);
    if balance.balancer.is_none() {
        if is_spread {
            return Err(("twins", "`twins` can contain `spread` only with a `balancer`".into()));
        }
        let is_of_database = has_database && Pin { database: PinDatabase::Own, ..pin } == Pin::default();
        let alone = [
            ("instances", balance.instances.is_some_and(|instances| instances > 1)),
            ("policy", balance.policy.is_some()),
            ("fault", balance.fault.is_some()),
            ("pin", balance.pin.is_some() && !is_of_database),
        ];
        return match alone.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err((key, format!("`{key}` needs a `balancer`: haproxy or nginx"))),
            None => Ok(()),
        };
    }
    if load.uses_tls() {
        let key = if load.tls { "tls" } else { "http" };
        let problem = "TLS and `http = \"3\"` cannot be combined with a `balancer`, which has no certificate";
        return Err((key, problem.into()));
    }
    if load.first_run || load.twins.iter().any(|twin| *twin != VariantKind::Spread) {
        let key = if load.first_run { "first_run" } else { "twins" };
        let problem = "`first_run` and `twins` (except `spread`) cannot be combined with a `balancer`: write a second load without one (if the `balancer` is set for the whole plan, move it to the loads that need it)";
        return Err((key, problem.into()));
    }
    if is_spread && (balance.fault.is_some() || balance.instances.unwrap_or(1) < 2) {
        let problem = "`twins` can contain `spread` only with at least two `instances` and without `fault`";
        return Err(("twins", problem.into()));
    }
    match balance.fault {
        Some(_) if balance.instances.unwrap_or(1) < 2 => {
            Err(("fault", "`fault` needs at least two `instances`".into()))
        }
        Some(_) if load.duration.is_none() => {
            let problem = "`fault` needs a `duration`: the fault happens in the middle of the window";
            Err(("fault", problem.into()))
        }
        _ => Ok(()),
    }
}

/// How a load uses its connections.
fn shape(load: &PlanLoad) -> Result<(), KeyProblem> {
    if load.requests_per_connection == Some(0) {
        return Err(("requests_per_connection", "`requests_per_connection` must be at least 1".into()));
    }
    if !load.keep_alive && load.requests_per_connection.is_some() {
        let problem =
            "`keep_alive = false` means one request per connection: remove `requests_per_connection`";
        return Err(("keep_alive", problem.into()));
    }
    if load.depth > 1 && (closes(load) || load.is_http(LoadHttp::Http10)) {
        let problem =
            "`depth` above 1 needs HTTP/1.1, 2 or 3, with keep-alive and without `requests_per_connection`";
        return Err(("depth", problem.into()));
    }
    if load.has_streams() && closes(load) {
        let version = load.http.as_deref().unwrap_or_default();
        let problem = format!(
            "`http = {version:?}` needs keep-alive and cannot be combined with `requests_per_connection`"
        );
        return Err(("http", problem));
    }
    Ok(())
}

/// A load that another generator's command line describes: it is a plain one.
fn tool(load: &PlanLoad) -> Result<(), KeyProblem> {
    let Some(line) = &load.tool else { return Ok(()) };
    if shlex::split(line).is_none() {
        return Err(("tool", format!("`tool` has a quote without an end: {line}")));
    }
    let others = [
        ("depth", load.depth > 1),
        ("rate", load.rate.is_some()),
        ("load", load.is_search()),
        ("arrivals", load.arrivals.is_some()),
        ("warmup", load.warmup.is_some()),
        ("http", load.http.is_some()),
        ("tls", load.tls),
        ("requests_per_connection", load.requests_per_connection.is_some()),
        ("first_run", load.first_run),
        ("twins", !load.twins.is_empty()),
        ("fault", load.fault.is_some()),
    ];
    match others.iter().find(|(_, given)| *given) {
        Some((key, _)) => {
            let problem =
                format!("`{key}` cannot be combined with `tool`, whose command line describes the load");
            Err((key, problem))
        }
        None => Ok(()),
    }
}

fn closes(load: &PlanLoad) -> bool {
    !load.keep_alive || load.requests_per_connection.is_some()
}

/// Invalid twins of a load.
fn twins(load: &PlanLoad) -> impl Iterator<Item = String> {
    load.twins.iter().filter_map(|twin| {
        let problem = match twin {
            VariantKind::Http10 if load.is_http(LoadHttp::Http10) => "the load already uses HTTP/1.0",
            VariantKind::Http10 | VariantKind::Close if load.has_streams() => {
                "the load uses HTTP/2 or HTTP/3, and this twin needs a load with HTTP/1.1"
            }
            VariantKind::Http10 | VariantKind::Close if load.depth > 1 => {
                "the load is pipelined (`depth` above 1), and this twin cannot be: write a separate load with `depth = 1`"
            }
            VariantKind::Close if closes(load) => "the load already closes each connection after one response",
            VariantKind::Unpipelined if load.depth == 1 => "the load is not pipelined (`depth` is 1)",
            VariantKind::FirstRun => "write a separate load with `first_run = true`",
            VariantKind::Balanced => "write a separate load with `balancer`",
            _ => return None,
        };
        Some(format!("`twins` cannot contain `{}`: {problem}", twin.suffix()))
    })
}
