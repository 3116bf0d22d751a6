//! Tests of each importer on a real report of its kind, and on damaged and mutated reports.
//!
//! All reports are real: ab 2.3, wrk 4.1.0, siege 4.0.7, hey 0.1.4, oha 1.16, k6 1.8.1, vegeta 12.13.0, wrk2 4.0.0,
//! wrk2 and ab as sources 002 and 000 print them, TechEmpower, HttpArena.

use super::*;
use paceline_record::{Imported, LoopKind};
use proptest::prelude::*;

/// Reports as the tools print them, by format name.
const REPORTS: [(&str, &str); 16] = [
    ("ab", include_str!("../fixtures/ab.txt")),
    ("ab", include_str!("../fixtures/ab-keep-alive-2013.txt")),
    ("wrk", include_str!("../fixtures/wrk.txt")),
    ("wrk2", include_str!("../fixtures/wrk2.txt")),
    ("wrk2", include_str!("../fixtures/wrk2-rate.txt")),
    ("siege", include_str!("../fixtures/siege.txt")),
    ("siege", include_str!("../fixtures/siege.json")),
    ("hey", include_str!("../fixtures/hey.txt")),
    ("k6", include_str!("../fixtures/k6.json")),
    ("k6", include_str!("../fixtures/k6-handle-summary.json")),
    ("vegeta", include_str!("../fixtures/vegeta.json")),
    ("oha", include_str!("../fixtures/oha.json")),
    ("techempower", include_str!("../fixtures/techempower.json")),
    ("techempower", include_str!("../fixtures/techempower-2013.json")),
    ("httparena", include_str!("../fixtures/httparena-server.json")),
    ("httparena", include_str!("../fixtures/httparena-profile.json")),
];

#[test]
fn a_cut_json_report_is_named_as_such() {
    let (_, whole) = REPORTS[8];
    let error = read("k6.json", &whole[..whole.len() / 2]).unwrap_err();
    assert_eq!(error.to_string(), "k6.json: invalid JSON; the file may be cut off");
}

fn imported(name: &str) -> (Round, Vec<Trial>) {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    read(name, &std::fs::read_to_string(path).unwrap()).unwrap()
}

fn origin(trial: &Trial) -> &Imported {
    trial.imported.as_ref().unwrap()
}

/// An imported time in milliseconds.
fn ms(trial: &Trial, name: &str) -> f64 {
    origin(trial).times_ns[name] as f64 / 1e6
}

/// Good responses, bad responses, connection failures, and requests per second.
fn sums(trial: &Trial) -> (u64, u64, u64, f64) {
    let run = trial.run.as_ref().unwrap();
    let counts = run.total.counts;
    (counts.ok, counts.bad_status, counts.io_failed, run.rate_per_s.achieved)
}

#[test]
fn every_report_is_recognised_and_its_outcomes_add_up() {
    for (format, text) in REPORTS {
        let (round, trials) = read("report.txt", text).unwrap();
        assert_eq!(round.planned as usize, trials.len(), "{format}");
        assert!(round.changes[0].starts_with("imported from report.txt ("), "{:?}", round.changes);
        for trial in &trials {
            assert_eq!((origin(trial).format.as_str(), &trial.round), (format, &round.id));
            let counts = trial.run.as_ref().unwrap().total.counts;
            assert_eq!(counts.scheduled, counts.ended(), "{format}");
            assert!(trial.is_usable(), "{format}: {trial:?}");
        }
        // Importing the same file again gives the same round.
        assert_eq!(read("report.txt", text).unwrap(), (round, trials));
    }
}

#[test]
fn ab_with_failures_and_two_reports_in_one_file() {
    let (_, trials) = imported("ab-keep-alive-2013.txt");
    assert_eq!(trials.len(), 2);
    let run = trials[0].run.as_ref().unwrap();
    let counts = run.total.counts;
    assert_eq!((counts.ok, counts.connect_failed, counts.io_failed, counts.bad_body), (99_990, 5, 5, 0));
    // Ten of the requests in the printed rate have no response.
    assert_eq!(
        (run.rate_per_s.achieved, run.window_s, run.total.bytes.received),
        (15_563.8 * 0.9999, 6.425, 11_599_420)
    );
    assert_eq!((ms(&trials[0], "p50"), ms(&trials[0], "p99"), ms(&trials[0], "max")), (5.0, 27.0, 157.0));
    assert_eq!(origin(&trials[0]).figures["kept_alive_requests"], 99_995.0);
    assert!(origin(&trials[0]).place.starts_with("ab-keep-alive-2013.txt, lines 1 to "));
    assert_eq!((trials[1].load.connections, trials[1].load.requests), (100, Some(100_000)));
    assert_eq!(sums(&trials[1]), (100_000, 0, 0, 25_422.96));
    let (_, trials) = imported("ab.txt");
    assert_eq!((sums(&trials[0]), trials[0].server.versions.as_str()), ((300, 0, 0, 621.72), "BaseHTTP/0.6"));
}

