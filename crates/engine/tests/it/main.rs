//! Tests the engine in simulation, and on the kernel against small servers.
//!
//! Simulated: `connection_plan`, `conservation`, `early`, `early_data`, `freeze`, `grpc`, `http2`, `http3`, `life`,
//! `scripted`, `seconds`, `sessions`, `sessions_http2`, `shapes`, `streams` and `timeouts`;
//! counting: `instructions`; on sockets: `kernel`, `faults` and `tls`. The tests of the binary check the output of
//! `paceline run`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod closing;
mod connection_plan;
mod conservation;
mod deaf;
mod early;
mod early_data;
mod faults;
mod freeze;
mod grpc;
mod http2;
mod http3;
mod instructions;
mod kernel;
mod life;
mod pauses;
mod read_bodies;
mod scripted;
mod seconds;
mod server;
mod sessions;
mod sessions_http2;
mod shapes;
mod streams;
mod support;
mod timeouts;
mod tls;
mod tls_server;
mod uploads;
mod websocket;
mod websocket_cases;
