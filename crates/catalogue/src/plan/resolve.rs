//! Resolves a plan on a given catalogue: its cells, and what was left out and why.
//!
//! For `paceline round`, and for `paceline lab` with a plan. A wrong name is an error; a server that lacks something is
//! a note. `order` sorts the cells; `size` decides how many repeats fit the time.

use super::{LoadHttp, POOL, Plan, PlannedLoad};
use crate::{
    Balancer, Catalogue, CatalogueError, Database, Manifest, Trait, Workload, WorkloadCase, nearest,
};
use paceline_job::MAX_STREAMS;
use paceline_record::{DatabaseLoad, Load, Trial, VariantKind, WorkloadProtocol};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One combination that is measured: a server in a form, under a load of a workload's case.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The server.
    pub server: Arc<Manifest>,
    /// The form it runs in; the server has it.
    pub form: String,
    /// The case; the server serves it.
    pub case: Arc<WorkloadCase>,
    /// The load.
    pub load: Arc<PlannedLoad>,
}

impl Cell {
    /// Its name within a round: server, form, workload and load. Equal keys mean the same cell.
    pub fn key(&self) -> String {
        format!("{} {} {} {}", self.server.id, self.form, self.case.address, self.load.name)
    }

    /// The part of a trial's record that says how it is loaded.
    pub fn load_record(&self) -> Load {
        let stream = self.case.stream.as_ref().map(|stream| stream.format);
        Load { protocol: self.case.protocol, stream, ..self.load.record() }
    }

    /// A key that is equal for cells that may share a launch of their server and form; empty for a plain launch.
    pub fn group(&self) -> String {
        let group = &self.load.group;
        if group.is_ordered { format!("{} {}", group.name, self.case.address) } else { group.name.clone() }
    }

    /// Its place on a launch whose cells have an order: the first run, its repetition, then other twins; rates that are
    /// a share of another load's result come after that load.
    pub fn turn(&self) -> u8 {
        match self.load.variant.as_ref().map(|variant| variant.kind) {
            _ if self.load.share().is_some() => 3,
            _ if !self.load.group.is_ordered => 0,
            Some(VariantKind::FirstRun) => 0,
            None => 1,
            Some(_) => 2,
        }
    }

    /// The id of the database of its launch.
    pub fn database(&self) -> Option<&str> {
        let load = self.load.database.as_ref().map(|database| database.database.as_str());
        load.or_else(|| self.server.database_at_start())
    }

    /// The database of its launch: that of the load, else the one that the server needs at its start.
    pub fn launch_database(&self) -> Option<DatabaseLoad> {
        let at_start = || {
            let database = self.server.database_at_start()?.to_owned();
            Some(DatabaseLoad { database, pool: POOL })
        };
        self.load.database.clone().or_else(at_start)
    }

    /// The balancer of its launch.
    pub fn balancer(&self) -> Option<&str> {
        self.load.balanced.as_ref().map(|balanced| balanced.balancer.as_str())
    }
}

/// The key of a trial's cell.
pub fn key_of(trial: &Trial) -> String {
    format!("{} {} {} {}", trial.server.id, trial.form, trial.workload, trial.load.name)
}

/// A resolved plan.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// Each cell once, by server, form, workload and load.
    pub cells: Vec<Cell>,
    /// Every workload that a cell needs, with all its cases: its refusals are validated too.
    pub workloads: Vec<Arc<Workload>>,
    /// Every balancer that a cell needs.
    pub balancers: Vec<Arc<Balancer>>,
    /// Every database that a cell needs.
    pub databases: Vec<Arc<Database>>,
    /// What was left out and why, as messages.
    pub notes: Vec<String>,
}

