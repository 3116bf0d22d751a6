//! `[container]` of a manifest: the image that a server comes in, unmodified.
//!
//! An engine (podman or docker) builds the image; the lab runs its files like any other server, without the engine.
//! What would give a container more rights than a server has is refused here.

use super::fixed::is_relative;
use crate::CatalogueError;
use crate::document::Document;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A server's image, and how its files are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Where the image comes from.
    pub image: ImageSource,
    /// The folder that is sent to the engine, absolute: its context.
    pub source: PathBuf,
    /// Build arguments.
    pub args: BTreeMap<String, String>,
    /// Replaces the command of the image.
    pub command: Vec<String>,
    /// Read-only files and folders by their absolute path in the container; relative to the server's folder, or to that
    /// of the workloads. `static` is the lab's folder of static files.
    pub mounts: BTreeMap<PathBuf, PathBuf>,
    /// What it may do that other containers may not.
    pub rights: Vec<ContainerRight>,
}

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageSource {
    /// It is built from this file of the source folder.
    Dockerfile(String),
    /// It is downloaded: a name with a digest.
    Image(String),
}

/// A right that a manifest must name, so that it is shown before the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerRight {
    /// It may use io_uring, which engines refuse by default.
    IoUring,
    /// Its processes have the user id 0, without capabilities.
    Root,
}

impl ContainerRight {
    /// The word in a manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            ContainerRight::IoUring => "io_uring",
            ContainerRight::Root => "root",
        }
    }
}

impl Container {
    /// Whether it has a right.
    pub fn has(&self, right: ContainerRight) -> bool {
        self.rights.contains(&right)
    }
}

/// Keys of other tools that give a container more rights than a server has.
const REFUSED: [(&str, &str); 9] = [
    ("privileged", "a container never gets the rights of root"),
    ("cap_add", "a container has no capabilities"),
    ("devices", "a container has no devices"),
    ("volumes", "a container gets read-only `mounts` of its own folder or that of the workloads"),
    ("network", "the lab gives a launch its network"),
    ("network_mode", "the lab gives a launch its network"),
    ("pid", "a container has its own processes"),
    ("security_opt", "name what it needs in `rights`: io_uring, root"),
    ("ports", "use `port` above the tables"),
];

/// The table as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireContainer {
    dockerfile: Option<Spanned<String>>,
    image: Option<Spanned<String>>,
    source: Option<Spanned<PathBuf>>,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    mounts: BTreeMap<PathBuf, Spanned<PathBuf>>,
    #[serde(default)]
    rights: Vec<ContainerRight>,
}

/// The first refused key of a `[container]` in `text`, and why: `None` if there is none, or if the text is not TOML.
pub(super) fn refused(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let container = table.get("container")?.as_table()?;
    let (key, why) = REFUSED.iter().find(|(key, _)| container.contains_key(*key))?;
    Some(format!("`{key}` is refused in [container]: {why}"))
}

impl WireContainer {
    /// The container of a server in `folder`.
    pub(super) fn check(self, folder: &Path, document: &Document) -> Result<Container, Vec<CatalogueError>> {
        let mut errors = Vec::new();
        let mut complain = |at: Option<usize>, problem: String| errors.push(document.complain(at, problem));
        let image = match (self.dockerfile, self.image) {
            (Some(file), None) => {
                if !is_relative(Path::new(file.get_ref())) {
                    let problem = "`dockerfile` must be a file in `source`, without `..`";
                    complain(Some(file.span().start), problem.to_owned());
                }
                ImageSource::Dockerfile(file.into_inner())
            }
            (None, Some(image)) => {
                if !is_pinned(image.get_ref()) {
                    let problem = "`image` needs its registry and its digest, so that it is the same image each time: \
                                   docker.io/library/nginx@sha256:... with 64 digits";
                    complain(Some(image.span().start), problem.to_owned());
                }
                ImageSource::Image(image.into_inner())
            }
            (dockerfile, _) => {
                let at = dockerfile.map(|file| file.span().start);
                complain(at, "[container] needs either `dockerfile` or `image`".to_owned());
                ImageSource::Dockerfile(String::new())
            }
        };
        for (inside, outside) in &self.mounts {
            if !inside.is_absolute() || !is_relative(outside.get_ref()) {
                let problem = format!(
                    "the mount `{}` needs an absolute path in the container and, for security, a path without `..` in the \
                     server's folder or that of the workloads",
                    inside.display()
                );
                complain(Some(outside.span().start), problem);
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Container {
            image,
            source: self.source.map_or_else(|| folder.to_owned(), |source| folder.join(source.into_inner())),
            args: self.args,
            command: self.command,
            mounts: self.mounts.into_iter().map(|(inside, from)| (inside, from.into_inner())).collect(),
            rights: self.rights,
        })
    }
}

/// Whether the name of an image has a registry and a digest (the grammar of distribution/reference). Without a registry
/// it could be the name of another place, such as podman's `dir:PATH`, or an option.
fn is_pinned(image: &str) -> bool {
    let Some((name, digest)) = image.split_once("@sha256:") else { return false };
    let is_digest =
        digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let Some((registry, path)) = name.split_once('/') else { return false };
    let (host, port) = registry.split_once(':').unwrap_or((registry, "0"));
    let (path, tag) = path.split_once(':').unwrap_or((path, "latest"));
    let is_part = |part: &str, more: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let is_host = is_part(host, ".-") && (host.contains('.') || host == "localhost");
    is_digest
        && is_host
        && !port.is_empty()
        && port.bytes().all(|b| b.is_ascii_digit())
        && path.split('/').all(|part| is_part(part, "._-"))
        && is_part(tag, "._-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_needs_a_registry_and_a_whole_digest() {
        let digest = "0123456789abcdef".repeat(4);
        for name in
            ["docker.io/library/nginx", "ghcr.io:443/a/b_c.d-e:1.27", "localhost/x", "localhost:5000/x"]
        {
            assert!(is_pinned(&format!("{name}@sha256:{digest}")), "{name}");
        }
        for name in [
            "nginx",
            "library/nginx",
            "dir:/x",
            "oci:x/y",
            "docker-archive:x.tar",
            "dir:123/x",
            "-v/x",
            "--help.x/y",
            "a.b/",
            "a.b/../c",
            "a.b//c",
            "a.b:x/c",
            "a.b/c:",
            "a.b/c:1:2",
            "a.b/c d",
            "/a.b/c",
            "",
            "a.b/-c",
            "a.b/c@sha256:0",
        ] {
            assert!(!is_pinned(&format!("{name}@sha256:{digest}")), "{name}");
        }
        for digest in
            [&digest[1..], &format!("{digest}0"), &digest.replace('a', "A"), &digest.replace('a', "g"), ""]
        {
            assert!(!is_pinned(&format!("docker.io/library/nginx@sha256:{digest}")), "{digest}");
        }
    }
}
