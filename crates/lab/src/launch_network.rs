//! The network of a launch: a private one for a server with a fixed port, so that the port is free.
//!
//! The thread that carries the launch out is in it, with all processes that it starts: server, database, checks and
//! generator. On several machines, and without root's rights, a launch uses the machine's network and the real port.

use crate::launch::LaunchError;
use crate::provision::Provisioner;
use paceline_catalogue::Manifest;
use paceline_host::private_network::{NetworkGuard, PrivateNetwork};
use paceline_record::Stage;

/// The network that a launch is in until this is dropped.
#[must_use]
pub struct LaunchNetwork {
    /// Leaves the network before the network ends.
    inside: Option<NetworkGuard>,
}

impl LaunchNetwork {
    /// Whether it is a private one.
    pub fn is_private(&self) -> bool {
        self.inside.is_some()
    }
}

impl Provisioner {
    /// Moves the calling thread into a private network if `server` needs one, for as long as the result is kept. If that
    /// is impossible here, the user is told once for each server, and the launch uses the machine's network.
    ///
    /// # Errors
    /// [`LaunchError::Fault`] if the network was made and cannot be entered.
    pub fn enter_network(&self, server: &Manifest) -> Result<LaunchNetwork, LaunchError> {
        if !server.fixed.needs_network() {
            return Ok(LaunchNetwork { inside: None });
        }
        let network = match PrivateNetwork::create() {
            Ok(network) => network,
            Err(error) => {
                let ports = server.fixed.port.map_or("its ports".to_owned(), |port| format!("port {port}"));
                self.notify_once(format!(
                    "{}: cannot make a private network ({error}), which only root may; {ports} of this machine must be \
                     free, and two such servers cannot run at once",
                    server.id
                ));
                return Ok(LaunchNetwork { inside: None });
            }
        };
        let inside = network.enter().map_err(|error| {
            LaunchError::fault(Stage::Start, format!("cannot enter a private network: {error}"), false)
        })?;
        Ok(LaunchNetwork { inside: Some(inside) })
    }
}