impl Plan {
    /// Resolves the plan on `catalogue`.
    ///
    /// # Errors
    /// [`CatalogueError::Plan`] when it names a workload, case, tag or server that does not exist, or has no cells; for
    /// a broken manifest or workload that it names exactly, the error of that file.
    pub fn resolve(&self, catalogue: &Catalogue) -> Result<Resolution, CatalogueError> {
        if self.load.is_empty() {
            return Err(self.wrong("nothing to measure: all loads of the plan need --full".into()));
        }
        let mut notes = Vec::new();
        let (cases, servers) =
            match (self.cases(&self.workloads, catalogue), self.servers(catalogue, &mut notes)) {
                (Ok(cases), Ok(servers)) => (cases, servers),
                (Err(of_cases), Err(of_servers)) => {
                    return Err(CatalogueError::Several(vec![of_cases, of_servers], 0));
                }
                (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error),
            };
        self.check_databases(&cases, catalogue)?;
        notes.extend(self.check_forms(&servers)?);
        let loads = self.meant_loads(&cases, catalogue)?;
        notes.extend(unfit_notes(&loads, &cases));
        let mut cells = Vec::new();
        for server in servers {
            if !cases.iter().any(|case| server.serves(&case.workload)) {
                notes
                    .push(format!("server {} is skipped: it serves none of the plan's workloads", server.id));
                continue;
            }
            for form in self.forms.iter().filter(|form| server.form(form).is_some()) {
                let own = own_cases(&server, &cases, catalogue);
                let left_out = cells_of(&server, form, &own, &loads, &mut cells);
                for (why, loads) in left_out {
                    let word = if loads.len() == 1 { "load" } else { "loads" };
                    notes.push(format!(
                        "server {} {why}: not measured with {word} {}",
                        server.id,
                        loads.join(", ")
                    ));
                }
            }
        }
        if cells.is_empty() {
            let why = if notes.is_empty() {
                "no server meets all conditions of the plan".into()
            } else {
                notes.join("; ")
            };
            return Err(self.wrong(format!("nothing to measure: {why}")));
        }
        let needed = |workload: &&Arc<Workload>| cells.iter().any(|cell| cell.case.workload == workload.name);
        let workloads = catalogue.workloads.iter().filter(needed).cloned().collect();
        let balancers = self.balancers(&cells, catalogue)?;
        let databases = self.databases(&cells, catalogue)?;
        Ok(Resolution { cells, workloads, balancers, databases, notes })
    }

    /// Checks that its databases exist, and that it names at least one if a workload needs one.
    fn check_databases(
        &self,
        cases: &[Arc<WorkloadCase>],
        catalogue: &Catalogue,
    ) -> Result<(), CatalogueError> {
        self.databases.iter().try_for_each(|database| catalogue.database(database).map(drop))?;
        let needing = cases.iter().find(|case| case.database.is_some());
        match needing.filter(|_| self.databases.is_empty()) {
            None => Ok(()),
            Some(case) => {
                let known: Vec<&str> = catalogue.databases.iter().map(|known| known.id.as_str()).collect();
                Err(self.wrong(format!(
                    "workload `{}` needs a database: name it with `databases` (--database); available: {}",
                    case.workload,
                    known.join(", ")
                )))
            }
        }
    }

    /// Checks that each form of the plan is one of a selected server. Returns which servers do not have a form.
    fn check_forms(&self, servers: &[Arc<Manifest>]) -> Result<Vec<String>, CatalogueError> {
        let mut notes = Vec::new();
        for form in &self.forms {
            let (having, lacking): (Vec<&Arc<Manifest>>, Vec<_>) =
                servers.iter().partition(|server| server.form(form).is_some());
            let ids = |servers: &[&Arc<Manifest>]| {
                servers.iter().map(|server| server.id.as_str()).collect::<Vec<_>>().join(", ")
            };
            match (having.len(), lacking.len()) {
                (_, 0) => {}
                (0, _) => return Err(self.wrong(no_such_form(form, servers))),
                (having_it, others) if having_it < others => {
                    notes.push(format!(
                        "form `{form}` is measured of {} only: others do not have it",
                        ids(&having)
                    ));
                }
                _ => notes
                    .push(format!("form `{form}` is skipped, as they do not have it, for {}", ids(&lacking))),
            }
        }
        Ok(notes)
    }

