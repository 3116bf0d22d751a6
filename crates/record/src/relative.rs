//! Writes the paths of the measuring machine relative to the project, for records that leave it.
//!
//! The export of a round calls it. Every text of a record is examined, so that no field can be left out; a record that
//! is kept on the machine has absolute paths, and its command lines can be repeated from any folder.

use crate::Trial;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// The default name of the state folder in a project.
const STATE: &str = ".paceline";
/// The folder of expected bodies in the state folder. Their paths are in command lines.
const BODIES: &str = "bodies";
/// Keys of texts that are part of requests, or not text.
const NOT_PATHS: [&str; 4] = ["url", "path", "pointer", "histogram"];
/// Keys of paths and of command lines: a path outside of the known folders is reduced to its file name.
const PATHS: [&str; 4] = ["argv", "generator_argv", "file", "folder"];

/// The folders of the measuring machine, each with the path that replaces it.
#[derive(Clone, Debug, Default)]
pub struct KnownFolders(Vec<(String, &'static str)>);

impl KnownFolders {
    /// Adds the project: paths below it become relative to it.
    pub fn add_project(&mut self, folder: &Path) {
        self.add(folder, ".");
    }

    /// Adds a home folder: `~`.
    pub fn add_home(&mut self, folder: &Path) {
        self.add(folder, "~");
    }

    /// Adds a state folder: `.paceline`, where it is by default. If that is its name, its parent is a project.
    pub fn add_state(&mut self, folder: &Path) {
        match folder.parent() {
            Some(project) if folder.ends_with(STATE) => self.add_project(project),
            _ => self.add(folder, STATE),
        }
    }

    /// Adds the state folders that the command line of a trial names: it may come from another machine.
    pub fn add_states_of(&mut self, trial: &Trial) {
        for word in &trial.generator_argv {
            let bodies = word.split_once('@').and_then(|(_, path)| Path::new(path).parent());
            if let Some(state) = bodies.filter(|bodies| bodies.ends_with(BODIES)).and_then(Path::parent) {
                self.add_state(state);
            }
        }
    }

    /// Only absolute paths below the root are known folders. The longest is first: it is replaced.
    fn add(&mut self, folder: &Path, name: &'static str) {
        let text = folder.to_string_lossy().trim_end_matches('/').to_owned();
        if text.starts_with('/') && !self.0.iter().any(|(known, _)| *known == text) {
            self.0.push((text, name));
            self.0.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    /// The record with relative paths.
    ///
    /// # Errors
    /// When the record cannot be represented as JSON.
    pub fn relative<T: Serialize + DeserializeOwned>(&self, record: &T) -> Result<T, serde_json::Error> {
        let mut value = serde_json::to_value(record)?;
        self.rewrite(&mut value, "");
        serde_json::from_value(value)
    }

    /// Rewrites the texts of a value that is below `key`.
    fn rewrite(&self, value: &mut Value, key: &str) {
        match value {
            Value::String(text) if !NOT_PATHS.contains(&key) => {
                *text = self.in_text(text);
                if PATHS.contains(&key) {
                    *text = named(text);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item, key)),
            Value::Object(members) => members.iter_mut().for_each(|(key, value)| self.rewrite(value, key)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn in_text(&self, text: &str) -> String {
        let mut relative = String::new();
        let mut copied = 0;
        for (at, _) in text.match_indices('/') {
            let folder = |(folder, _): &&(String, &str)| {
                text[at..].strip_prefix(folder.as_str()).is_some_and(ends_name) && begins_path(&text[..at])
            };
            if let Some((folder, name)) = self.0.iter().filter(|_| at >= copied).find(folder) {
                relative += &text[copied..at];
                copied = at + folder.len();
                let rest = &text[copied..];
                // `./x` would be a longer name of `x`.
                match rest.strip_prefix('/').filter(|rest| *name == "." && rest.starts_with(is_of_name)) {
                    Some(_) => copied += 1,
                    None => relative += name,
                }
            }
        }
        relative + &text[copied..]
    }
}

/// Whether the name of a file ends before `rest`. A full stop may end a sentence.
fn ends_name(rest: &str) -> bool {
    match rest.strip_prefix('.') {
        Some(after) => !after.starts_with(is_of_name),
        None => !rest.starts_with(is_of_name),
    }
}

fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '-' | '_' | '+')
}

/// Whether an absolute path may begin after `before`: not within another path, and not in an address after its host.
fn begins_path(before: &str) -> bool {
    let is_between = |character: char| character.is_whitespace() || "\"'`()[]<>{}".contains(character);
    let word = before.rsplit(is_between).next().unwrap_or(before);
    if word.contains("://") {
        return word.ends_with("://");
    }
    let path = word.rsplit(|character| !is_of_name(character) && character != '/').next().unwrap_or(word);
    !path.contains('/') && !path.ends_with('.')
}

/// A word with only the name of its file, if it is an absolute path; the path may follow an `@`.
fn named(word: &str) -> String {
    let (mark, path) = word.strip_prefix('@').map_or(("", word), |path| ("@", path));
    match path.starts_with('/') {
        true => format!("{mark}{}", path.rsplit('/').next().unwrap_or_default()),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, trial as trial_for_tests};
    use crate::{Run, Trial};
    use serde_json::json;

    fn known() -> KnownFolders {
        let mut known = KnownFolders::default();
        known.add_home(Path::new("/srv/me"));
        known.add_project(Path::new("/srv/me/bench/"));
        known.add_state(Path::new("/srv/state"));
        known.add_project(Path::new("/"));
        known
    }

    #[test]
    fn paths_in_texts_become_relative() {
        for (text, expected) in [
            ("cannot read /srv/state/x", "cannot read .paceline/x"),
            ("/srv/me/bench/servers/go/main.go:3: in /srv/me/bench.", "servers/go/main.go:3: in .."),
            ("cd /srv/me/bench && ls '/srv/me/bench/'", "cd . && ls './'"),
            ("PATH=/srv/me/bench/bin:/srv/me/.cargo/bin:/usr/bin", "PATH=bin:~/.cargo/bin:/usr/bin"),
            // Not these folders.
            (
                "/srv/me/benches /srv/media /opt/srv/me x/../srv/me",
                "~/benches /srv/media /opt/srv/me x/../srv/me",
            ),
            ("GET http://127.0.0.1:1/srv/me/bench/x", "GET http://127.0.0.1:1/srv/me/bench/x"),
            ("/srv/stately /srv/state-2 é/srv/state/é", "/srv/stately /srv/state-2 é.paceline/é"),
        ] {
            assert_eq!(known().in_text(text), expected);
        }
        assert!(begins_path("jar:file://") && !begins_path("http://127.0.0.1"));
    }

    #[test]
    fn a_command_can_be_repeated_in_the_project() {
        let words = ["/srv/me/bench/target/release/paceline", "run", "http://127.0.0.1:1/srv/me/bench/x"];
        let files =
            ["-s/srv/me/bench/x.lua", "--expect-body", "@/srv/state/bodies/17", "@/opt/x", "/opt/y/z"];
        let argv: Vec<String> = words.into_iter().chain(files).map(str::to_owned).collect();
        let run = Run { argv: argv.clone(), ..fixture::run(0) };
        let trial = Trial { generator_argv: argv, run: Some(run), ..trial_for_tests() };
        let trial = known().relative(&trial).unwrap();
        let expected = "target/release/paceline run http://127.0.0.1:1/srv/me/bench/x -sx.lua --expect-body \
                        @.paceline/bodies/17 @x z";
        assert_eq!(trial.generator_argv.join(" "), expected);
        assert_eq!(trial.run.map(|run| run.argv.join(" ")).as_deref(), Some(expected));
    }

    #[test]
    fn every_text_except_requests_is_rewritten() {
        let mut value = json!({
            "log_tail": "at /srv/state/a",
            "job": {
                "url": "/srv/state",
                "request": [{ "path": "/srv/state/a", "expect_body": { "exact": { "file": "/srv/state/bodies/1" } } }]
            },
            "verdicts": [{ "evidence": { "x": [["/srv/me/bench"]] } }],
        });
        known().rewrite(&mut value, "");
        let expected = json!({
            "log_tail": "at .paceline/a",
            "job": {
                "url": "/srv/state",
                "request": [{ "path": "/srv/state/a", "expect_body": { "exact": { "file": ".paceline/bodies/1" } } }]
            },
            "verdicts": [{ "evidence": { "x": [["."]] } }],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_trial_names_the_state_folder_of_its_machine() {
        let argv = ["paceline", "run", "--expect-body", "@/far/away/.paceline/bodies/17"];
        let trial = Trial {
            generator_argv: argv.map(str::to_owned).into(),
            log_tail: "/far/away/servers/x, /far/away/.paceline/logs".to_owned(),
            ..trial_for_tests()
        };
        let mut known = KnownFolders::default();
        known.add_states_of(&trial);
        let relative = known.relative(&trial).unwrap();
        assert_eq!(relative.log_tail, "servers/x, .paceline/logs");
        assert_eq!(relative.generator_argv[3], "@.paceline/bodies/17");
    }

    #[test]
    fn only_paths_are_changed() {
        let trial = Trial { run: Some(fixture::run(3)), ..trial_for_tests() };
        assert_eq!(known().relative(&trial).unwrap(), trial);
    }
}
