//! A server's manifest, `server.toml`: its description, its workloads, and the commands that set it up, build and run
//! it.
//!
//! `docs/adding-a-server.md` documents the keys; the server's id is its folder's name. The provisioner runs the builds,
//! the shepherd the launches. The catalogue checks that the workloads exist.

mod container;
mod fixed;
pub(crate) mod packages;
mod profiled;
mod traits;
mod wire;

pub use container::{Container, ContainerRight, ImageSource};
pub use fixed::FixedAddress;
pub use profiled::set_profiling_variables;
pub use traits::{Trait, Traits};

use crate::{Computed, Refusal, Workload, WorkloadCase};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The file in a server's folder.
pub const MANIFEST_FILE: &str = "server.toml";

/// One server under test.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The folder's name, `<language>-<name>`.
    pub id: String,
    /// The id of the original, if this is a copy: a plan's `copies` add a server a second time.
    pub copy_of: Option<String>,
    /// Its folder, absolute: commands run there.
    pub folder: PathBuf,
    /// The name for display.
    pub name: String,
    /// The language it is written in.
    pub language: String,
    /// The framework.
    pub framework: String,
    /// The HTTP library underneath.
    pub engine: String,
    /// The class of framework.
    pub kind: FrameworkKind,
    /// `idiomatic` or `tuned`, then any others.
    pub tags: Vec<String>,
    /// The sources in `history/sources.md` that measured it.
    pub sources: Vec<String>,
    /// The workloads it serves, by name.
    pub workloads: Vec<String>,
    /// Whether one of them needs the lab's static files; known when the catalogue has read both.
    pub needs_static_files: bool,
    /// The databases it supports, by name.
    pub databases: Vec<String>,
    /// Debian packages to install when [`Manifest::needs`] is not met.
    pub packages: Vec<String>,
    /// The one of these packages that contains the framework, if it comes from one.
    pub framework_package: Option<String>,
    /// Programs that must be on the PATH; with a `/`, patterns of files.
    pub needs: Vec<String>,
    /// Variables of the lab's environment that its commands get beside the known ones
    /// (`paceline_host::InheritedVariables`).
    pub pass_env: Vec<String>,
    /// The command that prints the versions.
    pub version: String,
    /// Fetches its private environment, once.
    pub setup: Option<Setup>,
    /// The build command, where there is something to build.
    pub build: Option<String>,
    /// How long a start may take.
    pub start_timeout: Duration,
    /// The forms it can run in, by name: `single`, `cores`.
    pub forms: BTreeMap<String, Form>,
    /// The framework's own limits.
    pub traits: Traits,
    /// The image that it comes in, instead of set-up, build and run commands.
    pub container: Option<Container>,
    /// Why it was not tried where it was written, such as a base image that could not be downloaded there. Only a server
    /// with a container has a reason.
    pub untried: Option<String>,
    /// What it has fixed: its port, its paths.
    pub fixed: FixedAddress,
    /// The line of `workloads`, for the error when one does not exist, which only the catalogue can find.
    pub(crate) workloads_line: Option<usize>,
}

/// The class of framework, after TechEmpower's classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameworkKind {
    /// A language's or runtime's own HTTP server.
    Platform,
    /// Routing and little more.
    Micro,
    /// Everything that an application needs.
    Full,
}

impl FrameworkKind {
    /// The word in a manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            FrameworkKind::Platform => "platform",
            FrameworkKind::Micro => "micro",
            FrameworkKind::Full => "full",
        }
    }
}

/// The command that fetches a server's private environment.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Run under `sh -c`; safe to repeat.
    pub command: String,
    /// About how much it downloads, in megabytes.
    pub download_mb: Option<f64>,
}

/// One way to run a server: its command, and variables beside the documented ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Run under `sh -c` in the server's folder.
    pub command: String,
    /// Added to the environment; values as written, see [`Variables::with`](crate::Variables::with).
    pub env: BTreeMap<String, String>,
    /// The cores it is given.
    pub cores: CoresWanted,
}

/// How many cores a form needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoresWanted {
    /// One: the form `single`.
    One,
    /// Half of the cores, or all on a separate machine: the form `cores`.
    #[serde(rename = "all")]
    Half,
}

