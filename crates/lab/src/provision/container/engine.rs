//! The container engine, podman or docker: which there is, and the words of its commands.
//!
//! It builds images and hands out their files. It runs no server.

use super::super::tool_versions::find;
use crate::LabError;
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// A program that builds images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerEngine {
    /// podman
    Podman,
    /// docker
    Docker,
}

impl ContainerEngine {
    /// All of them, in order of preference: podman needs no daemon.
    pub const ALL: [Self; 2] = [Self::Podman, Self::Docker];

    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// The variable that names the file with podman's settings: containers.conf(5).
const SETTINGS: &str = "CONTAINERS_CONF";
/// Most files and processes of a build: podman lowers its own limits before it applies these, so that its caller's
/// cannot be applied. Chosen well above what a compiler needs; not measured.
const MAX_FILES: u64 = 20_000;
const MAX_PROCESSES: u64 = 16_384;

/// An engine that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    pub kind: ContainerEngine,
    /// The file with its settings, where its own do not work.
    pub settings: Option<PathBuf>,
}

impl Engine {
    /// This engine, or the first that is installed.
    ///
    /// # Errors
    /// [`LabError::Container`] if there is none.
    pub fn find(asked: Option<ContainerEngine>) -> Result<Self, LabError> {
        let mut kinds =
            ContainerEngine::ALL.into_iter().filter(|kind| asked.is_none_or(|asked| asked == *kind));
        let kind = kinds.find(|kind| find(kind.name(), None).is_some()).ok_or_else(|| {
            let what = asked.map_or("podman or docker", ContainerEngine::name);
            LabError::Container {
                problem: format!(
                    "a container needs an engine to build its image, and {what} is not installed"
                ),
                remedy: Some("install one, such as: apt-get install podman runc".to_owned()),
            }
        })?;
        Ok(Self { kind, settings: None })
    }

    /// The name of its program.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Writes settings for podman below `folder` if its defaults cannot work here: they raise limits that this process
    /// may not raise, and crun refuses machines with both versions of control groups.
    pub fn with_settings(mut self, folder: &Path) -> Result<Self, LabError> {
        let is_hybrid = Path::new("/sys/fs/cgroup/unified").is_dir();
        let has_settings = match self.kind {
            ContainerEngine::Podman => std::env::var_os(SETTINGS).is_some(),
            ContainerEngine::Docker => true,
        };
        if has_settings || (may_raise_limits() && !is_hybrid) {
            return Ok(self);
        }
        let limit = |resource| rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let files = limit(rustix::process::Resource::Nofile).min(MAX_FILES);
        let processes = limit(rustix::process::Resource::Nproc).min(MAX_PROCESSES);
        let runtime = if is_hybrid && find("runc", None).is_some() { "runtime = \"runc\"\n" } else { "" };
        let text = format!(
            "[containers]\ndefault_ulimits = [\"nofile={files}:{files}\", \"nproc={processes}:{processes}\"]\n[engine]\n\
             cgroup_manager = \"cgroupfs\"\n{runtime}"
        );
        let path = folder.join("containers.conf");
        fs::write(&path, text).map_err(|source| LabError::File {
            action: "write",
            path: path.clone(),
            source,
        })?;
        self.settings = Some(path);
        Ok(self)
    }

    /// The variables of its commands.
    pub fn environment(&self) -> impl Iterator<Item = (String, String)> {
        let settings = self.settings.iter().map(|path| path.to_string_lossy().into_owned());
        settings.map(|path| (SETTINGS.to_owned(), path))
    }

    /// Whether it can show an image's files in a folder without a copy.
    pub fn mounts(&self) -> bool {
        match self.kind {
            ContainerEngine::Podman => true,
            ContainerEngine::Docker => false,
        }
    }

    /// Arguments with which it prints the folder of its images.
    pub fn folder_query(&self) -> [&'static str; 3] {
        match self.kind {
            ContainerEngine::Podman => ["info", "--format", "{{.Store.GraphRoot}}"],
            ContainerEngine::Docker => ["info", "--format", "{{.DockerRootDir}}"],
        }
    }

    /// Options of its `build`: podman's own network needs programs that are often missing.
    pub fn build_options(&self) -> &'static [&'static str] {
        match self.kind {
            ContainerEngine::Podman => &["--network=host", "--format=docker", "--force-rm"],
            ContainerEngine::Docker => &["--force-rm"],
        }
    }
}

/// Whether this process has the capability to raise limits.
fn may_raise_limits() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE))
}
