//! `[container]` of a manifest: the image that a server comes in, unmodified.
//!
//! An engine (podman or docker) builds the image; the lab runs its files like any other server, without the engine. What
//! would give a container more rights than a server has is refused here.

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
    /// of the workloads.
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
                if !image.get_ref().contains("@sha256:") {
                    let problem =
                        "`image` needs a digest, so that it is the same image each time: NAME@sha256:...";
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
