//! Servers that come as a container: the engine builds the image, and the lab runs its files.
//!
//! An engine that starts a container breaks the lab's guarantees: its processes belong to nobody's tree and outlive
//! their client. So the image is only another root folder for an ordinary launch. [`Provisioner::image_launch`] says
//! how it is run.

mod engine;
mod image;
mod trust;

use super::{
    CommandStep, CommandWords, LAUNCH, LAUNCHED, METADATA_DIR, Provisioner, ServerState, command, stamp,
};
use crate::LabError;
pub use engine::ContainerEngine;
use engine::Engine;
use image::{BuiltImage, ImageFiles};
use paceline_catalogue::{Container, ContainerRight, ImageSource, Manifest, hex};
use paceline_escape::shell_word;
use paceline_host::shepherd::ImageRoot;
use paceline_host::{FileLock, Id, Interrupt, LockAttempt};
use paceline_stats::bytes_text;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long building an image may take: TechEmpower's limit is an hour; the slowest build tried here took 20 minutes.
const IMAGE_LIMIT: Duration = Duration::from_secs(60 * 60);
/// How long other commands of the engine may take; a copy of a large image takes half a minute.
const ENGINE_LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long removing a container may take, which Ctrl-C does not end: usually less than a second.
const REMOVE_LIMIT: Duration = Duration::from_secs(60);
/// The stamp of a built image, and the file that describes it.
pub(super) const IMAGE: &str = "image";
const IMAGE_FILE: &str = "image.json";
/// The folder of an image's files, which only root can enter: it may contain programs that gain root's rights.
const FILES_DIR: &str = "image";

/// How the files of an image are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLaunch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The environment that the image defines; the launch adds the variables of its form.
    pub env: BTreeMap<String, String>,
    /// The root folder.
    pub root: ImageRoot,
    /// Whether its processes have the user id 0.
    pub is_root: bool,
}

impl Provisioner {
    /// The state of a server that comes as a container.
    pub(super) fn container_state(
        &self,
        server: &Manifest,
        container: &Container,
    ) -> Result<ServerState, LabError> {
        let built = self.stamp(server, IMAGE);
        if Engine::find(self.engine).is_err() {
            return Ok(ServerState::Lacking(vec![
                ContainerEngine::ALL.map(ContainerEngine::name).join(" or "),
            ]));
        }
        if !is_root() {
            return Ok(ServerState::Lacking(vec!["root's rights".to_owned()]));
        }
        let wanted = self.container_digest(container)?;
        Ok(match built {
            _ if !self.is_accepted(&wanted) => ServerState::Untrusted,
            None => ServerState::NotBuilt,
            Some(built) if built != wanted => ServerState::Stale,
            Some(_) => ServerState::Ready,
        })
    }

    /// Builds the image of `server` unless it was built from the same content, and prepares its files. The caller holds
    /// the lock.
    pub(super) fn build_container(
        &self,
        server: &Manifest,
        container: &Container,
        again: bool,
    ) -> Result<Option<Duration>, LabError> {
        if !is_root() {
            let problem = "building and running a container need root's rights".to_owned();
            return Err(of_server(server, problem, Some("run the command as root".to_owned())));
        }
        let digest = self.container_digest(container)?;
        self.check_accepted(&server.id, container, &digest)?;
        let keep = self.keep_dir(server);
        let former = self.built_image(server).ok();
        let is_current = self.stamp(server, IMAGE).as_deref() == Some(&digest);
        if !again
            && is_current
            && let Some(image) = &former
            && self.has_files(server, image)?
        {
            return Ok(None);
        }
        let begun = Instant::now();
        let _unused = self.lock_unused(server)?;
        let engine = Engine::find(self.engine)?.with_settings(&keep)?;
        self.announce(server, &engine)?;
        stamp::remove(&keep, IMAGE)?;
        stamp::remove(&keep, LAUNCHED)?;
        let tag = self.make_image(server, container, &engine, &digest)?;
        self.engine_step(server, &engine, "inspect", &["image", "inspect", "--", &tag], ENGINE_LIMIT)?;
        let printed = command::printed_whole(&keep.join("inspect.out"))?;
        let files = self.image_files(server, &engine, &tag)?;
        let image = BuiltImage::from_inspect(engine.kind, &printed, files);
        let mut image = image.map_err(|problem| of_server(server, problem, None))?;
        image.tag = matches!(container.image, ImageSource::Dockerfile(_)).then_some(tag);
        let path = keep.join(IMAGE_FILE);
        let text = serde_json::to_string_pretty(&image).unwrap_or_default();
        fs::write(&path, text).map_err(|source| LabError::File { action: "write", path, source })?;
        stamp::write(&keep, IMAGE, &digest)?;
        former.map_or(Ok(()), |former| self.remove_former(server, &former, &image))?;
        Ok(Some(begun.elapsed()))
    }

