//! Bodies that can be read only once, and by this process alone: a job with one cannot be run twice, or elsewhere.

use paceline_job::{BodyExpectation, Content, Job};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// The pipe or open file of this process from which a body, or one that is expected, is read.
pub fn read_once(job: &Job) -> Option<&Path> {
    job.requests.iter().find_map(|request| {
        let expected = match &request.expect_body {
            Some(BodyExpectation::Exact(content)) => Some(content),
            Some(BodyExpectation::Sha256(_) | BodyExpectation::Json(_) | BodyExpectation::JsonForm(_))
            | None => None,
        };
        request.body.iter().chain(expected).find_map(pipe_of)
    })
}

/// In a loader such a path names an open file of the loader, whose standard input has the coordinator's messages.
fn pipe_of(content: &Content) -> Option<&Path> {
    match content {
        Content::File { file } => {
            let is_own = ["/dev/stdin", "/dev/fd", "/proc/self"].iter().any(|own| file.starts_with(own));
            let is_pipe = std::fs::metadata(file).is_ok_and(|about| about.file_type().is_fifo());
            (is_own || is_pipe || file.as_path() == Path::new("-")).then_some(file.as_path())
        }
        Content::Multipart { parts, .. } => parts.iter().find_map(|part| pipe_of(&part.content)),
        Content::Text(_) | Content::Base64 { .. } => None,
    }
}
