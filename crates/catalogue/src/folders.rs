//! Finds the folders of servers, workloads and plans, and the state folder of the lab.
//!
//! A flag has precedence; then the project around the current folder; then the folders beside the installed binary.

use crate::CatalogueError;
use std::path::{Path, PathBuf};

/// The flags for the folders; each may be omitted.
#[derive(Clone, Debug, Default)]
pub struct FolderFlags {
    /// `--servers-dir`.
    pub servers_dir: Option<PathBuf>,
    /// `--workloads-dir`.
    pub workloads_dir: Option<PathBuf>,
    /// `--plans-dir`.
    pub plans_dir: Option<PathBuf>,
    /// `--balancers-dir`.
    pub balancers_dir: Option<PathBuf>,
    /// `--databases-dir`.
    pub databases_dir: Option<PathBuf>,
    /// `--state-dir`, or `PACELINE_HOME`.
    pub state_dir: Option<PathBuf>,
    /// `--user`, or `PACELINE_USER`.
    pub user: Option<String>,
}

/// The folders that the lab makes in the state folder.
const STATE_FOLDERS: [&str; 7] = ["logs", "build", "scratch", "bodies", "home", "packages", "files"];

/// The folders, absolute. `plans_dir`, `balancers_dir`, `databases_dir` and `state_dir` need not exist.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Folders {
    /// One folder per server.
    pub servers_dir: PathBuf,
    /// One file per workload.
    pub workloads_dir: PathBuf,
    /// One file per plan.
    pub plans_dir: PathBuf,
    /// One folder per load balancer.
    pub balancers_dir: PathBuf,
    /// One folder per database.
    pub databases_dir: PathBuf,
    /// The lab's builds and other state.
    pub state_dir: PathBuf,
    /// The user for the commands of servers; `None` for the user of the lab.
    pub user: Option<String>,
    /// The data folder of the installation: workloads, plans, balancers and databases that the folders above lack are
    /// read from it.
    #[serde(default)]
    pub installed: Option<PathBuf>,
}

impl Folders {
    /// Finds the folders for this process: from its current folder and its own binary.
    ///
    /// # Errors
    /// [`CatalogueError::NoTree`] when there is no `servers` folder anywhere, [`CatalogueError::File`] when a named one
    /// is missing.
    pub fn find(flags: &FolderFlags) -> Result<Self, CatalogueError> {
        let here = std::env::current_dir().map_err(|source| CatalogueError::File {
            action: "find",
            path: ".".into(),
            source,
        })?;
        let binary = std::env::current_exe().unwrap_or_default();
        Self::find_from(flags, &here, &binary)
    }

    /// As [`Folders::find`], from the folder `here` and the binary at `binary`.
    ///
    /// # Errors
    /// As [`Folders::find`].
    pub fn find_from(flags: &FolderFlags, here: &Path, binary: &Path) -> Result<Self, CatalogueError> {
        let installation = FolderTree::beside(binary);
        let installed = installation.as_ref().map(|tree| tree.root.clone());
        let tree = FolderTree::around(here).or(installation);
        // A separate tree needs only the folder of servers: the others are those of the project or the installation.
        let in_tree = |root: &Path, name: &str| {
            let beside = installed.iter().map(|root| root.join(name)).find(|dir| dir.is_dir());
            beside.filter(|_| !root.join(name).is_dir()).unwrap_or_else(|| root.join(name))
        };
        let place = |flag: &Option<PathBuf>, name: &str| match (flag, &tree) {
            (Some(flag), _) => existing(&here.join(flag)),
            (None, Some(tree)) => Ok(in_tree(&tree.root, name)),
            (None, None) => Err(CatalogueError::NoTree { from: here.into(), installed: shared(binary) }),
        };
        let servers_dir = place(&flags.servers_dir, "servers")?;
        let own = |name: &str| servers_dir.parent().map(|root| root.join(name)).filter(|dir| dir.is_dir());
        let workloads_dir = match (&flags.workloads_dir, own("workloads")) {
            (None, Some(own)) => own,
            (flag, _) => place(flag, "workloads")?,
        };
        let optional = |flag: &Option<PathBuf>, name: &str| match (flag, own(name)) {
            (None, Some(own)) => Ok(own),
            (Some(flag), _) => existing(&here.join(flag)),
            (None, None) => {
                Ok(tree.as_ref().map_or_else(|| here.join(name), |tree| in_tree(&tree.root, name)))
            }
        };
        let plans_dir = optional(&flags.plans_dir, "plans")?;
        let balancers_dir = optional(&flags.balancers_dir, "balancers")?;
        let databases_dir = optional(&flags.databases_dir, "databases")?;
        let state_dir = match (&flags.state_dir, &tree) {
            (Some(flag), _) => absolute(&here.join(flag))?,
            (None, Some(tree)) if tree.installed => home_state(here),
            _ => servers_dir.parent().unwrap_or(here).join(".paceline"),
        };
        let user = flags.user.clone();
        Self {
            servers_dir,
            workloads_dir,
            plans_dir,
            balancers_dir,
            databases_dir,
            state_dir,
            user,
            installed,
        }
        .check_utf8()
    }

