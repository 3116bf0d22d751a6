//! The server of a run, started again for each, so that no run inherits another's connections or freezes.
//!
//! `runner` starts it, and `page` prints the same command line for those who repeat a run by hand. It is
//! `speed/floor/server.c`, built by `workplace`, or for HTTP/2 nghttp2's nghttpd.

use crate::plan::{ServerProgram, ServerSetting};
use crate::process::{self, Child};
use crate::workplace::Workplace;
use anyhow::{Context as _, bail};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it may take to listen: it reads one small file.
const START_LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether it listens. Nothing is measured meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A server that listens. Dropped, it is gone.
pub struct Server {
    child: Child,
    /// Where.
    pub port: u16,
    /// Length of every response, head included; 0 for nghttpd, which no floor program is run against.
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
        match setting.program {
            ServerProgram::Floor => Self::start_floor(setting, workplace),
            ServerProgram::Nghttpd => Self::start_nghttpd(setting, workplace),
        }
    }

    fn start_nghttpd(setting: &ServerSetting, workplace: &Workplace) -> anyhow::Result<Self> {
        let (out, err) = (workplace.folder.join("server.out"), workplace.folder.join("server.err"));
        let body = workplace.body(setting.body_bytes)?;
        let documents = documents(&body);
        fs::create_dir_all(&documents).with_context(|| documents.display().to_string())?;
        fs::copy(&body, documents.join("index.html")).with_context(|| documents.display().to_string())?;
        let program =
            workplace.find("nghttpd").context("nghttpd is missing (apt-get install nghttp2-server)")?;
        // It cannot choose a port itself: one that was free a moment ago.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut command = Command::new("taskset");
        command.arg("-c").arg(workplace.cores(setting.cores)).arg(program);
        command.args(nghttpd_arguments(&body, &port.to_string()));
        let child = process::start(&mut command, &out, &err)?;
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if child.ended_within(LOOK_EVERY) || started.elapsed() > START_LIMIT {
                bail!("nghttpd did not listen: {}", fs::read_to_string(&err).unwrap_or_default().trim());
            }
        }
        Ok(Self { child, port, response_bytes: 0 })
    }

    fn start_floor(setting: &ServerSetting, workplace: &Workplace) -> anyhow::Result<Self> {
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

/// Its command line, as a person would type it.
pub fn command_line(setting: &ServerSetting, body: &Path) -> String {
    match setting.program {
        ServerProgram::Floor => format!("target/speed/floor-server {}", arguments(setting, body).join(" ")),
        ServerProgram::Nghttpd => format!("nghttpd {}", nghttpd_arguments(body, "PORT").join(" ")),
    }
}

/// The folder that nghttpd serves: it has the body as `index.html`.
fn documents(body: &Path) -> PathBuf {
    body.with_extension("documents")
}

fn nghttpd_arguments(body: &Path, port: &str) -> Vec<String> {
    let documents = documents(body).display().to_string();
    ["--no-tls", "-a", "127.0.0.1", "-d", &documents, port].map(str::to_owned).to_vec()
}

/// The floor server's command line after its name.
fn arguments(setting: &ServerSetting, body: &Path) -> Vec<String> {
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