#[test]
fn wrk_and_wrk2() {
    let (_, trials) = imported("wrk.txt");
    let wrk = &trials[0];
    assert_eq!((sums(wrk), wrk.load.connections), ((160, 0, 0, 76.49), 4));
    assert_eq!(
        (ms(wrk, "mean"), ms(wrk, "p50"), ms(wrk, "p90"), ms(wrk, "p99")),
        (51.42, 48.13, 63.97, 80.02)
    );
    let (_, trials) = imported("wrk2.txt");
    let wrk2 = &trials[0];
    assert_eq!((sums(wrk2), wrk2.load.connections), ((730_491, 0, 526, 12_175.28), 10_000));
    assert_eq!((ms(wrk2, "p50"), ms(wrk2, "p99_9"), ms(wrk2, "max")), (8_200.0, 54_000.0, 57_000.0));
    let (_, trials) = imported("wrk2-rate.txt");
    assert_eq!((sums(&trials[0]), ms(&trials[0], "p99_9")), ((2_343, 47, 0, 199.11), 151.04));
    assert_eq!(origin(wrk2).figures["late_answers"], 12.0);
    assert_eq!(wrk2.run.as_ref().unwrap().window_s, 60.0);
    // wrk2 always offers a rate, which its report does not contain: its times are response times.
    let kinds = |trial: &Trial| (trial.load.kind, trial.run.as_ref().unwrap().loop_.kind);
    assert_eq!(kinds(wrk), (LoopKind::Closed, LoopKind::Closed));
    for trial in [wrk2, &trials[0]] {
        assert_eq!(kinds(trial), (LoopKind::Open, LoopKind::Open));
        assert_eq!((trial.load.rate_per_s, trial.run.as_ref().unwrap().rate_per_s.offered), (None, None));
    }
    assert_eq!(wrk2.load.name, "open-10000");
}

#[test]
fn siege_in_both_forms_and_hey() {
    for name in ["siege.txt", "siege.json"] {
        let (_, trials) = imported(name);
        assert_eq!((sums(&trials[0]).0, ms(&trials[0], "mean")), (60, 10.0), "{name}");
    }
    let (_, trials) = imported("hey.txt");
    assert_eq!(sums(&trials[0]), (200, 0, 0, 78.4138));
    assert_eq!((ms(&trials[0], "p50"), ms(&trials[0], "p99"), ms(&trials[0], "max")), (50.2, 73.8, 73.9));
}

#[test]
fn summaries_in_json() {
    for (name, sum, p50, p95) in [
        ("k6.json", (980, 20, 0, 828.4836976868488), 2.841_171, 19.676_48),
        ("k6-handle-summary.json", (2940, 60, 0, 1000.7023743167553), 2.894825, 7.954319),
    ] {
        let (_, trials) = imported(name);
        assert_eq!((sums(&trials[0]), trials[0].load.connections), (sum, 4), "{name}");
        assert_eq!((ms(&trials[0], "p50"), ms(&trials[0], "p95")), (p50, p95), "{name}");
    }
    let (round, trials) = imported("vegeta.json");
    assert_eq!(
        (sums(&trials[0]), trials[0].load.rate_per_s),
        ((149, 1, 50, 75.52536892504226), Some(101.4230933876338))
    );
    assert_eq!(ms(&trials[0], "p99"), 60.225_972);
    assert_eq!(round.started_at, "2026-11-22T18:09:05.857768703Z");
    let (_, trials) = imported("oha.json");
    // A request that the end of the run cut off is not a failure of the server.
    assert_eq!(sums(&trials[0]), (68, 16, 2, 87.853_753_809_452_33));
    assert!(!origin(&trials[0]).times_ns.contains_key("p99_9"), "null is no figure");
}

