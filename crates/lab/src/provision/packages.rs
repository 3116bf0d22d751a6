//! Debian packages: finds their download size and installs them, only as root and only with apt-get; finds the package
//! that a framework comes from.
//!
//! `setup` calls it; a failed step uses it to name missing packages. A user other than root gets the command to run.
//! `tool_versions` checks whether a program exists; downloads of a server's own set-up command are not included.

use super::Provisioner;
use super::command::{self, CommandStep, CommandWords};
use super::lock;
use super::services::{BootServices, StartsDenied};
use super::tool_versions::{ToolVersions, absent_packages};
use crate::LabError;
use paceline_catalogue::Manifest;
use paceline_host::FileLock;
use paceline_record::FrameworkPackage;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long installing packages may take, on a slow network.
const INSTALL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// How long apt-get waits for another program that installs packages, such as an upgrade in the background, instead of
/// failing at once: in seconds (apt 1.9.11, which an earlier version ignores).
const LOCK_WAIT: &str = "DPkg::Lock::Timeout=600";

/// The folder of the lock that all labs of a machine share, whatever their state folders. Only root can write there, and
/// only root installs packages.
const MACHINE_DIR: &str = "run/paceline";

/// The command to print for a user who is not root.
pub(super) fn shown(packages: &[String]) -> String {
    format!("sudo apt-get update && sudo apt-get install --no-install-recommends {}", packages.join(" "))
}

/// How many bytes `packages` and their dependencies would download, if apt-get knows them.
pub(super) fn download_bytes(packages: &[String]) -> Option<u64> {
    let output = Command::new("apt-get")
        .args(["install", "--no-install-recommends", "--print-uris", "-qq", "--"])
        .args(packages)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| sum_of_sizes(&String::from_utf8_lossy(&output.stdout)))
}

/// Adds up the sizes in lines of `'URL' FILE SIZE HASH`.
fn sum_of_sizes(uris: &str) -> u64 {
    let size = |line: &str| line.split_whitespace().nth(2)?.parse::<u64>().ok();
    uris.lines().filter(|line| line.starts_with('\'')).filter_map(size).sum()
}

/// The packages that `server` lacks, by its manifest. If every need is met by a package, or one is missing, those that
/// are not installed: their contents may not be among the needs. If a need is met in another way, none: a user with a
/// separate toolchain does not want a second one.
pub(super) fn short_of(server: &Manifest, tools: &ToolVersions) -> Vec<String> {
    let found: Vec<Option<PathBuf>> = server.needs.iter().map(|need| tools.find(need)).collect();
    let absent = absent_packages(&server.packages);
    if found.iter().any(Option::is_none) {
        // Without dpkg none is known to be absent, and apt-get's absence is the error to report.
        return if absent.is_empty() { server.packages.clone() } else { absent };
    }
    if absent.is_empty() || found.into_iter().flatten().all(|file| came_by_package(&file)) {
        return absent;
    }
    Vec::new()
}

/// Whether dpkg knows the file at `path`, also by its name from before `/bin` became `/usr/bin`.
fn came_by_package(path: &Path) -> bool {
    let Ok(file) = path.canonicalize() else { return false };
    let before_merge = file.strip_prefix("/usr").map(|rest| Path::new("/").join(rest));
    let known = |file: &Path| {
        let search = Command::new("dpkg-query").arg("--search").arg(file).stdin(Stdio::null()).output();
        search.is_ok_and(|search| search.status.success())
    };
    known(&file) || before_merge.is_ok_and(|file| known(&file))
}

/// The system package that the framework of `server` comes from, if its manifest names one. Also `None` if the package
/// is not installed, or if `versions`, the output of the version command, does not contain its release: the server then
/// uses another installation, such as a separate toolchain.
pub(crate) fn framework_package(server: &Manifest, versions: &str) -> Option<FrameworkPackage> {
    let name = server.framework_package.as_deref()?;
    let package = FrameworkPackage { name: name.to_owned(), version: installed_version(name)? };
    is_reported(&package, versions).then_some(package)
}

/// The version of an installed package; `None` also without dpkg.
fn installed_version(package: &str) -> Option<String> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status} ${Version}\n", "--", package])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let listed = String::from_utf8_lossy(&output.stdout);
    listed.lines().find_map(|line| line.strip_prefix("installed ")).map(str::to_owned)
}

