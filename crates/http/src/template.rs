//! Expands request templates: bytes that stay the same, and places whose value is made for each request.
//!
//! [`crate::Request::compile`] makes a [`RequestTemplate`] once; each worker of the engine has an [`Expander`], which
//! writes one request after another into a buffer that was sized before. Expanding allocates no memory and formats no
//! text. A request without placeholders is a template of one piece of text, which the engine sends unchanged.

use crate::body::divide_into_chunks;
use crate::syntax::is_target;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

/// The digits of the largest number.
const MAX_DIGITS: usize = 20;

/// A file's lines, without their ends (LF or CR LF). The end of the last line does not begin another line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    bytes: Vec<u8>,
    lines: Vec<Range<usize>>,
    longest: usize,
}

impl FileLines {
    /// Splits a file into its lines.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length);
            let has_return = bytes[start..end].ends_with(b"\r");
            lines.push(start..end - usize::from(has_return));
            start = end + 1;
        }
        let longest = lines.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        Self { bytes, lines, longest }
    }

    /// Lines of any bytes.
    pub fn from_records(records: &[Vec<u8>]) -> Self {
        let mut at = 0;
        let range = |record: &Vec<u8>| {
            at += record.len();
            at - record.len()..at
        };
        let lines: Vec<Range<usize>> = records.iter().map(range).collect();
        let longest = records.iter().map(Vec::len).max().unwrap_or(0);
        Self { bytes: records.concat(), lines, longest }
    }

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// The line at `index`, from 0; empty beyond the last.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        self.lines.get(index).map_or(&[], |line| &self.bytes[line.clone()])
    }

    /// Length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }
}

/// The files of a run's templates, by the names used in the templates.
#[derive(Clone, Debug, Default)]
pub struct LineFiles {
    files: Vec<(String, Arc<FileLines>)>,
    /// The variables that a request may name, with their numbers.
    variables: Vec<(String, usize)>,
}

impl LineFiles {
    /// Adds a file. A second file of the same name is never used.
    pub fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.files.push((name.into(), Arc::new(FileLines::from_bytes(bytes))));
    }

    /// Adds records of any bytes, which are taken in turn like the lines of a file.
    pub fn add_records(&mut self, name: impl Into<String>, records: &[Vec<u8>]) {
        self.files.push((name.into(), Arc::new(FileLines::from_records(records))));
    }

    /// Sets the variables that the requests compiled from now on may name, with their numbers.
    pub fn set_variables(&mut self, variables: Vec<(String, usize)>) {
        self.variables = variables;
    }

    /// The number of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }

    /// Whether there is a file of that name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// The index of a file and its lines.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Arc<FileLines>)> {
        self.files.iter().position(|(known, _)| known == name).map(|file| (file, &self.files[file].1))
    }
}

/// The source of the values of `{rand:MIN:MAX}`.
pub trait RandomBits {
    /// The next 64 bits, each 0 or 1 with the same probability.
    fn next_bits(&mut self) -> u64;
}

/// One stretch of a request.
#[derive(Clone, Debug)]
pub(crate) enum TemplatePart {
    /// The same in every request.
    Text(Vec<u8>),
    /// A number from `least` to `least + span`.
    Random { least: u64, span: u64 },
    /// The number of the request, counted from `first`.
    Sequence { first: u64 },
    /// The next line of a file, which has at least one.
    Line { file: usize, lines: Arc<FileLines> },
    /// The length of the body.
    BodyLength,
    /// The end of a body that is sent in chunks of this size; the longest one becomes longer by `added` bytes.
    Chunks { size: NonZeroU32, added: usize },
    /// A value extracted from an earlier response; in a path, invalid characters are percent-encoded.
    Variable { index: usize, in_path: bool },
}

/// The maximum length of an extracted value: templates are bounded.
pub const MAX_VARIABLE_BYTES: usize = 8 << 10;

