//! The files that a job names: each is read with a limit and remembered, so that no output replaces an input.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Largest file that is kept in memory.
pub const MAX_BYTES: u64 = 256 << 20;

/// The files read so far.
#[derive(Debug, Default)]
pub struct Inputs {
    read: Vec<Input>,
    /// The folder of the child process that carries the job out; none if this process does.
    child_folder: Option<PathBuf>,
}

/// One file that was read.
#[derive(Debug)]
struct Input {
    /// The flag or placeholder that named it.
    named_by: String,
    /// Its device and inode number.
    inode: (u64, u64),
}

impl Inputs {
    /// The files of a job that a child process without standard input carries out in a folder: their paths are relative
    /// to it.
    pub fn of_child(folder: &Path) -> Self {
        Self { child_folder: Some(folder.to_owned()), ..Self::default() }
    }

    /// Where this process finds a file.
    fn place<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        match &self.child_folder {
            Some(folder) => Cow::Owned(folder.join(path)),
            None => Cow::Borrowed(path),
        }
    }

    /// Standard input, unless a child process would read it.
    fn standard_input(&self) -> io::Result<File> {
        if self.child_folder.is_some() {
            let problem = "this run has no standard input: name a file";
            return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
        }
        Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
    }

    /// The whole file, if it has at most [`MAX_BYTES`] bytes.
    pub fn read(&mut self, named_by: &str, path: &Path) -> io::Result<Vec<u8>> {
        self.content(named_by, paceline_files::open_input(&self.place(path))?)
    }

    /// The whole file as text, without a byte order mark.
    pub fn read_text(&mut self, named_by: &str, path: &Path) -> io::Result<String> {
        Ok(paceline_files::text(self.read(named_by, path)?)?)
    }

    /// All of standard input, with the same limit.
    pub fn read_standard_input(&mut self, named_by: &str) -> io::Result<Vec<u8>> {
        self.content(named_by, self.standard_input()?)
    }

    /// Standard input, if it is a regular file of which nothing was read: it can be read by position, and may be larger
    /// than [`MAX_BYTES`].
    pub fn open_standard_input(&mut self, named_by: &str) -> io::Result<Option<File>> {
        self.standard_input_of_kind(named_by, true)
    }

    /// Standard input, if it is anything else: it can be read once, and may give more than [`MAX_BYTES`].
    pub(crate) fn standard_input_stream(&mut self, named_by: &str) -> io::Result<Option<File>> {
        self.standard_input_of_kind(named_by, false)
    }

    /// Standard input, if it is a regular file of which nothing was read, or if it is not.
    fn standard_input_of_kind(&mut self, named_by: &str, is_file: bool) -> io::Result<Option<File>> {
        let mut file = self.standard_input()?;
        if (file.metadata()?.is_file() && file.stream_position()? == 0) != is_file {
            return Ok(None);
        }
        self.remember(named_by, &file)?;
        Ok(Some(file))
    }

    /// Opens a regular file that is read in parts, and may be larger than [`MAX_BYTES`].
    pub fn open(&mut self, named_by: &str, path: &Path) -> io::Result<File> {
        let file = paceline_files::open(&self.place(path))?;
        self.remember(named_by, &file)?;
        Ok(file)
    }

    fn remember(&mut self, named_by: &str, file: &File) -> io::Result<()> {
        let metadata = file.metadata()?;
        // A pipe or a device is never replaced.
        if metadata.is_file() {
            self.read.push(Input { named_by: named_by.to_owned(), inode: inode(&metadata) });
        }
        Ok(())
    }

    fn content(&mut self, named_by: &str, file: File) -> io::Result<Vec<u8>> {
        self.remember(named_by, &file)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            let problem = format!("the input is larger than the maximum of {} MiB", MAX_BYTES >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        Ok(bytes)
    }

    /// The flag or placeholder that named this file, if it was read.
    pub fn named_by(&self, metadata: &Metadata) -> Option<&str> {
        let input = self.read.iter().find(|input| input.inode == inode(metadata))?;
        Some(&input.named_by)
    }
}

/// Fills a buffer from a position on, up to the end of the file.
pub(crate) fn read_fully_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], position + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
