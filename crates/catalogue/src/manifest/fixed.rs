//! What a server has fixed and the lab cannot choose: its port, the host name of its database, its paths.
//!
//! A server with a fixed port runs in a private network where that is possible. A path of its own replaces the
//! beginning of a workload's paths ([`crate::Workload::base`]); the lab asks for the same answers there.

use std::collections::BTreeMap;
use std::path::{Component, Path};

/// What the lab cannot choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedAddress {
    /// The only port that it listens on.
    pub port: Option<u16>,
    /// Host names that its files contain: they resolve to its database, or to this machine without one.
    pub hosts: Vec<String>,
    /// Whether it connects to its database when it starts, also for workloads that need none.
    pub database_at_start: bool,
    /// Where its own path differs from the workload's: the path by the workload's name.
    pub paths: BTreeMap<String, String>,
}

impl FixedAddress {
    /// Whether its database must listen on the port that its clients expect.
    pub fn fixes_database(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether its launches need a private network, so that its ports are free.
    pub fn needs_network(&self) -> bool {
        self.port.is_some() || self.fixes_database()
    }
}

/// Whether a path leads to something below the folder that it starts in.
pub(super) fn is_relative(path: &Path) -> bool {
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.as_os_str().is_empty() && path.components().all(is_name)
}

/// A workload's path with `own` instead of `base`. A path that ends within `base`, before its query, keeps the part of
/// `own` before its query; if `own` has none, there is no such path.
pub(super) fn own_path(path: &str, base: &str, own: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix(base) {
        return Some(format!("{own}{rest}"));
    }
    match base.split_once('?') {
        Some((before, _)) if before == path => own.split_once('?').map(|(before, _)| before.to_owned()),
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_path_is_replaced() {
        for (path, base, own, expected) in [
            ("/json", "/json", "/api/json", Some("/api/json")),
            ("/queries?queries=20", "/queries?queries=", "/queries/", Some("/queries/20")),
            ("/queries?queries=", "/queries?queries=", "/q?n=", Some("/q?n=")),
            ("/queries", "/queries?queries=", "/q?n=", Some("/q")),
            ("/queries", "/queries?queries=", "/queries/", None),
            ("/tetra/abc", "/json", "/j", Some("/tetra/abc")),
        ] {
            assert_eq!(own_path(path, base, own).as_deref(), expected, "{path} {own}");
        }
    }
}
