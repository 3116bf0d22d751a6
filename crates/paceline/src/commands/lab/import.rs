//! `paceline lab import BOARD DIR`: writes a manifest for each entry of another board, and says what it skipped and why.
//!
//! The entries stay as they are: a manifest points to the folder. The catalogue reads the descriptions.

use crate::commands::format::PrintFormatFlag;
use crate::documents::{ImportDocument, UnwrittenTest, WrittenServer};
use crate::exit::{Complaint, Status};
use anyhow::Context as _;
use glob::Pattern;
use paceline_catalogue::{
    Catalogue, Entries, EntryFolder, ImportedServer, MANIFEST_FILE, Manifest, SkippedTest, read_httparena,
    read_techempower,
};
use paceline_report::{Align, Grid};
use paceline_stats::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Flags of `paceline lab import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab import techempower ~/FrameworkBenchmarks
  paceline lab import techempower ~/FrameworkBenchmarks --only gin fiber
  paceline lab import httparena ~/HttpArena --to ~/arena/servers

Exit status: 0 done, 1 nothing was imported, 2 there is no entry in DIR")]
pub struct Arguments {
    /// The board whose entries DIR has
    board: Board,
    /// A copy of its repository, its folder of frameworks, or one of those
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Import only these: a framework's folder, or a server's id; `*` stands for any text
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<Pattern>,
    /// The folder that gets a folder for each server [default: the servers' folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// Longest id: names of logs and containers add up to 50 bytes to it, and a file's name has at most 255 (NAME_MAX).
const MAX_ID_BYTES: usize = 200;
/// Why a server is skipped whose folder exists, or that another entry has just made.
const TAKEN: &str = "there is a server of this name";

/// A board whose entries can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Board {
    /// TechEmpower's framework benchmarks
    Techempower,
    /// HttpArena
    Httparena,
}

impl Board {
    /// The name of a description.
    fn file(self) -> &'static str {
        match self {
            Board::Techempower => "benchmark_config.json",
            Board::Httparena => "meta.json",
        }
    }

    fn read(self, entry: &EntryFolder<'_>) -> Result<Entries, String> {
        match self {
            Board::Techempower => read_techempower(entry),
            Board::Httparena => read_httparena(entry),
        }
    }
}

/// What was found in all folders.
#[derive(Default)]
struct Found {
    folders: usize,
    servers: Vec<ImportedServer>,
    skipped: Vec<SkippedTest>,
}

/// Reads every entry, writes the manifests and prints what was skipped.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let folder = arguments.folder.canonicalize();
    let folder = folder.with_context(|| format!("cannot open {}", arguments.folder.display()))?;
    let entries = entries(&folder, arguments.board.file());
    if entries.is_empty() {
        let what = format!("there is no {} in {} or below", arguments.board.file(), folder.display());
        return Err(Complaint::usage(what).into());
    }
    let mut found = Found::default();
    for entry in &entries {
        read(entry, arguments, &mut found);
    }
    let to = arguments.to.as_ref().unwrap_or(&catalogue.folders.servers_dir);
    let written = write_all(&mut found, to, arguments.dry_run)?;
    arguments.print.print_line(&described(&found, &written, to))?;
    let is_empty = written.is_empty();
    arguments.print.print_document(&document(found, written))?;
    Ok(if is_empty { Status::Failed } else { Status::Done })
}

/// The same for programs.
fn document(found: Found, written: Vec<ImportedServer>) -> ImportDocument {
    let server =
        |ImportedServer { id, language, left_out, .. }| WrittenServer { server: id, language, left_out };
    let test = |SkippedTest { test, language, why, .. }| UnwrittenTest { test, language, reason: why };
    ImportDocument {
        folders: found.folders,
        servers: written.into_iter().map(server).collect(),
        skipped: found.skipped.into_iter().map(test).collect(),
    }
}

/// The folders with a description, at most three levels below `folder`: repository, frameworks, language, framework.
fn entries(folder: &Path, file: &str) -> Vec<PathBuf> {
    let (mut found, mut level) = (Vec::new(), vec![folder.to_owned()]);
    for _ in 0..4 {
        let (with, without): (Vec<PathBuf>, Vec<PathBuf>) =
            level.into_iter().partition(|folder| folder.join(file).is_file());
        found.extend(with);
        let below = without.iter().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path());
        level = below.filter(|path| path.is_dir() && !path.is_symlink()).collect();
    }
    found.sort();
    found
}

/// Adds what one folder has.
fn read(folder: &Path, arguments: &Arguments, found: &mut Found) {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_meant =
        |text: &str| arguments.only.is_empty() || arguments.only.iter().any(|pattern| pattern.matches(text));
    let has_file = |name: &str| folder.join(name).is_file();
    let text =
        paceline_files::read_text(&folder.join(arguments.board.file()), paceline_files::MAX_TEXT_BYTES);
    let text = text.map_err(|error| format!("its description cannot be read: {error}"));
    let read = text.and_then(|text| {
        let read = arguments.board.read(&EntryFolder { folder, text: &text, has_file: &has_file });
        read.map_err(|problem| format!("its description is wrong: {problem}"))
    });
    let folder_is_meant = is_meant(&name);
    match read {
        Ok(entries) => {
            let servers = entries.servers.into_iter();
            let servers: Vec<_> = servers.filter(|server| folder_is_meant || is_meant(&server.id)).collect();
            let is_meant = |test: &SkippedTest| folder_is_meant || test.id.as_deref().is_some_and(is_meant);
            let skipped: Vec<_> = entries.skipped.into_iter().filter(is_meant).collect();
            if folder_is_meant || !servers.is_empty() || !skipped.is_empty() {
                found.folders += 1;
            }
            found.servers.extend(servers);
            found.skipped.extend(skipped);
        }
        Err(why) if folder_is_meant => {
            found.folders += 1;
            found.skipped.push(SkippedTest { test: name, id: None, language: String::new(), why });
        }
        Err(_) => {}
    }
}

/// Writes the folders of the found servers, each id once. Returns the servers that were written, or would be.
fn write_all(found: &mut Found, to: &Path, dry_run: bool) -> anyhow::Result<Vec<ImportedServer>> {
    let (mut written, mut ids) = (Vec::new(), BTreeSet::new());
    for server in std::mem::take(&mut found.servers) {
        // A dry run makes no folder that would show it.
        let why = match ids.contains(&server.id) {
            true => Some(TAKEN.to_owned()),
            false => write(&server, to, dry_run)?,
        };
        match why {
            None => {
                ids.insert(server.id.clone());
                written.push(server);
            }
            Some(why) => {
                let ImportedServer { id, language, .. } = server;
                found.skipped.push(SkippedTest { test: id.clone(), id: Some(id), language, why });
            }
        }
    }
    Ok(written)
}

/// Writes a server's folder. Returns why it is skipped instead.
fn write(server: &ImportedServer, to: &Path, dry_run: bool) -> anyhow::Result<Option<String>> {
    if server.id.len() > MAX_ID_BYTES {
        return Ok(Some(format!("its id would be longer than {MAX_ID_BYTES} characters")));
    }
    let folder = to.join(&server.id);
    if let Err(error) = Manifest::parse(&folder, &server.manifest) {
        return Ok(Some(format!("its manifest would be wrong: {error}")));
    }
    if folder.exists() {
        return Ok(Some(TAKEN.to_owned()));
    }
    if !dry_run {
        let written = write_folder(&folder, &server.manifest);
        written.with_context(|| format!("cannot write {}", folder.display()))?;
    }
    Ok(None)
}

/// Makes a server's folder with its manifest. One without would count as a server of this name in the next import: it
/// is removed.
fn write_folder(folder: &Path, manifest: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = folder.join(MANIFEST_FILE);
    fs::write(&file, manifest).inspect_err(|_| {
        // The error at hand is the one to report.
        let _ = fs::remove_file(&file);
        let _ = fs::remove_dir(folder);
    })
}

/// The result in words: a table by language, the reasons, what is left out.
fn described(found: &Found, written: &[ImportedServer], to: &Path) -> String {
    let of = |server: &ImportedServer| server.language.to_lowercase();
    let languages: BTreeSet<String> =
        written.iter().map(of).chain(found.skipped.iter().map(|one| one.language.to_lowercase())).collect();
    let mut rows = vec![["language", "imported", "skipped"].map(str::to_owned)];
    for language in &languages {
        let imported = written.iter().filter(|server| of(server) == *language).count();
        let skipped = found.skipped.iter().filter(|one| one.language.to_lowercase() == *language).count();
        let name = if language.is_empty() { "?" } else { language };
        rows.push([name.to_owned(), imported.to_string(), skipped.to_string()]);
    }
    let mut text = Grid::text(&[Align::Left, Align::Right, Align::Right], &rows, 0);
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &found.skipped {
        reasons.entry(&one.why).or_default().push(&one.test);
    }
    for (why, tests) in &reasons {
        let named = tests.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let more = if tests.len() > 3 { ", ..." } else { "" };
        text.push_str(&format!(
            "skipped, {}: {why} ({named}{more})\n",
            counted(tests.len(), "test", "tests")
        ));
    }
    let mut left_out: BTreeMap<&str, usize> = BTreeMap::new();
    for what in written.iter().flat_map(|server| &server.left_out) {
        *left_out.entry(what).or_default() += 1;
    }
    for (what, count) in left_out {
        text.push_str(&format!("not a workload here, in {}: {what}\n", counted(count, "test", "tests")));
    }
    let (folders, servers) =
        (counted(found.folders, "folder", "folders"), counted(written.len(), "server", "servers"));
    format!(
        "{text}{servers} from {folders}, {} skipped; the servers' folder is {}\n",
        counted(found.skipped.len(), "test", "tests"),
        to.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, FromArgMatches as _};

    #[test]
    fn a_skipped_test_is_named_by_the_id_that_it_would_have() {
        let test = |database: &str| {
            format!(
                "{{ \"db_url\": \"/db\", \"port\": 80, \"language\": \"Go\", \"database\": \"{database}\" }}"
            )
        };
        let (postgres, mongo) = (test("postgres"), test("MongoDB"));
        let text = format!(
            "{{ \"framework\": \"gin\", \"tests\": [{{ \"default\": {postgres}, \"mongo\": {mongo} }}] }}"
        );
        let folder = tempfile::tempdir().unwrap();
        let entry = folder.path().join("Gin");
        fs::create_dir(&entry).unwrap();
        for (name, text) in [("benchmark_config.json", text.as_str()), ("gin.dockerfile", "FROM scratch\n")] {
            fs::write(entry.join(name), text).unwrap();
        }
        fs::copy(entry.join("gin.dockerfile"), entry.join("gin-mongo.dockerfile")).unwrap();
        for (only, servers, reasons) in [
            ("go-gin-mongo", 0, &["needs MongoDB"][..]),
            ("go-gin", 1, &[]),
            ("Gin", 1, &["needs MongoDB"]),
            ("go-echo", 0, &[]),
        ] {
            let command = Arguments::augment_args(clap::Command::new("import"));
            let words = ["import", "techempower", ".", "--only", only];
            let matches = command.try_get_matches_from(words).unwrap();
            let mut found = Found::default();
            read(&entry, &Arguments::from_arg_matches(&matches).unwrap(), &mut found);
            let why: Vec<&str> = found.skipped.iter().map(|one| one.why.as_str()).collect();
            assert_eq!((found.servers.len(), why.as_slice()), (servers, reasons), "{only}");
            assert_eq!(found.folders, usize::from(only != "go-echo"), "{only}");
        }
    }

    #[test]
    fn a_dry_run_imports_what_an_import_does() {
        let test = "{ \"default\": { \"json_url\": \"/json\", \"port\": 8080, \"language\": \"Go\" } }";
        let text = format!("{{ \"framework\": \"gin\", \"tests\": [{test}, {test}] }}");
        let folder = tempfile::tempdir().unwrap();
        let entry = EntryFolder { folder: folder.path(), text: &text, has_file: &|_: &str| true };
        let of_twins = || Found { servers: read_techempower(&entry).unwrap().servers, ..Found::default() };
        for dry_run in [true, false] {
            let mut found = of_twins();
            let written = write_all(&mut found, folder.path(), dry_run).unwrap();
            assert_eq!(written.iter().map(|server| server.id.as_str()).collect::<Vec<_>>(), ["go-gin"]);
            let skipped = found.skipped.iter().map(|one| (one.test.as_str(), one.why.as_str()));
            assert_eq!(skipped.collect::<Vec<_>>(), [("go-gin", TAKEN)]);
        }
    }

    #[test]
    fn a_name_that_no_file_can_have_does_not_end_the_import() {
        let of_framework = |name: &str| {
            let test = "\"json_url\": \"/json\", \"port\": 8080, \"language\": \"Go\"";
            format!("{{ \"framework\": \"{name}\", \"tests\": [{{ \"default\": {{ {test} }} }}] }}")
        };
        let folder = tempfile::tempdir().unwrap();
        let mut found = Found::default();
        for name in ["x".repeat(300), "gin".to_owned()] {
            let text = of_framework(&name);
            let entry = EntryFolder { folder: folder.path(), text: &text, has_file: &|_: &str| true };
            found.servers.extend(read_techempower(&entry).unwrap().servers);
        }
        let written = write_all(&mut found, folder.path(), false).unwrap();
        assert_eq!((written.len(), found.skipped.len()), (1, 1));
        assert_eq!(found.skipped[0].why, "its id would be longer than 200 characters");
    }

    #[test]
    fn a_folder_whose_manifest_cannot_be_written_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let mut to = root.path().to_owned();
        while to.as_os_str().len() < 3_900 {
            to.push("a".repeat(100));
        }
        // A path has at most 4,095 bytes on Linux (PATH_MAX): that of the folder fits, that of the manifest does not.
        let folder = to.join("b".repeat(4_089 - to.as_os_str().len()));
        write_folder(&folder, "name = \"b\"").unwrap_err();
        assert!(to.is_dir() && !folder.exists());
        let folder = root.path().join("c");
        write_folder(&folder, "name = \"c\"").unwrap();
        assert!(folder.join(MANIFEST_FILE).is_file());
    }
}
