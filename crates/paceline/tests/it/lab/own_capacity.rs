//! Tests loads that depend on a server's measured capacity, in rounds with a real server: a search, and rates as a
//! share of the result of that search or of a closed loop. The windows are too short for meaningful figures: only their
//! relations are checked.

use super::tree::{GOOD, Tree};
use paceline_record::{LoopKind, Trial};
use std::fs;

const PLAN: &str = r#"
name = "own"
repeats = 1
workloads = ["hello"]
[[load]]
name = "half"
rate = "50%"
connections = 4
duration = "400ms"
warmup = "50ms"
[[load]]
name = "a-tenth-of-closed"
rate = "10%"
of = "closed"
connections = 4
duration = "400ms"
warmup = "50ms"
[[load]]
name = "closed"
connections = 4
duration = "400ms"
warmup = "50ms"
[[load]]
name = "most"
load = "capacity"
objective = "response.p50<2s,errors<50%"
connections = 4
duration = "300ms"
warmup = "50ms"
windows = 6
confirm = "400ms"
"#;

fn carried_out(plan: &str) -> (Tree, super::tree::Ran) {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    fs::create_dir_all(tree.path("plans")).unwrap();
    fs::write(tree.path("plans/own.toml"), plan).unwrap();
    let ran = tree.run(&["round", "own"]);
    (tree, ran)
}

fn of<'a>(trials: &'a [Trial], load: &str) -> &'a Trial {
    trials.iter().find(|trial| trial.load.name == load).unwrap_or_else(|| panic!("no trial of {load}"))
}

#[test]
fn shares_follow_their_100_percent_load_and_record_it() {
    let (tree, ran) = carried_out(PLAN);
    let (_, trials) = tree.kept();
    let (search, closed) = (of(&trials, "most"), of(&trials, "closed"));
    let found = search.capacity.as_ref().unwrap_or_else(|| panic!("{ran:?} {:?}", search.error));
    assert!(found.closed_loop_per_s > 0.0 && !found.windows.is_empty(), "{found:?}");
    assert_eq!(search.generator_argv[1], "capacity");
    assert_eq!(search.run.as_ref().map(|run| run.loop_.kind), Some(LoopKind::Open), "the last window's run");
    let tenth = of(&trials, "a-tenth-of-closed");
    // On a busy machine a window this short may pass without a response: then the load at a share of it fails and says
    // so.
    match closed.usable_run().map(|run| run.rate_per_s.achieved) {
        Some(achieved) => {
            let share = tenth.load.share.as_ref().unwrap();
            assert_eq!((share.of.as_str(), share.full_per_s), ("closed", Some(achieved)));
            assert_eq!(share.full_trial.as_deref(), Some(closed.id.as_str()));
            assert!((tenth.load.rate_per_s.unwrap() - 0.1 * achieved).abs() < 1e-6 * achieved);
            assert!(tenth.order > closed.order && tenth.launch == closed.launch);
        }
        None => assert!(tenth.error.as_ref().unwrap().message.contains("`closed`"), "{tenth:?}"),
    }
    let half = of(&trials, "half");
    // On a busy machine a search may find no rate: then the load at a share of it fails with that reason.
    match found.half_pass_per_s {
        Some(full) => {
            assert_eq!(half.load.share.as_ref().unwrap().full_per_s, Some(full));
            assert!(ran.stdout.contains("hello, capacity"), "{ran:?}");
        }
        None => assert!(half.error.as_ref().unwrap().message.contains("`most`"), "{half:?}"),
    }
    let shown = tree.run(&["report", "--format", "markdown"]);
    assert!(shown.stdout.contains("open loop at 10% of each server's capacity"), "{shown:?}");
}

#[test]
fn an_objective_that_cannot_be_read_is_refused_before_anything_starts() {
    let (tree, ran) = carried_out(&PLAN.replace("response.p50<2s", "p50<2s"));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("load `most`: invalid objective"), "{ran:?}");
    assert!(!tree.path("state/results.sqlite").exists() || ran.stdout.is_empty());
}
