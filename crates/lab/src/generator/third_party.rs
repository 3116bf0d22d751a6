//! A third-party generator, run by a command template: its command line, its version, and its output as a run.
//!
//! Such a program reports no phases, has no warm-up and prints a few percentiles without their distribution: the run
//! has no times, and the percentiles are evidence in a note. Closed loop only, and no body is checked. The output of
//! each program is read by its module of the crate `peers`, the only part that a further program needs.

use super::assignment::{Assignment, GeneratorExit, GeneratorResult, LoadGenerator};
use super::personality::refuses_case;
use super::{template, version};
use crate::LabError;
use paceline_catalogue::WorkloadCase;
use paceline_judge::TypedVerdict;
use paceline_peers::{Peer, PeerLaunch, PeerReport, PrintedReport, peer};
use paceline_record::{
    BalancedLoad, Block, Connections, Load, Loop, LoopKind, Pace, PaceChoice, Phases, Rates, Run, SCHEMA,
    Span, Target, Tool, Verdict,
};

/// A known program with its template.
#[derive(Debug)]
pub struct ThirdPartyGenerator {
    words: Vec<String>,
    peer: &'static Peer,
    launch: &'static PeerLaunch,
    tool: Tool,
}

impl ThirdPartyGenerator {
    /// The position of a known program in a command: first, or after a launcher (`nice -n 5 wrk`).
    pub fn program(words: &[String]) -> Option<(usize, &'static Peer)> {
        let of_word = |word: &String| peer(word.rsplit('/').next()?).filter(|peer| peer.launch.is_some());
        words.iter().enumerate().find_map(|(place, word)| Some((place, of_word(word)?)))
    }

    /// A template, or the program alone, which is asked for its version.
    ///
    /// # Errors
    /// [`LabError::Generator`] when the template is wrong or the program reports no version; [`LabError::Spawn`] when
    /// it cannot be started.
    pub fn new(mut words: Vec<String>, program: usize, peer: &'static Peer) -> Result<Self, LabError> {
        let wrong = |problem| LabError::Generator { problem };
        let launch = peer.launch.as_ref();
        let launch = launch.ok_or_else(|| wrong(format!("{} has no closed loop", peer.name)))?;
        if words.len() == program + 1 {
            words.extend(launch.arguments.iter().map(|word| (*word).to_owned()));
        }
        template::check(&words).map_err(wrong)?;
        if let Some(required) = launch.required.filter(|required| !words.iter().any(|word| word == required))
        {
            return Err(wrong(format!(
                "add `{required}` to the command of {}: rounds measure HTTP/1.1",
                peer.name
            )));
        }
        let version = version::ask(&words[..=program], launch)?;
        Ok(Self { words, peer, launch, tool: Tool { name: peer.name.to_owned(), version, commit: None } })
    }

    fn run(
        &self,
        report: &PeerReport,
        elapsed_s: f64,
        assignment: &Assignment,
        finished: &GeneratorExit,
    ) -> Run {
        let window = Span { start_ns: 0, end_ns: (elapsed_s * 1e9) as u64 };
        Run {
            schema: SCHEMA,
            tool: self.tool.clone(),
            argv: self.command(assignment),
            seed: assignment.seed,
            target: Target { url: assignment.url.clone(), protocol: "http/1.1".into(), ..Target::default() },
            loop_: Loop {
                kind: LoopKind::Closed,
                connections: assignment.load.connections,
                depth: 1,
                ..Loop::default()
            },
            pace: Pace { asked: PaceChoice::Sleep, ..Pace::default() },
            // A program without a timeout waits until the end of the run.
            timeout_ns: self.launch.timeout_ns.unwrap_or(window.end_ns),
            phases: Phases { window, ..Phases::default() },
            window_s: elapsed_s,
            connections: Connections { asked: assignment.load.connections.into(), ..Connections::default() },
            generator: generator(report, template::threads(&self.words, assignment), finished),
            total: Block {
                counts: report.counts,
                completed_in_window: report.counts.ok,
                status: report.status.clone(),
                bytes: report.bytes,
                ..Block::default()
            },
            rate_per_s: Rates {
                sent: report.counts.scheduled as f64 / elapsed_s,
                achieved: report.counts.ok as f64 / elapsed_s,
                ..Rates::default()
            },
            ..Run::default()
        }
    }

