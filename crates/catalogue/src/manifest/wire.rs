//! The format of `server.toml`, and the checks that turn it into a [`Manifest`].
//!
//! [`Manifest::read`] and [`Manifest::parse`] are here. The checks need only the file and its folder's name: the
//! provisioner checks its needs on this machine, and the catalogue that its workloads exist.

use super::container::{self, WireContainer};
use super::{CoresWanted, FixedAddress, Form, FrameworkKind, MANIFEST_FILE, Manifest, Setup, Trait, Traits};
use crate::document::Document;
use crate::workload::is_path;
use crate::{CatalogueError, nearest, variables};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use toml::Spanned;

/// How long a start may take where the manifest does not say (docs/adding-a-server.md).
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Most characters of the reason why a server was not tried: `lab list` and notices print it in a sentence.
const MAX_UNTRIED: usize = 200;
/// The forms whose names say their cores.
const USUAL_FORMS: [(&str, CoresWanted); 2] = [("single", CoresWanted::One), ("cores", CoresWanted::Half)];

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireManifest {
    name: Spanned<String>,
    language: String,
    framework: String,
    engine: String,
    kind: FrameworkKind,
    tags: Spanned<Vec<String>>,
    #[serde(default)]
    sources: Vec<String>,
    workloads: Spanned<Vec<String>>,
    #[serde(default)]
    databases: Vec<String>,
    #[serde(default, deserialize_with = "super::packages::read")]
    packages: Vec<String>,
    framework_package: Option<Spanned<String>>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    pass_env: Vec<String>,
    version: Option<Spanned<String>>,
    setup: Option<Setup>,
    build: Option<Build>,
    #[serde(default)]
    run: WireRun,
    forms: Option<Spanned<BTreeMap<String, Spanned<WireForm>>>>,
    container: Option<Spanned<WireContainer>>,
    untried: Option<Spanned<String>>,
    traits: Option<Spanned<WireTraits>>,
    port: Option<Spanned<u16>>,
    #[serde(default)]
    hosts: Vec<Spanned<String>>,
    database_at_start: Option<Spanned<bool>>,
    #[serde(default)]
    paths: BTreeMap<String, Spanned<String>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Build {
    command: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRun {
    command: Option<Spanned<String>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    #[serde(default, deserialize_with = "crate::duration::seconds")]
    start_timeout_s: Option<Duration>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireForm {
    command: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    /// Of a form of the server's own. Required, so that a misspelt `single` or `cores` is reported.
    cores: Option<CoresWanted>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTraits {
    keep_alive: Option<Spanned<bool>>,
    pipelining: Option<Spanned<bool>>,
    http10_keep_alive: Option<Spanned<bool>>,
    byte_wise: Option<Spanned<bool>>,
    head: Option<Spanned<bool>>,
    http2: Option<Spanned<bool>>,
    http2_port: Option<Spanned<bool>>,
    tls: Option<Spanned<bool>>,
    http3: Option<Spanned<bool>>,
}

impl Manifest {
    /// Reads the manifest of the server in `folder`.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown or wrong, a form is missing or the
    /// folder's name is not an id; [`CatalogueError::File`] when it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, CatalogueError> {
        manifest_from(folder, Document::read(&folder.join(MANIFEST_FILE))?)
    }

    /// Parses `text` as the manifest in `folder`, without reading a file.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] as [`Manifest::read`].
    pub fn parse(folder: &Path, text: &str) -> Result<Self, CatalogueError> {
        manifest_from(folder, Document::from_text(&folder.join(MANIFEST_FILE), text))
    }
}

fn manifest_from(folder: &Path, document: Document) -> Result<Manifest, CatalogueError> {
    let id = id_of(folder, &document);
    let wire: WireManifest = match (document.parse(), &id) {
        (Ok(wire), _) => wire,
        (Err(error), Ok(_)) => {
            let refused = container::refused(&document.text);
            return Err(refused.map_or(error, |problem| document.complain(None, problem)));
        }
        (Err(error), Err(_)) => return Err(all(id.err().into_iter().chain([error]))),
    };
    let mut errors: Vec<CatalogueError> = Vec::new();
    let id = id.unwrap_or_else(|error| {
        errors.push(error);
        String::new()
    });
    errors.extend(problems(&wire, &document));
    errors.extend(fixed_problems(&wire, &document));
    errors.extend(package_problem(&wire, &document));
    errors.extend(untried_problem(&wire, &document));
    let forms = forms_of(&wire, &document).unwrap_or_else(|found| {
        errors.extend(found);
        BTreeMap::new()
    });
    let container = wire.container.map(|table| table.into_inner().check(folder, &document)).transpose();
    let container = container.unwrap_or_else(|found| {
        errors.extend(found);
        None
    });
    if let Some(error) = CatalogueError::of_all(errors) {
        return Err(error);
    }
    let workloads_line = Some(document.line(wire.workloads.span().start));
    Ok(Manifest {
        id,
        copy_of: None,
        folder: folder.into(),
        name: wire.name.into_inner(),
        language: wire.language,
        framework: wire.framework,
        engine: wire.engine,
        kind: wire.kind,
        tags: wire.tags.into_inner(),
        sources: wire.sources,
        workloads: wire.workloads.into_inner(),
        needs_static_files: false,
        databases: wire.databases,
        packages: wire.packages,
        framework_package: wire.framework_package.map(Spanned::into_inner),
        needs: wire.needs,
        pass_env: wire.pass_env,
        version: wire.version.map(Spanned::into_inner).unwrap_or_default(),
        setup: wire.setup,
        build: wire.build.map(|build| build.command),
        start_timeout: wire.run.start_timeout_s.unwrap_or(START_TIMEOUT),
        forms,
        container,
        untried: wire.untried.map(|reason| reason.into_inner().trim().to_owned()),
        fixed: FixedAddress {
            port: wire.port.map(Spanned::into_inner),
            hosts: wire.hosts.into_iter().map(Spanned::into_inner).collect(),
            database_at_start: wire.database_at_start.is_some_and(Spanned::into_inner),
            paths: wire.paths.into_iter().map(|(name, path)| (name, path.into_inner())).collect(),
        },
        traits: traits_of(wire.traits, &document),
        workloads_line,
    })
}

fn traits_of(wire: Option<Spanned<WireTraits>>, document: &Document) -> Traits {
    let mut traits = Traits::below(wire.as_ref().map(|table| document.line(table.span().start)));
    let Some(wire) = wire.map(Spanned::into_inner) else { return traits };
    traits.has_http2_port = wire.http2_port.is_some_and(Spanned::into_inner);
    let said = [
        (Trait::KeepAlive, wire.keep_alive),
        (Trait::Pipelining, wire.pipelining),
        (Trait::Http10KeepAlive, wire.http10_keep_alive),
        (Trait::ByteWise, wire.byte_wise),
        (Trait::Head, wire.head),
        (Trait::Http2, wire.http2),
        (Trait::Tls, wire.tls),
        (Trait::Http3, wire.http3),
    ];
    for (one, has) in said {
        if let Some(has) = has {
            let line = document.line(has.span().start);
            traits.set(one, has.into_inner(), Some(line));
        }
    }
    traits
}

/// The folder's name, if it has the form `<language>-<name>`.
fn id_of(folder: &Path, document: &Document) -> Result<String, CatalogueError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let whole = name.split('-').all(|part| !part.is_empty());
    if name.contains('-') && whole && name.chars().all(allowed) {
        return Ok(name);
    }
    Err(document.complain(
        None,
        format!(
            "the folder `{name}` must be named `<language>-<name>` in lower-case letters, digits and hyphens"
        ),
    ))
}

/// Several errors as one.
fn all(errors: impl Iterator<Item = CatalogueError>) -> CatalogueError {
    CatalogueError::Several(errors.collect(), 0)
}

/// Errors in single values.
fn problems(wire: &WireManifest, document: &Document) -> Vec<CatalogueError> {
    let mut problems = Vec::new();
    let given = [
        ("name", Some(&wire.name)),
        ("version", wire.version.as_ref()),
        ("command", wire.run.command.as_ref()),
    ];
    for (key, value) in given {
        match value {
            Some(value) if value.get_ref().trim().is_empty() => {
                let problem = format!("`{key}` is empty: give it a value");
                problems.push(document.complain(Some(value.span().start), problem));
            }
            None if wire.container.is_none() => {
                problems.push(document.complain(None, format!("missing key `{key}`")));
            }
            _ => {}
        }
    }
    if let Some(table) = &wire.container
        && (wire.setup.is_some() || wire.build.is_some() || wire.run.command.is_some())
    {
        let problem = "a server with [container] has no [setup], no [build] and no `command` in [run]: the image has them";
        problems.push(document.complain(Some(table.span().start), problem));
    }
    if wire.workloads.get_ref().is_empty() {
        let problem = "`workloads` is empty: name at least one, such as `hello`";
        problems.push(document.complain(Some(wire.workloads.span().start), problem));
    }
    let traits = wire.traits.as_ref().map(Spanned::get_ref);
    if let Some(port) = traits.and_then(|traits| traits.http2_port.as_ref())
        && !traits.and_then(|traits| traits.http2.as_ref()).is_some_and(|http2| *http2.get_ref())
    {
        let problem = "`http2_port` needs `http2 = true`: add it, or remove `http2_port`";
        problems.push(document.complain(Some(port.span().start), problem));
    }
    let of_style = |tag: &&String| *tag == "idiomatic" || *tag == "tuned";
    if wire.tags.get_ref().iter().filter(of_style).count() != 1 {
        let problem = "`tags` must contain exactly one of `idiomatic` and `tuned`";
        problems.push(document.complain(Some(wire.tags.span().start), problem));
    }
    problems
}

/// Errors in what the server has fixed.
fn fixed_problems(wire: &WireManifest, document: &Document) -> Vec<CatalogueError> {
    let mut problems = Vec::new();
    let mut complain = |at: usize, problem: String| problems.push(document.complain(Some(at), problem));
    if let Some(port) = wire.port.as_ref().filter(|port| *port.get_ref() == 0) {
        complain(port.span().start, "`port` must be from 1 to 65535".to_owned());
    }
    let traits = wire.traits.as_ref().map(Spanned::get_ref);
    if let (Some(port), Some(_)) = (&wire.port, traits.and_then(|traits| traits.http2_port.as_ref())) {
        complain(port.span().start, "`port` cannot be combined with the trait `http2_port`".to_owned());
    }
    for (name, stated) in traits.iter().flat_map(|traits| [("tls", &traits.tls), ("http3", &traits.http3)]) {
        if let (Some(stated), Some(_)) = (stated.as_ref().filter(|stated| *stated.get_ref()), &wire.container)
        {
            let problem =
                format!("`{name}` cannot be used by a server with [container]: its image has no certificate");
            complain(stated.span().start, problem);
        }
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    for host in
        wire.hosts.iter().filter(|host| !host.get_ref().chars().all(allowed) || host.get_ref().is_empty())
    {
        let problem = format!("`{}` is not a host name: use letters, digits, `-` and `.`", host.get_ref());
        complain(host.span().start, problem);
    }
    if let Some(at_start) = wire.database_at_start.as_ref().filter(|at_start| *at_start.get_ref())
        && wire.databases.is_empty()
    {
        complain(
            at_start.span().start,
            "`database_at_start` needs `databases`: name the database".to_owned(),
        );
    }
    for (workload, path) in &wire.paths {
        if !wire.workloads.get_ref().contains(workload) {
            complain(path.span().start, format!("`paths` has `{workload}`, which is not in `workloads`"));
        } else if !is_path(path.get_ref()) {
            let problem =
                format!("`{}` is not a path: it must start with `/`, without spaces", path.get_ref());
            complain(path.span().start, problem);
        }
    }
    problems
}

/// The error in `framework_package`, if there is one.
fn package_problem(wire: &WireManifest, document: &Document) -> Option<CatalogueError> {
    let package = wire.framework_package.as_ref()?;
    let problem = if wire.container.is_some() {
        "`framework_package` cannot be used by a server with [container]: its image has the framework"
            .to_owned()
    } else if !wire.packages.contains(package.get_ref()) {
        format!("`framework_package` is `{}`, which is not in `packages`: add it there", package.get_ref())
    } else {
        return None;
    };
    Some(document.complain(Some(package.span().start), problem))
}

/// What is wrong with the reason why the server was not tried.
fn untried_problem(wire: &WireManifest, document: &Document) -> Option<CatalogueError> {
    let reason = wire.untried.as_ref()?;
    let text = reason.get_ref().trim();
    let problem = if text.is_empty() {
        "`untried` is empty: give the reason why the server was not tried, or remove the key".to_owned()
    } else if text.chars().count() > MAX_UNTRIED || text.contains(char::is_control) {
        format!("`untried` must be one line of at most {MAX_UNTRIED} characters")
    } else if wire.container.is_none() {
        "`untried` is only for a server with [container]".to_owned()
    } else {
        return None;
    };
    Some(document.complain(Some(reason.span().start), problem))
}

fn forms_of(wire: &WireManifest, document: &Document) -> Result<BTreeMap<String, Form>, Vec<CatalogueError>> {
    let mut errors = Vec::new();
    let forms = wire.forms.as_ref();
    let own = wire.run.env.iter();
    let of_forms = forms.iter().flat_map(|forms| forms.get_ref().values());
    for (key, value) in own.chain(of_forms.flat_map(|form| &form.get_ref().env)) {
        let problem = match variables::check(value.get_ref()) {
            _ if key.starts_with("PACELINE_") => format!("`{key}` is set by the lab: use another name"),
            Ok(()) => continue,
            Err(problem) => problem,
        };
        errors.push(document.complain(Some(value.span().start), problem));
    }
    let mut known = BTreeMap::new();
    for (name, form) in forms.iter().flat_map(|forms| forms.get_ref()) {
        match cores_of(name, form.get_ref()) {
            Ok(cores) => drop(known.insert(name.clone(), form_of(&wire.run, form.get_ref(), cores))),
            Err(problem) => errors.push(document.complain(Some(form.span().start), problem)),
        }
    }
    if forms.is_none() && wire.container.is_some() {
        // The cores that a container may use are its only form.
        known = USUAL_FORMS
            .map(|(name, cores)| (name.to_owned(), form_of(&wire.run, &WireForm::default(), cores)))
            .into();
    }
    if known.is_empty() && errors.is_empty() {
        let problem = match forms {
            Some(_) => "`forms` has neither `[forms.single]` nor `[forms.cores]`",
            None => "missing key `forms`",
        };
        errors.push(document.complain(forms.map(|forms| forms.span().start), problem));
    }
    if errors.is_empty() { Ok(known) } else { Err(errors) }
}

/// The cores of a form. `single` and `cores` say them by their name; a server's own form says them by the key `cores`.
fn cores_of(name: &str, form: &WireForm) -> Result<CoresWanted, String> {
    let usual = USUAL_FORMS.iter().find(|(usual, _)| *usual == name);
    let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match (usual, form.cores) {
        (Some((_, cores)), None) => Ok(*cores),
        (Some(_), Some(_)) => Err(format!("`cores` cannot be set for the form `{name}`, whose name says it")),
        (None, _) if name.is_empty() || !name.chars().all(named) => {
            Err(format!("the name of form `{name}` must have lower-case letters, digits and `-` only"))
        }
        (None, Some(cores)) => Ok(cores),
        (None, None) => {
            let near = nearest(name, USUAL_FORMS.iter().map(|(usual, _)| *usual));
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            Err(format!(
                "form `{name}` is neither `single` nor `cores`{near}: a form of the server's own needs `cores = \"one\"` or \
                 `cores = \"all\"`"
            ))
        }
    }
}

fn form_of(run: &WireRun, form: &WireForm, cores: CoresWanted) -> Form {
    let env = run.env.iter().chain(&form.env);
    let own = || run.command.as_ref().map(|command| command.get_ref().clone());
    Form {
        command: form.command.clone().or_else(own).unwrap_or_default(),
        env: env.map(|(key, value)| (key.clone(), value.get_ref().clone())).collect(),
        cores,
    }
}
