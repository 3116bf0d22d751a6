//! Bounded reading and atomic writing of files.
//!
//! Every file that another user or program can write (a plan, a manifest, an export, a report of another tool, a CA
//! file) is read through this crate: with a limit on its size, decompression included, and only if it is a regular
//! file, so that neither a device nor a named pipe can exhaust memory or block forever. Results are also written
//! through it: into a new file that then replaces the old one, so that a full disk or a killed process never leaves a
//! partial file.
//!
//! Errors are [`std::io::Error`], so that a call of `std::fs` can be replaced without changing the caller's errors; an
//! error of this crate is a [`FileError`] inside it.

mod link;
mod read;
mod write;

pub use link::check_link;
pub use read::{
    Bounded, FileError, MAX_OUTPUT_BYTES, MAX_TEXT_BYTES, check_regular, gunzip, is_gzip, open, open_gzip,
    open_input, read, read_line, read_text, tail, take_text, text, without_byte_order_mark,
};
pub use write::{MAX_LINKS, StagedFile, create_new_beside, replace, target};
