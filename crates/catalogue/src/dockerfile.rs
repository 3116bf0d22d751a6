//! Reads from a Dockerfile what building it would download and run, to be shown before it is built.
//!
//! It is not a full parser: an engine builds the file. What it does not understand is not listed.

use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of a text with the values of build arguments in it. A value may repeat earlier ones, so that it would
/// double with each line. The name of an image has at most 255 characters, a tag 128, a digest 71
/// (opencontainers/distribution-spec).
const MAX_EXPANDED: usize = 4096;

/// The instructions of Dockerfiles, `FROM` aside.
const INSTRUCTIONS: [&str; 17] = [
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// Programs that download what they are given, or packages of a language or system.
const DOWNLOADERS: [&str; 50] = [
    "curl",
    "wget",
    "git",
    "apt-get",
    "apt",
    "apk",
    "dnf",
    "yum",
    "pip",
    "pip3",
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "go",
    "cargo",
    "mvn",
    "gradle",
    "./gradlew",
    "./mvnw",
    "sbt",
    "lein",
    "clojure",
    "dotnet",
    "bundle",
    "gem",
    "composer",
    "pecl",
    "cabal",
    "stack",
    "opam",
    "mix",
    "shards",
    "aria2c",
    "conda",
    "cpanm",
    "dart",
    "luarocks",
    "microdnf",
    "nimble",
    "npx",
    "pacman",
    "poetry",
    "rebar3",
    "rustup",
    "svn",
    "swift",
    "uv",
    "zypper",
];

/// How addresses begin, those of git repositories without a scheme aside.
const SCHEMES: [&str; 5] = ["https://", "http://", "ftp://", "git://", "ssh://"];

/// What building a Dockerfile needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildNeeds {
    /// Images of other people, as written.
    pub images: Vec<String>,
    /// Programs that it runs and that download.
    pub downloaders: Vec<String>,
    /// Addresses that it names.
    pub addresses: Vec<String>,
}

impl BuildNeeds {
    /// Reads them from the text of a Dockerfile. A build argument has the value in `given`, or its default.
    pub fn from_dockerfile(text: &str, given: &BTreeMap<String, String>) -> Self {
        // BuildKit skips a byte order mark (`discardBOM`); with it the first instruction would have another name.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut needs, escape) = (Self::default(), escape(text));
        needs.images.extend(frontend(text));
        // Where the parsers differ, each could hide what the other one uses.
        for parser in [Parser::BuildKit, Parser::Imagebuilder] {
            let continuation = Continuation { parser, escape };
            let mut known = Known::of_given(given);
            for instruction in instructions(text, continuation) {
                needs.add(&instruction.line, &mut known, true);
                needs.add_below(&instruction, continuation, &mut known);
            }
        }
        needs
    }

    /// Adds what an instruction needs. One that may be part of a heredoc defines nothing (`is_certain`): it could
    /// hide the image that a later one uses.
    fn add(&mut self, line: &str, known: &mut Known<'_>, is_certain: bool) {
        let trigger = triggered(line);
        // Whether a later stage runs it is not known here.
        let (line, is_certain) = trigger.map_or((line, is_certain), |triggered| (triggered, false));
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        match keyword(line).as_str() {
            "ARG" => {
                for (name, default) in words.iter().filter_map(|word| word.split_once('=')) {
                    if trigger.is_some() {
                        known.triggered.insert(name.to_owned());
                        continue;
                    }
                    let value = if is_certain { known.value(name, default) } else { format!("${name}") };
                    known.define(name, value);
                }
            }
            "FROM" => {
                let mut names = words.iter().filter(|word| !word.starts_with("--"));
                self.add_image(names.next().unwrap_or(&""), known, &known.global);
                if let (Some(word), Some(name)) = (names.next(), names.next())
                    && word.eq_ignore_ascii_case("as")
                    && is_certain
                {
                    known.stages.insert(name.to_ascii_lowercase());
                }
                known.begin_stage(is_certain);
            }
            "COPY" | "ADD" => {
                let from = words.iter().find_map(|word| word.strip_prefix("--from="));
                // Only here a number can be a stage: BuildKit, `frontend/dockerfile/dockerfile2llb/convert.go`.
                let images = from.iter().filter(|from| !known.is_stage_number(from));
                images.for_each(|from| self.add_source(from, known));
            }
            "RUN" => {
                words
                    .iter()
                    .filter_map(|word| mounted_from(word))
                    .for_each(|from| self.add_source(from, known));
                self.add_programs(line);
            }
            _ => {}
        }
        self.add_addresses(line);
    }