    /// The databases that the cells need.
    fn databases(&self, cells: &[Cell], catalogue: &Catalogue) -> Result<Vec<Arc<Database>>, CatalogueError> {
        let needed: BTreeSet<&str> = cells.iter().filter_map(Cell::database).collect();
        let of_plan = self.databases.iter().map(String::as_str).filter(|id| needed.contains(id));
        let at_start = needed.iter().copied().filter(|id| self.databases.iter().all(|of_plan| of_plan != id));
        of_plan.chain(at_start).map(|database| catalogue.database(database)).collect()
    }

    /// The balancers that the cells need, with the policies they ask for.
    fn balancers(&self, cells: &[Cell], catalogue: &Catalogue) -> Result<Vec<Arc<Balancer>>, CatalogueError> {
        let mut needed: Vec<Arc<Balancer>> = Vec::new();
        for balanced in cells.iter().filter_map(|cell| cell.load.balanced.as_ref()) {
            let balancer = catalogue.balancer(&balanced.balancer)?;
            balancer.check_policy(&balanced.policy).map_err(|problem| self.wrong(problem))?;
            if !needed.iter().any(|known| known.id == balancer.id) {
                needed.push(balancer);
            }
        }
        Ok(needed)
    }

    pub(super) fn wrong(&self, problem: String) -> CatalogueError {
        CatalogueError::Plan { plan: self.name.clone(), problem }
    }