    /// Checks the folders in the state folder that are written, emptied or run from: none is a symbolic link that
    /// another user placed there.
    ///
    /// # Errors
    /// [`CatalogueError::File`] with the link.
    pub fn check_links(&self) -> Result<(), CatalogueError> {
        STATE_FOLDERS.iter().map(|name| self.state_dir.join(name)).try_for_each(|path| {
            paceline_files::check_link(&path).map_err(|source| CatalogueError::File {
                action: "use",
                path,
                source,
            })
        })
    }

    /// A folder of this tree, and the one of the installation if that is another.
    pub(crate) fn with_installed(&self, own: &Path, name: &str) -> Vec<PathBuf> {
        let installed =
            self.installed.iter().map(|root| root.join(name)).filter(|dir| dir.is_dir() && dir != own);
        std::iter::once(own.to_owned()).chain(installed).collect()
    }

    /// Servers' commands receive these paths, and a manifest's `env` holds text only.
    fn check_utf8(self) -> Result<Self, CatalogueError> {
        let all = [
            &self.servers_dir,
            &self.workloads_dir,
            &self.plans_dir,
            &self.balancers_dir,
            &self.databases_dir,
            &self.state_dir,
        ];
        for path in all {
            if path.to_str().is_none() {
                let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path is not UTF-8");
                return Err(CatalogueError::File { action: "use", path: path.clone(), source });
            }
        }
        Ok(self)
    }
}

/// A folder that contains a `servers` folder.
struct FolderTree {
    root: PathBuf,
    installed: bool,
}

impl FolderTree {
    fn around(here: &Path) -> Option<Self> {
        let root = here.ancestors().find(|folder| folder.join("servers").is_dir())?;
        Some(Self { root: root.into(), installed: false })
    }

    /// The data folder of an installed binary, or of one in an unpacked archive.
    fn beside(binary: &Path) -> Option<Self> {
        let root = Some(shared(binary)).filter(|root| root.join("servers").is_dir());
        root.map(|root| Self { root, installed: true })
    }
}

/// `<binary>/../../share/paceline`: where an installation puts data beside `bin/`.
fn shared(binary: &Path) -> PathBuf {
    binary.ancestors().nth(2).unwrap_or(Path::new("/")).join("share/paceline")
}

/// The folder of an installation is not written to: XDG Base Directory Specification, `$XDG_STATE_HOME`. For root it is
/// `/var/lib` (Filesystem Hierarchy Standard), because the user that root runs servers as cannot enter root's home.
fn home_state(here: &Path) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let is_root = rustix::process::geteuid().is_root();
    set("XDG_STATE_HOME")
        .or_else(|| is_root.then(|| "/var/lib".into()))
        .or_else(|| set("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("paceline"))
        .unwrap_or_else(|| here.join(".paceline"))
}

fn existing(path: &Path) -> Result<PathBuf, CatalogueError> {
    std::fs::canonicalize(path).map_err(|source| CatalogueError::File {
        action: "find",
        path: path.into(),
        source,
    })
}

fn absolute(path: &Path) -> Result<PathBuf, CatalogueError> {
    std::path::absolute(path).map_err(|source| CatalogueError::File {
        action: "find",
        path: path.into(),
        source,
    })
}
