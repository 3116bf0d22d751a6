//! Parses the placeholders in a text: `{rand:MIN:MAX}`, `{seq}`, `{seq:FIRST}`, `{line:FILE}`, `{var:NAME}`; `{{`
//! stands for a brace.
//!
//! [`crate::Request::compile`] parses paths, header values and bodies with it, once, before a run. A placeholder is a
//! brace, a word, and then `:` or `}`. Other braces are text, so that JSON needs no escapes; text that looks like a
//! placeholder but is invalid is rejected instead of sent unchanged. This module only names files and never reads them.

use crate::request_error::{PlaceholderError, PlaceholderProblem};
use crate::syntax::character_number;

/// The words with which a placeholder may begin.
const WORDS: [&str; 4] = ["rand", "seq", "line", "var"];

/// One stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceholderPiece<'t> {
    /// Text sent unchanged.
    Text(&'t str),
    /// A number from `least` to `most`, both included, drawn for each request.
    Random { least: u64, most: u64 },
    /// The number of the request, counted from `first`.
    Sequence { first: u64 },
    /// The next line of the file of this name.
    Line(&'t str),
    /// The value of this name, extracted from an earlier response of the session.
    Variable(&'t str),
}

/// The stretches of a text, in order.
pub(crate) fn parse_placeholders(text: &str) -> Result<Vec<PlaceholderPiece<'_>>, PlaceholderError> {
    let mut found = Vec::new();
    // The text up to `done` has become pieces; the text before `at` is known to be plain.
    let (mut done, mut at) = (0, 0);
    while let Some(brace) = text[at..].find('{').map(|offset| at + offset) {
        let inside = &text[brace + 1..];
        if inside.starts_with('{') {
            found.push(PlaceholderPiece::Text(&text[done..=brace]));
            (done, at) = (brace + 2, brace + 2);
        } else if is_meant(inside.as_bytes()) {
            let wrong = |problem| wrong(text, brace, problem);
            let end = inside.find('}').ok_or_else(|| wrong(PlaceholderProblem::Unclosed))?;
            let piece = placeholder(&inside[..end]).map_err(wrong)?;
            if done < brace {
                found.push(PlaceholderPiece::Text(&text[done..brace]));
            }
            found.push(piece);
            (done, at) = (brace + end + 2, brace + end + 2);
        } else {
            at = brace + 1;
        }
    }
    if done < text.len() {
        found.push(PlaceholderPiece::Text(&text[done..]));
    }
    Ok(found)
}

/// Rejects a name in doubled braces, as other tools write placeholders: `{{name}}` would be sent as `{name}}`. It is
/// accepted where the text has no more closing than opening braces (`{{` counts as one), as in `{user{{id}}`: there `{{`
/// is meant as a brace.
pub(crate) fn check_doubled(text: &str) -> Result<(), PlaceholderError> {
    let unescaped = text.replace("{{", "{");
    if unescaped.matches('}').count() <= unescaped.matches('{').count() {
        return Ok(());
    }
    match text.match_indices("{{").find(|(at, _)| is_doubled(&text[at + 2..])) {
        Some((brace, _)) => Err(wrong(text, brace, PlaceholderProblem::Doubled)),
        None => Ok(()),
    }
}

/// Whether the text after two braces is a name and two closing braces.
fn is_doubled(inside: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.$:/-".contains(c);
    let inside = inside.trim_start_matches(' ');
    let after = inside.trim_start_matches(is_part);
    after.len() < inside.len() && after.trim_start_matches(' ').starts_with("}}")
}

fn wrong(text: &str, brace: usize, problem: PlaceholderProblem) -> PlaceholderError {
    PlaceholderError { text: shown(&text[brace..]), at: character_number(text, brace), problem }
}

/// Whether the text after a brace was meant as a placeholder.
fn is_meant(inside: &[u8]) -> bool {
    let end = inside.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(inside.len());
    let (word, rest) = inside.split_at(end);
    let is_known = WORDS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word));
    is_known || (!word.is_empty() && matches!(rest.first(), Some(b':' | b'}')))
}