impl TemplatePart {
    /// The length with the longest value.
    pub(crate) fn longest(&self) -> usize {
        match self {
            TemplatePart::Text(text) => text.len(),
            TemplatePart::Random { least, span } => digits(least + span),
            TemplatePart::Sequence { .. } | TemplatePart::BodyLength => MAX_DIGITS,
            TemplatePart::Line { lines, .. } => lines.longest(),
            TemplatePart::Chunks { added, .. } => *added,
            TemplatePart::Variable { in_path: false, .. } => MAX_VARIABLE_BYTES,
            TemplatePart::Variable { in_path: true, .. } => 3 * MAX_VARIABLE_BYTES,
        }
    }

    /// The length with the drawn value.
    #[inline]
    fn length(&self, value: u64) -> usize {
        match self {
            TemplatePart::Text(text) => text.len(),
            TemplatePart::Line { lines, .. } => lines.get(value as usize).len(),
            TemplatePart::Random { .. } | TemplatePart::Sequence { .. } | TemplatePart::BodyLength => {
                digits(value)
            }
            TemplatePart::Variable { .. } => ExtractedTexts::range(value).len(),
            TemplatePart::Chunks { .. } => 0,
        }
    }
}

/// A request whose bytes are fixed except for its placeholders.
#[derive(Clone, Debug)]
pub struct RequestTemplate {
    parts: Vec<TemplatePart>,
    /// The index of the first part of the body.
    body: usize,
}

impl RequestTemplate {
    /// A template that is sent unchanged.
    pub fn fixed(bytes: Vec<u8>) -> Self {
        Self { parts: vec![TemplatePart::Text(bytes)], body: 1 }
    }

    /// Creates a template from the parts of the head, including its blank line, and those of the body.
    pub(crate) fn from_parts(head: Vec<TemplatePart>, body: Vec<TemplatePart>) -> Self {
        let (mut parts, at) = (join(head), join(body));
        let body = parts.len();
        parts.extend(at);
        let mut template = Self { parts, body };
        template.settle_length();
        template
    }

    /// Replaces the length by text if the body is the same in every request.
    fn settle_length(&mut self) {
        let is_text = |part: &TemplatePart| matches!(part, TemplatePart::Text(_));
        if self.parts[self.body..].iter().all(is_text) {
            let length: usize = self.parts[self.body..].iter().map(TemplatePart::longest).sum();
            for part in &mut self.parts {
                if matches!(part, TemplatePart::BodyLength) {
                    *part = TemplatePart::Text(length.to_string().into_bytes());
                }
            }
            if self.parts.iter().all(is_text) {
                self.parts = join(std::mem::take(&mut self.parts));
                self.body = self.parts.len();
            }
        }
    }

