//! A thousand loaders in virtual time: their sum is what one generator measures, and what adding them up takes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in a test's own functions too")]

mod thousand;
