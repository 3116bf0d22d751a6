//! Traits: what a framework does with a connection, as its manifest says it, and where in the file it says so.
//!
//! A limit is no fault: it is stated, checked, shown, and what cannot work because of it is left out. Trying a trait
//! out on a server is the business of `ability`.

use crate::variables;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// One thing a server may do or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trait {
    /// Answers several requests on one connection.
    KeepAlive,
    /// Answers requests sent ahead of the last answer.
    Pipelining,
    /// Honours keep-alive asked for in HTTP/1.0.
    Http10KeepAlive,
    /// Answers a request that comes byte by byte.
    ByteWise,
    /// Answers HEAD where it answers GET.
    Head,
    /// Speaks HTTP/2 with prior knowledge (RFC 9113 §3.3): at [`Traits::http2_address`].
    Http2,
}

impl Trait {
    /// Each, in the order they are shown and tried out.
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

    /// What holds where a manifest does not say. Nothing is taken for granted of what servers commonly lack.
    fn unsaid(self) -> Option<bool> {
        match self {
            Trait::KeepAlive | Trait::ByteWise | Trait::Head => Some(true),
            Trait::Pipelining | Trait::Http10KeepAlive => None,
            Trait::Http2 => Some(false),
        }
    }
}

/// What a manifest says of the traits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    said: BTreeMap<Trait, Said>,
    /// The line of `[traits]`.
    table_line: Option<usize>,
    /// Whether it speaks HTTP/2 on a port of its own.
    pub(super) has_http2_port: bool,
}

/// What is said of one trait, and on which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    has: bool,
    line: Option<usize>,
}

impl Traits {
    /// With nothing said yet, below the `[traits]` of that line.
    pub(super) fn below(table_line: Option<usize>) -> Self {
        Self { said: BTreeMap::new(), table_line, has_http2_port: false }
    }

    /// Says one trait on a line.
    pub(super) fn say(&mut self, one: Trait, has: bool, line: Option<usize>) {
        self.said.insert(one, Said { has, line });
    }

    /// What the manifest says of a trait, if it does.
    pub fn stated(&self, one: Trait) -> Option<bool> {
        self.said.get(&one).map(|said| said.has)
    }

    /// Whether the server is taken to have it: as the manifest says, else as nearly all servers do, else unknown.
    pub fn has(&self, one: Trait) -> Option<bool> {
        self.stated(one).or(one.unsaid())
    }

    /// Whether it speaks HTTP/2 on a port of its own, which is to be free too when it starts.
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

    /// What to write where, so that the manifest says `has`: `write `pipelining = false` in line 31`.
    pub fn correction(&self, one: Trait, has: bool) -> String {
        let name = one.name();
        match (self.said.get(&one).and_then(|said| said.line), self.table_line) {
            (Some(line), _) => format!("write `{name} = {has}` in line {line} of server.toml"),
            (None, Some(line)) => format!("add `{name} = {has}` below [traits], line {line} of server.toml"),
            (None, None) => format!("add `{name} = {has}` below a new [traits] in server.toml"),
        }
    }

    /// The traits it is taken to have, by name: what a plan selects by.
    pub fn present(&self) -> Vec<&'static str> {
        Trait::ALL.into_iter().filter(|one| self.has(*one) == Some(true)).map(Trait::name).collect()
    }

    /// The traits it is said to lack, by name: its limits. That most servers lack HTTP/2 is not said of each.
    pub fn lacking(&self) -> Vec<&'static str> {
        let stated = |one: &Trait| self.stated(*one) == Some(false);
        Trait::ALL.into_iter().filter(stated).map(Trait::name).collect()
    }

    /// What is said, by name.
    pub fn by_name(&self) -> BTreeMap<String, bool> {
        self.said.iter().map(|(one, said)| (one.name().to_owned(), said.has)).collect()
    }

    /// Why requests cannot be sent ahead, in words; none where they can, or where nobody has said.
    pub fn no_sending_ahead(&self) -> Option<&'static str> {
        match (self.has(Trait::KeepAlive), self.has(Trait::Pipelining)) {
            (Some(false), _) => Some("closes after each answer"),
            (_, Some(false)) => Some("does not answer requests sent ahead"),
            _ => None,
        }
    }
}
