//! The files a run reads: each to a limit, and remembered, so that no output takes the place of an input.
//!
//! Whoever reads a file for `paceline run` does so through here. When all are read, and before anything is opened for
//! writing, `mod.rs` has the outputs compared with them. What is in a file is its reader's to understand.

use super::telling::Output;
use crate::exit::Complaint;
use crate::file::Identity;
use paceline_catalogue::RequestFile;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

/// What was read so far.
#[derive(Debug, Default)]
pub struct Inputs(Vec<Input>);

/// One file that was read.
#[derive(Debug)]
struct Input {
    /// The flag, or the placeholder, that named it.
    named_by: String,
    /// Which file it is, whatever it is called.
    identity: Identity,
}

impl Inputs {
    /// All of a file, if it has not more than [`RequestFile::BYTES_MOST`].
    pub fn read(&mut self, named_by: &str, path: &Path) -> io::Result<Vec<u8>> {
        self.content(named_by, paceline_files::open_input(path)?)
    }

    /// All of standard input, to the same limit.
    pub fn read_standard_input(&mut self, named_by: &str) -> io::Result<Vec<u8>> {
        self.content(named_by, io::stdin().as_fd().try_clone_to_owned()?.into())
    }

    fn content(&mut self, named_by: &str, file: File) -> io::Result<Vec<u8>> {
        let metadata = file.metadata()?;
        // Nothing takes the place of a pipe or a device.
        if metadata.is_file() {
            self.0.push(Input { named_by: named_by.to_owned(), identity: Identity::of_file(&metadata) });
        }
        RequestFile::content(file)
    }

    /// Refuses outputs that would be written over what was read.
    pub fn keep_from(&self, outputs: &[Output<'_>]) -> anyhow::Result<()> {
        for output in outputs {
            let identity = Identity::of_path(output.path);
            if let Some(input) = self.0.iter().find(|input| input.identity == identity)
                && !crate::file::is_in_place(output.path)
            {
                let (path, flag, named_by) = (output.path.display(), output.flag, &input.named_by);
                let what = format!("{path} is named for an input, {named_by}, and for an output, {flag}");
                return Err(Complaint::usage(what).hint("give the output a file of its own").into());
            }
        }
        Ok(())
    }
}
