//! Gets the peers: by apt-get where they are packaged, from source where asked.
//!
//! `main` calls it before the first experiment, if it may. A peer that cannot be had is said, never fatal: its row is
//! left out. One that is there already stays in whatever version it is. gcc and liburing are `speed/run`'s to get.

use crate::workplace::Workplace;
use std::path::Path;
use std::process::{Command, Stdio};

/// Program and Debian package. Debian's package `bombardier` is a game.
const PACKAGED: [(&str, &str); 7] = [
    ("wrk", "wrk"),
    ("ab", "apache2-utils"),
    ("siege", "siege"),
    ("hey", "hey"),
    ("h2load", "nghttp2-client"),
    ("nghttpd", "nghttp2-server"),
    ("httperf", "httperf"),
];

/// Go programs, at versions that are known to build.
const GO_MODULES: [(&str, &str); 2] =
    [("k6", "go.k6.io/k6@v1.8.1"), ("fortio", "fortio.org/fortio@v1.63.10")];
const OHA_VERSION: &str = "1.16.0";

/// Installs what is missing of the packaged peers.
pub fn packaged(workplace: &Workplace) {
    let is_missing = |(program, _): &&(&str, &str)| workplace.find(program).is_none();
    let packages: Vec<&str> = PACKAGED.iter().filter(is_missing).map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return;
    }
    let wanted = packages.join(" ");
    // SAFETY: geteuid only reads.
    if unsafe { libc::geteuid() } != 0 {
        return crate::say(&format!("not installed: {wanted} (as root: apt-get install {wanted})"));
    }
    crate::say(&format!("installing {wanted}"));
    if !apt_get(&["install", "-y", "-qq", "--no-install-recommends"], &packages) {
        apt_get(&["update", "-qq"], &[]);
        // One after the other, so that one that is not to be had does not keep the others away.
        for package in packages {
            if !apt_get(&["install", "-y", "-qq", "--no-install-recommends"], &[package]) {
                crate::say(&format!("apt-get could not install {package}"));
            }
        }
    }
}

fn apt_get(arguments: &[&str], packages: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.args(arguments).args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    quietly(&mut command)
}

/// Builds what is missing of the peers that have to be built; minutes each.
pub fn built(workplace: &Workplace) {
    let peers = workplace.folder.join("peers");
    if workplace.find("oha").is_none() {
        // Without its lock file it asks for a newer compiler than it needs.
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "--locked", "--version", OHA_VERSION, "--root"]).arg(&peers).arg("oha");
        build("oha", &mut cargo);
    }
    for (program, module) in GO_MODULES {
        if workplace.find(program).is_none() {
            build(program, &mut go_install(module, &peers));
        }
    }
}

fn go_install(module: &str, peers: &Path) -> Command {
    let mut go = Command::new("go");
    go.args(["install", module]).env("GOBIN", peers.join("bin"));
    go
}

fn build(program: &str, command: &mut Command) {
    crate::say(&format!("building {program}; this takes minutes"));
    if !quietly(command) {
        crate::say(&format!("{program} could not be built: {command:?}"));
    }
}

/// Runs a command without its output; whether it went well.
fn quietly(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