    /// Adds what the heredocs of an instruction need. An engine that does not know heredocs reads their lines as
    /// instructions, up to the first line that is none.
    fn add_below(
        &mut self,
        instruction: &Instruction<'_>,
        continuation: Continuation,
        known: &mut Known<'_>,
    ) {
        let is_script = keyword(triggered(&instruction.line).unwrap_or(&instruction.line)) == "RUN";
        for line in &instruction.below {
            self.add_addresses(line);
            if is_script {
                self.add_programs(line);
            }
        }
        let mut below = instruction.below.iter().copied();
        while let Some(line) = next_instruction(&mut below, continuation) {
            if is_instruction(&line) {
                self.add(&line, known, false);
            } else if instruction.is_exact {
                break;
            }
        }
    }

    /// Adds the image of a `COPY` or a mount. The value of a build argument that a trigger may have set is not known;
    /// where none has, it is the global one.
    fn add_source(&mut self, image: &str, known: &Known<'_>) {
        self.add_image(image, known, &known.arguments);
        if !known.triggered.is_empty() {
            self.add_image(image, known, &known.global);
        }
    }

    /// Adds an image, with the values of these build arguments in its name.
    fn add_image(&mut self, image: &str, known: &Known<'_>, arguments: &BTreeMap<String, String>) {
        let image = expanded(image, arguments, known.given);
        let is_stage = known.stages.contains(&image.to_ascii_lowercase());
        let is_new = !image.is_empty() && image != "scratch" && !is_stage;
        if is_new && !self.images.contains(&image) {
            self.images.push(image);
        }
    }

    fn add_programs(&mut self, line: &str) {
        for word in line.split(|c: char| c.is_whitespace() || "&|;()\"',[]`".contains(c)) {
            // A program by its path. The last part of another path may be a folder, such as /usr/local/go.
            let program = word.rsplit_once("bin/").map_or(word, |(_, name)| name);
            if DOWNLOADERS.contains(&program) && !self.downloaders.iter().any(|known| known == program) {
                self.downloaders.push(program.to_owned());
            }
        }
    }

    fn add_addresses(&mut self, line: &str) {
        let begins = SCHEMES.iter().flat_map(|scheme| line.match_indices(scheme)).map(|(begin, _)| begin);
        for begin in begins.chain(ssh_repositories(line)) {
            let rest = &line[begin..];
            let end = rest.find(|c: char| c.is_whitespace() || "\"'`,;|)".contains(c)).unwrap_or(rest.len());
            if !self.addresses.iter().any(|known| known == &rest[..end]) {
                self.addresses.push(rest[..end].to_owned());
            }
        }
    }
}

/// What the instructions so far have defined, and the caller's build arguments.
struct Known<'a> {
    stages: BTreeSet<String>,
    /// The build arguments before the first `FROM`: the only ones that a `FROM` uses, whatever a stage defines
    /// (Dockerfile reference, understand how ARG and FROM interact).
    global: BTreeMap<String, String>,
    /// Those of the present stage, and the global ones that it may use.
    arguments: BTreeMap<String, String>,
    /// The build arguments that triggers so far set, in the stages that begin with theirs.
    triggered: BTreeSet<String>,
    /// Stages that have certainly begun.
    stage_count: usize,
    given: &'a BTreeMap<String, String>,
}

