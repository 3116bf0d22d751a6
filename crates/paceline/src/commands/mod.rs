//! One file for each command: its flags, and what it does with them.

mod archive;
pub mod completions;
pub mod lab;
pub mod report;
pub mod round;
pub mod run;
pub mod selftest;
pub mod shepherd;
