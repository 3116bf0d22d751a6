//! The table `[gate]` of a repository's `paceline.toml`: how its server is built, started and loaded, and which losses
//! `paceline gate --base` accepts.

use crate::CatalogueError;
use crate::document::Document;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the file.
pub const GATE_FILE: &str = "paceline.toml";

/// The table `[gate]`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct GateFile {
    /// The revision to compare with: a branch, a tag or a commit.
    pub base: Option<String>,
    /// The command that builds the server in a checkout, run with `sh -c`.
    pub build: Option<String>,
    /// The command that starts the server in a checkout, run with `sh -c`; it listens on `$PORT`.
    pub start: Option<String>,
    /// The folder of the checkout in which both commands run.
    pub folder: Option<PathBuf>,
    /// Variables for both commands.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the caller that both commands get, beside the known ones.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// The path that shows that the server is ready.
    pub ready: Option<String>,
    /// The status of its response.
    pub ready_status: Option<u16>,
    /// How long a start may take.
    #[serde(default, deserialize_with = "crate::duration::deserialize")]
    pub start_timeout: Option<Duration>,
    /// How long a build may take.
    #[serde(default, deserialize_with = "crate::duration::deserialize")]
    pub build_timeout: Option<Duration>,
    /// The time in which the gate must decide.
    #[serde(default, deserialize_with = "crate::duration::deserialize")]
    pub budget: Option<Duration>,
    /// The length of a window.
    #[serde(default, deserialize_with = "crate::duration::deserialize")]
    pub window: Option<Duration>,
    /// The warm-up of each start, before its first window.
    #[serde(default, deserialize_with = "crate::duration::deserialize")]
    pub warm_up: Option<Duration>,
    /// The largest accepted loss of each metric, by its name: `"5%"`.
    #[serde(default)]
    pub margins: BTreeMap<String, Margin>,
    /// The share of failed requests by which the candidate may exceed the base.
    pub max_errors: Option<FailedShare>,
    /// Patterns of files that cannot change the speed: if no other file differs, nothing is measured.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The loads.
    #[serde(default, rename = "load")]
    pub loads: Vec<GateFileLoad>,
}

/// A table `[[gate.load]]`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateFileLoad {
    /// Its name; the path if there is none.
    pub name: Option<String>,
    /// The path, from `/`.
    pub path: Option<String>,
    /// Connections.
    pub connections: Option<u32>,
    /// The offered rate per second; a closed loop if there is none.
    pub rate: Option<f64>,
    /// Further flags of `paceline run`.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// A share: 0.05 of `"5%"`, `"-5 %"`, `"+5 %"` or `5`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "PercentText")]
pub struct Margin(pub f64);

/// A share of failed requests, written as a [`Margin`]. It may be 0: the candidate may not fail more than the base.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "PercentText")]
pub struct FailedShare(pub f64);

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum PercentText {
    Percent(f64),
    Text(String),
}

impl PercentText {
    /// None if it is no number.
    fn percent(&self) -> Option<f64> {
        match self {
            Self::Percent(percent) => Some(*percent),
            Self::Text(text) => {
                text.trim().trim_end_matches('%').trim().trim_start_matches(['+', '-']).parse().ok()
            }
        }
    }
}

impl TryFrom<PercentText> for Margin {
    type Error = String;

    fn try_from(written: PercentText) -> Result<Self, String> {
        match written.percent() {
            Some(percent) if percent > 0.0 && percent < 100.0 => Ok(Self(percent / 100.0)),
            _ => Err("a margin is a percentage above 0 and below 100, such as \"5%\"".to_owned()),
        }
    }
}

impl TryFrom<PercentText> for FailedShare {
    type Error = String;

    fn try_from(written: PercentText) -> Result<Self, String> {
        match written.percent() {
            Some(percent) if (0.0..100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => {
                let expected = "a share of failed requests is a percentage from 0 to below 100";
                Err(format!("{expected}, such as \"0.1%\""))
            }
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    gate: GateFile,
}

impl GateFile {
    /// Reads the file at `path`; none if it does not exist.
    ///
    /// # Errors
    /// [`CatalogueError`] with file and line if a key is unknown or wrong, or if the file cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, CatalogueError> {
        if !path.exists() {
            return Ok(None);
        }
        let wire: WireFile = Document::read(path)?.parse()?;
        Ok(Some(wire.gate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GateFile, String> {
        let document = Document::from_text(Path::new(GATE_FILE), text);
        document.parse::<WireFile>().map(|wire| wire.gate).map_err(|error| error.to_string())
    }

    #[test]
    fn margins_are_percentages_with_or_without_a_sign() {
        let text = "[gate]\n[gate.margins]\nrate = \"-5 %\"\n\"response.p99\" = \"+10%\"\ncpu = 2.5";
        let margins = read(text).unwrap().margins;
        let shares: Vec<f64> = ["rate", "response.p99", "cpu"].map(|name| margins[name].0).to_vec();
        assert_eq!(shares, [0.05, 0.1, 0.025]);
        for wrong in ["0", "\"x\"", "100", "\"\""] {
            let error = read(&format!("[gate]\n[gate.margins]\nrate = {wrong}")).unwrap_err();
            assert!(error.contains("paceline.toml:3") && error.contains("a margin is"), "{error}");
        }
    }

    #[test]
    fn no_failed_request_more_than_the_base_is_a_share_too() {
        let share = |written: &str| read(&format!("[gate]\nmax_errors = {written}"));
        for (written, expected) in [("0", 0.0), ("\"0%\"", 0.0), ("\"0.5 %\"", 0.005), ("2", 0.02)] {
            assert_eq!(share(written).unwrap().max_errors, Some(FailedShare(expected)), "{written}");
        }
        for wrong in ["-1", "100", "\"few\"", "nan"] {
            let error = share(wrong).unwrap_err();
            assert!(error.contains("paceline.toml:2") && error.contains("a share of failed"), "{error}");
        }
    }

    #[test]
    fn loads_and_times_are_read_and_unknown_keys_are_named() {
        let gate = read(
            "[gate]\nbase = \"main\"\nstart = \"./app\"\nbudget = \"5m\"\n[[gate.load]]\npath = \"/a\"\nrate = 100",
        )
        .unwrap();
        assert_eq!(gate.budget, Some(Duration::from_secs(300)));
        assert_eq!((gate.loads.len(), gate.loads[0].rate), (1, Some(100.0)));
        let error = read("[gate]\nstrat = \"./app\"").unwrap_err();
        assert!(error.contains("paceline.toml:2") && error.contains("start"), "{error}");
    }
}
