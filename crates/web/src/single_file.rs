//! A report of one file: the same pages and charts, opened from disk without a server.
//!
//! The page's data is compressed and put into the file as text that no browser runs; program and styles stand in it too.

use crate::WebError;
use crate::assets::{SCRIPT, STYLE};
use crate::page::{ComparePage, IndexPage, RoundPage, RunPage};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;

/// What a file holds: pages by the paths that a server would have them at.
#[derive(Debug, Default, Serialize)]
pub struct Contents {
    /// Pages by path: `/api/rounds/ID`.
    pages: BTreeMap<String, serde_json::Value>,
    /// What the file opens with, as the part of an address after `#`.
    start: String,
}

impl Contents {
    /// A round, and each of its runs.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_round(index: &IndexPage, round: &RoundPage, runs: &[RunPage]) -> Result<Self, WebError> {
        let id = &round.about.id;
        let mut contents = Self { start: format!("/round/{id}"), ..Self::default() };
        contents.put("/api/index".to_owned(), index)?;
        contents.put(format!("/api/rounds/{id}"), round)?;
        for run in runs {
            contents.put(format!("/api/rounds/{id}/runs/{}", run.id), run)?;
        }
        Ok(contents)
    }

    /// One run.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_run(index: &IndexPage, run: &RunPage) -> Result<Self, WebError> {
        let mut contents = Self { start: "/run".to_owned(), ..Self::default() };
        contents.put("/api/index".to_owned(), index)?;
        contents.put("/api/run".to_owned(), run)?;
        Ok(contents)
    }

    /// A comparison.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_comparison(index: &IndexPage, page: &ComparePage) -> Result<Self, WebError> {
        let query = format!("a={}&b={}", page.a.round.id, page.b.round.id);
        let mut contents = Self { start: format!("/compare?{query}"), ..Self::default() };
        contents.put("/api/index".to_owned(), index)?;
        contents.put(format!("/api/compare?{query}"), page)?;
        Ok(contents)
    }

    fn put(&mut self, path: String, page: &impl Serialize) -> Result<(), WebError> {
        self.pages.insert(path, serde_json::to_value(page)?);
        Ok(())
    }
}

/// The file.
///
/// # Errors
/// [`WebError`] when the contents cannot be written.
pub fn single_file(title: &str, contents: &Contents) -> Result<String, WebError> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    serde_json::to_writer(&mut packer, contents)?;
    let packed = packer.flush().and_then(|()| packer.finish()).map_err(WebError::Start)?;
    let data = STANDARD.encode(packed);
    // Neither may end its element: no browser takes `<\/script` in a string for anything else than `</script`.
    let script = SCRIPT.replace("</script", "<\\/script").replace("<!--", "<\\!--");
    let style = STYLE.replace("</style", "<\\/style");
    let title = escaped(title);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src blob: data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <script type=\"application/gzip\" id=\"contents\">{data}</script>\n<script type=\"module\">{script}</script>\n\
         </body>\n</html>\n"
    ))
}

/// Text that may stand in an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
