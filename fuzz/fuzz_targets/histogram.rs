//! Any text as an encoded histogram: no panic, and what is understood comes back from its own encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_stats::Histogram;

fuzz_target!(|text: &str| {
    let Ok(histogram) = Histogram::from_base64(text) else { return };
    let again = Histogram::from_base64(&histogram.to_base64()).expect("our own encoding");
    assert_eq!(histogram.count(), again.count());
    assert_eq!(histogram.quantile(0.5), again.quantile(0.5));
});
