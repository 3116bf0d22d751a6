//! Recognises the protocol that a peer speaks in place of the expected one, for messages with a remedy.
//!
//! It is a guess from the first bytes, made only after they were rejected. It never decides how bytes are read.

use std::fmt;

/// The protocol on a connection instead of the expected one, as far as its first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerProtocol {
    /// TLS records (RFC 8446 §5.1).
    Tls,
    /// A SETTINGS frame (RFC 9113 §3.4).
    Http2,
    /// A status line of HTTP/1.x (RFC 9112 §4).
    Http1,
    /// An SSH identification (RFC 4253 §4.2).
    Ssh,
    /// A greeting with a reply code and a server's name (RFC 5321 §4.2, RFC 959 §4.2).
    MailOrFiles,
    /// A gzip stream (RFC 1952 §2.3.1).
    Gzip,
    /// Anything else, for example a body longer than announced.
    Unknown,
}

impl PeerProtocol {
    /// Guesses from the first bytes. With fewer bytes the result may be [`PeerProtocol::Unknown`].
    pub fn recognise(bytes: &[u8]) -> PeerProtocol {
        match bytes {
            [0x14..=0x17, 0x03, 0..=4, ..] => PeerProtocol::Tls,
            [0, 0, _, 4, ..] => PeerProtocol::Http2,
            [b'H', b'T', b'T', b'P', b'/', b'1', ..] => PeerProtocol::Http1,
            [b'S', b'S', b'H', b'-', ..] => PeerProtocol::Ssh,
            [b'2', b'2', b'0', b' ' | b'-', ..] => PeerProtocol::MailOrFiles,
            [0x1f, 0x8b, 8, ..] => PeerProtocol::Gzip,
            _ => PeerProtocol::Unknown,
        }
    }

    /// The protocol and the remedy, for a client that expected HTTP/1.1 or HTTP/2; none if it is unknown.
    pub fn advice(self) -> Option<&'static str> {
        match self {
            PeerProtocol::Tls => Some("the server speaks TLS: use https://"),
            PeerProtocol::Http2 => Some("the server speaks HTTP/2: use --http 2"),
            PeerProtocol::Http1 => Some("the server speaks HTTP/1.1: remove --http 2"),
            PeerProtocol::Ssh => Some("the server speaks SSH: check the port"),
            PeerProtocol::MailOrFiles => Some("the server speaks SMTP or FTP: check the port"),
            PeerProtocol::Gzip => Some(
                "this is gzip data: the body of the previous response is longer than its declared length",
            ),
            PeerProtocol::Unknown => None,
        }
    }
}

impl fmt::Display for PeerProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice() {
            Some(advice) => write!(f, "; {advice}"),
            None => {
                f.write_str("; this is another protocol, or bytes after the end of the previous response")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_name_the_protocol() {
        for (bytes, peer) in [
            (&b"\x15\x03\x01\0\x02\x02\x46"[..], PeerProtocol::Tls),
            (b"\x16\x03\x03\0\x7a", PeerProtocol::Tls),
            (b"\0\0\x12\x04\0\0\0\0\0", PeerProtocol::Http2),
            (b"HTTP/1.0 400 Bad Request\r\n", PeerProtocol::Http1),
            (b"SSH-2.0-OpenSSH_9.2\r\n", PeerProtocol::Ssh),
            (b"220 mail.example ESMTP\r\n", PeerProtocol::MailOrFiles),
            (b"220-ftp.example\r\n", PeerProtocol::MailOrFiles),
            (b"\x1f\x8b\x08\0", PeerProtocol::Gzip),
            (b"HTTP/3 200", PeerProtocol::Unknown),
            (b"2200 bytes", PeerProtocol::Unknown),
            (b"\x15", PeerProtocol::Unknown),
            (b"", PeerProtocol::Unknown),
        ] {
            assert_eq!(PeerProtocol::recognise(bytes), peer, "{}", bytes.escape_ascii());
        }
    }
}
