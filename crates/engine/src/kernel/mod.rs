//! Implements clock and transport with the kernel: `CLOCK_MONOTONIC`, and non-blocking sockets behind one epoll per
//! worker.
//!
//! The only module with `unsafe` code: plain system calls on descriptors owned here, each with the reason why it is
//! sound.

mod address;
mod clock;
mod datagrams;
mod epoll;
mod message;
mod socket;
mod timestamps;

pub use clock::{KernelClock, own_descriptor_table, sharpen_timers};
pub use datagrams::Datagrams;
pub use epoll::Epoll;
pub use timestamps::wall_clock_distance;
