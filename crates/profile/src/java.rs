//! Names of the functions that a JVM has compiled: it writes them when `jcmd` asks for it (JDK 17 and later).
//!
//! perf reads them from `/tmp/perf-PID.map`, and `-XX:+DumpPerfMapAtExit` writes that too late for a server.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a JVM may take to write its map.
const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Lets the processes that run Java write their maps. Without one the functions are the same, without names.
pub(crate) fn write_maps(processes: &[i32]) {
    for pid in processes.iter().copied().filter(|pid| runs_java(*pid)) {
        let Ok(mut jcmd) = Command::new(jcmd_of(pid))
            .args([&pid.to_string(), "Compiler.perfmap"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
        else {
            continue;
        };
        let begun = Instant::now();
        while matches!(jcmd.try_wait(), Ok(None)) && begun.elapsed() < LIMIT {
            std::thread::sleep(LOOK_AGAIN);
        }
        if matches!(jcmd.try_wait(), Ok(None)) {
            // It may have ended just now.
            let _ = jcmd.kill();
            let _ = jcmd.wait();
        }
    }
}

fn runs_java(pid: i32) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.contains("/libjvm.so")
}

/// The program beside the process's own `java`, if that belongs to root or to this user, else the one of the PATH.
fn jcmd_of(pid: i32) -> PathBuf {
    let java = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let beside = java.with_file_name("jcmd");
    let own = rustix::process::geteuid().as_raw();
    match fs::metadata(&beside) {
        Ok(found) if java.is_absolute() && (found.uid() == 0 || found.uid() == own) => beside,
        _ => PathBuf::from("jcmd"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_processes_are_left_alone() {
        let own = std::process::id().cast_signed();
        assert!(!runs_java(own) && !runs_java(i32::MAX));
        assert_eq!(jcmd_of(i32::MAX), PathBuf::from("jcmd"));
        write_maps(&[own, i32::MAX]);
    }
}