#[test]
fn boards() {
    let (round, trials) = imported("techempower.json");
    assert_eq!(round.started_at, "2022-11-13T21:12:05.000Z");
    let plaintext = trials.iter().find(|trial| trial.workload == "plaintext").unwrap();
    assert_eq!((plaintext.load.connections, plaintext.load.depth), (256, 16));
    assert_eq!(plaintext.run.as_ref().unwrap().rate_per_s.achieved, 385_172.0 / 15.0);
    assert_eq!((plaintext.server.id.as_str(), plaintext.server.language.as_str()), ("crax", "python"));
    assert_eq!(origin(plaintext).place, "techempower.json, rawData.plaintext.crax[0]");
    let (_, trials) = imported("techempower-2013.json");
    assert_eq!(trials.len(), 8);
    let query = trials.iter().find(|trial| trial.workload == "query/5").unwrap();
    assert_eq!((query.load.connections, sums(query).2), (256, 138));
    assert_eq!(origin(query).figures["late_answers"], 309.0);

    let (_, trials) = imported("httparena-server.json");
    let pipelined = trials.iter().find(|trial| trial.workload == "pipelined").unwrap();
    assert_eq!((sums(pipelined), pipelined.load.depth), ((24_693_016, 0, 0, 4_938_603.0), 16));
    assert_eq!(origin(pipelined).figures["server_rss_bytes"], 69.0 * 1024.0 * 1024.0);
    let (_, trials) = imported("httparena-profile.json");
    assert_eq!((trials[1].server.id.as_str(), sums(&trials[1])), ("sark", (17_411, 12_310, 0, 3454.0)));
}

#[test]
fn published_figures_have_their_source() {
    let text = "name = \"s\"\nstarted_at = \"2013-06-11T00:00:00.000Z\"\nmachine = \"a laptop\"\ntool = \"siege\"\n\
                [[figure]]\nplace = \"lines 1 to 2\"\nserver = \"go\"\nname = \"Go\"\nworkload = \"hello\"\n";
    let (round, trials) = read("s.toml", &format!("{text}requests_per_s = 9346.0\n")).unwrap();
    assert_eq!((round.plan.as_str(), round.environment.cpu_model.as_str()), ("s", "a laptop"));
    assert_eq!((sums(&trials[0]), trials[0].is_usable()), ((0, 0, 0, 9346.0), true));
    assert_eq!(origin(&trials[0]).place, "s.toml, lines 1 to 2");
    let (_, trials) = read("s.toml", &format!("{text}error = \"not tested\"\n")).unwrap();
    assert!(trials[0].run.is_none() && !trials[0].is_usable());
    let other_time = text.replace("2013-06-11T00:00:00.000Z", "zz<b>next year");
    let wrong = read("s.toml", &format!("{other_time}requests_per_s = 1.0\n")).unwrap_err().to_string();
    assert!(wrong.ends_with("\"zz<b>next year\" is not a time in the form 2026-11-21T01:06:39Z"), "{wrong}");
    let wrong = read("s.toml", &format!("{text}requests_per_second = 1.0\n")).unwrap_err().to_string();
    assert!(
        wrong.starts_with("s.toml: cannot be read as a report of figures: line 10: unknown field"),
        "{wrong}"
    );
}

#[test]
fn damaged_reports_are_rejected_with_a_reason() {
    let reported = |text: &str| read("x", text).unwrap_err().to_string();
    assert!(reported("hello").starts_with(
        "x: not a report that can be imported; the supported formats are techempower, httparena, figures, wrk, oha"
    ));
    // As oha prints it on a terminal; its times may be in other units than seconds.
    let oha = "Summary:\n  Success rate:\t100.00%\n  Total:\t1001.6647 ms\n  Slowest:\t49.1168 ms\n  \
               Fastest:\t7.0658 ms\n  Average:\t46.0767 ms\n  Requests/sec:\t87.8538\n";
    assert!(reported(oha).ends_with(": of oha, fortio, k6, autocannon, vegeta and zrk their JSON"));
    assert!(reported("{\"metrics\": {}}").ends_with("as a report of k6: metrics.http_reqs.count is missing"));
    let ab = REPORTS[0].1;
    assert!(
        reported(&ab.replace("Requests per second:", "Requests:"))
            .ends_with("\"Requests per second:\" is missing")
    );
    assert!(reported(&ab.replace("300\n", "3e2\n")).contains("\"3e2\" is not a count"));
    let wrk = REPORTS[2].1;
    assert!(reported(&wrk.replace("51.42ms", "51.42xs")).ends_with("unknown unit \"xs\""));
    let board = REPORTS.iter().find(|(format, _)| *format == "techempower").unwrap().1;
    assert!(reported(&board.replace("94.05ms", "fast")).contains("rawData.plaintext.crax[0]: "));
    assert!(reported(&board.replace("385172", "-1")).contains("rawData.plaintext.crax[0]: "));
    assert!(reported("{\"rawData\": {}}").ends_with("it contains no measurement"));
}

