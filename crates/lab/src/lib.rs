//! The laboratory: sets servers up, builds, launches, validates and loads them, and carries out rounds.
//!
//! `paceline-catalogue` reads the definitions; `paceline-host` does all that touches the machine. Load generators are
//! separate processes. Nothing here prints: the binary does.

mod audit;
mod balancer;
mod balancer_launch;
mod case_request;
mod core_distance;
mod database;
mod deployment;
mod error;
mod fleet;
mod generator;
mod idle_wait;
mod launch;
mod launch_network;
mod node;
mod node_service;
mod placement;
mod probe;
mod process_setup;
mod provision;
mod recovery;
mod revision;
mod round;
mod scratch;
mod trial;
mod validate;
mod warm_up;

pub use audit::examine_database;
pub use core_distance::{CoreDistances, MAX_PLACED_ATTEMPTS, MAX_PLACED_LOAD, with_after};
pub use database::{Databases, RunningDatabase};
pub use error::{CommandFailure, LabError, LaunchError};
pub use fleet::{Fleet, FleetSettings, LoaderHosts};
pub use generator::{
    Assignment, FollowOptions, GeneratorExit, GeneratorResult, LoadGenerator, ObservedRun, follow,
    fuzz_generator_output, generator, generator_command, is_built_in, missing_program,
};
pub use launch::{LaunchSpec, ReadyCondition, RunningServer, Starter};
pub use launch_network::LaunchNetwork;
pub use node::NodeUser;
pub use node_service::serve_node;
pub use placement::{Cores, stay_beside_generator};
pub use probe::engine::EngineProbe;
pub use provision::{
    ContainerEngine, ImageLaunch, LeftOver, METADATA_DIR, Provisioner, ServerSetup, ServerState, SetupPlan,
    SourceFiles, StepOutcome,
};
pub use revision::{BuildOrder, Checkout, Checkouts, CommandLaunch, Repository, Revision};
pub use round::{
    CurrentSitting, RoundContext, RoundEstimate, RoundEvent, RoundSummary, TrialStore, TrialStoreError,
    carry_out,
};
pub use scratch::Scratch;
pub use validate::{
    CheckedServer, ExamineOptions, ExamineResult, Rules, ValidationResult, examine, validate,
};
