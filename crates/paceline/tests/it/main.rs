//! The binary seen from outside, and the style of the whole project.
//!
//! Everything here starts `paceline` as a user would, against servers of the test's own, and reads what it leaves;
//! `style` reads the files of the repository instead. What a crate can show alone is among that crate's tests.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod experiment;
mod faults;
mod hostile;
mod jobs;
mod judgements;
mod lab;
mod loaders;
mod noise;
mod outputs;
mod reference;
mod requests;
mod results;
mod shapes;
mod style;
mod target;
mod workshop;
