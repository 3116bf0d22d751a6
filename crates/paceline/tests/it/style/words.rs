//! Finds words, paths and hosts that do not belong in the repository.
//!
//! Called by `mod.rs` for every text file, including documents and scripts. It checks single words only; the correct
//! use of the glossary in sentences needs a reader.

use super::Violation;
use super::files::{self, File};

/// Ambiguous words: readers associate them with different numbers. They never stand alone.
const AMBIGUOUS: [&str; 2] = ["latenc", "throughput"];

/// External names that contain such a word: wrk's flag, the kernel's device, its file of an idle state.
const QUALIFIED: [&str; 4] = ["--latency", "cpu_dma_latency", "/latency", "idle-state latency"];

/// Files and folders that quote reports and scripts of other tools literally, or settings with their keys.
const QUOTING: [&str; 9] = [
    "crates/import/",
    "crates/lua/src/",
    "crates/peers/src/",
    "crates/paceline/tests/it/lab/resumed_rounds.rs",
    "crates/paceline/tests/it/requests/scripts.rs",
    "crates/paceline/tests/it/style/words.rs",
    "fuzz/seeds/",
    "servers/scala-play/conf/",
    "speed/scripts/percentiles.lua",
];

/// Top folders of one user or machine; a path into one is valid on one machine only.
const OWN_FOLDERS: [&str; 7] = ["home", "root", "Users", "work", "farm", "mnt", "media"];

/// Allowed hosts: documents, and names inside formats. A registry is never named, so that the one configured on a
/// machine is used.
const HOSTS: [&str; 15] = [
    "docs.rs",
    "doi.org",
    "example.com",
    "github.com",
    "hdrhistogram.github.io",
    "json-schema.org",
    "maven.apache.org",
    "no-color.org",
    "rustup.rs",
    "www.apache.org",
    "www.example.com",
    "protobuf.dev",
    "www.rfc-editor.org",
    "www.sqlite.org",
    "www.w3.org",
];

/// Reserved top-level names (RFC 2606 and 6761), as used in tests.
const NOBODYS: [&str; 4] = ["test", "example", "invalid", "localhost"];

/// What precedes the name of a variable of the environment in code. The last one finds names in constants and lists.
const VARIABLE_MARKS: [&str; 4] = ["var(\"", "var_os(\"", "env = \"", "\"PACELINE_"];

/// Whether a file quotes foreign text.
fn is_quoting(file: &File) -> bool {
    QUOTING.iter().any(|place| file.path.starts_with(place))
}

/// The lines of a file with their numbers.
fn lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// Finds markers of unfinished work.
pub fn left_to_do(file: &File) -> Vec<Violation> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let has = |line: &str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| marks.contains(&word));
    lines(file).filter(|(_, line)| has(line)).map(|(at, line)| file.at(at, line.trim())).collect()
}

/// Finds words that do not say which time or which rate.
pub fn ambiguous(file: &File) -> Vec<Violation> {
    if is_quoting(file) {
        return Vec::new();
    }
    let is_document = file.path.ends_with(".md");
    let has = |line: &str| {
        let mut line = line.to_lowercase();
        for name in QUALIFIED {
            line = line.replace(name, "");
        }
        let line = if is_document { outside_quotes(&line) } else { line };
        AMBIGUOUS.iter().any(|word| line.contains(word))
    };
    lines(file).filter(|(_, line)| has(line)).map(|(at, line)| file.at(at, line.trim())).collect()
}

/// A line without the parts in double quotes.
fn outside_quotes(line: &str) -> String {
    line.split('"').step_by(2).collect()
}

/// Finds variables of the environment that the code of a crate reads, and no document written by hand names.
pub fn undocumented_variables() -> Vec<Violation> {
    let is_document = |file: &&File| {
        file.path == "CONTRIBUTING.md" || file.path.starts_with("docs/") && file.path.ends_with(".md")
    };
    let documents: Vec<&File> = files::tracked().iter().filter(is_document).collect();
    let is_named = |name: &str| {
        let forms = [format!("`{name}`"), format!("`{name}=")];
        documents.iter().any(|document| forms.iter().any(|form| document.text.contains(form)))
    };
    let is_code = |file: &&File| {
        let is_product = file.path.starts_with("crates/") || file.path.starts_with("speed/");
        is_product && file.is_rust() && !file.is_test() && file.path.contains("/src/")
    };
    let of_file = |file: &'static File| {
        let named = lines(file).flat_map(|(at, line)| variables(line).map(move |name| (at, name)));
        let missing = named.filter(|(_, name)| !is_named(name));
        missing.map(|(at, name)| file.at(at, &format!("`{name}` is in no document"))).collect::<Vec<_>>()
    };
    files::tracked().iter().filter(is_code).flat_map(of_file).collect()
}

