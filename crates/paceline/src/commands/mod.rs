//! One file or folder per command: its flags and its implementation.
//!
//! `main` passes each command its flags and turns its result into the exit status. `archive` is not a command: `report`
//! and `store` use it to write and read a round as a folder.

mod archive;
pub mod audit;
pub mod completions;
mod dashboards;
pub mod doctor;
pub mod experiment;
pub mod explain;
mod format;
pub mod lab;
pub mod man;
pub mod node;
pub mod report;
pub mod round;
pub mod run;
mod script;
pub mod selftest;
pub mod shepherd;
pub mod site;
pub mod store;
pub mod tools;
pub mod view;
