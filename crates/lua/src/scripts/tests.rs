//! Each part of wrk's interface, called as the engine and the binary call it. The facts are those of wrk 4.1.0 and of
//! wrk2 4.0.0, found by running them.

use super::*;
use paceline_engine::script::{RequestScript, ScriptedResponse};
use paceline_engine::{Job, Nanos, StopFlag};
use paceline_peers::{SampleValues, ScriptErrors};
use std::net::TcpListener;

fn call(listener: &TcpListener, headers: &[(&str, &str)], is_wrk2: bool) -> ScriptCall {
    let port = listener.local_addr().unwrap().port();
    ScriptCall {
        file: "some.lua".to_owned(),
        arguments: [format!("http://127.0.0.1:{port}/a?b"), "one".to_owned(), "two".to_owned()].to_vec(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        scheme: "http".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: Some(port.to_string()),
        path: "/a?b".to_owned(),
        method: None,
        body: None,
        is_wrk2,
        has_connections: false,
    }
}

fn watch() -> Arc<RunWatch> {
    RunWatch::start(Box::leak(Box::new(StopFlag::new())), Nanos::from_secs(3600)).unwrap()
}

struct Loaded {
    scripts: LuaScripts,
    settings: Settings,
    programs: Vec<Box<dyn RequestScript>>,
    host: String,
}

fn load_call(call: ScriptCall, source: &str, threads: u32) -> Result<Loaded, ScriptError> {
    let host = format!("127.0.0.1:{}", call.port.clone().unwrap());
    let scripts = LuaScripts::load(call, source.as_bytes(), threads, watch())?;
    let address: std::net::SocketAddr = host.parse().unwrap();
    let requests = Arc::new(Requests::fixed("GET", Method::Other, Default::default()));
    let mut settings = Settings::new(Job::default(), address, requests);
    scripts.apply_to(&mut settings)?;
    let fixed = scripts.fixed_requests()?;
    let programs = scripts.programs(fixed);
    Ok(Loaded { scripts, settings, programs, host })
}

fn load(source: &str, threads: u32) -> Result<Loaded, ScriptError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    load_call(call(&listener, &[], false), source, threads)
}

fn error(source: &str) -> String {
    load(source, 1).err().map(|error| error.to_string()).unwrap_or_default()
}

impl Loaded {
    fn request(&mut self, thread: usize) -> String {
        let mut bytes = Vec::new();
        self.programs[thread].request(0, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn respond(&mut self, status: u16, head: &[u8], body: &[u8]) {
        let response = ScriptedResponse { status, head, body, is_windows: true };
        assert_eq!(self.programs[0].response(0, &response), None);
    }

    fn failure(&self) -> String {
        self.scripts.watch.failure().unwrap_or_default()
    }

    /// A global of a thread's state.
    fn global(&self, thread: usize, name: &str) -> String {
        let value: mlua::Value = self.scripts.threads[thread].state.lua.globals().get(name).unwrap();
        value.to_string().unwrap()
    }
}

#[test]
fn a_script_without_request_is_not_called_in_the_run() {
    let mut loaded = load("wrk.method = 'POST'; wrk.body = 'abc'; wrk.headers['X-A'] = 5", 2).unwrap();
    let request = loaded.request(0);
    assert!(loaded.settings.scripts.is_none());
    assert_eq!(loaded.settings.requests.as_fixed(), Some(request.as_bytes()));
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!((lines.remove(0), body), ("POST /a?b HTTP/1.1", "abc"));
    lines.sort_unstable();
    assert_eq!(lines, ["Content-Length: 3", &format!("Host: {}", loaded.host), "X-A: 5"]);
}

#[test]
fn headers_of_the_command_line_are_in_the_table() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let call = call(&listener, &[("Host", "other"), ("X-A", "1")], false);
    let mut loaded =
        load_call(call, "wrk.headers['X-A'] = wrk.headers['X-A'] .. '2'; wrk.path = '/c'", 1).unwrap();
    let request = loaded.request(0);
    assert!(request.starts_with("GET /c HTTP/1.1\r\n") && request.contains("\r\nX-A: 12\r\n"), "{request}");
    assert!(request.contains("\r\nHost: other\r\n"), "{request}");
}

#[test]
fn headers_of_a_table_replace_those_of_the_command_line_in_any_case() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let headers = [("Content-Type", "text/plain"), ("X-A", "1")];
    let call = ScriptCall { has_connections: true, ..call(&listener, &headers, false) };
    let source = "function request(conn)
            return { body = 'ab', headers = { ['content-type'] = 'a/b', host = 'other', ['content-length'] = 9 } }
         end";
    let request = load_call(call, source, 1).unwrap().request(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["Content-Length: 2", "Host: other", "X-A: 1", "content-type: a/b"]);
    assert_eq!(body, "ab");
}