impl<'a> Known<'a> {
    fn of_given(given: &'a BTreeMap<String, String>) -> Self {
        let (global, arguments) = (BTreeMap::new(), BTreeMap::new());
        let (stages, triggered) = (BTreeSet::new(), BTreeSet::new());
        Self { stages, global, arguments, triggered, stage_count: 0, given }
    }

    fn define(&mut self, name: &str, value: String) {
        if self.stage_count == 0 {
            self.global.insert(name.to_owned(), value.clone());
        }
        self.arguments.insert(name.to_owned(), value);
    }

    /// A stage begins, without the arguments of the one before. If that is not certain, no value is; nor is one that a
    /// trigger may set, unless the caller gives it.
    fn begin_stage(&mut self, is_certain: bool) {
        if is_certain {
            self.stage_count += 1;
            self.arguments.clone_from(&self.global);
        } else {
            self.arguments.iter_mut().for_each(|(name, value)| *value = format!("${name}"));
        }
        let value = |name: &String| self.given.get(name).cloned().unwrap_or_else(|| format!("${name}"));
        self.arguments.extend(self.triggered.iter().map(|name| (name.clone(), value(name))));
    }

    /// Whether this is the number of a stage, from 0.
    fn is_stage_number(&self, from: &str) -> bool {
        let number = expanded(from, &self.arguments, self.given).parse::<usize>();
        number.is_ok_and(|number| number < self.stage_count)
    }

    /// The value of a build argument with this default.
    fn value(&self, name: &str, default: &str) -> String {
        let default = default.trim_matches(['"', '\'']);
        self.given.get(name).cloned().unwrap_or_else(|| expanded(default, &self.arguments, self.given))
    }
}

/// Where the addresses of git repositories over SSH without a scheme begin in a line: `git@HOST:PATH`. ADD clones one
/// of any user and host (BuildKit, `util/gitutil/git_url.go`). In other lines an alias (`npm install a@npm:b`) and the
/// digest of an image look alike.
fn ssh_repositories(line: &str) -> impl Iterator<Item = usize> + '_ {
    let is_add = keyword(line) == "ADD";
    line.match_indices('@').filter_map(move |(at, _)| {
        let is_user = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let before = line[..at].trim_end_matches(is_user);
        let (user, (host, path)) = (&line[before.len()..at], line[at + 1..].split_once(':')?);
        let in_host = |c: char| is_user(c) || ".${}".contains(c);
        let is_host = !host.is_empty() && host.chars().all(in_host);
        let is_usual = is_add || host.contains('.') || (user == "git" && !host.starts_with("sha"));
        // After a slash or a colon, it is a part of an address with a scheme.
        let is_address = is_host && is_usual && !user.is_empty() && !before.ends_with(['/', ':']);
        (is_address && path.starts_with(|c: char| !c.is_whitespace())).then_some(before.len())
    })
}

/// An instruction on one line, with the lines below it that are its heredocs.
struct Instruction<'a> {
    line: String,
    below: Vec<&'a str>,
    /// Whether `below` has nothing else. Otherwise it is the rest of the file, because the end of a heredoc is not
    /// known.
    is_exact: bool,
}

/// The parsers of the engines that build Dockerfiles.
#[derive(Clone, Copy)]
enum Parser {
    /// That of docker: moby/buildkit, `frontend/dockerfile/parser/parser.go`.
    BuildKit,
    /// That of podman: openshift/imagebuilder, `dockerfile/parser/parser.go`. Earlier versions of BuildKit's continue
    /// the same lines.
    Imagebuilder,
}

/// How a parser continues instructions: by an escape character at the end of a line, before spaces and tabs.
#[derive(Clone, Copy)]
struct Continuation {
    parser: Parser,
    escape: char,
}

impl Continuation {
    /// A line without its end, if that continues the instruction. After another escape character it does not for
    /// BuildKit, even if that one is escaped too.
    fn begun(self, line: &str) -> Option<&str> {
        let line = match self.parser {
            Parser::BuildKit => line.trim_end_matches('\r'),
            Parser::Imagebuilder => line,
        };
        let begun = line.trim_end_matches([' ', '\t']).strip_suffix(self.escape)?;
        let is_escaped = match self.parser {
            Parser::BuildKit => begun.ends_with(self.escape),
            Parser::Imagebuilder => false,
        };
        (!is_escaped).then_some(begun)
    }
}

