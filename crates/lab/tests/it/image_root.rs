//! Tests the root folder of an image whose links are hostile: nothing of the machine is changed through them.
//!
//! Only root can change a root folder, and some machines do not allow it: the tests say then that they are skipped.

use crate::shepherd_door;
use paceline_host::User;
use paceline_host::shepherd::{CommandOutput, FileView, ImageRoot, Shepherd, ShepherdOrder, TrackingMethod};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Long enough for a very busy machine; the command ends at once.
const LIMIT: Duration = Duration::from_secs(60);

/// An image with this machine's programs, and a folder beside it that belongs to the machine.
struct Image {
    folder: TempDir,
    /// The command that starts a shepherd.
    shepherd: Vec<String>,
}

impl Image {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("image/etc")).unwrap();
        fs::create_dir(folder.path().join("machine")).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mounted").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
        Self { folder, shepherd: shepherd_door::command() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.path("image").join(name)).unwrap();
    }

    /// A path of the image that leads to `machine` if its links are followed out of the image.
    fn ways_out(&self, name: &str) -> [String; 2] {
        let machine = self.path("machine").join(name).display().to_string();
        [format!("../../../../../..{machine}"), format!("/proc/1/root{machine}")]
    }

    /// Runs `script` in the image, with `file` at `mounted`. Returns what it printed, or why it did not start; `None` if
    /// this machine does not let images run.
    fn run(&self, script: &str, mounted: &str, workdir: &str) -> Option<Result<String, String>> {
        self.run_in(self.view(mounted, workdir), script)
    }

    /// The image with this machine's programs, and with `file` at `mounted`.
    fn view(&self, mounted: &str, workdir: &str) -> Option<FileView> {
        let programs = ["/bin", "/lib", "/lib64", "/usr"].map(PathBuf::from);
        let mut mounts: BTreeMap<PathBuf, PathBuf> =
            programs.into_iter().filter(|path| path.exists()).map(|path| (path.clone(), path)).collect();
        mounts.insert(mounted.into(), self.path("file"));
        let (folder, workdir) = (self.path("image"), workdir.into());
        view(ImageRoot { folder, workdir, mounts, io_uring: false })
    }

    /// The same as `run` in any view.
    fn run_in(&self, view: Option<FileView>, script: &str) -> Option<Result<String, String>> {
        self.carry_out(&ShepherdOrder { view, ..self.order(script) })
    }

    /// The same for any order.
    fn carry_out(&self, order: &ShepherdOrder) -> Option<Result<String, String>> {
        let mut shepherd = match Shepherd::start(&self.shepherd, order) {
            Err(error) if error.to_string().contains("Operation not permitted") => {
                eprintln!("skipped: no image can run here: {error}");
                return None;
            }
            Err(error) => return Some(Err(error.to_string())),
            Ok(shepherd) => shepherd,
        };
        shepherd.wait_ended(LIMIT).unwrap();
        shepherd.stop().unwrap();
        Some(Ok(
            fs::read_to_string(self.path("out")).unwrap() + &fs::read_to_string(self.path("err")).unwrap()
        ))
    }

    fn order(&self, script: &str) -> ShepherdOrder {
        ShepherdOrder {
            command: ["/bin/sh", "-c", script].map(str::to_owned).into(),
            folder: "/".into(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            inherits: Default::default(),
            pass_env: Vec::new(),
            cores: Vec::new(),
            output: CommandOutput::Files { stdout: self.path("out"), stderr: self.path("err") },
            groups: Vec::new(),
            guard: TrackingMethod::Namespace,
            stop_limit_ms: 2_000,
            user: User::for_servers(None, Path::new("/")).unwrap(),
            view: None,
            inherit: None,
            restore: Vec::new(),
            restore_note: None,
        }
    }

    /// The names of what was made in the folder of the machine.
    fn made(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("machine")).unwrap().map(Result::unwrap);
        entries.map(|entry| entry.file_name().display().to_string()).collect()
    }
}

fn view(root: ImageRoot) -> Option<FileView> {
    Some(FileView {
        hosts: BTreeMap::from([("of-test".to_owned(), [127, 0, 0, 1].into())]),
        root: Some(root),
    })
}

