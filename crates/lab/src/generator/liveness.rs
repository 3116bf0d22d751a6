//! Checks whether the server survived a run: a server that died is distinguished from one that is slow or closes
//! connections.
//!
//! For `follow`, during a run and once its generator has ended. The deployment knows the state of the server's
//! processes; the generator's counts are only a reason to wait longer.

use super::assignment::GeneratorResult;
use crate::deployment::Deployment;
use crate::launch::LaunchError;
use paceline_host::shepherd::Ended;
use paceline_record::Stage;
use std::time::{Duration, Instant};

/// How long the report of a server's end may come after its clients noticed it: its shepherd must reap it first.
const REPORT_LIMIT: Duration = Duration::from_millis(200);
/// How often to check for the report.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A fault if a process of the server has ended, as far as is known now.
pub(super) fn check(launch: &mut Deployment) -> Result<(), LaunchError> {
    check_within(Duration::ZERO, || launch.ended())
}

/// The same once the generator has ended; waits for a report if the result looks like the end of a server.
pub(super) fn check_after(
    measured: Result<&GeneratorResult, &String>,
    launch: &mut Deployment,
) -> Result<(), LaunchError> {
    let limit = if looks_like_an_end(measured) { REPORT_LIMIT } else { Duration::ZERO };
    check_within(limit, || launch.ended())
}

fn check_within(
    limit: Duration,
    mut look: impl FnMut() -> Option<(String, Ended)>,
) -> Result<(), LaunchError> {
    let begun = Instant::now();
    loop {
        if let Some((who, ended)) = look() {
            let message = format!("{who} ended with {ended} under load");
            return Err(LaunchError::fault(Stage::Load, message, ended.is_unseen()));
        }
        if begun.elapsed() >= limit {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Connections broke or were closed, or there is no result.
fn looks_like_an_end(measured: Result<&GeneratorResult, &String>) -> bool {
    let Ok(GeneratorResult { run, .. }) = measured else { return true };
    let (counts, connections) = (&run.total.counts, &run.connections);
    let broken =
        [counts.io_failed, counts.connect_failed, connections.closed_by_server, connections.failed_attempts];
    broken.iter().any(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::run_of;

    #[test]
    fn an_exit_that_is_reported_late_is_attributed_to_the_server() {
        let mut looks = 0;
        let mut end = |ended: Ended| {
            looks = 0;
            check_within(Duration::from_secs(60), || {
                looks += 1;
                (looks > 3).then(|| ("the server".to_owned(), ended))
            })
        };
        let died = Ended { code: Some(9), signal: None, asked: false };
        let expected = "the server ended with exit status 9 under load";
        assert_eq!(end(died), Err(LaunchError::fault(Stage::Load, expected, false)));
        let Err(LaunchError::Fault { fault, .. }) = end(Ended { code: None, ..died }) else {
            panic!("it ended")
        };
        assert!(fault.transient, "the server was not observed: {fault:?}");
        assert_eq!(check_within(Duration::ZERO, || None), Ok(()));
    }

    #[test]
    fn broken_connections_and_missing_results_look_like_an_exit() {
        let measured = |ok| GeneratorResult { run: run_of(ok), verdicts: Vec::new(), capacity: None };
        assert!(!looks_like_an_end(Ok(&measured(68))));
        assert!(looks_like_an_end(Ok(&measured(0))), "its one request broke");
        assert!(looks_like_an_end(Err(&"it failed".to_owned())));
    }
}
