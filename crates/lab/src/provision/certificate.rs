//! The certificate of a server that speaks TLS: self-signed, made once, in its build folder.
//!
//! Its host name is `localhost`; the generator trusts this file alone (`--cacert`, `--sni`). It keeps no secret:
//! it is for loads on servers that the lab itself starts.

use super::Provisioner;
use crate::LabError;
use paceline_catalogue::{CERTIFICATE_FILE, CERTIFICATE_NAME, KEY_FILE, Manifest};
use rcgen::{CertificateParams, KeyPair};
use std::io;
use std::path::PathBuf;

impl Provisioner {
    /// The file of a server's certificate (PEM), which exists if its traits need one.
    pub fn certificate(&self, server: &Manifest) -> PathBuf {
        self.build_dir(server).join(CERTIFICATE_FILE)
    }

    /// Makes the certificate of a server that needs one, unless there is one.
    pub(super) fn make_certificate(&self, server: &Manifest) -> Result<(), LabError> {
        let (certificate, key) = (self.certificate(server), self.build_dir(server).join(KEY_FILE));
        if !server.traits.needs_certificate() || (certificate.exists() && key.exists()) {
            return Ok(());
        }
        let failed = |path: &PathBuf| {
            let path = path.clone();
            move |source| LabError::File { action: "write", path, source }
        };
        let (certificate_pem, key_pem) = self_signed().map_err(failed(&certificate))?;
        std::fs::create_dir_all(self.build_dir(server)).map_err(failed(&certificate))?;
        // The key first: a certificate without its key would be used.
        paceline_files::replace(&key, key_pem.as_bytes()).map_err(failed(&key))?;
        paceline_files::replace(&certificate, certificate_pem.as_bytes()).map_err(failed(&certificate))?;
        self.share_build(server)
    }
}

/// A certificate and its key, both as PEM.
fn self_signed() -> io::Result<(String, String)> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let names = [CERTIFICATE_NAME, "127.0.0.1"].map(str::to_owned).to_vec();
    let certificate = CertificateParams::new(names).and_then(|parameters| parameters.self_signed(&key));
    Ok((certificate.map_err(io::Error::other)?.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::{MANIFEST, TestTree};
    use paceline_host::Interrupt;

    #[test]
    fn a_certificate_is_made_once_for_a_server_that_needs_it() {
        let tree = TestTree::with(&["go-plain"]);
        tree.write("servers/go-secure/server.toml", &format!("{MANIFEST}\n[traits]\ntls = true\n"));
        let folders = tree.catalogue().folders;
        let provisioner = Provisioner::new(&folders, vec!["no-such-shepherd".into()], Interrupt::never());
        let made = |id: &str| {
            let server = Manifest::read(&tree.path("servers").join(id)).unwrap();
            provisioner.make_certificate(&server).unwrap();
            let folder = provisioner.build_dir(&server);
            [CERTIFICATE_FILE, KEY_FILE]
                .map(|file| std::fs::read_to_string(folder.join(file)).unwrap_or_default())
        };
        assert_eq!(made("go-plain"), ["", ""]);
        let [certificate, key] = made("go-secure");
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"), "{certificate}");
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"), "{key}");
        assert_eq!(made("go-secure"), [certificate, key]);
    }
}