#[test]
fn links_of_an_image_do_not_lead_to_files_of_the_machine() {
    for way in 0..2 {
        let image = Image::new();
        image.link("etc/hosts", &image.ways_out("hosts")[way]);
        image.link("data", &image.ways_out("")[way]);
        image.link("tmp", &image.ways_out("tmp")[way]);
        // Whether it starts depends on the links; a link without a target cannot become a folder.
        let Some(_) = image.run("true", "/data/sub/mounted", "/data/work") else { return };
        assert_eq!(image.made(), [""; 0], "way {way}");
        // Each alone, so that one which is refused does not hide another.
        for (link, target, mounted, workdir) in [
            ("etc/hosts", "hosts", "/mounted", "/"),
            ("data", "", "/data/sub/mounted", "/"),
            ("data", "", "/mounted", "/data/work"),
            ("file", "file", "/file", "/"),
            ("tmp", "tmp", "/mounted", "/"),
        ] {
            let image = Image::new();
            image.link(link, &image.ways_out(target)[way]);
            image.run("true", mounted, workdir);
            assert_eq!(image.made(), [""; 0], "way {way}: {link}");
        }
    }
}

#[test]
fn links_within_an_image_are_followed() {
    let image = Image::new();
    image.link("etc/hosts", "../run/hosts");
    image.link("data", "srv");
    for folder in ["run", "srv"] {
        fs::create_dir(image.path("image").join(folder)).unwrap();
    }
    let script = "cat /run/hosts /srv/sub/mounted; pwd; echo x >/srv/sub/mounted; ls /proc/1/root";
    let Some(printed) = image.run(script, "/data/sub/mounted", "/data/work") else { return };
    let printed = printed.unwrap();
    for expected in
        ["127.0.0.1\tof-test\n", "mounted/srv/work\n", "Read-only file system", "Permission denied"]
    {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    assert_eq!(fs::read_to_string(image.path("file")).unwrap(), "mounted");
    assert_eq!(
        fs::read_dir(image.path("image/srv")).unwrap().count(),
        0,
        "the files of the image are not changed"
    );
}

#[test]
fn what_a_view_makes_can_be_read_where_files_are_private_by_default() {
    let mut image = Image::new();
    let under_mask = ["sh", "-c", "umask 077; exec \"$0\""].map(str::to_owned);
    image.shepherd = [under_mask.to_vec(), image.shepherd].concat();
    let in_image = image.run("cat /etc/hosts /data/sub/mounted; umask", "/data/sub/mounted", "/data/work");
    let hosts = FileView { root: None, ..view(ImageRoot::default()).unwrap() };
    for printed in [in_image, image.run_in(Some(hosts), "cat /etc/hosts; echo mounted; umask")] {
        let Some(printed) = printed else { return };
        let printed = printed.unwrap();
        assert!(printed.contains("127.0.0.1\tof-test\n") && printed.contains("mounted"), "{printed}");
        assert!(printed.ends_with("0077\n"), "the command keeps its own mask: {printed}");
    }
}

#[test]
fn the_name_of_the_machine_resolves_in_an_image() {
    let image = Image::new();
    let Some(printed) = image.run("cat /etc/hosts", "/mounted", "/") else { return };
    let (printed, name) = (printed.unwrap(), fs::read_to_string("/proc/sys/kernel/hostname").unwrap());
    assert!(printed.contains(&format!("127.0.0.1\t{name}")), "{name}: {printed}");
}

#[test]
fn the_user_id_0_of_an_image_cannot_change_the_machine() {
    let image = Image::new();
    // The permissions that it has: where this works, the machine is as before.
    let script = "mode=$(stat -c %a /dev/null)\n\
                  for file in /dev/null /proc/self/fd/0; do chmod \"$mode\" $file && echo changed; done\n\
                  ls /proc/1/root/ >/dev/null && echo left\n\
                  echo x >/dev/null && echo written";
    // This user owns the devices, and the process that ends those of the image.
    let order = ShepherdOrder { user: None, view: image.view("/mounted", "/"), ..image.order(script) };
    let Some(printed) = image.carry_out(&order) else { return };
    let printed = printed.unwrap();
    assert_eq!(printed.matches("Read-only file system").count(), 2, "{printed}");
    assert!(printed.starts_with("written\n") && printed.contains("Permission denied"), "{printed}");
}

#[test]
fn a_link_in_place_of_proc_is_refused() {
    let image = Image::new();
    image.link("proc", "/etc/../etc");
    let Some(started) = image.run("true", "/mounted", "/") else { return };
    assert!(started.as_ref().is_err_and(|error| error.contains("prepare /proc")), "{started:?}");
}

#[test]
fn an_image_needs_a_namespace_of_processes() {
    let image = Image::new();
    let root = ImageRoot { folder: image.path("image"), workdir: "/".into(), ..ImageRoot::default() };
    let guard = TrackingMethod::Subreaper;
    let order = ShepherdOrder { guard, view: view(root), ..image.order("true") };
    let started = Shepherd::start(&shepherd_door::command(), &order);
    let error = started.err().expect("it must not start").to_string();
    assert!(error.contains("without a PID namespace"), "{error}");
}