impl Manifest {
    /// A program of another role, such as a balancer: with its folder, but no command, and nothing that only a server
    /// under test has.
    pub(crate) fn of_role(id: String, name: &str, folder: &Path, start_timeout: Duration) -> Self {
        Self {
            id,
            copy_of: None,
            folder: folder.to_owned(),
            name: name.to_owned(),
            language: String::new(),
            framework: String::new(),
            engine: String::new(),
            kind: FrameworkKind::Platform,
            tags: Vec::new(),
            sources: Vec::new(),
            workloads: Vec::new(),
            needs_static_files: false,
            databases: Vec::new(),
            packages: Vec::new(),
            framework_package: None,
            needs: Vec::new(),
            pass_env: Vec::new(),
            version: String::new(),
            setup: None,
            build: None,
            start_timeout,
            forms: BTreeMap::new(),
            traits: Traits::default(),
            container: None,
            untried: None,
            fixed: FixedAddress::default(),
            workloads_line: None,
        }
    }

    /// The same server under a second name, `<id>-copy`.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { id: format!("{}-copy", self.id), copy_of: Some(self.id.clone()), ..self.clone() }
    }

    /// The id of its build: a copy shares the build of its original.
    pub fn build_id(&self) -> &str {
        self.copy_of.as_deref().unwrap_or(&self.id)
    }

    /// The form of that name, if the server has it.
    pub fn form(&self, name: &str) -> Option<&Form> {
        self.forms.get(name)
    }

    /// The cores that the form of that name needs; one for a form that the server does not have.
    pub fn cores_of(&self, form: &str) -> CoresWanted {
        self.form(form).map_or(CoresWanted::One, |form| form.cores)
    }

    /// Whether it serves the workload of that name (not a case's address).
    pub fn serves(&self, workload: &str) -> bool {
        self.workloads.iter().any(|served| served == workload)
    }

    /// The workload with the paths of this server. What cannot be asked of it, such as a request without the part that
    /// its path consists of, is left out.
    pub fn adapt(&self, workload: &Arc<Workload>) -> Arc<Workload> {
        let Some(own) = self.fixed.paths.get(&workload.name) else { return Arc::clone(workload) };
        let path = |path: &str| fixed::own_path(path, &workload.base, own);
        let request = |case: &WorkloadCase| {
            let mut adapted = WorkloadCase { path: path(&case.path)?, ..case.clone() };
            if let Some(load) = &mut adapted.load {
                load.path = path(&load.path)?;
            }
            Some(adapted)
        };
        let case = |case: &WorkloadCase| {
            let mix = case.mix.iter().filter_map(request).collect();
            Some(WorkloadCase { mix, ..request(case)? })
        };
        // At the workload's path the server would have nothing: a 404 there says nothing about its own.
        let refusal =
            |refusal: &Refusal| Some(Refusal { path: path(&refusal.path)?, status: refusal.status });
        let computed =
            |computed: &Computed| Some(Computed { path: path(&computed.path)?, ..computed.clone() });
        Arc::new(Workload {
            cases: workload.cases.iter().filter_map(case).collect(),
            checks: workload.checks.iter().filter_map(request).collect(),
            own_checks: workload.own_checks.iter().filter_map(request).collect(),
            refusals: workload.refusals.iter().filter_map(refusal).collect(),
            computed: workload.computed.iter().filter_map(computed).collect(),
            static_files: workload.static_files.as_deref().and_then(path),
            ..Workload::clone(workload)
        })
    }

    /// The id of the database that each of its launches needs.
    pub fn database_at_start(&self) -> Option<&str> {
        self.databases.first().filter(|_| self.fixed.database_at_start).map(String::as_str)
    }

    /// The server's part of a trial's record, with the output of its version command. The system package of its
    /// framework is not known here.
    pub fn record(&self, versions: String) -> paceline_record::Server {
        paceline_record::Server {
            id: self.id.clone(),
            copy_of: self.copy_of.clone(),
            name: self.name.clone(),
            language: self.language.clone(),
            framework: self.framework.clone(),
            engine: self.engine.clone(),
            kind: self.kind.as_str().into(),
            tags: self.tags.clone(),
            versions,
            framework_package: None,
            traits: self.traits.by_name(),
        }
    }
}

#[cfg(test)]
mod tests;
