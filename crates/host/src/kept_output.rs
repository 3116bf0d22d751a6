//! The beginning of what another process prints on a stream, read with a limit.
//!
//! The rest is read and dropped, so that the process never waits for a reader, and one that prints without end does not
//! fill the memory.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long [`KeptOutput::text`] waits for the end of the stream. A process that has ended has printed everything, but
/// may have left another one that holds the stream open.
const END_LIMIT: Duration = Duration::from_secs(1);
/// Read at a time.
const PIECE_BYTES: usize = 4096;

/// What a process has printed on one stream so far, up to a limit.
#[derive(Debug)]
pub struct KeptOutput {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Mutex<Receiver<()>>,
}

impl KeptOutput {
    /// Reads the stream to its end in a separate thread, and keeps the first `most` bytes.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn from_stream(stream: impl Read + Send + 'static, most: usize) -> io::Result<Self> {
        let kept = Arc::<Mutex<Vec<u8>>>::default();
        let (ending, ended) = mpsc::channel();
        let into = Arc::clone(&kept);
        let read = move || {
            keep(stream, most, &into);
            drop(ending);
        };
        thread::Builder::new().name("kept output".to_owned()).spawn(read)?;
        Ok(Self { kept, ended: Mutex::new(ended) })
    }

    /// What was printed, after a short wait for the end of the stream.
    pub fn text(&self) -> String {
        // Either the stream ended or the time did.
        let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(END_LIMIT);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// As [`KeptOutput::text`], in one line, for a message.
    pub fn line(&self) -> String {
        self.text().trim().replace('\n', "; ")
    }
}

fn keep(mut stream: impl Read, most: usize, into: &Mutex<Vec<u8>>) {
    let mut piece = [0; PIECE_BYTES];
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
        let room = most.saturating_sub(kept.len()).min(read);
        kept.extend_from_slice(piece.get(..room).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_the_rest_is_read() {
        let (reader, mut writer) = io::pipe().unwrap();
        let output = KeptOutput::from_stream(reader, 5).unwrap();
        // More than a pipe holds: without a reader this would wait.
        io::Write::write_all(&mut writer, &[b'a'; 1 << 20]).unwrap();
        assert_eq!(output.text(), "aaaaa", "the stream is still open");
        drop(writer);
        assert_eq!(output.text(), "aaaaa");
    }
}
