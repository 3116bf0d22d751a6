//! The contents of pages: wire types built from records, one module for each page.
//!
//! Pure functions of records. The types of the browser (`ui/src/wire.ts`) are generated from these.

mod compare;
mod explanation;
mod heat;
mod index;
mod metric;
mod round;
mod run;
mod series;
mod then;
mod ties;

pub use compare::{ComparePage, CompareRow, ComparedRound, Finding, PairValue, Ratio, Side};
pub use explanation::Explanation;
pub use heat::{Column, Heat};
pub use index::{IndexPage, RoundEntry};
pub use metric::{FigurePage, MetricPage, MetricUnit};
pub use round::{Records, RoundPage, RowPage, ServerEntry, TablePage, TrialEntry};
pub use run::{Measured, RunPage, TimesPage};
pub use series::{Stretch, UsagePoint, seconds};
pub use then::{ThenPage, ThenRound};
