//! `paceline lab new LANGUAGE-NAME`: a folder with a commented manifest and a README, to be filled in.
//!
//! What a manifest may say is the catalogue's: the text is held to it before anything is written.

use crate::exit::{Complaint, Status, print};
use crate::places::complain;
use anyhow::Context as _;
use paceline_catalogue::{Catalogue, MANIFEST_FILE, Manifest};
use std::fs;

/// Flags of `paceline lab new`.
#[derive(clap::Args)]
#[command(after_help = "Example: paceline lab new go-mine, then fill in servers/go-mine/server.toml and
paceline lab setup go-mine && paceline lab check go-mine")]
pub struct Arguments {
    /// Its id, LANGUAGE-NAME in small letters: go-mine
    #[arg(value_name = "LANGUAGE-NAME")]
    id: String,
}

/// Writes the folder; nothing that is there is overwritten.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let folder = catalogue.places.servers_dir.join(&arguments.id);
    let manifest = manifest(&arguments.id);
    // Says what is wrong with an id, before anything is made.
    Manifest::parse(&folder, &manifest).map_err(complain)?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Complaint::usage(format!("{} exists", folder.display())),
        _ => Complaint::environment(format!("cannot create {}: {error}", folder.display())),
    })?;
    for (name, text) in [(MANIFEST_FILE, manifest), ("README.md", readme(&arguments.id))] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&format!(
        "{}\nFill it in, add the source beside it, then: paceline lab check {}\n",
        folder.join(MANIFEST_FILE).display(),
        arguments.id
    ))?;
    Ok(Status::Done)
}

fn manifest(id: &str) -> String {
    let language = id.split('-').next().unwrap_or_default();
    format!(
        r#"# Every key is explained in docs/adding-a-server.md.
name = "{id}"               # shown in tables
language = "{language}"
framework = "none"          # what routes requests
engine = "none"             # what speaks HTTP underneath
kind = "platform"           # platform, micro or full: how much a framework does
tags = ["idiomatic"]        # idiomatic or tuned, then anything
workloads = ["hello"]       # files of workloads/ that it serves
needs = ["sh"]              # programs on the PATH, or patterns of files
packages = []               # Debian packages that bring them
version = "echo unknown"    # prints what is measured: a version of the language and of the framework

# [setup]                   # fetches what a build needs, once; into $PACELINE_BUILD
# command = "..."
# download_mb = 1

# [build]                   # builds into $PACELINE_BUILD
# command = "..."

[run]                       # listens on $PACELINE_HOST:$PACELINE_PORT, in the foreground, and ends on SIGTERM
command = "exec false"

[forms.single]              # one process on one core
# [forms.cores]             # all of $PACELINE_CORES
# env = {{ WORKERS = "$PACELINE_CORES" }}

[traits]                    # `paceline lab check` says what to write here
"#
    )
}

fn readme(id: &str) -> String {
    format!("# {id}\n\nWhat it is, how it was made, and what is not as its framework has it by default.\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_manifest_is_a_sound_one() {
        let server = Manifest::parse(Path::new("servers/go-mine"), &manifest("go-mine")).unwrap();
        assert_eq!((server.id.as_str(), server.language.as_str()), ("go-mine", "go"));
        assert!(server.form("single").is_some() && server.build.is_none());
    }
}
