//! A load balancer: a folder of `balancers/` with a manifest and a template of its configuration.
//!
//! It is started, watched and ended like a server ([`Balancer::as_server`]); only its configuration and its statistics
//! differ. The round decides how many instances it has and where they are.

mod template;

pub use template::TemplateValues;

use crate::document::Document;
use crate::{CatalogueError, CoresWanted, Form, Manifest, nearest};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in a balancer's folder.
pub const BALANCER_FILE: &str = "balancer.toml";
/// The path of its filled configuration, for its command.
const CONFIG_VARIABLE: &str = "BALANCER_CONFIG";
/// The folder of its filled configuration; the balancer may write there.
const FOLDER_VARIABLE: &str = "BALANCER_FOLDER";
/// How long a start may take: all known balancers take a tenth of a second.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// One load balancer.
#[derive(Clone, Debug, PartialEq)]
pub struct Balancer {
    /// The folder's name.
    pub id: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// The name for display.
    pub name: String,
    /// Debian packages to install when `needs` is not met.
    pub packages: Vec<String>,
    /// Programs that must be on the PATH; with a `/`, patterns of files.
    pub needs: Vec<String>,
    /// The command that prints the version.
    pub version: String,
    /// The command that runs it.
    pub command: String,
    /// The template of its configuration, as text.
    pub template: String,
    /// How the lab reads its counters.
    pub statistics: Statistics,
    /// Its policies for choosing an instance: the name in a plan, and the text for the configuration.
    pub policies: BTreeMap<String, String>,
}

/// How the lab reads a balancer's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistics {
    /// Not at all.
    #[default]
    None,
    /// HAProxy's stats socket: its management guide, section 9.3, `show stat`.
    Haproxy,
    /// nginx's `stub_status`: ngx_http_stub_status_module.
    Nginx,
}

impl Statistics {
    /// Whether it counts requests per instance and reports whether an instance is up.
    pub fn names_instances(self) -> bool {
        self == Statistics::Haproxy
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireBalancer {
    name: String,
    #[serde(default, deserialize_with = "crate::manifest::packages::read")]
    packages: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    version: String,
    config: toml::Spanned<String>,
    command: String,
    #[serde(default)]
    statistics: Statistics,
    policies: BTreeMap<String, String>,
}

impl Balancer {
    /// Reads the balancer in `folder`.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown or wrong, or the template has an unknown
    /// placeholder; [`CatalogueError::File`] when one of the two cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CatalogueError> {
        let document = Document::read(&folder.join(BALANCER_FILE))?;
        let wire: WireBalancer = document.parse()?;
        let path = folder.join(wire.config.get_ref());
        let text = paceline_files::read_text(&path, paceline_files::MAX_TEXT_BYTES)
            .map_err(|source| CatalogueError::File { action: "read", path: path.clone(), source })?;
        let of_template = template::problems(&text).into_iter().map(|(line, problem)| {
            CatalogueError::Document { path: path.clone(), line: Some(line), problem }
        });
        let none = wire.policies.is_empty();
        let of_policies = none.then(|| document.complain(None, "`policies` is empty: name at least one"));
        if let Some(error) = CatalogueError::of_all(of_policies.into_iter().chain(of_template).collect()) {
            return Err(error);
        }
        Ok(Self {
            id: folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            folder: folder.into(),
            name: wire.name,
            packages: wire.packages,
            needs: wire.needs,
            version: wire.version,
            command: wire.command,
            template: text,
            statistics: wire.statistics,
            policies: wire.policies,
        })
    }

    /// Checks that it has a policy of that name.
    ///
    /// # Errors
    /// A message that lists the available policies.
    pub fn check_policy(&self, policy: &str) -> Result<(), String> {
        if self.policies.contains_key(policy) {
            return Ok(());
        }
        let known = || self.policies.keys().map(String::as_str);
        let near = nearest(policy, known()).map(|near| format!("; did you mean `{near}`?"));
        let all = || format!("; available: {}", known().collect::<Vec<_>>().join(", "));
        Err(format!("balancer {} has no policy `{policy}`{}", self.id, near.unwrap_or_else(all)))
    }

    /// The balancer as a manifest, so that it can be set up, started and asked for its version. `config` is its filled
    /// configuration; `None` where it is not started.
    pub fn as_server(&self, config: Option<&Path>) -> Manifest {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let paths = config.into_iter().flat_map(|config| {
            [
                (CONFIG_VARIABLE, text(config)),
                (FOLDER_VARIABLE, config.parent().map(text).unwrap_or_default()),
            ]
        });
        // A dollar sign in a value would be read as a variable.
        let env = paths.map(|(name, path)| (name.to_owned(), path.replace('$', "$$"))).collect();
        let form = Form { command: self.command.clone(), env, cores: CoresWanted::One };
        let id = format!("balancer-{}", self.id);
        Manifest {
            packages: self.packages.clone(),
            needs: self.needs.clone(),
            version: self.version.clone(),
            forms: BTreeMap::from([(BALANCER_FORM.to_owned(), form)]),
            ..Manifest::of_role(id, &self.name, &self.folder, START_TIMEOUT)
        }
    }
}

/// The only form of a balancer.
pub const BALANCER_FORM: &str = "single";

#[cfg(test)]
mod tests;
