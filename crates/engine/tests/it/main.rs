//! The engine in simulation, and on the kernel against small servers of its own.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod conservation;
mod early;
mod faults;
mod freeze;
mod kernel;
mod life;
mod seconds;
mod server;
mod support;
mod tls;
mod tls_server;