    /// The servers the plan selects, in the catalogue's order.
    fn servers(
        &self,
        catalogue: &Catalogue,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Arc<Manifest>>, CatalogueError> {
        for name in &self.select.servers {
            // A pattern may skip a broken manifest; an exact name may not.
            if let Some(broken) = catalogue.broken_server(name) {
                return Err(self.wrong(format!("server `{name}` cannot be used: {}", broken.error)));
            }
        }
        for broken in &catalogue.broken_servers {
            if self.select.may_mean(&broken.id) {
                notes.push(format!(
                    "server {} is skipped, because its files have errors: {}",
                    broken.id, broken.error
                ));
            }
        }
        let known: Vec<&Manifest> = catalogue.servers.iter().map(|server| &**server).collect();
        let broken: Vec<&str> = catalogue.broken_servers.iter().map(|broken| broken.id.as_str()).collect();
        let futile =
            self.select.unmet_conditions(&known, &broken).into_iter().map(|problem| self.wrong(problem));
        if let Some(error) = CatalogueError::of_all(futile.collect()) {
            return Err(error);
        }
        let selected = catalogue.selected(&self.select);
        notes.extend(selected.note());
        let mut servers = selected.servers;
        for id in &self.copies {
            let copy = catalogue.server(id)?.copy();
            if let Ok(other) = catalogue.server(&copy.id) {
                return Err(self.wrong(format!("`copies`: a server named `{}` exists already", other.id)));
            }
            match servers.iter().any(|server| server.id == *id) {
                true => servers.push(Arc::new(copy)),
                false => notes.push(format!(
                    "{} is skipped: it is the A/A copy of server {id}, which is not selected",
                    copy.id
                )),
            }
        }
        Ok(servers)
    }

    /// The cases that `names` select, in their order, each once.
    pub(super) fn cases(
        &self,
        names: &[String],
        catalogue: &Catalogue,
    ) -> Result<Vec<Arc<WorkloadCase>>, CatalogueError> {
        let mut errors = Vec::new();
        let named = names.iter().map(|name| self.cases_named(name, catalogue));
        let mut cases: Vec<Arc<WorkloadCase>> = Vec::new();
        for case in CatalogueError::keep(named, &mut errors).into_iter().flatten() {
            if !cases.iter().any(|known| known.address == case.address) {
                cases.push(case);
            }
        }
        CatalogueError::of_all(errors).map_or(Ok(cases), Err)
    }

    fn cases_named(
        &self,
        name: &str,
        catalogue: &Catalogue,
    ) -> Result<Vec<Arc<WorkloadCase>>, CatalogueError> {
        let workload_name = name.split('/').next().unwrap_or(name);
        if let Some(broken) = catalogue.broken_workloads.iter().find(|broken| broken.id == workload_name) {
            return Err(self.wrong(format!("workload `{workload_name}` cannot be used: {}", broken.error)));
        }
        let Some(workload) = catalogue.workload(workload_name) else {
            let known = catalogue.workloads.iter().map(|workload| workload.name.as_str());
            return Err(self.no_workload(name, nearest(workload_name, known)));
        };
        let meant = workload.cases.iter().filter(|case| name == workload_name || case.address == name);
        let meant: Vec<Arc<WorkloadCase>> = meant.cloned().map(Arc::new).collect();
        if meant.is_empty() {
            let addresses: Vec<&str> = workload.cases.iter().map(|case| case.address.as_str()).collect();
            return Err(self.wrong(format!(
                "workload `{workload_name}` has no case `{name}`; its cases: {}",
                addresses.join(", ")
            )));
        }
        Ok(meant)
    }

    fn no_workload(&self, name: &str, nearest: Option<&str>) -> CatalogueError {
        let hint = nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        self.wrong(format!("there is no workload `{name}`{hint}"))
    }

    /// Each load with its cases.
    fn meant_loads(
        &self,
        cases: &[Arc<WorkloadCase>],
        catalogue: &Catalogue,
    ) -> Result<Vec<LoadCases>, CatalogueError> {
        let mut loads = Vec::new();
        for load in self.expanded().map_err(|problem| self.wrong(problem))? {
            let own = if load.workloads.is_empty() {
                cases.to_vec()
            } else {
                self.cases(&load.workloads, catalogue)?
            };
            let addresses: Vec<String> = own.iter().map(|case| case.address.clone()).collect();
            if let Some(foreign) =
                addresses.iter().find(|own| !cases.iter().any(|case| case.address == **own))
            {
                let problem =
                    format!("load `{}` names `{foreign}`, which is not a workload of the plan", load.name);
                return Err(self.wrong(problem));
            }
            loads.push(LoadCases { load: Arc::new(load), addresses });
        }
        Ok(loads)
    }
}

/// A load with the addresses of its cases.
struct LoadCases {
    load: Arc<PlannedLoad>,
    addresses: Vec<String>,
}

impl LoadCases {
    /// Whether the load has a database that the server supports if the case needs one, and none if it needs none.
    fn has_what(&self, case: &WorkloadCase, server: &Manifest) -> bool {
        match &self.load.database {
            Some(database) => case.database.is_some() && server.databases.contains(&database.database),
            None => case.database.is_none(),
        }
    }
}

/// Why a server cannot be measured under a load, in words.
fn unsuitable(server: &Manifest, load: &PlannedLoad, case: &WorkloadCase) -> Option<&'static str> {
    let lacks = |one: Trait| server.traits.has(one) != Some(true);
    if load.http == Some(LoadHttp::Http3) {
        return lacks(Trait::Http3).then_some("does not speak HTTP/3 (trait `http3`)");
    }
    if load.tls && lacks(Trait::Tls) {
        return Some("does not speak TLS (trait `tls`)");
    }
    if load.http == Some(LoadHttp::Http2) {
        return lacks(Trait::Http2).then_some("does not speak HTTP/2 (trait `http2`)");
    }
    let is_pipelined = load.depth > 1 && case.protocol == WorkloadProtocol::Http;
    server.traits.no_sending_ahead().filter(|_| is_pipelined)
}

