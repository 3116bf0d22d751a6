//! `paceline lab new LANGUAGE-NAME`: a folder with a commented manifest and a README, to be filled in.
//!
//! The catalogue checks the generated manifest before anything is written.

use crate::exit::{Complaint, Status, print};
use crate::lab_folders::complain;
use anyhow::Context as _;
use paceline_catalogue::{Catalogue, ExpectedBody, FolderFlags, Folders, MANIFEST_FILE, Manifest, toml_text};
use paceline_escape::shell_word;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Flags of `paceline lab new`.
#[derive(clap::Args)]
#[command(after_help = "Example:
  paceline lab new go-mine --command 'PORT=$PACELINE_PORT exec /opt/mine/server'

It prints the next steps, up to a comparison with nginx.")]
pub struct Arguments {
    /// The id of the new server, LANGUAGE-NAME in lowercase: go-mine; with a `/`, its folder anywhere: ./go-mine
    #[arg(value_name = "LANGUAGE-NAME")]
    place: PathBuf,

    /// Add a workload, named after the server, that measures an existing application at this URL path
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<String>,

    /// Command that starts the server; it must listen on $PACELINE_HOST and $PACELINE_PORT
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
}

/// The folder of a server's own workloads, in its folder.
const WORKLOADS: &str = "workloads";

/// Parses the path of a URL.
fn path(text: &str) -> Result<String, String> {
    let url =
        paceline_http::Url::parse(&format!("http://localhost{text}")).map_err(|error| error.to_string())?;
    if text.starts_with('/') { Ok(url.path) } else { Err("a path begins with /".to_owned()) }
}

impl Arguments {
    /// The server's id.
    fn id(&self) -> &str {
        self.place.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the folder is given, instead of an id in the servers' folder.
    fn is_folder(&self) -> bool {
        self.place.as_os_str() != self.id()
    }

    /// The file of the workload of `--path`: in a folder of its own, the server contains it.
    fn workload_file(&self, folder: &Path, catalogue: &Catalogue) -> PathBuf {
        let workloads =
            if self.is_folder() { folder.join(WORKLOADS) } else { catalogue.folders.workloads_dir.clone() };
        workloads.join(format!("{}.toml", self.id()))
    }
}

/// Writes the folder; existing files are never overwritten.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let id = arguments.id();
    let folder = match arguments.is_folder() {
        true => arguments.place.clone(),
        false => catalogue.folders.servers_dir.join(id),
    };
    let workload = arguments.path.as_ref().map_or("hello", |_| id);
    let command = arguments.command.as_deref().unwrap_or("exec false");
    let manifest = manifest(id, &language(id, catalogue), workload, command);
    // Checks the id and the workload before anything is created.
    Manifest::parse(&folder, &manifest).map_err(complain)?;
    if arguments.path.is_none() && !catalogue.workloads.iter().any(|known| known.name == workload) {
        let what =
            format!("there is no workload `{workload}` in {}", catalogue.folders.workloads_dir.display());
        let hint = "to measure a page of an existing application, use --path; to compare the new server with those that come \
                    with Paceline, write it into the same folder: run this command where no folder `servers` is in or \
                    above the current folder";
        return Err(Complaint::usage(what).hint(hint).into());
    }
    let mut files = vec![(folder.join(MANIFEST_FILE), manifest), (folder.join("README.md"), readme(id))];
    if let Some(path) = &arguments.path {
        let file = arguments.workload_file(&folder, catalogue);
        if file.exists() {
            return Err(Complaint::usage(format!("{} exists", file.display())).into());
        }
        files.push((file, workload_of(path)));
    }
    fs::create_dir(&folder).map_err(|error| not_created(arguments, &folder, &error))?;
    write_all(&folder, &files)?;
    let written: String = files.iter().map(|(path, _)| format!("{}\n", path.display())).collect();
    let documented = documentation()
        .map_or(String::new(), |path| format!("Every key is explained in {}\n", path.display()));
    print(&format!("{written}\n{}\n{documented}", next_steps(arguments, &folder, catalogue)))?;
    Ok(Status::Done)
}

/// Why the server's folder was not made. An installation's may be root's, or read-only.
fn not_created(arguments: &Arguments, folder: &Path, error: &io::Error) -> Complaint {
    let what = format!("cannot create {}: {error}", folder.display());
    match error.kind() {
        io::ErrorKind::AlreadyExists => Complaint::usage(format!("{} exists", folder.display())),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if !arguments.is_folder() => {
            let id = arguments.id();
            Complaint::environment(what).hint(format!(
                "write it into the current folder, from where `paceline lab try` measures it: paceline lab new ./{id}"
            ))
        }
        _ => Complaint::environment(what),
    }
}

