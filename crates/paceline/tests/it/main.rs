//! The binary seen from outside, and the style of the whole project.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod faults;
mod instructions;
mod lab;
mod noise;
mod outputs;
mod reference;
mod requests;
mod shapes;
mod style;
mod target;
mod workshop;