    fn note(&self, report: &PeerReport) -> Verdict {
        let percentiles_ns = report.percentiles_ns();
        TypedVerdict::ForeignGenerator { percentiles_ns, generator: self.peer.name.to_owned() }.verdict()
    }
}

impl LoadGenerator for ThirdPartyGenerator {
    fn command(&self, assignment: &Assignment) -> Vec<String> {
        template::fill(&self.words, assignment)
    }

    fn refuses(&self, load: &Load, case: &WorkloadCase) -> Option<String> {
        if let Some(what) = refuses_case(load, case) {
            return Some(format!("{} {what}", self.peer.name));
        }
        let what = match load {
            Load { tool: Some(_), .. } => {
                "has its own command line: Paceline's own generator carries out those of `tool`"
            }
            Load { kind: LoopKind::Open, .. } => "can be used only for closed loops",
            Load { requests: Some(_), .. } => "can be limited only by time, not by a number of requests",
            Load { balanced: Some(BalancedLoad { fault: Some(_), .. }), .. } => {
                "does not report when its measurement begins. This load needs that, because Paceline kills an instance of the server during the measurement"
            }
            Load { no_keep_alive: true, .. } | Load { requests_per_connection: Some(_), .. } => {
                "can be used only for loads that keep connections open (without `no_keep_alive` and `requests_per_connection`)"
            }
            _ => return Some(format!("{} {}", self.peer.name, template::refuses(&self.words, load)?)),
        };
        Some(format!("{} {what}", self.peer.name))
    }

    fn read(&self, assignment: &Assignment, finished: &GeneratorExit) -> Result<GeneratorResult, String> {
        let name = self.peer.name;
        if finished.ended.code != Some(0) {
            return Err(format!("{name} ended with {}: {}", finished.ended, finished.stderr));
        }
        let report = (self.peer.read)(&PrintedReport::from_output(&finished.stdout)).map_err(|problem| {
            let printed: String = finished.stdout.trim().chars().take(200).collect();
            format!("{name} did not print {}: {problem}; it printed {printed:?}", self.peer.prints)
        })?;
        let report = report.expecting(assignment.status);
        let elapsed_s = report.duration_s().ok_or_else(|| format!("{name} reports a run of 0 s"))?;
        let run = self.run(&report, elapsed_s, assignment, finished);
        Ok(GeneratorResult { run, verdicts: vec![self.note(&report)], capacity: None })
    }
}

