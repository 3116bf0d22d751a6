//! What a server reports of itself during a run: its metrics page once a second, and the log of its garbage collector.
//!
//! A thread of the lowest priority reads both; the workers take no part in it. A scrape that fails is counted and does
//! not end the run.

mod exposition;
mod fetch;
mod gc_log;
mod labels;
mod selector;

pub use exposition::fuzz_metrics_page;
pub use gc_log::fuzz_gc_log;

use crate::RunError;
use crate::even_samples::EvenSamples;
use exposition::readings;
use gc_log::GcLogReader;
use paceline_engine::kernel::KernelClock;
use paceline_engine::{Clock as _, Nanos};
use paceline_host::process;
use paceline_http::Url;
use paceline_record::{GcLog, MetricSeries, SeriesKind, ServerMetrics, Span};
use selector::{MAX_SERIES, SeriesSelector};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two scrapes.
const SCRAPE_EVERY: Nanos = Nanos(1_000_000_000);
/// Time between two looks at a log: how exactly its first lines are placed.
const LOG_EVERY: Duration = Duration::from_millis(50);

/// What to read of the server.
#[derive(Clone, Debug, Default)]
pub struct MetricsSources {
    /// A page of Prometheus text or JSON (`http`).
    pub scrape: Option<Url>,
    /// The series to keep; without any, those with the usual names.
    pub series: Vec<String>,
    /// The log of its garbage collector.
    pub gc_log: Option<PathBuf>,
}

/// Reads what the server reports of itself.
#[derive(Debug)]
pub(crate) struct MetricsReader {
    scraper: Option<Scraper>,
    gc_log: Option<GcLogReader>,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct ReadMetrics {
    pub server_metrics: Option<ServerMetrics>,
    pub gc_log: Option<GcLog>,
}

impl MetricsReader {
    /// Opens the sources, and scrapes once: the series of that scrape are the columns of the seconds.
    pub(crate) fn open(sources: &MetricsSources) -> Result<Self, RunError> {
        let gc_log = sources.gc_log.as_ref().map(|path| {
            GcLogReader::open(path).map_err(|error| {
                RunError::usage(format!("--gc-log {}", path.display()))
                    .because(error)
                    .hint("start the server so that it writes this file: java -Xlog:gc:FILE, GODEBUG=gctrace=1 with 2> FILE, or node --trace-gc with > FILE")
            })
        });
        let scraper = sources.scrape.clone().map(|url| Scraper::new(url, &sources.series)).transpose()?;
        Ok(Self { scraper, gc_log: gc_log.transpose()? })
    }

    /// The series that the first scrape found, in the order of their names; none without a scrape.
    pub(crate) fn series(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .scraper
            .iter()
            .flat_map(|scraper| &scraper.series)
            .map(|series| series.name.clone())
            .collect();
        names.sort_unstable();
        names
    }

    /// Why the first scrape failed or found nothing, for the user.
    pub(crate) fn notice(&self) -> Option<String> {
        let scraper = self.scraper.as_ref()?;
        let url = &scraper.url;
        match &scraper.first_failure {
            Some(failure) => Some(format!("--scrape {url}: {failure}; the run tries again every second")),
            None if scraper.series.is_empty() => Some(format!(
                "--scrape {url}: the page has none of the series yet; choose some with --scrape-series NAME"
            )),
            None => None,
        }
    }

