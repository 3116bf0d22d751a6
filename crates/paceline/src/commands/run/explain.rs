//! Explains the errors of a run: as complaints with a remedy and an exit status.

use crate::exit::Complaint;
use paceline_engine::tls::TlsError;
use paceline_engine::{Address, ConnectionFailure, EngineError, Nanos};
use paceline_job::{Protocol, Proxy};
use paceline_run::RunError;

/// The hint for a target to which no connection could be made, or on which none of `made` connections was kept.
fn connect_hint(error: &std::io::Error, address: &Address, protocol: Protocol, made: u64) -> &'static str {
    use ConnectionFailure::{
        ClosedUnused, ConnectLimit, Flood, Http2, Http3, InvalidUpgrade, NoExtendedConnect, NoQuic,
        NoSettings, NoUpgrade, NotHttp2, Quic, QuicClosed, QuicVersion, Truncated, UpgradeRefused,
    };
    if let Some(error) = TlsError::within(error) {
        return paceline_run::remedy(error.fault);
    }
    match (ConnectionFailure::within(error), error.raw_os_error()) {
        (_, Some(libc::EADDRNOTAVAIL)) => {
            "no local address or port to connect from: check --source, or wait for ports to become free"
        }
        (_, Some(libc::EMFILE | libc::ENFILE)) => {
            "raise the limit of open files: `ulimit -n` for this process, `sysctl fs.file-max` for the machine"
        }
        (_, Some(libc::ENOBUFS | libc::ENOMEM)) => {
            "this machine has no memory left for sockets: lower -c, or end other programs"
        }
        (_, Some(libc::EACCES | libc::EPERM)) => match address {
            Address::Unix(_) => "run Paceline as a user who may write to that socket and enter its folders",
            Address::Tcp(_) => "this machine forbids the connection: check its firewall",
        },
        (Some(NotHttp2 | Http2 | Flood), _) => "try --http 1.1, or another port",
        (Some(NoSettings), _) => "try --http 1.1 or another port, or raise --connect-timeout",
        (Some(NoQuic), _) => {
            "check that the server speaks HTTP/3 and that no firewall drops UDP on that port; or try --http 2"
        }
        (None, Some(libc::ECONNREFUSED)) if protocol == Protocol::Http3 => {
            "no process listens on that port over UDP: check that the server speaks HTTP/3, or try --http 2"
        }
        (Some(QuicVersion | Quic | QuicClosed | Http3), _) => {
            "look for the reason in the server's log, or try --http 2"
        }
        (Some(NoUpgrade), _) => {
            "check that the server speaks WebSocket at this path, or raise --connect-timeout"
        }
        (Some(NoExtendedConnect), _) => "leave --http 2 out, or turn extended CONNECT on in the server",
        (Some(UpgradeRefused(_) | InvalidUpgrade), _) => {
            "check the path, and the fields of the handshake (-H): origin, authorization, subprotocol"
        }
        // Before or after the server's SETTINGS, with which a connection counts as made.
        (Some(ClosedUnused | Truncated), _) | (_, Some(libc::ECONNRESET | libc::EPIPE))
            if protocol == Protocol::Http2 =>
        {
            "the server closes each HTTP/2 connection before any request is sent. Look for the reason in the server's log, or try --http 1.1"
        }
        (_, errno) if made > 0 || matches!(errno, Some(libc::ECONNRESET | libc::EPIPE)) => {
            "the server accepts connections and closes them before any request is sent. Check the port, and look for the reason in the server's log"
        }
        (Some(ConnectLimit), _) => {
            "check that the server accepts connections on that address, or raise --connect-timeout"
        }
        _ if matches!(address, Address::Unix(_)) => {
            "check that the server is running and listens on that socket"
        }
        _ => "check that the server is running and listens on that address and port",
    }
}

/// A run error as a complaint, with its remedy and exit status.
pub(super) fn explain(error: RunError) -> anyhow::Error {
    match error {
        RunError::Job(error) => Complaint::usage(error.to_string()).into(),
        RunError::Usage(problem) => with_hint(Complaint::usage(problem.to_string()), problem.hint),
        RunError::Environment(problem) => {
            with_hint(Complaint::environment(problem.to_string()), problem.hint)
        }
        RunError::Engine(error) => explain_engine(error),
    }
}

