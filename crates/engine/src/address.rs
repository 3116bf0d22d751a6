//! Defines the address that connections go to: a network address, or a socket in the file system.
//!
//! The binary resolves the name, or takes the path of `--unix-socket`, and puts one of these into [`crate::Settings`],
//! whose check asks here whether the kernel accepts the path. The encoding is in `kernel/address.rs`.

use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// The maximum length of a unix socket's path: sun_path holds 108 bytes, and a zero ends it (unix(7)).
const MAX_PATH: usize = 107;

/// The address that connections go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(Arc<Path>),
}

impl Address {
    /// Whether the kernel accepts it: the length of a path is limited.
    pub(crate) fn is_possible(&self) -> bool {
        match self {
            Address::Tcp(_) => true,
            Address::Unix(path) => {
                let path = path.as_os_str().as_bytes();
                (1..=MAX_PATH).contains(&path.len()) && !path.contains(&0)
            }
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Address::Tcp(address)
    }
}

impl From<&Path> for Address {
    fn from(path: &Path) -> Self {
        Address::Unix(Arc::from(path))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_limits() {
        for (path, possible) in [
            ("/run/a.sock".to_owned(), true),
            ("p".repeat(107), true),
            ("p".repeat(108), false),
            (String::new(), false),
        ] {
            assert_eq!(Address::from(Path::new(&path)).is_possible(), possible, "{path:?}");
        }
        assert_eq!(Address::from(Path::new("/a")).to_string(), "unix:/a");
    }
}
