//! Reads the output of `perf script -F comm,event,ip,sym,dso`: a line for each sample, the lines of its stack, innermost
//! first, and an empty line.
//!
//! ```text
//! node cpu-clock:pppH:
//!         ffffffff81a0 tcp_sendmsg ([kernel.kallsyms])
//!             7f12a0b3 LazyCompile:*handler /srv/app.js:10 (/tmp/perf-77.map)
//!             55d0c010 [unknown] (/usr/bin/node)
//! ```
//!
//! Names come from the programs that are profiled and may contain anything. A line that is not understood is skipped.

use crate::stacks::{Frame, Stacks, UNKNOWN};
use paceline_record::CodeKind;
use std::io::{self, BufRead, Read as _};

/// A longer line is cut: names of generic functions have some kilobytes at most.
const LONGEST_LINE: u64 = 64 * 1024;
/// Frames of a stack that are kept: perf's own limit (kernel.perf_event_max_stack) is 127.
const MAX_FRAMES: usize = 512;

/// What a script contains.
#[derive(Debug, Default)]
pub(crate) struct PerfScript {
    pub stacks: Stacks,
    /// The event, with its modifiers: `cycles:Pu`.
    pub event: String,
}

impl PerfScript {
    /// Reads all samples.
    pub(crate) fn read(mut input: impl BufRead) -> io::Result<Self> {
        let mut script = Self::default();
        let mut sample: Option<(String, Vec<Frame>)> = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.last() != Some(&b'\n') {
                // The rest of a line that was cut is not the beginning of a sample.
                input.skip_until(b'\n')?;
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if text.is_empty() {
                script.end(sample.take());
            } else if text.starts_with([' ', '\t']) {
                if let Some((_, frames)) = &mut sample
                    && frames.len() < MAX_FRAMES
                {
                    frames.extend(frame(text));
                }
            } else {
                script.end(sample.take());
                if let Some((thread, event)) = header(text) {
                    script.event = event.to_owned();
                    sample = Some((thread.to_owned(), Vec::new()));
                }
            }
        }
        script.end(sample);
        Ok(script)
    }

    fn end(&mut self, sample: Option<(String, Vec<Frame>)>) {
        let Some((thread, mut frames)) = sample else { return };
        if frames.is_empty() {
            frames.push(Frame::user(UNKNOWN, UNKNOWN));
        }
        self.stacks.add(thread, frames);
    }
}

/// The thread's name and the event of a sample's first line. perf fills the name with blanks.
fn header(line: &str) -> Option<(&str, &str)> {
    let (thread, event) = line.trim_end_matches(':').rsplit_once(char::is_whitespace)?;
    (!thread.trim().is_empty() && !event.is_empty()).then(|| (thread.trim(), event))
}

/// A line of a stack: the address in hexadecimal, the function, and the module in parentheses. The function's name may
/// contain blanks and parentheses.
fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim_start().split_once(' ')?;
    // The highest address is where an unwinder gave up, because the copy of the stack ended.
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != u64::MAX)?;
    let rest = rest.trim_end().strip_suffix(')')?;
    let rest = rest.strip_suffix(" (deleted)").unwrap_or(rest);
    let (name, module) = rest.rsplit_once('(')?;
    let name = match name.trim() {
        "" => UNKNOWN,
        name => name,
    };
    // Linux gives the upper half of the addresses to the kernel, on every architecture with 64 bits.
    Some(match address >> 63 {
        1 => Frame { name: name.to_owned(), module: "kernel".to_owned(), code: CodeKind::Kernel },
        _ => Frame::user(name, module_name(module)),
    })
}

/// The name of a module without its folders. Code that a program compiled while it ran has names in a file
/// `/tmp/perf-PID.map`.
fn module_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.starts_with("perf-") && name.ends_with(".map") { "compiled at run time" } else { name }
}

/// Reads any bytes as the output of perf, for fuzzing.
#[doc(hidden)]
pub fn fuzz_perf_script(bytes: &[u8]) {
    if let Ok(script) = PerfScript::read(bytes) {
        let samples = script.stacks.samples();
        let profile = script.stacks.profile();
        assert!(profile.functions.iter().all(|function| function.own_share <= function.total_share + 1e-9));
        assert!(profile.calls.iter().all(|call| call.samples <= samples));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
V8 Worker  cpu-clock:pppH:
\tffffffff81a0c0de tcp_sendmsg ([kernel.kallsyms])
\t    7f12a0b3c010 LazyCompile:*handler (a) /srv/app.js:10 (/tmp/perf-77.map)
\t    55d0c0100000 node::Start(int, char**) (/usr/bin/node)

app  cpu-clock:pppH:
\t    55d0c0100000 [unknown] (/srv/bin/app (deleted))

app  cpu-clock:pppH:
";

    fn frame_of(line: &str) -> (String, String, CodeKind) {
        let frame = frame(line).unwrap();
        (frame.name, frame.module, frame.code)
    }

    #[test]
    fn names_may_contain_blanks_and_parentheses() {
        let lines: Vec<_> = SCRIPT.lines().filter(|line| line.starts_with('\t')).map(frame_of).collect();
        let expected = [
            ("tcp_sendmsg", "kernel", CodeKind::Kernel),
            ("LazyCompile:*handler (a) /srv/app.js:10", "compiled at run time", CodeKind::User),
            ("node::Start(int, char**)", "node", CodeKind::User),
            ("[unknown]", "app", CodeKind::User),
        ];
        let expected: Vec<_> =
            expected.map(|(name, module, code)| (name.to_owned(), module.to_owned(), code)).into();
        assert_eq!(lines, expected);
    }

    #[test]
    fn samples_end_with_an_empty_line_the_next_sample_or_the_file() {
        let script = PerfScript::read(SCRIPT.as_bytes()).unwrap();
        assert_eq!((script.stacks.samples(), script.event.as_str()), (3, "cpu-clock:pppH"));
        let profile = script.stacks.profile();
        let shares: Vec<(&str, u64)> = profile
            .calls
            .iter()
            .filter(|call| call.depth == 0)
            .map(|call| (call.name.as_str(), call.samples))
            .collect();
        assert_eq!(shares, [("app", 2), ("V8 Worker", 1)]);
    }

    #[test]
    fn the_rest_of_a_line_that_is_cut_is_no_sample() {
        let name = "n a m e ".repeat(20_000);
        let text = format!("app  cycles:\n\t12 {name} (/srv/app)\n\t13 main (/srv/app)\n");
        let script = PerfScript::read(text.as_bytes()).unwrap();
        assert_eq!((script.stacks.samples(), script.event.as_str()), (1, "cycles"));
    }

    #[test]
    fn damaged_output_is_skipped() {
        for text in [
            "",
            "\n\n",
            "\t12 x (y)\n",
            "x\n",
            ":\n",
            "a b:\n\tzz x (y)\n\t12\n\t12 (\n\t12 x y)\n",
            "\u{0}\u{1} :",
        ] {
            fuzz_perf_script(text.as_bytes());
        }
        let script = PerfScript::read("a b:\n\t12 ()\n\tnothing\n".as_bytes()).unwrap();
        assert_eq!(script.stacks.samples(), 1);
        assert_eq!(script.stacks.profile().functions[0].name, UNKNOWN);
    }
}