/// Why a load is not for a case, whatever the server, in words.
fn unfit(load: &PlannedLoad, case: &WorkloadCase) -> Option<&'static str> {
    let is_http = case.protocol == WorkloadProtocol::Http;
    let is_stream = case.stream.is_some();
    let database = load.database.as_ref().filter(|_| case.database.is_some());
    let reasons = [
        (
            database.is_some_and(|database| !case.is_for_database(&database.database)),
            "its tables are in another database",
        ),
        (load.http.is_some() && !is_http, "`http` applies only to workloads of HTTP"),
        (load.balanced.is_some() && !is_http, "a `balancer` carries only workloads of HTTP"),
        (
            load.balanced.is_some() && case.checks_cache,
            "its checks of a cache need one process, without a `balancer`",
        ),
        (!load.keep_alive && !is_http, "`keep_alive` applies only to workloads of HTTP"),
        (
            load.requests_per_connection.is_some() && case.protocol == WorkloadProtocol::Grpc,
            "`requests_per_connection` does not apply to gRPC",
        ),
        (
            load.depth > MAX_STREAMS.into() && case.protocol == WorkloadProtocol::Grpc,
            "a connection of gRPC cannot have as many streams as `depth`",
        ),
        (
            load.depth > 1 && is_stream && is_http && !load.has_streams(),
            "streams cannot be pipelined (`depth` above 1) over HTTP/1.1",
        ),
    ];
    reasons.into_iter().find_map(|(is_unfit, why)| is_unfit.then_some(why))
}

/// What is said about loads and cases that do not fit, with one message for each load and reason.
fn unfit_notes(loads: &[LoadCases], cases: &[Arc<WorkloadCase>]) -> Vec<String> {
    let mut notes = Vec::new();
    for meant in loads {
        let mut left_out: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for case in cases.iter().filter(|case| meant.addresses.contains(&case.address)) {
            if let Some(why) = unfit(&meant.load, case) {
                left_out.entry(why).or_default().push(&case.address);
            }
        }
        notes.extend(left_out.into_iter().map(|(why, cases)| {
            let word = if cases.len() == 1 { "workload" } else { "workloads" };
            format!("load {} is not measured with {word} {}: {why}", meant.load.name, cases.join(", "))
        }));
    }
    notes
}

/// The cases that a server serves, with its own paths.
fn own_cases(
    server: &Manifest,
    cases: &[Arc<WorkloadCase>],
    catalogue: &Catalogue,
) -> Vec<Arc<WorkloadCase>> {
    let own = |case: &Arc<WorkloadCase>| {
        if !server.fixed.paths.contains_key(&case.workload) {
            return Some(Arc::clone(case));
        }
        let workload = catalogue.workload_of(server, &case.workload)?;
        workload.cases.iter().find(|own| own.address == case.address).cloned().map(Arc::new)
    };
    cases.iter().filter(|case| server.serves(&case.workload)).filter_map(own).collect()
}

/// Adds the cells of a server in a form; returns the loads that do not suit it, by name, and why.
fn cells_of(
    server: &Arc<Manifest>,
    form: &str,
    cases: &[Arc<WorkloadCase>],
    loads: &[LoadCases],
    cells: &mut Vec<Cell>,
) -> BTreeMap<&'static str, Vec<String>> {
    let mut left_out: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for case in cases {
        let is_for =
            |meant: &&LoadCases| meant.addresses.contains(&case.address) && meant.has_what(case, server);
        for meant in loads.iter().filter(is_for).filter(|meant| unfit(&meant.load, case).is_none()) {
            if let Some(why) = unsuitable(server, &meant.load, case) {
                let names = left_out.entry(why).or_default();
                names.extend((!names.contains(&meant.load.name)).then(|| meant.load.name.clone()));
                continue;
            }
            cells.push(Cell {
                server: Arc::clone(server),
                form: form.to_owned(),
                case: Arc::clone(case),
                load: Arc::clone(&meant.load),
            });
        }
    }
    left_out
}

fn no_such_form(form: &str, servers: &[Arc<Manifest>]) -> String {
    let known: BTreeSet<&str> =
        servers.iter().flat_map(|server| server.forms.keys().map(String::as_str)).collect();
    let near = nearest(form, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let known = || format!("available: {}", known.iter().copied().collect::<Vec<_>>().join(", "));
    format!(
        "no server of the plan has the form `{form}` (how many processes and cores it uses, or how it is started); {}",
        near.unwrap_or_else(known)
    )
}
