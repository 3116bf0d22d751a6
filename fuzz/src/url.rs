//! Any text as a URL: no panic, an accepted URL is accepted again after printing, and a request to it is one request.
//!
//! No name is resolved.

use paceline_http::{Request, Url};

pub fn run(text: &str) {
    let Ok(url) = Url::parse(text) else { return };
    assert_eq!(Url::parse(&url.to_string()).as_ref(), Ok(&url));
    let bytes = Request::get(&url).encode().expect("a URL that is understood can be asked for");
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 5);
}
