//! The kernel's clock and transport: `CLOCK_MONOTONIC`, and non-blocking sockets behind one epoll per worker.
//!
//! The only place with `unsafe` code: plain system calls on descriptors owned here, each with the reason it is sound.

mod address;
mod clock;
mod epoll;
mod socket;
mod stamps;

pub use clock::{KernelClock, own_descriptor_table, sharpen_timers};
pub use epoll::Epoll;
