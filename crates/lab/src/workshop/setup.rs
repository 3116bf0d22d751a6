//! Sets a server up: the packages its needs ask for, then its own set-up command. Says beforehand what that means.
//!
//! Only `paceline lab setup` comes here, since this is what downloads and installs: a round or a build that finds a
//! server never set up says so and leaves it.

use super::{Made, Workshop, disk, packages};
use crate::LabError;
use paceline_catalogue::Manifest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What setting up some servers will do, to be shown before it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct SetupPlan {
    /// Packages to install, each once, sorted.
    pub packages: Vec<String>,
    /// How many bytes the packages are to download with all they depend on, where the package manager tells.
    pub package_bytes: Option<u64>,
    /// Each server that has something to fetch.
    pub servers: Vec<ServerSetup>,
    /// The packages that each server is short of, by its id; servers short of none are left out.
    pub short_of: BTreeMap<String, Vec<String>>,
    /// For each server, tools that are there and closed to the user of servers, with what to do about each.
    pub closed: BTreeMap<String, Vec<String>>,
}

/// What setting up one server will run.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSetup {
    /// Its id.
    pub id: String,
    /// The set-up command.
    pub command: String,
    /// About how much it downloads, in megabytes, as its manifest says.
    pub download_mb: Option<f64>,
}

impl SetupPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.servers.is_empty()
    }

    /// About how many megabytes all of it downloads, and whether something is of unknown size.
    pub fn download_mb(&self) -> (f64, bool) {
        let of_packages = self.package_bytes.map(|bytes| bytes as f64 / 1e6);
        let sizes: Vec<Option<f64>> = (!self.packages.is_empty())
            .then_some(of_packages)
            .into_iter()
            .chain(self.servers.iter().map(|server| server.download_mb))
            .collect();
        (sizes.iter().flatten().sum(), sizes.iter().any(Option::is_none))
    }
}

impl Workshop {
    /// What [`Workshop::install_packages`] and [`Workshop::set_up`] (with or without `again`) have to do for `servers`.
    ///
    /// # Errors
    /// [`LabError::File`] when a server's folder cannot be read.
    pub fn setup_plan(&self, servers: &[Arc<Manifest>], again: bool) -> Result<SetupPlan, LabError> {
        let mut plan = SetupPlan {
            packages: Vec::new(),
            package_bytes: None,
            servers: Vec::new(),
            short_of: BTreeMap::new(),
            closed: BTreeMap::new(),
        };
        for server in servers {
            let short_of = packages::short_of(server, &self.toolbox);
            if !short_of.is_empty() {
                plan.packages.extend(short_of.iter().cloned());
                plan.short_of.insert(server.id.clone(), short_of);
            }
            let closed = server.needs.iter().filter_map(|need| self.toolbox.closed(need));
            let closed: Vec<String> = closed.map(|tool| tool.to_string()).collect();
            if !closed.is_empty() {
                plan.closed.insert(server.id.clone(), closed);
            }
            let lacks = || !self.toolbox.missing(&server.needs).is_empty();
            let current = || match self.fingerprints(server) {
                Ok(wanted) => Ok(self.stamp(server, "setup") == Some(wanted.setup)),
                // One tool keeps no other server from its set-up: this one's will say so.
                Err(LabError::ToolVersion { .. }) => Ok(false),
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

    /// Has apt-get learn which packages there are, as root: without that it knows no sizes, and may find none.
    ///
    /// # Errors
    /// As [`Workshop::install_packages`].
    pub fn update_packages(&self) -> Result<Made, LabError> {
        self.packages_step("update", &["apt-get", "update"]).map(Made::Now)
    }

    /// Installs some packages, as root, or says which command to run.
    ///
    /// # Errors
    /// As [`Workshop::install_packages`].
    pub fn install_some(&self, packages: &[String]) -> Result<Made, LabError> {
        let installed = self.install(packages).map(Made::Now);
        self.toolbox.forget();
        installed
    }

    /// What everything made for `server` takes on disk, in bytes.
    pub fn made_bytes(&self, server: &Manifest) -> u64 {
        disk::folder_bytes(&self.build_dir(server))
    }

    /// What all installed packages take on disk, in bytes, where the package manager tells.
    pub fn packages_bytes(&self) -> Option<u64> {
        packages::installed_bytes()
    }

    /// Installs the packages of `plan` in one go, as root, or says which command to run.
    ///
    /// # Errors
    /// [`LabError::PackagesMissing`] with the exact command when this is not root, [`LabError::Command`] when
    /// installing fails.
    pub fn install_packages(&self, plan: &SetupPlan) -> Result<Made, LabError> {
        if plan.packages.is_empty() {
            return Ok(Made::Already);
        }
        self.install_some(&plan.packages)
    }

    /// Runs `server`'s set-up command unless it was run on the same folder with the same tools, or with `again` in
    /// any case. Its packages come first, see [`Workshop::install_packages`].
    ///
    /// # Errors
    /// [`LabError::NotSetUp`] when a program is still missing, [`LabError::Command`] when the command fails,
    /// [`LabError::Interrupted`].
    pub fn set_up(&self, server: &Manifest, again: bool) -> Result<Made, LabError> {
        let missing = self.toolbox.missing(&server.needs);
        if !missing.is_empty() {
            let missing =
                format!("{} still missing, although nothing is left to install", missing.join(", "));
            return Err(LabError::NotSetUp { server: server.id.clone(), missing });
        }
        let Some(setup) = &server.setup else { return Ok(Made::Already) };
        let _lock = self.lock(server)?;
        let wanted = self.fingerprints(server)?.setup;
        if !again && self.stamp(server, "setup").as_deref() == Some(wanted.as_str()) {
            return Ok(Made::Already);
        }
        self.make(server, "setup", &setup.command, &wanted).map(Made::Now)
    }
}
