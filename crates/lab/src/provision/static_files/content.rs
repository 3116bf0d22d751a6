//! The content of the lab's static files: 20 files with the kinds and sizes of a web site's, 845 kB in all.
//!
//! A pure function of each file's place in the list, so that workloads can state the digests. Text is made of words and numbers in
//! the forms of its kind, and gzip shrinks it to a half or a fifth; fonts and pictures do not compress.

use paceline_stats::Random;
use std::fmt::Write as _;

/// Raised with every change of a file: the folder of the files is named after it.
pub(super) const VERSION: u32 = 1;

/// The names of the files, and the length that each has at least, in bytes.
const FILES: [(&str, usize); 20] = [
    ("reset.css", 1_400),
    ("print.css", 2_100),
    ("layout.css", 6_200),
    ("theme.css", 12_500),
    ("components.css", 38_000),
    ("consent.js", 3_100),
    ("router.js", 14_000),
    ("app.js", 62_000),
    ("charts.js", 96_000),
    ("vendor.js", 180_000),
    ("about.html", 7_000),
    ("articles.html", 18_000),
    ("logo.svg", 2_200),
    ("icons.svg", 24_000),
    ("map.svg", 48_000),
    ("settings.json", 1_100),
    ("places.json", 70_000),
    ("regular.woff2", 46_000),
    ("bold.woff2", 52_000),
    ("hero.png", 160_000),
];

const WORDS: [&str; 56] = [
    "amber", "anchor", "basket", "bridge", "button", "canvas", "carrot", "castle", "cloud", "column",
    "copper", "corner", "dialog", "engine", "feather", "filter", "forest", "garden", "hammer", "harbor",
    "header", "island", "kettle", "ladder", "lantern", "marble", "meadow", "mirror", "needle", "orchard",
    "panel", "pepper", "picture", "pillow", "planet", "pocket", "ribbon", "river", "saddle", "search",
    "shadow", "silver", "spring", "stone", "summer", "table", "ticket", "timber", "tunnel", "valley",
    "velvet", "vessel", "wagon", "window", "winter", "yellow",
];
const PROPERTIES: [&str; 12] = [
    "margin",
    "padding",
    "width",
    "height",
    "top",
    "left",
    "gap",
    "border-radius",
    "font-size",
    "line-height",
    "max-width",
    "min-height",
];
const UNITS: [&str; 4] = ["px", "rem", "em", "%"];

/// The first bytes of the two kinds that are not text (PNG, section 5.2; WOFF 2.0, section 4).
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const WOFF2: &[u8] = b"wOF2";

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StaticFile {
    pub name: &'static str,
    pub content: Vec<u8>,
    /// Whether it is text: a site keeps a compressed copy beside it.
    pub is_text: bool,
}

/// All files, in the order of the list.
pub(super) fn files() -> impl Iterator<Item = StaticFile> {
    FILES.into_iter().zip(0..).map(|((name, length), seed)| {
        let mut source = WordSource { random: Random::new(seed) };
        let (_, kind) = name.rsplit_once('.').unwrap_or((name, ""));
        let (content, is_text) = match kind {
            "css" => (source.text("", "", "", length, WordSource::css), true),
            "js" => (source.text("\"use strict\";\n", "", "", length, WordSource::js), true),
            "html" => (source.text(HTML_HEAD, "", "</body>\n</html>\n", length, WordSource::html), true),
            "svg" => (source.text(SVG_HEAD, "", "</svg>\n", length, WordSource::svg), true),
            "json" => (source.text("[\n", ",\n", "\n]\n", length, WordSource::json), true),
            "png" => (source.bytes(PNG, length), false),
            _ => (source.bytes(WOFF2, length), false),
        };
        StaticFile { name, content, is_text }
    })
}

const HTML_HEAD: &str =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Static files</title>\n<body>\n";
const SVG_HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1024 1024\">\n";

/// Words and numbers that look random and are always the same for a seed.
struct WordSource {
    random: Random,
}

