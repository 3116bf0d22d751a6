//! Connects to a host beside the load: to a page of metrics, or to a collector of them.

use paceline_http::Url;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// Connects to the first address of a URL's host that accepts a connection, within a time. A name such as `localhost`
/// may have an address on which the server does not listen.
///
/// # Errors
/// The error of the resolver, or of the last address.
pub fn connect_to_host(url: &Url, limit: Duration) -> io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = (url.host.as_str(), url.port).to_socket_addrs()?.collect();
    let none = || io::Error::other(format!("{} has no address", url.host));
    first_to_accept(&addresses, limit)?.ok_or_else(none)
}

/// The connection to the first address that accepts one; none without an address.
fn first_to_accept(addresses: &[SocketAddr], limit: Duration) -> io::Result<Option<TcpStream>> {
    let (until, mut failed) = (Instant::now() + limit, None);
    for (address, others) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        // An address that does not answer leaves the same time to each of the others.
        let part = until.saturating_duration_since(Instant::now()) / others;
        match TcpStream::connect_timeout(address, part.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn an_address_that_refuses_is_followed_by_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        let refuses = SocketAddr::from(([127, 0, 0, 2], listens.port()));
        let limit = Duration::from_secs(9);
        let stream = first_to_accept(&[refuses, listens], limit).unwrap().unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listens);
        let refused = first_to_accept(&[refuses], limit).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(first_to_accept(&[], limit).unwrap().is_none());
    }
}
