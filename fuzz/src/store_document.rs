//! Any text as a stored trial: no panic, and the trial is unchanged after its histograms are extracted and inserted
//! again.
//!
//! Damaged SQLite files are not tested here.

pub fn run(text: &str) {
    paceline_store::fuzz_document(text);
}
