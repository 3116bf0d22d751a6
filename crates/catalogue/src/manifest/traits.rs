//! Traits: how a framework handles connections, as stated in its manifest, with the line of each statement.
//!
//! A limit is not a fault: it is stated, checked and shown, and the loads that need the trait are skipped.
//! `trait_check` tests traits on a running server.

use crate::variables;
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
    /// Speaks HTTP/2 with prior knowledge (RFC 9113 §3.3): at [`Traits::http2_address`].
    Http2,
}

impl Trait {
    /// All traits, in the order of display and testing.
    pub const ALL: [Trait; 6] = [
        Trait::KeepAlive,
        Trait::ByteWise,
        Trait::Pipelining,
        Trait::Http10KeepAlive,
        Trait::Head,
        Trait::Http2,
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
        }
    }

    /// The default where a manifest does not state it; unknown for what servers commonly lack.
    fn default_value(self) -> Option<bool> {
        match self {
            Trait::KeepAlive | Trait::ByteWise | Trait::Head => Some(true),
            Trait::Pipelining | Trait::Http10KeepAlive => None,
            Trait::Http2 => Some(false),
        }
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

    /// Whether it speaks HTTP/2 on a separate port, which must also be free when it starts.
    pub fn has_http2_port(&self) -> bool {
        self.has_http2_port
    }

    /// Where a server at this address speaks HTTP/2, if it does.
    pub fn http2_address(&self, address: SocketAddr) -> SocketAddr {
        match self.has_http2_port {
            true => SocketAddr::new(address.ip(), variables::http2_port(address.port())),
            false => address,
        }
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
