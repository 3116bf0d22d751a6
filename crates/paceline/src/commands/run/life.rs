//! The flags for the life of connections: how many requests each carries, how it rests, and what the requests say of it.
//!
//! Called for the flags; the engine lives by [`LifeFlags::life`], requests say what [`LifeFlags::dress`] adds to them.

use paceline_http::{Request, Version};
use paceline_job::{Job, Nanos, Protocol, Think};
use std::num::NonZeroU32;

/// How long connections are used.
#[derive(clap::Args, Debug)]
pub struct LifeFlags {
    /// Close a connection after so many requests and make another
    #[arg(long, value_name = "N", help_heading = "Connections")]
    pub requests_per_connection: Option<NonZeroU32>,

    /// Say `Connection: close` and make a connection for every request
    #[arg(long, conflicts_with = "requests_per_connection", help_heading = "Connections")]
    pub no_keepalive: bool,

    /// Closed loop: rest so long between an answer and the next request of a connection; 100ms always as long, 100ms:exp
    /// exponentially distributed with that mean
    #[arg(long, value_name = "T[:exp]", value_parser = think, help_heading = "Connections")]
    pub think: Option<Option<Think>>,

    /// The version requests are sent as; 1.0 asks for keep-alive, as `ab -k` does, unless --no-keepalive
    #[arg(long, value_name = "VERSION", value_enum, default_value_t, help_heading = "Requests")]
    pub http: Protocol,
}

impl LifeFlags {
    /// Puts the flags into a job.
    pub fn fill(&self, job: &mut Job) {
        job.protocol = self.http;
        job.keep_alive = !self.no_keepalive;
        job.requests_per_connection = self.requests_per_connection.map(NonZeroU32::get);
        job.think = self.think.flatten();
    }

    /// Has a request say the version, and what is to become of the connection where that is not what the version says
    /// by itself (RFC 9112 §9.3). A `Connection` field that was given stays alone.
    pub fn dress(&self, request: &mut Request) {
        let (version, option) = match (self.http, self.no_keepalive) {
            (Protocol::Http11, true) => (Version::Http11, Some("close")),
            (Protocol::Http10, false) => (Version::Http10, Some("Keep-Alive")),
            (Protocol::Http11, false) => (Version::Http11, None),
            (Protocol::Http10, true) => (Version::Http10, None),
        };
        request.version = version;
        let Some(option) = option else { return };
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Connection")) {
            request.headers.push(("Connection".to_owned(), option.to_owned()));
        }
    }
}

fn think(text: &str) -> Result<Option<Think>, String> {
    let (time, exponential) = match text.split_once(':') {
        None => (text, false),
        Some((time, "exp")) => (time, true),
        Some((time, _)) => {
            return Err(format!("write {time} for a constant time, {time}:exp for a random one"));
        }
    };
    let time = Nanos::from(super::flags::duration(time)?);
    Ok(match (time, exponential) {
        (Nanos::ZERO, _) => None,
        (time, true) => Some(Think::exponential(time)),
        (time, false) => Some(Think::constant(time)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts() {
        assert_eq!(think("100ms"), Ok(Some(Think::constant(Nanos::from_millis(100)))));
        assert_eq!(think("1s:exp"), Ok(Some(Think::exponential(Nanos::from_secs(1)))));
        assert_eq!(think("0"), Ok(None));
        assert!(think("1s:uniform").unwrap_err().contains("1s:exp"));
        assert!(think("soon").is_err());
    }

    #[test]
    fn requests_say_what_becomes_of_the_connection() {
        let url = paceline_http::Url::parse("http://a/").unwrap();
        let sent = |http, no_keepalive, given: &[(String, String)]| {
            let flags = LifeFlags { requests_per_connection: None, no_keepalive, think: None, http };
            let mut request = Request { headers: given.to_vec(), ..Request::get(&url) };
            flags.dress(&mut request);
            String::from_utf8(request.encode().unwrap()).unwrap()
        };
        let with_close = sent(Protocol::Http11, true, &[]);
        assert!(
            with_close.starts_with("GET / HTTP/1.1\r\n") && with_close.contains("\r\nConnection: close\r\n")
        );
        let like_ab = sent(Protocol::Http10, false, &[]);
        assert!(
            like_ab.starts_with("GET / HTTP/1.0\r\n") && like_ab.contains("\r\nConnection: Keep-Alive\r\n")
        );
        for silent in [sent(Protocol::Http11, false, &[]), sent(Protocol::Http10, true, &[])] {
            assert!(!silent.contains("Connection"), "{silent}");
        }
        let given = [("connection".to_owned(), "upgrade".to_owned())];
        assert_eq!(sent(Protocol::Http11, true, &given).matches("onnection").count(), 1);
    }
}
