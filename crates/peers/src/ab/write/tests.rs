//! Reports compared with stored ones of ab 2.3 by structure, and read back.

use super::*;
use crate::{PrintedReport, peer};
use paceline_record::{Counts, Lengths, Times, Tls, fixture};

const AB: &str = include_str!("../../../../import/fixtures/ab.txt");

fn command(line: &str) -> AbCommand {
    AbCommand::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()
}

fn times(ms: std::ops::RangeInclusive<u64>) -> Option<Times> {
    let mut histogram = Histogram::new();
    ms.for_each(|ms| histogram.record(ms * 1_000_000));
    Some(Times::from_histogram(&histogram))
}

/// 300 requests of 1 to 300 ms.
fn run() -> Run {
    let mut run = fixture::run(0);
    run.window_s = 0.483;
    run.total.counts = Counts { scheduled: 300, ok: 300, ..Counts::default() };
    run.total.status = [("200".to_owned(), 300)].into();
    run.total.bytes.received = 37_200;
    run.total.bytes.body = 3_600;
    run.total.body_bytes = Some(Lengths { min: 12, max: 12 });
    run.total.service_time_ns = times(1..=300);
    run.total.first_byte_ns = times(1..=300);
    run.total.connect_and_service_time_ns = times(1..=300);
    run.verdicts = Vec::new();
    run
}

fn first() -> FirstResponse {
    FirstResponse { server: "BaseHTTP/0.6".to_owned(), body_bytes: 12 }
}

fn whole(line: &str, run: &Run) -> (String, ToolOutput) {
    let command = command(line);
    let output = report(&command, run, Some(&first()));
    (begin(&command) + &output.stdout, output)
}

