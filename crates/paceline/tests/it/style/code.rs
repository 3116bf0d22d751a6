//! Checks headers, lengths of files and lengths of functions.
//!
//! Called by `mod.rs` for every Rust file. Functions are measured on the tokens, so that those in macros are found.
//! Layout is left to cargo fmt, other rules to clippy.

use super::Violation;
use super::files::{self, File};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file with more lines must give the reason in its header.
const LINES_EXPLAINED: usize = 600;
/// Maximum lines of a file, whatever the reason.
const MAX_LINES: usize = 900;
/// Maximum lines of a function.
const MAX_FUNCTION_LINES: usize = 70;

/// Longer functions: file, name, and why they should not be split.
const LONG: [(&str, &str, &str); 0] = [];

/// Finds files that do not begin with a header.
pub fn header(file: &File) -> Vec<Violation> {
    if file.text.starts_with("//! ") { Vec::new() } else { vec![file.at(1, "does not open with `//! `")] }
}

/// Finds files that are too long, or long without a reason in the header.
pub fn length(file: &File) -> Vec<Violation> {
    let lines = file.text.lines().count();
    let header: String = file.text.lines().take_while(|line| line.starts_with("//!")).collect();
    if file.is_test() || lines <= LINES_EXPLAINED {
        Vec::new()
    } else if lines > MAX_LINES {
        vec![file.at(MAX_LINES + 1, &format!("{lines} lines"))]
    } else if header.to_lowercase().contains("over 600 lines") {
        Vec::new()
    } else {
        vec![file.at(LINES_EXPLAINED + 1, &format!("{lines} lines, and the header does not say why"))]
    }
}

/// Finds functions that are too long and not listed.
pub fn functions(file: &File) -> Vec<Violation> {
    let is_listed = |name: &str| LONG.iter().any(|(path, listed, _)| *path == file.path && *listed == name);
    let long = long_functions(&file.text).into_iter().filter(|function| !is_listed(&function.name));
    long.map(|function| file.at(function.line, &format!("`{}` has {} lines", function.name, function.lines)))
        .collect()
}

/// Files that make a `Printable` from text without escaping it: each has escaped foreign text before.
const GENERATING: [&str; 5] = [
    "crates/escape/src/printable.rs",
    "crates/paceline/src/commands/completions.rs",
    "crates/paceline/src/commands/man.rs",
    "crates/paceline/src/exit.rs",
    "crates/web/src/single_file.rs",
];

/// Finds code that bypasses the escaping of `crates/escape`.
pub fn unescaped(file: &File) -> Vec<Violation> {
    // Written so that this file does not match.
    let ways = [concat!("Printable::", "generated("), concat!("::", "composed(")];
    let may = |way: &str| match way == ways[0] {
        true => GENERATING.contains(&file.path.as_str()),
        false => file.path == "crates/escape/src/text.rs",
    };
    let lines = (1..).zip(file.text.lines());
    let of_way = |way: &'static str| {
        let found = lines.clone().filter(move |(_, line)| line.contains(way) && !may(way));
        found.map(move |(line, _)| file.at(line, &format!("`{way}` escapes nothing")))
    };
    ways.into_iter().flat_map(of_way).collect()
}

/// Finds list entries whose function is gone or has become short.
pub fn long_for_nothing() -> Vec<Violation> {
    let is_long = |path: &str, name: &str| {
        let file = files::tracked().iter().find(|file| file.path == path);
        file.is_some_and(|file| long_functions(&file.text).iter().any(|function| function.name == name))
    };
    let stale = LONG.iter().filter(|(path, name, _)| !is_long(path, name));
    stale.map(|(path, name, _)| format!("{path}: `{name}` is listed and not long")).collect()
}

/// A function in a file.
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions over the limit, including those in macros, traits and other functions.
fn long_functions(text: &str) -> Vec<Function> {
    let mut found = Vec::new();
    match text.parse::<TokenStream>() {
        Ok(tokens) => walk(tokens, &mut found),
        // Text that is not Rust does not compile either; a shebang or a snippet has no functions to measure.
        Err(_) => return found,
    }
    found.retain(|function| function.lines > MAX_FUNCTION_LINES);
    found
}

/// Finds `fn NAME ... { }` at every level.
fn walk(tokens: TokenStream, found: &mut Vec<Function>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => walk(group.stream(), found),
            TokenTree::Ident(word) if word == "fn" => found.extend(function(&tokens[index..])),
            _ => {}
        }
    }
}

/// The function that begins with these tokens, if it has a name and a body.
fn function(tokens: &[TokenTree]) -> Option<Function> {
    let [start, TokenTree::Ident(name), rest @ ..] = tokens else { return None };
    let body = rest.iter().find_map(|token| match token {
        TokenTree::Punct(end) if end.as_char() == ';' => Some(None),
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group)),
        _ => None,
    })??;
    let line = start.span().start().line;
    Some(Function { name: name.to_string(), line, lines: body.span_close().end().line + 1 - line })
}

#[test]
fn functions_are_measured_wherever_they_are() {
    let body = "let x = 1;\n".repeat(70);
    let text = format!(
        "trait T {{ fn none(&self); }}\nimpl T {{ fn long() -> fn(u8) {{\n{body}}} }}\nfn short() {{}}\n"
    );
    let found = long_functions(&text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name.as_str(), found[0].line, found[0].lines), ("long", 2, 72));
    assert_eq!(long_functions(&format!("proptest! {{ #[test] fn inner(a in 0..3) {{\n{body}}} }}")).len(), 1);
}

#[test]
fn a_long_file_gives_a_reason() {
    let file = |lines: usize, header: &str| File {
        path: "crates/x/src/y.rs".into(),
        text: format!("{header}{}", "x\n".repeat(lines - 1)),
    };
    assert!(length(&file(600, "//! X.\n")).is_empty());
    assert_eq!(length(&file(601, "//! X.\n")).len(), 1);
    assert!(length(&file(700, "//! X. Over 600 lines: a table.\n")).is_empty());
    assert_eq!(length(&file(901, "//! X. Over 600 lines: a table.\n")).len(), 1);
}