/// Whether `versions` contains the release of the package as a whole number: not 1.19 in 1.190 or 21.19. A pre-release
/// may be named differently.
fn is_reported(package: &FrameworkPackage, versions: &str) -> bool {
    let release = package.release();
    let number = release.split_once('~').map_or(release, |(number, _)| number);
    versions.match_indices(number).any(|(at, _)| {
        let (before, rest) = versions.split_at(at);
        let after = rest.strip_prefix(number).unwrap_or_default();
        !before.ends_with(|c: char| c.is_ascii_digit() || c == '.')
            && !after.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The total size on disk of the installed packages as they declare it, in bytes; `None` without dpkg.
pub(super) fn installed_bytes() -> Option<u64> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status} ${Installed-Size}\n"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| sum_of_kibibytes(&String::from_utf8_lossy(&output.stdout)))
}

/// Adds up the sizes in lines of `installed KIBIBYTES`: deb-control(5), Installed-Size.
fn sum_of_kibibytes(lines: &str) -> u64 {
    let size = |line: &str| line.strip_prefix("installed ")?.trim().parse::<u64>().ok();
    lines.lines().filter_map(size).sum::<u64>() * 1024
}

impl Provisioner {
    /// Installs `packages`; returns the command in an error if this process is not root.
    pub(super) fn install(&self, packages: &[String]) -> Result<Duration, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Err(LabError::PackagesMissing { command: shown(packages) });
        }
        let _locks = self.lock_packages(Path::new("/"))?;
        self.finish_killed()?;
        let updated = self.packages_step("update", &["apt-get", "update"])?;
        let mut command = vec!["apt-get", "install", "-y", "--no-install-recommends", "-o", LOCK_WAIT, "--"];
        command.extend(packages.iter().map(String::as_str));
        // A killed installation would leave its services enabled: `finish_killed` disables them.
        let services = BootServices::under(Path::new("/"));
        services.note(&self.services_note()).map_err(|source| LabError::File {
            action: "write",
            path: self.services_note(),
            source,
        })?;
        let denied = StartsDenied::begin(Path::new("/"));
        (self.notice)(match &denied {
            Ok(Some(_)) => "services of the packages are not started during the installation",
            Ok(None) => "this machine's /usr/sbin/policy-rc.d decides whether packages start services",
            Err(_) => {
                "services of the packages may start during the installation: /usr/sbin/policy-rc.d cannot be written"
            }
        });
        let installed = self.step_without_services("install", &command, &services, denied.ok().flatten());
        Ok(updated + installed?)
    }

    /// Completes an installation that was killed: configures its packages, and disables their services. Does nothing
    /// if there is none, or if this process is not root.
    ///
    /// # Errors
    /// [`LabError::Command`] when the packages cannot be configured.
    pub fn finish_packages(&self) -> Result<(), LabError> {
        if !rustix::process::geteuid().is_root() || !self.services_note().exists() {
            return Ok(());
        }
        let _locks = self.lock_packages(Path::new("/"))?;
        self.finish_killed()
    }

    /// The caller holds the locks, so that the note of services is not that of a running installation.
    fn finish_killed(&self) -> Result<(), LabError> {
        let Some(before) = BootServices::noted(&self.services_note()) else { return Ok(()) };
        (self.notice)(
            "an earlier installation of packages was killed: completing it now (dpkg --configure -a)",
        );
        let denied = StartsDenied::begin(Path::new("/")).ok().flatten();
        self.step_without_services("configure", &["dpkg", "--configure", "-a"], &before, denied).map(|_| ())
    }

    /// Runs a step that may install services, while their starts are denied. Disables those that are new since
    /// `before`, also if the step failed.
    fn step_without_services(
        &self,
        name: &'static str,
        command: &[&str],
        before: &BootServices,
        denied: Option<StartsDenied>,
    ) -> Result<Duration, LabError> {
        let policy = denied.as_ref().map(|denied| denied.policy().to_owned());
        let done = self.run_packages(name, command, policy);
        drop(denied);
        for reported in BootServices::disable_new(before, Path::new("/")) {
            (self.notice)(&reported);
        }
        // The next set-up completes an interrupted installation.
        if !matches!(done, Err(LabError::Interrupted)) {
            // If the note cannot be removed, the next set-up finds nothing to complete.
            let _ = std::fs::remove_file(self.services_note());
        }
        done
    }

    /// The services that started at boot before an installation, while it runs. The older `services.json` lacks sockets
    /// and timers: they would count as new.
    fn services_note(&self) -> PathBuf {
        self.state_dir.join("packages/boot.json")
    }

    /// Lets this process alone install packages: of those with its state folder, which has the note of services, and of
    /// all on the machine whose root is `root`, which share dpkg and the policy that denies starts.
    fn lock_packages(&self, root: &Path) -> Result<[FileLock; 2], LabError> {
        let take = |folder: PathBuf| {
            let waiting =
                || (self.notice)("waiting for another paceline process that is installing packages");
            lock::take(&folder, waiting, || self.interrupt.requested())
        };
        Ok([take(self.state_dir.join("packages"))?, take(root.join(MACHINE_DIR))?])
    }

    /// Runs one command of the package manager, without a shell.
    pub(super) fn packages_step(&self, name: &'static str, command: &[&str]) -> Result<Duration, LabError> {
        self.run_packages(name, command, None)
    }

    fn run_packages(
        &self,
        name: &'static str,
        command: &[&str],
        removed_at_end: Option<PathBuf>,
    ) -> Result<Duration, LabError> {
        let path = &self.state_dir;
        std::fs::create_dir_all(path).map_err(|source| LabError::File {
            action: "create",
            path: path.clone(),
            source,
        })?;
        let step = CommandStep {
            user: None,
            server: "packages",
            name,
            command: CommandWords::Program(command),
            folder: Path::new("/"),
            // No package may prompt: the run is not interactive.
            environment: [("DEBIAN_FRONTEND".to_owned(), "noninteractive".to_owned())].into(),
            pass_env: &[],
            log: path.join("packages.log"),
            printed: None,
            limit: INSTALL_LIMIT,
            removed_at_end,
        };
        command::run(&step, &self.shepherd, self.interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::TestTree;
    use paceline_host::Interrupt;
    use std::sync::atomic::Ordering;

    #[test]
    fn labs_with_different_state_folders_install_one_after_the_other() {
        let root = tempfile::tempdir().unwrap();
        let trees = [TestTree::new(), TestTree::new()];
        let (interrupt, asked) = Interrupt::by_hand();
        let [first, second] =
            trees.each_ref().map(|tree| Provisioner::new(&tree.catalogue().folders, Vec::new(), interrupt));
        let installing = first.lock_packages(root.path()).unwrap();
        asked.store(true, Ordering::Relaxed);
        assert!(matches!(second.lock_packages(root.path()), Err(LabError::Interrupted)));
        drop(installing);
        asked.store(false, Ordering::Relaxed);
        assert!(second.lock_packages(root.path()).is_ok());
    }

    #[test]
    fn a_package_counts_if_the_version_command_prints_its_release() {
        let is_reported = |version: &str, versions: &str| {
            let package = FrameworkPackage { name: "package".to_owned(), version: version.to_owned() };
            super::is_reported(&package, versions)
        };
        assert!(is_reported("2:1.19~1", "go1.19.8"));
        assert!(is_reported("18.20.4+dfsg-1~deb12u1", "node 18.20.4, v8 10.2.154.26"));
        assert!(is_reported("1.3~pre20220315-df4ab006-3", "ruby-eventmachine\t1.3~pre20220315-df4ab006-3"));
        assert!(!is_reported("2:1.19~1", "go1.25.5"), "a separate toolchain");
        assert!(!is_reported("2:1.19~1", "go1.190"));
        assert!(!is_reported("2:1.19~1", "go21.19"));
        assert!(!is_reported("2:1.19~1", "2.1.19"));
    }

    #[test]
    fn no_package_is_recorded_that_is_not_installed() {
        let tree = TestTree::new();
        let named = |line: &str| {
            let text = paceline_catalogue::fixture::MANIFEST.replace(
                "packages = [\"golang-go\"]",
                &format!("packages = [\"no-such-package-9\"]\n{line}"),
            );
            Manifest::parse(&tree.path("servers/go-server"), &text).unwrap()
        };
        let absent = named("framework_package = \"no-such-package-9\"");
        assert_eq!(absent.framework_package.as_deref(), Some("no-such-package-9"));
        assert_eq!(framework_package(&absent, "go1.19.8"), None);
        assert_eq!(framework_package(&named(""), "go1.19.8"), None);
    }

    #[test]
    fn sizes_are_added_up() {
        let uris = "'http://x/a.deb' a.deb 1200 MD5Sum:0\n'http://x/b.deb' b.deb 34 SHA256:0\nnoise\n";
        assert_eq!(sum_of_sizes(uris), 1_234);
        assert_eq!(sum_of_sizes(""), 0);
        assert_eq!(sum_of_kibibytes("installed 10\nconfig-files 7\ninstalled 2\ninstalled \n"), 12 * 1024);
    }
}