#[test]
fn request_is_called_for_each_request_and_once_before() {
    let source = "local n = 0; function request() n = n + 1; return wrk.format(nil, '/' .. n) end";
    let mut loaded = load(source, 2).unwrap();
    assert!(loaded.settings.scripts.is_some());
    let paths: Vec<_> = [0, 0, 1, 1].map(|thread| loaded.request(thread)).to_vec();
    let paths: Vec<_> = paths.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
    assert_eq!(paths, ["/2", "/3", "/1", "/2"], "the first thread made one before the run");
}

#[test]
fn threads_are_set_up_and_read() {
    let source = "
        local threads = {}
        function setup(thread)
            table.insert(threads, thread)
            thread:set('id', #threads)
            thread:set('list', { 'a', b = { 2 } })
        end
        function init(args)
            requests = 0
            wrk.path = '/' .. id .. args[0]:match('%?.*') .. args[1] .. args[2] .. list[1] .. list.b[1]
        end
        function request() requests = requests + 1; return wrk.request() end
        function done()
            counts = {}
            for i, thread in ipairs(threads) do counts[i] = thread:get('id') .. ':' .. thread:get('requests') end
            text = table.concat(counts, ' ')
        end";
    let mut loaded = load(source, 3).unwrap();
    assert!(loaded.request(2).starts_with("GET /3?bonetwoa2 HTTP/1.1\r\n"));
    assert!(loaded.request(0).starts_with("GET /1?bonetwoa2 HTTP/1.1\r\n"));
    loaded.scripts.done(&ScriptResults::default()).unwrap();
    let text: String = loaded.scripts.main.lua.globals().get("text").unwrap();
    assert_eq!(text, "1:2 2:0 3:1");
}

#[test]
fn only_plain_values_are_transferred() {
    let wrong = error("function setup(thread) thread:set('f', print) end");
    assert_eq!(wrong, "some.lua:1: cannot transfer 'function' to thread");
    assert!(
        error("function setup(t)\n local a = {}; a.a = a; t:set('a', a)\nend").starts_with("some.lua:2: ")
    );
    assert_eq!(error("function setup(t) t.name = 5 end"), "some.lua:1: cannot set 'number' on thread");
}

#[test]
fn addresses_are_looked_up_tried_and_set_for_a_thread() {
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let source = format!(
        "function setup(thread)
            n = (n or 0) + 1
            local found = wrk.lookup('127.0.0.1', '{port}')
            text = tostring(found[1]) .. tostring(wrk.connect(found[1])) .. #found
            if n == 2 then thread.addr = found[1] end
         end
         function init() shown = tostring(wrk.thread.addr) end"
    );
    let loaded = load(&source, 2).unwrap();
    let text: String = loaded.scripts.main.lua.globals().get("text").unwrap();
    assert_eq!(text, format!("127.0.0.1:{port}true1"));
    assert_eq!(
        [loaded.global(0, "shown"), loaded.global(1, "shown")],
        [loaded.host.clone(), format!("127.0.0.1:{port}")]
    );
    let addresses =
        loaded.settings.thread_addresses.iter().map(|address| address.as_ref().map(ToString::to_string));
    assert_eq!(addresses.collect::<Vec<_>>(), [None, Some(format!("127.0.0.1:{port}"))]);
    assert!(
        error("wrk.lookup('name.invalid', 'http')")
            .starts_with("some.lua:1: unable to resolve name.invalid:http")
    );
}

#[test]
fn responses_have_fields_as_sent_and_a_body() {
    let source = "function response(status, headers, body)
            text = status .. headers['X-Token'] .. tostring(headers['x-token']) .. body
            wrk.headers['X-Token'] = headers['X-Token']
         end
         function request() return wrk.format('GET', '/') end";
    let mut loaded = load(source, 1).unwrap();
    assert!(loaded.settings.scripts.is_some());
    loaded.respond(201, b"HTTP/1.1 201 Created\r\nX-Token: a\r\nX-Token: b\r\n\r\n", b"body");
    assert_eq!(loaded.global(0, "text"), "201bnilbody");
    assert!(loaded.request(0).contains("\r\nX-Token: b\r\n"));
}

#[test]
fn pauses_are_whole_milliseconds() {
    let mut loaded = load("function delay() return 12.9 end", 1).unwrap();
    assert!(loaded.settings.scripts.is_some());
    assert_eq!(loaded.programs[0].delay(), Nanos::from_millis(12));
    assert_eq!(load("function delay() return -1 end", 1).unwrap().programs[0].delay(), Nanos::ZERO);
}

#[test]
fn one_string_may_have_several_requests() {
    let source = "function init(args)
            all = wrk.format(nil, '/1') .. wrk.format('POST', '/2', {}, 'ab') .. wrk.format(nil, '/3')
         end
         function request() return all end";
    let mut loaded = load(source, 1).unwrap();
    assert_eq!((loaded.settings.job.depth, loaded.settings.job.batch), (3, true));
    assert_eq!(loaded.request(0).matches("HTTP/1.1\r\n").count(), 3);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let scripts = LuaScripts::load(call(&listener, &[], true), source.as_bytes(), 1, watch()).unwrap();
    let mut settings = loaded.settings.clone().with(|job| job.load = open());
    let refused = scripts.apply_to(&mut settings).unwrap_err().to_string();
    assert!(refused.starts_with("some.lua: request() returns 3 requests at once"), "{refused}");
}

fn open() -> paceline_engine::LoadModel {
    let rate = paceline_engine::Rate::per_second(5.0).unwrap();
    paceline_engine::LoadModel::Open {
        shape: paceline_engine::Shape::Steady { rate },
        arrivals: paceline_engine::Arrivals::Constant,
    }
}

#[test]
fn a_thread_can_stop() {
    let mut loaded = load("function response() wrk.thread:stop() end", 2).unwrap();
    loaded.respond(200, b"HTTP/1.1 200 OK\r\n\r\n", b"");
    assert_eq!([loaded.programs[0].has_stopped(), loaded.programs[1].has_stopped()], [true, false]);
}

#[test]
fn errors_name_file_and_line() {
    for (source, expected) in [
        ("local = 5", "some.lua:1: '<name>' expected near '='"),
        ("\n\nerror('boom')", "some.lua:3: boom"),
        ("function init() nothing() end", "some.lua:1: attempt to call global 'nothing' (a nil value)"),
        ("function request() return {} end", "some.lua: request() returned table instead of a string"),
        ("function request() return 'GET /\\r\\n\\r\\n' end", "invalid HTTP version at 1:6"),
        ("function request()\n\n return nil .. 'a' end", "some.lua:3: attempt to concatenate a nil value"),
    ] {
        assert_eq!(error(source), expected, "{source}");
    }
    let mut loaded =
        load("n = 0; function request() n = n + 1\n if n > 1 then error({}) end return wrk.format() end", 1)
            .unwrap();
    assert_eq!(loaded.request(0), "");
    assert!(!loaded.failure().is_empty() && loaded.programs[0].has_stopped());
    let mut loaded = load("function response(s, h)\n return h.a.b end", 1).unwrap();
    loaded.respond(200, b"HTTP/1.1 200 OK\r\n\r\n", b"");
    assert_eq!(loaded.failure(), "some.lua:2: attempt to index field 'a' (a nil value)");
}

#[test]
fn results_are_those_of_wrk() {
    let source = "function done(summary, latency, requests)
            local e = summary.errors
            text = table.concat({ summary.duration, summary.requests, summary.bytes, e.connect, e.read, e.write, e.status,
                e.timeout, latency.min, latency.max, latency.mean, latency:percentile(50), latency:percentile(99.9), #latency,
                latency.other, requests.max }, ' ')
            local value, count = latency(2)
            second = value .. 'x' .. count
            deviation = latency.stdev
        end";
    let loaded = load(source, 1).unwrap();
    let results = ScriptResults {
        duration_us: 1_000_000,
        requests: 10,
        bytes: 20,
        errors: ScriptErrors { connect: 1, read: 2, write: 3, status: 4, timeout: 5 },
        latency_us: SampleValues::from_counted(vec![(100, 6), (300, 4)]),
        rates: SampleValues::from_counted(vec![(7, 1)]),
    };
    loaded.scripts.done(&results).unwrap();
    let get = |name: &str| loaded.scripts.main.lua.globals().get::<String>(name).unwrap();
    assert_eq!(get("text"), "1000000 10 20 1 2 3 4 5 100 300 180 100 300 2 other 7");
    assert_eq!(get("second"), "300x4");
    assert_eq!(
        load("function done() error('late') end", 1).unwrap().scripts.done(&results).unwrap_err().to_string(),
        "some.lua:1: late"
    );
}

#[test]
fn wrk2_reads_values_by_rank_and_has_no_pause() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let source = "function delay() return 5 end
        function done(summary, latency) text = latency[1] .. ' ' .. latency[10] .. ' ' .. #latency end
        since = wrk.time_us()";
    let loaded = load_call(call(&listener, &[], true), source, 1).unwrap();
    assert!(loaded.settings.scripts.is_none(), "wrk2 has no delay()");
    let latency_us = SampleValues::from_counted(vec![(100, 6), (300, 4)]);
    loaded.scripts.done(&ScriptResults { latency_us, ..ScriptResults::default() }).unwrap();
    let text: String = loaded.scripts.main.lua.globals().get("text").unwrap();
    assert_eq!(text, "100 300 10");
    assert!(loaded.global(0, "since").parse::<f64>().unwrap() > 1e15);
}

