//! The laboratory: manifests, workloads and plans; set-up, build and launch; validation, sampling and trial order.
//!
//! The data side reads what people write and says what is wrong with it: [`Catalogue`], [`Manifest`], [`Workload`],
//! [`Plan`], [`order`]; [`Workshop`] sets up and builds. The process side starts, watches, checks and loads.
//! Generators are processes like any other. Nothing here prints: the binary does.

mod catalogue;
mod cgroup;
mod cores;
mod document;
mod duration;
mod error;
mod manifest;
mod nearest;
mod order;
mod pin;
mod plan;
mod process;
pub mod shepherd;
mod system;
mod tree;
mod variables;
mod workload;

pub use catalogue::{Broken, Catalogue, PlaceFlags, Places};
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::LabError;
pub use manifest::{Form, Kind, MANIFEST_FILE, Manifest, Setup, Traits};
pub use nearest::nearest;
pub use order::{PlannedLaunch, fresh_seed, order};
pub use plan::{AdHoc, Cell, Plan, PlanLoad, Resolution, SEED_MAX, Select};
pub use variables::{VARIABLE_NAMES, Variables};
pub use workload::{Expect, ExpectedBody, Refusal, RefusedStatus, Workload, WorkloadCase};
