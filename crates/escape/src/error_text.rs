//! The text of an error with its causes.

use std::error::Error;

/// An error with its causes. A cause is left out where the text so far ends with it, as many library errors do.
pub fn error_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}
