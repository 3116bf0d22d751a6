//! Turns the upgrade request of a WebSocket into extended CONNECT, and its response into the answer to the upgrade (RFC 8441
//! §5).

use super::frame::{close_field_block, write_field_block};
use super::hpack::{HpackEncoder, Indexing};
use super::message::RequestText;
use super::request::RequestTable;
use super::response::status_of;
use crate::websocket::accept_of;
use crate::{MAX_HEAD_BYTES, Scheme};

/// The field of an upgrade request that extended CONNECT does not have.
const KEY_FIELD: &[u8] = b"sec-websocket-key";

/// Appends extended CONNECT for an upgrade request, given as text in the form of HTTP/1.1. No field is inserted into the
/// peer's table.
pub fn write_extended_connect(
    text: &[u8],
    scheme: Scheme,
    stream: u32,
    table: &mut RequestTable,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    write_field_block(out, stream, &[], false);
    let block_at = out.len();
    table.write_size_update(out);
    let mut encoder = HpackEncoder::default();
    let mut field = |name: &[u8], value: &[u8]| encoder.field(name, value, Indexing::Omit, out);
    RequestText::new(text).fields(scheme, |name, value| match name {
        b":method" => {
            field(name, b"CONNECT");
            field(b":protocol", b"websocket");
        }
        KEY_FIELD => {}
        _ => field(name, value),
    });
    close_field_block(out, start, block_at, stream, false);
}

/// The response to extended CONNECT, as the answer to the upgrade request.
#[derive(Debug, Default)]
pub struct ExtendedConnectAnswer {
    /// The key of the upgrade request.
    key: Vec<u8>,
    status: u16,
    /// Fields that the answer keeps, as lines.
    fields: Vec<u8>,
}

impl ExtendedConnectAnswer {
    /// Keeps the key of the upgrade request, which the answer has to match.
    pub fn key_of(&mut self, text: &[u8]) {
        self.key.clear();
        RequestText::new(text).fields(Scheme::Http, |name, value| {
            if name == KEY_FIELD {
                self.key.extend_from_slice(value);
            }
        });
    }

    /// A new field block begins.
    pub fn begin(&mut self) {
        self.status = 0;
        self.fields.clear();
    }

    /// Reads a field of the response.
    pub fn read(&mut self, name: &[u8], value: &[u8]) {
        if name == b":status" {
            self.status = status_of(value).unwrap_or(0);
        } else if name.starts_with(b"sec-websocket-") && self.fields.len() <= MAX_HEAD_BYTES {
            // Each byte of a block may stand for an entry of the table: a longer answer is refused by its reader.
            [name, b": ", value, b"\r\n"].into_iter().for_each(|part| self.fields.extend_from_slice(part));
        }
    }

    /// Whether another response follows.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    /// Whether the WebSocket is open.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Appends the answer to the upgrade request, if that was refused: the status, and the beginning of the body.
    pub fn write_refusal(&self, body: &[u8], out: &mut Vec<u8>) {
        let head = format!("HTTP/1.1 {} \r\nContent-Length: {}\r\n\r\n", self.status, body.len());
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(body);
    }

    /// Appends the answer to the upgrade request, if the WebSocket is open: status 101.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
        );
        out.extend_from_slice(&self.fields);
        out.extend_from_slice(b"Sec-WebSocket-Accept: ");
        out.extend_from_slice(&accept_of(&self.key));
        out.extend_from_slice(b"\r\n\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineEnds;
    use crate::h2::{FrameEvent, FrameReader, HpackDecoder, HpackScratch, PeerSettings, write_settings};
    use crate::websocket::{Handshake, HandshakeError, HandshakeKey, HandshakeStep};

    /// The upgrade request of RFC 6455 §1.3.
    const UPGRADE: &[u8] = b"GET /chat HTTP/1.1\r\nHost: a:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

    #[test]
    fn an_upgrade_becomes_extended_connect() {
        let mut bytes = Vec::new();
        write_settings(&mut bytes, &[]);
        let settings = bytes.len();
        let mut table = RequestTable::default();
        table.settings_applied(&PeerSettings { header_table_size: 2048, ..PeerSettings::default() });
        write_extended_connect(UPGRADE, Scheme::Wss, 1, &mut table, &mut bytes);
        assert_eq!(table, RequestTable::Unused);
        let mut reader = FrameReader::default();
        reader.next(&bytes[..settings]).unwrap();
        let Ok((FrameEvent::FieldBlock { block, end_stream: false, .. }, _)) =
            reader.next(&bytes[settings..])
        else {
            panic!("no field block")
        };
        assert_eq!(block.first(), Some(&0x20), "a size update to 0, as the table was made smaller");
        let mut text = String::new();
        HpackDecoder::default()
            .decode(block, &mut HpackScratch::default(), |field| {
                let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
                text += &format!("{name}: {value}\n");
            })
            .unwrap();
        let expected = ":method: CONNECT\n:protocol: websocket\n:scheme: https\n:authority: a:1\n:path: /chat\nsec-websocket-version: 13\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_fields_of_a_response_are_bounded() {
        let mut answer = ExtendedConnectAnswer::default();
        answer.begin();
        answer.read(b":status", b"200");
        (0..1_000).for_each(|_| answer.read(b"sec-websocket-x", &[b'a'; 4_000]));
        let mut text = Vec::new();
        answer.write(&mut text);
        assert!((MAX_HEAD_BYTES..2 * MAX_HEAD_BYTES).contains(&text.len()), "{}", text.len());
        let key = HandshakeKey::from_nonce(*b"the sample nonce");
        assert!(Handshake::new(&key, LineEnds::CrLf).read(&text, ["chat"].into_iter()).is_err());
    }

    #[test]
    fn the_response_answers_the_upgrade() {
        let mut answer = ExtendedConnectAnswer::default();
        answer.key_of(UPGRADE);
        let refused = |status, body: &str| Err(HandshakeError::Refused { status, body: body.to_owned() });
        for (status, body, expected) in [
            ("200", "", Ok(HandshakeStep::Open)),
            ("403", "", refused(403, "")),
            ("403", "no entry\n", refused(403, "no entry")),
        ] {
            answer.begin();
            answer.read(b":status", status.as_bytes());
            answer.read(b"sec-websocket-protocol", b"chat");
            let mut text = Vec::new();
            match answer.is_success() {
                true => answer.write(&mut text),
                false => answer.write_refusal(body.as_bytes(), &mut text),
            }
            let key = HandshakeKey::from_nonce(*b"the sample nonce");
            let mut handshake = Handshake::new(&key, LineEnds::CrLf);
            let read = handshake.read(&text, ["chat"].into_iter());
            assert_eq!(read.map(|(step, _)| step), expected, "{status}");
        }
    }

    #[test]
    fn a_status_has_three_digits() {
        let mut answer = ExtendedConnectAnswer::default();
        for (status, is_success) in
            [("200", true), ("+200", false), ("+20", false), ("0200", false), ("20", false), ("", false)]
        {
            answer.begin();
            answer.read(b":status", status.as_bytes());
            assert_eq!(answer.is_success(), is_success, "{status}");
        }
    }
}