/// The same for a run through a proxy, which is what could not be reached.
pub(super) fn explain_through(error: RunError, proxy: Option<&Proxy>) -> anyhow::Error {
    match (error, proxy) {
        (RunError::Engine(error @ EngineError::Unreachable { .. }), Some(proxy)) => {
            let is_tls = matches!(&error, EngineError::Unreachable { source, .. } if TlsError::within(source).is_some());
            match is_tls {
                true => explain_engine(error),
                false => anyhow::Error::new(error).context(
                    Complaint::environment(format!(
                        "nothing was measured: the proxy {proxy} cannot be reached"
                    ))
                    .hint(
                        "check --proxy, and that the proxy is running and listens on that address and port",
                    ),
                ),
            }
        }
        (error, _) => explain(error),
    }
}

pub(super) fn with_hint(complaint: Complaint, hint: Option<String>) -> anyhow::Error {
    Complaint { hint, ..complaint }.into()
}

fn explain_engine(error: EngineError) -> anyhow::Error {
    let complaint = match &error {
        EngineError::Job(_) | EngineError::Settings(_) => Complaint::usage("the job is invalid"),
        EngineError::Unreachable { source, address, protocol, made, .. } => {
            let hint = connect_hint(source, address, *protocol, *made);
            Complaint::environment("nothing was measured").hint(hint)
        }
        EngineError::Tls { .. } => {
            Complaint::usage("nothing was measured").hint("check --cacert, --cert and --key")
        }
        EngineError::TooManyThreads { .. } => Complaint::environment("nothing was measured")
            .hint("lower the number of threads (-t), or raise the limit of processes (`ulimit -u`)"),
        EngineError::Kernel { .. } => Complaint::environment("nothing was measured")
            .hint("lower the number of connections (-c), or raise the limit of open files (`ulimit -n`)"),
        EngineError::StoppedEarly(_) => Complaint::interrupted("interrupted"),
        EngineError::Accounts(_) | EngineError::WorkerDied => {
            Complaint::environment("the results of this run are discarded")
                .hint("please report this bug, with the command line")
        }
    };
    let rounded = match error {
        // The moment need not be exact to the nanosecond.
        EngineError::StoppedEarly(Nanos(at)) => {
            EngineError::StoppedEarly(Nanos(at.next_multiple_of(1_000_000)))
        }
        other => other,
    };
    anyhow::Error::new(rounded).context(complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_connection_of_http2_gets_the_hint_to_http1() {
        let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], 80)));
        for failure in [ConnectionFailure::ClosedUnused, ConnectionFailure::Os(libc::ECONNRESET)] {
            let hint = |protocol, made| connect_hint(&failure.into(), &address, protocol, made);
            // GOAWAY may come together with the SETTINGS, or after them.
            for made in [0, 6] {
                assert!(hint(Protocol::Http2, made).contains("--http 1.1"), "{failure}, {made} made");
            }
            let http1 = hint(Protocol::Http11, 6);
            assert!(http1.contains("Check the port") && !http1.contains("--http"), "{failure}: {http1}");
        }
    }

    #[test]
    fn a_limit_of_this_machine_is_not_the_server_s_fault() {
        let tcp = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], 80)));
        let unix = Address::from(std::path::Path::new("/run/a.sock"));
        for (number, address, named) in [
            (libc::EMFILE, &tcp, "`ulimit -n`"),
            (libc::ENFILE, &unix, "fs.file-max"),
            (libc::ENOBUFS, &tcp, "memory"),
            (libc::EPERM, &tcp, "firewall"),
            (libc::EACCES, &unix, "as a user"),
        ] {
            let hint = connect_hint(&ConnectionFailure::Os(number).into(), address, Protocol::Http11, 0);
            assert!(hint.contains(named) && !hint.contains("server"), "{number}: {hint}");
        }
    }

    #[test]
    fn a_server_without_http3_gets_the_hint_to_http2() {
        let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], 443)));
        let failures = [
            (ConnectionFailure::NoQuic, "firewall"),
            (ConnectionFailure::Os(libc::ECONNREFUSED), "over UDP"),
            (ConnectionFailure::QuicVersion, "log"),
        ];
        for (failure, named) in failures {
            let hint = connect_hint(&failure.into(), &address, Protocol::Http3, 0);
            assert!(hint.contains(named) && hint.contains("--http 2"), "{failure}: {hint}");
        }
    }
}
