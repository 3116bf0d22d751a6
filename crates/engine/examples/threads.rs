//! Measures whether two generator threads do twice the work of one. Runs on the in-process transport, without a server
//! and without the kernel, so that only the engine is measured.
//!
//! `cargo run --release -p paceline-engine --example threads` prints requests per second of one thread and of two,
//! alternately, five times. Each thread has its own core if the machine has enough.

use paceline_engine::h1::Http1;
use paceline_engine::hot::{Recorder, RunControl, Worker};
use paceline_engine::kernel::KernelClock;
use paceline_engine::sim::{Echo, response};
use paceline_engine::{
    BodyCheck, Bound, Clock as _, EngineError, Job, Nanos, NoObserver, PaceKind, Requests, ResponseCheck,
    Settings,
};
use paceline_http::Method;
use std::sync::Arc;
use std::thread;

/// There are no other workers: a worker is never stopped, and begins when it is ready.
struct Alone;

impl RunControl for Alone {
    fn connected(&self, _had: u64) {}

    fn epoch(&self) -> Option<Nanos> {
        Some(KernelClock.now())
    }

    fn unreachable(&self) -> bool {
        false
    }

    fn stop_at(&self) -> Nanos {
        Nanos::NEVER
    }

    fn aborted(&self) -> bool {
        false
    }
}

/// Every request.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn settings() -> Settings {
    let job = Job { window: Bound::Duration(Nanos::from_secs(1)), ..Job::default() };
    let check = ResponseCheck { status: Some(200), body: BodyCheck::Exact(Arc::from(&b"Hello World\n"[..])) };
    let requests = Arc::new(Requests::fixed(REQUEST, Method::Other, check));
    let settings = Settings::new(job, std::net::SocketAddr::from(([127, 0, 0, 1], 9)), requests);
    Settings { pace: PaceKind::Spin, ..settings }
}

/// Requests per second of one worker.
fn drive() -> Result<f64, EngineError> {
    let settings = settings();
    let mut recorder = Recorder::new();
    let transport = Echo::new(settings.job.connections, REQUEST.len(), response("Hello World\n"));
    let mut worker = Worker::<_, _, Http1>::new(&settings, 0, KernelClock, transport, &mut recorder);
    worker.run(&Alone, &NoObserver)?;
    Ok(worker.into_outcome().total.counts.completed_in_window as f64)
}

#[expect(clippy::print_stdout, reason = "its result")]
fn main() -> Result<(), EngineError> {
    println!("requests/s, one thread and two, and what two do of twice one's work");
    for _ in 0..5 {
        let one = drive()?;
        let both = thread::scope(|scope| {
            let threads = [scope.spawn(drive), scope.spawn(drive)];
            threads.map(|thread| thread.join().unwrap_or(Err(EngineError::WorkerDied)))
        });
        let two = both.into_iter().sum::<Result<f64, _>>()?;
        println!("{one:>12.0} {two:>12.0} {:>8.2}", two / (2.0 * one));
    }
    Ok(())
}
