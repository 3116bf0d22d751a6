//! Checks that a server serves the static files that are on its disk now, not those of its start.
//!
//! A file of its own is added to the folder and then changed, so that other servers and loads on the same folder notice
//! nothing.

use super::client::{CheckClient, check, same};
use crate::probe::{ProbeError, RequestMode};
use crate::provision::write_readable;
use paceline_catalogue::{Expect, ExpectedBody, ExpectedCoding, Workload, WorkloadCase, format_duration};
use paceline_record::{Check, CheckOutcome};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a server may serve what was on its disk before: some look at a file only once in a second or two.
pub(super) const CHANGE_LIMIT: Duration = Duration::from_secs(5);
/// The pause between two requests until then.
const ASK_EVERY: Duration = Duration::from_millis(200);
/// The name of the check.
const NAME: &str = "a file that changes on disk";

/// The contents of the file, one after the other, of different length.
const CONTENTS: [(&str, &str); 2] = [
    ("was added", "This file was added.\n"),
    ("was changed", "This file was added, and then it was changed.\n"),
];

/// A check for each workload of static files, which are in `folder`. A change must be served within `limit`.
pub(super) fn checks(
    client: &CheckClient<'_>,
    workloads: &[Arc<Workload>],
    folder: &Path,
    limit: Duration,
) -> Result<Vec<Check>, ProbeError> {
    let served = |workload: &Arc<Workload>| {
        let (path, request) = (workload.static_files.clone()?, workload.requests().next()?.clone());
        Some((path, request))
    };
    let served = workloads.iter().filter_map(served);
    served.map(|(path, request)| changed(client, &path, &request, folder, limit)).collect()
}

fn changed(
    client: &CheckClient<'_>,
    path: &str,
    like: &WorkloadCase,
    folder: &Path,
    limit: Duration,
) -> Result<Check, ProbeError> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let name = format!("changed-{}-{}.txt", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let file = OwnFile(folder.join(&name));
    for (what, content) in CONTENTS {
        if let Err(error) = write_readable(&file.0, content.as_bytes()) {
            let detail = format!("not checked: cannot write {}: {error}", file.0.display());
            return Ok(check(NAME, CheckOutcome::Warn, detail));
        }
        let request =
            WorkloadCase { path: format!("{path}{name}"), expect: expect(content, like), ..like.clone() };
        if let Some(wrong) = wrong_until(client, &request, Instant::now() + limit)? {
            let detail = format!(
                "{} after the file of GET {} {what} in $PACELINE_STATIC: {wrong}",
                format_duration(limit),
                request.path
            );
            return Ok(same(NAME, Some(detail)));
        }
    }
    Ok(same(NAME, None))
}

/// A response with this content, which may be coded as those of other files.
fn expect(content: &str, like: &WorkloadCase) -> Expect {
    Expect {
        status: 200,
        content_type: None,
        charset: None,
        headers: Vec::new(),
        body: ExpectedBody::Exact(content.as_bytes().to_vec()),
        coding: ExpectedCoding { is_required: false, ..like.expect.coding.clone() },
        ..like.expect.clone()
    }
}

/// What is still wrong with the answer at the end of the limit.
fn wrong_until(
    client: &CheckClient<'_>,
    request: &WorkloadCase,
    limit: Instant,
) -> Result<Option<String>, ProbeError> {
    loop {
        let wrong = client.wrong(request, RequestMode::Http11)?;
        if wrong.is_none() || Instant::now() >= limit {
            return Ok(wrong);
        }
        if client.interrupt().requested() {
            return Err(ProbeError::Interrupted);
        }
        std::thread::sleep(ASK_EVERY);
    }
}

/// A file that is removed when dropped.
struct OwnFile(PathBuf);

impl Drop for OwnFile {
    fn drop(&mut self) {
        // No load requests a file that cannot be removed.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests;
