//! A report of one file: the same pages and charts, opened from disk without a server.
//!
//! The page's data is compressed and embedded as text that no browser executes; program and styles are embedded too.

use crate::WebError;
use crate::assets::{PLOT, SCRIPT, STYLE};
use crate::content::page_json;
use crate::page::{CapacityPage, ComparePage, ComparedRound, IndexPage, Records, RoundPage, RunPage};
use crate::site::PageSink;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_escape::{HtmlText, Printable};
use paceline_experiment::{Capacity, RoundComparison};
use paceline_record::Run;
use paceline_report::Report;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write as _;

/// Contents of a file: pages by the paths that a server would use.
#[derive(Debug, Default, Serialize)]
pub struct SingleFilePages {
    /// Pages by path: `/api/rounds/ID`.
    pages: BTreeMap<String, serde_json::Value>,
    /// The page shown first, as the part of an address after `#`.
    start: String,
}

impl SingleFilePages {
    /// A round with its runs.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_round(records: &Records) -> Result<Self, WebError> {
        let id = &records.round.id;
        let mut contents = Self { start: format!("/round/{id}"), ..Self::default() };
        contents.put("/api/index".to_owned(), &IndexPage::of_file(vec![records.round.clone()]))?;
        let report = records.report();
        let page = RoundPage::new(records, &report);
        contents.put_round(&page, &report)?;
        for trial in &records.trials {
            contents.put(format!("/api/rounds/{id}/runs/{}", trial.id), &RunPage::of_trial(trial))?;
        }
        Ok(contents)
    }

    /// One run.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_run(run: &Run) -> Result<Self, WebError> {
        let mut contents = Self { start: "/run".to_owned(), ..Self::default() };
        contents.put("/api/index".to_owned(), &IndexPage::of_file(Vec::new()))?;
        contents.put("/api/run".to_owned(), &RunPage::of_run(run))?;
        Ok(contents)
    }

    /// The result of a capacity search.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_capacity(capacity: &Capacity) -> Result<Self, WebError> {
        let mut contents = Self { start: "/capacity".to_owned(), ..Self::default() };
        contents.put("/api/index".to_owned(), &IndexPage::of_file(Vec::new()))?;
        contents.put("/api/capacity".to_owned(), &CapacityPage::new(capacity))?;
        Ok(contents)
    }

    /// The result of comparing two rounds.
    ///
    /// # Errors
    /// [`WebError::Json`] when a page cannot be written.
    pub fn of_comparison(
        sides: [&Records; 2],
        reports: [&Report; 2],
        result: &RoundComparison,
        command: String,
    ) -> Result<Self, WebError> {
        let [a, b] = sides;
        let query = format!("a={}&b={}", a.round.id, b.round.id);
        let mut contents = Self { start: format!("/compare?{query}"), ..Self::default() };
        let rounds = vec![a.round.clone(), b.round.clone()];
        contents.put("/api/index".to_owned(), &IndexPage::of_file(rounds))?;
        let pages: [RoundPage; 2] = std::array::from_fn(|side| RoundPage::new(sides[side], reports[side]));
        let compared = std::array::from_fn(|side| ComparedRound {
            page: &pages[side],
            report: reports[side],
            trials: &sides[side].trials,
            server: None,
        });
        let page = ComparePage { command, ..ComparePage::from_result(compared, result) };
        contents.put(format!("/api/compare?{query}"), &page)?;
        Ok(contents)
    }
}

impl PageSink for SingleFilePages {
    fn put(&mut self, path: String, page: &impl Serialize) -> Result<(), WebError> {
        self.pages.insert(path, serde_json::to_value(page)?);
        Ok(())
    }
}

/// Unpacks the program and runs it.
const LOADER: &str = r#"
const packed = Uint8Array.from(atob(document.getElementById("program").textContent), (c) => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(stream).text().then((text) => {
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = text;
  document.head.append(script);
});
"#;

/// The file.
///
/// # Errors
/// [`WebError`] when the contents cannot be written.
pub fn single_file(title: &str, contents: &SingleFilePages) -> Result<Printable, WebError> {
    let program = packed([PLOT, SCRIPT].join("\n").as_bytes())?;
    let contents = packed(page_json(contents)?.as_bytes())?;
    // The style must not contain its element's end tag.
    let style = STYLE.replace("</", "<\\/");
    let title = HtmlText::from_text(title);
    Ok(Printable::generated(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; \
         style-src 'unsafe-inline'; img-src blob: data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <noscript>This report needs JavaScript: allow scripts, or make a text report: paceline report -o report.md \
         for a round, -o run.txt for a run.</noscript>\n\
         <script type=\"application/gzip\" id=\"contents\">{contents}</script>\n\
         <script type=\"application/gzip\" id=\"program\">{program}</script>\n\
         <script type=\"module\">{LOADER}</script>\n</body>\n</html>\n"
    )))
}

/// Compressed, as text that no browser can misinterpret.
fn packed(bytes: &[u8]) -> Result<String, WebError> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish()).map_err(WebError::Start)?;
    Ok(STANDARD.encode(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_is_escaped() {
        let name = "</script><script>alert(1)</script><!--";
        let mut contents = SingleFilePages { start: name.to_owned(), ..SingleFilePages::default() };
        contents.put("/api/x".to_owned(), &name).unwrap();
        let file = single_file(name, &contents).unwrap();
        assert!(!file.contains("alert(1)</script>") && !file.contains("<!--"));
        assert_eq!(file.matches("</script>").count(), 3);
        assert!(file.len() < 400_000, "{} bytes without contents", file.len());
    }
}
