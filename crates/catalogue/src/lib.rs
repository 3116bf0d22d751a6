//! The data files of the lab: manifests of servers and balancers, workloads, plans and request files.
//!
//! Reads and checks files only; it starts and measures nothing. [`Catalogue`] reads a whole tree; [`Plan`] says which
//! cells are measured, and [`order`] in which order.

mod balancer;
mod catalogue;
mod database;
mod dockerfile;
mod document;
mod duration;
mod entries;
mod error;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod folders;
mod gate_file;
mod manifest;
mod order;
mod plan;
mod request_file;
mod selected;
mod stream;
mod variables;
mod workload;

pub use balancer::{BALANCER_FILE, BALANCER_FORM, Balancer, Statistics, TemplateValues};
pub use catalogue::{BrokenEntry, Catalogue};
pub use database::{DATABASE_FILE, Database, DatabaseCommands, DatabaseSetting, StopSignal};
pub use dockerfile::BuildNeeds;
pub use document::{nearest, toml_text};
pub use entries::{Entries, EntryFolder, ImportedServer, SkippedTest, read_httparena, read_techempower};
pub use error::CatalogueError;
pub use folders::{FolderFlags, Folders};
pub use gate_file::{FailedShare, GATE_FILE, GateFile, GateFileLoad, Margin};
pub use manifest::{
    Container, ContainerRight, CoresWanted, FixedAddress, Form, FrameworkKind, ImageSource, MANIFEST_FILE,
    Manifest, Setup, Trait, Traits, set_profiling_variables,
};
pub use order::{PlannedLaunch, fresh_seed, order};
pub use paceline_job::hexadecimal::format as hex;
pub use paceline_job::{DurationError, format_duration, parse_duration};
pub use plan::{
    AdHoc, Balance, Bursts, COUNTED_GUESS, CapacitySearch, Cell, DEFAULT_POLICY, LAUNCH_GUESS, LaunchGroup,
    LaunchWarmUp, LoadEnd, LoadHttp, LoadPace, LoadSearch, LoadWork, MAX_SEED, MachineCapacity, POOL,
    Percent, Pin, PinBalancer, PinDatabase, PinInstances, Plan, PlanLoad, PlannedLoad, Resolution,
    STEADY_WITHIN, Scale, Select, SizedPlan, TRIAL_EXTRA_GUESS, estimate, key_of,
};
pub use request_file::{FileRequest, MAX_REQUESTS, MAX_WEIGHT, RequestFile};
pub use selected::SelectedServers;
pub use variables::{
    CERTIFICATE_FILE, CERTIFICATE_NAME, DATABASE_NAME, DATABASE_PASSWORD, DATABASE_USER, DatabaseAccess,
    KEY_FILE, VARIABLE_NAMES, Variables,
};
pub use workload::{
    Computed, DATE, Expect, ExpectedBody, ExpectedCoding, Formula, HtmlPage, LoadTemplate, Refusal,
    RefusedStatus, RequestBody, Workload, WorkloadCase,
};
