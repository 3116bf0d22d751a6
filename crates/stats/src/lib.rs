//! Pure numbers: the histogram every time is recorded in, and what is computed from repeated observations.
//!
//! No clock, no I/O, no threads: the same input gives the same output, for ever. Everything statistical names the
//! source of its definition and is tested against a naive oracle or published values.

mod exponential;
mod histogram;
mod spread;
mod trend;

pub use exponential::{AndersonDarling, exponential_test};
pub use histogram::{Compact, DecodeError, HIGHEST, Histogram, Step};
pub use spread::{Spread, quantile_of_sorted};
pub use trend::slope;