/// A line with its numbers as `#`.
fn shape(line: &str) -> String {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('/');
    let words = line.split_whitespace().map(|word| if is_number(word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_report_has_abs_structure() {
    let (text, output) = whole("-c 4 -n 300 http://127.0.0.1:44821/hello", &run());
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (text.lines().collect(), AB.lines().collect());
    assert_eq!(ours.len(), theirs.len(), "{text}");
    // The second and third line are a copyright.
    for (ours, theirs) in ours.iter().zip(&theirs).skip(3) {
        assert_eq!(shape(ours), shape(theirs));
        // Labels and right-aligned numbers are at the same places.
        let column = |line: &str| line.find(|c: char| c.is_ascii_digit()).filter(|_| line.contains(": "));
        if !theirs.starts_with(['C', 'P', 'W']) || theirs.contains("requests:") {
            assert_eq!(column(ours), column(theirs), "{ours:?} {theirs:?}");
        }
    }
    let rows = |lines: &[&str]| {
        lines.iter().filter(|line| line.starts_with("Total:")).map(|line| line.len()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&ours), rows(&theirs));
    assert_eq!((output.status, output.stderr.as_str()), (0, "Finished 300 requests\n"));
    let (short, output) = whole("-n 10 http://127.0.0.1:44821/hello", &run());
    assert!(
        short.contains(
            "Benchmarking 127.0.0.1 (be patient).....done\n\n\nServer Software:        BaseHTTP/0.6\n"
        ),
        "{short}"
    );
    assert_eq!(output.stderr, "");
}

#[test]
fn what_is_written_is_read_back() {
    let mut run = run();
    run.total.status.insert("404".to_owned(), 20);
    run.total.counts.bad_status = 20;
    run.total.counts.io_failed = 3;
    run.total.counts.connect_failed = 2;
    let (text, output) = whole("-k -c 4 -n 325 http://127.0.0.1:44821/hello", &run);
    let peer = peer("ab").unwrap();
    let printed = PrintedReport::from_output(&text);
    assert!((peer.is_report)(&printed), "{text}");
    let read = (peer.read)(&printed).unwrap();
    assert_eq!((read.url.as_str(), read.server.as_str()), ("http://127.0.0.1:44821/hello", "BaseHTTP/0.6"));
    assert_eq!((read.requests, read.connections, read.elapsed_s), (Some(323), 4, Some(0.483)));
    assert_eq!((read.counts.bad_status, read.counts.io_failed, read.counts.connect_failed), (20, 3, 2));
    assert_eq!((read.bytes.received, read.bytes.body), (37_200, 3_600));
    assert_eq!((read.times_ns["p50"], read.times_ns["max"]), (150e6, 300e6));
    assert_eq!(output.status, 104, "a connection broke, without -r");
    assert!(output.stderr.contains("apr_socket_recv: Connection reset by peer (104)\n"));
}

/// As with ab: at the end of its time it leaves the requests in flight, whatever they have waited.
#[test]
fn requests_cut_off_by_the_time_limit_have_not_timed_out() {
    let ends = |stopped, waited_ms: &[u64]| {
        let mut run = run();
        run.stopped = stopped;
        run.total.counts.timed_out = waited_ms.len() as u64;
        let mut histogram = run.total.service_time_ns.as_ref().unwrap().decode().unwrap();
        waited_ms.iter().for_each(|ms| histogram.record(ms * 1_000_000));
        run.total.service_time_ns = Some(Times::from_histogram(&histogram));
        let (_, output) = whole("-t 5 -c 4 http://127.0.0.1:44821/hello", &run);
        (output.status, output.stderr.contains("(70007)"))
    };
    assert_eq!(ends(true, &[640, 650]), (0, false));
    // The timeout of the run is 10 s.
    assert_eq!(ends(true, &[640, 10_001]), (119, true));
    assert_eq!(ends(false, &[10_001]), (119, true));
}

/// The lines on TLS are those of ab 2.3 with OpenSSL 3.0, without the length of the server's key.
#[test]
fn tls_is_described_with_openssls_names() {
    let mut run = run();
    let tls = Tls {
        version: Some("1.2".to_owned()),
        cipher: Some("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384".to_owned()),
        group: Some("X25519".to_owned()),
        name: "127.0.0.1".to_owned(),
        ..Tls::default()
    };
    run.target.tls = Some(tls.clone());
    let (text, _) = whole("-n 300 https://127.0.0.1:443/", &run);
    let said = "443\nSSL/TLS Protocol:       TLSv1.2,ECDHE-RSA-AES256-GCM-SHA384\nServer Temp Key:        X25519 253 bits\n\n";
    assert!(text.contains(said), "{text}");
    run.target.tls = Some(Tls { name: "localhost".to_owned(), group: None, ..tls });
    let (text, _) = whole("-n 300 https://localhost:443/", &run);
    assert!(text.contains("SHA384\nTLS Server Name:        localhost\n\n"), "{text}");
    assert_eq!(
        openssl_name("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
        "ECDHE-ECDSA-CHACHA20-POLY1305"
    );
    assert_eq!(openssl_name("TLS_AES_128_GCM_SHA256"), "TLS_AES_128_GCM_SHA256");
}

#[test]
fn other_lengths_are_failures_unless_they_may_vary() {
    let mut run = run();
    // 280 bodies of 12 bytes and 20 of 15.
    run.total.body_bytes = Some(Lengths { min: 12, max: 15 });
    run.total.bytes.body = 280 * 12 + 20 * 15;
    let (text, output) = whole("-c 4 -n 300 http://127.0.0.1:44821/hello", &run);
    assert!(
        text.contains("Failed requests:        20\n   (Connect: 0, Receive: 0, Length: 20, Exceptions: 0)\n"),
        "{text}"
    );
    assert!(output.stderr.contains("failed by length: at least 20 bodies"), "{}", output.stderr);
    let (text, output) = whole("-l -c 4 -n 300 http://127.0.0.1:44821/hello", &run);
    assert!(
        text.contains("Document Length:        Variable\n") && text.contains("Failed requests:        0\n")
    );
    assert!(!output.stderr.contains("length"));
}

#[test]
fn other_forms_of_the_report() {
    let url = "http://127.0.0.1:44821/hello";
    let (text, _) = whole(&format!("-S -d -c 4 -n 300 {url}"), &run());
    assert!(text.ends_with("              min   avg   max\nConnect:        0     0    0\nProcessing:     1   151  300\nWaiting:        1   151  300\nTotal:          1   151  300\n"), "{text}");
    let (_, output) = whole(&format!("-e f.csv -c 4 -n 300 {url}"), &run());
    let (file, csv) = &output.files[0];
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        (file.as_str(), lines[0], lines[1], lines.len()),
        ("f.csv", "Percentage served,Time in ms", "0,1.000", 102)
    );
    let (html, output) = whole(&format!("-w -e f.csv -c 4 -n 300 {url}"), &run());
    assert!(
        html.starts_with("<p>\n This is ApacheBench, Version 2.3 <i>&lt;$Revision$&gt;</i><br>\n"),
        "{html}"
    );
    let row =
        "<tr ><th colspan=2 bgcolor=white>Complete requests:</th><td colspan=2 bgcolor=white>300</td></tr>\n";
    assert!(html.contains(row) && html.ends_with("</table>\n"), "{html}");
    assert!(output.files.is_empty(), "as with ab, which writes no file with -w");
}

#[test]
fn a_mean_far_from_the_median_is_an_error() {
    let row = |median, deviation| TimeRow {
        name: "",
        what: "the total time",
        min: 0,
        mean: 10,
        deviation,
        median,
        max: 0,
    };
    let warned = |row: &TimeRow| {
        let mut text = String::new();
        row.push_warning(&mut text);
        text
    };
    assert_eq!(warned(&row(9, 1.0)), "");
    assert!(
        warned(&row(8, 1.5)).starts_with("WARNING: The median and mean for the total time are not within")
    );
    assert!(warned(&row(4, 1.5)).starts_with("ERROR: "));
}

#[test]
fn requests_are_listed_as_by_ab() {
    let mut run = run();
    run.started_at = "2026-01-02T03:04:05.900Z".to_owned();
    run.phases.window.start_ns = 90_000_000;
    let ms = Nanos::from_millis;
    let (sent, connect, first_byte, service) = (ms(30), ms(5), Nanos(40_600_000), ms(45));
    let slow = ListedRequest { sent, connect, first_byte, service, status: 200 };
    let quick = ListedRequest { first_byte: ms(1), service: ms(2), status: 200, ..ListedRequest::default() };
    let mut output = ToolOutput::default();
    list(&command("-g f.tsv http://127.0.0.1/"), &run, vec![slow, quick], &mut output);
    let rows = "starttime\tseconds\tctime\tdtime\tttime\twait\n\
                Fri Jan 02 03:04:05 2026\t1767323045\t0\t2\t2\t1\n\
                Fri Jan 02 03:04:06 2026\t1767323046\t5\t45\t50\t41\n";
    assert_eq!(output.files, [("f.tsv".to_owned(), rows.to_owned())]);
}
