//! A built image: what `inspect` says of it, and how its files are run.

use super::engine::ContainerEngine;
use paceline_catalogue::Container;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Variables of an image that does not set them. Engines add the same path, since an image that was made without a
/// Dockerfile has none. The user of servers has no home in an image.
const USUAL_ENV: [(&str, &str); 2] =
    [("HOME", "/tmp"), ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")];

/// What an engine prints about an image, as far as it is used.
#[derive(Debug, Deserialize)]
struct Inspected {
    #[serde(rename = "Id")]
    id: String,
    #[serde(rename = "Architecture")]
    architecture: String,
    #[serde(rename = "Os", default)]
    os: String,
    #[serde(rename = "Config", default)]
    config: Config,
}

/// The settings of an image, by the names of the image specification (opencontainers/image-spec, config.md). A list may
/// be `null`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Config {
    env: Option<Vec<String>>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    working_dir: Option<String>,
}

/// Where the files of an image are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ImageFiles {
    /// In a container of podman that never runs: podman mounts them.
    Container(String),
    /// In a folder.
    Folder(PathBuf),
}

/// A built image, as it is kept with the build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuiltImage {
    /// The engine that built it.
    pub engine: ContainerEngine,
    /// Its id: a digest.
    pub id: String,
    /// The name that its build gave it; none if it was downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// The beginning of its command.
    pub entrypoint: Vec<String>,
    /// The rest of its command, unless it is replaced.
    pub cmd: Vec<String>,
    /// Where it starts.
    pub workdir: PathBuf,
    /// Where its files are.
    pub files: ImageFiles,
}

impl BuiltImage {
    /// Reads what an engine printed.
    ///
    /// # Errors
    /// What is wrong with it, in words: it cannot be read, or is for another kind of machine.
    pub fn from_inspect(engine: ContainerEngine, printed: &str, files: ImageFiles) -> Result<Self, String> {
        let name = engine.name();
        let images: Vec<Inspected> = serde_json::from_str(printed)
            .map_err(|error| format!("{name} printed no valid JSON: {error}"))?;
        let image = images.into_iter().next().ok_or_else(|| format!("{name} does not know its own image"))?;
        let own = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        if image.architecture != own || (!image.os.is_empty() && image.os != "linux") {
            return Err(format!(
                "the image is for {} {}, and this machine is linux {own}",
                image.os, image.architecture
            ));
        }
        let pair = |text: String| {
            let (name, value) = text.split_once('=').unwrap_or((&text, ""));
            (name.to_owned(), value.to_owned())
        };
        Ok(Self {
            engine,
            id: image.id.trim_start_matches("sha256:").to_owned(),
            tag: None,
            env: image.config.env.unwrap_or_default().into_iter().map(pair).collect(),
            entrypoint: image.config.entrypoint.unwrap_or_default(),
            cmd: image.config.cmd.unwrap_or_default(),
            workdir: PathBuf::from(
                image.config.working_dir.filter(|dir| !dir.is_empty()).unwrap_or("/".into()),
            ),
            files,
        })
    }

    /// The name or the id by which this image is removed once `newer` is built: a build that gets the name of an
    /// earlier one leaves that one without a name. `None` if it was downloaded, or nothing has changed.
    pub fn removed_as(&self, newer: &Self) -> Option<&str> {
        let tag = self.tag.as_deref()?;
        let keeps_name = self.engine == newer.engine && newer.tag.as_deref() == Some(tag);
        match keeps_name {
            false => Some(tag),
            true => (self.id != newer.id).then_some(&self.id),
        }
    }

    /// Its environment when it runs.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let usual = USUAL_ENV.map(|(name, value)| (name.to_owned(), value.to_owned()));
        usual.into_iter().chain(self.env.clone()).collect()
    }

    /// The command of `container`.
    ///
    /// # Errors
    /// If neither the image nor the manifest has one.
    pub fn argv(&self, container: &Container) -> Result<Vec<String>, String> {
        let rest = if container.command.is_empty() { &self.cmd } else { &container.command };
        let argv: Vec<String> = self.entrypoint.iter().chain(rest).cloned().collect();
        match argv.is_empty() {
            true => Err("the image has no command: add `command` to [container]".to_owned()),
            false => Ok(argv),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected(architecture: &str) -> Result<BuiltImage, String> {
        let text = format!(
            "[{{\"Id\":\"sha256:ab\",\"Architecture\":\"{architecture}\",\"Os\":\"linux\",\"Config\":{{\"Env\":[\"PATH=/bin\",\
             \"EMPTY\"],\"Cmd\":[\"a\"],\"Entrypoint\":null,\"WorkingDir\":\"\"}}}}]"
        );
        BuiltImage::from_inspect(ContainerEngine::Podman, &text, ImageFiles::Folder("/f".into()))
    }

    #[test]
    fn an_image_has_its_settings_and_one_for_another_machine_is_refused() {
        let own = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
        let image = inspected(own).unwrap();
        assert_eq!((image.id.as_str(), image.workdir.to_str()), ("ab", Some("/")));
        assert_eq!((image.env["PATH"].as_str(), image.env["EMPTY"].as_str()), ("/bin", ""));
        assert_eq!(image.cmd, ["a"]);
        let environment = image.environment();
        assert_eq!((environment["PATH"].as_str(), environment["HOME"].as_str()), ("/bin", "/tmp"));
        let bare = BuiltImage { env: BTreeMap::new(), ..image };
        assert!(bare.environment()["PATH"].starts_with("/usr/local/sbin:"));
        assert!(inspected("s390x").unwrap_err().contains("s390x"));
        assert!(
            BuiltImage::from_inspect(ContainerEngine::Docker, "[]", ImageFiles::Folder("/f".into())).is_err()
        );
        assert!(
            BuiltImage::from_inspect(ContainerEngine::Docker, "{", ImageFiles::Folder("/f".into())).is_err()
        );
    }

    #[test]
    fn an_image_is_removed_by_its_name_or_by_its_id() {
        let own = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "amd64" };
        let image = BuiltImage { tag: Some("t:1".to_owned()), ..inspected(own).unwrap() };
        let newer = |change: fn(&mut BuiltImage)| {
            let mut newer = image.clone();
            change(&mut newer);
            image.removed_as(&newer)
        };
        assert_eq!(newer(|_| ()), None);
        assert_eq!(newer(|newer| newer.tag = Some("t:2".to_owned())), Some("t:1"));
        assert_eq!(newer(|newer| newer.id = "cd".to_owned()), Some("ab"));
        assert_eq!(newer(|newer| newer.engine = ContainerEngine::Docker), Some("t:1"));
        let downloaded = BuiltImage { tag: None, ..image.clone() };
        assert_eq!(downloaded.removed_as(&image), None);
    }
}
