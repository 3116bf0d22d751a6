//! The floor server, started anew for every run, so that no run inherits another's connections or freezes.
//!
//! `runner` starts it, and `page` prints the same arguments for whoever repeats a run by hand. The server itself is
//! `speed/floor/server.c`, built by `workplace`. No other server is measured against.

use crate::plan::ServerSetting;
use crate::process::{self, Child};
use crate::workplace::Workplace;
use anyhow::{Context as _, bail};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it may take to listen: it reads one small file.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether it listens. Nothing is measured meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A floor server that listens. Dropped, it is gone.
pub struct Server {
    child: Child,
    /// Where.
    pub port: u16,
    /// Length of every response, head included.
    pub response_bytes: u64,
}

#[derive(serde::Deserialize)]
struct Ready {
    port: u16,
    response_bytes: u64,
}

impl Server {
    /// Starts one and waits until it listens.
    pub fn start(setting: &ServerSetting, workplace: &Workplace) -> anyhow::Result<Self> {
        let (out, err) = (workplace.folder.join("server.out"), workplace.folder.join("server.err"));
        let arguments = arguments(setting, &workplace.body(setting.body_bytes)?);
        let program = workplace.folder.join("floor-server");
        let mut command = Command::new("taskset");
        command.arg("-c").arg(workplace.cores(setting.cores)).arg(program).args(arguments);
        let child = process::start(&mut command, &out, &err)?;
        let Ready { port, response_bytes } = await_ready(&child, &out, &err)?;
        Ok(Self { child, port, response_bytes })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }
}

/// Its command line after its name.
pub fn arguments(setting: &ServerSetting, body: &Path) -> Vec<String> {
    let mut arguments = vec!["--body".to_owned(), body.display().to_string()];
    if setting.processes > 1 {
        arguments.extend(["--processes".to_owned(), setting.processes.to_string()]);
    }
    if setting.says_keep_alive {
        arguments.extend(["--say-keep-alive", "1"].map(str::to_owned));
    }
    if let Some((freeze_s, every_s)) = setting.freeze {
        let freeze =
            ["--freeze-every".to_owned(), every_s.to_string(), "--freeze".to_owned(), freeze_s.to_string()];
        arguments.extend(freeze);
    }
    arguments
}

fn await_ready(child: &Child, out: &Path, err: &Path) -> anyhow::Result<Ready> {
    let started = Instant::now();
    while started.elapsed() < START_LIMIT {
        let said = std::fs::read_to_string(out).with_context(|| out.display().to_string())?;
        if said.ends_with('\n') {
            return serde_json::from_str(&said).with_context(|| format!("the floor server said {said:?}"));
        }
        if child.ended_within(LOOK_EVERY) {
            let why = std::fs::read_to_string(err).unwrap_or_default();
            bail!("the floor server ended at once: {}", why.trim());
        }
    }
    bail!("the floor server did not listen within {} s", START_LIMIT.as_secs())
}
