//! The flags for the folders of servers under test, the catalogue read from them, the command that starts a shepherd,
//! and the conversion of lab errors.
//!
//! Used by `lab` and `round`, and partly by `run` and `report`. Where results are kept is in `store_location`.

use crate::exit::{Complaint, Status, error_text};
use anyhow::Context as _;
use clap::builder::{NonEmptyStringValueParser, OsStringValueParser, TypedValueParser};
use paceline_catalogue::{Catalogue, FolderFlags, Folders, Manifest};
use paceline_host::{Id, Interrupt, User, UserError};
use paceline_lab::{LabError, METADATA_DIR, Provisioner, Scratch, ServerState};
use paceline_record::Blame;
use paceline_stats::counted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The folders of servers, workloads and plans, and the state folder.
#[derive(clap::Args)]
#[command(next_help_heading = "Places")]
pub struct FolderArguments {
    /// The folder that contains a folder for each server [default: `servers` in or above the current folder, otherwise the
    /// installation's]
    #[arg(hide_short_help = true, long, global = true, value_name = "DIR")]
    servers_dir: Option<PathBuf>,
    /// The folder that contains a file for each workload [default: `workloads` next to the servers' folder]
    #[arg(hide_short_help = true, long, global = true, value_name = "DIR")]
    workloads_dir: Option<PathBuf>,
    /// The folder that contains a file for each plan [default: `plans` next to the servers' folder]
    #[arg(hide_short_help = true, long, global = true, value_name = "DIR")]
    plans_dir: Option<PathBuf>,
    /// The folder that contains a folder for each load balancer [default: `balancers` next to the servers' folder]
    #[arg(hide_short_help = true, long, global = true, value_name = "DIR")]
    balancers_dir: Option<PathBuf>,
    /// The folder that contains a folder for each database [default: `databases` next to the servers' folder]
    #[arg(hide_short_help = true, long, global = true, value_name = "DIR")]
    databases_dir: Option<PathBuf>,
    /// Folder for builds, logs and results [default: `.paceline` next to the servers' folder]
    ///
    /// If Paceline is installed: `~/.local/state/paceline`, or `/var/lib/paceline` for root.
    #[arg(long, global = true, value_name = "DIR", env = "PACELINE_HOME", hide_env_values = true, value_parser = path_or_nothing())]
    state_dir: Option<PathBuf>,
    /// User that sets up, builds and runs the servers [default: the current user, but `paceline` for root]
    ///
    /// For root, the default is the user `paceline`, or `nobody` if `paceline` does not exist. Root itself is the default if
    /// root built all servers, or if that user has no access to the servers' folder or the state folder. The servers'
    /// HOME is a folder in the state folder.
    #[arg(hide_short_help = true, long, global = true, value_name = "NAME", env = "PACELINE_USER", hide_env_values = true, value_parser = NonEmptyStringValueParser::new())]
    user: Option<String>,
}

impl FolderArguments {
    /// Reads the catalogue from the folders given by the flags.
    pub fn catalogue(self) -> anyhow::Result<Catalogue> {
        let flags = FolderFlags {
            servers_dir: self.servers_dir,
            workloads_dir: self.workloads_dir,
            plans_dir: self.plans_dir,
            balancers_dir: self.balancers_dir,
            databases_dir: self.databases_dir,
            state_dir: self.state_dir.filter(|folder| !folder.as_os_str().is_empty()),
            user: self.user,
        };
        let mut catalogue = Folders::find(&flags).and_then(Catalogue::read).map_err(complain)?;
        catalogue.built_untried = built_untried(&catalogue);
        Ok(catalogue)
    }
}

/// The servers that are marked as untried, but that this user has trusted and built. One whose state cannot be read
/// counts as not built.
fn built_untried(catalogue: &Catalogue) -> BTreeSet<String> {
    // The state of a container is in files: no command is run.
    let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
    let is_built =
        |server: &Manifest| matches!(provisioner.state(server), Ok(ServerState::Stale | ServerState::Ready));
    let untried = catalogue.servers.iter().filter(|server| server.untried.is_some());
    untried.filter(|server| is_built(server)).map(|server| server.id.clone()).collect()
}

/// Parses any path, also an empty one: an empty environment variable counts as unset.
pub fn path_or_nothing() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The command that starts a shepherd: the path of this program, with the subcommand.
pub fn shepherd_command() -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe()?;
    Ok(vec![program.to_string_lossy().into_owned(), "shepherd".into()])
}

/// The user that runs server commands; none means the user who runs the lab. Servers that root built for itself, or that
/// the default user cannot reach, run as root.
pub fn server_user(folders: &Folders) -> anyhow::Result<Option<User>> {
    if reason_for_root(folders).is_some() {
        return Ok(None);
    }
    let homes = folders.state_dir.join("home");
    let user = User::for_servers(folders.user.as_deref(), &homes);
    user.map_err(|error| complain(LabError::User(error)))
}

/// Why servers run as root although no user was given: the default user cannot enter a folder that they need, as with an
/// installation in root's home, or root built them. None if the lab is not root's.
fn reason_for_root(folders: &Folders) -> Option<String> {
    if folders.user.is_some() {
        return None;
    }
    let user = User::for_servers(None, &folders.state_dir.join("home")).ok()??;
    let needed = [&folders.servers_dir, &folders.state_dir];
    if let Some(UserError::Closed { user, folder, .. }) =
        needed.into_iter().find_map(|folder| user.check_reach(folder).err())
    {
        return Some(format!("the user `{user}` cannot enter {}", folder.display()));
    }
    User::root_built(&folders.state_dir.join("build"), METADATA_DIR).then(|| "root built them".to_owned())
}

/// The notice about the user that servers run as, if root runs the lab and no user was given.
pub fn user_notice(folders: &Folders, user: Option<&User>) -> Option<String> {
    if let Some(reason) = reason_for_root(folders) {
        return Some(format!("servers run as root because {reason}; --user NAME runs them as another user"));
    }
    let user = user.filter(|_| folders.user.is_none())?;
    Some(format!(
        "servers run as the user `{}`, not as root; choose another with --user NAME, or --user root",
        user.name
    ))
}

/// Ends processes that earlier labs of this user left running; the notice about them, if there were any.
pub fn end_left_overs() -> Option<String> {
    let count = paceline_host::end_left_overs();
    let processes = counted(count, "process", "processes");
    (count > 0).then(|| format!("killed {processes} left over from an earlier lab that did not end normally"))
}

/// A scratch folder below the state folder, for a sitting or the checks of a command; removes those of killed ones.
pub fn scratch(state: &Path, id: &str) -> anyhow::Result<Scratch> {
    let root = state.join("scratch");
    let id = Id::parse(id)?;
    Scratch::begin(&root, &id).with_context(|| format!("cannot use the folder {}", root.display()))
}

/// A lab error as a complaint: its causes, its hint, and the exit status for its cause.
pub fn complain(error: impl Into<LabError>) -> anyhow::Error {
    let error = error.into();
    let status = match (&error, error.blame()) {
        (LabError::Interrupted, _) => Status::Interrupted,
        (_, Blame::User) => Status::Usage,
        _ => Status::Environment,
    };
    let hint = error.hint();
    let what = error_text(&error);
    anyhow::Error::new(Complaint { what, hint, status })
}