proptest! {
    /// A damaged report is read or rejected: it causes no panic, and the counts of a report that is read add up.
    #[test]
    fn mutated_reports_are_read_or_refused(which in 0..REPORTS.len(), at in any::<prop::sample::Index>(), cut in 0..40usize, put in "[-0-9a-z.%:\\[\\] \"{}\n]{0,12}") {
        let text = REPORTS[which].1;
        let from = at.index(text.len());
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
        let to = (from + cut..=text.len() + cut).find(|at| text.is_char_boundary((*at).min(text.len()))).unwrap().min(text.len());
        let mutated = format!("{}{put}{}", &text[..from], &text[to..]);
        if let Ok((_, trials)) = read("x", &mutated) {
            for run in trials.iter().filter_map(|trial| trial.run.as_ref()) {
                prop_assert_eq!(run.total.counts.scheduled, run.total.counts.ended());
                prop_assert!(run.rate_per_s.achieved.is_finite());
            }
        }
    }
}

#[test]
fn counts_larger_than_any_run_do_not_overflow() {
    let most = u64::MAX;
    let vegeta = format!(
        r#"{{"latencies":{{}},"duration":1,"requests":1,"rate":1,"throughput":1,"status_codes":{{"200":{most},"201":{most},"0":{most},"500":{most}}}}}"#
    );
    let hey = include_str!("../fixtures/hey.txt")
        .replace("200 responses", &format!("{most} responses\n  [201]\t{most} responses"));
    let ab = include_str!("../fixtures/ab.txt").replace(
        "Failed requests:        0",
        &format!("Failed requests:        9\n   (Connect: {most}, Receive: {most}, Length: {most}, Exceptions: {most})"),
    );
    for text in [vegeta, hey, ab] {
        assert!(read("report", &text).is_ok(), "{text}");
    }
}

#[test]
fn several_reports_in_a_file_are_several_rows() {
    for (format, text) in REPORTS {
        if text.trim_start().starts_with('[') {
            continue;
        }
        let (_, one) = read("report", text).unwrap();
        let (round, two) = read("report", &format!("{text}\n{text}")).unwrap();
        assert_eq!((two.len(), round.planned), (2 * one.len(), 2 * one.len() as u32), "{format}");
        assert_eq!(sums(two.last().unwrap()), sums(one.last().unwrap()), "{format}");
        let firsts = |trials: &[Trial]| trials.iter().filter(|trial| trial.repeat == 0).count();
        assert_eq!(firsts(&two), firsts(&one), "{format}: the others are launches of the same rows");
    }
    let text = |name: &str| REPORTS.iter().find(|(format, _)| *format == name).unwrap().1;
    let (round, trials) =
        read("all.txt", &[text("wrk"), text("hey"), text("siege"), text("ab")].concat()).unwrap();
    let tools: Vec<_> = trials.iter().map(|trial| trial.run.as_ref().unwrap().tool.name.as_str()).collect();
    assert_eq!(tools, ["wrk", "hey", "siege", "ab"]);
    assert!(round.changes[0].contains("(wrk, hey, siege, ab)"), "{:?}", round.changes);
    assert_eq!(origin(&trials[0]).place, "all.txt, lines 1 to 12");
    assert!(trials.iter().all(|trial| sums(trial).1 == 0));
}

#[test]
fn parts_of_several_reports_are_not_joined() {
    let wrk = include_str!("../fixtures/wrk.txt");
    let (_, without_first_line) = wrk.split_once('\n').unwrap();
    let error = read("wrk.txt", &[wrk, without_first_line].concat()).unwrap_err().to_string();
    assert!(error.contains("the lines 12 and 24 both begin with \"Requests/sec:\""), "{error}");
}