    fn begin(mut self) -> Result<MetricsThread, RunError> {
        let (stop, stopped) = mpsc::channel();
        let latest = LatestMetrics::default();
        let shared = latest.clone();
        let read = move || {
            self.until_stopped(&stopped, &shared);
            self
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(read).map_err(|error| {
            RunError::environment("cannot start the thread that reads the server's metrics")
                .because(error)
                .hint("raise the limit of threads and processes (`ulimit -u`)")
        })?;
        Ok(MetricsThread { stop, latest, thread })
    }

    fn until_stopped(&mut self, stopped: &Receiver<()>, latest: &LatestMetrics) {
        process::run_thread_last();
        let mut due = KernelClock.now() + SCRAPE_EVERY;
        loop {
            let until_due = self.scraper.is_some().then(|| Duration::from(due.since(KernelClock.now())));
            let log = self.gc_log.is_some().then_some(LOG_EVERY);
            let wait = until_due.into_iter().chain(log).min().unwrap_or(LOG_EVERY);
            let is_over = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            self.gc_log.iter_mut().for_each(|log| log.poll(KernelClock.now()));
            if is_over {
                return;
            }
            if let Some(scraper) = &mut self.scraper
                && KernelClock.now() >= due
            {
                latest.set(scraper.scrape());
                let missed = KernelClock.now().since(due).0 / SCRAPE_EVERY.0;
                due += Nanos((missed + 1) * SCRAPE_EVERY.0);
            }
        }
    }

    fn finish(self, start: Nanos, window: Span) -> ReadMetrics {
        ReadMetrics {
            server_metrics: self.scraper.map(|scraper| scraper.finish(start)),
            gc_log: self.gc_log.map(|log| log.finish(start, window)),
        }
    }
}

/// The reader at work.
#[derive(Debug)]
pub(crate) struct MetricsThread {
    stop: Sender<()>,
    latest: LatestMetrics,
    thread: JoinHandle<MetricsReader>,
}

impl MetricsThread {
    /// Starts to read.
    pub(crate) fn begin(reader: MetricsReader) -> Result<Self, RunError> {
        reader.begin()
    }

    /// The values of the last scrape, during the run.
    pub(crate) fn latest(&self) -> LatestMetrics {
        self.latest.clone()
    }

    /// Ends reading. The run started then; its window is relative to that.
    pub(crate) fn finish(self, start: Nanos, window: Span) -> ReadMetrics {
        drop(self.stop);
        self.thread.join().map(|reader| reader.finish(start, window)).unwrap_or_default()
    }
}

/// Values and when they were read.
type Values = (Nanos, BTreeMap<String, f64>);

/// The values of the last scrape.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatestMetrics(Arc<Mutex<Option<Values>>>);

impl LatestMetrics {
    fn set(&self, values: Option<Values>) {
        if let (Ok(mut latest), Some(values)) = (self.0.lock(), values) {
            *latest = Some(values);
        }
    }

    /// The values for a second that ended then: none if they are much older.
    pub(crate) fn near(&self, end: Nanos) -> BTreeMap<String, f64> {
        let latest = self.0.lock().ok().and_then(|latest| latest.clone());
        let is_near = |(at, _): &Values| Nanos(at.0 + 2 * SCRAPE_EVERY.0) > end;
        latest.filter(is_near).map(|(_, values)| values).unwrap_or_default()
    }
}

/// Scrapes a page, and keeps its series.
#[derive(Debug)]
struct Scraper {
    url: Url,
    selectors: Vec<SeriesSelector>,
    /// Whether the user chose the series.
    is_choice: bool,
    series: Vec<KeptSeries>,
    samples: EvenSamples<(Nanos, Vec<Option<f64>>)>,
    scrapes: u32,
    failed: u32,
    first_failure: Option<String>,
    left_out: usize,
}

#[derive(Debug)]
struct KeptSeries {
    name: String,
    kind: SeriesKind,
}

impl Scraper {
    /// Scrapes for the first time.
    fn new(url: Url, chosen: &[String]) -> Result<Self, RunError> {
        let is_choice = !chosen.is_empty();
        let selectors = match is_choice {
            true => chosen.iter().map(|text| SeriesSelector::parse(text)).collect::<Result<_, _>>()?,
            false => SeriesSelector::usual(),
        };
        let mut scraper = Self {
            url,
            selectors,
            is_choice,
            series: Vec::new(),
            samples: EvenSamples::default(),
            scrapes: 0,
            failed: 0,
            first_failure: None,
            left_out: 0,
        };
        scraper.scrape();
        Ok(scraper)
    }

