//! Statistics without I/O: the histogram of recorded times, estimators over repeated observations, and numbers as text.
//!
//! No clock, no I/O, no threads: the same input always gives the same output. Each estimator names its source and is
//! tested against published values, R or NumPy, and by simulation with a fixed seed.

mod blocks;
mod draws;
mod exponential;
mod histogram;
mod launches;
mod number;
mod percentile;
mod prior;
mod random;
mod scaling;
mod search;
mod sequential;
mod special;
mod spending;
mod spread;
mod steady;
mod trend;

pub use blocks::{BlockFit, BlockRow, RankSet, Ranking, RatioEstimate};
pub use draws::Draws;
pub use exponential::{AndersonDarling, exponential_test};
pub use histogram::{Compact, DecodeError, HIGHEST, Histogram, SpectrumStep};
pub use launches::{
    CONFIDENCE, ConfidenceInterval, LaunchMean, ServerLaunches, launch_means, launches_needed,
    launches_to_find,
};
pub use number::{
    bytes_text, count_text, counted, duration_text, fine_percent_text, percent_of, percent_text, plural,
    ratio, rounded_percent_text, short_percent_text, span_text, thousands, time_text, whole,
};
pub use percentile::{RunPercentile, SLICES, percentile_interval, run_percentile};
pub use random::Random;
pub use scaling::{Scalability, little_outstanding};
pub use search::{CapacitySearch, SearchEnd, SearchEstimate, SearchWindow, StallSpan};
pub use sequential::{
    Comparison, Decision, MAX_PAIRS, compare_difference, compare_launches, compare_pairs, holm, next_look,
};
pub use special::{binomial_max, hypergeometric_tail, normal_cdf, normal_quantile, t_quantile, t_two_sided};
pub use spending::{BoundDecision, BoundTest, LookLevels, test_bound};
pub use spread::{Spread, Variance, quantile_of_sorted};
pub use steady::{Steadiness, WARM_UP_SECONDS, is_warm, mser, steadiness, warm_after, warm_up_rates};
pub use trend::{Growth, Pause, growth, pauses, slope};
