//! Names of Debian packages in manifests of servers and balancers.
//!
//! They are checked when a manifest is read, so that the package manager receives only valid names.

use serde::{Deserialize, Deserializer, de::Error as _};

/// Reads `packages`. The names are passed to apt-get as root, so that everything except a package name is rejected:
/// Debian Policy 5.6.1 allows two or more of lower case letters, digits, `+`, `-` and `.`, beginning with a letter or
/// digit.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    match names.iter().find(|name| !is_package(name)) {
        Some(name) => Err(D::Error::custom(format!(
            "{name:?} is not the name of a Debian package: use lower-case letters, digits, `+`, `-` and `.`"
        ))),
        None => Ok(names),
    }
}

fn is_package(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() >= 2
        && name.bytes().next().is_some_and(is_plain)
        // apt-get reads a trailing `-` as "remove" and `+` as "install".
        && !name.ends_with('-')
        && name.bytes().all(|byte| is_plain(byte) || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_package_names_are_rejected() {
        for name in ["g++", "libc6", "python3.13-venv", "0ad"] {
            assert!(is_package(name), "{name}");
        }
        for name in [
            "",
            "a",
            "-oAPT::x=y",
            "--reinstall",
            "x; touch /y",
            "$(x)",
            "./x.deb",
            "UP",
            "nginx-",
            "a b",
            "a=1",
        ] {
            assert!(!is_package(name), "{name}");
        }
    }
}
