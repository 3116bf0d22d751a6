//! The store from outside: what is put comes back, whatever happens around it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod any_trial;
mod opening;
mod processes;
mod rounds;
mod trials;
