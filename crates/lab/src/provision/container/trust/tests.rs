//! Tests of the consent: other content has another digest, and what is built is shown.

use super::*;
use paceline_catalogue::ContainerRight;
use paceline_catalogue::fixture::TestTree;
use paceline_host::Interrupt;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Context {
    tree: TestTree,
    container: Container,
}

impl Context {
    fn new() -> Self {
        let tree = TestTree::new();
        tree.write("context/Dockerfile", "FROM scratch\n");
        let container = Container {
            image: ImageSource::Dockerfile("Dockerfile".to_owned()),
            source: tree.path("context"),
            args: BTreeMap::new(),
            command: Vec::new(),
            mounts: BTreeMap::new(),
            rights: Vec::new(),
        };
        Self { tree, container }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.container.source.join(name)
    }

    fn digest(&self) -> Result<String, LabError> {
        let folders = &self.tree.catalogue().folders;
        Provisioner::new(folders, Vec::new(), Interrupt::never()).container_digest(&self.container)
    }
}

#[test]
fn an_argument_is_no_right() {
    let mut context = Context::new();
    let plain = context.digest().unwrap();
    context.container.args = BTreeMap::from([("io_uring".to_owned(), "root".to_owned())]);
    let argument = context.digest().unwrap();
    context.container.args.clear();
    context.container.rights = vec![ContainerRight::IoUring, ContainerRight::Root];
    let right = context.digest().unwrap();
    assert!(plain != argument && argument != right && plain != right);
}

#[test]
fn consent_is_for_one_content_whatever_the_name_of_its_folder() {
    let mut context = Context::new();
    context.tree.write("context/a\nb/Dockerfile", "FROM scratch\n");
    context.container.source = context.path("a\nb");
    let folders = &context.tree.catalogue().folders;
    let provisioner = Provisioner::new(folders, Vec::new(), Interrupt::never());
    let provisioner = provisioner.trusting(vec![context.container.source.clone()]);
    let digest = context.digest().unwrap();
    provisioner.check_accepted("go-server", &context.container, &digest).unwrap();
    assert!(provisioner.is_accepted(&digest) && !provisioner.is_accepted("b"));
}

#[test]
fn kind_and_permissions_of_a_file_count() {
    let context = Context::new();
    context.tree.write("context/sub/target", "x");
    let path = context.path("file");
    symlink("sub/target", &path).unwrap();
    let link = context.digest().unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "sub/target").unwrap();
    let file = context.digest().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let program = context.digest().unwrap();
    assert!(link != file && file != program);
    assert_eq!(context.digest().unwrap(), program);
}

#[test]
fn a_socket_left_by_a_server_is_no_error() {
    let context = Context::new();
    let before = context.digest().unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(context.path("app.sock")).unwrap();
    assert_ne!(context.digest().unwrap(), before);
}

#[test]
fn a_link_out_of_the_folder_is_refused() {
    let out = tempfile::NamedTempFile::new().unwrap();
    let absolute = out.path().display().to_string();
    for target in [absolute.as_str(), "../servers", "/", "no-such-file", "sub/../../servers"] {
        let context = Context::new();
        context.tree.write("context/sub/x", "");
        fs::remove_file(context.path("Dockerfile")).unwrap();
        symlink(target, context.path("Dockerfile")).unwrap();
        let refused = context.digest();
        assert!(matches!(refused, Err(LabError::Container { .. })), "{target}: {refused:?}");
    }
    let context = Context::new();
    symlink("Dockerfile", context.path("other")).unwrap();
    symlink(".", context.path("here")).unwrap();
    context.digest().unwrap();
}

#[test]
fn what_is_built_is_shown_whatever_its_bytes() {
    let mut context = Context::new();
    fs::write(context.path("Dockerfile"), b"FROM evil/image\n# \xff\nRUN curl x\n").unwrap();
    context.container.args = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
    let shown = about(&context.container).unwrap();
    assert_eq!(shown, "images: evil/image; programs that download: curl; build arguments: A=b");
    fs::remove_file(context.path("Dockerfile")).unwrap();
    assert!(about(&context.container).is_err());
}
