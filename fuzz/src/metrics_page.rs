//! Any text as a metrics page (`--scrape`), Prometheus or JSON: no panic, finite values, names that are in the page.

pub fn run(text: &str) {
    paceline_run::fuzz_metrics_page(text);
}
