//! Servers that misbehave: each a small script over plain sockets, with a thread per connection.
//!
//! Used by `table.rs`, and partly by `secure.rs`. They read a request up to its blank line, one at a time. A server
//! that supports bodies and pipelining is in `requests/server.rs`.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::time::Duration;

/// A valid response.
pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Listens on a free port and calls `converse` for every connection. The threads end with the test process.
pub fn each(converse: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let converse = converse.clone();
            let _ = stream.set_nodelay(true);
            std::thread::spawn(move || converse(stream));
        }
    });
    address
}

/// Calls `answer` for every request, with its number on its connection; false closes the connection.
pub fn request_by_request(
    answer: impl Fn(&mut TcpStream, usize) -> bool + Clone + Send + 'static,
) -> SocketAddr {
    each(move |mut stream| {
        let mut number = 0;
        while read_request(&mut stream) && answer(&mut stream, number) {
            number += 1;
        }
    })
}

/// Answers every request with these bytes.
pub fn always(bytes: &'static [u8]) -> SocketAddr {
    request_by_request(move |stream, _| stream.write_all(bytes).is_ok())
}

/// Answers every request with these bytes and closes.
pub fn once(bytes: &'static [u8]) -> SocketAddr {
    request_by_request(move |stream, _| {
        let _ = stream.write_all(bytes);
        false
    })
}

/// Reads up to a blank line. Requests are not pipelined.
pub fn read_request(stream: &mut TcpStream) -> bool {
    read_head(stream).is_some()
}

/// The head of the next request; none if the connection ends before.
pub fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(head)
}

/// Answers with `body`, compressed by gzip where the request accepts that.
pub fn compresses_if_accepted(body: &'static [u8]) -> SocketAddr {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(body).unwrap();
    let gzip = gzip.finish().unwrap();
    each(move |mut stream| {
        while let Some(head) = read_head(&mut stream) {
            let is_accepted =
                head.to_ascii_lowercase().windows(22).any(|part| part == b"accept-encoding: gzip\r");
            let (field, body) =
                if is_accepted { ("Content-Encoding: gzip\r\n", gzip.as_slice()) } else { ("", body) };
            let head = format!("HTTP/1.1 200 OK\r\n{field}Content-Length: {}\r\n\r\n", body.len());
            if stream.write_all(&[head.as_bytes(), body].concat()).is_err() {
                return;
            }
        }
    })
}

/// Writes `start`, then `piece` repeatedly, until the reader is gone or `piece` has been written `times` times.
pub fn endless(start: &'static [u8], piece: &'static [u8], times: usize) -> SocketAddr {
    request_by_request(move |stream, _| {
        let many = piece.repeat((64 * 1024 / piece.len()).max(1));
        let rounds = times * piece.len() / many.len();
        let _ = stream.write_all(start).is_ok() && (0..rounds).all(|_| stream.write_all(&many).is_ok());
        false
    })
}

/// Writes a response one byte at a time.
pub fn byte_by_byte(bytes: &'static [u8], pause: Duration) -> SocketAddr {
    request_by_request(move |stream, _| {
        bytes.iter().all(|byte| {
            std::thread::sleep(pause);
            stream.write_all(&[*byte]).is_ok()
        })
    })
}

/// Makes closing the connection a reset: unread and unsent data is lost.
pub fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the pointer is to a live linger of the size given.
    unsafe {
        let linger = (&raw const linger).cast();
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, linger, length);
    }
}

/// Sets 40 cookies with each response, and other ones with the next.
pub fn sets_cookies() -> SocketAddr {
    request_by_request(|stream, number| {
        let cookies: String = (0..40).map(|cookie| format!("Set-Cookie: c{number}-{cookie}=1\r\n")).collect();
        let response = format!("HTTP/1.1 200 OK\r\n{cookies}Content-Length: 2\r\n\r\nok");
        stream.write_all(response.as_bytes()).is_ok()
    })
}

/// Answers and shuts down its sending side, but keeps reading.
pub fn half_closes() -> SocketAddr {
    request_by_request(|stream, _| {
        let _ = stream.write_all(OK);
        let _ = stream.shutdown(Shutdown::Write);
        true
    })
}

/// An address that answers no handshake: the backlog of its listener is full, and no process accepts.
pub fn full_backlog() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: listen(2) on a listening socket only changes its backlog.
    unsafe { libc::listen(listener.as_raw_fd(), 0) };
    let address = listener.local_addr().unwrap();
    let fill = || TcpStream::connect_timeout(&address, Duration::from_millis(50));
    let held: Vec<_> = (0..4).map_while(|_| fill().ok()).collect();
    // Open until the tests end.
    std::mem::forget((listener, held));
    address
}

/// An address where no process listens: every local address refuses this port, which is bound, so that no other process
/// gets it.
pub fn closed_port() -> SocketAddr {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: libc::INADDR_ANY },
        sin_zero: [0; 8],
    };
    // SAFETY: the pointer is to a live address of the size given, and the descriptor is new and owned here.
    let bound = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        let length = size_of_val(&address) as libc::socklen_t;
        assert_eq!(libc::bind(socket, (&raw const address).cast(), length), 0);
        TcpListener::from_raw_fd(socket)
    };
    let port = bound.local_addr().unwrap().port();
    // Open until the tests end.
    std::mem::forget(bound);
    SocketAddr::from(([127, 0, 0, 1], port))
}
