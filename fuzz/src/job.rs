//! Any text as a job, as in `--job FILE` and in records: no panic, and a valid job is still valid after writing and
//! reading.
//!
//! Files that a job names are not opened.

use paceline_job::Job;

pub fn run(text: &str) {
    let Ok(job) = serde_json::from_str::<Job>(text) else { return };
    if job.check().is_err() {
        return;
    }
    assert!(job.segments().iter().all(|segment| segment.start <= segment.end));
    let written = serde_json::to_string(&job).expect("a job can be written");
    let again: Job = serde_json::from_str(&written).expect("what was written can be read");
    assert!(again.check().is_ok());
}
