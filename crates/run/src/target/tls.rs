//! TLS settings from the flags: reads files, checks names, and gives the remedy for each TLS fault.
//!
//! Called by `mod.rs` for an https URL; the remedies are also used by `paceline run` and its record. Handshakes and the
//! classification of faults are in the engine.

use crate::proxy::proxy_authorization;
use crate::{Inputs, RunError};
use paceline_engine::tls::{ClientIdentity, TlsFault, TlsOptions, TlsSettings, Trust};
use paceline_files::without_byte_order_mark;
use paceline_job::{Job, Proxy, TlsSpec};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::path::Path;

/// The server name to request.
pub(super) fn name_of(job: &Job) -> &str {
    job.tls.server_name.as_deref().unwrap_or(&job.url.host)
}

/// The TLS settings, ready for use.
pub(super) fn settings(job: &Job, inputs: &mut Inputs) -> Result<TlsSettings, RunError> {
    let (name, spec) = (name_of(job), &job.tls);
    let asked = TlsOptions {
        name: ServerName::try_from(name.to_owned())
            .map_err(|_| RunError::usage(format!("{name:?} is not a valid server name for TLS")))?,
        trust: trust(spec, inputs)?,
        identity: match &spec.cert_file {
            Some(cert) => Some(identity(cert, spec.key_file.as_deref(), inputs)?),
            None => None,
        },
        version: spec.version,
        resumption: !spec.no_resumption,
        early_data: spec.early_data,
    };
    let hint = "check --cacert, --cert and --key";
    let settings = TlsSettings::new(asked)
        .map_err(|error| RunError::usage("TLS cannot be set up").because(error).hint(hint))?;
    Ok(match &job.proxy {
        Some(proxy) => settings.through(connect_request(job, proxy)),
        None => settings,
    })
}

/// The request that asks a proxy for a tunnel to the target (RFC 9112 §3.2.3).
fn connect_request(job: &Job, proxy: &Proxy) -> Vec<u8> {
    let host = if job.url.host.contains(':') { format!("[{}]", job.url.host) } else { job.url.host.clone() };
    let target = format!("{host}:{}", job.url.port);
    let authorization = proxy_authorization(proxy)
        .map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
    let agent = paceline_http::USER_AGENT;
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {agent}\r\n{authorization}\r\n")
        .into_bytes()
}

fn trust(spec: &TlsSpec, inputs: &mut Inputs) -> Result<Trust, RunError> {
    if spec.insecure {
        return Ok(Trust::Anyone);
    }
    if let Some(file) = &spec.ca_file {
        return Ok(Trust::Roots { roots: certificates("--cacert", file, inputs)?, also_themselves: true });
    }
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        let what = format!("no trusted certificate authority was found on this system{why}");
        return Err(RunError::environment(what)
            .hint("install the certificate authorities of the system (Debian: ca-certificates), or use --cacert FILE"));
    }
    Ok(Trust::Roots { roots: found.certs, also_themselves: false })
}

fn certificates(
    flag: &str,
    file: &Path,
    inputs: &mut Inputs,
) -> Result<Vec<CertificateDer<'static>>, RunError> {
    let reported = || RunError::usage(format!("{flag} {}", file.display()));
    let bytes = inputs.read(flag, file).map_err(|error| reported().because(error))?;
    let found: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(without_byte_order_mark(&bytes))
        .collect::<Result<_, _>>()
        .map_err(|error: rustls::pki_types::pem::Error| reported().because(error))?;
    if found.is_empty() {
        let what = format!("{flag} {}: contains no certificate in PEM format", file.display());
        return Err(
            RunError::usage(what).hint("a PEM file of certificates begins with -----BEGIN CERTIFICATE-----")
        );
    }
    Ok(found)
}

fn identity(cert: &Path, key: Option<&Path>, inputs: &mut Inputs) -> Result<ClientIdentity, RunError> {
    let chain = certificates("--cert", cert, inputs)?;
    let (flag, file) = key.map_or(("--cert", cert), |key| ("--key", key));
    let bytes = inputs
        .read(flag, file)
        .map_err(|error| RunError::usage(format!("{flag} {}", file.display())).because(error))?;
    let key = PrivateKeyDer::from_pem_slice(without_byte_order_mark(&bytes)).map_err(|_| {
        RunError::usage(format!("{flag} {}: contains no private key in PEM format", file.display()))
            .hint("decrypt an encrypted key first: openssl pkey -in FILE -out PLAIN")
    })?;
    Ok(ClientIdentity { chain, key })
}

/// The remedy for a TLS fault.
pub fn remedy(fault: TlsFault) -> &'static str {
    match fault {
        TlsFault::NotTls => "check whether this port expects http:// (without TLS)",
        TlsFault::ClosedInHandshake | TlsFault::BrokenInHandshake | TlsFault::TooSlow => {
            "check that the server speaks TLS on this port and knows this name (--sni), and read the server's log"
        }
        TlsFault::Expired | TlsFault::NotYetValid => {
            "renew the certificate, check this machine's clock, or do not check the certificate: --insecure"
        }
        TlsFault::WrongName => {
            "use a name that is in the certificate (--sni), or do not check the certificate: --insecure"
        }
        TlsFault::UnknownIssuer => {
            "give the issuer's certificate with --cacert, or do not check the certificate: --insecure"
        }
        TlsFault::BadCertificate => {
            "if you trust the server's certificate, pass it with --cacert FILE; to skip the check, use --insecure"
        }
        TlsFault::CertificateRequired => "give a client certificate with --cert and --key",
        TlsFault::CertificateRefused => {
            "give a certificate that the server trusts, with its intermediate certificates, to --cert"
        }
        TlsFault::NoTunnel(407) => "give the proxy's user and password: --proxy http://USER:PASS@HOST:PORT",
        TlsFault::NoTunnel(_) => {
            "check that the proxy allows CONNECT to this host and port, and read the proxy's log"
        }
        TlsFault::SilentProxy => {
            "check that the address in --proxy is an HTTP proxy that supports CONNECT, and read the proxy's log"
        }
        TlsFault::NoProxy => "check that the address in --proxy is an HTTP proxy",
        TlsFault::UnknownName => "use a host name that the server knows: --sni",
        TlsFault::NothingInCommon => {
            "Paceline offers TLS 1.2 and 1.3, unless --tls-version selects one; a server with only older versions or cipher suites cannot be measured"
        }
        TlsFault::NoSuchHttp => "the server may speak another version of HTTP: try another --http",
        TlsFault::Alert(_) | TlsFault::Broken => "see the server's log",
    }
}