fn generator(report: &PeerReport, threads: u32, finished: &GeneratorExit) -> paceline_record::Generator {
    let answers = report.counts.ok + report.counts.bad_status;
    let per_thread = finished.cpu_s / f64::from(threads.max(1));
    paceline_record::Generator {
        threads,
        cpu_s: finished.cpu_s,
        busy_s: finished.cpu_s,
        cpu_ns_per_request: if answers > 0 { finished.cpu_s * 1e9 / answers as f64 } else { 0.0 },
        utilization: paceline_stats::ratio(per_thread, finished.elapsed_s).min(1.0),
        ..paceline_record::Generator::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ThirdPartyGenerator {
        /// A program that was not asked for its version.
        pub fn unasked(name: &str) -> Self {
            let peer = peer(name).unwrap();
            let tool = Tool { name: peer.name.to_owned(), version: "1".to_owned(), commit: None };
            let launch = peer.launch.as_ref().unwrap();
            Self {
                words: launch.arguments.iter().map(|word| (*word).to_owned()).collect(),
                peer,
                launch,
                tool,
            }
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_known_program_is_found_behind_a_wrapper() {
        let found =
            |text: &str| ThirdPartyGenerator::program(&words(text)).map(|(place, peer)| (place, peer.name));
        assert_eq!(found("wrk"), Some((0, "wrk")));
        assert_eq!(found("nice -n 5 /opt/bin/oha {url}"), Some((3, "oha")));
        assert_eq!(found("/opt/wrk/drill {url}"), None);
    }

    /// A program named `wrk` that prints `text` and fails, like wrk when asked for its version.
    fn wrk_that_prints(text: &str) -> Result<ThirdPartyGenerator, LabError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wrk");
        std::fs::write(&path, format!("test \"$*\" = -v || exit 7\nprintf '{text}' >&2\nexit 1\n")).unwrap();
        ThirdPartyGenerator::new(vec!["sh".into(), path.display().to_string()], 1, peer("wrk").unwrap())
    }

    #[test]
    fn the_version_is_read() {
        let foreign = wrk_that_prints("wrk debian/4.1.0 [epoll] Copyright\\nUsage: wrk x\\n").unwrap();
        assert_eq!((foreign.tool.name.as_str(), foreign.tool.version.as_str()), ("wrk", "debian/4.1.0"));
        assert_eq!(
            foreign.words[2..].join(" "),
            "-t{threads} -c{connections} -d{duration_s}s --latency {url}"
        );
    }

    #[test]
    fn the_result_has_its_version_and_rate() {
        use crate::generator::tests::run_of;
        let run = run_of(68);
        assert_eq!((run.tool.name.as_str(), run.tool.version.as_str()), ("oha", "1"));
        assert_eq!((run.rate_per_s.achieved, run.total.status["200"]), (68.0, 68));
        assert_eq!(
            run.argv.join(" "),
            "--no-tui --output-format json -z 3s -c 64 http://127.0.0.1:20000/hello"
        );
    }

    #[test]
    fn the_printed_output_is_evidence_of_a_note() {
        let report = PeerReport { times_ns: [("p50".to_owned(), 5.0)].into(), ..PeerReport::default() };
        let note = ThirdPartyGenerator::unasked("wrk").note(&report);
        assert_eq!(
            (note.name.as_str(), note.evidence["percentiles_ns"]["p50_ns"].as_u64()),
            ("foreign_generator", Some(5))
        );
        assert!(note.remedy.starts_with("In this trial, wrk checked no body"), "{}", note.remedy);
    }

    #[test]
    fn a_load_with_a_fault_is_refused() {
        use crate::generator::tests::assignment;
        use paceline_record::{FaultKind, Route};
        let balanced = |fault| BalancedLoad {
            balancer: "haproxy".into(),
            policy: "roundrobin".into(),
            instances: 2,
            route: Route::Balanced,
            fault,
        };
        let catalogue = paceline_catalogue::fixture::TestTree::new().catalogue();
        let case = catalogue.workload("hello").unwrap().cases[0].clone();
        let refused = |fault| {
            let load = Load { balanced: Some(balanced(fault)), ..assignment().load };
            ThirdPartyGenerator::unasked("wrk").refuses(&load, &case)
        };
        assert_eq!(refused(None), None);
        let refusal = refused(Some(FaultKind::KillOne)).unwrap();
        assert!(refusal.starts_with("wrk does not report when its measurement begins"), "{refusal}");
    }

    #[test]
    fn a_program_without_a_version_is_rejected() {
        for printed in ["", "Usage: wrk\\n", "wrk\\n"] {
            let error = wrk_that_prints(printed).unwrap_err().to_string();
            assert!(error.contains("printed no version, which a record must contain"), "{error}");
        }
        let absent =
            ThirdPartyGenerator::new(vec!["/nowhere/oha".into()], 0, peer("oha").unwrap()).unwrap_err();
        assert!(matches!(absent, LabError::Spawn { .. }), "{absent}");
    }
}
