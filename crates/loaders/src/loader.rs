//! The loader: carries out its share of a job at the coordinator's request.
//!
//! One thread reads the coordinator's messages; the other connects, waits for the start, puts the load on the target and
//! writes the result. If the input ends before that, no coordinator waits for the result: the process exits, which ends
//! the load.

use crate::message::{Done, FromLoader, LoaderFailure, LoaderOrder, MAX_LINE_BYTES, ToLoader};
use paceline_engine::{Nanos, RunStart, StopFlag};
use paceline_host::NetworkCounters;
use paceline_host::channel::{ChannelEnd, ChannelOutput, first_message, listen};
use paceline_host::system::monotonic_ns;
use paceline_job::{Bound, Job, LoadModel, Shape};
use paceline_run::{Inputs, Prepared, RunError};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The exit status of a loader without a coordinator, that of a failure of the environment.
const ABANDONED: i32 = 3;
/// Every worker must have received the start moment before it arrives (`engine::run`: some naps of a millisecond each).
const START_LEAD: Nanos = Nanos::from_millis(5);
/// A loader that learns too late when to start joins the others later, at most by the window divided by this,
const LATE_WINDOW_DIVISOR: u64 = 2;
/// and by no more than this: the coordinator waits 20 s for results.
const MAX_LATE: Nanos = Nanos::from_secs(10);
/// Late loaders begin whole seconds later, so that their intervals match those of the others.
const SECOND: Nanos = Nanos::from_secs(1);
/// Longest wait for the coordinator to say when to start, beyond the time in which other loaders may connect; or that
/// it has the result.
const WAIT_LIMIT: Duration = Duration::from_secs(120);

static STOP: StopFlag = StopFlag::new();

/// The coordinator's decision about the start.
enum StartDecision {
    Start(Nanos),
    Stop,
}

/// Executes the messages from `input` and answers on `output`. Returns when the coordinator has the result and closes
/// the input; ends the process if it closes it before.
///
/// # Errors
/// When the first message is no order, or the coordinator cannot be written to.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let order = first_order(&mut input)?;
    let output = Arc::new(ChannelOutput::new(output));
    let (decisions, decided) = mpsc::channel();
    let (finished, ended) = mpsc::channel();
    let is_done = Arc::<AtomicBool>::default();
    let has_result = Arc::clone(&is_done);
    let handle = move |message| match message {
        ToLoader::Start { epoch_ns } => {
            let _ = decisions.send(StartDecision::Start(Nanos(epoch_ns)));
            true
        }
        ToLoader::Stop => {
            STOP.request();
            let _ = decisions.send(StartDecision::Stop);
            true
        }
        ToLoader::Order(_) => false,
    };
    listen(input, Arc::clone(&output), MAX_LINE_BYTES, handle, move |end| {
        if end == ChannelEnd::Silent || !has_result.load(Ordering::Acquire) {
            std::process::exit(ABANDONED);
        }
        let _ = finished.send(());
    })?;
    let answer = match carry_out(order, &decided, &output) {
        Ok(done) => FromLoader::Done(Box::new(done)),
        Err(failed) => FromLoader::Failed(failed),
    };
    is_done.store(true, Ordering::Release);
    output.send(&answer)?;
    // Questions for the clock are answered until the coordinator closes the input.
    let _ = ended.recv_timeout(WAIT_LIMIT);
    Ok(())
}

fn first_order(input: &mut impl BufRead) -> io::Result<LoaderOrder> {
    let (kind, what) = match first_message(input, MAX_LINE_BYTES)? {
        Some(ToLoader::Order(order)) => return Ok(*order),
        Some(_) => (io::ErrorKind::InvalidData, "invalid first message"),
        None => (io::ErrorKind::UnexpectedEof, "the input ended before the first message"),
    };
    let how = "`paceline loader` is started by Paceline (`--loaders` or `--on`), not by hand";
    Err(io::Error::new(kind, format!("{what}: {how}")))
}

