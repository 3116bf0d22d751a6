//! Flags of what a run tells, beside its result.

/// What is told of a run, and how.
#[derive(clap::Args, Debug)]
pub struct TellingFlags {
    /// Print the whole spectrum of percentiles
    #[arg(long, help_heading = "Output")]
    pub percentiles: bool,
}
