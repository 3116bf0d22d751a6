//! A site of files: the same pages as [`crate::WebServer`] serves, to be published by any file server.
//!
//! Every page that can be asked for without a choice of the visitor is one file of JSON, in a folder named by a digest of
//! all of them: browsers may keep them for ever, and only `index.html` changes its content. What a server computes on
//! request (the comparison of any two servers, scores over chosen tables, downloads) is not there, and the pages say so.

use crate::assets::{self, ASSETS};
use crate::content::page_json;
use crate::guard::CONTENT_SECURITY_POLICY;
use crate::page::{CapacityPage, IndexPage, OverallPage, RoundEntry, RoundPage, RunPage};
use crate::{Library, ReadRound, WebError};
use paceline_report::Report;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The newest rounds of a plan that are compared with each other; the pages offer these (`ui/src/pairs.ts`).
const COMPARED: usize = 4;
/// The folder of pages in a site.
const PAGES: &str = "pages";
/// The folder of pages while it is written.
const UNFINISHED: &str = "unfinished";
/// The digits of the digest that name the folder of the pages.
const DIGITS: usize = 16;
/// The name of the element that refers to the pages (`ui/src/api.ts`), by which a site is recognised too.
const MARK: &str = "paceline-pages";

/// The longest id of a site, in bytes of the name of its file: the name of a comparison has two of them, and a file
/// system allows 255 bytes.
const MAX_ID_BYTES: usize = 110;

/// Takes pages by the paths that a server would have for them.
pub(crate) trait PageSink {
    /// Takes a page.
    ///
    /// # Errors
    /// [`WebError`] when it cannot be written.
    fn put(&mut self, path: String, page: &impl Serialize) -> Result<(), WebError>;

    /// Takes the page of a round, with its overall scores.
    ///
    /// # Errors
    /// As [`PageSink::put`].
    fn put_round(&mut self, page: &RoundPage, report: &Report) -> Result<(), WebError> {
        let id = &page.about.id;
        for metric in page.tables.iter().map(|table| table.metric).collect::<BTreeSet<_>>() {
            if let Some(scores) = OverallPage::new(page, report, metric, &[]) {
                self.put(format!("/api/rounds/{id}/overall?metric={metric}"), &scores)?;
            }
        }
        self.put(format!("/api/rounds/{id}"), page)
    }
}

/// What a site contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteContents {
    /// Rounds.
    pub rounds: usize,
    /// Runs, each with a page.
    pub runs: usize,
    /// Files of pages.
    pub files: usize,
    /// Their length.
    pub bytes: u64,
}

/// Writes the pages of all rounds to a folder, which is created; a site in it is replaced. `reading` is called with the
/// id of each round before it is read.
///
/// # Errors
/// [`WebError::NotSite`] when the folder has other contents, [`WebError::Unreadable`] when a round cannot be read,
/// [`WebError::LongId`] when no file can be named after one of its ids, or what is wrong with a record or a file. An
/// earlier site then stays as it was.
pub fn write_site(
    library: &Library,
    folder: &Path,
    reading: &mut dyn FnMut(&str),
) -> Result<SiteContents, WebError> {
    check_target(folder)?;
    let mut index = library.index()?;
    if !index.unreadable.is_empty() {
        return Err(WebError::Unreadable(index.unreadable));
    }
    let mut pages = PageFolder::begin(folder)?;
    let mut contents = SiteContents { rounds: index.rounds.len(), ..SiteContents::default() };
    let mut servers = BTreeSet::new();
    for entry in &mut index.rounds {
        reading(&entry.id);
        let read = library.round(&entry.id)?;
        check_ids(entry, &read)?;
        pages.put_round(read.page(), read.report())?;
        pages.put(format!("/api/rounds/{}/servers", entry.id), &read.page().servers)?;
        for trial in read.trials() {
            let run = RunPage::of_trial(&library.trial(&entry.id, &trial.id)?);
            pages.put(format!("/api/rounds/{}/runs/{}", entry.id, trial.id), &run)?;
            contents.runs += 1;
        }
        if !entry.imported {
            servers.extend(read.page().servers.keys().cloned());
        }
        // A folder is listed before its trials are counted.
        entry.kept.get_or_insert(read.trials().len() as u64);
    }
    if let Some(run) = library.run() {
        pages.put("/api/run".to_owned(), &RunPage::of_run(run))?;
        contents.runs += 1;
    }
    if let Some(capacity) = library.capacity() {
        pages.put("/api/capacity".to_owned(), &CapacityPage::new(capacity))?;
    }
    put_comparisons(library, &index.rounds, &mut pages)?;
    let timelines = library.timelines()?;
    for server in servers {
        if let Some(page) = timelines.page(&server) {
            pages.put(format!("/api/servers/{server}"), &page)?;
        }
    }
    pages.put("/api/then".to_owned(), &library.then()?)?;
    pages.write("/api/answers", library.answers()?.plain())?;
    // Where the rounds are on this machine does not concern visitors.
    pages.put("/api/index".to_owned(), &IndexPage { place: String::new(), ..index })?;
    (contents.files, contents.bytes) = pages.finish()?;
    Ok(contents)
}

