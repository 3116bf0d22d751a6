//! The contents of pages: wire types built from records, one module for each page.
//!
//! Pure functions of records. The types of the browser (`ui/src/wire.ts`) are generated from these.

mod answers;
mod capacity;
mod compare;
mod explanation;
mod heat;
mod index;
mod metric;
mod overall;
mod round;
mod run;
mod series;
mod then;
mod ties;
mod timeline;

pub use answers::{
    Answer, AnswerDecision, AnswerRow, AnswerSearch, AnswersPage, PlanHistory, PlanPoint, rounds_to_read,
};
pub use capacity::CapacityPage;
pub use compare::{ComparePage, CompareRow, ComparedRound, JointRow, PairValue, Ratio, Side};
pub use explanation::Explanation;
pub use heat::{Column, Heat};
pub use index::{IndexPage, RoundEntry};
pub use metric::{FigurePage, MetricPage, MetricUnit};
pub use overall::OverallPage;
pub use round::{Records, RoundPage, RowPage, ServerEntry, TablePage, TrialEntry};
pub use run::{CpuPartPage, Measured, RunPage, TimesPage};
pub use series::{MetricLine, Stretch, UsagePoint};
pub use then::{ThenPage, ThenRound};
pub use timeline::{TimelineLine, TimelinePage, TimelinePoint, TimelineRound};
