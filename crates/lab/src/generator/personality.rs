//! Another generator's command line, carried out by Paceline: `paceline ab -k -n 15000 -c 50 URL`.
//!
//! The line is that of a plan's load (`tool`), or the command of the round's generator. The result is the whole record,
//! not the report that the tool prints. As with the tool itself, there is no warm-up and no body is checked.

use super::assignment::{Assignment, GeneratorExit, GeneratorResult, LoadGenerator};
use super::record::read_record;
use super::template;
use crate::LabError;
use paceline_catalogue::WorkloadCase;
use paceline_peers::{peer, tools};
use paceline_record::{BalancedLoad, Load, LoopKind, Route};

/// The command lines of one tool.
pub struct Personality {
    /// This program.
    program: Vec<String>,
    /// The tool, its arguments, and `{url}`.
    words: Vec<String>,
}

impl Personality {
    /// The words of a round's generator after `paceline`, if they begin with a tool: with its usual arguments, if it has
    /// none.
    pub fn of_round(program: &[String], words: &[String]) -> Option<Result<Self, LabError>> {
        let tool = words.first().filter(|word| tools().any(|tool| tool == word.as_str()))?;
        let launch = peer(tool).and_then(|peer| peer.launch.as_ref()).filter(|_| words.len() == 1);
        let usual = launch.map_or(&[][..], |launch| launch.arguments).iter().map(|word| (*word).to_owned());
        let words: Vec<String> = words.iter().cloned().chain(usual).collect();
        let checked = template::check(&words).map_err(|problem| LabError::Generator { problem });
        Some(checked.map(|()| Self { program: program.to_vec(), words }))
    }

    /// The command line of a load, with quotes as in a shell: the plan's check found them closed.
    pub fn of_load(program: &[String], line: &str) -> Self {
        let words = shlex::split(line).unwrap_or_default().into_iter().chain(["{url}".to_owned()]).collect();
        Self { program: program.to_vec(), words }
    }

    /// Why the words cannot be carried out.
    fn problem(&self, load: &Load) -> Option<String> {
        let tool = self.words.first()?;
        if !tools().any(|known| known == tool) {
            let known: Vec<&str> = tools().collect();
            return Some(format!("`{tool}` is not a tool that Paceline can be: use {}", known.join(", ")));
        }
        template::check(&self.words).err().or_else(|| template::refuses(&self.words, load))
    }
}

/// Why a case cannot be requested by a tool: only GET over HTTP/1.1 is.
pub fn refuses_case(load: &Load, case: &WorkloadCase) -> Option<&'static str> {
    match load {
        _ if !case.mix.is_empty() => Some("cannot send a mix of requests in a round"),
        _ if !case.is_plain() || case.method != "GET" => Some("can send only GET requests in a round"),
        _ if !case.headers.is_empty() => Some("cannot send a workload's header fields in a round"),
        _ if case.stream.is_some() => Some("does not read responses as streams"),
        Load { depth: 2.., .. } => Some("cannot pipeline requests in a round"),
        Load { balanced: Some(BalancedLoad { route: Route::Spread, .. }), .. } => {
            Some("cannot spread connections over several instances")
        }
        Load { http: Some(_), .. } => Some("can be used only for HTTP/1.1"),
        Load { tls: true, .. } => {
            Some("can be used only without TLS, because it does not know the certificate")
        }
        _ => None,
    }
}

impl LoadGenerator for Personality {
    fn command(&self, assignment: &Assignment) -> Vec<String> {
        let record = assignment.record.display().to_string();
        let more = ["--paceline-record", &record, "--paceline-events", &assignment.events.to_string()]
            .map(str::to_owned);
        [self.program.clone(), template::fill(&self.words, assignment), more.to_vec()].concat()
    }

    fn refuses(&self, load: &Load, case: &WorkloadCase) -> Option<String> {
        let tool = self.words.first().map_or("", String::as_str);
        if let Some(what) = refuses_case(load, case) {
            return Some(format!("{tool} {what}"));
        }
        let is_of_load = load.tool.is_some();
        let what = match load {
            Load { kind: LoopKind::Open, .. } if !is_of_load => "can be used only for closed loops",
            Load { requests: Some(_), .. } if !is_of_load => {
                "can be limited only by time, not by a number of requests"
            }
            Load { no_keep_alive: true, .. } | Load { requests_per_connection: Some(_), .. }
                if !is_of_load =>
            {
                "can be used only for loads that keep connections open"
            }
            _ => return Some(format!("{tool}: {}", self.problem(load)?)),
        };
        Some(format!("{tool} {what}"))
    }

    fn read(&self, assignment: &Assignment, finished: &GeneratorExit) -> Result<GeneratorResult, String> {
        read_record(&assignment.record, finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::assignment;

    fn program() -> Vec<String> {
        vec!["paceline".to_owned()]
    }

    #[test]
    fn the_line_of_a_load_is_carried_out_literally() {
        let line = "ab -r -k -n {requests} -c {connections}";
        let load = Load {
            requests: Some(15_000),
            duration_s: None,
            tool: Some(line.to_owned()),
            ..assignment().load
        };
        let assignment = Assignment { load, ..assignment() };
        let quoted = Personality::of_load(&program(), "ab -H 'X: {connections} c'").command(&assignment);
        assert_eq!(quoted[1..4], ["ab", "-H", "X: 64 c"]);
        assert_eq!(
            Personality::of_load(&program(), line).command(&assignment).join(" "),
            "paceline ab -r -k -n 15000 -c 64 http://127.0.0.1:20000/hello --paceline-record /tmp/run.json \
             --paceline-events 9"
        );
    }

    #[test]
    fn a_tool_of_a_round_has_its_usual_arguments() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let wrk = Personality::of_round(&program(), &words("wrk")).unwrap().unwrap();
        let line = wrk.command(&assignment()).join(" ");
        assert!(
            line.starts_with("paceline wrk -t1 -c64 -d3s --latency http://127.0.0.1:20000/hello "),
            "{line}"
        );
        assert!(Personality::of_round(&program(), &words("drill {url}")).is_none());
        let lacking = Personality::of_round(&program(), &words("wrk -c4")).unwrap().err().unwrap();
        assert!(lacking.to_string().contains("no placeholder {url}"), "{lacking}");
    }

    #[test]
    fn an_unknown_tool_is_refused_with_the_known_ones() {
        let problem = Personality::of_load(&program(), "drill -c4").problem(&assignment().load).unwrap();
        assert_eq!(problem, "`drill` is not a tool that Paceline can be: use ab, hey, siege, wrk, wrk2");
    }
}
