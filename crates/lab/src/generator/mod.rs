//! Load generators: separate processes, started with a command line and read from the output that they leave.
//!
//! Third-party generators are described in the crate `peers`; [`follow`] follows and samples a run. A generator is
//! chosen by the command given: any program that takes `paceline run`'s flags and writes its record, or a template for
//! one with known output.

mod assignment;
mod events;
mod follow;
mod liveness;
mod observation;
mod paceline;
mod personality;
mod record;
mod template;
mod third_party;
mod version;

#[cfg(test)]
pub(crate) use observation::ReportedWindow;

pub use assignment::{Assignment, GeneratorExit, GeneratorResult, LoadGenerator};
pub use follow::{FollowOptions, ObservedRun, follow};
pub(crate) use record::{check_ended, stderr_tail};

use crate::LabError;
use crate::fleet::LOADER;
use paceline_host::Machines;
use paceline_peers::{PrintedReport, launchable, peer};
use personality::Personality;
use std::path::Path;
use third_party::ThirdPartyGenerator;

/// The name of Paceline's own generator.
const DEFAULT_GENERATOR: &str = "paceline";

/// The requested command in its stored form: words separated by one space, Paceline's own generator by its name.
pub fn generator_command(asked: Option<&str>) -> String {
    asked.unwrap_or(DEFAULT_GENERATOR).split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a command is just a name that Paceline knows: its own generator, or a known one with its usual arguments.
/// Such a command contains no program or arguments of the requester's choice.
pub fn is_built_in(command: &str) -> bool {
    command == DEFAULT_GENERATOR || peer(command).is_some_and(|peer| peer.launch.is_some())
}

/// The program of a command, if it is missing: reported before the round begins.
pub fn missing_program(command: &str) -> Option<&str> {
    command
        .split_ascii_whitespace()
        .next()
        .filter(|word| *word != DEFAULT_GENERATOR && crate::provision::program(word).is_none())
}

/// The requested generator: `None` for Paceline's own at `own`, a program, or a template with `{url}` in it.
///
/// # Errors
/// [`LabError::Generator`] with the error in the command and the supported forms; [`LabError::Spawn`] when it cannot be
/// started.
pub fn generator(asked: Option<&str>, own: &[String]) -> Result<Box<dyn LoadGenerator + Send>, LabError> {
    let Some(asked) = asked.filter(|asked| *asked != DEFAULT_GENERATOR) else {
        return Ok(Box::new(paceline::Paceline::new(own.to_vec())));
    };
    let words: Vec<String> = asked.split_ascii_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Err(LabError::Generator { problem: "the command of the generator is empty".to_owned() });
    }
    if let [DEFAULT_GENERATOR, flags @ ..] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        && flags.first().is_some_and(|flag| flag.starts_with("--"))
    {
        let flags = flags_of_generator(&words[1..]);
        return Ok(Box::new(paceline::Paceline::new(own.to_vec()).with_flags(&flags)));
    }
    if let [DEFAULT_GENERATOR, ..] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()
        && let Some(tool) = Personality::of_round(own, &words[1..])
    {
        return Ok(Box::new(tool?));
    }
    if let Some((program, peer)) = ThirdPartyGenerator::program(&words) {
        return Ok(Box::new(ThirdPartyGenerator::new(words, program, peer)?));
    }
    if words.iter().any(|word| word.contains('{')) {
        return Err(LabError::Generator { problem: not_understood(&words[0]) });
    }
    Ok(Box::new(paceline::Paceline::new(words)))
}

/// The flags of a round's command that are for its generator: if `--on` places no loader, but only other roles, the
/// generator runs on this machine.
fn flags_of_generator(flags: &[String]) -> Vec<String> {
    let mut kept = flags.to_vec();
    if let Some(at) = kept.iter().position(|flag| flag == "--on")
        && let Some(Ok(Machines::Named(hosts))) = kept.get(at + 1).map(|on| on.parse::<Machines>())
        && hosts.iter().all(|(role, _)| role != LOADER)
    {
        kept.drain(at..=at + 1);
    }
    kept
}

/// Paceline's own generator, which profiles the server in a second window; the flame graph is written to a file.
pub(crate) fn profiler(own: &[String], flame_graph: &Path) -> impl LoadGenerator + use<> {
    let flag = format!("--profile={}", flame_graph.display());
    paceline::Paceline::new(own.to_vec()).with_flags(&[flag])
}

/// The error for a template with an unknown program.
fn not_understood(program: &str) -> String {
    let names: Vec<&str> = launchable().map(|(peer, _)| peer.name).collect();
    format!(
        "the output of `{program}` cannot be parsed; use a template for {}, or a command that accepts the flags of `paceline run` and writes a Paceline record",
        names.join(", ")
    )
}

