//! Encodes addresses for the kernel.
//!
//! `epoll.rs` keeps one for the target, `socket.rs` makes one for each local address it binds to. This module checks
//! nothing: the check of the settings has checked the length of a path ([`Address::is_possible`]).

use crate::Address;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// An address in the kernel's form: of any family, with its length.
#[derive(Clone, Copy)]
pub(super) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl std::fmt::Debug for RawAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawAddress").field("family", &self.family()).finish_non_exhaustive()
    }
}

impl RawAddress {
    /// Encodes an address. The engine's settings have been checked: a path fits.
    pub(super) fn from_address(address: &Address) -> Self {
        match address {
            Address::Tcp(SocketAddr::V4(v4)) => Self::holding(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            Address::Tcp(SocketAddr::V6(v6)) => Self::holding(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
            Address::Unix(path) => Self::holding(unix(path)),
        }
    }

    fn holding<T: Copy>(raw: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: sockaddr_storage is plain old data, for which zeroes are a valid value.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: sockaddr_storage is aligned for every address family, by definition, and large enough: see above.
        unsafe { (&raw mut storage).cast::<T>().write(raw) };
        Self { storage, length: size_of::<T>() as libc::socklen_t }
    }

    /// Its family.
    pub(super) fn family(&self) -> i32 {
        i32::from(self.storage.ss_family)
    }

    /// The pointer, for a system call.
    pub(super) fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    /// Its length, for a system call.
    pub(super) fn length(&self) -> libc::socklen_t {
        self.length
    }
}

/// The zero after the path is included in the length: a longer path gets one anyway (unix(7)).
fn unix(path: &Path) -> libc::sockaddr_un {
    let mut raw = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    for (place, byte) in raw.sun_path.iter_mut().zip(path.as_os_str().as_bytes()) {
        *place = *byte as libc::c_char;
    }
    raw
}
