//! Services that a package would start with the machine: disabled again, and said.
//!
//! Debian's packages of servers enable and start themselves when they are installed. A server under test is started by
//! the lab alone; one that runs beside it takes its port or its cores.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The services that start with the machine, by systemd's links and by those of System V run levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BootServices(BTreeSet<String>);

impl BootServices {
    /// Those of the machine whose root is `root`.
    pub fn of(root: &Path) -> Self {
        let in_folder = |path: &Path| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<String>>()
        };
        let systemd = root.join("etc/systemd/system");
        let wanted = in_folder(&systemd).into_iter().filter(|name| name.ends_with(".wants"));
        let mut services: BTreeSet<String> = wanted
            .flat_map(|name| in_folder(&systemd.join(name)))
            .filter_map(|unit| unit.strip_suffix(".service").map(str::to_owned))
            .collect();
        for level in 2..=5 {
            let links = in_folder(&root.join(format!("etc/rc{level}.d"))).into_iter();
            // A link is S, two digits and the name of the script.
            services.extend(links.filter_map(|link| link.strip_prefix('S')?.get(2..).map(str::to_owned)));
        }
        Self(services)
    }

    /// Disables and stops those that are new since `before`. What to tell of each.
    pub fn disable_new(before: &Self, root: &Path) -> Vec<String> {
        let new: Vec<String> = Self::of(root).0.difference(&before.0).cloned().collect();
        for service in &new {
            // Whether each could is seen below: a machine has one of the two, or both.
            run(&["systemctl", "disable", service]);
            run(&["systemctl", "stop", service]);
            run(&["update-rc.d", service, "disable"]);
        }
        let still = Self::of(root);
        let told = |service: &String| match still.0.contains(service) {
            false => format!("{service} was installed as a service that starts with the machine: disabled"),
            true => format!(
                "{service} starts with the machine: disable it with `systemctl disable --now {service}`"
            ),
        };
        new.iter().map(told).collect()
    }
}

fn run(command: &[&str]) {
    let [program, arguments @ ..] = command else { return };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // One that is not there is none that starts services.
    let _ = command.status();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_both_kinds_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        write("etc/systemd/system/multi-user.target.wants/nginx.service");
        write("etc/systemd/system/timers.target.wants/apt-daily.timer");
        write("etc/rc2.d/S01haproxy");
        write("etc/rc2.d/K01other");
        let expected = ["haproxy", "nginx"].map(str::to_owned);
        assert_eq!(BootServices::of(root.path()), BootServices(expected.into()));
        assert!(BootServices::disable_new(&BootServices::of(root.path()), root.path()).is_empty());
    }
}
