//! Command lines and settings as jobs.

use super::*;

/// Files by name, and a home folder.
struct Files(&'static [(&'static str, &'static str)]);

impl ToolInputs for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "No such file or directory".to_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/a".to_owned())
    }
}

fn parse(line: &str, files: &Files) -> Result<SiegeCommand, ToolOutput> {
    SiegeCommand::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), files)
}

fn headers(job: &Job) -> Vec<String> {
    job.requests[0].headers.0.iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

const NONE: Files = Files(&[]);

#[test]
fn flags_fill_a_job() {
    let job = parse("-c 100 -r 100 -b http://127.0.0.1:8080/a", &NONE).unwrap().job();
    assert_eq!((job.connections, job.window, job.think), (100, Bound::Requests(10_000), None));
    assert_eq!((job.keep_alive, job.cookies, job.timeout), (false, false, Nanos::from_secs(30)));
    assert_eq!(job.check(), Ok(()));
    let agent = format!("User-Agent: {USER_AGENT}");
    assert_eq!(headers(&job), ["Accept: */*", "Accept-Encoding: gzip, deflate", agent.as_str()]);
    let job =
        parse("-t 2M -d 3 -H A:b -H Accept:c --user-agent=me --no-follow 127.0.0.1/", &NONE).unwrap().job();
    assert_eq!((job.window, job.follow), (Bound::Duration(Nanos::from_secs(120)), 0));
    assert_eq!(job.think, Some(Think::exponential(Nanos::from_millis(1_500))));
    assert_eq!(headers(&job), ["Accept-Encoding: gzip, deflate", "User-Agent: me", "A: b", "Accept: c"]);
    let job = parse("-t10 http://a/", &NONE).unwrap().job();
    assert_eq!((job.connections, job.window), (10, Bound::Duration(Nanos::from_secs(600))));
}

#[test]
fn a_run_ends_after_its_time_or_else_its_requests() {
    let ends = |line: &str| {
        let command = parse(line, &NONE).unwrap();
        (command.job().window, command.notes.iter().any(|note| note.starts_with("-r is ignored")))
    };
    let time = Bound::Duration(Nanos::from_secs(30));
    // siege 4.0.7: "CONFIG conflict: selected time and repetition based testing", and then only the time counts.
    assert_eq!(ends("-c 5 -r 10 -t 30S http://a/"), (time, true));
    assert_eq!(ends("-c 5 -r 10 http://a/"), (Bound::Requests(50), false));
    for line in ["-t 30S http://a/", "-r once -t 30S http://a/"] {
        assert_eq!(ends(line), (time, false), "{line}");
    }
    assert_eq!(ends("-c 5 -r once http://a/"), (Bound::Requests(5), false));
}

#[test]
fn settings_are_defaults_for_flags() {
    let files = Files(&[(
        "/home/a/.siege/siege.conf",
        "json_output = true\nconcurrent = 25\nconnection = keep-alive\nheader = X: y\nlogin = u:p:realm\nparser = false\n\
         delay = 0.0\ntimeout = 5\nproxy-host = 127.0.0.1\n",
    )]);
    let command = parse("-r 2 http://127.0.0.1/", &files).unwrap();
    let job = command.job();
    assert_eq!((job.connections, job.keep_alive, command.is_json), (25, true, true));
    assert_eq!((job.cookies, job.follow, job.check()), (true, MAX_REDIRECTS, Ok(())));
    assert!(headers(&job).contains(&"Authorization: Basic dTpw".to_owned()));
    assert_eq!((headers(&job).last().map(String::as_str), job.timeout), (Some("X: y"), Nanos::from_secs(5)));
    assert_eq!(job.proxy.map(|proxy| proxy.url.port), Some(3128));
    assert!(command.notes.is_empty() && parse("-c 3 http://127.0.0.1/", &files).unwrap().users() == 3);
    assert!(parse("-R /none http://127.0.0.1/", &files).is_err());
}

#[test]
fn data_has_the_type_of_its_file() {
    let kind = |flags: &[&str], data: &str| {
        let target = format!("http://a/ POST {data}");
        let line: Vec<String> = flags.iter().chain(&[target.as_str()]).map(|&word| word.to_owned()).collect();
        let job = SiegeCommand::parse(&line, &NONE).unwrap().job();
        job.requests[0].headers.get("Content-Type").map(str::to_owned).unwrap()
    };
    let form = "application/x-www-form-urlencoded";
    for (data, expected) in [
        ("x=1", form),
        ("{\"a\": \"b.json\"}", form),
        ("< ./a.b/body.JSON", "application/json"),
        ("<body.xml", "text/xml"),
        ("<./body", form),
    ] {
        assert_eq!(kind(&[], data), expected, "{data}");
    }
    assert_eq!(kind(&["-T", "a/b"], "<body.json"), "a/b");
}

#[test]
fn files_of_text_are_trimmed() {
    let files = Files(&[("b.TXT", "\n a b\t\r\n"), ("b.json", "{}\n"), ("b", "x=1\n")]);
    let body = |data: &str| {
        let line = ["http://a/ POST ".to_owned() + data];
        SiegeCommand::parse(&line, &files).unwrap().job().requests.remove(0).body.unwrap()
    };
    let file = |name: &str| Content::File { file: name.into() };
    assert_eq!(body("<b.TXT"), Content::Text("a b".to_owned()));
    assert_eq!(body("<b"), Content::Text("x=1".to_owned()));
    assert_eq!((body("<b.json"), body("<missing.csv")), (file("b.json"), file("missing.csv")));
}

#[test]
fn fields_of_one_name_are_all_sent() {
    let job = parse("-H A:1 -H accept:x -H A:2 http://a/", &NONE).unwrap().job();
    assert_eq!(headers(&job)[2..], ["A: 1", "accept: x", "A: 2"]);
}

#[test]
fn users_of_the_settings_are_checked_as_those_of_the_flag() {
    let files = Files(&[("half", "concurrent = 0.5\n")]);
    let refused = parse("-R half http://a/", &files).unwrap_err().stderr;
    assert_eq!(refused, "paceline: siege -c 0.5: use a number above 0\n");
}

#[test]
fn a_file_of_urls_is_a_mix() {
    let files =
        Files(&[("urls", "H=http://a:81\n$(H)/one\n$(H)/two POST x=1\n"), ("two", "http://a/\nhttp://b/\n")]);
    let command = parse("-N -f urls -r once -c 4", &files).unwrap();
    assert!(command.notes[..] == [command.notes[0]] && command.notes[0].contains("drawn at random"));
    let job = command.job();
    let requests: Vec<_> =
        job.requests.iter().map(|spec| (spec.method.as_str(), spec.path.as_deref())).collect();
    assert_eq!(requests, [("GET", Some("/one")), ("POST", Some("/two"))]);
    assert_eq!((job.window, job.url.port, job.check()), (Bound::Requests(8), 81, Ok(())));
    assert!(parse("-f two", &files).unwrap_err().stderr.contains("a and b are different servers"));
    assert_eq!(parse("-f none", &files).unwrap_err().stderr, "siege: none: No such file or directory\n");
}

#[test]
fn of_several_urls_the_last_is_requested() {
    let command = parse("http://a/one -c 2 http://b/two", &NONE).unwrap();
    assert_eq!(command.job().url.to_string(), "http://b/two");
    assert!(command.notes.iter().any(|note| note.starts_with("of several URLs only the last")));
    assert!(!parse("-N http://b/two", &NONE).unwrap().notes.iter().any(|note| note.contains("URLs")));
}

#[test]
fn what_does_not_run_says_so() {
    for (line, stderr, status) in [
        ("", "SIEGE 4.0.7\n", 0),
        ("-h", "SIEGE 4.0.7\n", 0),
        ("-V", "SIEGE 4.0.7\n\nThe command line", 0),
        ("-g http://a/", "paceline: siege -g is not supported: `paceline run URL --debug`", 1),
        ("-c 0 http://a/", "paceline: siege -c 0: use a number above 0", 1),
        ("-t 5x http://a/", "paceline: siege -t 5x", 1),
        ("-z http://a/", "siege: invalid option -- 'z'", 1),
    ] {
        let output = parse(line, &NONE).unwrap_err();
        assert!(output.stderr.starts_with(stderr), "{line}: {output:?}");
        assert_eq!(output.status, status, "{line}");
    }
}

#[test]
fn the_log_has_a_name_or_the_default_one() {
    let log = |line: &str| parse(line, &NONE).unwrap().log.map(|log| log.path);
    assert_eq!(log("-c 1 http://a/"), None);
    assert_eq!(log("-l -c 1 http://a/").as_deref(), Some(LOG_FILE));
    assert_eq!(log("-bl -c 1 http://a/").as_deref(), Some(LOG_FILE));
    assert_eq!(log("-l/a/b http://a/").as_deref(), Some("/a/b"));
    assert_eq!(log("--log=/c http://a/").as_deref(), Some("/c"));
}
