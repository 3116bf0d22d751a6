//! Reads from a Dockerfile what building it would download and run, to be shown before it is built.
//!
//! It is not a full parser: an engine builds the file. What it does not understand is not listed.

use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of a text with the values of build arguments in it. A value may repeat earlier ones, so that it would
/// double with each line. The name of an image has at most 255 characters, a tag 128, a digest 71
/// (opencontainers/distribution-spec).
const MAX_EXPANDED: usize = 4096;

/// Programs that download what they are given, or packages of a language or system.
const DOWNLOADERS: [&str; 34] = [
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
];

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
        let (mut needs, mut stages, mut arguments) = (Self::default(), BTreeSet::new(), BTreeMap::new());
        needs.images.extend(frontend(text));
        let lines = instructions(text);
        for line in &lines {
            let mut words = line.split_whitespace();
            let instruction = words.next().unwrap_or_default().to_ascii_uppercase();
            let words: Vec<&str> = words.collect();
            match instruction.as_str() {
                "ARG" => {
                    for (name, default) in words.iter().filter_map(|word| word.split_once('=')) {
                        let default = default.trim_matches(['"', '\'']);
                        let value =
                            given.get(name).cloned().unwrap_or_else(|| expanded(default, &arguments, given));
                        arguments.insert(name.to_owned(), value);
                    }
                }
                "FROM" => {
                    let mut names = words.iter().filter(|word| !word.starts_with("--"));
                    let image = expanded(names.next().unwrap_or(&""), &arguments, given);
                    needs.add_image(&image, &stages);
                    if let (Some(word), Some(name)) = (names.next(), names.next())
                        && word.eq_ignore_ascii_case("as")
                    {
                        stages.insert(name.to_ascii_lowercase());
                    }
                }
                "COPY" | "ADD" => {
                    let from = words.iter().find_map(|word| word.strip_prefix("--from="));
                    from.iter().for_each(|from| needs.add_image(&expanded(from, &arguments, given), &stages));
                }
                "RUN" => {
                    for from in words.iter().filter_map(|word| mounted_from(word)) {
                        needs.add_image(&expanded(from, &arguments, given), &stages);
                    }
                    needs.add_programs(line);
                }
                _ => {}
            }
            needs.add_addresses(line);
        }
        needs
    }

    fn add_image(&mut self, image: &str, stages: &BTreeSet<String>) {
        let is_stage = stages.contains(&image.to_ascii_lowercase()) || image.parse::<u32>().is_ok();
        let is_new = !image.is_empty() && image != "scratch" && !is_stage;
        if is_new && !self.images.iter().any(|known| known == image) {
            self.images.push(image.to_owned());
        }
    }

    fn add_programs(&mut self, line: &str) {
        for word in line.split(|c: char| c.is_whitespace() || "&|;()\"',[]".contains(c)) {
            if DOWNLOADERS.contains(&word) && !self.downloaders.iter().any(|known| known == word) {
                self.downloaders.push(word.to_owned());
            }
        }
    }

    fn add_addresses(&mut self, line: &str) {
        for start in ["https://", "http://"].iter().flat_map(|scheme| line.match_indices(scheme)) {
            let rest = &line[start.0..];
            let end = rest.find(|c: char| c.is_whitespace() || "\"'`,;|)".contains(c)).unwrap_or(rest.len());
            if !self.addresses.iter().any(|known| known == &rest[..end]) {
                self.addresses.push(rest[..end].to_owned());
            }
        }
    }
}

/// The instructions, without comments, each on one line. A comment or an empty line does not end an instruction that
/// goes on, and nothing is put between its lines.
fn instructions(text: &str) -> Vec<String> {
    let (mut all, mut current, escape) = (Vec::new(), String::new(), escape(text));
    for line in text.lines().map(str::trim_end) {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let part = if current.is_empty() { content } else { line };
        match part.strip_suffix(escape) {
            Some(begun) => current.push_str(begun),
            None => {
                current.push_str(part);
                all.push(std::mem::take(&mut current));
            }
        }
    }
    if !current.is_empty() {
        all.push(current);
    }
    all
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn images_downloads_and_addresses_are_listed() {
        let text = "ARG TAG=\"1.24\"\n# a comment\nFROM --platform=x golang:${TAG} AS build\nRUN apt-get update && \\\n    \
                    curl -sL https://example.com/a.tgz | tar xz\nCOPY --from=composer:latest /a /b\nFROM build as last\n\
                    COPY --from=build /x /x\nADD https://example.com/b /b\nFROM scratch\nCMD [\"./app\"]";
        let needs = BuildNeeds::from_dockerfile(text, &BTreeMap::new());
        assert_eq!(needs.images, ["golang:1.24", "composer:latest"]);
        assert_eq!(needs.downloaders, ["apt-get", "curl"]);
        assert_eq!(needs.addresses, ["https://example.com/a.tgz", "https://example.com/b"]);
    }

    #[test]
    fn every_image_that_a_build_uses_is_listed() {
        let text = "# syntax=docker.io/evil/frontend:1\n# a=b\nARG BASE=alpine\nARG FULL=${BASE}:${TAG:-3}\nFROM $FULL\n\
                    RUN --mount=type=bind,from=mounted/image,target=/x cp /x/a /a\nRUN --mount=from=$BASE,target=/y ls\n\
                    FROM $BASE_IMAGE\n# syntax=later/comment\n";
        let images = |given: &[(&str, &str)]| {
            let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            BuildNeeds::from_dockerfile(text, &given).images
        };
        assert_eq!(
            images(&[]),
            ["docker.io/evil/frontend:1", "alpine:3", "mounted/image", "alpine", "$BASE_IMAGE"]
        );
        assert_eq!(images(&[("BASE", "other"), ("TAG", "4")])[1], "other:4");
    }

    #[test]
    fn an_instruction_goes_on_where_a_build_continues_it() {
        let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
        assert_eq!(images("FROM \\\n\n  # none\n evil/image\n"), ["evil/image"]);
        assert_eq!(images("FROM al\\\npine AS \\\n  build\nFROM build\n"), ["alpine"]);
        assert_eq!(images("# a comment\n# escape=`\nFROM a\nRUN b `date`\nFROM c\n"), ["a", "c"]);
        assert_eq!(images("# a=b\n# escape=`\nFROM a\nRUN b `\nFROM c\n"), ["a", "c"]);
        assert_eq!(images("# escape=`\nFROM `\n a\nRUN dir C:\\\nFROM c\n"), ["a", "c"]);
    }

    #[test]
    fn values_that_repeat_others_do_not_grow_without_a_limit() {
        let lines: String = (0..1000).map(|n| format!("ARG A{}=$A{n}$A{n}\n", n + 1)).collect();
        let text = format!("ARG A0=abcdefgh\n{lines}FROM $A5\nFROM $A1000\n");
        let needs = BuildNeeds::from_dockerfile(&text, &BTreeMap::new());
        assert_eq!(needs.images[0], "abcdefgh".repeat(32));
        assert!(needs.images.iter().all(|image| image.len() <= MAX_EXPANDED), "{:?}", needs.images);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(?s).{0,400}") {
            let needs = BuildNeeds::from_dockerfile(&text, &BTreeMap::new());
            prop_assert!(needs.images.iter().all(|image| !image.is_empty()));
        }
    }
}
