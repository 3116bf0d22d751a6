//! Scripts in Lua through the whole binary: `paceline wrk -s` and `paceline run --lua`. The interface itself is tested in `crates/lua`.

use super::server::{Heard, Server};
use super::{PACELINE, ok};
use crate::faults::servers::each;
use paceline_http::h2;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
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

/// The record of a run of `paceline run --lua`, and what it said.
fn run_lua(url: &str, script: &str, flags: &[&str]) -> (Output, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("some.lua"), script).unwrap();
    let mut command = Command::new(PACELINE);
    command.current_dir(folder.path()).args(["run", url, "--lua", "some.lua", "--json"]).args(flags);
    let output = command.output().unwrap();
    let record = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, record)
}

fn counts(record: &serde_json::Value, name: &str) -> u64 {
    record["total"]["counts"][name].as_u64().unwrap_or_else(|| panic!("{record}"))
}

/// The script of docs/requests.md.
fn documented() -> &'static str {
    let document = include_str!("../../../../../docs/requests.md");
    document.split("```lua\n").nth(1).unwrap().split("```").next().unwrap()
}

/// Gives tokens, and orders to those who have one; every tenth order is another.
fn orders(heard: &Heard) -> (u16, Vec<u8>) {
    let text = String::from_utf8_lossy(&heard.bytes).into_owned();
    match heard.path.strip_prefix("/order/") {
        None if heard.method == "POST" && heard.body == b"user=ann" => (200, Vec::new()),
        Some(number) if text.contains("Authorization: Bearer t\r\n") && text.contains("X-Given: 1\r\n") => {
            let other = number.ends_with('0');
            (200, if other { b"order x".to_vec() } else { format!("order {number}").into_bytes() })
        }
        _ => (401, Vec::new()),
    }
}

#[test]
fn the_documented_script_keeps_a_token_and_checks_orders() {
    let server = Server::start_with("X-Token: t\r\n", orders);
    let url = format!("http://{}/", server.address);
    for flags in [&["-c", "3"][..], &["-c", "3", "-t", "3"], &["-c", "3", "-r", "2000"]] {
        let before = server.heard().len();
        let (output, record) =
            run_lua(&url, documented(), &[&["-n", "63", "-H", "X-Given: 1"], flags].concat());
        let heard = server.heard().split_off(before);
        let logins = heard.iter().filter(|heard| heard.path == "/login").count() as u64;
        assert_eq!((heard.len(), logins), (63, 3), "{flags:?}: {}", text(&output.stderr));
        let others = heard.iter().filter(|heard| heard.path.ends_with('0')).count() as u64;
        assert_eq!((counts(&record, "ok"), counts(&record, "bad_body")), (63 - others, others), "{flags:?}");
        let failed = serde_json::json!([{"reason": "another order", "count": others}]);
        assert_eq!(record["failed_checks"], failed, "{flags:?}");
        assert_eq!(record["bad_bodies"][0]["fault"], "another order");
        // The job has the script, so that the record repeats the run.
        assert_eq!(record["job"]["lua"], "some.lua");
    }
}

#[test]
fn a_script_without_functions_sends_the_request_of_the_flags() {
    let server = Server::start(ok);
    let url = format!("http://{}/a", server.address);
    let script = "function init(arguments) wrk.headers['X-Url'] = arguments[0] end";
    let (_, record) = run_lua(&url, script, &["-n", "5", "-c", "1", "--body", "b", "--expect-body", "b"]);
    assert_eq!(counts(&record, "ok"), 5);
    let heard = server.heard();
    let all = String::from_utf8_lossy(&heard[0].bytes).into_owned();
    assert_eq!(
        (heard[0].method.as_str(), heard[0].path.as_str(), heard[0].body.as_slice()),
        ("POST", "/a", &b"b"[..])
    );
    assert!(all.contains(&format!("X-Url: {url}\r\n")) && all.contains("User-Agent: paceline/"), "{all}");
}

#[test]
fn the_load_of_a_profile_is_that_of_the_script() {
    let server = Server::start(ok);
    let url = format!("http://{}/of-the-flags", server.address);
    let script = "function request(conn) return { path = '/of-the-script' } end";
    // A load that changes keeps its window, which is short.
    let flags = ["-c", "1", "-r", "20:60", "-d", "500ms", "--warmup", "0", "--profile=flame.svg"];
    let (output, record) = run_lua(&url, script, &flags);
    let heard = server.heard();
    let said = text(&output.stderr);
    assert!(heard.len() as u64 > counts(&record, "scheduled"), "{}{said}", record["profile_failure"]);
    assert!(heard.iter().all(|heard| heard.path == "/of-the-script"), "{said}");
}

