//! Tests of the binary from outside, and of the style of the whole project.
//!
//! They start `paceline` as a user would, against servers of the tests, and check its output; `style` reads the files
//! of the repository instead. Behaviour that a single crate can show is tested in that crate.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod audited;
mod collector;
mod debug;
mod experiment;
mod extended_connect;
mod faults;
mod grpc;
mod hostile;
mod jobs;
mod judgements;
mod lab;
mod loaders;
mod noise;
mod observed;
mod outputs;
mod provision;
mod reference;
mod released;
mod requests;
mod results;
mod revisions;
mod shapes;
mod style;
mod target;
