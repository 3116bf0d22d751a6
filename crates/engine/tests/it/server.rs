//! A small real server: one thread for each connection, which handles every request as the test requires.
//!
//! Used by `kernel.rs` and `faults.rs`; `tls.rs` uses only the reset. It searches for blank lines, so that requests may
//! be pipelined but have no body. The TLS server is in `tls_server.rs`.

use paceline_engine::Address;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::FromRawFd as _;
use std::sync::Arc;
use std::thread;

/// Handles a request: it may write any bytes to the stream; false closes it.
pub type Handler = dyn Fn(&mut TcpStream, usize) -> bool + Send + Sync;

/// Starts a server on a free port. Its threads end with the test process.
pub fn serve(handler: impl Fn(&mut TcpStream, usize) -> bool + Send + Sync + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().into();
    let handler: Arc<Handler> = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handler = Arc::clone(&handler);
            thread::spawn(move || converse(stream, &*handler));
        }
    });
    address
}

/// An address where no process listens: every local address refuses this port, which is bound, so that no other process
/// gets it.
pub fn closed_address() -> SocketAddr {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: libc::INADDR_ANY },
        sin_zero: [0; 8],
    };
    // SAFETY: the pointer is to a live address of the given size, and the descriptor is new and ours.
    let bound = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        let length = size_of_val(&address) as libc::socklen_t;
        assert_eq!(libc::bind(socket, (&raw const address).cast(), length), 0);
        TcpListener::from_raw_fd(socket)
    };
    let port = bound.local_addr().unwrap().port();
    // Kept until the tests end.
    std::mem::forget(bound);
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Starts a server that answers every request with these bytes.
pub fn answer(bytes: &'static [u8]) -> Address {
    serve(move |stream, _| stream.write_all(bytes).is_ok())
}

/// Passes each request, delimited by its blank line, to the handler with its number on the connection.
fn converse(mut stream: TcpStream, handler: &Handler) {
    stream.set_nodelay(true).unwrap();
    let (mut pending, mut buffer, mut number) = (Vec::new(), [0; 4096], 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..count]);
        while let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            pending.drain(..end + 4);
            if !handler(&mut stream, number) {
                return;
            }
            number += 1;
        }
    }
}

/// Breaks the connection instead of closing it: unread or unsent bytes are lost, the peer receives a reset.
pub fn reset(stream: &TcpStream) {
    use std::os::fd::AsRawFd as _;
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the pointer is to a live linger of the given size.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            length,
        );
    }
}