/// Whether a part of a text is not sent as it is, or is rejected: two braces, or what was meant as a placeholder. Only
/// braces before the offset `end` count, so that a long text can be searched in parts that overlap.
pub fn may_have_placeholder(text: &[u8], end: usize) -> bool {
    memchr::memchr_iter(b'{', text).take_while(|brace| *brace < end).any(|brace| {
        let inside = &text[brace + 1..];
        inside.starts_with(b"{") || is_meant(inside)
    })
}

/// Parses the text between the braces of a placeholder.
fn placeholder(inside: &str) -> Result<PlaceholderPiece<'_>, PlaceholderProblem> {
    match inside.split_once(':') {
        None if inside == "seq" => Ok(PlaceholderPiece::Sequence { first: 0 }),
        Some(("seq", first)) => {
            number(first).map(|first| PlaceholderPiece::Sequence { first }).ok_or(PlaceholderProblem::Unknown)
        }
        Some(("bytes", _)) => Err(PlaceholderProblem::Bytes),
        None if inside == "rand" => Err(PlaceholderProblem::Bounds),
        None if inside == "line" => Err(PlaceholderProblem::NoFile),
        Some(("rand", bounds)) => random(bounds),
        None if inside == "var" => Err(PlaceholderProblem::NoVariable),
        Some(("var", "")) => Err(PlaceholderProblem::NoVariable),
        Some(("var", name)) => Ok(PlaceholderPiece::Variable(name)),
        Some(("line", "")) => Err(PlaceholderProblem::NoFile),
        Some(("line", file)) => Ok(PlaceholderPiece::Line(file)),
        _ => Err(PlaceholderProblem::Unknown),
    }
}

/// A number of digits alone: `parse` would accept a plus sign.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn random(bounds: &str) -> Result<PlaceholderPiece<'_>, PlaceholderProblem> {
    let (least, most) = bounds.split_once(':').ok_or(PlaceholderProblem::Bounds)?;
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => Ok(PlaceholderPiece::Random { least, most }),
        (Some(least), Some(most)) => Err(PlaceholderProblem::Order { least, most }),
        _ => Err(PlaceholderProblem::Bounds),
    }
}

