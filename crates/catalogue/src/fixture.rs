//! A small tree of servers and workloads in a temporary folder, for the tests of this crate.
//!
//! Many tests take the valid manifest or workload and break one line of it. The manifests are only read, never run:
//! tests that build use the tree in `tests/it/provision.rs`.

#![allow(clippy::unwrap_used, clippy::new_without_default, reason = "a failed unwrap is a failed test")]

use crate::{Catalogue, Folders};
use std::path::{Path, PathBuf};

/// A valid manifest, to be changed by the tests. It serves `hello` and `tetra` in both forms.
pub const MANIFEST: &str = r#"name = "A server"
language = "Go"
framework = "net/http"
engine = "net/http"
kind = "platform"
tags = ["idiomatic"]
sources = ["001"]
workloads = ["hello", "tetra"]
packages = ["golang-go"]
needs = ["sh"]
version = "echo one"

[build]
command = "true"

[run]
command = "exec server"
env = { MODE = "production" }

[forms.single]
[forms.cores]
env = { WORKERS = "$PACELINE_CORES" }
"#;

/// The manifest of a balancer whose template is `plain.conf`.
pub const BALANCER: &str = "name = \"Plain\"\nversion = \"echo 1\"\nconfig = \"plain.conf\"\ncommand = \"true\"\n\
                            [policies]\nroundrobin = \"rr\"\nrandom = \"\"\n";

/// A workload of one case.
pub const HELLO: &str = r#"about = "Twelve bytes."

[[case]]
path = "/hello"
[case.expect]
status = 200
content_type = "text/plain"
body = "Hello World\n"

[[refuse]]
path = "/no-such-path"
status = "404"
"#;

/// A workload of two cases.
pub const TETRA: &str = r#"about = "Big integers."

[[case]]
name = "3"
path = "/tetra/3"
[case.expect]
status = 200
body = "27"

[[case]]
name = "2"
path = "/tetra/2"
[case.expect]
status = 200
length = 1
sha256 = "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a"

[[refuse]]
path = "/tetra/abc"
status = "4xx"
"#;

/// A tree that is removed at the end of the test.
pub struct TestTree {
    folder: tempfile::TempDir,
}

impl TestTree {
    /// A tree with the workloads `hello` and `tetra` and no server.
    pub fn new() -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        tree.write("workloads/hello.toml", HELLO);
        tree.write("workloads/tetra.toml", TETRA);
        std::fs::create_dir_all(tree.path("servers")).unwrap();
        tree
    }

    /// A tree with these servers too, each with the valid manifest.
    pub fn with(servers: &[&str]) -> Self {
        let tree = Self::new();
        servers.iter().for_each(|id| tree.write(&format!("servers/{id}/server.toml"), MANIFEST));
        tree
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The path of a file in it.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Its catalogue.
    pub fn catalogue(&self) -> Catalogue {
        let folders = Folders {
            servers_dir: self.path("servers"),
            workloads_dir: self.path("workloads"),
            plans_dir: self.path("plans"),
            balancers_dir: self.path("balancers"),
            databases_dir: self.path("databases"),
            state_dir: self.path(".paceline"),
            user: None,
            installed: None,
        };
        Catalogue::read(folders).unwrap()
    }
}
