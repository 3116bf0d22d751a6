//! The engine in simulation, and on the kernel against small servers of its own.
//!
//! Simulated are `conservation`, `early`, `freeze`, `http2`, `life`, `seconds`, `sessions`, `shapes` and `timeouts`, counted `instructions`; sockets have `kernel`,
//! `faults` and `tls`. What `paceline run` makes of an outcome is held by the tests of the binary.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod closing;
mod conservation;
mod early;
mod faults;
mod freeze;
mod http2;
mod instructions;
mod kernel;
mod life;
mod seconds;
mod server;
mod sessions;
mod shapes;
mod support;
mod timeouts;
mod tls;
mod tls_server;