    /// Removes what an engine still has of an image that was replaced.
    fn remove_former(
        &self,
        server: &Manifest,
        former: &BuiltImage,
        newer: &BuiltImage,
    ) -> Result<(), LabError> {
        // What another engine has stays if that engine is no longer installed.
        let Ok(engine) = Engine::find(Some(former.engine)) else { return Ok(()) };
        let engine = engine.with_settings(&self.keep_dir(server))?;
        if let ImageFiles::Container(name) = &former.files
            && former.engine != newer.engine
        {
            self.remove_with(server, &engine, &["rm", "--force", name])?;
        }
        former
            .removed_as(newer)
            .map_or(Ok(()), |image| self.remove_with(server, &engine, &["rmi", "--", image]))
    }

    /// What identifies an image, in place of the output of a version command.
    pub(super) fn container_version(&self, server: &Manifest) -> Result<String, LabError> {
        let image = self.built_image(server)?;
        Ok(format!("image sha256:{} ({})", image.id, image.engine.name()))
    }

    /// How a server that comes as a container is run in a form; `None` for other servers, and without this form. What
    /// is run is kept until this process ends.
    ///
    /// # Errors
    /// [`LabError::Container`] if its image is not built or its mounts do not exist; [`LabError::Command`] if the
    /// engine does not show its files.
    pub fn image_launch(&self, server: &Manifest, form: &str) -> Result<Option<ImageLaunch>, LabError> {
        let Some(container) = &server.container else {
            self.keep_build(server);
            return Ok(None);
        };
        if server.form(form).is_none() {
            return Ok(None);
        }
        // Two launches of a server may come here at once, and a build may replace the image.
        let _lock = self.lock(server)?;
        // No build holds this lock, since it would also hold the first.
        self.keep(server, IMAGE)?;
        let image = self.built_image(server)?;
        let argv = image.argv(container).map_err(|problem| of_server(server, problem, None))?;
        let mounts =
            container.mounts.iter().map(|(inside, from)| Ok((inside.clone(), self.mounted(server, from)?)));
        let root = ImageRoot {
            folder: self.files_of(server, &image)?,
            workdir: image.workdir.clone(),
            mounts: mounts.collect::<Result<_, LabError>>()?,
            io_uring: container.has(ContainerRight::IoUring),
        };
        let (env, is_root) = (image.environment(), container.has(ContainerRight::Root));
        Ok(Some(ImageLaunch { argv, env, root, is_root }))
    }

    /// Tells the user what is being built, and how much room there is for images.
    fn announce(&self, server: &Manifest, engine: &Engine) -> Result<(), LabError> {
        let folder = match self.engine_step(server, engine, "info", &engine.folder_query(), ENGINE_LIMIT) {
            Err(LabError::Interrupted) => return Err(LabError::Interrupted),
            // The build will say what is wrong with the engine.
            Err(_) => String::new(),
            Ok(()) => command::printed(&self.keep_dir(server).join("info.out"))?,
        };
        // An engine on another machine has its folder there.
        let free = rustix::fs::statvfs(folder.trim()).map(|about| about.f_bavail * about.f_frsize).ok();
        let free = free.map(|bytes| format!("; {} of disk space left for images", bytes_text(bytes as f64)));
        (self.notice)(&format!(
            "{}: {} builds its image, for at most {} minutes{}",
            server.id,
            engine.name(),
            IMAGE_LIMIT.as_secs() / 60,
            free.unwrap_or_default()
        ));
        Ok(())
    }