/// Writes the files of a new server, whose folder was just made, or none of them: with some, a repetition would find
/// that it exists.
fn write_all(folder: &Path, files: &[(PathBuf, String)]) -> anyhow::Result<()> {
    let written = files.iter().try_for_each(|(path, text)| {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    });
    written.inspect_err(|_| {
        // The error at hand is the one to report.
        for (path, _) in files {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(folder.join(WORKLOADS));
        let _ = fs::remove_dir(folder);
    })
}

/// What to do next, in order: fill in the files, check the server, and compare it with nginx if the catalogue has it. A
/// server in a folder of its own is tried.
fn next_steps(arguments: &Arguments, folder: &Path, catalogue: &Catalogue) -> String {
    let (id, [place, state]) = (arguments.id(), place_flags(catalogue));
    let command = match arguments.command {
        Some(_) => "",
        None => "Write the command that starts the server into server.toml. ",
    };
    let (workload, answer, other) = match &arguments.path {
        Some(path) => {
            let file = arguments.workload_file(folder, catalogue);
            (
                id,
                format!("respond to GET {path}; {} must contain the expected response", file.display()),
                None,
            )
        }
        None => {
            let other = catalogue.servers.iter().find(|server| server.id == "c-nginx");
            ("hello", hello_words(catalogue), other)
        }
    };
    let (setup, servers) = match other {
        Some(other) => (format!("{id} {}", other.id), format!("{id},{}", other.id)),
        None => (id.to_owned(), id.to_owned()),
    };
    if arguments.is_folder() {
        return format!(
            "Next:\n\
             1. {command}The server must listen on $PACELINE_HOST:$PACELINE_PORT and {answer}.\n\
             2. paceline lab try {}{place}    (checks and measures it, writes {id}.html and {id}.svg)\n",
            shell_word(&arguments.place.to_string_lossy())
        );
    }
    format!(
        "Next:\n\
         1. {command}The server must listen on $PACELINE_HOST:$PACELINE_PORT and {answer}.\n\
         2. paceline lab setup {setup}{place}\n\
         3. paceline lab check {id}{place}    (prints what differs, and the line to add to server.toml)\n\
         4. paceline round --servers {servers} --workloads {workload} --repeats 5{place}\n\
         5. paceline report -o result.html{state}\n"
    )
}

/// The response that the workload `hello` requires.
fn hello_words(catalogue: &Catalogue) -> String {
    let case = catalogue.workload("hello").and_then(|workload| workload.cases.first());
    let Some(case) = case else { return "respond as the workload `hello` says".to_owned() };
    let kind = case.expect.content_type.as_ref().map_or(String::new(), |kind| format!(", {kind}"));
    let body = match &case.expect.body {
        ExpectedBody::Exact(bytes) => format!(", body {:?}", String::from_utf8_lossy(bytes)),
        _ => String::new(),
    };
    format!(
        "respond to {} {} with status {}{kind}{body}, and to other paths with 404",
        case.method, case.path, case.expect.status
    )
}

/// The file that the new files refer to: in a clone beside `servers`, otherwise where
/// an archive and `make install` have it.
fn documentation() -> Option<PathBuf> {
    let servers_dir = Folders::find(&FolderFlags::default()).ok()?.servers_dir;
    let beside = servers_dir.parent()?;
    let places = [beside.join("docs"), beside.parent()?.join("doc/paceline/docs")];
    places.map(|docs| docs.join("adding-a-server.md")).into_iter().find(|path| path.is_file())
}

/// The flags that find the new server, and its results, if they are not in the usual folders: of the commands of the lab
/// and of `round`, and of `report`.
fn place_flags(catalogue: &Catalogue) -> [String; 2] {
    let folders = &catalogue.folders;
    let state_dir = std::env::var_os("PACELINE_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let usual = Folders::find(&FolderFlags { state_dir, ..FolderFlags::default() }).ok();
    let flag = |name: &str, folder: fn(&Folders) -> &Path| {
        let is_usual = usual.as_ref().is_some_and(|usual| folder(usual) == folder(folders));
        if is_usual {
            String::new()
        } else {
            format!(" --{name} {}", shell_word(&folder(folders).to_string_lossy()))
        }
    };
    let state = flag("state-dir", |folders| &folders.state_dir);
    [flag("servers-dir", |folders| &folders.servers_dir) + &state, state]
}

/// A workload of one request.
fn workload_of(path: &str) -> String {
    let path = toml_text(path);
    format!(
        r#"# Every key is explained in docs/adding-a-server.md.
about = "One page of an application."

[[case]]
path = {path}
[case.expect]
status = 200
# The expected response, exactly one of: body, json, json_form, html_file, length with sha256.
body = "Replace this with the body of the page.\n"
"#
    )
}

/// The language that an id begins with, as the other servers of this language write it: tables, choices of servers and
/// the settings for profiling compare it.
fn language(id: &str, catalogue: &Catalogue) -> String {
    let of = |id: &str| id.split('-').next().unwrap_or_default().to_owned();
    let same = catalogue.servers.iter().find(|server| of(&server.id) == of(id));
    same.map_or_else(|| of(id), |server| server.language.clone())
}

fn manifest(id: &str, language: &str, workload: &str, command: &str) -> String {
    let command = toml_text(command);
    format!(
        r#"# Every key is explained in docs/adding-a-server.md.
name = "{id}"               # shown in tables
language = "{language}"
framework = "none"          # the framework that routes requests, or none
engine = "none"             # the HTTP implementation that it uses, or none
kind = "platform"           # platform, micro or full: how much a framework does
tags = ["idiomatic"]        # idiomatic or tuned, then any other tags
workloads = ["{workload}"]       # files of workloads/ that the server serves
needs = ["sh"]              # programs on the PATH, or file patterns
packages = []               # Debian packages that contain these programs
version = "echo unknown"    # prints what is measured: a version of the language and of the framework

# [setup]                   # runs once: fetches into $PACELINE_BUILD what the build needs
# command = "..."
# download_mb = 1

# [build]                   # builds into $PACELINE_BUILD
# command = "..."

[run]                       # runs in the foreground, listens on $PACELINE_HOST:$PACELINE_PORT, exits on SIGTERM
command = {command}

[forms.single]              # one process on one core
# [forms.cores]             # all of $PACELINE_CORES
# env = {{ WORKERS = "$PACELINE_CORES" }}

[traits]                    # limits of the server: `paceline lab check` reports what to write here
"#
    )
}

fn readme(id: &str) -> String {
    format!(
        "# {id}\n\nWhat this server is, how it was made, and where it differs from the defaults of its framework.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_server_that_cannot_be_written_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let (folder, blocked) = (root.path().join("go-mine"), root.path().join("file"));
        fs::write(&blocked, "kept").unwrap();
        fs::create_dir(&folder).unwrap();
        let own = [MANIFEST_FILE, "workloads/a.toml"].map(|name| (folder.join(name), String::new()));
        let with_blocked = [&own[..], &[(blocked.join("b.toml"), String::new())]].concat();
        let error = write_all(&folder, &with_blocked).unwrap_err();
        assert!(format!("{error:#}").contains("cannot create"), "{error:#}");
        assert!(!folder.exists() && fs::read_to_string(&blocked).unwrap() == "kept");
        fs::create_dir(&folder).unwrap();
        write_all(&folder, &own).unwrap();
        assert!(own.iter().all(|(path, _)| path.is_file()));
    }

    #[test]
    fn a_read_only_installation_is_not_the_only_place() {
        let hint = |place: &str, kind: io::ErrorKind| {
            let arguments = Arguments { place: place.into(), path: None, command: None };
            not_created(&arguments, Path::new("/usr/share/servers/go-mine"), &kind.into()).hint
        };
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            assert!(hint("go-mine", kind).unwrap().ends_with("paceline lab new ./go-mine"));
            assert_eq!(hint("./go-mine", kind), None);
        }
        assert_eq!(hint("go-mine", io::ErrorKind::StorageFull), None);
    }

    #[test]
    fn the_generated_manifest_is_valid() {
        let server = Manifest::parse(
            Path::new("servers/go-mine"),
            &manifest("go-mine", "Go", "hello", "exec ./server -p \"$PACELINE_PORT\""),
        )
        .unwrap();
        assert_eq!((server.id.as_str(), server.language.as_str()), ("go-mine", "Go"));
        assert_eq!(server.form("single").unwrap().command, "exec ./server -p \"$PACELINE_PORT\"");
        assert!(server.build.is_none());
    }

    #[test]
    fn a_command_is_a_value_of_toml_whatever_it_contains() {
        let command = "printf '\u{1b}[0m\\n' \"$PACELINE_PORT\"\nexec é";
        let server =
            Manifest::parse(Path::new("servers/go-mine"), &manifest("go-mine", "Go", "hello", command))
                .unwrap();
        assert_eq!(server.form("single").unwrap().command, command);
    }
}
