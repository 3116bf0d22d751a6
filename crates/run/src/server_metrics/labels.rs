//! The labels of a series, as pages of Prometheus and choices of series write them.

/// The labels of a series after its opening brace, and what follows the closing one. None if they are not valid.
pub(super) fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start())?;
        labels.push((name.trim().to_owned(), value));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// A value in quotation marks, with `\\`, `\"` and `\n`, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}
