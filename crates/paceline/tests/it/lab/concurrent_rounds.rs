//! Tests two rounds on one machine: every trial of both reports that it was not alone, whichever round began first.
//!
//! The first round waits while its server starts until the second has begun. Rounds of other tests run on the machine
//! too, so the test looks for the second one by its process id.

use super::tree::{GOOD, Tree};
use super::witness::Witness;
use super::{rounds::SHORT, survivors::kill};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn the_first_of_two_concurrent_rounds_notes_the_second() {
    let waiting = format!(
        "import os\nif os.path.exists(os.environ['GATE']):\n    \
         os.write(os.open(os.environ['WITNESS'], os.O_WRONLY), b'x')\n    \
         open(os.environ['GATE']).readline()\n    os.remove(os.environ['GATE'])\n{GOOD}"
    );
    let first = Tree::new().with_server("python-good", &waiting, 60);
    let (mut servers, gate) = (Witness::new(&first.path("witness")), Witness::new(&first.path("gate")));
    let mut command = first.paceline(&[&SHORT[..], &["--repeats", "1"]].concat());
    command.env("WITNESS", first.path("witness")).env("GATE", first.path("gate"));
    let mut lab = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    servers.wait_signatures(1);

    let second = Tree::new().with_server("python-good", GOOD, 60);
    let mut generators = Witness::new(&second.path("witness"));
    let endless = second.script("endless", "#!/bin/sh\nexec 9>\"$WITNESS\"\nprintf x >&9\nexec sleep 100\n");
    let mut command = second.paceline(&[&SHORT[..], &["--generator", endless.to_str().unwrap()]].concat());
    command.env("WITNESS", second.path("witness")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut other = command.spawn().unwrap();
    generators.wait_signatures(1);

    let mut opened = OpenOptions::new().write(true).open(first.path("gate")).unwrap();
    opened.write_all(b"go\n").unwrap();
    assert_eq!(lab.wait().unwrap().code(), Some(0));
    drop(gate);
    kill(&other, libc::SIGINT);
    generators.wait_end();
    other.wait().unwrap();
    let (_, trials) = first.kept();
    let reported = format!("process {} (round ", other.id());
    for trial in trials {
        let verdict = trial.verdicts.iter().find(|verdict| verdict.name == "shared_machine").unwrap();
        let others = verdict.evidence["other"].as_str().unwrap();
        assert!(others.contains(&reported), "{others}");
    }
}
