//! One file for each command: its flags, and what it does with them.
//!
//! `main` hands each its flags and turns what comes back into the exit status. A command that has grown has a folder.
//! `archive` is no command: `report` and `store` write and read a round as a folder with it.

mod archive;
pub mod completions;
pub mod doctor;
pub mod experiment;
pub mod lab;
pub mod man;
pub mod node;
pub mod report;
pub mod round;
pub mod run;
pub mod selftest;
pub mod shepherd;
pub mod store;
pub mod view;
