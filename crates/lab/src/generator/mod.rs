//! Load generators: processes that the lab starts as a person would, whose results it reads from what they leave.
//!
//! One file for each that can be read; how a run is followed and sampled is [`follow`]'s. A generator is chosen by
//! the command a person gives: any program that takes `paceline run`'s flags, or `wrk`.

mod follow;
mod paceline;
mod template;
mod wrk;

pub use follow::{Finished, Followed, Following, follow};

use paceline_record::{Load, Run, Verdict};
use std::path::PathBuf;

/// The name that stands for our own.
const DEFAULT_GENERATOR: &str = "paceline";

/// One run to be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is loaded.
    pub url: String,
    /// The request's method.
    pub method: String,
    /// How.
    pub load: Load,
    /// How many threads may drive load: one for each of the generator's cores.
    pub threads: u32,
    /// The status to expect.
    pub status: u16,
    /// The file with the body to expect.
    pub body: PathBuf,
    /// Where the generator draws from.
    pub seed: u64,
    /// Where it writes its record, if it writes one.
    pub record: PathBuf,
    /// The descriptor on which it tells its phases, if it tells them.
    pub events: i32,
}

/// What a generator measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its run.
    pub run: Run,
    /// What is to be known about numbers of this origin.
    pub verdicts: Vec<Verdict>,
}

/// A program that puts load on a URL.
pub trait Generator {
    /// Its command line for a job.
    fn command(&self, job: &Job) -> Vec<String>;

    /// What it measured, from what it left behind.
    ///
    /// # Errors
    /// Why there is nothing to read, for people.
    fn read(&self, job: &Job, finished: &Finished) -> Result<Measured, String>;

    /// Why it cannot do a job, for people; most can do all.
    fn refuses(&self, _load: &Load, _method: &str) -> Option<String> {
        None
    }
}

/// The generator that a person means: `None` for our own at `own`, a program, or a template with `{url}` in it.
///
/// # Errors
/// What is wrong with the template, for people.
pub fn generator(asked: Option<&str>, own: &[String]) -> Result<Box<dyn Generator + Send>, String> {
    let Some(asked) = asked.filter(|asked| *asked != DEFAULT_GENERATOR) else {
        return Ok(Box::new(paceline::Paceline::new(own.to_vec())));
    };
    let words: Vec<String> = asked.split_ascii_whitespace().map(str::to_owned).collect();
    let is_wrk = |word: &String| word == "wrk" || word.ends_with("/wrk");
    if words.is_empty() {
        return Err("an empty command is no generator".to_owned());
    }
    if words.iter().any(is_wrk) {
        return wrk::Wrk::new(words).map(|wrk| Box::new(wrk) as Box<dyn Generator + Send>);
    }
    if words.iter().any(|word| word.contains('{')) {
        let known = "a template is understood for wrk; any other program must take `paceline run`'s flags";
        return Err(format!("cannot read what `{}` prints: {known}", words[0]));
    }
    Ok(Box::new(paceline::Paceline::new(words)))
}
