//! The generators that are compared: how each is asked for a plain closed loop, and how its own output is read.
//!
//! One file for each output format. Readers take what the tool prints about requests; CPU time is never taken from a
//! tool's word where the kernel can be asked (wait4).

pub mod ab;
pub mod floor;
pub mod fortio;
pub mod h2load;
pub mod hey;
pub mod httperf;
pub mod k6;
pub mod oha;
pub mod paceline;
pub mod siege;
pub mod wrk;

use anyhow::Context as _;
use std::collections::BTreeMap;

/// A generator, by the form of its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A floor program: CPU time of the whole process.
    FloorWhole,
    /// A floor program: CPU time from when its connections were there.
    FloorConnected,
    /// Paceline: CPU time of the whole process.
    PacelineWhole,
    /// Paceline: CPU time of the window.
    PacelineWindow,
    /// wrk 4
    Wrk,
    /// ApacheBench
    Ab,
    /// siege 4
    Siege,
    /// hey
    Hey,
    /// nghttp2's h2load, over HTTP/1.1
    H2load,
    /// httperf
    Httperf,
    /// oha
    Oha,
    /// k6
    K6,
    /// Fortio
    Fortio,
}

/// What a tool says of its run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Requests answered well.
    pub requests: u64,
    /// Requests that were not.
    pub failures: u64,
    /// What they were counted over, in seconds, where it tells.
    pub wall_s: Option<f64>,
    /// User and system CPU seconds to take instead of those of the whole process.
    pub cpu_s: Option<(f64, f64)>,
    /// Peak resident memory to take instead of what wait4 says.
    pub rss_bytes_peak: Option<u64>,
    /// What only this tool tells.
    pub extra: BTreeMap<&'static str, f64>,
    /// What it says of its own run.
    pub remarks: Vec<String>,
}

impl Tool {
    /// Reads what the tool printed on standard output.
    pub fn read(self, output: &str) -> anyhow::Result<Report> {
        match self {
            Tool::FloorWhole => floor::read_whole(output),
            Tool::FloorConnected => floor::read_connected(output),
            Tool::PacelineWhole => paceline::read_whole(output),
            Tool::PacelineWindow => paceline::read_window(output),
            Tool::Wrk => wrk::read(output),
            Tool::Ab => ab::read(output),
            Tool::Siege => siege::read(output),
            Tool::Hey => hey::read(output),
            Tool::H2load => h2load::read(output),
            Tool::Httperf => httperf::read(output),
            Tool::Oha => oha::read(output),
            Tool::K6 => k6::read(output),
            Tool::Fortio => fortio::read(output),
        }
        .with_context(|| format!("the output of {self:?} was not understood"))
    }
}

/// The number that follows `label` anywhere in the text; spaces between are skipped.
fn number_after(text: &str, label: &str) -> anyhow::Result<f64> {
    let rest = text.split_once(label).with_context(|| format!("no {label:?} in it"))?.1.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().with_context(|| format!("no number after {label:?}"))
}

/// The same, or 0 where the tool leaves the line out because nothing happened.
fn number_after_or_zero(text: &str, label: &str) -> f64 {
    number_after(text, label).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_after_labels() {
        assert_eq!(number_after("a: 1\nTime taken:   4.25 s", "Time taken:").unwrap(), 4.25);
        assert!(number_after("Time taken: soon", "Time taken:").is_err());
        assert!(number_after("", "Time taken:").is_err());
        assert_eq!(number_after_or_zero("", "x"), 0.0);
    }

    #[test]
    fn nonsense_is_an_error_in_every_format() {
        let tools = [
            Tool::FloorWhole,
            Tool::FloorConnected,
            Tool::PacelineWhole,
            Tool::PacelineWindow,
            Tool::Wrk,
            Tool::Ab,
            Tool::Siege,
            Tool::Hey,
            Tool::H2load,
            Tool::Httperf,
            Tool::Oha,
            Tool::K6,
            Tool::Fortio,
        ];
        for tool in tools {
            for nonsense in ["", "{}", "Segmentation fault"] {
                assert!(tool.read(nonsense).is_err(), "{tool:?} of {nonsense:?}");
            }
        }
    }
}