/// The variables of the environment that a line of code names. Those of the build (`env!`) are none.
fn variables(line: &str) -> impl Iterator<Item = &str> {
    let marks = VARIABLE_MARKS.into_iter().filter(move |_| !line.contains("env!("));
    let names = marks.flat_map(move |mark| {
        let start = mark.find('"').map_or(0, |quote| quote + 1);
        line.match_indices(mark).filter_map(move |(at, _)| line[at + start..].split('"').next())
    });
    let is_variable = |name: &&str| {
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        !name.is_empty() && !name.ends_with('_') && name.bytes().all(is_letter)
    };
    names.filter(is_variable)
}

/// Finds paths and hosts that are valid on one machine only.
pub fn of_one_machine(file: &File) -> Vec<Violation> {
    let mut found = Vec::new();
    if is_quoting(file) {
        return found;
    }
    for (at, line) in lines(file) {
        found.extend(own_path(line).map(|path| file.at(at, &format!("a path of one machine: {path}"))));
        let unlisted = hosts(line).filter(|host| !is_public(host));
        found.extend(unlisted.map(|host| file.at(at, &format!("a host that is not listed: {host}"))));
    }
    found
}

/// Finds an absolute path into such a folder.
fn own_path(line: &str) -> Option<&str> {
    OWN_FOLDERS.iter().find_map(|folder| {
        let path = format!("/{folder}/");
        let is_absolute = |at: &usize| {
            let before = line[..*at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "_.-/})*".contains(c))
        };
        let (at, _) = line.match_indices(&path).find(|(at, _)| is_absolute(at))?;
        line[at..].split([' ', '"', '\'', '`', ')']).next()
    })
}

/// The hosts of the URLs of a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let starts = line.match_indices("://").map(|(at, mark)| &line[at + mark.len()..]);
    starts.map(|rest| {
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-')).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.')
    })
}

/// Whether a host is listed, reserved, an address, or not a host.
fn is_public(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let (_, top) = host.rsplit_once('.').unwrap_or(("", "localhost"));
    let is_address = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_address || NOBODYS.contains(&top) || HOSTS.contains(&host.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn marks_of_unfinished_work_are_found() {
        let text = format!("// {}: later\nlet todos = 1;", concat!("TO", "DO"));
        assert_eq!(left_to_do(&file("a.rs", &text)).len(), 1);
    }

    #[test]
    fn ambiguous_words_are_found_but_for_quotations() {
        let found = |path: &str, text: &str| ambiguous(&file(path, text)).len();
        assert_eq!(found("a.rs", "let latency_ns = 1;\nlet max_throughput = 2;\nlet lateness = 3;"), 2);
        assert_eq!(found("a.rs", "println!(\"Latency\");"), 1);
        assert_eq!(found("a.rs", "wrk --latency"), 0);
        assert_eq!(found("a.md", "What others call \"latency\" is one of two times."), 0);
        assert_eq!(found("a.md", "Latency is \"fine\"."), 1);
    }

    #[test]
    fn variables_are_found_where_they_are_read() {
        let found = |line| variables(line).collect::<Vec<_>>();
        assert_eq!(found("std::env::var_os(\"HOME\").or(std::env::var(\"TERM\"))"), ["TERM", "HOME"]);
        assert_eq!(found("#[arg(long, env = \"PACELINE_A\")]"), ["PACELINE_A", "PACELINE_A"]);
        assert_eq!(found("const NAME: &str = \"PACELINE_B2\";"), ["PACELINE_B2"]);
        for line in
            ["option_env!(\"PACELINE_C\")", "key.starts_with(\"PACELINE_\")", "(target_env = \"musl\")"]
        {
            assert!(found(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn paths_and_hosts_of_one_machine_are_found() {
        let found = |text: &str| of_one_machine(&file("a.rs", text)).len();
        let own = format!("open(\"/{}/me/x\")", OWN_FOLDERS[0]);
        assert_eq!(found(&own), 1);
        assert_eq!(found("crates/lab/src/work/x.rs and $HOME/work/x"), 0);
        assert_eq!(
            found("http://127.0.0.1:80/ http://localhost/ http://a.test/ http://h:1/ https://github.com/x"),
            0
        );
        assert_eq!(found(concat!("https:", "//mirror.corp.net/simple")), 1);
    }
}