/// Refuses a round with an id that is too long for the name of a file. Imported rounds have no pages of servers.
fn check_ids(entry: &RoundEntry, read: &ReadRound) -> Result<(), WebError> {
    let trials = read.trials().iter().map(|trial| &trial.id);
    let servers = read.page().servers.keys().filter(|_| !entry.imported);
    let mut ids = std::iter::once(&entry.id).chain(trials).chain(servers);
    match ids.find(|id| encoded(id).len() > MAX_ID_BYTES) {
        Some(id) => Err(WebError::LongId { round: start(&entry.id), id: start(id) }),
        None => Ok(()),
    }
}

/// The beginning of an id, for a message.
fn start(id: &str) -> String {
    id.chars().take(40).collect()
}

/// The comparisons of the newest rounds of each plan.
fn put_comparisons(library: &Library, rounds: &[RoundEntry], pages: &mut PageFolder) -> Result<(), WebError> {
    let mut plans: BTreeMap<&str, Vec<&RoundEntry>> = BTreeMap::new();
    for entry in rounds.iter().filter(|entry| !entry.imported) {
        plans.entry(&entry.plan).or_default().push(entry);
    }
    for newest in plans.values().map(|entries| &entries[..entries.len().min(COMPARED)]) {
        let read = newest.iter().map(|entry| library.round(&entry.id)).collect::<Result<Vec<_>, _>>()?;
        for (at, a) in read.iter().enumerate() {
            for (_, b) in read.iter().enumerate().filter(|(other, _)| *other != at) {
                let page = library.comparison([a, b], [None, None]);
                pages.put(format!("/api/compare?a={}&b={}", a.page().about.id, b.page().about.id), &page)?;
            }
        }
    }
    Ok(())
}

/// Refuses a folder with other contents than a site: files in it may be replaced or removed.
fn check_target(folder: &Path) -> Result<(), WebError> {
    let failed = |source| WebError::Read { path: folder.to_owned(), source };
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    let index = folder.join("index.html");
    let is_site = || {
        let text = paceline_files::read_text(&index, paceline_files::MAX_TEXT_BYTES);
        text.is_ok_and(|text| text.contains(MARK))
    };
    if entries.next().is_none() || is_site() || has_only_unfinished(folder) {
        Ok(())
    } else {
        Err(WebError::NotSite { path: folder.to_owned() })
    }
}

/// Whether a folder has only what an interrupted first writing leaves.
fn has_only_unfinished(folder: &Path) -> bool {
    let names = |folder: &Path| -> Option<Vec<_>> {
        fs::read_dir(folder).ok()?.map(|entry| Some(entry.ok()?.file_name())).collect()
    };
    names(folder).is_some_and(|names| names == [PAGES])
        && names(&folder.join(PAGES)).is_some_and(|names| names == [UNFINISHED])
}

/// The file of a page in the folder of pages.
fn file_name(path: &str) -> String {
    encoded(path.trim_start_matches("/api/")) + ".json"
}

/// A path as names of folders and a file: its letters, digits, `_` and `-` stay, and every other byte becomes `~` with two
/// hexadecimal digits, so that no id can name another folder.
fn encoded(path: &str) -> String {
    let mut name = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'/' => name.push(char::from(byte)),
            other => name.push_str(&format!("~{other:02x}")),
        }
    }
    name.replace("//", "/~2f")
}

