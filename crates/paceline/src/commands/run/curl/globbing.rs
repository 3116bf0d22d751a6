//! Brackets and braces in a URL, with which curl requests a list of URLs (globbing; `src/tool_urlglob.c`).

use crate::exit::Complaint;
use std::net::Ipv6Addr;

/// The URL that curl requests for a pattern: without the backslashes before brackets and braces.
///
/// # Errors
/// The pattern is a list of URLs, or one that curl refuses.
pub fn single_url(pattern: &str) -> Result<String, Complaint> {
    let (mut url, mut rest) = (String::with_capacity(pattern.len()), pattern);
    while let Some(at) = rest.find(['[', ']', '{', '}']) {
        let (before, from_bracket) = rest.split_at(at);
        let (before, length) = match before.strip_suffix('\\') {
            Some(before) => (before, 1),
            None => (before, literal_length(from_bracket).ok_or_else(|| lists_urls(from_bracket))?),
        };
        url.push_str(before);
        url.push_str(&from_bracket[..length]);
        rest = &from_bracket[length..];
    }
    Ok(url + rest)
}

/// The length of brackets that curl sends as they are: empty ones, and an IPv6 address, with or without a zone.
fn literal_length(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    let address = inside.split('%').next().unwrap_or_default();
    (inside.is_empty() || address.parse::<Ipv6Addr>().is_ok()).then_some(inside.len() + 2)
}

fn lists_urls(from_bracket: &str) -> Complaint {
    let list = from_bracket.split_inclusive([']', '}']).next().unwrap_or(from_bracket);
    Complaint::usage(format!("--curl: the URL has {list:?}, with which curl requests a list of URLs"))
        .hint("add -g to the command to send the URL as it is, or write the URLs into a request file (--mix)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_one_url_is_that_url() {
        for (pattern, url) in [
            ("h/a?b\\[\\]=\\{1\\}\\x", "h/a?b[]={1}\\x"),
            ("h/?a[]=1&b[]=2", "h/?a[]=1&b[]=2"),
            ("http://[::1]:8080/\\[2\\]", "http://[::1]:8080/[2]"),
            ("http://[fe80::1%25lo]/", "http://[fe80::1%25lo]/"),
            ("h/caf\u{e9}", "h/caf\u{e9}"),
        ] {
            assert_eq!(single_url(pattern).unwrap(), url, "{pattern}");
        }
    }

    #[test]
    fn a_list_of_urls_is_refused() {
        for (pattern, list) in [
            ("h/page[1-3]/b", "\"[1-3]\""),
            ("h/{a,b}.txt", "\"{a,b}\""),
            ("h/?x[y]=1", "\"[y]\""),
            ("h/a]", "\"]\""),
            ("h/{a", "\"{a\""),
        ] {
            let complaint = single_url(pattern).unwrap_err();
            assert!(complaint.what.contains(list), "{pattern}: {}", complaint.what);
        }
    }
}
