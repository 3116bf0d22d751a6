//! Tests of the catalogue: what is found where, and that no broken file hides a valid one.
//!
//! The rules for finding a tree, `folders.rs`, are tested here too. The trees are made in temporary folders;
//! `tests/it/repository.rs` reads those of this repository.

use crate::fixture::{MANIFEST, TestTree};
use crate::{CatalogueError, FolderFlags, Folders};
use std::path::Path;

fn ids(tree: &TestTree) -> Vec<String> {
    tree.catalogue().servers.iter().map(|server| server.id.clone()).collect()
}

#[test]
fn a_new_folder_adds_a_server() {
    let tree = TestTree::with(&["go-one"]);
    assert_eq!(ids(&tree), ["go-one"]);
    tree.write("servers/x-dummy/server.toml", MANIFEST);
    assert_eq!(ids(&tree), ["go-one", "x-dummy"]);
}

#[test]
fn a_broken_manifest_does_not_hide_other_servers() {
    let tree = TestTree::with(&["go-one", "go-two"]);
    tree.write("servers/go-bad/server.toml", "name = 3");
    let catalogue = tree.catalogue();
    assert_eq!(catalogue.servers.len(), 2);
    let broken = catalogue.broken_server("go-bad").unwrap();
    assert!(broken.error.to_string().contains("go-bad/server.toml:1: "), "{}", broken.error);
    assert!(catalogue.server("go-bad").unwrap_err().to_string().contains("server.toml:1: "));
}

#[test]
fn an_unknown_workload_in_a_manifest_is_reported_with_its_line() {
    let tree = TestTree::new();
    tree.write("servers/go-bad/server.toml", &MANIFEST.replace("\"hello\"", "\"helo\""));
    let reported = tree.catalogue().broken_servers[0].error.to_string();
    assert!(
        reported.ends_with("server.toml:8: serves the unknown workload `helo`; did you mean `hello`?"),
        "{reported}"
    );
}

#[test]
fn a_folder_without_a_manifest_is_ignored_with_a_note() {
    let tree = TestTree::with(&["go-one"]);
    tree.write("servers/notes/README.md", "");
    tree.write("servers/README.md", "");
    let catalogue = tree.catalogue();
    assert_eq!((catalogue.servers.len(), catalogue.broken_servers.len(), catalogue.notes.len()), (1, 0, 1));
    assert!(catalogue.notes[0].ends_with("servers/notes: it has no server.toml"), "{}", catalogue.notes[0]);
}

#[test]
fn an_unknown_name_is_reported_with_the_nearest_valid_one() {
    let catalogue = TestTree::with(&["go-nethttp", "node-http"]).catalogue();
    let reported = catalogue.server("go-netthp").unwrap_err().to_string();
    assert_eq!(reported, "there is no server `go-netthp`; did you mean `go-nethttp`?");
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        catalogue.servers_named(&names).map(|servers| servers.len())
    };
    assert_eq!(named(&["*http", "go-nethttp"]).unwrap(), 2);
    assert!(matches!(named(&["php-*"]), Err(CatalogueError::Unknown { .. })));
}

#[test]
fn a_plan_is_found_by_name_and_by_file() {
    let tree = TestTree::with(&["go-one"]);
    let text = "name = 'small'\nrepeats = 1\nworkloads = ['hello']\n[[load]]\nname = 'c'\nconnections = 1\nrequests = 9\n";
    tree.write("plans/small.toml", text);
    let catalogue = tree.catalogue();
    let by_name = catalogue.plan("small").unwrap();
    assert_eq!(by_name, catalogue.plan(&tree.path("plans/small.toml").to_string_lossy()).unwrap());
    let reported = catalogue.plan("smal").unwrap_err().to_string();
    assert_eq!(reported, "there is no plan `smal`; did you mean `small`?");
}

#[test]
fn a_tree_is_found_around_the_current_folder() {
    let tree = TestTree::with(&["go-one"]);
    let deep = tree.path("servers/go-one");
    let folders =
        Folders::find_from(&FolderFlags::default(), &deep, Path::new("/nowhere/bin/paceline")).unwrap();
    assert_eq!(folders.workloads_dir, tree.path("workloads"));
    assert_eq!(folders.state_dir, tree.path(".paceline"));
}

#[test]
fn a_link_of_another_user_in_the_state_folder_is_refused() {
    use std::os::unix::fs::{lchown, symlink};
    for name in ["logs", "build"] {
        let tree = TestTree::with(&["go-one"]);
        let folders = tree.catalogue().folders;
        let link = folders.state_dir.join(name);
        std::fs::create_dir_all(&folders.state_dir).unwrap();
        symlink(tree.path("servers"), &link).unwrap();
        crate::Catalogue::read(folders.clone()).expect("a link of this user");
        // Only root can give a link to another user.
        if lchown(&link, Some(54_321), None).is_ok() {
            let refused = crate::Catalogue::read(folders).unwrap_err();
            assert!(refused.to_string().ends_with(name), "{refused}");
        }
    }
}