fn instructions(text: &str, continuation: Continuation) -> Vec<Instruction<'_>> {
    let (mut all, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = next_instruction(&mut lines, continuation) {
        let heredocs = heredocs(&line);
        let is_exact = heredocs.is_some();
        let below = match heredocs {
            Some(heredocs) => heredocs.iter().flat_map(|heredoc| heredoc.body(&mut lines)).collect(),
            None => lines.by_ref().collect(),
        };
        all.push(Instruction { line, below, is_exact });
    }
    all
}

/// The next instruction, without comments, on one line. A comment or an empty line does not end an instruction that
/// goes on, and nothing is put between its lines.
fn next_instruction<'a>(
    lines: &mut impl Iterator<Item = &'a str>,
    continuation: Continuation,
) -> Option<String> {
    let mut current = String::new();
    for line in lines {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let part = if current.is_empty() { content } else { line };
        match continuation.begun(part) {
            Some(begun) => current.push_str(begun),
            None => return Some(current + part),
        }
    }
    (!current.is_empty()).then_some(current)
}

/// The instruction's name, in capital letters.
fn keyword(line: &str) -> String {
    line.split_whitespace().next().unwrap_or_default().to_ascii_uppercase()
}

/// The instruction of an `ONBUILD`, which a stage runs that begins with this one: BuildKit,
/// `frontend/dockerfile/dockerfile2llb/convert.go`.
fn triggered(line: &str) -> Option<&str> {
    let (_, instruction) = line.trim_start().split_once(char::is_whitespace)?;
    (keyword(line) == "ONBUILD").then(|| instruction.trim_start())
}

/// Whether a line in a heredoc could be an instruction: most texts with `from` (SQL, Python) could not.
fn is_instruction(line: &str) -> bool {
    let keyword = keyword(line);
    let words = line.split_whitespace().skip(1).filter(|word| !word.starts_with("--"));
    match (keyword.as_str(), words.collect::<Vec<_>>().as_slice()) {
        ("FROM", [_]) => true,
        ("FROM", [_, word, _]) => word.eq_ignore_ascii_case("as"),
        (keyword, _) => INSTRUCTIONS.contains(&keyword),
    }
}

/// A heredoc: `<<NAME`, or `<<-NAME`.
struct Heredoc {
    /// The line that ends it.
    name: String,
    /// Whether tabs before that line are ignored.
    strips_tabs: bool,
}

impl Heredoc {
    /// Its lines. The line that ends it is taken too.
    fn body<'a>(&self, lines: &mut impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let ends = |line: &str| {
            let line = line.trim_end_matches('\r');
            let line = if self.strips_tabs { line.trim_start_matches('\t') } else { line };
            line == self.name
        };
        lines.take_while(|line| !ends(line)).collect()
    }
}