/// Answers requests of HTTP/2 with their paths, those of one read in reverse order.
fn echo_http2(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut reader, mut received, mut buffer) = (h2::FrameReader::default(), Vec::new(), [0; 16384]);
    let (mut decoder, mut scratch) = (h2::HpackDecoder::default(), h2::HpackScratch::default());
    let mut out = Vec::new();
    h2::write_settings(&mut out, &[]);
    stream.write_all(&out)?;
    let mut preface = h2::CLIENT_PREFACE.len();
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => received.extend_from_slice(&buffer[..count]),
        }
        let skipped = preface.min(received.len());
        preface -= skipped;
        received.drain(..skipped);
        let (mut out, mut asked) = (Vec::new(), Vec::new());
        while let Ok((event, taken)) = reader.next(&received)
            && taken > 0
        {
            match event {
                h2::FrameEvent::Settings(_) => h2::write_settings_ack(&mut out),
                h2::FrameEvent::FieldBlock { stream, block, .. } => {
                    let mut path = Vec::new();
                    let field = |field: h2::DecodedField<'_>| {
                        if field.name == b":path" {
                            path = field.value.to_vec();
                        }
                    };
                    decoder.decode(block, &mut scratch, field).unwrap();
                    asked.push((stream, path));
                }
                _ => {}
            }
            received.drain(..taken);
        }
        for (stream, path) in asked.into_iter().rev() {
            h2::write_field_block(&mut out, stream, &[0x88], false);
            h2::write_data(&mut out, stream, &path, true);
        }
        stream.write_all(&out)?;
    }
}

#[test]
fn over_http2_each_stream_has_its_own_table() {
    let address = each(|stream| _ = echo_http2(stream));
    let script = "
        users = 0
        function request(conn)
            if not conn.name then users = users + 1; conn.name, conn.made = users, 0 end
            conn.made = conn.made + 1
            return { path = '/' .. conn.name .. '/' .. conn.made, headers = { Connection = 'close' } }
        end
        function response(conn, status, headers, body)
            return body == '/' .. conn.name .. '/' .. conn.made, 'of another'
        end";
    for flags in [&["-c", "2", "--streams", "5"][..], &["-c", "2", "--streams", "5", "-r", "3000"]] {
        let flags = [&["--http", "2", "-n", "200"], flags].concat();
        let (output, record) = run_lua(&format!("http://{address}/"), script, &flags);
        let said = text(&output.stderr);
        assert_eq!(
            (counts(&record, "ok"), &record["failed_checks"]),
            (200, &serde_json::Value::Null),
            "{said}"
        );
    }
}

#[test]
fn a_script_that_fails_ends_the_run_with_file_and_line() {
    let server = Server::start(ok);
    let url = format!("http://{}/", server.address);
    let failing =
        "n = 0\nfunction request(conn)\n n = n + 1\n if n > 50 then error('boom') end\n return {}\nend";
    let (output, record) = run_lua(&url, failing, &["-c", "1", "-d", "5s", "--warmup", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("some.lua:4: boom"), "{}", text(&output.stderr));
    assert_eq!((counts(&record, "ok"), server.heard().len()), (50, 50));
    let endless = "n = 0\nfunction request(conn)\n n = n + 1\n while n > 20 do end\n return {}\nend";
    let (output, record) = run_lua(&url, endless, &["-c", "1", "-d", "500ms", "--warmup", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("some.lua:4: the run is over"), "{}", text(&output.stderr));
    assert!((19..=20).contains(&counts(&record, "ok")), "{record}");
    for (script, said) in [
        ("function request() return end end", "some.lua:1: "),
        ("function delay() return 1 end", "some.lua: delay() is not called: use --think"),
        (
            "function request() return wrk.format() .. wrk.format() end",
            "returns 2 requests at once: return one",
        ),
        ("function request() return nil end", "some.lua: request() returned nil instead of a string"),
        ("function request() return 'nonsense' end", "some.lua: request(): incomplete request"),
    ] {
        let (output, _) = run_lua(&url, script, &["-c", "1", "-n", "5"]);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{script}");
        assert!(text(&output.stderr).contains(said), "{script}: {}", text(&output.stderr));
    }
}