/// The placeholder at the start of a text, truncated for a message.
fn shown(text: &str) -> String {
    let end = text.find('}').map_or(text.len(), |end| end + 1);
    let end = if text[end..].starts_with('}') && text.starts_with("{{") { end + 1 } else { end };
    match text[..end].char_indices().nth(40) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_placeholders_alternate() {
        let of = |text| parse_placeholders(text).unwrap();
        assert_eq!(of(""), []);
        assert_eq!(of("/a"), [PlaceholderPiece::Text("/a")]);
        assert_eq!(
            of("/{rand:1:20}?{seq}&{line:a b.txt}x"),
            [
                PlaceholderPiece::Text("/"),
                PlaceholderPiece::Random { least: 1, most: 20 },
                PlaceholderPiece::Text("?"),
                PlaceholderPiece::Sequence { first: 0 },
                PlaceholderPiece::Text("&"),
                PlaceholderPiece::Line("a b.txt"),
                PlaceholderPiece::Text("x")
            ]
        );
        let widest = format!("{{rand:0:{}}}", u64::MAX);
        assert_eq!(of(&widest), [PlaceholderPiece::Random { least: 0, most: u64::MAX }]);
    }

    #[test]
    fn a_name_in_doubled_braces_is_an_error_if_they_are_not_balanced() {
        for text in ["{{n}}", "/{{ user.id }}/x", "{\"a\":{{seq}}}", "{{rand:1:9}}", "{\"t\":\"{{name}}\"}"] {
            let error = check_doubled(text).unwrap_err();
            assert_eq!(error.problem, PlaceholderProblem::Doubled, "{text}");
        }
        for text in ["{{n}", "{user{{id}}", "{{{{name}}", "{\"a\": {\"b\": 1}}", "{{\"a\":1}}", "{seq}", "}}"]
        {
            assert_eq!(check_doubled(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn doubled_braces_are_text() {
        for text in ["{\"a\": {\"b\": 1}}", "{}", "{ seq }", "}", "a{", "{1}", "{\u{e9}}", "{user(id:1)}"] {
            assert_eq!(parse_placeholders(text).unwrap(), [PlaceholderPiece::Text(text)], "{text}");
        }
        assert_eq!(
            parse_placeholders("{{seq}").unwrap(),
            [PlaceholderPiece::Text("{"), PlaceholderPiece::Text("seq}")]
        );
        assert_eq!(
            parse_placeholders("{{{seq}").unwrap(),
            [PlaceholderPiece::Text("{"), PlaceholderPiece::Sequence { first: 0 }]
        );
        assert_eq!(
            parse_placeholders("{seq:100001}").unwrap(),
            [PlaceholderPiece::Sequence { first: 100_001 }]
        );
    }

    #[test]
    fn a_text_is_searched_for_what_is_not_sent_as_it_is() {
        for (text, is_found) in [
            ("{seq}", true),
            ("[{\"a\": {rand:1:2}}]", true),
            ("a {{ b", true),
            ("{line", true),
            ("{id:5}", true),
            ("{\"seq\": {\"b\": {}}}", false),
            ("{sequence", false),
            ("{", false),
            ("", false),
        ] {
            assert_eq!(may_have_placeholder(text.as_bytes(), text.len()), is_found, "{text}");
            let is_plain =
                matches!(parse_placeholders(text).as_deref(), Ok([] | [PlaceholderPiece::Text(_)]));
            assert_eq!(is_plain, !is_found, "{text}");
        }
        assert!(!may_have_placeholder(b"ab{seq}", 2) && may_have_placeholder(b"ab{seq}", 3));
    }

    #[test]
    fn an_invalid_placeholder_is_an_error() {
        for (text, at, problem) in [
            ("/{sed}", 2, PlaceholderProblem::Unknown),
            ("{Seq}", 1, PlaceholderProblem::Unknown),
            ("{seq:a}", 1, PlaceholderProblem::Unknown),
            ("{seq:}", 1, PlaceholderProblem::Unknown),
            ("\u{e9}{id:5}", 2, PlaceholderProblem::Unknown),
            ("{line 5}", 1, PlaceholderProblem::Unknown),
            ("{seq", 1, PlaceholderProblem::Unclosed),
            ("{rand}", 1, PlaceholderProblem::Bounds),
            ("{rand:1}", 1, PlaceholderProblem::Bounds),
            ("{rand:1:}", 1, PlaceholderProblem::Bounds),
            ("{rand:-1:5}", 1, PlaceholderProblem::Bounds),
            ("{rand:+1:5}", 1, PlaceholderProblem::Bounds),
            ("{rand:1:18446744073709551616}", 1, PlaceholderProblem::Bounds),
            ("{rand:5:1}", 1, PlaceholderProblem::Order { least: 5, most: 1 }),
            ("{line:}", 1, PlaceholderProblem::NoFile),
            ("{line}", 1, PlaceholderProblem::NoFile),
        ] {
            let error = parse_placeholders(text).unwrap_err();
            assert_eq!((error.at, &error.problem), (at, &problem), "{text}");
        }
        let message = parse_placeholders("/{rand:5:1}").unwrap_err().to_string();
        assert_eq!(
            message,
            "\"{rand:5:1}\" at character 2 has its bounds in the wrong order; write {rand:1:5}"
        );
        let long = parse_placeholders(&format!("{{seq {}", "x".repeat(100))).unwrap_err();
        assert_eq!(long.text.chars().count(), 43);
    }
}
