//! A database for servers: a folder of `databases/` with a manifest of the commands that set it up, start it and read
//! its counters.
//!
//! It is set up and asked for its version like a server ([`Database::as_server`]); the lab starts a new one for each
//! launch, fills its tables and checks them.

use crate::document::Document;
use crate::{CatalogueError, Manifest, Setup};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in a database's folder.
pub const DATABASE_FILE: &str = "database.toml";
/// How long a start may take: the slowest known database takes a second.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// One database.
#[derive(Clone, Debug, PartialEq)]
pub struct Database {
    /// The folder's name.
    pub id: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// The name for display.
    pub name: String,
    /// A description: what it is, and what it is not.
    pub about: String,
    /// Debian packages to install when `needs` is not met.
    pub packages: Vec<String>,
    /// Programs that must be on the PATH; with a `/`, patterns of files.
    pub needs: Vec<String>,
    /// A pattern of folders; the last match is put before the PATH of its commands. Numbers are ordered as numbers.
    pub path: Option<String>,
    /// The command that fetches what no package contains, once.
    pub setup: Option<Setup>,
    /// The build command, where there is something to build.
    pub build: Option<String>,
    /// The commands to run and read it.
    pub commands: DatabaseCommands,
    /// How long a start may take.
    pub start_timeout: Duration,
    /// The signal that asks it to stop.
    pub stop_signal: StopSignal,
    /// The port that its clients expect, for servers that cannot be given another one.
    pub port: Option<u16>,
    /// How a setting is passed to `start`, with `{name}` and `{value}`.
    pub setting: String,
    /// Its settings, in order.
    pub settings: Vec<DatabaseSetting>,
}

/// The commands of a database, each run with `sh -c` in its data folder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseCommands {
    /// Prints its version.
    pub version: String,
    /// Makes an empty data folder; `None` where it stores nothing on disk.
    pub init: Option<String>,
    /// Runs it in the foreground.
    pub start: String,
    /// Succeeds once it answers.
    pub ready: String,
    /// Makes the tables; once after `init`.
    pub schema: Option<String>,
    /// Makes the table `items` of HttpArena's profiles with the rows of `items.tsv`; once after `schema`. `load` restores
    /// them if they have changed.
    pub items: Option<String>,
    /// Replaces the rows of both tables by those of `world.tsv` and `fortune.tsv`.
    pub load: String,
    /// Prints its counters, a line `NAME NUMBER` each.
    pub statistics: String,
    /// Prints the rows of `world` in order, `ID<TAB>NUMBER`.
    pub world: String,
}

/// A signal that asks a database to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignal {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
}

/// A setting that is not the database's default.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The reason.
    pub why: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireDatabase {
    name: String,
    about: String,
    #[serde(default, deserialize_with = "crate::manifest::packages::read")]
    packages: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    path: Option<String>,
    setup: Option<Setup>,
    build: Option<String>,
    #[serde(default, deserialize_with = "crate::duration::seconds")]
    start_timeout_s: Option<Duration>,
    #[serde(default)]
    stop_signal: StopSignal,
    port: Option<u16>,
    setting: Option<toml::Spanned<String>>,
    commands: DatabaseCommands,
    #[serde(default)]
    settings: Vec<DatabaseSetting>,
}

impl Database {
    /// Reads the database in `folder`.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown or wrong; [`CatalogueError::File`] when it
    /// cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CatalogueError> {
        let document = Document::read(&folder.join(DATABASE_FILE))?;
        let wire: WireDatabase = document.parse()?;
        let (at, setting) = match wire.setting {
            Some(setting) => (Some(setting.span().start), setting.into_inner()),
            None => (None, String::new()),
        };
        let mut errors = Vec::new();
        let has_both = ["{name}", "{value}"].iter().all(|placeholder| setting.contains(placeholder));
        if !wire.settings.is_empty() && !has_both {
            let problem = "`setting` needs `{name}` and `{value}`, such as \"-c {name}={value}\"";
            errors.push(document.complain(at, problem));
        }
        // They are passed through a shell.
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.,/".contains(c));
        for wrong in wire.settings.iter().filter(|one| !plain(&one.name) || !plain(&one.value)) {
            let problem =
                format!("setting `{}`: use only letters, digits and _-.,/ in name and value", wrong.name);
            errors.push(document.complain(None, problem));
        }
        if let Some(error) = CatalogueError::of_all(errors) {
            return Err(error);
        }
        Ok(Self {
            id: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            folder: folder.into(),
            name: wire.name,
            about: wire.about,
            packages: wire.packages,
            needs: wire.needs,
            path: wire.path,
            setup: wire.setup,
            build: wire.build,
            start_timeout: wire.start_timeout_s.unwrap_or(START_TIMEOUT),
            stop_signal: wire.stop_signal,
            commands: wire.commands,
            port: wire.port,
            setting,
            settings: wire.settings,
        })
    }

    /// Its settings as words for `start`.
    pub fn setting_words(&self) -> String {
        let words = self
            .settings
            .iter()
            .map(|one| self.setting.replace("{name}", &one.name).replace("{value}", &one.value));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The database as a manifest, so that it can be set up, built and asked for its version; it has no form to be
    /// launched in.
    pub fn as_server(&self) -> Manifest {
        let id = format!("database-{}", self.id);
        Manifest {
            packages: self.packages.clone(),
            needs: self.needs.clone(),
            version: self.commands.version.clone(),
            setup: self.setup.clone(),
            build: self.build.clone(),
            ..Manifest::of_role(id, &self.name, &self.folder, self.start_timeout)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATABASE: &str = "name = \"Plain\"\nabout = \"A test.\"\nsetting = \"-c {name}={value}\"\nstop_signal = \"INT\"\n\
        [commands]\nversion = \"echo 1\"\nstart = \"true\"\nready = \"true\"\nload = \"true\"\nstatistics = \"true\"\n\
        world = \"true\"\n[[settings]]\nname = \"fsync\"\nvalue = \"off\"\nwhy = \"a test\"\n";

    fn read(text: &str) -> Result<Database, String> {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("plain");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join(DATABASE_FILE), text).unwrap();
        Database::read(&own).map_err(|error| error.to_string())
    }

    #[test]
    fn a_manifest_has_commands_and_settings_with_reasons() {
        let database = read(DATABASE).unwrap();
        assert_eq!((database.id.as_str(), database.stop_signal), ("plain", StopSignal::Int));
        assert_eq!(database.setting_words(), "-c fsync=off");
        for (from, to, reported) in [
            ("start = \"true\"", "strat = \"true\"", "did you mean `start`?"),
            ("-c {name}={value}", "-c", "`setting` needs `{name}` and `{value}`"),
            ("\"off\"", "\"off; rm x\"", "setting `fsync`"),
            ("\"INT\"", "\"HUP\"", "unknown value `HUP`"),
            ("stop_signal = \"INT\"", "start_timeout_s = 9223372036854775807", "the maximum is 36000000"),
        ] {
            let error = read(&DATABASE.replace(from, to)).unwrap_err();
            assert!(error.contains(reported), "{error}");
        }
    }
}