    /// Scrapes once; returns the values.
    fn scrape(&mut self) -> Option<Values> {
        let page = fetch::page(&self.url).map_err(|error| error.to_string());
        let now = KernelClock.now();
        let read = page.and_then(|page| readings(&page, &self.selectors, self.is_choice));
        let found = match read {
            Ok(found) => found,
            Err(failure) => {
                self.failed += 1;
                self.first_failure.get_or_insert(failure);
                return None;
            }
        };
        self.scrapes += 1;
        let mut values = vec![None; self.series.len()];
        let mut left_out = 0;
        for reading in found {
            let known = self.series.iter().position(|series| series.name == reading.name);
            match known {
                Some(at) => values[at] = Some(reading.value),
                None if self.series.len() < MAX_SERIES => {
                    self.series.push(KeptSeries { name: reading.name, kind: reading.kind });
                    values.push(Some(reading.value));
                }
                None => left_out += 1,
            }
        }
        self.left_out = self.left_out.max(left_out);
        let by_name = self.series.iter().zip(&values);
        let by_name = by_name.filter_map(|(series, value)| Some((series.name.clone(), (*value)?))).collect();
        self.samples.add((now, values));
        Some((now, by_name))
    }

    fn finish(self, start: Nanos) -> ServerMetrics {
        // Of the samples before the run, the last one is its beginning.
        let mut samples = self.samples.into_vec();
        let before = samples.iter().take_while(|(at, _)| *at < start).count().saturating_sub(1);
        samples.drain(..before);
        let values =
            |at: usize| samples.iter().map(|(_, values)| values.get(at).copied().flatten()).collect();
        let series = self.series.into_iter().enumerate();
        ServerMetrics {
            url: self.url.to_string(),
            scrapes: self.scrapes,
            failed: self.failed,
            first_failure: self.first_failure,
            series_left_out: self.left_out as u32,
            at_ns: samples.iter().map(|(at, _)| at.since(start).0).collect(),
            series: series
                .map(|(at, KeptSeries { name, kind })| MetricSeries { name, kind, values: values(at) })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// A server that gives each of these pages to one connection, and an empty answer for an empty page.
    fn serving(pages: Vec<String>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for page in pages {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 1_024]);
                if !page.is_empty() {
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
                    let _ = stream.write_all((head + &page).as_bytes());
                }
            }
        });
        Url::parse(&format!("http://{address}/metrics")).unwrap()
    }

    #[test]
    fn series_that_come_later_are_kept_and_failures_counted() {
        let pages = ["a 1\n", "", "a 2\nb_total 5\n"].map(str::to_owned).to_vec();
        let mut scraper = Scraper::new(serving(pages), &["a".to_owned(), "b_*".to_owned()]).unwrap();
        assert_eq!(scraper.scrape(), None);
        let (at, values) = scraper.scrape().unwrap();
        assert_eq!(values, [("a".to_owned(), 2.0), ("b_total".to_owned(), 5.0)].into());
        let metrics = scraper.finish(at);
        assert_eq!((metrics.scrapes, metrics.failed), (2, 1));
        assert!(metrics.first_failure.unwrap().contains("closed without an answer"));
        let series: Vec<_> =
            metrics.series.iter().map(|one| (one.name.as_str(), one.values.clone())).collect();
        assert_eq!(series, [("a", vec![Some(1.0), Some(2.0)]), ("b_total", vec![None, Some(5.0)])]);
        assert_eq!(metrics.at_ns, [0, 0], "the first one was before the run");
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let page: String = (0..40).map(|at| format!("x{{at=\"{at}\"}} {at}\n")).collect();
        let scraper = Scraper::new(serving(vec![page]), &["x".to_owned()]).unwrap();
        assert_eq!((scraper.series.len(), scraper.left_out), (MAX_SERIES, 8));
    }

    #[test]
    fn values_that_are_too_old_are_not_those_of_a_second() {
        let latest = LatestMetrics::default();
        latest.set(Some((Nanos(5_000_000_000), [("a".to_owned(), 1.0)].into())));
        assert_eq!(latest.near(Nanos(6_500_000_000)).len(), 1);
        assert_eq!(latest.near(Nanos(7_000_000_000)).len(), 0);
    }
}
