//! Any text as an encoded histogram: no panic, and an accepted histogram is the same after encoding and decoding.
//!
//! A test of `paceline-stats` checks that other programs can read our encoding.

use paceline_stats::Histogram;

pub fn run(text: &str) {
    let Ok(foreign) = Histogram::from_base64(text) else { return };
    // The cells of another encoder may be finer than ours; after one conversion, values no longer change.
    let ours = Histogram::from_base64(&foreign.to_base64()).expect("our own encoding");
    let again = Histogram::from_base64(&ours.to_base64()).expect("our own encoding");
    assert_eq!(foreign.count(), ours.count());
    assert!(ours.bars().eq(again.bars()));
}
