//! Flags of what the server reports of itself: its metrics page, the log of its garbage collector.

use paceline_http::Url;
use paceline_run::{MetricsSources, Prepared, RunError};
use std::path::PathBuf;

/// What to read of the server during the run.
#[derive(clap::Args, Debug)]
pub struct MetricsFlags {
    /// Read the server's metrics page each second (Prometheus, JSON)
    ///
    /// One request a second, outside of the load. At most 32 series are kept, drawn and listed by --full, in --csv,
    /// --ndjson and the record. A scrape that fails is counted, and the run goes on.
    #[arg(hide_short_help = true, long, value_name = "URL", value_parser = page, conflicts_with_all = ["loaders", "on"], help_heading = "Target")]
    scrape: Option<Url>,

    /// Series of it: NAME, NAME*, NAME{label="x"}, /json/pointer
    ///
    /// May be repeated. Without it: garbage collection, pools, queues and memory under the names that the usual clients
    /// of Go, JVM, node, Python and PostgreSQL give them; of JSON the first numbers.
    #[arg(hide_short_help = true, long, value_name = "SERIES", requires = "scrape", help_heading = "Target")]
    scrape_series: Vec<String>,

    /// Mark the pauses in a log: -Xlog:gc, gctrace=1, --trace-gc
    ///
    /// Of the JVM, of Go (GODEBUG=gctrace=1 writes it to standard error) and of node (--trace-gc, to standard output).
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["loaders", "on"], help_heading = "Target")]
    gc_log: Option<PathBuf>,
}

impl MetricsFlags {
    /// Lets a run read what they name; returns the series that it has found.
    pub fn open(&self, prepared: &mut Prepared) -> Result<Vec<String>, RunError> {
        if self.scrape.is_none() && self.gc_log.is_none() {
            return Ok(Vec::new());
        }
        prepared.read_metrics(&MetricsSources {
            scrape: self.scrape.clone(),
            series: self.scrape_series.clone(),
            gc_log: self.gc_log.clone(),
        })
    }
}

/// Parses the value of `--scrape`.
fn page(text: &str) -> Result<Url, String> {
    let url = Url::parse_http(text).map_err(|error| error.to_string())?;
    if url.scheme.uses_tls() {
        return Err("https is not supported: name an http address of the page".to_owned());
    }
    Ok(url)
}
