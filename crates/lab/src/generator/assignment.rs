//! The interface that every generator implements: the run requested, and its result.

use paceline_catalogue::WorkloadCase;
use paceline_host::shepherd::Ended;
use paceline_record::{FoundCapacity, Load, Run, Verdict};
use std::path::PathBuf;
use std::time::Duration;

/// One run to be carried out.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The target's URL.
    pub url: String,
    /// What is sent and expected, as flags of `paceline run`.
    pub request: Vec<String>,
    /// The load.
    pub load: Load,
    /// Time limit without connecting and draining, after which the run is ended as hanging.
    pub limit: Duration,
    /// How many threads may drive load: one for each of the generator's cores.
    pub threads: u32,
    /// The status to expect: other generators check no more.
    pub status: u16,
    /// The generator's seed.
    pub seed: u64,
    /// The file for its record, if it writes one.
    pub record: PathBuf,
    /// Flags of `paceline run` for generators on other machines, instead of those of the round's own generator.
    pub places: Option<Vec<String>>,
    /// The descriptor on which it reports its phases, if it does.
    pub events: i32,
}

/// The result of a generator.
#[derive(Clone, Debug)]
pub struct GeneratorResult {
    /// Its run.
    pub run: Run,
    /// Notes on numbers from this generator.
    pub verdicts: Vec<Verdict>,
    /// The result of a search for the capacity; the run is that of its last window.
    pub capacity: Option<FoundCapacity>,
}

/// A program that puts load on a URL.
pub trait LoadGenerator {
    /// Its command line for an assignment.
    fn command(&self, assignment: &Assignment) -> Vec<String>;

    /// Reads its result from its output.
    ///
    /// # Errors
    /// Why there is no result, in words.
    fn read(&self, assignment: &Assignment, finished: &GeneratorExit) -> Result<GeneratorResult, String>;

    /// Why it cannot put a load on a case, in words; `None` if it can, as most do.
    fn refuses(&self, _load: &Load, _case: &WorkloadCase) -> Option<String> {
        None
    }
}

/// A generator that has ended.
#[derive(Clone, Debug)]
pub struct GeneratorExit {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
    /// Its CPU time, in seconds.
    pub cpu_s: f64,
    /// How long it ran, in seconds.
    pub elapsed_s: f64,
}
