//! The lab as its callers see it: one binary of tests.

mod repository;
mod shepherd_door;
mod workshop;
