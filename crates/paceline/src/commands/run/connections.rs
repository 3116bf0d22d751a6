//! Flags of connections: requests per connection, pauses, and the HTTP version.

use paceline_http::parse_bytes;
use paceline_job::{FragmentSpec, Job, Nanos, Protocol, Think};
use std::num::NonZeroU32;

/// How connections are used.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionFlags {
    /// Close each connection after N requests and open another
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub requests_per_connection: Option<NonZeroU32>,

    /// Send `Connection: close`; open a connection for every request
    #[arg(hide_short_help = true, long, conflicts_with = "requests_per_connection")]
    pub no_keepalive: bool,

    /// Closed loop: pause between a response and the next request of a connection; 100ms constant, 100ms:exp
    /// exponential
    #[arg(hide_short_help = true, long, value_name = "T[:exp]", value_parser = think)]
    pub think: Option<ThinkFlag>,

    /// Write requests in pieces of N bytes, with pauses: 10,5ms
    ///
    /// For tests of servers, over HTTP/1.1 only.
    #[arg(hide_short_help = true, long, value_name = "N[,PAUSE]", value_parser = fragment)]
    pub fragment: Option<FragmentSpec>,

    /// Keep cookies that the server sets, separately for each user: a connection, or a stream of HTTP/2 or 3
    #[arg(hide_short_help = true, long)]
    pub cookies: bool,

    /// HTTP version; 1.0 is sent with keep-alive, like `ab -k`, unless --no-keepalive [default: 1.1]
    #[arg(hide_short_help = true, long, value_name = "VERSION", value_enum)]
    pub http: Option<Protocol>,
}

impl ConnectionFlags {
    /// Puts the flags that were given into a job.
    pub fn fill(&self, job: &mut Job) {
        let Self { requests_per_connection, no_keepalive, think, fragment, cookies, http } = self;
        job.fragment = fragment.or(job.fragment);
        job.cookies |= cookies;
        job.protocol = http.unwrap_or(job.protocol);
        job.keep_alive &= !no_keepalive;
        job.requests_per_connection =
            requests_per_connection.map(NonZeroU32::get).or(job.requests_per_connection);
        job.think = think.map_or(job.think, |ThinkFlag(think)| think);
    }
}

/// The value of `--think`; 0 is no pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThinkFlag(Option<Think>);

fn think(text: &str) -> Result<ThinkFlag, String> {
    let (time, exponential) = match text.split_once(':') {
        None => (text, false),
        Some((time, "exp")) => (time, true),
        Some((time, _)) => {
            return Err(format!(
                "write {time} for a constant time, {time}:exp for exponentially distributed times with this mean"
            ));
        }
    };
    let time = Nanos::from(super::values::duration(time)?);
    Ok(ThinkFlag(match (time, exponential) {
        (Nanos::ZERO, _) => None,
        (time, true) => Some(Think::exponential(time)),
        (time, false) => Some(Think::constant(time)),
    }))
}

fn fragment(text: &str) -> Result<FragmentSpec, String> {
    let (bytes, pause) = match text.split_once(',') {
        None => (text, Nanos::ZERO),
        Some((bytes, pause)) => (bytes, Nanos::from(super::values::duration(pause)?)),
    };
    let bytes = parse_bytes(bytes).and_then(|bytes| u32::try_from(bytes).ok()).and_then(NonZeroU32::new);
    let wrong = || "write the bytes of a piece, at least 1, and a pause: 10, or 10,5ms".to_owned();
    Ok(FragmentSpec { bytes: bytes.ok_or_else(wrong)?, pause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments() {
        let spec = |bytes, pause| FragmentSpec { bytes: NonZeroU32::new(bytes).unwrap(), pause };
        assert_eq!(fragment("10"), Ok(spec(10, Nanos::ZERO)));
        assert_eq!(fragment("1k,5ms"), Ok(spec(1000, Nanos::from_millis(5))));
        for wrong in ["", "0", "x", "10,", "10,x", ",5ms"] {
            assert!(fragment(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn think_times() {
        assert_eq!(think("100ms"), Ok(ThinkFlag(Some(Think::constant(Nanos::from_millis(100))))));
        assert_eq!(think("1s:exp"), Ok(ThinkFlag(Some(Think::exponential(Nanos::from_secs(1))))));
        assert_eq!(think("0"), Ok(ThinkFlag(None)));
        assert!(think("1s:uniform").unwrap_err().contains("1s:exp"));
        assert!(think("soon").is_err());
    }
}