#[test]
fn figures_that_cannot_be_are_refused() {
    let wrk = include_str!("../fixtures/wrk.txt");
    for (replaced, by, expected) in [
        ("51.42ms", "51.42s", "the mean time of 51.42 s is longer than the run of 2.09 s"),
        ("48.13ms", "1.13s", "p50 of 1.13 s is longer than p75 of 0.0585 s"),
        ("80.04ms", "1.04ms", "p99 of 0.08002 s is longer than the longest time of 0.00104 s"),
    ] {
        let error = read("wrk.txt", &wrk.replace(replaced, by)).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    let board = include_str!("../fixtures/httparena-profile.json");
    let mut entries: Vec<serde_json::Value> = serde_json::from_str(board).unwrap();
    assert!(entries.len() > 1);
    entries[0]["avg_latency"] = "900s".into();
    let (_, trials) = read("board.json", &serde_json::to_string(&entries).unwrap()).unwrap();
    let error = trials[0].error.as_ref().unwrap();
    assert!(error.message.contains("the mean time of 900 s"), "{}", error.message);
    assert!(trials[1..].iter().all(|trial| trial.error.is_none()), "the others keep their figures");
}

#[test]
fn a_percentile_that_is_the_average_is_left_out() {
    let entry = |p99: &str| {
        format!(
            r#"{{"framework": "a", "rps": 1, "avg_latency": "2ms", "p99_latency": "{p99}", "duration": "5s"}}"#
        )
    };
    let has_p99 = |p99: &str| origin(&read("a.json", &entry(p99)).unwrap().1[0]).times_ns.contains_key("p99");
    assert!(has_p99("3ms") && !has_p99("2ms"));
}

#[test]
fn a_closed_loop_that_breaks_little_s_law_says_so() {
    // Published in 2026: 512 connections, 148,906 requests/s, p99 2.19 ms.
    let text = "Running 15s test @ http://127.0.0.1:3000/\n  8 threads and 512 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.25ms  300.00us   9.00ms   80.00%\n    \
        Req/Sec    18.70k     1.00k   20.00k    70.00%\n  2233590 requests in 15.00s, 300.00MB read\n\
        Requests/sec: 148906.00\nTransfer/sec:     20.00MB\n";
    let (round, trials) = read("wrk.txt", text).unwrap();
    assert!(
        round.changes[1].starts_with("127.0.0.1:3000: 148906 requests/s of 1.25 ms"),
        "{:?}",
        round.changes
    );
    let note = &origin(&trials[0]).note;
    assert!(note.contains("of 1.25 ms on average keep 186 of 512 requests under way"), "{note}");
    assert!(note.contains("would take 3.44 ms"), "{note}");
    let (_, sound) = imported("wrk.txt");
    let note = &origin(&sound[0]).note;
    assert!(!note.contains("under way"), "its connections were busy: {note}");
}

#[test]
fn a_load_with_pauses_a_rate_or_pipelining_breaks_no_law() {
    // Users of k6 that sleep for a second after each request of 2 ms.
    let k6 = r#"{"metrics":{"http_reqs":{"count":1000,"rate":100},"vus_max":{"max":100,"value":100},
        "http_req_duration":{"avg":2}}}"#;
    let fortio = r#"{"RequestedQPS":"8","ActualDuration":5000000000,"ActualQPS":8,"NumThreads":4,"RetCodes":{"200":40},
        "DurationHistogram":{"Min":0.001,"Max":0.003,"Avg":0.002}}"#;
    // 8 connections with 10 requests each: 60 are under way on average.
    let autocannon = r#"{"connections":8,"pipelining":10,"duration":10,"errors":0,"statusCodeStats":{"200":{"count":200000}},
        "requests":{"average":20000},"latency":{"average":3}}"#;
    for text in [k6, fortio, autocannon] {
        let found = audit("x", text).unwrap();
        assert!(!found.is_wrong(), "{found:?}");
    }
    let plain = audit("x", &autocannon.replace(":10,\"duration\"", ":1,\"duration\"")).unwrap();
    assert!(plain.is_wrong(), "without pipelining there are 8 at most");
    let load = |text: &str| read("x", text).unwrap().1.remove(0).load;
    assert_eq!((load(autocannon).depth, load(fortio).rate_per_s), (10, Some(8.0)));
    assert_eq!(load(autocannon).name, "closed-8-pipelined-10");
}

#[test]
fn published_figures_that_cannot_be_right_are_found() {
    let profile = include_str!("../fixtures/httparena-profile.json");
    let found = audit("profile.json", profile).unwrap();
    assert_eq!((found.format.as_str(), found.rows, found.is_wrong()), ("httparena", 2, true));
    let rows = |kind: AuditKind| {
        found.findings.iter().filter(move |finding| finding.kind == kind).flat_map(|finding| &finding.rows)
    };
    let copied: Vec<_> = rows(AuditKind::CopiedPercentile).collect();
    assert_eq!(copied, ["aspnet-minimal + nginx, 512 connections: p99 and mean are both 53.88 ms"]);
    // 312,171/s x 53.88 ms.
    let overfull =
        "312171 requests/s of 53.88 ms on average are 16820 requests under way, but there are at most 512";
    assert!(rows(AuditKind::LittlesLaw).any(|row| row.contains(overfull)), "{found:?}");
    let text = serde_json::to_value(&found).unwrap();
    assert_eq!(text["findings"][0]["kind"], "littles_law");
    for (format, text) in REPORTS {
        let found = audit("x", text).unwrap();
        assert!(found.format == format && found.rows > 0, "{format}: {found:?}");
    }
    assert!(audit("x", "hello").unwrap_err().to_string().starts_with("x: not a report"));
}
