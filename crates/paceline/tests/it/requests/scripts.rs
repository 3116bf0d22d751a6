//! Scripts of wrk through the whole binary: `paceline wrk -s`. The interface itself is tested in `crates/lua`.

use super::server::{Heard, Server};
use super::{PACELINE, ok};
use std::process::{Command, Output};

/// Runs a script for a second.
fn wrk(server: &Server, script: &str, flags: &[&str], after: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("some.lua"), script).unwrap();
    let url = format!("http://{}/", server.address);
    let mut command = Command::new(PACELINE);
    command.current_dir(folder.path()).args(flags).args(["-d", "1", "-s", "some.lua", &url]).args(after);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number before a word of a report.
fn number_before(report: &str, words: &str) -> u64 {
    let before = report.split(words).next().unwrap();
    before.split_whitespace().next_back().unwrap().parse().unwrap_or_else(|_| panic!("{report}"))
}

/// Answers with the path.
fn echo(heard: &Heard) -> (u16, Vec<u8>) {
    (200, heard.path.clone().into_bytes())
}

#[test]
fn a_script_makes_requests_and_reads_responses() {
    let server = Server::start(echo);
    let script = "
        local threads = {}
        function setup(thread) table.insert(threads, thread) end
        function init(args) made, seen, wrong, name = 0, 0, 0, args[1] end
        function request() made = made + 1; return wrk.format('GET', '/' .. name .. made) end
        function response(status, headers, body)
            seen = seen + 1
            if status ~= 200 or headers['Content-Length'] ~= tostring(#body) then wrong = wrong + 1 end
        end
        function done(summary, latency, requests)
            local seen, wrong = 0, 0
            for _, thread in ipairs(threads) do
                seen, wrong = seen + thread:get('seen'), wrong + thread:get('wrong')
            end
            print('done', summary.requests, seen, wrong, latency.max > 0, summary.errors.status)
        end";
    let output = wrk(&server, script, &["wrk", "-t2", "-c4"], &["--", "name"]);
    let report = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}{}", text(&output.stderr));
    let requests = number_before(&report, " requests in 1.0");
    let (_, done) = report.split_once("\ndone\t").expect("done() prints after the report");
    let words: Vec<&str> = done.split_whitespace().collect();
    let seen: u64 = words[1].parse().unwrap();
    assert_eq!((words[0].parse().unwrap(), &words[2..]), (requests, &["0", "true", "0"][..]));
    // Responses in the drain are read too.
    assert!(seen >= requests && seen <= requests + 4, "{seen} of {requests}");
    let heard = server.heard();
    assert_eq!(heard.len() as u64, seen);
    assert!(heard.iter().all(|heard| heard.path.starts_with("/name")));
    assert_eq!(
        heard.iter().filter(|heard| heard.path == "/name1").count(),
        1,
        "the first thread made one before"
    );
}

#[test]
fn a_failing_script_ends_the_run_with_its_counts() {
    let server = Server::start(ok);
    let script =
        "n = 0\nfunction request()\n n = n + 1\n if n > 50 then error('boom') end\n return wrk.format()\nend";
    let output = wrk(&server, script, &["wrk", "-t1", "-c1"], &[]);
    let (report, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{report}{errors}");
    assert!(errors.starts_with("some.lua:4: boom\n"), "{errors}");
    // The first of the 50 is made before the run.
    assert_eq!((number_before(&report, " requests in "), server.heard().len()), (49, 49), "{report}");
    let output = wrk(&server, "function init() no() end", &["wrk"], &[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()));
    assert!(text(&output.stderr).starts_with("some.lua:1: attempt to call global 'no'"));
}

#[test]
fn a_script_that_never_returns_ends_with_the_run() {
    let server = Server::start(ok);
    let script = "n = 0\nfunction request()\n n = n + 1\n while n > 20 do end\n return wrk.format()\nend";
    let output = wrk(&server, script, &["wrk", "-t1", "-c2"], &[]);
    let (report, errors) = (text(&output.stdout), text(&output.stderr));
    // The response to the last request comes when the call has ended, which may be after the window.
    let counted = number_before(&report, " requests in ");
    assert!(output.status.code() == Some(1) && (18..=19).contains(&counted), "{report}{errors}");
    assert!(
        errors.starts_with("some.lua:4: the run is over, and the script was still running\n"),
        "{errors}"
    );
}

#[test]
fn several_requests_of_one_string_leave_together() {
    let server = Server::start(ok);
    let script = "function init()
            all = wrk.format('GET', '/1') .. wrk.format('POST', '/2', nil, 'ab') .. wrk.format('GET', '/3')
        end
        function request() return all end";
    let output = wrk(&server, script, &["wrk", "-t1", "-c1"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let heard = server.heard();
    assert!(heard.len() > 30 && heard.len().is_multiple_of(3), "{}", heard.len());
    for three in heard.chunks(3) {
        let paths: Vec<_> = three.iter().map(|heard| heard.path.as_str()).collect();
        assert_eq!((paths, three[1].body.as_slice()), (vec!["/1", "/2", "/3"], b"ab".as_slice()));
    }
}

#[test]
fn pauses_and_stops_are_those_of_the_script() {
    let server = Server::start(ok);
    let output = wrk(&server, "function delay() return 200 end", &["wrk", "-t1", "-c2"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let heard = server.heard().len();
    assert!(
        (1..=10).contains(&heard),
        "{heard} requests with pauses of 200 ms on two connections in a second"
    );
    let script = "n = 0\nfunction response() n = n + 1\n if n == 7 then wrk.thread:stop() end end";
    let server = Server::start(ok);
    let output = wrk(&server, script, &["wrk", "-t1", "-c1"], &[]);
    let report = text(&output.stdout);
    assert_eq!((number_before(&report, " requests in 1.0"), server.heard().len()), (7, 7), "{report}");
}

#[test]
fn wrk2_sends_a_scripts_requests_when_they_are_due() {
    let server = Server::start(ok);
    let script = "n = 0\nfunction request() n = n + 1; return wrk.format('GET', '/' .. n) end";
    let output = wrk(&server, script, &["wrk2", "-t1", "-c2", "-R", "100"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut paths: Vec<_> =
        server.heard().iter().map(|heard| heard.path[1..].parse::<u64>().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, (2..=101).collect::<Vec<_>>());
}
