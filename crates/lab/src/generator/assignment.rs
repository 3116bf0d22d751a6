//! What a generator is asked to do and what it gives back: the interface that every generator implements.

use paceline_host::shepherd::Ended;
use paceline_record::{FoundCapacity, Load, Run, Verdict};
use std::path::PathBuf;
use std::time::Duration;

/// One run to be carried out.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// What is loaded.
    pub url: String,
    /// The request's method.
    pub method: String,
    /// How.
    pub load: Load,
    /// How long it may take, but for connecting and draining, before it is ended as one that hangs.
    pub limit: Duration,
    /// How many threads may drive load: one for each of the generator's cores.
    pub threads: u32,
    /// The status to expect.
    pub status: u16,
    /// The file with the body to expect.
    pub body: PathBuf,
    /// The form to expect instead, where each body has other values: JSON text.
    pub json_form: Option<String>,
    /// Where the generator draws from.
    pub seed: u64,
    /// Where it writes its record, if it writes one.
    pub record: PathBuf,
    /// Flags of `paceline run` that say where its generators are, instead of those of the round's own generator.
    pub places: Option<Vec<String>>,
    /// The descriptor on which it reports its phases, if it does.
    pub events: i32,
}

/// What a generator measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its run.
    pub run: Run,
    /// What is to be known about numbers of this origin.
    pub verdicts: Vec<Verdict>,
    /// What a search for the capacity found; the run is that of its last window.
    pub capacity: Option<FoundCapacity>,
}

/// A program that puts load on a URL.
pub trait Generator {
    /// Its command line for an assignment.
    fn command(&self, assignment: &Assignment) -> Vec<String>;

    /// What it measured, from what it left behind.
    ///
    /// # Errors
    /// Why there is nothing to read, for people.
    fn read(&self, assignment: &Assignment, finished: &Finished) -> Result<Measured, String>;

    /// Why it cannot carry a load out, for people; most can carry out all.
    fn refuses(&self, _load: &Load, _method: &str) -> Option<String> {
        None
    }
}

/// What a generator left when it ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: String,
    /// The end of what it complained about.
    pub stderr: String,
    /// Its CPU time, in seconds.
    pub cpu_s: f64,
    /// How long it ran, in seconds.
    pub elapsed_s: f64,
}