/// Reads any text as the output of every known program, for fuzzing; the outcomes must add up.
#[doc(hidden)]
pub fn fuzz_generator_output(text: &str) {
    for (peer, _) in launchable() {
        if let Ok(report) = (peer.read)(&PrintedReport::from_output(text)) {
            let report = report.expecting(200);
            assert_eq!(report.counts.scheduled, report.counts.ended());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use paceline_record::{Load, LoopKind, Run};
    use std::time::Duration;

    /// An assignment of a closed loop.
    pub fn assignment() -> Assignment {
        let load = Load {
            name: "closed-64".into(),
            kind: LoopKind::Closed,
            connections: 64,
            depth: 1,
            duration_s: Some(3.0),
            warmup_s: 1.0,
            ..Load::default()
        };
        Assignment {
            url: "http://127.0.0.1:20000/hello".into(),
            request: ["--expect-status", "200", "--expect-body", "@/tmp/body"].map(str::to_owned).into(),
            load,
            limit: Duration::from_secs(4),
            threads: 1,
            status: 200,
            seed: 7,
            record: "/tmp/run.json".into(),
            places: None,
            events: 9,
        }
    }

    /// A run with this many successful requests; with one failed request if 0.
    pub fn run_of(ok: u64) -> Run {
        let text = format!(
            r#"{{"summary": {{"total": 1.0, "totalData": 0, "requestsPerSec": {ok}}},
            "statusCodeDistribution": {{"200": {ok}}}, "errorDistribution": {{"broken": {}}}}}"#,
            u64::from(ok == 0)
        );
        let ended = paceline_host::shepherd::Ended { code: Some(0), signal: None, asked: false };
        let finished =
            GeneratorExit { ended, stdout: text, stderr: String::new(), cpu_s: 0.1, elapsed_s: 1.0 };
        ThirdPartyGenerator::unasked("oha").read(&assignment(), &finished).unwrap().run
    }

    fn line(asked: &str) -> Result<String, String> {
        let made = generator(Some(asked), &["own".to_owned()]).map_err(|error| error.to_string())?;
        Ok(made.command(&assignment()).join(" "))
    }

    #[test]
    fn any_command_with_our_flags_is_a_generator() {
        for (asked, beginning) in [
            ("paceline", "own run http://127.0.0.1:20000/hello -c 64"),
            ("paceline --loaders 2", "own run http://127.0.0.1:20000/hello -c 64"),
            ("/opt/other/paceline", "/opt/other/paceline run http://127.0.0.1:20000/hello -c 64"),
            ("nice -n 5 bench", "nice -n 5 bench run http://127.0.0.1:20000/hello -c 64"),
        ] {
            assert!(line(asked).unwrap().starts_with(beginning), "{asked}");
        }
    }

    #[test]
    fn our_own_generator_accepts_more_flags() {
        let ab = line("paceline ab -k -t{duration_s} -c{connections} {url}").unwrap();
        assert!(ab.starts_with("own ab -k -t3 -c64 http://127.0.0.1:20000/hello --paceline-record "), "{ab}");
        assert!(
            line("paceline --on slurm --loaders 2").unwrap().ends_with(" --events 9 --on slurm --loaders 2")
        );
        // Without a loader elsewhere it is here: `paceline run` has no other role.
        let here = line("paceline --on ssh:server=n1,database=n2 --loaders 2").unwrap();
        assert!(here.ends_with(" --events 9 --loaders 2"), "{here}");
        let there = line("paceline --on ssh:server=n1,loader=n2").unwrap();
        assert!(there.ends_with(" --events 9 --on ssh:server=n1,loader=n2"), "{there}");
    }

    #[test]
    fn a_missing_program_is_reported() {
        assert_eq!(missing_program("no-such-program -x"), Some("no-such-program"));
        assert_eq!(missing_program("./no-such-program"), Some("./no-such-program"));
        assert_eq!(missing_program("sh -c x"), None);
        assert_eq!(missing_program("paceline"), None);
    }

    #[test]
    fn one_command_has_one_name() {
        assert_eq!(generator_command(None), generator_command(Some("paceline")));
        assert_eq!(generator_command(Some(" wrk   -t1 {url}")), "wrk -t1 {url}");
    }

    #[test]
    fn an_unknown_program_is_rejected_with_the_known_ones() {
        let error = line("drill -z {duration_s}s {url}").unwrap_err();
        for part in [
            "output of `drill` cannot be parsed",
            "a template for wrk, oha,",
            "accepts the flags of `paceline run`",
        ] {
            assert!(error.contains(part), "{error:?} lacks {part:?}");
        }
        assert!(line(" ").unwrap_err().contains("generator is empty"));
    }
}
