//! How the stacks of some processes are found.
//!
//! Go, and runtimes that compile while they run, keep frame pointers and have no unwind tables for their code. Other
//! programs are mostly built without frame pointers, and with unwind tables (System V ABI for AMD64, section 4.2.4).

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a thread's stack that each sample keeps for the unwinder: async Rust needs more than perf's 8 KiB.
const STACK_BYTES: u32 = 16 << 10;
/// A process with so much code outside files compiles while it runs. The expressions of PCRE have some kilobytes.
const COMPILED_BYTES: u64 = 1 << 20;
/// Bytes of section names that are read; they have a few hundred.
const MAX_NAMES: u64 = 1 << 20;

/// How stacks are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackMethod {
    /// By the chain of frame pointers.
    FramePointers,
    /// By unwind tables, from a copy of the stack.
    UnwindTables,
}

impl StackMethod {
    /// The method that serves all of these processes: unwind tables, unless one of them is a Go program or compiles
    /// while it runs.
    pub(crate) fn for_processes(processes: &[i32]) -> Self {
        let keeps_frame_pointers = processes.iter().any(|pid| {
            let folder = Path::new("/proc").join(pid.to_string());
            let is_go = || File::open(folder.join("exe")).is_ok_and(|file| is_go(file).unwrap_or(false));
            let maps = || fs::read_to_string(folder.join("maps")).unwrap_or_default();
            Path::new(&format!("/tmp/perf-{pid}.map")).exists()
                || compiled_bytes(&maps()) >= COMPILED_BYTES
                || is_go()
        });
        if keeps_frame_pointers { Self::FramePointers } else { Self::UnwindTables }
    }

    /// As the value of `perf record --call-graph`.
    pub(crate) fn to_flag(self) -> String {
        match self {
            Self::FramePointers => "fp".to_owned(),
            Self::UnwindTables => format!("dwarf,{STACK_BYTES}"),
        }
    }
}

/// Bytes of executable memory without a file, from a process' `maps` (proc(5)).
fn compiled_bytes(maps: &str) -> u64 {
    let bytes = |line: &str| -> Option<u64> {
        let mut fields = line.split_ascii_whitespace();
        let (first, end) = fields.next()?.split_once('-')?;
        let is_executable = fields.next()?.contains('x');
        let is_anonymous =
            fields.nth(2)? == "0" && fields.next().is_none_or(|name| name.starts_with("[anon"));
        let number = |text| u64::from_str_radix(text, 16).ok();
        (is_executable && is_anonymous).then(|| number(end)?.checked_sub(number(first)?))?
    };
    maps.lines().filter_map(bytes).fold(0, u64::saturating_add)
}

/// Whether a program was built by Go: it has the table of Go's functions (`.gopclntab`). False for what is not an ELF
/// file of 64 bits in this machine's byte order.
fn is_go(mut file: impl Read + Seek) -> io::Result<bool> {
    // Places in the header, and in the header of a section, by the System V ABI, chapter 4.
    let mut header = [0; 64];
    file.read_exact(&mut header)?;
    if header[..5] != *b"\x7fELF\x02" {
        return Ok(false);
    }
    let half = |at: usize| u64::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let mut offset = [0; 8];
    offset.copy_from_slice(&header[0x28..0x30]);
    let names = half(0x3e).saturating_mul(half(0x3a));
    let mut section = [0; 64];
    file.seek(SeekFrom::Start(u64::from_ne_bytes(offset).saturating_add(names)))?;
    file.read_exact(&mut section)?;
    let mut place = [0; 8];
    place.copy_from_slice(&section[0x18..0x20]);
    file.seek(SeekFrom::Start(u64::from_ne_bytes(place)))?;
    let mut size = [0; 8];
    size.copy_from_slice(&section[0x20..0x28]);
    let mut text = Vec::new();
    file.take(u64::from_ne_bytes(size).min(MAX_NAMES)).read_to_end(&mut text)?;
    Ok(text.split(|byte| *byte == 0).any(|name| name == b".gopclntab" || name == b".data.rel.ro.gopclntab"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// An ELF file with one section, that of the names of sections.
    fn elf(names: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 128];
        file[..5].copy_from_slice(b"\x7fELF\x02");
        file[0x28..0x30].copy_from_slice(&64_u64.to_ne_bytes());
        file[0x3a..0x3c].copy_from_slice(&64_u16.to_ne_bytes());
        file[0x3c..0x3e].copy_from_slice(&1_u16.to_ne_bytes());
        file[64 + 0x18..64 + 0x20].copy_from_slice(&128_u64.to_ne_bytes());
        file[64 + 0x20..64 + 0x28].copy_from_slice(&(names.len() as u64).to_ne_bytes());
        file.extend_from_slice(names);
        file
    }

    #[test]
    fn go_is_known_by_its_table_of_functions() {
        let is_go = |file: Vec<u8>| is_go(Cursor::new(file)).unwrap_or(false);
        assert!(is_go(elf(b"\0.text\0.gopclntab\0.shstrtab\0")));
        assert!(!is_go(elf(b"\0.text\0.eh_frame\0.shstrtab\0")));
        let mut outside = elf(b"\0.gopclntab\0");
        outside[0x28..0x30].copy_from_slice(&u64::MAX.to_ne_bytes());
        for file in [outside, b"#!/bin/sh\n".to_vec(), elf(b"")[..100].to_vec(), Vec::new()] {
            assert!(!is_go(file));
        }
    }

    #[test]
    fn code_outside_files_is_compiled() {
        let maps = "\
00400000-00500000 r-xp 00000000 08:01 11 /usr/bin/node
7f0000000000-7f0000200000 rwxp 00000000 00:00 0
7f0000200000-7f0000300000 r-xp 00000000 00:00 0 [anon:code]
7f0000300000-7f0000400000 rw-p 00000000 00:00 0
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
damaged
";
        assert_eq!(compiled_bytes(maps), 3 << 20);
    }

    #[test]
    fn this_test_has_unwind_tables() {
        assert_eq!(
            StackMethod::for_processes(&[std::process::id().cast_signed()]),
            StackMethod::UnwindTables
        );
        assert_eq!(StackMethod::UnwindTables.to_flag(), "dwarf,16384");
    }
}