impl WordSource {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.below(texts.len() as u64) as usize]
    }

    fn word(&mut self) -> &'static str {
        self.one_of(&WORDS)
    }

    /// A text of parts, at least `length` bytes long.
    fn text(
        &mut self,
        head: &str,
        between: &str,
        tail: &str,
        length: usize,
        part: fn(&mut Self, &mut String),
    ) -> Vec<u8> {
        let mut text = head.to_owned();
        while text.len() + tail.len() < length {
            if text.len() > head.len() {
                text.push_str(between);
            }
            part(self, &mut text);
        }
        text.push_str(tail);
        text.into_bytes()
    }

    /// Bytes that do not compress, `length` with the first ones.
    fn bytes(&mut self, first: &[u8], length: usize) -> Vec<u8> {
        let mut bytes = first.to_vec();
        while bytes.len() < length {
            bytes.extend_from_slice(&self.random.bits().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    // Writing to a string cannot fail.

    fn css(&mut self, text: &mut String) {
        let (first, second, color) = (self.word(), self.word(), self.below(1 << 24));
        let _ = write!(text, ".{first}-{second} {{\n  color: #{color:06x};\n");
        for _ in 0..2 + self.below(4) {
            let (property, number) = (self.one_of(&PROPERTIES), self.below(64));
            let unit = self.one_of(&UNITS);
            let _ = writeln!(text, "  {property}: {number}{unit};");
        }
        text.push_str("}\n");
    }

    fn js(&mut self, text: &mut String) {
        let [name, result, list, other] = [self.word(), self.word(), self.word(), self.word()];
        let (number, factor, key) = (self.below(4096), self.below(256), self.below(1 << 48));
        let _ = write!(
            text,
            "function {name}{number}({list}List, {other}Value) {{\n  \
             const {result}All = {list}List.map((item) => item * {factor});\n  \
             register(\"{key:012x}\", {result}All);\n  \
             return {result}All.length > {number} ? {result}All : {other}Value;\n}}\n"
        );
    }

    fn html(&mut self, text: &mut String) {
        let (first, second, count) = (self.word(), self.word(), 8 + self.below(24));
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        let words = words.join(" ");
        let _ = write!(
            text,
            "<section class=\"{first} {second}\">\n  <h2>{second} {first}</h2>\n  <p>{words}.</p>\n</section>\n"
        );
    }

    fn svg(&mut self, text: &mut String) {
        let (x, y) = (self.below(1024), self.below(1024));
        let _ = write!(text, "<path d=\"M{x} {y}");
        for _ in 0..3 + self.below(8) {
            let (x, y) = (self.below(1024), self.below(1024));
            let _ = write!(text, "L{x} {y}");
        }
        let color = self.below(1 << 24);
        let _ = writeln!(text, "Z\" fill=\"#{color:06x}\"/>");
    }

    fn json(&mut self, text: &mut String) {
        let id = self.below(1_000_000);
        let (first, second, price, tag) = (self.word(), self.word(), self.below(10_000), self.word());
        let _ = write!(
            text,
            "  {{\"id\": {id}, \"name\": \"{first} {second}\", \"price\": {price}, \"tags\": [\"{tag}\", \"{first}\"]}}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_twenty_files_with_the_sizes_of_a_site() {
        let made: Vec<StaticFile> = files().collect();
        assert_eq!(made.iter().map(|file| file.name).collect::<BTreeSet<_>>().len(), 20);
        for (file, (name, length)) in made.iter().zip(FILES) {
            // The last part of a text may be longer than needed.
            let most = if file.is_text { length + 400 } else { length };
            assert!((length..=most).contains(&file.content.len()), "{name}: {}", file.content.len());
        }
        let total: usize = made.iter().map(|file| file.content.len()).sum();
        assert!((800_000..900_000).contains(&total), "{total}");
        assert!(made.into_iter().eq(files()), "they differ the second time");
    }

    #[test]
    fn text_is_valid_and_compresses_as_text_does() {
        for file in files() {
            let packed = super::super::gzip(&file.content).len() as f64;
            let ratio = file.content.len() as f64 / packed;
            match file.is_text {
                true => assert!((1.8..6.5).contains(&ratio), "{}: {ratio}", file.name),
                false => assert!(ratio < 1.01, "{}: {ratio}", file.name),
            }
            assert_eq!(std::str::from_utf8(&file.content).is_ok(), file.is_text, "{}", file.name);
            if file.name.ends_with(".json") {
                let list: Vec<serde_json::Value> = serde_json::from_slice(&file.content).unwrap();
                assert!(list.len() > 5);
            }
        }
    }
}
