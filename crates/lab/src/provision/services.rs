//! Services of packages: prevents their start during installation, disables their start at boot, and reports it. The
//! same for sockets and timers, which start a program later.
//!
//! Debian's packages of servers enable and start themselves when they are installed. Only the lab may start a server
//! under test; another instance of it would take its port or its cores.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The policy script that packages run before they start a service (Debian's README.policy-rc.d): 101 forbids it.
const POLICY: &str = "usr/sbin/policy-rc.d";
/// A policy that forbids it. The comment names its owner, in case a killed set-up leaves it behind.
const DENIAL: &str = "#!/bin/sh\n# Made by `paceline lab setup`, to keep packages from starting services. Delete it if no set-up is running.\nexit 101\n";

/// Most bytes of the list of services; a machine has some dozens.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// Prevents packages from starting services until it is dropped.
#[derive(Debug)]
pub(super) struct StartsDenied {
    policy: PathBuf,
}

impl StartsDenied {
    /// The script. It may be removed as soon as no package is being installed.
    pub fn policy(&self) -> &Path {
        &self.policy
    }

    /// Forbids starts on the machine whose root is `root`. `None` if it has another policy, which is kept. The caller
    /// holds the machine's lock of packages, so that no running set-up has made the policy.
    ///
    /// # Errors
    /// When the policy cannot be written.
    pub fn begin(root: &Path) -> io::Result<Option<Self>> {
        let policy = root.join(POLICY);
        if fs::read(&policy).is_ok_and(|text| text == DENIAL.as_bytes()) {
            // A killed set-up left it.
            return Ok(Some(Self { policy }));
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o755).open(&policy) {
            Ok(mut file) => {
                let denied = Self { policy };
                file.write_all(DENIAL.as_bytes()).map(|()| Some(denied))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for StartsDenied {
    fn drop(&mut self) {
        // If it cannot be removed, the next set-up takes it over.
        let _ = fs::remove_file(&self.policy);
    }
}

/// The services that start at boot, by systemd's links and by those of System V run levels.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct BootServices(BTreeSet<String>);

impl BootServices {
    /// Reads those of the machine whose root is `root`.
    pub fn under(root: &Path) -> Self {
        let in_folder = |path: &Path| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<String>>()
        };
        let systemd = root.join("etc/systemd/system");
        let wanted = in_folder(&systemd).into_iter().filter(|name| name.ends_with(".wants"));
        let mut services: BTreeSet<String> =
            wanted.flat_map(|name| in_folder(&systemd.join(name))).filter_map(named).collect();
        for level in 2..=5 {
            let links = in_folder(&root.join(format!("etc/rc{level}.d"))).into_iter();
            // A link is S, two digits and the name of the script.
            services.extend(links.filter_map(|link| link.strip_prefix('S')?.get(2..).map(str::to_owned)));
        }
        Self(services)
    }

    /// Writes them to a file, for a set-up after this one was killed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&self, path: &Path) -> io::Result<()> {
        paceline_files::replace(path, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Those in such a file, if there is one that only this user can write: others are disabled.
    pub fn noted(path: &Path) -> Option<Self> {
        let about = fs::symlink_metadata(path).ok()?;
        let is_own = about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o022 == 0;
        if !about.is_file() || !is_own || about.nlink() != 1 {
            return None;
        }
        serde_json::from_slice(&paceline_files::read(path, MAX_NOTE_BYTES).ok()?).ok()
    }

    /// Disables and stops the services that are new since `before`. Returns a message for each.
    pub fn disable_new(before: &Self, root: &Path) -> Vec<String> {
        let new: Vec<String> = Self::under(root).0.difference(&before.0).cloned().collect();
        for service in &new {
            // The result is checked below: a machine has one of the two commands, or both.
            run(&["systemctl", "disable", service]);
            run(&["systemctl", "stop", service]);
            run(&["update-rc.d", service, "disable"]);
        }
        let still = Self::under(root);
        let reported = |service: &String| match still.0.contains(service) {
            false => {
                format!("{service} was installed as a service that starts at boot; Paceline disabled it")
            }
            true => format!(
                "{service} starts at boot and could not be disabled: run `systemctl disable --now {service}`"
            ),
        };
        new.iter().map(reported).collect()
    }
}

/// The name of a unit that starts a program. A service has that of its System V script.
fn named(unit: String) -> Option<String> {
    match unit.rsplit_once('.')? {
        (service, "service") => Some(service.to_owned()),
        (_, "socket" | "timer") => Some(unit),
        _ => None,
    }
}

fn run(command: &[&str]) {
    let [program, arguments @ ..] = command else { return };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // If the command is missing, it starts no services either.
    let _ = command.status();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn service_starts_are_denied_temporarily_and_an_existing_policy_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let policy = root.path().join(POLICY);
        fs::create_dir_all(policy.parent().unwrap()).unwrap();
        let denied = StartsDenied::begin(root.path()).unwrap();
        assert!(denied.is_some() && policy.metadata().unwrap().permissions().mode() & 0o111 != 0);
        let status = Command::new("sh").arg(&policy).args(["nginx", "start"]).status().unwrap();
        assert_eq!(status.code(), Some(101));
        std::mem::forget(denied);
        drop(StartsDenied::begin(root.path()).unwrap());
        assert!(!policy.exists(), "one that was left is taken over");
        fs::write(&policy, "#!/bin/sh\nexit 0\n").unwrap();
        assert!(StartsDenied::begin(root.path()).unwrap().is_none() && policy.exists());
    }

    #[test]
    fn services_of_both_kinds_sockets_and_timers_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        write("etc/systemd/system/multi-user.target.wants/nginx.service");
        write("etc/systemd/system/multi-user.target.wants/remote-fs.target");
        write("etc/systemd/system/sockets.target.wants/epmd.socket");
        write("etc/systemd/system/timers.target.wants/phpsessionclean.timer");
        write("etc/rc2.d/S01haproxy");
        write("etc/rc2.d/K01other");
        let expected = ["epmd.socket", "haproxy", "nginx", "phpsessionclean.timer"].map(str::to_owned);
        assert_eq!(BootServices::under(root.path()), BootServices(expected.into()));
        assert!(BootServices::disable_new(&BootServices::under(root.path()), root.path()).is_empty());
        let note = root.path().join("services.json");
        assert_eq!(BootServices::noted(&note), None);
        BootServices::under(root.path()).note(&note).unwrap();
        assert_eq!(BootServices::noted(&note), Some(BootServices::under(root.path())));
        fs::set_permissions(&note, PermissionsExt::from_mode(0o666)).unwrap();
        assert_eq!(BootServices::noted(&note), None, "another user can write it");
    }
}
