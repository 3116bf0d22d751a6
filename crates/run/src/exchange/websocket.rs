//! WebSocket over HTTP/1.1 read from the bytes of connections: the handshake, and the frames that follow it.

use super::message::{Message, decode, exchanges};
use paceline_engine::{TapEvent, TapEventKind};
use paceline_http::{Decoder, LineEnds, Method};
use paceline_job::Nanos;

/// One connection over HTTP/1.1.
#[derive(Default)]
struct Connection {
    /// The body of a refusal.
    refusal: Option<Decoder>,
}

/// The WebSockets over HTTP/1.1, one for each connection on which a handshake was sent.
pub(crate) fn over_websocket(events: &[TapEvent], line_ends: LineEnds) -> Vec<Message> {
    exchanges(events, |connection: &mut Connection, TapEvent { at, kind }, current, _| match kind {
        TapEventKind::Sent(bytes) => {
            current.sent.get_or_insert(*at);
            let rest = take_head(&mut current.request, bytes);
            current.websocket.get_or_insert_default().sent(rest);
        }
        TapEventKind::Received(bytes) => {
            connection.received(bytes, line_ends, *at, current);
            current.complete = Some(*at);
        }
        _ => {}
    })
}

impl Connection {
    fn received(&mut self, bytes: &[u8], line_ends: LineEnds, at: Nanos, current: &mut Message) {
        if let Some(decoder) = &mut self.refusal {
            decode(decoder, bytes, current);
            return;
        }
        let mut rest = bytes;
        while !is_whole(&current.head) {
            rest = take_head(&mut current.head, rest);
            match (is_whole(&current.head), status_of(&current.head)) {
                (false, _) => return,
                (true, Some(101)) => (current.status, current.first_byte) = (101, Some(at)),
                (true, Some(100..=199)) => current.head.clear(),
                (true, _) => {
                    let decoder = Decoder::new(Method::Other).with_line_ends(line_ends);
                    let (decoder, head) = (self.refusal.insert(decoder), std::mem::take(&mut current.head));
                    current.first_byte = Some(at);
                    decode(decoder, &[&head, rest].concat(), current);
                    return;
                }
            }
        }
        current.websocket.get_or_insert_default().received(rest);
    }
}

/// Appends bytes to a head up to its blank line; returns those after it.
fn take_head<'b>(head: &mut Vec<u8>, bytes: &'b [u8]) -> &'b [u8] {
    for (index, byte) in bytes.iter().enumerate() {
        if is_whole(head) {
            return &bytes[index..];
        }
        head.push(*byte);
    }
    &[]
}

/// The status in a head, after its version. The line may end there: servers leave out the reason and its blank.
fn status_of(head: &[u8]) -> Option<u16> {
    std::str::from_utf8(head.get(9..12)?).ok()?.parse().ok()
}

/// Whether a head ends with a blank line.
fn is_whole(head: &[u8]) -> bool {
    head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_may_have_no_reason() {
        for reason in [" Switching Protocols", " ", ""] {
            let answer = format!("HTTP/1.1 101{reason}\r\nUpgrade: websocket\r\n\r\n");
            for piece in [1, answer.len() + 4] {
                let bytes = [answer.as_bytes(), b"\x81\x02hi"].concat();
                let received = bytes.chunks(piece).map(|piece| TapEventKind::Received(piece.to_vec()));
                let sent = TapEventKind::Sent(b"GET / HTTP/1.1\r\n\r\n".to_vec());
                let kinds = std::iter::once(sent).chain(received);
                let events: Vec<_> = kinds.map(|kind| TapEvent { at: Nanos::ZERO, kind }).collect();
                let messages = over_websocket(&events, LineEnds::CrLf);
                assert_eq!((messages.len(), messages[0].status), (1, 101), "{reason:?}");
                let frames = messages[0].websocket.as_ref().unwrap();
                assert_eq!(frames.lines, ["< TEXT, FIN, length 2: \"hi\""], "{reason:?}");
            }
        }
    }
}
