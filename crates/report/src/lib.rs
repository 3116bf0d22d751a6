//! Turns stored records into tables: for a terminal, Markdown, CSV and JSON.
//!
//! Called by the binary after a round and by `paceline report`. Pure: records in, text out; without access to clock,
//! files or terminal; the tables of a round are computed in parallel threads. Each launch is one observation: a figure
//! is the mean over the launches with its interval, and nothing is pooled across them. `docs/reading-a-report.md`
//! explains columns and marks.

mod balanced;
mod copies;
mod copy_tally;
mod cpu_bar;
mod figure;
mod format;
mod grid;
mod launch;
mod live;
mod live_metrics;
mod machine;
mod observed;
mod overall;
mod pairing;
mod rank;
mod report;
mod round_metrics;
mod row;
mod run_files;
mod run_text;
mod scaling;
mod start;
mod svg;
mod table;
mod warm_up;

pub use balanced::{BalancedRow, BalancedTable, FaultEffect};
pub use copies::{CopyCheck, MetricNoise};
pub use copy_tally::{ClaimCount, CopyTally, copies_text};
pub use figure::{ErrorBar, Figure, Figures, means_over_rows};
pub use format::Options;
pub use format::layout::wrap;
pub use format::number::{value, with_interval};
pub use format::resolution::resolution;
pub use format::sentences::framework_packages;
pub use format::sheet::Sheet;
pub use format::sheets::routed_sheets;
pub use grid::{Align, Grid};
pub use launch::counted_trials;
pub use live::LiveView;
pub use live_metrics::{LiveMetrics, LiveValues, Span};
pub use machine::{Machine, RoundMachines};
pub use observed::{Beside, Standing as BesideStanding};
pub use overall::{OverallRow, OverallScores, overall_scores};
pub use pairing::{PairRow, Pairing};
pub use rank::{RankedBy, fit};
pub use report::{About, REPORT_SCHEMA, Report, schema};
pub use round_metrics::RoundMetrics;
pub use row::{EvidenceRange, Failure, Note, Row, Standing, Subject, rate_is_minimum};
pub use run_files::{
    hlog_header, hlog_line, run_csv, run_hgrm, run_hlog, run_seconds_csv, second_csv, seconds_csv_header,
};
pub use run_text::{
    RunTextOptions, TimeUnit, energy_words, gate_words, profile_text, run_markdown, run_text,
    unix_sockets_words,
};
pub use scaling::{ScaledBy, ScalingRow, ScalingTable};
pub use start::{StartRow, StartTable, Starts};
pub use svg::{Chart, FunctionChange, ServerRate, flame_difference, flame_graph, run_svg, svg};
pub use table::Table;
pub use warm_up::{ColdCurve, WarmUpRow, WarmUpTable};
