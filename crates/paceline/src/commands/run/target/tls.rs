//! TLS as the flags ask for it: files read, names checked, and what to do about each of its faults.
//!
//! Called by `mod.rs` for an https URL; the remedies by `paceline run` and its record, too. Handshakes are the
//! engine's, and so is telling one fault from another.

use super::{TargetFlags, VersionFlag};
use crate::commands::run::inputs::Inputs;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_engine::tls::{Identity, TlsAsked, TlsFault, TlsSettings, TlsVersion, Trust};
use paceline_http::Url;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::path::Path;

/// The name that is asked for.
pub(super) fn name_of<'a>(flags: &'a TargetFlags, url: &'a Url) -> &'a str {
    flags.sni.as_deref().unwrap_or(&url.host)
}

/// TLS, ready to be spoken.
pub(super) fn settings(flags: &TargetFlags, url: &Url, inputs: &mut Inputs) -> anyhow::Result<TlsSettings> {
    let name = name_of(flags, url);
    let asked = TlsAsked {
        name: ServerName::try_from(name.to_owned())
            .map_err(|_| Complaint::usage(format!("{name:?} is no name a certificate can be for")))?,
        trust: trust(flags, inputs)?,
        identity: match &flags.cert {
            Some(cert) => Some(identity(cert, flags.key.as_deref(), inputs)?),
            None => None,
        },
        version: flags.tls_version.map(|version| match version {
            VersionFlag::Tls12 => TlsVersion::Tls12,
            VersionFlag::Tls13 => TlsVersion::Tls13,
        }),
        resumption: !flags.no_tls_resumption,
    };
    let hint = "check --cacert, --cert and --key";
    TlsSettings::new(asked).with_context(|| Complaint::usage("TLS cannot be spoken as asked").hint(hint))
}

fn trust(flags: &TargetFlags, inputs: &mut Inputs) -> anyhow::Result<Trust> {
    if flags.insecure {
        return Ok(Trust::Anyone);
    }
    if let Some(file) = &flags.cacert {
        return Ok(Trust::Roots { roots: certificates("--cacert", file, inputs)?, also_themselves: true });
    }
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        let what = format!("this system trusts no certificate authority{why}");
        return Err(Complaint::environment(what)
            .hint("install its list (Debian: ca-certificates), or give one with --cacert")
            .into());
    }
    Ok(Trust::Roots { roots: found.certs, also_themselves: false })
}

fn certificates(
    flag: &str,
    file: &Path,
    inputs: &mut Inputs,
) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let told = || Complaint::usage(format!("{flag} {}", file.display()));
    let bytes = inputs.read(flag, file).with_context(told)?;
    let found: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&bytes).collect::<Result<_, _>>().with_context(told)?;
    if found.is_empty() {
        let what = format!("{flag} {}: holds no certificate in PEM", file.display());
        return Err(Complaint::usage(what)
            .hint("such a file begins with -----BEGIN CERTIFICATE-----")
            .into());
    }
    Ok(found)
}

fn identity(cert: &Path, key: Option<&Path>, inputs: &mut Inputs) -> anyhow::Result<Identity> {
    let chain = certificates("--cert", cert, inputs)?;
    let (flag, file) = key.map_or(("--cert", cert), |key| ("--key", key));
    let bytes =
        inputs.read(flag, file).with_context(|| Complaint::usage(format!("{flag} {}", file.display())))?;
    let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        Complaint::usage(format!("{flag} {}: holds no private key in PEM", file.display()))
            .hint("an encrypted one must be decrypted first: openssl pkey -in FILE -out PLAIN")
    })?;
    Ok(Identity { chain, key })
}

/// What to do about a fault of TLS.
pub fn remedy(fault: TlsFault) -> &'static str {
    match fault {
        TlsFault::NotTls => "is it http:// on this port?",
        TlsFault::ClosedInHandshake | TlsFault::BrokenInHandshake | TlsFault::TooSlow => {
            "does the server speak TLS on this port, and know this name (--sni)? its log may tell more"
        }
        TlsFault::Expired | TlsFault::NotYetValid => {
            "renew it, check this machine's clock, or measure without checking it: --insecure"
        }
        TlsFault::WrongName => "ask for a name it is for (--sni), or do not check it: --insecure",
        TlsFault::UnknownIssuer => {
            "give the issuer's certificate with --cacert, or do not check it: --insecure"
        }
        TlsFault::BadCertificate => {
            "give the certificate itself with --cacert if you trust it, or do not check it: --insecure"
        }
        TlsFault::CertificateRequired => "give one with --cert and --key",
        TlsFault::CertificateRefused => {
            "give one that the server trusts, with what leads to its root, to --cert"
        }
        TlsFault::UnknownName => "ask for a name it knows: --sni",
        TlsFault::NothingInCommon => {
            "TLS 1.2 and 1.3 are offered, unless --tls-version says otherwise; an older server cannot be measured"
        }
        TlsFault::NoHttp1 => "HTTP/1.1 is all that is offered",
        TlsFault::Alert(_) | TlsFault::Broken => "the server's log may tell more",
    }
}
