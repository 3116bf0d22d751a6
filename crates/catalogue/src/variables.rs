//! The variables for a server's commands, and their expansion in a manifest's `env` values.
//!
//! Commands run under `sh -c`, which expands variables; `env` values do not pass through a shell, so they are expanded
//! here, and only with these names.

use crate::nearest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The names of the variables, as `docs/adding-a-server.md` documents them.
pub const VARIABLE_NAMES: [&str; 10] = [
    "PACELINE_PORT",
    "PACELINE_HTTP2_PORT",
    "PACELINE_TLS_PORT",
    "PACELINE_TLS_CERT",
    "PACELINE_TLS_KEY",
    "PACELINE_HOST",
    "PACELINE_BUILD",
    "PACELINE_CORES",
    "PACELINE_WORKLOADS",
    "PACELINE_STATIC",
];

/// The offset of the port for HTTP/2, of a server that needs a separate one, from that of HTTP/1.1.
pub(crate) const HTTP2_OFFSET: u16 = 1;
/// The offset of the port for TLS, of UDP for HTTP/3.
pub(crate) const TLS_OFFSET: u16 = 2;

/// The certificate that the lab makes for a server, in its build folder.
pub const CERTIFICATE_FILE: &str = "tls-cert.pem";
/// The key of this certificate.
pub const KEY_FILE: &str = "tls-key.pem";
/// The host name in the certificate.
pub const CERTIFICATE_NAME: &str = "localhost";

/// The name of the database with the tables, as in TechEmpower's tests.
pub const DATABASE_NAME: &str = "hello_world";
/// The database's user.
pub const DATABASE_USER: &str = "benchmarkdbuser";
/// The user's password.
pub const DATABASE_PASSWORD: &str = "benchmarkdbpass";

/// Where a server finds the database of its launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseAccess {
    /// The id of the database: `DATABASE`.
    pub database: String,
    /// `DATABASE_HOST`: 127.0.0.1, or another machine's address.
    pub host: String,
    /// `DATABASE_PORT`.
    pub port: u16,
    /// Connections of the whole server: `DATABASE_POOL`.
    pub pool: u32,
}

impl DatabaseAccess {
    /// Each variable with its value.
    fn pairs(&self) -> [(&'static str, OsString); 7] {
        [
            ("DATABASE", self.database.clone().into()),
            ("DATABASE_HOST", self.host.clone().into()),
            ("DATABASE_PORT", self.port.to_string().into()),
            ("DATABASE_NAME", DATABASE_NAME.into()),
            ("DATABASE_USER", DATABASE_USER.into()),
            ("DATABASE_PASSWORD", DATABASE_PASSWORD.into()),
            ("DATABASE_POOL", self.pool.to_string().into()),
        ]
    }
}

/// The variables for one command of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variables {
    /// `PACELINE_PORT`: `None` for a command that does not listen, such as a build.
    pub port: Option<u16>,
    /// `PACELINE_HOST`.
    pub host: String,
    /// `PACELINE_BUILD`, absolute.
    pub build: PathBuf,
    /// `PACELINE_CORES`.
    pub cores: u32,
    /// `PACELINE_WORKLOADS`, absolute.
    pub workloads: PathBuf,
    /// `PACELINE_STATIC`, absolute: the folder of the lab's static files, if its server needs them.
    pub static_files: PathBuf,
    /// The `DATABASE` variables, if its launch has a database.
    pub database: Option<DatabaseAccess>,
}

impl Variables {
    /// Each variable with its value, for a child's environment.
    pub fn pairs(&self) -> Vec<(&'static str, OsString)> {
        let mut pairs: Vec<(&'static str, OsString)> = vec![
            ("PACELINE_HOST", self.host.clone().into()),
            ("PACELINE_BUILD", self.build.clone().into()),
            ("PACELINE_CORES", self.cores.to_string().into()),
            ("PACELINE_WORKLOADS", self.workloads.clone().into()),
            ("PACELINE_STATIC", self.static_files.clone().into()),
            ("PACELINE_TLS_CERT", self.certificate().into()),
            ("PACELINE_TLS_KEY", self.build.join(KEY_FILE).into()),
        ];
        if let Some(port) = self.port {
            pairs.push(("PACELINE_PORT", port.to_string().into()));
            let other = |offset: u16| port.saturating_add(offset).to_string().into();
            pairs.push(("PACELINE_HTTP2_PORT", other(HTTP2_OFFSET)));
            pairs.push(("PACELINE_TLS_PORT", other(TLS_OFFSET)));
        }
        pairs.extend(self.database.iter().flat_map(DatabaseAccess::pairs));
        pairs
    }