/// A folder of pages that is being written.
struct PageFolder {
    site: PathBuf,
    digest: Sha256,
    files: usize,
    bytes: u64,
}

impl PageSink for PageFolder {
    fn put(&mut self, path: String, page: &impl Serialize) -> Result<(), WebError> {
        self.write(&path, page_json(page)?.as_bytes())
    }
}

impl PageFolder {
    /// Begins a folder; what an interrupted writing left is removed.
    fn begin(site: &Path) -> Result<Self, WebError> {
        let pages = Self { site: site.to_owned(), digest: Sha256::new(), files: 0, bytes: 0 };
        let folder = pages.unfinished();
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::create_dir_all(&folder),
        }
        .map_err(|source| WebError::Write { path: folder, source })?;
        Ok(pages)
    }

    fn unfinished(&self) -> PathBuf {
        self.site.join(PAGES).join(UNFINISHED)
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), WebError> {
        let name = file_name(path);
        self.digest.update(format!("{name} {}\n", bytes.len()));
        self.digest.update(bytes);
        self.files += 1;
        self.bytes += bytes.len() as u64;
        write_new(&self.unfinished().join(name), bytes)
    }

    /// Names the folder by its digest, writes the other files, and then removes those of an earlier site. Returns the
    /// number of files of pages, and their length.
    fn finish(self) -> Result<(usize, u64), WebError> {
        let unfinished = self.unfinished();
        let digest = self.digest.finalize();
        let digits: String = digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        let pages = self.site.join(PAGES).join(&digits);
        let failed = |source| WebError::Write { path: pages.clone(), source };
        if pages.is_dir() {
            fs::remove_dir_all(&unfinished).map_err(failed)?;
        } else {
            fs::rename(&unfinished, &pages).map_err(failed)?;
        }
        let assets = self.site.join(assets::folder().trim_start_matches('/'));
        for asset in ASSETS {
            write_new(&assets.join(asset.path.trim_start_matches('/')), asset.bytes)?;
        }
        let index = self.site.join("index.html");
        paceline_files::replace(&index, site_index(&digits).as_bytes())
            .map_err(|source| WebError::Write { path: index, source })?;
        remove_others(&pages)?;
        remove_others(&assets)?;
        Ok((self.files, self.bytes))
    }
}

/// The page that loads the others, with the folder of the pages, and the policy that a server sends as a header.
fn site_index(digits: &str) -> String {
    // A policy in the page cannot say who may frame it.
    let policy = CONTENT_SECURITY_POLICY.replace("; frame-ancestors 'none'", "");
    let head = format!(
        "<head>\n    <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n    \
         <meta name=\"{MARK}\" content=\"./{PAGES}/{digits}\">"
    );
    assets::index().replacen("<head>", &head, 1)
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), WebError> {
    let create = path.parent().map_or(Ok(()), fs::create_dir_all);
    create
        .and_then(|()| fs::write(path, bytes))
        .map_err(|source| WebError::Write { path: path.to_owned(), source })
}

/// Removes the folders beside this one: those of an earlier site. Files are not of a site: a file manager left them.
fn remove_others(kept: &Path) -> Result<(), WebError> {
    let Some(parent) = kept.parent() else { return Ok(()) };
    let failed = |source| WebError::Write { path: parent.to_owned(), source };
    for entry in fs::read_dir(parent).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if path != kept && entry.file_type().map_err(failed)?.is_dir() {
            fs::remove_dir_all(&path).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_names_another_folder() {
        for (path, name) in [
            ("/api/index", "index.json"),
            ("/api/rounds/a-1/runs/b_2", "rounds/a-1/runs/b_2.json"),
            ("/api/compare?a=x&b=y", "compare~3fa~3dx~26b~3dy.json"),
            ("/api/rounds/../../x", "rounds/~2e~2e/~2e~2e/x.json"),
            ("/api/rounds//etc/ü", "rounds/~2fetc/~c3~bc.json"),
        ] {
            assert_eq!(file_name(path), name);
        }
    }
}
