//! The container engine, podman or docker: which there is, and the words of its commands.
//!
//! It builds images and hands out their files. It runs no server.

use super::super::tool_versions::find;
use crate::LabError;
use std::fs;
use std::path::{Path, PathBuf};

/// The engines, in order of preference: podman needs no daemon.
pub(super) const ENGINES: [&str; 2] = ["podman", "docker"];
/// The variable that names the file with podman's settings: containers.conf(5).
const SETTINGS: &str = "CONTAINERS_CONF";
/// Limits of a build: podman lowers its own limits before it applies these, so that its caller's cannot be applied.
const MAX_FILES: u64 = 20_000;
const MAX_PROCESSES: u64 = 16_384;
/// CAP_SYS_RESOURCE (capabilities(7)), which raising a limit needs.
const SYS_RESOURCE: u32 = 24;

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    /// `podman` or `docker`.
    pub name: String,
    /// The file with its settings, where its own do not work.
    pub settings: Option<PathBuf>,
}

impl Engine {
    /// The engine of that name, or the first that is installed.
    ///
    /// # Errors
    /// [`LabError::Container`] if there is none.
    pub fn find(asked: Option<&str>) -> Result<Self, LabError> {
        let names = asked.map_or(&ENGINES[..], |_| &[]).iter().copied().chain(asked);
        let name = names.into_iter().find(|name| find(name, None).is_some()).ok_or_else(|| {
            let what = asked.unwrap_or("podman or docker");
            LabError::Container {
                problem: format!(
                    "a container needs an engine to build its image, and {what} is not installed"
                ),
                remedy: Some("install one, such as: apt-get install podman runc".to_owned()),
            }
        })?;
        Ok(Self { name: name.to_owned(), settings: None })
    }

    /// Writes settings for podman below `folder` if its defaults cannot work here: they raise limits that this process may
    /// not raise, and crun refuses machines with both versions of control groups.
    pub fn with_settings(mut self, folder: &Path) -> Result<Self, LabError> {
        let is_hybrid = Path::new("/sys/fs/cgroup/unified").is_dir();
        if self.name != "podman" || std::env::var_os(SETTINGS).is_some() || (may_raise_limits() && !is_hybrid)
        {
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
        self.name == "podman"
    }

    /// Options of its `build`: podman's own network needs programs that are often missing.
    pub fn build_options(&self) -> &'static [&'static str] {
        if self.name == "podman" {
            &["--network=host", "--format=docker", "--force-rm"]
        } else {
            &["--force-rm"]
        }
    }
}

/// Whether this process has the capability to raise limits.
fn may_raise_limits() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    effective >> SYS_RESOURCE & 1 == 1
}
