//! The flags for the life of connections: how many requests each carries, how it rests, and what the requests say of it.
//!
//! Called for the flags; the engine lives by [`LifeFlags::life`], requests say what [`LifeFlags::dress`] adds to them.

use paceline_engine::{Life, Nanos, Think};
use paceline_http::{Request, Version};
use paceline_record as record;
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
    pub think: Option<Think>,

    /// The version requests are sent as; 1.0 asks for keep-alive, as `ab -k` does, unless --no-keepalive
    #[arg(long, value_name = "VERSION", value_parser = version, default_value = "1.1", help_heading = "Requests")]
    pub http: Version,
}

impl LifeFlags {
    /// For the engine.
    pub fn life(&self) -> Life {
        Life {
            keep_alive: !self.no_keepalive,
            requests_per_connection: self.requests_per_connection.map(NonZeroU32::get),
            think: self.think.unwrap_or(Think::None),
        }
    }

    /// Has a request say the version, and what is to become of the connection where that is not what the version says
    /// by itself (RFC 9112 §9.3). A `Connection` field that was given stays alone.
    pub fn dress(&self, request: &mut Request) {
        request.version = self.http;
        let option = match (self.http, self.no_keepalive) {
            (Version::Http11, true) => "close",
            (Version::Http10, false) => "Keep-Alive",
            (Version::Http11, false) | (Version::Http10, true) => return,
        };
        if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Connection")) {
            request.headers.push(("Connection".to_owned(), option.to_owned()));
        }
    }

    /// What a record calls the protocol.
    pub fn protocol(&self) -> String {
        match self.http {
            Version::Http10 => "http/1.0".to_owned(),
            Version::Http11 => "http/1.1".to_owned(),
        }
    }
}

/// What a record says of how users think.
pub fn think_of(think: Think) -> Option<record::Think> {
    let (mean, distribution) = match think {
        Think::None => return None,
        Think::Constant(time) => (time, record::Distribution::Constant),
        Think::Exponential(mean) => (mean, record::Distribution::Exponential),
    };
    Some(record::Think { mean_ns: mean.0, distribution })
}

fn think(text: &str) -> Result<Think, String> {
    let (time, exponential) = match text.split_once(':') {
        None => (text, false),
        Some((time, "exp")) => (time, true),
        Some((time, _)) => {
            return Err(format!("write {time} for a constant time, {time}:exp for a random one"));
        }
    };
    let time = Nanos::from(super::flags::duration(time)?);
    Ok(match (time, exponential) {
        (Nanos::ZERO, _) => Think::None,
        (time, true) => Think::Exponential(time),
        (time, false) => Think::Constant(time),
    })
}

fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.0" => Ok(Version::Http10),
        "1.1" => Ok(Version::Http11),
        _ => Err("this speaks HTTP 1.0 and 1.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts() {
        assert_eq!(think("100ms"), Ok(Think::Constant(Nanos::from_millis(100))));
        assert_eq!(think("1s:exp"), Ok(Think::Exponential(Nanos::from_secs(1))));
        assert_eq!(think("0"), Ok(Think::None));
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
        let with_close = sent(Version::Http11, true, &[]);
        assert!(
            with_close.starts_with("GET / HTTP/1.1\r\n") && with_close.contains("\r\nConnection: close\r\n")
        );
        let like_ab = sent(Version::Http10, false, &[]);
        assert!(
            like_ab.starts_with("GET / HTTP/1.0\r\n") && like_ab.contains("\r\nConnection: Keep-Alive\r\n")
        );
        for silent in [sent(Version::Http11, false, &[]), sent(Version::Http10, true, &[])] {
            assert!(!silent.contains("Connection"), "{silent}");
        }
        let given = [("connection".to_owned(), "upgrade".to_owned())];
        assert_eq!(sent(Version::Http11, true, &given).matches("onnection").count(), 1);
    }
}
