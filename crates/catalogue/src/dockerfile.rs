//! Reads from a Dockerfile what building it would download and run, to be shown before it is built.
//!
//! It is not a full parser: an engine builds the file. What it does not understand is not listed.

use std::collections::BTreeSet;

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
    /// Reads them from the text of a Dockerfile, with the default values of its build arguments.
    pub fn from_dockerfile(text: &str) -> Self {
        let (mut needs, mut stages, mut defaults) = (Self::default(), BTreeSet::new(), Vec::new());
        let lines = instructions(text);
        for line in &lines {
            let mut words = line.split_whitespace();
            let instruction = words.next().unwrap_or_default().to_ascii_uppercase();
            let words: Vec<&str> = words.collect();
            match instruction.as_str() {
                "ARG" => defaults.extend(words.iter().filter_map(|word| word.split_once('='))),
                "FROM" => {
                    let mut names = words.iter().filter(|word| !word.starts_with("--"));
                    let image = with_defaults(names.next().unwrap_or(&""), &defaults);
                    needs.add_image(&image, &stages);
                    if let (Some(word), Some(name)) = (names.next(), names.next())
                        && word.eq_ignore_ascii_case("as")
                    {
                        stages.insert(name.to_ascii_lowercase());
                    }
                }
                "COPY" | "ADD" => {
                    let from = words.iter().find_map(|word| word.strip_prefix("--from="));
                    from.iter().for_each(|image| needs.add_image(&with_defaults(image, &defaults), &stages));
                }
                "RUN" => needs.add_programs(line),
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

/// The instructions, without comments, each on one line.
fn instructions(text: &str) -> Vec<String> {
    let (mut all, mut current) = (Vec::new(), String::new());
    for line in text.lines().map(str::trim) {
        if line.starts_with('#') || (line.is_empty() && current.is_empty()) {
            continue;
        }
        match line.strip_suffix('\\').or_else(|| line.strip_suffix('`')) {
            Some(begun) => {
                current.push_str(begun);
                current.push(' ');
            }
            None => {
                current.push_str(line);
                all.push(std::mem::take(&mut current));
            }
        }
    }
    if !current.is_empty() {
        all.push(current);
    }
    all
}

/// `text` with `$NAME` and `${NAME}` of build arguments replaced by their defaults.
fn with_defaults(text: &str, defaults: &[(&str, &str)]) -> String {
    defaults.iter().rev().fold(text.to_owned(), |text, (name, value)| {
        let value = value.trim_matches(['"', '\'']);
        text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
    })
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
        let needs = BuildNeeds::from_dockerfile(text);
        assert_eq!(needs.images, ["golang:1.24", "composer:latest"]);
        assert_eq!(needs.downloaders, ["apt-get", "curl"]);
        assert_eq!(needs.addresses, ["https://example.com/a.tgz", "https://example.com/b"]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(?s).{0,400}") {
            let needs = BuildNeeds::from_dockerfile(&text);
            prop_assert!(needs.images.iter().all(|image| !image.is_empty()));
        }
    }
}