    /// The bytes of a request that is the same every time.
    pub fn as_fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [TemplatePart::Text(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// The maximum length of a request in bytes.
    pub fn longest(&self) -> usize {
        self.parts.iter().map(TemplatePart::longest).sum()
    }
}

/// Merges neighbouring texts.
pub(crate) fn join(parts: Vec<TemplatePart>) -> Vec<TemplatePart> {
    let mut joined: Vec<TemplatePart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (_, TemplatePart::Text(text)) if text.is_empty() => {}
            (Some(TemplatePart::Text(before)), TemplatePart::Text(text)) => before.extend_from_slice(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// Writes the requests of one worker. Worker k of N gives its requests the numbers k, k + N, k + 2N and so on, and uses
/// the lines of a file with those numbers, cyclically: no number is used twice, and together the workers use all lines.
#[derive(Debug)]
pub struct Expander<R> {
    random: R,
    /// The number of the next request that has no number yet.
    number: u64,
    /// Numbers of requests that are made again; these are used first.
    returned: VecDeque<u64>,
    /// The number of workers.
    step: u64,
    cursors: Vec<LineCursor>,
    /// A value for each part of the current request.
    drawn: Vec<u64>,
    /// The values of variables.
    texts: ExtractedTexts,
}

/// The values of variables, unchanged and percent-encoded for a path.
#[derive(Clone, Debug, Default)]
struct ExtractedTexts {
    bytes: Vec<u8>,
    /// The range of each value in the bytes, packed: plain and for a path.
    places: Vec<[u64; 2]>,
}

impl ExtractedTexts {
    /// The range of a part's value.
    #[inline]
    fn range(packed: u64) -> Range<usize> {
        let start = (packed >> 32) as usize;
        start..start + (packed & 0xffff_ffff) as usize
    }

    fn set(&mut self, values: &[Vec<u8>]) {
        self.bytes.clear();
        self.places.clear();
        for value in values {
            let plain = self.bytes.len();
            self.bytes.extend_from_slice(value);
            let encoded = self.bytes.len();
            for byte in value {
                match is_target(*byte) {
                    true => self.bytes.push(*byte),
                    false => self.bytes.extend_from_slice(format!("%{byte:02X}").as_bytes()),
                }
            }
            let packed = |start: usize, end: usize| (start as u64) << 32 | (end - start) as u64;
            self.places.push([packed(plain, encoded), packed(encoded, self.bytes.len())]);
        }
    }
}

/// The position of a worker in a file.
#[derive(Clone, Debug)]
struct LineCursor {
    /// The line for the next request that names the file.
    next: u64,
    /// The last request that named it, with its line: a file named twice in one request gives one line.
    taken: Option<(u64, u64)>,
}

impl<R: RandomBits> Expander<R> {
    /// For worker `worker` of `workers`, which will write any of `templates`, with lines from `files` files.
    pub fn new<'t>(
        worker: u32,
        workers: u32,
        random: R,
        files: usize,
        templates: impl Iterator<Item = &'t RequestTemplate>,
    ) -> Self {
        let parts = templates.map(|template| template.parts.len()).max().unwrap_or(0);
        Self::for_parts(worker, workers, random, files, parts)
    }

    /// For worker `worker` of `workers`, whose requests have at most `parts` placeholders and pieces of text.
    pub fn for_parts(worker: u32, workers: u32, random: R, files: usize, parts: usize) -> Self {
        Self {
            random,
            number: worker.into(),
            returned: VecDeque::new(),
            step: workers.max(1).into(),
            cursors: vec![LineCursor { next: worker.into(), taken: None }; files],
            drawn: Vec::with_capacity(parts),
            texts: ExtractedTexts::default(),
        }
    }

    /// Sets the values of the variables, by their numbers.
    pub fn set_variables(&mut self, values: &[Vec<u8>]) {
        self.texts.set(values);
    }

    /// Appends the next request, at most [`RequestTemplate::longest`] bytes.
    pub fn expand(&mut self, template: &RequestTemplate, into: &mut Vec<u8>) {
        let drawn = self.draw_all(&template.parts, template.body);
        drawn.write(&template.parts, 0..template.parts.len(), into);
        self.next_request(drawn);
    }

    /// Draws the values of all parts of the next request, whose body begins with part `body`.
    pub(crate) fn draw_all(&mut self, parts: &[TemplatePart], body: usize) -> DrawnValues {
        let mut values = std::mem::take(&mut self.drawn);
        values.clear();
        values.extend(parts.iter().map(|part| self.draw(part)));
        let length = |(part, value): (&TemplatePart, &u64)| part.length(*value);
        let body_length: usize = parts.iter().zip(&values).skip(body).map(length).sum();
        for (part, value) in parts.iter().zip(&mut values) {
            if matches!(part, TemplatePart::BodyLength | TemplatePart::Chunks { .. }) {
                *value = body_length as u64;
            }
        }
        DrawnValues { values, texts: std::mem::take(&mut self.texts) }
    }

    /// Notes that a request with these values was written: the next one gets the next number.
    pub(crate) fn next_request(&mut self, drawn: DrawnValues) {
        self.drawn = drawn.values;
        self.texts = drawn.texts;
        self.skip_number();
    }

    /// The number of the next request.
    #[inline]
    pub fn number(&self) -> u64 {
        self.returned.front().copied().unwrap_or(self.number)
    }

    /// Uses up the number of the next request, for a request without placeholders or one that is never sent.
    #[inline]
    pub fn skip_number(&mut self) {
        if self.returned.pop_front().is_none() {
            self.number = self.number.wrapping_add(self.step);
        }
    }

    /// Returns the number of a request that will be made again, after other returned ones: with its number, and with
    /// other random values and lines.
    pub fn return_number(&mut self, number: u64) {
        self.returned.push_back(number);
    }

    /// Returns the number of the last request, which will be made again before all others.
    pub fn undo_number(&mut self, number: u64) {
        self.returned.push_front(number);
    }

    /// Draws the value of one part of the current request.
    #[inline]
    fn draw(&mut self, part: &TemplatePart) -> u64 {
        match part {
            TemplatePart::Text(_) | TemplatePart::BodyLength | TemplatePart::Chunks { .. } => 0,
            TemplatePart::Variable { index, in_path } => {
                self.texts.places.get(*index).map_or(0, |places| places[usize::from(*in_path)])
            }
            TemplatePart::Sequence { first } => first.wrapping_add(self.number()),
            TemplatePart::Random { least, span } => {
                // The bias towards some values is at most span / 2^64.
                let scaled = u128::from(self.random.next_bits()) * (u128::from(*span) + 1);
                least + (scaled >> 64) as u64
            }
            TemplatePart::Line { file, lines } => {
                let request = self.number();
                let Some(cursor) = self.cursors.get_mut(*file) else { return 0 };
                match cursor.taken {
                    Some((number, line)) if number == request => line,
                    _ => {
                        let line = cursor.next % lines.count().max(1) as u64;
                        cursor.next = cursor.next.wrapping_add(self.step);
                        cursor.taken = Some((request, line));
                        line
                    }
                }
            }
        }
    }
}

/// A value for each part of one request.
#[derive(Debug)]
pub(crate) struct DrawnValues {
    values: Vec<u64>,
    texts: ExtractedTexts,
}

impl DrawnValues {
    /// The length of these parts in bytes.
    pub(crate) fn length(&self, parts: &[TemplatePart], range: Range<usize>) -> usize {
        parts[range.clone()].iter().zip(&self.values[range]).map(|(part, value)| part.length(*value)).sum()
    }

    /// Appends these parts.
    #[inline]
    pub(crate) fn write(&self, parts: &[TemplatePart], range: Range<usize>, into: &mut Vec<u8>) {
        for (part, value) in parts[range.clone()].iter().zip(&self.values[range]) {
            match part {
                TemplatePart::Text(text) => into.extend_from_slice(text),
                TemplatePart::Line { lines, .. } => into.extend_from_slice(lines.get(*value as usize)),
                TemplatePart::Chunks { size, .. } => divide_into_chunks(into, *value as usize, *size),
                TemplatePart::Random { .. } | TemplatePart::Sequence { .. } | TemplatePart::BodyLength => {
                    push_number(into, *value)
                }
                TemplatePart::Variable { .. } => {
                    into.extend_from_slice(&self.texts.bytes[ExtractedTexts::range(*value)])
                }
            }
        }
    }
}

/// The number of digits of a number.
#[inline]
fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends a number in decimal.
#[inline]
fn push_number(into: &mut Vec<u8>, mut number: u64) {
    let mut text = [b'0'; MAX_DIGITS];
    let mut start = MAX_DIGITS - 1;
    loop {
        text[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
        start -= 1;
    }
    into.extend_from_slice(&text[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_lf_or_cr_lf() {
        for (text, lines) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("a\r\nbc\n", &["a", "bc"]),
            ("a\n\nb\n", &["a", "", "b"]),
            ("\n", &[""]),
            ("a\rb\r\n", &["a\rb"]),
        ] {
            let found = FileLines::from_bytes(text.into());
            let texts: Vec<&[u8]> = (0..found.count()).map(|index| found.get(index)).collect();
            let expected: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(texts, expected, "{text:?}");
            assert_eq!(found.longest(), lines.iter().map(|line| line.len()).max().unwrap_or(0));
        }
        assert_eq!(FileLines::from_bytes(b"a".to_vec()).get(1), b"");
    }
}