#[test]
fn a_call_that_does_not_return_is_ended() {
    let stop: &'static StopFlag = Box::leak(Box::new(StopFlag::new()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    for body in
        ["while true do end", "local n = 0; while true do n = n + 1; if n % 3 == 0 then pcall(error) end end"]
    {
        let watch = RunWatch::start(stop, Nanos::ZERO).unwrap();
        let source =
            format!("n = 0\nfunction request() n = n + 1; if n > 1 then\n{body} end return wrk.format() end");
        let scripts =
            LuaScripts::load(call(&listener, &[], false), source.as_bytes(), 1, Arc::clone(&watch)).unwrap();
        let mut programs = scripts.programs(None);
        assert!(programs[0].request(0, &mut Vec::new()).is_none());
        let failure = watch.failure().unwrap();
        assert_eq!(failure, "some.lua:3: the run is over, and the script was still running");
    }
}

#[test]
fn done_may_take_longer_than_a_call_of_the_run() {
    let stop: &'static StopFlag = Box::leak(Box::new(StopFlag::new()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let watch = RunWatch::start(stop, Nanos::ZERO).unwrap();
    // A call of the run would be ended after a second and two looks, each 100 ms after the other.
    let source = b"function done() local since = os.clock(); while os.clock() - since < 1.6 do end end";
    let scripts = LuaScripts::load(call(&listener, &[], false), source, 1, Arc::clone(&watch)).unwrap();
    watch.begin();
    scripts.done(&ScriptResults::default()).unwrap();
}

#[test]
fn an_empty_request_stops_the_run() {
    let source = "n = 0; function request() n = n + 1; return n > 1 and '' or wrk.format() end";
    let mut loaded = load(source, 1).unwrap();
    assert_eq!(loaded.request(0), "");
    assert_eq!(loaded.failure(), "some.lua: request() returned an empty string instead of a request");
    assert!(loaded.programs[0].has_stopped());
}

#[test]
fn the_libraries_of_lua_are_there() {
    let source = "#!/usr/bin/env wrk\nlocal ffi = require('ffi'); local bit = require('bit'); assert(require('wrk') == wrk)
        assert(require('socket').gettime() > 1.7e9)
        wrk.body = string.format('%d %s', bit.bor(1, 6), ffi.abi('le') and debug.getinfo(1).short_src)";
    let mut loaded = load(source, 1).unwrap();
    assert!(loaded.request(0).ends_with("\r\n\r\n7 some.lua"));
}
