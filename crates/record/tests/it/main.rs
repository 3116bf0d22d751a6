//! The record seen from outside: its published schemas and the guide to its verdicts.

mod schemas;
mod verdicts;
