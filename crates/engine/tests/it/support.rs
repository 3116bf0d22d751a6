//! Default settings for tests.
//!
//! Used by every test here, so that each states only its differences. The address is unused: simulations need none, and
//! tests on the kernel replace it by their server's. The defaults for a user without flags are in the binary.

use paceline_engine::{
    Arrivals, BodyCheck, Bound, Job, LoadModel, Nanos, Rate, Requests, ResponseCheck, Settings, Shape,
};
use paceline_http::Method;
use std::sync::Arc;

/// A minimal request.
pub const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// [`REQUEST`], and the expected response.
pub fn asking(status: Option<u16>, body: Option<&[u8]>) -> Arc<Requests> {
    let body = body.map_or(BodyCheck::Any, |body| BodyCheck::Exact(Arc::from(body)));
    Arc::new(Requests::fixed(REQUEST, Method::Other, ResponseCheck { status, body }))
}

/// An open loop of `rate` per second over `connections`, for `seconds`.
pub fn open_loop(rate: f64, connections: u32, seconds: u64) -> Settings {
    closed_loop(connections, seconds).with(|job| {
        job.load = LoadModel::Open {
            shape: Shape::Steady { rate: Rate::per_second(rate).unwrap() },
            arrivals: Arrivals::Constant,
        };
        job.window = Bound::Duration(Nanos::from_secs(seconds));
    })
}

/// A closed loop of `connections`, for `seconds`.
pub fn closed_loop(connections: u32, seconds: u64) -> Settings {
    let job = Job {
        connections,
        window: Bound::Duration(Nanos::from_secs(seconds)),
        warmup: Nanos::ZERO,
        drain: Nanos::from_secs(30),
        timeout: Nanos::from_secs(30),
        connect_timeout: Nanos::from_secs(5),
        seed: Some(1),
        ..Job::default()
    };
    Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), asking(None, None))
}
