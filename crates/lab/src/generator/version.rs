//! Asks a third-party generator for its version: without a version it is not used.
//!
//! Called when `third_party` reads the command, before any measurement; so it runs without a shepherd, but with limits
//! of time and length. Paceline's own generator is not asked: its version is in each record. Servers have a command for
//! it in their manifest.

use crate::LabError;
use paceline_host::system;
use paceline_peers::PeerLaunch;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to print its version.
const LIMIT: Duration = Duration::from_secs(10);
/// Limit of the output that is read.
const PRINTED_BYTES: u64 = 16 * 1024;

/// The version that `program` (with its launcher) prints. Its exit status is ignored: wrk fails when asked.
///
/// # Errors
/// [`LabError::Spawn`] when it cannot be started, [`LabError::Generator`] when it prints none.
pub fn ask(program: &[String], launch: &PeerLaunch) -> Result<String, LabError> {
    let line = format!("{} {}", program.join(" "), launch.version_flag);
    let spawn = |source| LabError::Spawn { command: line.clone(), source };
    let Some((first, rest)) = program.split_first() else {
        return Err(LabError::Generator { problem: "the command of the generator is empty".to_owned() });
    };
    let (from, to) = system::pipe().map_err(spawn)?;
    let mut child = Command::new(first)
        .args(rest)
        .arg(launch.version_flag)
        .stdin(Stdio::null())
        .stdout(to.try_clone().map_err(spawn)?)
        .stderr(to)
        .spawn()
        .map_err(spawn)?;
    let printed = printed(from.into());
    end(&mut child);
    version(&printed, launch.version_prefix).ok_or_else(|| LabError::Generator {
        problem: format!(
            "`{line}` printed no version, which a record must contain: use a load generator that prints its version"
        ),
    })
}

/// The contents of a pipe until its end, the time limit or the length limit.
fn printed(mut from: std::fs::File) -> String {
    let deadline = Instant::now() + LIMIT;
    let mut bytes = Vec::new();
    let left = || Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero());
    while let (Some(left), true) = (left(), (bytes.len() as u64) < PRINTED_BYTES) {
        let mut chunk = [0; 4096];
        match system::poll_readable([from.as_raw_fd()], Some(left)) {
            Ok([true]) => {}
            _ => continue,
        }
        match from.read(&mut chunk) {
            Ok(length) if length > 0 => bytes.extend_from_slice(&chunk[..length]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends a program that has printed its version: it may not exit without a signal.
fn end(child: &mut Child) {
    // It may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// The word after the prefix, at the beginning of a line; it must have a digit, since it may be an error otherwise.
fn version(printed: &str, prefix: &str) -> Option<String> {
    let versions =
        printed.lines().filter_map(|line| line.strip_prefix(prefix)?.split_ascii_whitespace().next());
    versions.map(str::to_owned).find(|version| version.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_the_name() {
        let wrk =
            "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk <options> <url>\n";
        assert_eq!(version(wrk, "wrk ").as_deref(), Some("debian/4.1.0-3+b2"));
        assert_eq!(version("oha 1.16.0\n", "oha ").as_deref(), Some("1.16.0"));
        let ab = "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\n";
        assert_eq!(version(ab, "This is ApacheBench, Version ").as_deref(), Some("2.3"));
        assert_eq!(version("1.63.10\n", "").as_deref(), Some("1.63.10"));
        assert_eq!(version("flag provided but not defined: -x\n", ""), None);
        assert_eq!(version("ohai 1.16.0\n", "oha "), None);
        assert_eq!(version("Usage: wrk <options> <url>\n", "wrk "), None);
    }
}
