//! Starts a command of a checkout as a server of the lab: on a free port, under a shepherd, in its own control group.

use crate::launch::{LaunchError, ReadyCondition, RunningServer, Starter};
use crate::node::LaunchOrder;
use paceline_catalogue::Variables;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command to start as a server.
#[derive(Clone, Debug)]
pub struct CommandLaunch<'a> {
    /// Unique: it names the log and the control group.
    pub id: &'a str,
    /// The name of the server in messages and logs.
    pub name: &'a str,
    /// The command for `sh -c`; its port is `$PORT` and `$PACELINE_PORT`.
    pub command: &'a str,
    /// The folder in which it runs.
    pub folder: &'a Path,
    /// Its variables.
    pub env: &'a BTreeMap<String, String>,
    /// Variables of the caller that it gets.
    pub pass_env: &'a [String],
    /// The cores it may run on.
    pub cores: &'a [u32],
    /// The path that shows that it is ready, and the status of the response.
    pub ready: (&'a str, u16),
    /// How long the start may take.
    pub start_timeout: Duration,
}

impl Starter {
    /// Starts a command and waits until it answers.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub fn launch_command(&self, launch: &CommandLaunch<'_>) -> Result<RunningServer, LaunchError> {
        // A dollar sign of the user's value is no variable of the lab.
        let own = launch.env.iter().map(|(name, value)| (name.clone(), value.replace('$', "$$")));
        let port = [("PORT".to_owned(), "$PACELINE_PORT".to_owned())];
        let order = LaunchOrder {
            id: launch.id.to_owned(),
            server: launch.name.to_owned(),
            folder: launch.folder.to_owned(),
            command: launch.command.to_owned(),
            env: own.chain(port).collect(),
            pass_env: launch.pass_env.to_vec(),
            variables: Variables {
                port: None,
                host: "127.0.0.1".to_owned(),
                build: launch.folder.to_owned(),
                cores: launch.cores.len() as u32,
                workloads: PathBuf::from(launch.folder),
                static_files: PathBuf::from(launch.folder),
                database: None,
            },
            hosts: Vec::new(),
            image: None,
            cores: launch.cores.to_vec(),
            tcp_offsets: Vec::new(),
            udp_offsets: Vec::new(),
            start_timeout: launch.start_timeout,
        };
        let (path, status) = launch.ready;
        self.carry_out(&order, ReadyCondition::Responds { path, status })
    }
}
