//! The file system as a command sees it: host names that it can resolve, or the files of an image as its root.
//!
//! All of it is done between fork and exec, in a mount namespace, so that the kernel removes it with the last process
//! of the command. What a command writes into an image's files is kept in memory, and lost with it.

use super::protocol::{FileView, ImageRoot};
use crate::system;
use rustix::fs::{CWD, FileType, Mode, fstat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_change, mount_remount, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root, umask};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// The hosts file (hosts(5)).
const HOSTS: &str = "/etc/hosts";
/// The name of this machine: proc_sys_kernel(5).
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
/// Where a file system in memory is mounted for a moment: every machine has this folder.
const STAGING: &str = "/tmp";
/// The devices of an image: those that programs expect, and that give no access to the machine.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links of `/dev` that programs expect.
const LINKS: [(&str, &str); 4] =
    [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];
/// Parts of `/proc` by which a process with the user id 0 could change the machine.
const READ_ONLY: [&str; 5] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
/// No program gains rights, and no file is a device.
const HARMLESS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Gives the calling process this view.
///
/// # Errors
/// The system's error, after the step that failed.
pub fn enter(view: &FileView) -> io::Result<()> {
    // The command's user must be able to read what is made here, also where root's files are private by default.
    let mask = umask(Mode::WGRP | Mode::WOTH);
    let entered = enter_unmasked(view);
    umask(mask);
    entered
}

fn enter_unmasked(view: &FileView) -> io::Result<()> {
    // With an image, System V's shared memory ends with the launch too.
    let kinds = libc::CLONE_NEWNS | if view.root.is_some() { libc::CLONE_NEWIPC } else { 0 };
    step("make a mount namespace", system::unshare(kinds))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("separate the mounts from those of the machine", mount_change("/", private))?;
    match &view.root {
        None => step("replace the hosts file", replace_hosts(&view.hosts_text(&fs::read_to_string(HOSTS)?))),
        Some(root) => enter_image(root, &view.hosts_text(&image_hosts())),
    }
}

/// The hosts file of an image. The machine's name resolves as it does with an engine: runtimes, such as that of Java,
/// look it up.
fn image_hosts() -> String {
    let name = fs::read_to_string(HOST_NAME).unwrap_or_default();
    let own = name.split_whitespace().next().map(|name| format!("127.0.0.1\t{name}\n")).unwrap_or_default();
    format!("127.0.0.1\tlocalhost\n::1\tlocalhost\n{own}")
}

/// Mounts a file in memory over the hosts file. It has no name in any folder and ends with the namespace.
fn replace_hosts(text: &str) -> io::Result<()> {
    mount("tmpfs", STAGING, "tmpfs", HARMLESS, c"mode=0755,size=64k")?;
    let staged = format!("{STAGING}/hosts");
    let replaced = fs::write(&staged, text).and_then(|()| Ok(mount_bind(staged, HOSTS)?));
    unmount(STAGING, UnmountFlags::DETACH)?;
    replaced
}

/// Makes the files of an image the root.
///
/// Links of an image are hostile: this process still has the rights of root. So the machine's files are left before
/// anything in the image is written or mounted: what the image gets of the machine is cloned beforehand and attached
/// afterwards. `/proc` comes last, since by its links (`/proc/1/root`) a path could lead out again.
fn enter_image(root: &ImageRoot, hosts: &str) -> io::Result<()> {
    let mut trees = Vec::new();
    for device in DEVICES.map(|name| Path::new("/dev").join(name)) {
        let tree = step(&format!("open {}", device.display()), cloned(&device))?;
        trees.push((device, tree));
    }
    for (inside, from) in &root.mounts {
        let tree = step(&format!("open {}", from.display()), cloned(from))?;
        step(&format!("protect {}", from.display()), system::protect_mount(tree.as_fd()))?;
        trees.push((inside.clone(), tree));
    }
    let hosts = step("show the files of the image", stage(&root.folder, hosts))?;
    trees.push((PathBuf::from(HOSTS), hosts));
    step("change the root folder", pivot_root(".", "."))?;
    // The root of the machine is now mounted over the new one, at the working folder: pivot_root(2).
    step("leave the machine's files", unmount(".", UnmountFlags::DETACH))?;
    step("enter the root folder", chdir("/"))?;
    step("prepare /dev", prepare_dev())?;
    for (inside, tree) in &trees {
        step(&format!("mount {}", inside.display()), attach(tree, inside))?;
    }
    step("protect the devices", protect_devices())?;
    if !Path::new("/tmp").exists() {
        step("make /tmp", fs::DirBuilder::new().create("/tmp"))?;
        step("make /tmp", fs::set_permissions("/tmp", fs::Permissions::from_mode(0o1777)))?;
    }
    step("make its working folder", fs::create_dir_all(&root.workdir))?;
    step("enter its working folder", chdir(&root.workdir))?;
    step("prepare /proc", prepare_proc())?;
    if !root.io_uring {
        step("refuse io_uring", system::deny_io_uring())?;
    }
    step("give up all rights", system::drop_bounding_set())
}

