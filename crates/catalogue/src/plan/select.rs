//! Selects the servers of a catalogue for a plan: by name pattern, tag, language, framework, source and trait.
//!
//! Used by `resolve`, and by the catalogue for names on a command line. A condition that no server meets is reported,
//! as it may be misspelt; a broken manifest is selected by its folder's name only. Forms and workloads are separate
//! keys of the plan.

use crate::{Manifest, nearest};
use std::collections::BTreeSet;

/// The conditions on servers. All of them must hold; within `tags` and `traits` every item, in the other lists at least
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Select {
    /// Patterns on the id, `go-*`; any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Tags, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Languages, any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Frameworks, any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frameworks: Vec<String>,
    /// Sources that measured it, any of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Traits it must have, all of them: `pipelining`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
    /// Patterns on the id of servers to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

impl Select {
    /// Whether `manifest` meets all conditions.
    pub fn admits(&self, manifest: &Manifest) -> bool {
        let any = |wanted: &[String], has: &str| wanted.is_empty() || wanted.iter().any(|one| one == has);
        let traits = manifest.traits.present();
        self.may_mean(&manifest.id)
            && self.tags.iter().all(|tag| manifest.tags.contains(tag))
            && any(&self.languages, &manifest.language)
            && any(&self.frameworks, &manifest.framework)
            && (self.sources.is_empty()
                || self.sources.iter().any(|source| manifest.sources.contains(source)))
            && self.traits.iter().all(|wanted| traits.contains(&wanted.as_str()))
    }

    /// Whether the conditions on the id select this server: for a broken manifest only the id is known.
    pub fn may_mean(&self, id: &str) -> bool {
        (self.servers.is_empty() || self.servers.iter().any(|pattern| fits(pattern, id)))
            && !self.exclude.iter().any(|pattern| fits(pattern, id))
    }

    /// The first condition that no server meets, in words, with the nearest existing value.
    pub(super) fn unmet_conditions(&self, servers: &[&Manifest], broken: &[&str]) -> Vec<String> {
        let ids: BTreeSet<&str> =
            servers.iter().map(|server| server.id.as_str()).chain(broken.iter().copied()).collect();
        let fitting = |pattern: &&String| ids.iter().any(|id| fits(pattern, id));
        let futile = self.servers.iter().filter(|pattern| !fitting(pattern));
        let mut wrong: Vec<String> = futile.map(|pattern| no_such("id", pattern, &ids)).collect();
        type Values = fn(&Manifest) -> Vec<&str>;
        let lists: [(&str, &[String], Values); 5] = [
            ("tag", &self.tags, |server| server.tags.iter().map(String::as_str).collect()),
            ("language", &self.languages, |server| vec![&server.language]),
            ("framework", &self.frameworks, |server| vec![&server.framework]),
            ("source", &self.sources, |server| server.sources.iter().map(String::as_str).collect()),
            ("trait", &self.traits, |server| server.traits.present()),
        ];
        for (kind, wanted, values) in lists {
            let known: BTreeSet<&str> = servers.iter().flat_map(|server| values(server)).collect();
            let missing = wanted.iter().filter(|value| !known.contains(value.as_str()));
            wrong.extend(missing.map(|missing| no_such(kind, missing, &known)));
        }
        wrong
    }
}

fn no_such(kind: &str, wanted: &str, known: &BTreeSet<&str>) -> String {
    match nearest(wanted, known.iter().copied()) {
        Some(near) => format!("no server has the {kind} `{wanted}`; did you mean `{near}`?"),
        None => {
            let all: Vec<&str> = known.iter().copied().collect();
            format!("no server has the {kind} `{wanted}`; available: {}", all.join(", "))
        }
    }
}

/// An invalid pattern matches no server; `check` has reported it.
fn fits(pattern: &str, id: &str) -> bool {
    glob::Pattern::new(pattern).is_ok_and(|pattern| pattern.matches(id))
}
