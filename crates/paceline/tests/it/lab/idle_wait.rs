//! Tests servers that are still busy after their load has ended: the next load must not be affected.
//!
//! The server begins to use CPU under load and never stops. The definition of idle is tested beside the code.

use super::tree::{GOOD, Tree};
use paceline_record::Severity;
use std::fs;

#[test]
fn a_server_that_stays_busy_is_restarted_for_the_next_load() {
    // It passes validation, and with its three hundredth request begins work that never ends.
    let burning = "        import threading, sys
        sys.asked = getattr(sys, 'asked', 0) + 1
        if sys.asked == 300:
            threading.Thread(target=exec, args=('import time\\nwhile True: sum(range(600000)), time.sleep(0.01)',), daemon=True).start()
";
    let busy = GOOD.replace("    def do_GET(self):\n", &format!("    def do_GET(self):\n{burning}"));
    let tree = Tree::new().with_server("python-busy", &busy, 60).with_server("python-good", GOOD, 60);
    fs::create_dir_all(tree.path("plans")).unwrap();
    let load = |name: &str| {
        format!("[[load]]\nname = \"{name}\"\nconnections = 32\nduration = \"1s\"\nwarmup = \"50ms\"\n")
    };
    let plan =
        format!("name = \"rest\"\nrepeats = 1\nworkloads = [\"hello\"]\n{}{}", load("one"), load("other"));
    fs::write(tree.path("plans/rest.toml"), plan).unwrap();
    let ran = tree.run(&["round", "rest"]);
    assert!(ran.code.is_some_and(|code| code < 2), "{ran:?}");
    let (_, trials) = tree.kept();
    // Trials spoiled by the machine are retried at the end; these are the first tries, in order.
    let of =
        |server: &str| trials.iter().filter(|trial| trial.server.id == server).take(2).collect::<Vec<_>>();
    let (busy, good) = (of("python-busy"), of("python-good"));
    let said = busy[0].verdicts.iter().find(|verdict| verdict.name == "busy_after_load");
    let said = said.unwrap_or_else(|| panic!("{:?} {ran:?}", busy[0].verdicts));
    assert_eq!((said.severity, said.evidence["waited_s"].as_f64()), (Severity::Note, Some(10.0)));
    assert_ne!(busy[0].launch, busy[1].launch, "the second load was put on what the first had left");
    assert_eq!(good[0].launch, good[1].launch);
    let all = busy[1..].iter().chain(&good).flat_map(|trial| &trial.verdicts);
    assert!(all.filter(|verdict| verdict.name == "busy_after_load").count() == 0, "{trials:?}");
    // The report uses the last try of a cell: a busy machine may have caused the first one to be repeated.
    let is_last = trials.iter().filter(|trial| trial.server.id == "python-busy").count() == 2;
    assert!(!is_last || ran.stdout.contains("busy_after_load"), "{ran:?}");
}