/// Mounts the files in `folder` with a layer in memory above them, and enters that. Returns a hosts file in memory.
fn stage(folder: &Path, hosts: &str) -> io::Result<OwnedFd> {
    // By the working folder: its own path may be below the staging folder.
    chdir(folder)?;
    let mode = fs::metadata(".")?.permissions().mode() & 0o7777;
    mount("tmpfs", STAGING, "tmpfs", HARMLESS, c"mode=0755,size=25%")?;
    for name in ["upper", "work", "root"] {
        fs::DirBuilder::new().mode(mode).create(format!("{STAGING}/{name}"))?;
    }
    fs::set_permissions(format!("{STAGING}/upper"), fs::Permissions::from_mode(mode))?;
    let layers = c"lowerdir=.,upperdir=/tmp/upper,workdir=/tmp/work";
    mount("overlay", format!("{STAGING}/root"), "overlay", HARMLESS, layers)?;
    let staged = format!("{STAGING}/hosts");
    fs::write(&staged, hosts)?;
    fs::set_permissions(&staged, fs::Permissions::from_mode(0o644))?;
    let hosts = cloned(Path::new(&staged))?;
    chdir(format!("{STAGING}/root"))?;
    Ok(hosts)
}

fn prepare_proc() -> io::Result<()> {
    make_plain_folder("/proc")?;
    mount("proc", "/proc", "proc", HARMLESS | MountFlags::NOEXEC, None)?;
    for path in READ_ONLY.iter().filter(|path| Path::new(path).exists()) {
        mount_bind(*path, *path)?;
        mount_remount(*path, MountFlags::BIND | MountFlags::RDONLY | HARMLESS | MountFlags::NOEXEC, "")?;
    }
    Ok(())
}

fn prepare_dev() -> io::Result<()> {
    make_plain_folder("/dev")?;
    // Devices that are mounted into it work; none can be made in it.
    mount("tmpfs", "/dev", "tmpfs", HARMLESS | MountFlags::NOEXEC, c"mode=0755,size=64k")?;
    for (name, target) in LINKS {
        symlink(target, Path::new("/dev").join(name))?;
    }
    fs::create_dir("/dev/shm")?;
    Ok(mount("tmpfs", "/dev/shm", "tmpfs", HARMLESS | MountFlags::NOEXEC, c"mode=1777,size=25%")?)
}

/// Makes the mounts of devices read-only: they can still be written to, but not get other permissions, which would be
/// those of the machine's devices. The user id 0 owns them. Standard input was opened by the machine's own mount.
fn protect_devices() -> io::Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    for name in DEVICES {
        mount_remount(Path::new("/dev").join(name).as_path(), flags, "")?;
    }
    let null = fs::File::open("/dev/null")?;
    system::set_standard_input(null.as_fd())
}

/// Makes a folder unless there is one. A link in its place is refused: it may lead elsewhere once a file system is
/// mounted.
fn make_plain_folder(path: &str) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = fs::symlink_metadata(path)?.is_dir();
            is_folder.then_some(()).ok_or_else(|| io::Error::other("it is a link or a file in the image"))
        }
        made => made,
    }
}

/// A file or folder of the machine as a mount that is not attached anywhere yet.
fn cloned(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, path, flags)?)
}

/// Attaches a mount at `inside`, which is made if there is none. Nothing of the machine is below the root.
fn attach(tree: &OwnedFd, inside: &Path) -> io::Result<()> {
    if let Some(parent) = inside.parent() {
        fs::create_dir_all(parent)?;
    }
    match FileType::from_raw_mode(fstat(tree)?.st_mode).is_dir() {
        true => fs::create_dir_all(inside)?,
        false if inside.exists() => {}
        false => fs::write(inside, "")?,
    }
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_SYMLINKS;
    Ok(move_mount(tree, "", CWD, inside, flags)?)
}

fn step<T, E: Into<io::Error>>(what: &str, done: Result<T, E>) -> io::Result<T> {
    done.map_err(|error| {
        let error: io::Error = error.into();
        io::Error::new(error.kind(), format!("cannot {what}: {error}"))
    })
}
