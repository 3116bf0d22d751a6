//! Starts a load balancer before instances, on this machine: for the lab, and for a node of a lab on another machine.
//!
//! Its configuration is its template, filled with the instances' addresses. Two ports are chosen, one for clients, one
//! for its statistics; if another process takes a port meanwhile, the start is retried.

use crate::deployment::RunningBalancer;
use crate::launch::{LaunchError, LaunchSpec, ReadyCondition, RunningServer, Starter};
use crate::node::BalancerOrder;
use crate::{LabError, Provisioner, provision};
use paceline_catalogue::{BALANCER_FORM, Balancer, TemplateValues, Variables};
use paceline_host::{port, system};
use paceline_record::{BalancerReceipt, Fault, Stage};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// The balancer's connection limit should never limit a measurement: this many times the load's connections, both sides
/// counted.
const CONNECTIONS_TIMES: u64 = 4;
/// And at least this many.
const MIN_CONNECTIONS: u64 = 2000;
/// Descriptors of a balancer that are not connections: listeners, checks, its statistics, the poll descriptor of each
/// thread.
const OTHER_FILES: u64 = 200;
/// The name of a balancer's configuration in its folder; the balancer may create other files there.
const CONFIGURATION: &str = "configuration";
/// Another process may take the port between the lab's check and the balancer's bind.
const PORT_TRIES: u32 = 3;

/// Starts balancers.
pub(crate) struct Balancers<'a> {
    /// Reads their versions.
    pub provisioner: &'a Provisioner,
    /// Starts their processes.
    pub starter: &'a Starter,
}

impl Balancers<'_> {
    /// Starts a balancer, whose configuration is in a folder that it does not share.
    ///
    /// # Errors
    /// [`LaunchError`], with nothing left running.
    pub(crate) fn start(
        &self,
        balancer: &Balancer,
        order: &BalancerOrder,
        folder: &Path,
    ) -> Result<(RunningServer, RunningBalancer), LaunchError> {
        let receipt = self.receipt(balancer)?;
        let mut tries = 1;
        loop {
            let started = self.start_once(balancer, order, folder, &receipt);
            // If it ended before it answered, its port may have been taken; its log has the cause.
            if started.is_ok() || tries >= PORT_TRIES || matches!(started, Err(LaunchError::Interrupted)) {
                return started;
            }
            tries += 1;
        }
    }

    /// Its receipt, or what is missing.
    ///
    /// # Errors
    /// [`LaunchError`] if it is not installed, or its version cannot be read.
    pub(crate) fn receipt(&self, balancer: &Balancer) -> Result<BalancerReceipt, LaunchError> {
        let missing: Vec<&str> = balancer
            .needs
            .iter()
            .filter(|need| provision::program(need).is_none())
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            let install = format!("apt-get install {}", balancer.packages.join(" "));
            let message = format!(
                "{} is not installed (missing: {}); run: {install}",
                balancer.name,
                missing.join(", ")
            );
            return Err(LaunchError::fault(Stage::Setup, message, false));
        }
        let versions = self.provisioner.versions(&balancer.as_server(None)).map_err(|error| match error {
            LabError::Interrupted => LaunchError::Interrupted,
            error => LaunchError::fault(Stage::Setup, error.to_string(), false),
        })?;
        let (id, name) = (balancer.id.clone(), balancer.name.clone());
        Ok(BalancerReceipt { id, name, versions, configuration: String::new() })
    }

    fn start_once(
        &self,
        balancer: &Balancer,
        order: &BalancerOrder,
        folder: &Path,
        receipt: &BalancerReceipt,
    ) -> Result<(RunningServer, RunningBalancer), LaunchError> {
        let fault =
            |message: String| LaunchError::fault(Stage::Start, format!("the balancer: {message}"), false);
        let [port, statistics_port] =
            port::free_ports(order.listen).map_err(|error| fault(error.to_string()))?;
        let (listen, statistics_at) =
            (SocketAddr::new(order.listen, port), SocketAddr::new(order.listen, statistics_port));
        let threads = order.cores.len().max(1) as u32;
        let filling = TemplateValues {
            listen,
            statistics_port,
            policy: balancer.policies.get(&order.policy).map(String::as_str).unwrap_or_default(),
            threads,
            connections: connections(order.connections, system::max_open_files().unwrap_or(u64::MAX)),
            folder: folder.to_string_lossy().into_owned(),
            instances: &order.instances,
        };
        let configuration = filling.fill(&balancer.template);
        let path = folder.join(CONFIGURATION);
        fs::create_dir_all(folder)
            .and_then(|()| provision::write_readable(&path, configuration.as_bytes()))
            .map_err(|error| fault(format!("cannot write {}: {error}", path.display())))?;
        if let Some(user) = &self.starter.user {
            user.share_folder(folder, CONFIGURATION).map_err(|error| fault(error.to_string()))?;
        }
        let server = balancer.as_server(Some(&path));
        let variables = self.provisioner.variables(&server, port, threads);
        let of = LaunchSpec {
            id: &order.id,
            server: &server,
            form: BALANCER_FORM,
            variables: Variables { host: order.listen.to_string(), ..variables },
            image: None,
            cores: &order.cores,
            ready: ReadyCondition::Answers(&order.ready),
        };
        let launch = self.starter.launch(&of).map_err(of_balancer)?;
        let receipt = BalancerReceipt { configuration, ..receipt.clone() };
        Ok((launch, RunningBalancer { receipt, statistics: balancer.statistics, statistics_at }))
    }
}

/// How many connections a balancer must be able to hold for a load of this many. Each has a descriptor on both sides:
/// HAProxy does not start if its limit is above the limit of open files.
fn connections(of_load: u64, open_files: u64) -> u64 {
    let most = open_files.saturating_sub(OTHER_FILES) / 2;
    (of_load * CONNECTIONS_TIMES).max(MIN_CONNECTIONS).min(most.max(1))
}

/// Adds to a fault that it happened to the balancer.
fn of_balancer(error: LaunchError) -> LaunchError {
    match error {
        LaunchError::Fault { fault, log_tail } => {
            let message = format!("the balancer: {}", fault.message);
            LaunchError::Fault { fault: Fault { message, ..fault }, log_tail }
        }
        LaunchError::Interrupted => LaunchError::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn a_balancer_stays_within_its_descriptor_limit() {
        assert_eq!(connections(64, 1 << 20), 2_000);
        assert_eq!(connections(10_000, 1 << 20), 40_000);
        assert_eq!(connections(10_000, 20_000), 9_900);
        assert_eq!(connections(64, 1_024), 412);
        assert_eq!(connections(64, 100), 1);
        assert_eq!(connections(64, u64::MAX), 2_000);
    }
}
