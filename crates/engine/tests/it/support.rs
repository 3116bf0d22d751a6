//! Settings to start from.

use paceline_engine::{Arrivals, Bound, Load, Nanos, Pace, Rate, Settings};
use paceline_http::Method;
use std::sync::Arc;

/// A request as short as they come.
pub const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// An open loop of `rate` per second over `connections`, for `seconds`.
pub fn open_loop(rate: f64, connections: u32, seconds: u64) -> Settings {
    Settings {
        load: Load::Open { rate: Rate::per_second(rate).unwrap(), arrivals: Arrivals::Constant },
        bound: Bound::Duration(Nanos::from_secs(seconds)),
        ..closed_loop(connections, seconds)
    }
}

/// A closed loop of `connections`, for `seconds`.
pub fn closed_loop(connections: u32, seconds: u64) -> Settings {
    Settings {
        address: std::net::SocketAddr::from(([127, 0, 0, 1], 9)).into(),
        tls: None,
        request: Arc::from(REQUEST),
        method: Method::Other,
        connections,
        depth: 1,
        batch: false,
        threads: 1,
        load: Load::Closed,
        bound: Bound::Duration(Nanos::from_secs(seconds)),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(30),
        timeout: Nanos::from_secs(30),
        connect_limit: Nanos::from_secs(5),
        pace: Pace::Sleep,
        sources: Arc::from([]),
        own_descriptors: false,
        kernel_timestamps: false,
        expect_status: None,
        expect_body: None,
        seed: 1,
    }
}
