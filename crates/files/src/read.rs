//! Reading with a limit: files, their tails, gzip, and streams that are already open.
//!
//! Used wherever the input may be written by another user or program. The caller interprets the bytes.

use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Largest hand-written text: plans, manifests, workloads, certificates. The largest in the repository has 30 kB.
pub const MAX_TEXT_BYTES: u64 = 4 << 20;
/// Largest program output that is read whole: the record of a run, a report of another load generator.
pub const MAX_OUTPUT_BYTES: u64 = 64 << 20;
/// The first bytes of a gzip stream (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The device number of `/dev/null`: major 1, minor 3 (null(4)).
const NULL_DEVICE: u64 = 1 << 8 | 3;

/// Why a file is not read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FileError {
    /// A folder, device, socket or named pipe.
    #[error("{0}, not a regular file")]
    NotRegular(&'static str),
    /// More than the limit.
    #[error("the file is larger than the maximum of {}", in_units(*.0))]
    TooLarge(u64),
    /// A line with more than the limit.
    #[error("a line is longer than the maximum of {}", in_units(*.0))]
    LineTooLong(u64),
    /// More than the limit, once decompressed.
    #[error("the file decompresses to more than the maximum of {}", in_units(*.0))]
    InflatesTooLarge(u64),
    /// A symbolic link of the user with this id, who is neither this user nor root.
    #[error(
        "the file is a symbolic link owned by another user (user id {0}): remove the link, or create it as your own user"
    )]
    ForeignLink(u32),
    /// Not UTF-8.
    #[error("not valid UTF-8 at byte {}", .0 + 1)]
    NotText(usize),
    /// UTF-16, as PowerShell writes it.
    #[error("the file is UTF-16: save it as UTF-8")]
    Utf16,
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = match error {
            FileError::NotRegular(_) => io::ErrorKind::InvalidInput,
            FileError::TooLarge(_) | FileError::LineTooLong(_) | FileError::InflatesTooLarge(_) => {
                io::ErrorKind::FileTooLarge
            }
            FileError::ForeignLink(_) => io::ErrorKind::PermissionDenied,
            FileError::NotText(_) | FileError::Utf16 => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// The system's error; [`FileError::NotRegular`] for any other kind of file. A named pipe without a writer is rejected
/// at once: the call does not wait for a writer.
pub fn open(path: &Path) -> io::Result<File> {
    // O_NONBLOCK has no effect on regular files; without it, opening a named pipe returns only when a writer opens it.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    of_kind(file.metadata()?.file_type())?;
    Ok(file)
}

fn of_kind(kind: std::fs::FileType) -> io::Result<()> {
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(FileError::NotRegular(what).into())
}

/// Opens an input that the user names: a regular file, `/dev/null`, or what is open already (`<(command)` of a shell,
/// `/dev/stdin`). Reading from it needs a limit.
///
/// # Errors
/// The system's error; [`FileError::NotRegular`] for anything else: a device might have no end, a named pipe might
/// never get a writer.
pub fn open_input(path: &Path) -> io::Result<File> {
    let is_open = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|folder| path.starts_with(folder));
    let about = std::fs::metadata(path)?;
    if !about.is_dir() && (is_open || about.rdev() == NULL_DEVICE && about.file_type().is_char_device()) {
        return File::open(path);
    }
    open(path)
}