#[test]
fn an_installed_binary_uses_its_tree_and_a_separate_state_folder() {
    let tree = TestTree::new();
    tree.write("usr/share/paceline/servers/go-one/server.toml", MANIFEST);
    tree.write("usr/share/paceline/workloads/hello.toml", "");
    let (here, binary) = (tempfile::tempdir().unwrap(), tree.path("usr/bin/paceline"));
    let folders = Folders::find_from(&FolderFlags::default(), here.path(), &binary).unwrap();
    assert_eq!(folders.servers_dir, tree.path("usr/share/paceline/servers"));
    assert!(!folders.state_dir.starts_with(tree.path("usr")), "{}", folders.state_dir.display());
}

#[test]
fn a_separate_tree_takes_what_it_lacks_from_the_installation() {
    let (tree, own) = (TestTree::new(), TestTree::new());
    let hello = std::fs::read_to_string(tree.path("workloads/hello.toml")).unwrap();
    let manifest = |workload: &str| MANIFEST.replace("[\"hello\", \"tetra\"]", &format!("[\"{workload}\"]"));
    tree.write("usr/share/paceline/servers/go-one/server.toml", &manifest("hello"));
    tree.write("usr/share/paceline/workloads/hello.toml", &hello);
    tree.write("usr/share/paceline/workloads/other.toml", &hello.replace("/hello", "/other"));
    tree.write("usr/share/paceline/plans/small.toml", "not a plan");
    std::fs::remove_dir_all(own.path("workloads")).unwrap();
    std::fs::create_dir_all(own.path("servers")).unwrap();
    let binary = tree.path("usr/bin/paceline");
    let find = || Folders::find_from(&FolderFlags::default(), &own.path("servers"), &binary).unwrap();
    let installed = tree.path("usr/share/paceline");
    assert_eq!(
        (find().servers_dir, find().workloads_dir),
        (own.path("servers"), installed.join("workloads"))
    );
    // A workload of the tree replaces that of the installation; the others are added.
    own.write("workloads/other.toml", &hello.replace("/hello", "/mine"));
    assert_eq!(find().workloads_dir, own.path("workloads"));
    let mut catalogue = crate::Catalogue::read(find()).unwrap();
    let paths: Vec<&str> = catalogue
        .workloads
        .iter()
        .flat_map(|workload| &workload.cases)
        .map(|case| case.path.as_str())
        .collect();
    assert_eq!(paths, ["/hello", "/mine"]);
    assert_eq!(catalogue.plan_names().unwrap(), ["small"]);
    assert!(catalogue.servers.is_empty());
    // A server from any folder, beside those of the installation, with a workload of its own.
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("go-mine");
    std::fs::create_dir_all(folder.join("workloads")).unwrap();
    std::fs::write(folder.join("server.toml"), manifest("page-of-mine")).unwrap();
    std::fs::write(folder.join("workloads/page-of-mine.toml"), hello).unwrap();
    assert_eq!(catalogue.add_server(&folder).unwrap().id, "go-mine");
    let ids: Vec<&str> = catalogue.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["go-mine", "go-one"]);
}

#[test]
fn a_flag_overrides_one_folder_and_others_are_beside_it() {
    let (project, own) = (TestTree::with(&["go-one"]), TestTree::with(&["go-mine"]));
    let flags = FolderFlags { servers_dir: Some(own.path("servers")), ..FolderFlags::default() };
    let here = project.path("");
    let find = || Folders::find_from(&flags, &here, Path::new("/nowhere/bin/paceline")).unwrap();
    assert_eq!(find().workloads_dir, own.path("workloads"));
    // A tree without a workloads folder uses the project's.
    std::fs::remove_dir_all(own.path("workloads")).unwrap();
    assert_eq!(find().workloads_dir, project.path("workloads"));
    assert_eq!(find().state_dir, own.path(".paceline"));
}

#[test]
fn a_missing_tree_lists_the_searched_folders() {
    let empty = tempfile::tempdir().unwrap();
    let found = Folders::find_from(&FolderFlags::default(), empty.path(), Path::new("/nowhere/bin/paceline"));
    let reported = found.unwrap_err().to_string();
    assert!(
        reported.contains(&empty.path().display().to_string())
            && reported.contains("/nowhere/share/paceline"),
        "{reported}"
    );
}