/// The heredocs of an instruction: words such as `<<EOF`, `<<-EOF` and `3<<'EOF'` of RUN, COPY and ADD, as BuildKit
/// finds them (`frontend/dockerfile/parser/parser.go`). `None` where it might find others: it finds none on a line that
/// it cannot split into words, and a name in quotes may be any text.
fn heredocs(line: &str) -> Option<Vec<Heredoc>> {
    let mut keywords = line.split_whitespace().map(str::to_ascii_uppercase);
    let keyword = keywords.find(|word| word != "ONBUILD").unwrap_or_default();
    if !["RUN", "COPY", "ADD"].contains(&keyword.as_str()) || !line.contains("<<") {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for word in shell_words(line)? {
        let Some(rest) = word.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix("<<") else {
            continue;
        };
        let (strips_tabs, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
        if rest.is_empty() || rest.contains('<') {
            continue;
        }
        let quoted = ['"', '\''].iter().find_map(|quote| rest.strip_prefix(*quote)?.strip_suffix(*quote));
        let name = quoted.unwrap_or(rest);
        if name.is_empty() || !is_name(name) {
            return None;
        }
        found.push(Heredoc { name: name.to_owned(), strips_tabs });
    }
    Some(found)
}

/// The words of a line, with their quotes and escapes; `None` if a quote does not end, or a variable is not just a
/// name.
fn shell_words(line: &str) -> Option<Vec<&str>> {
    let (mut words, mut begin, mut quote) = (Vec::new(), None, None);
    let mut characters = line.char_indices();
    while let Some((at, c)) = characters.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(begin.take().map(|begin: usize| &line[begin..at]));
            continue;
        }
        begin.get_or_insert(at);
        match c {
            '\\' if quote != Some('\'') => {
                characters.next();
            }
            '$' if quote != Some('\'') && !is_plain_variable(&line[at + 1..]) => return None,
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ => {}
        }
    }
    words.extend(begin.map(|begin| &line[begin..]));
    quote.is_none().then_some(words)
}

/// Whether the text after a dollar sign is a name, a name in braces, or none.
fn is_plain_variable(after: &str) -> bool {
    let Some(inner) = after.strip_prefix('{') else { return true };
    inner.split_once('}').is_some_and(|(name, _)| !name.is_empty() && is_name(name))
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The character before a line break that continues an instruction: a backslash, unless a directive (`# escape=`) sets
/// the backtick. The first line that is no known directive ends them: Dockerfile reference, parser directives.
fn escape(text: &str) -> char {
    let is_known =
        |key: &str| ["check", "escape", "syntax"].iter().any(|known| key.eq_ignore_ascii_case(known));
    let directives = text.lines().map_while(|line| {
        let (key, value) = line.trim().strip_prefix('#')?.split_once('=')?;
        is_known(key.trim()).then_some((key.trim(), value.trim()))
    });
    let mut escapes = directives.filter(|(key, _)| key.eq_ignore_ascii_case("escape"));
    match escapes.next() {
        Some((_, "`")) => '`',
        _ => '\\',
    }
}

/// The image that reads the file, if its first comments name one: `# syntax=IMAGE`.
fn frontend(text: &str) -> Option<String> {
    let comments = text.lines().map(str::trim).map_while(|line| match line.strip_prefix("//") {
        Some(comment) => Some(comment),
        None => line.strip_prefix('#'),
    });
    let mut directives = comments.filter_map(|comment| comment.split_once('='));
    let (_, image) = directives.find(|(key, _)| key.trim().eq_ignore_ascii_case("syntax"))?;
    image.split_whitespace().next().map(str::to_owned)
}

/// The image or stage of `--mount=type=bind,from=IMAGE`.
fn mounted_from(word: &str) -> Option<&str> {
    let settings = word.strip_prefix("--mount=")?.split(',');
    let mut pairs = settings.filter_map(|setting| setting.trim_matches(['"', '\'']).split_once('='));
    let (_, from) = pairs.find(|(key, _)| key.eq_ignore_ascii_case("from"))?;
    Some(from.trim_matches(['"', '\'']))
}

/// `text` with the values of build arguments for `$NAME`, `${NAME}` and `${NAME:-default}`; as it is, if that would be
/// longer than [`MAX_EXPANDED`].
fn expanded(text: &str, arguments: &BTreeMap<String, String>, given: &BTreeMap<String, String>) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (inner, after) = braced.unwrap_or_else(|| {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            after.split_at(end)
        });
        let (name, default) = inner.split_once(":-").map_or((inner, None), |(name, text)| (name, Some(text)));
        match arguments.get(name).or_else(|| given.get(name)).map(String::as_str).or(default) {
            Some(value) => done.push_str(value),
            None => done.push_str(&rest[before.len()..rest.len() - after.len()]),
        }
        if done.len() > MAX_EXPANDED {
            return text.to_owned();
        }
        rest = after;
    }
    done + rest
}

#[cfg(test)]
mod tests;
