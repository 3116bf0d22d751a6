//! Any text as an encoded histogram: no panic, and what is understood comes back from its own encoding.
//!
//! `scripts/fuzz` runs it. That other programs read what we write is held by a test of `paceline-stats`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_stats::Histogram;

fuzz_target!(|text: &str| {
    let Ok(foreign) = Histogram::from_base64(text) else { return };
    // Another's cells may be finer than ours: once in ours, nothing moves any more.
    let ours = Histogram::from_base64(&foreign.to_base64()).expect("our own encoding");
    let again = Histogram::from_base64(&ours.to_base64()).expect("our own encoding");
    assert_eq!(foreign.count(), ours.count());
    assert!(ours.bars().eq(again.bars()));
});
