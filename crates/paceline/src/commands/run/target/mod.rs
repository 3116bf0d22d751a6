//! Where `paceline run` connects to: the address behind a URL, or another one, and how it is spoken to.
//!
//! Everything is looked up before the run begins: names, certificates, keys. The engine gets an address and TLS ready to
//! be spoken.

mod addresses;
mod race;
mod tls;

pub use tls::remedy;

use super::inputs::Inputs;
use crate::exit::Complaint;
use paceline_engine::Address;
use paceline_engine::tls::TlsSettings;
use paceline_http::{Scheme, Url};
use paceline_record::Tried;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Flags of where to connect and how to speak there.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Target")]
pub struct TargetFlags {
    /// Connect to a unix socket; the URL still says what to ask for, and of which host
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resolve", "ipv4", "ipv6", "source"])]
    unix_socket: Option<PathBuf>,

    /// Connect to these addresses for this host and port instead of looking the name up; may be given again
    #[arg(long, value_name = "HOST:PORT:ADDR[,ADDR]")]
    resolve: Vec<String>,

    /// Only IPv4 addresses of the name
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Only IPv6 addresses of the name
    #[arg(short = '6', long)]
    ipv6: bool,

    /// Do not check the server's certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    insecure: bool,

    /// Trust the certificates in this file (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,

    /// Give this client certificate to a server that asks (PEM, with those that lead to its root)
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,

    /// The client certificate's key (PEM) [default: in the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Ask for this name in the TLS handshake, and look for it in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,

    /// The only version of TLS to offer [default: both]
    #[arg(long, value_enum, value_name = "VERSION")]
    tls_version: Option<VersionFlag>,

    /// Make every TLS handshake in full
    #[arg(long)]
    no_tls_resumption: bool,
}

/// Values of `--tls-version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum VersionFlag {
    /// TLS 1.2
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3
    #[value(name = "1.3")]
    Tls13,
}

/// Where to connect, and how to speak there.
#[derive(Debug)]
pub struct Destination {
    /// Where to.
    pub address: Address,
    /// Other addresses of the name that did not answer.
    pub tried: Vec<Tried>,
    /// TLS, for an https URL.
    pub tls: Option<Arc<TlsSettings>>,
    /// The name TLS asks for; empty without it.
    pub tls_name: String,
}

impl TargetFlags {
    /// Looks up where a URL leads to. `sources` are the local addresses asked for, `limit` the time an address has to
    /// accept a connection.
    pub fn find(
        &self,
        url: &Url,
        sources: &[IpAddr],
        limit: Duration,
        inputs: &mut Inputs,
    ) -> anyhow::Result<Destination> {
        self.check(url)?;
        let tls = match url.scheme {
            Scheme::Http => None,
            Scheme::Https => Some(Arc::new(tls::settings(self, url, inputs)?)),
        };
        let tls_name = tls.as_ref().map_or_else(String::new, |_| tls::name_of(self, url).to_owned());
        let (address, tried) = match &self.unix_socket {
            Some(path) => (Address::from(path.as_path()), Vec::new()),
            None => {
                let candidates = addresses::candidates(self, url, sources)?;
                let (address, tried) = race::first_to_accept(&url.host, &candidates, limit)?;
                (address.into(), tried)
            }
        };
        Ok(Destination { address, tried, tls, tls_name })
    }

    /// Flags of TLS for a target that is spoken to in plain text are a mistake somewhere.
    fn check(&self, url: &Url) -> anyhow::Result<()> {
        let given = [
            (self.insecure, "--insecure"),
            (self.cacert.is_some(), "--cacert"),
            (self.cert.is_some(), "--cert"),
            (self.sni.is_some(), "--sni"),
            (self.tls_version.is_some(), "--tls-version"),
            (self.no_tls_resumption, "--no-tls-resumption"),
        ];
        match given.iter().find(|(given, _)| *given && url.scheme == Scheme::Http) {
            Some((_, flag)) => Err(Complaint::usage(format!("{flag} is for https, and {url} is http"))
                .hint(format!("write https://, or leave {flag} out"))
                .into()),
            None => Ok(()),
        }
    }
}