    /// Builds or downloads the image, and returns its name.
    fn make_image(
        &self,
        server: &Manifest,
        container: &Container,
        engine: &Engine,
        digest: &str,
    ) -> Result<String, LabError> {
        let file = match &container.image {
            ImageSource::Image(name) => {
                self.engine_step(server, engine, "pull", &["pull", "--", name], IMAGE_LIMIT)?;
                return Ok(name.clone());
            }
            ImageSource::Dockerfile(name) => container.source.join(name),
        };
        if !file.is_file() {
            let problem = format!("there is no {}", file.display());
            return Err(of_server(server, problem, None));
        }
        let tag = format!("localhost/paceline-{}:{}", server.id, &digest[..16]);
        let args: Vec<String> =
            container.args.iter().map(|(name, value)| format!("--build-arg={name}={value}")).collect();
        let (file, source) = (file.to_string_lossy(), container.source.to_string_lossy());
        let mut words = vec!["build"];
        words.extend(engine.build_options());
        words.extend(args.iter().map(String::as_str));
        words.extend(["--tag", &tag, "--file", &file, "--", &source]);
        self.engine_step(server, engine, "build", &words, IMAGE_LIMIT)?;
        Ok(tag)
    }

    /// Prepares the files of an image: in a container that never runs, or as a copy.
    fn image_files(&self, server: &Manifest, engine: &Engine, tag: &str) -> Result<ImageFiles, LabError> {
        let owner = Sha256::digest(self.build_dir(server).as_os_str().as_encoded_bytes());
        let name = format!("paceline-{}-{}", server.id, hex(&owner[..4]));
        // The one of an earlier build, if there is one.
        self.remove_with(server, engine, &["rm", "--force", &name])?;
        let create = ["create", "--name", &name, "--label", "paceline=image", "--", tag, "none"];
        let created = self.engine_step(server, engine, "create", &create, ENGINE_LIMIT);
        let files = created.and_then(|()| match engine.mounts() {
            true => Ok(ImageFiles::Container(name.clone())),
            false => self.copied_files(server, engine, &name).map(ImageFiles::Folder),
        });
        if let Ok(ImageFiles::Container(_)) = &files {
            return files;
        }
        // However the copy ended, the container is not needed any more.
        let words = [engine.name(), "rm", "--force", &name];
        let removed = self.step_until(server, engine, "remove", &words, REMOVE_LIMIT, Interrupt::never());
        let files = files?;
        removed.map(|()| files)
    }

