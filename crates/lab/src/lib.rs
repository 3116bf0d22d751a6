//! The laboratory: manifests, workloads and plans; set-up, build and launch; validation, sampling and trial order.
//!
//! The data side reads what people write and says what is wrong with it: [`Catalogue`], [`Manifest`], [`Workload`],
//! [`Plan`], [`RequestFile`], [`order`]; [`Workshop`] sets up and builds. The process side starts, watches, checks and loads.
//! Generators are processes like any other. Nothing here prints: the binary does.

mod balancer;
mod catalogue;
mod cgroup;
mod cores;
mod digest;
mod document;
mod duration;
mod error;
mod farm;
#[cfg(test)]
mod fixture;
mod generator;
mod id;
mod interrupt;
mod launch;
mod lock;
mod manifest;
mod nearest;
mod order;
mod pin;
mod plan;
mod port;
mod probe;
mod process;
mod request_file;
mod rest;
mod round;
pub mod shepherd;
mod system;
mod tree;
mod trial;
mod tune;
mod validate;
mod variables;
mod workload;
mod workshop;

pub use balancer::{BALANCER_FILE, Balancer};
pub use catalogue::{Broken, Catalogue, PlaceFlags, Places};
pub use cores::CoreTicks;
pub use digest::parse_sha256;
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{CommandFailure, LabError};
pub use generator::{
    Finished, Followed, Following, Generator, Job, Measured, follow, generator, generator_command,
    is_built_in, missing_program,
};
pub use id::{Id, InvalidId};
pub use interrupt::Interrupt;
pub use launch::{Launch, LaunchOf, Spoiled, Starter};
pub use lock::{FileLock, LockAttempt};
pub use manifest::{Form, Kind, MANIFEST_FILE, Manifest, Setup, Trait, Traits};
pub use nearest::nearest;
pub use order::{PlannedLaunch, fresh_seed, order};
pub use pin::{Cores, CoresWanted, pin_self, stay_beside_generator};
pub use plan::{
    AdHoc, Balance, Cell, DEFAULT_POLICY, Pin, PinBalancer, PinInstances, Plan, PlanLoad, Resolution, Room,
    SEED_MAX, Scale, Select, Sized,
};
pub use request_file::{FileBody, FileRequest, REQUESTS_MOST, RequestFile, WEIGHT_MOST};
pub use round::{Bench, Event, Joined, KeepError, Keeper, Neighbours, Outlook, Sitting, Summary, carry_out};
pub use tune::{Tuning, mend_tuning};
pub use validate::{Examination, Examined, Validated, examine, validate};
pub use variables::{VARIABLE_NAMES, Variables};
pub use workload::{Computed, Expect, ExpectedBody, Formula, Refusal, RefusedStatus, Workload, WorkloadCase};
pub use workshop::{Made, ServerSetup, SetupPlan, State, Workshop};
