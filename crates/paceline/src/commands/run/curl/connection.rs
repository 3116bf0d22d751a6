//! Where and how curl connects: what flags of `paceline run` set too.

use crate::exit::Complaint;
use paceline_http::Scheme;
use paceline_job::{IpVersion, Job, Proxy, TlsVersion};

/// The port of a proxy without one (curl(1), `--proxy`).
const PROXY_PORT: u16 = 1080;

/// A setting of the connections.
#[derive(Clone, Copy, Debug)]
pub enum ConnectionSetting {
    Proxy,
    Resolve,
    ConnectTo,
    UnixSocket,
    IpVersion(IpVersion),
    CaFile,
    CertFile,
    KeyFile,
    /// curl's is the lowest version: of 1.3 the only one.
    TlsVersion(TlsVersion),
}

impl ConnectionSetting {
    /// Whether its flag has a value.
    pub fn takes_value(self) -> bool {
        !matches!(self, Self::IpVersion(_) | Self::TlsVersion(_))
    }

    /// Puts the setting into a job that has its URL. curl ignores those of TLS for other URLs than https.
    pub fn fill(self, value: &str, job: &mut Job) -> Result<(), Complaint> {
        let is_https = job.url.scheme == Scheme::Https;
        match self {
            Self::Proxy => job.proxy = Some(proxy(value)?),
            // With a plus sign curl forgets the addresses after a while.
            Self::Resolve => job.resolve.push(value.strip_prefix('+').unwrap_or(value).to_owned()),
            Self::ConnectTo if job.connect_to.is_some() => {
                return Err(Complaint::usage(format!("--curl: --connect-to {value} is a second one"))
                    .hint("keep the one for the URL's host and port"));
            }
            Self::ConnectTo => job.connect_to = Some(value.to_owned()),
            Self::UnixSocket => job.unix_socket = Some(value.into()),
            Self::IpVersion(version) => job.ip_version = Some(version),
            Self::CaFile | Self::CertFile | Self::KeyFile | Self::TlsVersion(_) if !is_https => {}
            Self::CaFile => job.tls.ca_file = Some(value.into()),
            Self::CertFile => job.tls.cert_file = Some(value.into()),
            Self::KeyFile => job.tls.key_file = Some(value.into()),
            Self::TlsVersion(version) => job.tls.version = Some(version),
        }
        Ok(())
    }
}

fn proxy(value: &str) -> Result<Proxy, Complaint> {
    let value = value.trim_end_matches('/');
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = value.rsplit_once(':').is_some_and(|(_, port)| is_port(port));
    let parsed = if has_port { Proxy::parse(value) } else { Proxy::parse(&format!("{value}:{PROXY_PORT}")) };
    parsed.map_err(|error| {
        Complaint::usage(format!("--curl: the proxy of -x: {error}"))
            .hint("Paceline connects through HTTP proxies: -x http://HOST:PORT")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_the_port_of_curl() {
        for (value, url) in [
            ("p", "http://p:1080"),
            ("http://u:w@p/", "http://p:1080"),
            ("[::1]", "http://[::1]:1080"),
            ("[::1]:3128", "http://[::1]:3128"),
            ("http://p:3128/", "http://p:3128"),
        ] {
            assert_eq!(proxy(value).unwrap().to_string(), url, "{value}");
        }
        assert!(proxy("socks5://p:1").unwrap_err().what.contains("must begin with http://"));
    }
}