    /// Copies the files of a container into a folder.
    fn copied_files(&self, server: &Manifest, engine: &Engine, name: &str) -> Result<PathBuf, LabError> {
        let closed = self.keep_dir(server).join(FILES_DIR);
        let folder = closed.join("files");
        let made = match fs::remove_dir_all(&closed) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => fs::DirBuilder::new().mode(0o700).create(&closed).and_then(|()| fs::create_dir(&folder)),
        };
        made.map_err(|source| LabError::File { action: "make", path: folder.clone(), source })?;
        let copy = format!(
            "set -o pipefail; {} export {name} | tar --extract --directory '{METADATA_DIR}/{FILES_DIR}/files'",
            engine.name()
        );
        self.program_step(server, engine, "copy", &["bash", "-c", &copy], ENGINE_LIMIT)?;
        Ok(folder)
    }

    /// Removes what may not exist, or may be in use elsewhere.
    fn remove_with(&self, server: &Manifest, engine: &Engine, words: &[&str]) -> Result<(), LabError> {
        match self.engine_step(server, engine, "remove", words, ENGINE_LIMIT) {
            Err(LabError::Interrupted) => Err(LabError::Interrupted),
            _ => Ok(()),
        }
    }

    /// Whether the files of an image still exist: the engine's may have been removed with its own commands.
    fn has_files(&self, server: &Manifest, image: &BuiltImage) -> Result<bool, LabError> {
        let name = match &image.files {
            ImageFiles::Folder(folder) => return Ok(folder.is_dir()),
            ImageFiles::Container(name) => name,
        };
        let engine = Engine::find(Some(image.engine))?.with_settings(&self.keep_dir(server))?;
        match self.engine_step(server, &engine, "exists", &["container", "exists", name], ENGINE_LIMIT) {
            Ok(()) => Ok(true),
            Err(LabError::Command(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Locks the files of an image against launches, unless a server of another process may run on them.
    fn lock_unused(&self, server: &Manifest) -> Result<FileLock, LabError> {
        // A process builds before it launches.
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner).remove(server.build_id());
        match self.try_lock(server, IMAGE, FileLock::try_take)? {
            LockAttempt::Taken(lock) => Ok(lock),
            LockAttempt::HeldBy(holder) => {
                let problem = format!("its image is in use by {holder}");
                Err(of_server(server, problem, Some("build it when that process has ended".to_owned())))
            }
        }
    }

    /// Keeps the build of a server or database that is no container until this process ends: `lab clean` would remove
    /// it.
    pub(crate) fn keep_build(&self, server: &Manifest) {
        // A process that cannot lock it can start it.
        let _ = self.keep(server, LAUNCH);
    }

    /// Keeps an image or another build for this process until it ends.
    fn keep(&self, server: &Manifest, what: &str) -> Result<(), LabError> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if !in_use.contains_key(server.build_id())
            && let LockAttempt::Taken(lock) = self.try_lock(server, what, FileLock::try_share)?
        {
            in_use.insert(server.build_id().to_owned(), lock);
        }
        Ok(())
    }

    fn try_lock(
        &self,
        server: &Manifest,
        what: &str,
        lock: impl FnOnce(&Path, &Id, &str) -> io::Result<LockAttempt>,
    ) -> Result<LockAttempt, LabError> {
        let keep = self.keep_dir(server);
        let name = Id::parse(what).map_err(io::Error::other);
        let attempt = name.and_then(|name| lock(&keep, &name, what));
        attempt.map_err(|source| LabError::File { action: "lock", path: keep, source })
    }

    /// The folder with the files of an image. The caller holds the lock, since the engine's output goes to a file.
    fn files_of(&self, server: &Manifest, image: &BuiltImage) -> Result<PathBuf, LabError> {
        let name = match &image.files {
            ImageFiles::Folder(folder) => return Ok(folder.clone()),
            ImageFiles::Container(name) => name,
        };
        let again = || Some(self.rebuild_remedy(server));
        let engine = Engine::find(Some(image.engine))?.with_settings(&self.keep_dir(server))?;
        // It stays mounted until the container is removed or the machine restarts.
        match self.engine_step(server, &engine, "mount", &["mount", name], ENGINE_LIMIT) {
            Err(LabError::Command(failure)) => {
                let why = failure.tail.lines().last().unwrap_or(&failure.how).to_owned();
                let problem = format!("{} does not show the files of its image: {why}", engine.name());
                return Err(of_server(server, problem, again()));
            }
            mounted => mounted?,
        }
        let printed = command::printed(&self.keep_dir(server).join("mount.out"))?;
        let folder = PathBuf::from(printed.trim());
        match folder.is_absolute() && folder.is_dir() {
            true => Ok(folder),
            false => {
                let problem = format!("{} mounted no folder, but printed {printed:?}", engine.name());
                Err(of_server(server, problem, again()))
            }
        }
    }

    /// The file or folder of a mount, which must be in the server's folder, in that of the workloads or among the files
    /// that the lab makes, also if a link leads to it.
    fn mounted(&self, server: &Manifest, from: &Path) -> Result<PathBuf, LabError> {
        for folder in [&server.folder, &self.workloads_dir, &self.files_dir()] {
            let Ok(folder) = folder.canonicalize() else { continue };
            if let Ok(path) = folder.join(from).canonicalize()
                && path.starts_with(&folder)
            {
                return Ok(path);
            }
        }
        let problem =
            format!("its mount `{}` is in neither its folder nor that of the workloads", from.display());
        Err(of_server(server, problem, None))
    }

    fn built_image(&self, server: &Manifest) -> Result<BuiltImage, LabError> {
        let path = self.keep_dir(server).join(IMAGE_FILE);
        let text = paceline_files::read_text(&path, paceline_files::MAX_OUTPUT_BYTES);
        let image = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        image.ok_or_else(|| {
            of_server(server, "its image is not built".to_owned(), Some(self.rebuild_remedy(server)))
        })
    }

    /// How an image is built again. `lab build` does not know a server outside the folder of servers, but every command
    /// that starts a server builds it first.
    fn rebuild_remedy(&self, server: &Manifest) -> String {
        let build = self.build_dir(server);
        format!(
            "remove its build (rm -r {}) and repeat the command, which builds it again",
            shell_word(&build.to_string_lossy())
        )
    }

    /// Runs a command of the engine. What it prints goes into a file named after the step.
    fn engine_step(
        &self,
        server: &Manifest,
        engine: &Engine,
        name: &'static str,
        words: &[&str],
        limit: Duration,
    ) -> Result<(), LabError> {
        let words: Vec<&str> = [engine.name()].into_iter().chain(words.iter().copied()).collect();
        self.program_step(server, engine, name, &words, limit)
    }

    fn program_step(
        &self,
        server: &Manifest,
        engine: &Engine,
        name: &'static str,
        words: &[&str],
        limit: Duration,
    ) -> Result<(), LabError> {
        self.step_until(server, engine, name, words, limit, self.interrupt)
    }

    /// As [`Provisioner::program_step`], ended early by this interrupt.
    fn step_until(
        &self,
        server: &Manifest,
        engine: &Engine,
        name: &'static str,
        words: &[&str],
        limit: Duration,
        interrupt: Interrupt,
    ) -> Result<(), LabError> {
        let step = self.step(server, name, "", limit)?;
        let printed = (name != "build").then(|| self.keep_dir(server).join(format!("{name}.out")));
        let folder = self.build_dir(server);
        let step = CommandStep {
            // The engine needs root; what it builds does not get this process's files.
            user: None,
            command: CommandWords::Program(words),
            folder: &folder,
            environment: engine.environment().collect(),
            printed,
            ..step
        };
        self.run_until(&step, server, interrupt).map(drop)
    }
}

/// Removes the image that was built in `folder`, and the container of the engine that shows its files. A build without
/// them, or an engine that is no longer there, is no error.
pub(super) fn forget(folder: &Path) {
    let path = folder.join(METADATA_DIR).join(IMAGE_FILE);
    let text = paceline_files::read_text(&path, paceline_files::MAX_OUTPUT_BYTES).unwrap_or_default();
    let Ok(BuiltImage { engine, files, tag, .. }) = serde_json::from_str(&text) else { return };
    let container = match &files {
        ImageFiles::Container(name) => Some(["rm", "--force", name]),
        ImageFiles::Folder(_) => None,
    };
    let image = tag.as_ref().map(|tag| ["rmi", "--", tag]);
    for words in container.into_iter().chain(image) {
        let mut remove = std::process::Command::new(engine.name());
        remove.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // What remains is the engine's.
        let _ = remove.status();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn of_server(server: &Manifest, problem: String, remedy: Option<String>) -> LabError {
    LabError::Container { problem: format!("{}: {problem}", server.id), remedy }
}
