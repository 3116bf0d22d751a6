//! Sets a server up: the packages its needs ask for, then its own set-up command. Says beforehand what that means.

use super::{Made, State, Workshop, packages};
use crate::{LabError, Manifest};
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

    /// The command that installs the packages, for people to read or run.
    pub fn package_command(&self) -> String {
        packages::shown(&self.packages)
    }
}

impl Workshop {
    /// What [`Workshop::install_packages`] and [`Workshop::set_up`] (with or without `again`) have to do for `servers`.
    ///
    /// # Errors
    /// [`LabError::File`] when a server's folder cannot be read.
    pub fn setup_plan(&self, servers: &[Arc<Manifest>], again: bool) -> Result<SetupPlan, LabError> {
        let mut plan = SetupPlan { packages: Vec::new(), package_bytes: None, servers: Vec::new() };
        for server in servers {
            let state = self.state(server)?;
            plan.packages.extend(packages::short_of(server));
            let current =
                || Ok::<_, LabError>(self.stamp(server, "setup") == Some(self.fingerprints(server)?.setup));
            if let Some(setup) = &server.setup
                && (again || matches!(state, State::Lacking(_)) || !current()?)
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

    /// Installs the packages of `plan`, as root, or says which command to run.
    ///
    /// # Errors
    /// [`LabError::PackagesMissing`] with the exact command when this is not root, [`LabError::Command`] when
    /// installing fails.
    pub fn install_packages(&self, plan: &SetupPlan) -> Result<Made, LabError> {
        if plan.packages.is_empty() {
            return Ok(Made::Already);
        }
        let installed = self.install(&plan.packages).map(Made::Now);
        self.toolbox.forget();
        installed
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
