//! Compares two HTML pages by content: tags, and text with its character references resolved.
//!
//! After the comparison of TechEmpower's fortunes test: attributes, `meta`, `link`, `thead`, `tbody` and white space
//! between tags do not count. Unescaped text is parsed as a tag here, and is a difference.

/// The content of a page: tags and texts, in order.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HtmlPage(Vec<HtmlToken>);

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum HtmlToken {
    /// `table`, `/table` or `!doctype html`, in small letters, without attributes.
    Tag(String),
    Text(String),
}

/// Tags that are ignored.
const OPTIONAL: [&str; 8] = ["meta", "/meta", "link", "/link", "thead", "/thead", "tbody", "/tbody"];

/// Named references that an escaping function may write (HTML Standard, section 13.5).
const NAMED: [(&str, char); 6] =
    [("lt", '<'), ("gt", '>'), ("amp", '&'), ("quot", '"'), ("apos", '\''), ("mdash", '—')];

/// Limit of characters of a piece in a message.
const MAX_SHOWN: usize = 80;

impl HtmlPage {
    /// The content of `html`.
    pub fn from_text(html: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = html;
        while !rest.is_empty() {
            let (piece, after) = next(rest);
            rest = after;
            match (piece, pieces.last_mut()) {
                (None, _) => {}
                // Two texts separated by an ignored piece.
                (Some(HtmlToken::Text(more)), Some(HtmlToken::Text(text))) => text.push_str(&more),
                (Some(piece), _) => pieces.push(piece),
            }
        }
        Self(pieces)
    }

    /// The first difference in content of `body`, in words; `None` where it has the same content.
    pub fn difference(&self, body: &[u8]) -> Option<String> {
        let Ok(text) = std::str::from_utf8(body) else { return Some("the body is not UTF-8".to_owned()) };
        let is = Self::from_text(text);
        let longest = self.0.len().max(is.0.len());
        let at = (0..longest).find(|at| self.0.get(*at) != is.0.get(*at))?;
        Some(format!("the page has {} instead of {}", shown(is.0.get(at)), shown(self.0.get(at))))
    }
}

/// The next tag or text, and the rest of the page.
fn next(html: &str) -> (Option<HtmlToken>, &str) {
    if let Some(tag) = html.strip_prefix('<') {
        let (inside, after) = tag.split_once('>').unwrap_or((tag, ""));
        let mut words = inside.trim_end_matches('/').split_ascii_whitespace();
        let mut name = words.next().unwrap_or_default().to_ascii_lowercase();
        if name == "!doctype" {
            name = format!("{name} {}", words.next().unwrap_or_default().to_ascii_lowercase());
        }
        let counts = !OPTIONAL.contains(&name.as_str());
        return (counts.then_some(HtmlToken::Tag(name)), after);
    }
    let (text, after) = html.split_at(html.find('<').unwrap_or(html.len()));
    let said = !text.trim().is_empty();
    (said.then(|| HtmlToken::Text(resolved(text.trim()))), after)
}

/// A text with its character references resolved.
fn resolved(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let reference = piece.split_once(';').and_then(|(name, after)| Some((character(name)?, after)));
        match reference {
            Some((character, after)) => {
                whole.push(character);
                whole.push_str(after);
            }
            None => {
                whole.push('&');
                whole.push_str(piece);
            }
        }
    }
    whole
}

fn character(name: &str) -> Option<char> {
    if let Some((_, character)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*character);
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

fn shown(piece: Option<&HtmlToken>) -> String {
    let text = match piece {
        None => return "nothing".to_owned(),
        Some(HtmlToken::Tag(name)) => format!("<{name}>"),
        Some(HtmlToken::Text(text)) => format!("{text:?}"),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>\
                        <tr><td>1</td><td>&lt;script&gt;a('b') — c&lt;/script&gt;</td></tr></table></body></html>";

    #[test]
    fn equivalent_html_is_accepted() {
        let page = HtmlPage::from_text(PAGE);
        for same in [
            PAGE.to_owned(),
            PAGE.replace('\'', "&#39;").replace("&lt;", "&#x3c;").replace('—', "&mdash;"),
            PAGE.replace("<table>", "\n<table class=\"x\">\n  <tbody>")
                .replace("</table>", "</tbody>\n</table>"),
            PAGE.replace("<!DOCTYPE html>", "<!doctype HTML>")
                .replace("<head>", "<head><meta charset=utf-8 />"),
        ] {
            assert_eq!(page.difference(same.as_bytes()), None, "{same}");
        }
    }

    #[test]
    fn html_differences_are_named() {
        let page = HtmlPage::from_text(PAGE);
        for (other, reported) in [
            (
                PAGE.replace("&lt;", "<").replace("&gt;", ">"),
                "the page has <script> instead of \"<script>a('b')",
            ),
            (PAGE.replace(" — ", " "), "the page has \"<script>a('b') c</script>\" instead of"),
            (PAGE.replace("<td>1</td>", ""), "instead of \"1\""),
            (PAGE.replace("</html>", ""), "the page has nothing instead of </html>"),
            (PAGE.replace("&lt;", "&amp;lt;"), "the page has \"&lt;script"),
        ] {
            let difference = page.difference(other.as_bytes()).unwrap();
            assert!(difference.contains(reported), "{difference}");
        }
        assert_eq!(page.difference(b"\xff").unwrap(), "the body is not UTF-8");
    }
}
