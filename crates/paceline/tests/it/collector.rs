//! Tests the metrics of a run and of a round in progress, as an OpenTelemetry collector receives them.

use crate::lab::{GOOD, SHORT, Tree};
use crate::reference::{PACELINE, ReferenceServer};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Accepts exports until the test ends.
struct Collector {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|stream| kept.lock().unwrap().push(receive(stream)));
        });
        Self { url, requests }
    }

    /// The metrics of the last export.
    fn last(&self) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        let metrics = &requests.last().unwrap()["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        metrics.as_array().unwrap().clone()
    }
}

fn receive(mut stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn named<'a>(metrics: &'a [Value], name: &str) -> &'a Value {
    metrics.iter().find(|metric| metric["name"] == name).unwrap()
}

#[test]
fn the_last_export_of_a_run_has_its_requests() {
    let (server, collector) = (ReferenceServer::start("immediate"), Collector::start());
    let mut command = Command::new(PACELINE);
    command.args(["run", &server.url(), "-n", "300", "--json", "--otlp", &collector.url]);
    let output = command.output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metrics = collector.last();
    let points = named(&metrics, "paceline.requests")["sum"]["dataPoints"].as_array().unwrap();
    assert_eq!(points[0]["attributes"][0]["value"]["stringValue"], "ok");
    assert_eq!((&points[0]["asInt"], &run["total"]["counts"]["ok"]), (&"300".into(), &300.into()));
    let times = &named(&metrics, "paceline.service_time")["histogram"]["dataPoints"][0];
    assert_eq!(times["count"], "300");
}

#[test]
fn the_exports_of_a_round_have_its_trials_and_their_figures() {
    let collector = Collector::start();
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let flags = ["--repeats", "2", "--otlp", &collector.url, "--metrics", "127.0.0.1:0"];
    let ran = tree.run(&[&SHORT[..], &flags].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("metrics: http://127.0.0.1:"), "{ran:?}");
    let metrics = collector.last();
    let count = |name: &str| named(&metrics, name)["gauge"]["dataPoints"][0]["asInt"].clone();
    assert_eq!(count("paceline.trials_planned"), "2");
    let (_, trials) = tree.kept();
    let usable = trials.iter().filter(|trial| trial.usable_run().is_some()).count();
    assert_eq!(count("paceline.trials_usable"), usable.to_string());
    let newest = trials.iter().filter_map(|trial| trial.usable_run()).next_back().unwrap();
    let point = &named(&metrics, "paceline.achieved_per_s")["gauge"]["dataPoints"][0];
    assert_eq!(point["asDouble"], newest.rate_per_s.achieved);
    assert_eq!(point["attributes"][0]["value"]["stringValue"], "python-good");
}