    /// Everything to add to the environment of a launch: these variables, then those of a form with `$NAME` expanded.
    pub fn with(&self, own: &BTreeMap<String, String>) -> Vec<(String, std::ffi::OsString)> {
        let given = self.pairs().into_iter().map(|(name, value)| (name.to_owned(), value));
        let own = own.iter().map(|(name, value)| (name.clone(), self.expand(value).into()));
        given.chain(own).collect()
    }

    /// The file of its certificate (PEM), if it needs one.
    pub fn certificate(&self) -> PathBuf {
        self.build.join(CERTIFICATE_FILE)
    }

    /// As [`Variables::pairs`], as text: `Places` rejects paths that are not UTF-8.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let text = |(name, value): (&str, OsString)| (name.to_owned(), value.to_string_lossy().into_owned());
        self.pairs().into_iter().map(text).collect()
    }

    /// `value` with each `$NAME` or `${NAME}` replaced; `$$` stands for a dollar sign. An unknown name, which [`check`]
    /// reports when a manifest is read, expands to an empty text.
    pub fn expand(&self, value: &str) -> String {
        let texts = self.texts();
        pieces(value)
            .map(|piece| match piece {
                VariablePiece::Text(text) => text.to_owned(),
                VariablePiece::Variable(name) => texts.get(name).cloned().unwrap_or_default(),
            })
            .collect()
    }
}

/// Checks that every `$NAME` in `value` is a known variable.
pub(crate) fn check(value: &str) -> Result<(), String> {
    for piece in pieces(value) {
        let VariablePiece::Variable(name) = piece else { continue };
        if !VARIABLE_NAMES.contains(&name) {
            let hint = nearest(name, VARIABLE_NAMES).map(|near| format!("; did you mean `${near}`?"));
            return Err(format!("unknown variable `${name}`{}", hint.unwrap_or_default()));
        }
    }
    Ok(())
}

enum VariablePiece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

fn pieces(mut rest: &str) -> impl Iterator<Item = VariablePiece<'_>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = next_piece(rest);
        rest = after;
        Some(piece)
    })
}

fn next_piece(text: &str) -> (VariablePiece<'_>, &str) {
    let Some(after) = text.strip_prefix('$') else {
        let (plain, rest) = text.split_at(text.find('$').unwrap_or(text.len()));
        return (VariablePiece::Text(plain), rest);
    };
    if let Some(rest) = after.strip_prefix('$') {
        return (VariablePiece::Text("$"), rest);
    }
    if let Some((name, rest)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return (VariablePiece::Variable(name), rest);
    }
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    let (name, rest) = after.split_at(end);
    if name.is_empty() { (VariablePiece::Text("$"), rest) } else { (VariablePiece::Variable(name), rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> Variables {
        Variables {
            port: Some(8080),
            host: "127.0.0.1".into(),
            build: "/b".into(),
            cores: 2,
            workloads: "/w".into(),
            static_files: "/s".into(),
            database: None,
        }
    }

    #[test]
    fn variables_are_expanded_and_other_text_is_unchanged() {
        let table = [
            ("$PACELINE_CORES", "2"),
            ("-w${PACELINE_CORES}x", "-w2x"),
            ("$PACELINE_HOST:$PACELINE_PORT", "127.0.0.1:8080"),
            ("costs $$5", "costs $5"),
            ("5 $", "5 $"),
            ("plain", "plain"),
        ];
        for (value, expected) in table {
            assert_eq!(given().expand(value), expected);
            assert_eq!(check(value), Ok(()));
        }
    }

    #[test]
    fn an_unknown_variable_suggests_the_nearest_one() {
        let wrong = check("$PACELINE_CORE").expect_err("no such variable");
        assert!(wrong.ends_with("did you mean `$PACELINE_CORES`?"), "{wrong}");
        assert!(check("$HOME").is_err());
    }

    #[test]
    fn a_build_is_given_no_port() {
        let pairs = Variables { port: None, ..given() }.pairs();
        assert!(pairs.iter().all(|(name, _)| *name != "PACELINE_PORT"));
        assert_eq!(pairs.len(), 7);
        let (database, host) = ("postgresql".into(), "10.0.0.2".into());
        let database = Some(DatabaseAccess { database, host, port: 5433, pool: 32 });
        let texts = Variables { database, ..given() }.texts();
        assert_eq!((texts["DATABASE"].as_str(), texts["DATABASE_POOL"].as_str()), ("postgresql", "32"));
        assert_eq!(
            (texts["DATABASE_NAME"].as_str(), texts["DATABASE_HOST"].as_str()),
            ("hello_world", "10.0.0.2")
        );
    }
}
