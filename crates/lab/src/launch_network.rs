//! The network of a launch: a private one for a server with a fixed port, so that the port is free.
//!
//! The thread that carries the launch out is in it, with all processes that it starts: server, database, checks and
//! generator. On several machines, at an address of the machine (`--listen`), and without root's rights, a launch uses
//! the machine's network and the real port.

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
        // A private network has no other address of the machine.
        let is_inside = self.listen().is_loopback() || self.listen().is_unspecified();
        if !server.fixed.needs_network() || !is_inside {
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

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::TestTree;
    use paceline_host::Interrupt;
    use std::net::IpAddr;

    #[test]
    fn a_server_at_an_address_of_the_machine_is_in_its_network() {
        let tree = TestTree::with(&["go-server"]);
        let catalogue = tree.catalogue();
        let mut server = (*catalogue.server("go-server").unwrap()).clone();
        server.fixed.port = Some(8080);
        let is_private = |listen: [u8; 4]| {
            let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
            let provisioner = provisioner.listening_on(IpAddr::from(listen));
            let network = provisioner.enter_network(&server).unwrap();
            network.is_private()
        };
        assert!(!is_private([192, 0, 2, 1]));
        // Only root can make one.
        assert_eq!(is_private([127, 0, 0, 1]), PrivateNetwork::create().is_ok());
    }
}
