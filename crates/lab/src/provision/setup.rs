//! Sets a server up: installs the packages for its needs, then runs its set-up command. Lists these steps beforehand.
//!
//! Only `paceline lab setup` calls it, since it downloads and installs: a round or a build that finds a server without
//! set-up reports an error.

use super::{Provisioner, StepOutcome, clean, packages};
use crate::LabError;
use paceline_catalogue::Manifest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The steps to set up some servers, to be shown beforehand.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupPlan {
    /// Packages to install, each once, sorted.
    pub packages: Vec<String>,
    /// The download size of the packages with their dependencies in bytes, if the package manager reports it.
    pub package_bytes: Option<u64>,
    /// Each server with a set-up command to run.
    pub servers: Vec<ServerSetup>,
    /// The packages that each server lacks, by its id; servers that lack none are left out.
    pub short_of: BTreeMap<String, Vec<String>>,
    /// For each server, tools that exist but are not accessible to the user of servers, each with a remedy.
    pub closed: BTreeMap<String, Vec<String>>,
}

/// The set-up of one server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSetup {
    /// Its id.
    pub id: String,
    /// The set-up command.
    pub command: String,
    /// The approximate download size in megabytes, from its manifest.
    pub download_mb: Option<f64>,
}

impl SetupPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.servers.is_empty()
    }

    /// The approximate size of all downloads of known size in megabytes, `None` if there is none, and whether there are
    /// others.
    pub fn download_mb(&self) -> (Option<f64>, bool) {
        let of_packages = self.package_bytes.map(|bytes| bytes as f64 / 1e6);
        let sizes: Vec<Option<f64>> = (!self.packages.is_empty())
            .then_some(of_packages)
            .into_iter()
            .chain(self.servers.iter().map(|server| server.download_mb))
            .collect();
        (sizes.iter().copied().flatten().reduce(|a, b| a + b), sizes.iter().any(Option::is_none))
    }
}

impl Provisioner {
    /// The work of [`Provisioner::install_packages`] and [`Provisioner::set_up`] (with or without `again`) for
    /// `servers`.
    ///
    /// # Errors
    /// As [`Provisioner::state`], except for a tool or a file of one server.
    pub fn setup_plan(&self, servers: &[Arc<Manifest>], again: bool) -> Result<SetupPlan, LabError> {
        let mut plan = SetupPlan {
            packages: Vec::new(),
            package_bytes: None,
            servers: Vec::new(),
            short_of: BTreeMap::new(),
            closed: BTreeMap::new(),
        };
        for server in servers {
            let short_of = packages::short_of(server, &self.tools);
            if !short_of.is_empty() {
                plan.packages.extend(short_of.iter().cloned());
                plan.short_of.insert(server.id.clone(), short_of);
            }
            let closed = server.needs.iter().filter_map(|need| self.tools.closed(need));
            let closed: Vec<String> = closed.map(|tool| tool.to_string()).collect();
            if !closed.is_empty() {
                plan.closed.insert(server.id.clone(), closed);
            }
            let lacks = || !self.tools.missing(&server.needs).is_empty();
            let current = || match self.fingerprints(server) {
                Ok(wanted) => Ok(self.stamp(server, "setup") == Some(wanted.setup)),
                // A broken tool or an unreadable file must not prevent the set-up of other servers: its own server's
                // set-up will report it.
                Err(LabError::ToolVersion { .. } | LabError::File { .. }) => Ok(false),
                Err(error) => Err(error),
            };
            if let Some(setup) = &server.setup
                && (again || lacks() || !current()?)
            {
                let (id, command) = (server.id.clone(), setup.command.clone());
                plan.servers.push(ServerSetup { id, command, download_mb: setup.download_mb });
            }
        }
        plan.packages.sort();
        plan.packages.dedup();
        if !plan.packages.is_empty() {
            plan.package_bytes = packages::download_bytes(&plan.packages);
        }
        Ok(plan)
    }

    /// Updates apt-get's package lists, as root: without them it knows no sizes, and may find no packages.
    ///
    /// # Errors
    /// As [`Provisioner::install_packages`].
    pub fn update_packages(&self) -> Result<StepOutcome, LabError> {
        self.packages_step("update", &["apt-get", "update"]).map(StepOutcome::Now)
    }

    /// Installs some packages, as root, or reports the command to run.
    ///
    /// # Errors
    /// As [`Provisioner::install_packages`].
    pub fn install_some(&self, packages: &[String]) -> Result<StepOutcome, LabError> {
        let installed = self.install(packages).map(StepOutcome::Now);
        self.tools.forget();
        installed
    }

    /// The disk usage of everything made for `server`, in bytes.
    pub fn made_bytes(&self, server: &Manifest) -> u64 {
        clean::folder_bytes(&self.build_dir(server))
    }

    /// The disk usage of all installed packages, in bytes, if the package manager reports it.
    pub fn packages_bytes(&self) -> Option<u64> {
        packages::installed_bytes()
    }

    /// Installs the packages of `plan` together, as root, or reports the command to run.
    ///
    /// # Errors
    /// [`LabError::PackagesMissing`] with the exact command if this process is not root, [`LabError::Command`] when
    /// installing fails.
    pub fn install_packages(&self, plan: &SetupPlan) -> Result<StepOutcome, LabError> {
        if plan.packages.is_empty() {
            return Ok(StepOutcome::Already);
        }
        self.install_some(&plan.packages)
    }

    /// Runs `server`'s set-up command unless it was run on the same folder with the same tools; with `again` in any
    /// case. Its packages come first, see [`Provisioner::install_packages`].
    ///
    /// # Errors
    /// [`LabError::NotSetUp`] when a program is still missing, [`LabError::Command`] when the command fails,
    /// [`LabError::Interrupted`].
    pub fn set_up(&self, server: &Manifest, again: bool) -> Result<StepOutcome, LabError> {
        let missing = self.tools.missing(&server.needs);
        if !missing.is_empty() {
            let missing = format!(
                "these programs are missing or not accessible: {}. No package in the server's manifest provides them. Install \
                 them yourself in a folder on PATH, or add their packages to the manifest",
                missing.join(", ")
            );
            return Err(LabError::NotSetUp { server: server.id.clone(), missing });
        }
        let Some(setup) = &server.setup else { return Ok(StepOutcome::Already) };
        let _lock = self.lock(server)?;
        let wanted = self.fingerprints(server)?.setup;
        if !again && self.stamp(server, "setup").as_deref() == Some(wanted.as_str()) {
            return Ok(StepOutcome::Already);
        }
        self.make(server, "setup", &setup.command, &wanted).map(StepOutcome::Now)
    }
}
