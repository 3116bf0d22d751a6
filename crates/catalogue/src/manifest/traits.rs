//! Traits: how a framework handles connections, and which protocols it speaks, as stated in its manifest, with the line
//! of each statement.
//!
//! A limit is not a fault: it is stated, checked and shown, and the loads that need the trait are skipped.
//! `trait_check` tests traits on a running server.

use crate::variables::{HTTP2_OFFSET, TLS_OFFSET};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A feature that a server may support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// Answers several requests on one connection.
    KeepAlive,
    /// Answers pipelined requests.
    Pipelining,
    /// Honours keep-alive requested in HTTP/1.0.
    Http10KeepAlive,
    /// Answers a request that arrives byte by byte.
    ByteWise,
    /// Answers HEAD where it answers GET.
    Head,
    /// Speaks HTTP/2 with prior knowledge (RFC 9113 §3.3).
    Http2,
    /// Speaks TLS on a separate port, with the certificate that the lab makes.
    Tls,
    /// Speaks HTTP/3 on the same number of UDP's ports.
    Http3,
}

impl Trait {
    /// All traits, in the order of display and testing.
    pub const ALL: [Trait; 8] = [
        Trait::KeepAlive,
        Trait::ByteWise,
        Trait::Pipelining,
        Trait::Http10KeepAlive,
        Trait::Head,
        Trait::Http2,
        Trait::Tls,
        Trait::Http3,
    ];

    /// Its key in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Trait::KeepAlive => "keep_alive",
            Trait::Pipelining => "pipelining",
            Trait::Http10KeepAlive => "http10_keep_alive",
            Trait::ByteWise => "byte_wise",
            Trait::Head => "head",
            Trait::Http2 => "http2",
            Trait::Tls => "tls",
            Trait::Http3 => "http3",
        }
    }

    /// The default where a manifest does not state it; unknown for what servers commonly lack.
    fn default_value(self) -> Option<bool> {
        match self {
            Trait::KeepAlive | Trait::ByteWise | Trait::Head => Some(true),
            Trait::Pipelining | Trait::Http10KeepAlive => None,
            Trait::Http2 | Trait::Tls | Trait::Http3 => Some(false),
        }
    }

    /// Whether a server without a statement about it can be tested for it: TLS needs a port and a certificate, which
    /// such a server does not use.
    pub fn is_found_unasked(self) -> bool {
        !matches!(self, Trait::Tls | Trait::Http3)
    }
}

/// The traits that a manifest states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    said: BTreeMap<Trait, TraitStatement>,
    /// The line of `[traits]`.
    table_line: Option<usize>,
    /// Whether it speaks HTTP/2 on a separate port.
    pub(super) has_http2_port: bool,
}

/// A statement of one trait, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraitStatement {
    has: bool,
    line: Option<usize>,
}

impl Traits {
    /// No traits stated; `table_line` is the line of `[traits]`.
    pub(super) fn below(table_line: Option<usize>) -> Self {
        Self { said: BTreeMap::new(), table_line, has_http2_port: false }
    }

    /// Adds the statement of one trait.
    pub(super) fn set(&mut self, one: Trait, has: bool, line: Option<usize>) {
        self.said.insert(one, TraitStatement { has, line });
    }

    /// The manifest's statement of a trait, if it has one.
    pub fn stated(&self, one: Trait) -> Option<bool> {
        self.said.get(&one).map(|said| said.has)
    }

    /// Whether the server is assumed to have it: as stated in the manifest, else the default for nearly all servers,
    /// else unknown.
    pub fn has(&self, one: Trait) -> Option<bool> {
        self.stated(one).or(one.default_value())
    }

    /// The offsets of the TCP ports that a launch needs beside its first, which must be free when it starts.
    pub fn tcp_offsets(&self) -> Vec<u16> {
        let http2 = self.has_http2_port.then_some(HTTP2_OFFSET);
        let tls = (self.has(Trait::Tls) == Some(true)).then_some(TLS_OFFSET);
        http2.into_iter().chain(tls).collect()
    }

    /// The offsets of the UDP ports that a launch needs.
    pub fn udp_offsets(&self) -> Vec<u16> {
        (self.has(Trait::Http3) == Some(true)).then_some(TLS_OFFSET).into_iter().collect()
    }

    /// Whether it needs a certificate.
    pub fn needs_certificate(&self) -> bool {
        [Trait::Tls, Trait::Http3].iter().any(|one| self.has(*one) == Some(true))
    }

    /// Where a server at this address answers requests of a version of HTTP (`2`, `3`; none for 1.1), with or without
    /// TLS.
    pub fn address(&self, address: SocketAddr, http: Option<&str>, tls: bool) -> SocketAddr {
        let offset = match http {
            Some("3") => TLS_OFFSET,
            _ if tls => TLS_OFFSET,
            Some("2") if self.has_http2_port => HTTP2_OFFSET,
            _ => 0,
        };
        SocketAddr::new(address.ip(), address.port().saturating_add(offset))
    }

    /// The correction that makes the manifest state `has`: `write `pipelining = false` in line 31`.
    pub fn correction(&self, one: Trait, has: bool) -> String {
        let name = one.name();
        match (self.said.get(&one).and_then(|said| said.line), self.table_line) {
            (Some(line), _) => format!("write `{name} = {has}` in line {line} of server.toml"),
            (None, Some(line)) => format!("add `{name} = {has}` below [traits] (line {line} of server.toml)"),
            (None, None) => format!("add `{name} = {has}` below a new [traits] in server.toml"),
        }
    }

    /// The traits that it is assumed to have, by name: a plan selects by these.
    pub fn present(&self) -> Vec<&'static str> {
        Trait::ALL.into_iter().filter(|one| self.has(*one) == Some(true)).map(Trait::name).collect()
    }

    /// The traits that its manifest says it lacks, by name: its limits. HTTP/2, which most servers lack, is listed only
    /// where stated.
    pub fn lacking(&self) -> Vec<&'static str> {
        let stated = |one: &Trait| self.stated(*one) == Some(false);
        Trait::ALL.into_iter().filter(stated).map(Trait::name).collect()
    }

    /// The stated traits, by name.
    pub fn by_name(&self) -> BTreeMap<String, bool> {
        self.said.iter().map(|(one, said)| (one.name().to_owned(), said.has)).collect()
    }

    /// Why requests cannot be pipelined, in words; `None` where they can, or where it is unknown.
    pub fn no_sending_ahead(&self) -> Option<&'static str> {
        match (self.has(Trait::KeepAlive), self.has(Trait::Pipelining)) {
            (Some(false), _) => Some("closes the connection after each response"),
            (_, Some(false)) => Some("does not answer pipelined requests"),
            _ => None,
        }
    }
}
