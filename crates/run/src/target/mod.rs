//! The address of a run's target, and TLS for it. Everything is looked up before the run begins.

mod addresses;
mod race;
mod tls;

pub use tls::remedy;

use crate::{Inputs, RunError};
use paceline_engine::Address;
use paceline_engine::tls::TlsSettings;
use paceline_job::{Job, Protocol};
use paceline_record::Tried;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The address to connect to, and TLS.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The address.
    pub address: Address,
    /// The addresses that connections are spread over, `address` first; empty if all go to that.
    pub spread: Arc<[SocketAddr]>,
    /// Other addresses of the name that did not accept a connection.
    pub tried: Vec<Tried>,
    /// TLS, for an https, wss or grpcs URL.
    pub tls: Option<Arc<TlsSettings>>,
    /// The name TLS requests; empty without it.
    pub tls_name: String,
}

impl Destination {
    /// Looks up the target of a job. `sources` are the requested local addresses.
    pub(crate) fn find(job: &Job, sources: &[IpAddr], inputs: &mut Inputs) -> Result<Self, RunError> {
        check(job)?;
        let tls = match job.url.scheme.uses_tls() {
            false => None,
            true => Some(Arc::new(tls::settings(job, inputs)?)),
        };
        let tls_name = tls.as_ref().map_or_else(String::new, |_| tls::name_of(job).to_owned());
        let found = |address: Address, spread: &[SocketAddr], tried| Self {
            address,
            spread: spread.into(),
            tried,
            tls,
            tls_name,
        };
        if let Some(path) = &job.unix_socket {
            return Ok(found(path.as_path().into(), &[], Vec::new()));
        }
        let candidates = addresses::candidates(job, sources)?;
        match candidates.as_slice() {
            [first, _, ..] if job.spread => Ok(found((*first).into(), &candidates, Vec::new())),
            candidates => {
                let host = &job.proxy.as_ref().map_or(&job.url, |proxy| &proxy.url).host;
                let attempt = if job.protocol == Protocol::Http3 { race::over_quic } else { race::over_tcp };
                let limit = job.connect_timeout.into();
                let (address, tried) = race::first_to_accept(host, candidates, attempt, limit)?;
                Ok(found(address.into(), &[], tried))
            }
        }
    }

    /// All addresses that connections go to.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        match &*self.spread {
            [] => vec![self.address.clone()],
            spread => spread.iter().copied().map(Address::Tcp).collect(),
        }
    }
}

/// TLS settings for an http URL are an error.
fn check(job: &Job) -> Result<(), RunError> {
    let (url, tls) = (&job.url, &job.tls);
    let given = [
        (tls.insecure, "--insecure"),
        (tls.ca_file.is_some(), "--cacert"),
        (tls.cert_file.is_some(), "--cert"),
        (tls.server_name.is_some(), "--sni"),
        (tls.version.is_some(), "--tls-version"),
        (tls.no_resumption, "--no-tls-resumption"),
        (tls.early_data, "--early-data"),
    ];
    match given.iter().find(|(given, _)| *given && !url.scheme.uses_tls()) {
        Some((_, flag)) => Err(RunError::usage(format!("{flag} needs https://, but the URL is {url}"))
            .hint(match *flag {
                "--insecure" => "use an https:// URL, or remove --insecure (-k); if -k is meant as in ab, connections are kept alive by default".to_owned(),
                flag => format!("use an https:// URL, or remove {flag}"),
            })),
        None => Ok(()),
    }
}
