//! Any text as a request with placeholders: no panic, and an accepted template expands to valid requests, each with a
//! correct length and none longer than announced. An input is a path, a header's value, a file of lines and a body,
//! with `---` on a line between them.

use paceline_http::{Expander, LineFiles, RandomBits, Request, Url};

/// The values do not matter, but numbers of all lengths must occur.
struct Shifting(u64);

impl RandomBits for Shifting {
    fn next_bits(&mut self) -> u64 {
        self.0 = self.0.rotate_left(7) ^ 0x9E37_79B9_7F4A_7C15;
        self.0 >> (self.0 % 64)
    }
}

/// Reads a request as a server would, and returns what follows it.
fn after_one(bytes: &[u8]) -> &[u8] {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head ends");
    let head = bytes[..end].split(|byte| *byte == b'\n');
    let lengths: Vec<&[u8]> = head.filter_map(|line| line.strip_prefix(b"Content-Length: ")).collect();
    assert!(lengths.len() <= 1);
    let digits = lengths.first().map_or("0", |line| std::str::from_utf8(line).expect("digits"));
    let length: usize = digits.trim_end().parse().expect("a length");
    &bytes[end + 4 + length..]
}

pub fn run(text: &str) {
    let mut parts = text.splitn(4, "\n---\n");
    let mut part = || parts.next().unwrap_or_default();
    let url = Url::parse("http://127.0.0.1:8080/").expect("a URL");
    let request = Request {
        method: "POST".into(),
        path: part().into(),
        headers: vec![("X-Value".into(), part().into())],
        ..Request::get(&url)
    };
    let lines = part().as_bytes().to_vec();
    let request = Request { body: part().into(), ..request };
    let mut files = LineFiles::default();
    for file in request.line_files().unwrap_or_default() {
        files.add(file, lines.clone());
    }
    let Ok(template) = request.compile(&files) else { return };
    let mut expander = Expander::new(1, 3, Shifting(1), files.count(), std::iter::once(&template));
    for _ in 0..3 {
        let mut bytes = Vec::new();
        expander.expand(&template, &mut bytes);
        assert!(bytes.len() <= template.longest());
        assert!(bytes.starts_with(b"POST ") && after_one(&bytes).is_empty());
        assert!(template.as_fixed().is_none_or(|fixed| fixed == bytes));
    }
}
