//! A database that runs, on this machine or another one.

use super::commands::Commands;
use crate::Scratch;
use crate::launch::{LaunchError, RunningServer};
use crate::node::RemoteDatabase;
use paceline_catalogue::{DatabaseAccess, Variables};
use paceline_record::{DatabaseCounts, DatabaseReceipt};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

/// A database that runs.
pub struct RunningDatabase {
    /// Its receipt.
    pub receipt: DatabaseReceipt,
    /// Its address for servers.
    address: SocketAddr,
    place: DatabasePlace,
}

/// The machine a database runs on.
enum DatabasePlace {
    /// This one.
    Here(Box<LocalDatabase>),
    /// Another one.
    There(RemoteDatabase),
}

/// A database on this machine.
pub(super) struct LocalDatabase {
    pub commands: Commands,
    /// Draws its rows.
    pub seed: u64,
    /// The prefix of its launches' names.
    pub id: String,
    /// The variables of its start command.
    pub variables: Variables,
    /// Locked until it has ended; then its folder is removed.
    pub scratch: Scratch,
}

impl RunningDatabase {
    /// A database on this machine.
    pub(super) fn here(receipt: DatabaseReceipt, address: SocketAddr, database: LocalDatabase) -> Self {
        Self { receipt, address, place: DatabasePlace::Here(Box::new(database)) }
    }

    /// A database on another machine.
    pub(crate) fn there(receipt: DatabaseReceipt, address: SocketAddr, database: RemoteDatabase) -> Self {
        Self { receipt, address, place: DatabasePlace::There(database) }
    }

    /// The variables for a server that uses it.
    pub fn access(&self, pool: u32) -> DatabaseAccess {
        let (host, port) = (self.address.ip().to_string(), self.address.port());
        DatabaseAccess { database: self.receipt.id.clone(), host, port, pool }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it again after `ended`, on the same machine and port and with the data that it left.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn start_again(
        &self,
        cores: &[u32],
        ended: RunningServer,
    ) -> Result<RunningServer, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => {
                // Processes that outlived its first one would block the next start.
                let _ = ended.stop();
                let id = format!("{}-database-again", local.id);
                local.commands.start(&id, cores, local.variables.clone())
            }
            DatabasePlace::There(database) => {
                ended.forget();
                let launched = database.start_again(cores)?;
                Ok(RunningServer::there(database.processes(&launched), launched.address, launched.startup))
            }
        }
    }

    /// Replaces all rows by those of the launch's start.
    ///
    /// # Errors
    /// [`LaunchError`] when the command fails.
    pub fn reset(&self) -> Result<(), LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.reset(local.seed),
            DatabasePlace::There(database) => database.reset(),
        }
    }

    /// Its counters.
    ///
    /// # Errors
    /// [`LaunchError`] when its command fails or prints something else.
    pub fn counts(&self) -> Result<DatabaseCounts, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.counts(),
            DatabasePlace::There(database) => database.counts(),
        }
    }

    /// The rows of `world`, by id.
    ///
    /// # Errors
    /// [`LaunchError`] as [`RunningDatabase::counts`].
    pub fn world(&self) -> Result<BTreeMap<u32, u32>, LaunchError> {
        match &self.place {
            DatabasePlace::Here(local) => local.commands.world(),
            DatabasePlace::There(database) => database.world(),
        }
    }

    /// Its data folder, on this machine.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            DatabasePlace::Here(local) => Some(local.scratch.folder()),
            DatabasePlace::There(_) => None,
        }
    }
}
