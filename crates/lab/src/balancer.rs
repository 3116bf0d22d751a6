//! Reads the counters of a balancer: totals since its start, so that a window is the difference of two.
//!
//! One implementation for each known kind of balancer. For others, trials have only what the lab measures itself: the
//! CPU time and the open descriptors of each process.

use paceline_catalogue::Statistics;
use paceline_record::{BalancerCounts, InstanceCounts};
use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take. The counters are read inside the window, so a slow balancer is not waited for.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);
/// Limit of an answer's length: a balancer writes a line of 700 bytes for each instance.
const LONGEST_BYTES: u64 = 1 << 20;

/// Totals since the balancer's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BalancerTotals {
    requests: Option<u64>,
    connections: Option<u64>,
    retries: Option<u64>,
    redispatches: Option<u64>,
    failures: Option<u64>,
    by_instance: Vec<InstanceCounts>,
}

/// A kind of statistics that the lab can read.
pub(crate) trait StatisticsReader {
    /// Reads the totals of `instances` instances at `address`. `None` if there is no answer.
    fn ask(self, address: SocketAddr, instances: usize) -> Option<BalancerTotals>;

    /// The counts between two readings.
    fn counts(self, from: &BalancerTotals, to: &BalancerTotals) -> BalancerCounts;
}

impl StatisticsReader for Statistics {
    fn ask(self, address: SocketAddr, instances: usize) -> Option<BalancerTotals> {
        match self {
            Statistics::None => None,
            Statistics::Haproxy => haproxy(&exchange(address, "show stat\n").ok()?, instances),
            Statistics::Nginx => {
                let request = format!("GET / HTTP/1.0\r\nHost: {address}\r\n\r\n");
                nginx(&exchange(address, &request).ok()?)
            }
        }
    }

    fn counts(self, from: &BalancerTotals, to: &BalancerTotals) -> BalancerCounts {
        let (source, not_reported) = source(self);
        let by_instance = from.by_instance.iter().zip(&to.by_instance).map(|(from, to)| InstanceCounts {
            requests: less(to.requests, from.requests),
            connect_failures: less(to.connect_failures, from.connect_failures),
            response_failures: less(to.response_failures, from.response_failures),
            state_at_end: to.state_at_end.clone(),
        });
        BalancerCounts {
            source: source.to_owned(),
            not_reported: not_reported.iter().map(|what| (*what).to_owned()).collect(),
            requests: less(to.requests, from.requests),
            connections: less(to.connections, from.connections),
            retries: less(to.retries, from.retries),
            redispatches: less(to.redispatches, from.redispatches),
            failures: less(to.failures, from.failures),
            by_instance: by_instance.collect(),
        }
    }
}

