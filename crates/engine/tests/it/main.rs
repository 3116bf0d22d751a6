//! The engine in simulation, and on the kernel against small servers of its own.

mod conservation;
mod freeze;
mod support;