/// Checks that a path, if it exists, is a regular file: to be opened for writing by another library, which would accept
/// a device and wait for the reader of a pipe.
///
/// # Errors
/// The system's error, or [`FileError::NotRegular`].
pub fn check_regular(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(about) => of_kind(about.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The last `most` bytes of a regular file, or all of a shorter one.
///
/// # Errors
/// As [`open`].
pub fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let from = file.metadata()?.len().saturating_sub(most);
    file.seek(io::SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and [`FileError::TooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Bounded::new(open(path)?, FileError::TooLarge(most), most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a regular file of at most `most` bytes of UTF-8.
///
/// # Errors
/// As [`read`], and [`FileError::NotText`].
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    Ok(text(read(path, most)?)?)
}

/// Reads at most `most` bytes of UTF-8 from an open stream: standard input, a pipe, a connection.
///
/// # Errors
/// The system's error, [`FileError::TooLarge`] and [`FileError::NotText`].
pub fn take_text(from: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    Bounded::new(from, FileError::TooLarge(most), most).read_to_end(&mut bytes)?;
    Ok(text(bytes)?)
}

/// Reads the next line with its newline, of at most `most` bytes, from a stream that another process writes; `None` at
/// the end.
///
/// # Errors
/// The system's error, [`FileError::LineTooLong`], or `UnexpectedEof` where the stream ends within a line.
pub fn read_line(from: &mut impl BufRead, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.by_ref().take(most).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() as u64 >= most => Err(FileError::LineTooLong(most).into()),
        Some(_) => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a message ends in the middle of a line"))
        }
    }
}

/// The text of these bytes, without the byte order mark that editors on Windows write before it.
///
/// # Errors
/// [`FileError::NotText`], [`FileError::Utf16`].
pub fn text(mut bytes: Vec<u8>) -> Result<String, FileError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FileError::Utf16);
    }
    bytes.drain(..bytes.len() - without_byte_order_mark(&bytes).len());
    String::from_utf8(bytes).map_err(|error| FileError::NotText(error.utf8_error().valid_up_to()))
}

/// The bytes after a byte order mark of UTF-8, if there is one.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Whether these bytes begin a gzip stream.
pub fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP_MAGIC)
}

/// Decompresses gzip (all its members) to at most `most` bytes.
///
/// # Errors
/// [`FileError::InflatesTooLarge`], or the error of the invalid stream.
pub fn gunzip(bytes: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut inflated = Vec::new();
    Bounded::new(MultiGzDecoder::new(bytes), FileError::InflatesTooLarge(most), most)
        .read_to_end(&mut inflated)?;
    Ok(inflated)
}

/// Opens a regular gzip file. At most `most` decompressed bytes can be read: a read beyond them fails.
///
/// # Errors
/// As [`open`].
pub fn open_gzip(path: &Path, most: u64) -> io::Result<impl BufRead> {
    let inflated = MultiGzDecoder::new(BufReader::new(open(path)?));
    Ok(BufReader::new(Bounded::new(inflated, FileError::InflatesTooLarge(most), most)))
}

/// A reader with a limit. Longer input is an error, never silently truncated.
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    error: Option<FileError>,
    left: u64,
}

impl<R: Read> Bounded<R> {
    /// Reads `most` bytes of `inner`; longer input fails with `error`.
    pub fn new(inner: R, error: FileError, most: u64) -> Self {
        Self { inner, error: Some(error), left: most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            // Reading one byte more distinguishes the end from input that is too long.
            return match self.inner.read(&mut buffer[..1])? {
                0 => Ok(0),
                _ => Err(self.error.take().map_or(io::ErrorKind::FileTooLarge.into(), io::Error::from)),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let length = self.inner.read(&mut buffer[..most])?;
        self.left -= length as u64;
        Ok(length)
    }
}

fn in_units(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;

    fn rejected(result: io::Result<impl Sized>) -> FileError {
        let error = result.map(drop).unwrap_err();
        *error.into_inner().unwrap().downcast::<FileError>().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_file_at_the_limit_is_read_and_one_above_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, "1234567890").unwrap();
        assert_eq!(read_text(&path, 10).unwrap(), "1234567890");
        assert_eq!(rejected(read(&path, 9)), FileError::TooLarge(9));
    }

    #[test]
    fn only_regular_files_are_read_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        assert_eq!(rejected(read(&fifo, 10)), FileError::NotRegular("a named pipe"));
        assert_eq!(rejected(read(Path::new("/dev/zero"), 10)), FileError::NotRegular("a device"));
        assert_eq!(rejected(read(folder.path(), 10)), FileError::NotRegular("a folder"));
        assert_eq!(read(Path::new("/no/such/file"), 10).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn open_pipes_are_read_and_named_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(rejected(open_input(&fifo)), FileError::NotRegular("a named pipe"));
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"lines").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(take_text(open_input(Path::new(&path)).unwrap(), 5).unwrap(), "lines");
        assert!(open_input(Path::new("/dev/null")).is_ok());
        assert_eq!(rejected(open_input(Path::new("/dev/zero"))), FileError::NotRegular("a device"));
        assert_eq!(rejected(check_regular(Path::new("/dev/null"))), FileError::NotRegular("a device"));
        assert_eq!(rejected(check_regular(&fifo)), FileError::NotRegular("a named pipe"));
        assert!(check_regular(&folder.path().join("none")).is_ok());
    }

    #[test]
    fn a_line_without_an_end_is_refused_at_the_limit() {
        let mut stream = &b"one\ntwo"[..];
        assert_eq!(read_line(&mut stream, 4).unwrap().unwrap(), b"one\n");
        assert_eq!(read_line(&mut stream, 4).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(read_line(&mut stream, 4).unwrap().is_none());
        let mut endless = BufReader::new(io::repeat(0));
        assert_eq!(rejected(read_line(&mut endless, 1 << 16)), FileError::LineTooLong(1 << 16));
    }

    #[test]
    fn the_tail_of_a_file_is_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(tail(&path, 3).unwrap(), b"789");
        assert_eq!(tail(&path, 30).unwrap(), b"0123456789");
    }

    #[test]
    fn decompression_stops_at_the_limit() {
        let bomb = gzip(&vec![0; 1 << 20]);
        assert!(bomb.len() < 2000);
        assert_eq!(rejected(gunzip(&bomb, 1000)), FileError::InflatesTooLarge(1000));
        assert_eq!(gunzip(&bomb, 1 << 20).unwrap().len(), 1 << 20);
        let two = [gzip(b"one\n"), gzip(b"two\n")].concat();
        assert_eq!(gunzip(&two, 8).unwrap(), b"one\ntwo\n");
        assert!(is_gzip(&two) && !is_gzip(b"PK"));
    }

    #[test]
    fn lines_of_a_gzip_file_end_with_an_error_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.gz");
        std::fs::write(&path, gzip(b"one\ntwo\nthree\n")).unwrap();
        let lines: Vec<_> = open_gzip(&path, 8).unwrap().lines().collect();
        assert_eq!(lines.iter().filter_map(|line| line.as_deref().ok()).collect::<Vec<_>>(), ["one", "two"]);
        assert!(lines.last().unwrap().is_err());
    }

    #[test]
    fn invalid_utf_8_is_reported_with_its_position() {
        assert_eq!(rejected(take_text(&b"ab\xffcd"[..], 10)), FileError::NotText(2));
        assert_eq!(rejected(take_text(&b"\xff\xfea\0"[..], 10)), FileError::Utf16);
        assert_eq!(take_text(&b"\xef\xbb\xbfab"[..], 10).unwrap(), "ab");
        assert_eq!(FileError::NotText(2).to_string(), "not valid UTF-8 at byte 3");
        assert_eq!(FileError::TooLarge(4 << 20).to_string(), "the file is larger than the maximum of 4 MiB");
    }

    proptest::proptest! {
        #[test]
        fn a_bounded_reader_returns_everything_or_an_error(bytes: Vec<u8>, most in 0..200u64) {
            let mut read = Vec::new();
            let result = Bounded::new(bytes.as_slice(), FileError::TooLarge(most), most).read_to_end(&mut read);
            proptest::prop_assert_eq!(result.is_ok(), bytes.len() as u64 <= most);
            proptest::prop_assert!(bytes.starts_with(&read) && read.len() as u64 <= most);
        }
    }
}