/// The name of the source, and the counters that it does not have.
fn source(statistics: Statistics) -> (&'static str, &'static [&'static str]) {
    match statistics {
        Statistics::None => ("", &[]),
        Statistics::Haproxy => ("haproxy stats socket", &[]),
        Statistics::Nginx => (
            "nginx stub_status",
            &[
                "requests that each instance received",
                "retries",
                "failures",
                "whether an instance is marked as down",
            ],
        ),
    }
}

impl BalancerTotals {
    /// Whether the balancer treats an instance as down.
    pub fn is_down(&self, instance: usize) -> bool {
        let state = self.by_instance.get(instance).and_then(|reported| reported.state_at_end.as_deref());
        state.is_some_and(|state| state.starts_with("DOWN"))
    }
}

fn less(to: Option<u64>, from: Option<u64>) -> Option<u64> {
    Some(to?.saturating_sub(from?))
}

/// Sends a request and reads until the other side closes.
fn exchange(address: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(LONGEST_BYTES).read_to_string(&mut answer)?;
    Ok(answer)
}

/// Reads `show stat`: CSV whose first line names the fields. Rows are found by the names that the template gives them.
fn haproxy(answer: &str, instances: usize) -> Option<BalancerTotals> {
    let mut lines = answer.lines().filter(|line| !line.is_empty());
    let names: Vec<&str> = lines.next()?.strip_prefix("# ")?.split(',').collect();
    let rows: Vec<HashMap<&str, &str>> =
        lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect();
    let row = |proxy: &str, server: &str| {
        rows.iter().find(|row| row.get("pxname") == Some(&proxy) && row.get("svname") == Some(&server))
    };
    let number = |row: &HashMap<&str, &str>, name: &str| row.get(name)?.parse::<u64>().ok();
    let (clients, backend) = (row("clients", "FRONTEND")?, row("instances", "BACKEND")?);
    let reported = |instance| {
        let name = format!("instance{instance}");
        let row = row("instances", &name)?;
        Some(InstanceCounts {
            // In HTTP mode a server's sessions are requests, even if several share a connection.
            requests: number(row, "stot"),
            connect_failures: number(row, "econ"),
            response_failures: number(row, "eresp"),
            state_at_end: row.get("status").map(|state| (*state).to_owned()),
        })
    };
    let by_instance = (0..instances).map(|instance| reported(instance).unwrap_or_default()).collect();
    let failures = ["econ", "eresp"].iter().filter_map(|name| number(backend, name)).sum();
    Some(BalancerTotals {
        requests: number(clients, "req_tot"),
        connections: number(clients, "conn_tot").or_else(|| number(clients, "stot")),
        retries: number(backend, "wretr"),
        redispatches: number(backend, "wredis"),
        failures: Some(failures),
        by_instance,
    })
}

/// Reads `stub_status`: its third line has connections accepted and handled, and requests.
fn nginx(answer: &str) -> Option<BalancerTotals> {
    let (_, rest) = answer.split_once("server accepts handled requests")?;
    let numbers: Vec<u64> =
        rest.lines().find(|line| !line.trim().is_empty())?.split_whitespace().flat_map(str::parse).collect();
    let [accepted, _handled, requests] = numbers[..] else { return None };
    Some(BalancerTotals {
        requests: Some(requests),
        connections: Some(accepted),
        ..BalancerTotals::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "# pxname,svname,stot,econ,eresp,wretr,wredis,status,conn_tot,req_tot,\n\
                        clients,FRONTEND,8,,,,,OPEN,8,1000,\n\
                        instances,instance0,600,0,0,0,0,UP,,,\n\
                        instances,instance1,400,7,2,9,3,DOWN,,,\n\
                        instances,BACKEND,1000,7,2,9,3,UP,,,\n\n";

    #[test]
    fn haproxy_statistics_have_each_instance() {
        let counted = haproxy(STAT, 2).unwrap();
        assert!(counted.is_down(1) && !counted.is_down(0) && !counted.is_down(7));
        let reported = Statistics::Haproxy
            .counts(&haproxy(STAT, 2).unwrap(), &haproxy(&STAT.replace("600", "650"), 2).unwrap());
        assert_eq!(reported.by_instance[0].requests, Some(50));
        let fresh =
            BalancerTotals { by_instance: vec![InstanceCounts::default(); 2], ..BalancerTotals::default() };
        assert_eq!(
            Statistics::Haproxy.counts(&fresh, &counted).requests,
            None,
            "a count that was unknown at the start is not reported"
        );
        let zero = haproxy(&STAT.replace("1000", "0").replace("600", "0").replace("400", "0"), 2).unwrap();
        let reported = Statistics::Haproxy.counts(&zero, &counted);
        assert_eq!((reported.requests, reported.by_instance[1].requests), (Some(1000), Some(400)));
        assert_eq!(reported.by_instance[1].state_at_end.as_deref(), Some("DOWN"));
        assert_eq!((haproxy("", 2), haproxy("# a,b\n", 2)), (None, None));
    }

    #[test]
    fn nginx_statistics_count_client_requests() {
        let answer = "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled requests\n 16 16 31 \n\
                      Reading: 0 Writing: 1 Waiting: 0 \n";
        let counted = nginx(answer).unwrap();
        assert_eq!((counted.requests, counted.connections), (Some(31), Some(16)));
        assert_eq!(nginx("HTTP/1.1 404 Not Found\r\n\r\n"), None);
        assert!(!Statistics::Nginx.counts(&counted, &counted).not_reported.is_empty());
    }
}