fn carry_out(
    order: LoaderOrder,
    decided: &Receiver<StartDecision>,
    output: &ChannelOutput<impl Write>,
) -> Result<Done, LoaderFailure> {
    // If the folder does not exist, files are searched where the loader was started; errors name the files.
    let _ = std::env::set_current_dir(&order.folder);
    let mut job = order.job;
    if let (Some(moments), LoadModel::Open { shape: Shape::Trace(trace), .. }) =
        (order.moments_ns, &mut job.load)
    {
        trace.moments = moments.into_iter().map(Nanos).collect();
    }
    let prepared = Prepared::new(job, Vec::new(), &mut Inputs::default()).map_err(failed)?;
    let Job { warmup, window, connect_timeout, .. } = prepared.settings.job;
    let (counting, counted) = mpsc::channel();
    let (late, begun) = (Mutex::new(None), AtomicU64::new(0));
    let begin = |had| {
        if output.send(&FromLoader::Connected { had }).is_err() {
            return RunStart::Never;
        }
        match decided.recv_timeout(Duration::from(connect_timeout) + WAIT_LIMIT) {
            Ok(StartDecision::Start(agreed)) => match beginning(agreed, window, Nanos(monotonic_ns())) {
                Ok(epoch) => {
                    begun.store(epoch.0, Ordering::Relaxed);
                    let _ = counting.send(epoch + warmup);
                    RunStart::At(epoch)
                }
                Err(by) => {
                    *late.lock().unwrap_or_else(PoisonError::into_inner) = Some(by);
                    RunStart::Never
                }
            },
            Ok(StartDecision::Stop) | Err(_) => RunStart::Never,
        }
    };
    let counters = thread::spawn(move || counted.recv().ok().map(counters_at));
    let ran = prepared.carry_out_share(std::env::args().collect(), &STOP, &begin);
    let end = NetworkCounters::now();
    drop(counting);
    if let Some(by) = late.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let what = format!("the start command arrived {:.3} s too late", by.as_secs_f64());
        return Err(LoaderFailure { what, hint: None, is_usage: false });
    }
    let (run, noted) = ran.map_err(failed)?;
    let begin = counters.join().ok().flatten();
    // Where the drain is long, this is less than in the window.
    let begin = begin.filter(|_| !is_here(&run.target.address));
    let network = begin.and_then(|begin| begin.until(&end.with_speeds()));
    let noted_ns = noted.into_iter().map(|sends| sends.into_iter().map(|send| send.0).collect()).collect();
    Ok(Done { epoch_ns: begun.into_inner(), run, noted_ns, network })
}

fn counters_at(moment: Nanos) -> NetworkCounters {
    thread::sleep(Duration::from_nanos(moment.0.saturating_sub(monotonic_ns())));
    NetworkCounters::now()
}

/// Whether a target is reached over loopback or a socket of this machine.
fn is_here(address: &str) -> bool {
    ["127.", "[::1]", "unix:"].iter().any(|begin| address.starts_with(begin))
}

/// Start of a loader that learns at `now` that the others begin at `agreed`: then, or as many whole seconds later as
/// necessary. The error is the delay of a loader that is too late to join.
fn beginning(agreed: Nanos, window: Bound, now: Nanos) -> Result<Nanos, Nanos> {
    let late = (now + START_LEAD).since(agreed);
    let joins = Nanos(late.0.div_ceil(SECOND.0) * SECOND.0);
    match window {
        _ if late == Nanos::ZERO => Ok(agreed),
        Bound::Duration(window) if joins <= MAX_LATE && joins.0 <= window.0 / LATE_WINDOW_DIVISOR => {
            Ok(agreed + joins)
        }
        Bound::Duration(_) | Bound::Requests(_) => Err(late),
    }
}

/// An error of the run, the party at fault, and the remedy.
fn failed(error: RunError) -> LoaderFailure {
    let what = paceline_escape::error_text(&error);
    let (hint, is_usage) = match error {
        RunError::Job(_) => (None, true),
        RunError::Usage(problem) => (problem.hint, true),
        RunError::Environment(problem) => (problem.hint, false),
        RunError::Engine(_) => (None, false),
    };
    LoaderFailure { what, hint, is_usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_must_be_an_order() {
        let error = |text: &str| first_order(&mut text.as_bytes()).err().unwrap().to_string();
        assert!(error("").starts_with("the input ended before the first message: "));
        let stop = serde_json::to_string(&ToLoader::Stop).unwrap();
        assert!(error(&format!("{stop}\n")).starts_with("invalid first message: "));
    }

    #[test]
    fn a_late_loader_joins_at_a_whole_second_or_not_at_all() {
        let at = |ms| {
            beginning(Nanos::from_secs(100), Bound::Duration(Nanos::from_secs(10)), Nanos::from_millis(ms))
        };
        assert_eq!(at(99_900), Ok(Nanos::from_secs(100)));
        assert_eq!(at(99_998), Ok(Nanos::from_secs(101)));
        assert_eq!(at(102_500), Ok(Nanos::from_secs(103)));
        assert_eq!(at(105_500), Err(Nanos::from_millis(5_505)), "more than half of the window");
        let requests = beginning(Nanos::from_secs(100), Bound::Requests(5), Nanos::from_secs(101));
        assert!(requests.is_err(), "a number of requests has no window to cut");
    }
}
