//! The frames of a WebSocket by name (RFC 6455 §5.2), as they are, also those that break the rules: the engine reports
//! which rule.

use super::frame_lines::push_frame;
use paceline_http::websocket::{AnyFrameHead, CloseCode, MAX_FRAME_HEAD_BYTES, Opcode, mask};

/// Bytes of a payload that are kept: those of a control frame whole.
const MAX_KEPT: usize = 128;
/// Characters of a text that are shown, and bytes of other payloads.
const MAX_SHOWN_CHARACTERS: usize = 80;
const MAX_SHOWN_BYTES: usize = 16;

/// The frames of a WebSocket in both directions.
#[derive(Debug, Default)]
pub(crate) struct WebSocketFrames {
    sent: FrameStream,
    received: FrameStream,
    /// A line each, with its mark.
    pub lines: Vec<String>,
}

/// The frames in one direction.
#[derive(Debug, Default)]
struct FrameStream {
    /// The beginning of a head.
    head: Vec<u8>,
    current: Option<PartialFrame>,
    /// Whether the current message is text.
    is_text: bool,
}

/// A frame of which the head has come.
#[derive(Debug)]
struct PartialFrame {
    head: AnyFrameHead,
    come: u64,
    kept: Vec<u8>,
}

impl WebSocketFrames {
    /// Reads sent bytes.
    pub fn sent(&mut self, bytes: &[u8]) {
        self.sent.read(bytes, |frame| push_frame(&mut self.lines, ">", frame));
    }

    /// Reads received bytes.
    pub fn received(&mut self, bytes: &[u8]) {
        self.received.read(bytes, |frame| push_frame(&mut self.lines, "<", frame));
    }

    /// The connection has ended: shows the frames that are incomplete.
    pub fn end(&mut self) {
        for (mark, stream) in [(">", &mut self.sent), ("<", &mut self.received)] {
            if let Some(frame) = stream.current.take() {
                push_frame(&mut self.lines, mark, stream.shown(&frame));
            }
        }
    }
}

impl FrameStream {
    /// Reads bytes and shows each frame that they complete.
    fn read(&mut self, mut input: &[u8], mut show: impl FnMut(String)) {
        loop {
            let Some(frame) = &mut self.current else {
                if input.is_empty() {
                    return;
                }
                input = self.begin(input);
                continue;
            };
            let taken =
                usize::try_from(frame.head.length - frame.come).unwrap_or(usize::MAX).min(input.len());
            let room = MAX_KEPT - frame.kept.len();
            frame.kept.extend_from_slice(&input[..taken.min(room)]);
            frame.come += taken as u64;
            input = &input[taken..];
            if frame.come < frame.head.length {
                return;
            }
            if let Some(frame) = self.current.take() {
                show(self.shown(&frame));
            }
        }
    }

    /// Reads the head of the next frame; returns the bytes after it.
    fn begin<'i>(&mut self, input: &'i [u8]) -> &'i [u8] {
        let before = self.head.len();
        self.head.extend(input.iter().take(MAX_FRAME_HEAD_BYTES - before));
        let Some((head, length)) = AnyFrameHead::read(&self.head) else { return &[] };
        self.head.clear();
        match Opcode::from_number(head.opcode) {
            Some(Opcode::Text) => self.is_text = true,
            Some(Opcode::Binary) => self.is_text = false,
            _ => {}
        }
        self.current = Some(PartialFrame { head, come: 0, kept: Vec::new() });
        &input[length - before..]
    }

    /// A frame by its head and the beginning of its payload.
    fn shown(&self, frame: &PartialFrame) -> String {
        let AnyFrameHead { is_last, reserved, opcode, key, length } = frame.head;
        let mut payload = frame.kept.clone();
        let mut parts = vec![name(opcode)];
        parts.extend(is_last.then(|| "FIN".to_owned()));
        let reserved =
            [(4, "RSV1"), (2, "RSV2"), (1, "RSV3")].into_iter().filter(|(bit, _)| reserved & bit != 0);
        parts.extend(reserved.map(|(_, name)| name.to_owned()));
        if let Some(key) = key {
            mask(&mut payload, key);
            parts.push(format!("mask {:08x}", u32::from_be_bytes(key)));
        }
        parts.push(format!("length {length}"));
        if frame.come < length {
            parts.push(format!("incomplete: {} came", frame.come));
        }
        let contents = match Opcode::from_number(opcode) {
            Some(Opcode::Close) => shown_close(&payload),
            Some(Opcode::Text) => shown_payload(&payload, length, true),
            Some(Opcode::Continuation) => shown_payload(&payload, length, self.is_text),
            Some(Opcode::Binary | Opcode::Ping | Opcode::Pong) | None => {
                shown_payload(&payload, length, false)
            }
        };
        let colon = if contents.is_empty() { "" } else { ": " };
        format!("{}{colon}{contents}", parts.join(", "))
    }
}

/// The name of an opcode.
fn name(opcode: u8) -> String {
    match Opcode::from_number(opcode) {
        Some(Opcode::Continuation) => "CONTINUATION".to_owned(),
        Some(Opcode::Text) => "TEXT".to_owned(),
        Some(Opcode::Binary) => "BINARY".to_owned(),
        Some(Opcode::Close) => "CLOSE".to_owned(),
        Some(Opcode::Ping) => "PING".to_owned(),
        Some(Opcode::Pong) => "PONG".to_owned(),
        None => format!("undefined opcode {opcode:#x}"),
    }
}

/// The code and the reason of a Close frame.
fn shown_close(payload: &[u8]) -> String {
    let Some((code, reason)) = payload.split_first_chunk::<2>() else {
        return shown_payload(payload, 1, false);
    };
    let code = format!("code {}", CloseCode(u16::from_be_bytes(*code)));
    match String::from_utf8_lossy(reason) {
        reason if reason.is_empty() => code,
        reason => format!("{code}, reason {reason:?}"),
    }
}

/// The beginning of a payload of this length.
fn shown_payload(payload: &[u8], length: u64, is_text: bool) -> String {
    let valid = match std::str::from_utf8(payload) {
        Ok(text) => Some(text),
        // A character may be cut where the kept bytes end.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&payload[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let (shown, bytes) = match valid {
        Some(text) if is_text => {
            let shown: String = text.chars().take(MAX_SHOWN_CHARACTERS).collect();
            (if shown.is_empty() { String::new() } else { format!("{shown:?}") }, shown.len())
        }
        _ => {
            let bytes = &payload[..payload.len().min(MAX_SHOWN_BYTES)];
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            (hex.join(" "), bytes.len())
        }
    };
    let is_cut = !shown.is_empty() && (bytes as u64) < length;
    if is_cut { format!("{shown} ...") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_shown_however_they_are_split() {
        let sent = b"\x81\x85\x01\x02\x03\x04igohn\x88\x82\0\0\0\0\x03\xe8";
        let long = [&b"\x82\x7e\x01\x00"[..], &[0xab; 256]].concat();
        let received = [
            &b"\x01\x03\xc3\xa4\n\x80\x01b\x89\0\xc3\x01x"[..],
            &long,
            b"\x88\x0b\x03\xf3disk full\x81\x05ab",
        ]
        .concat();
        let expected = [
            "> TEXT, FIN, mask 01020304, length 5: \"hello\"",
            "> CLOSE, FIN, mask 00000000, length 2: code 1000 (normal closure)",
            "< TEXT, length 3: \"ä\\n\"",
            "< CONTINUATION, FIN, length 1: \"b\"",
            "< PING, FIN, length 0",
            "< undefined opcode 0x3, FIN, RSV1, length 1: 78",
            &format!("< BINARY, FIN, length 256: {} ...", ["ab"; 16].join(" ")),
            "< CLOSE, FIN, length 11: code 1011 (internal error), reason \"disk full\"",
            "< TEXT, FIN, length 5, incomplete: 2 came: \"ab\" ...",
        ];
        for pieces in [1, 3, usize::MAX] {
            let mut frames = WebSocketFrames::default();
            sent.chunks(pieces.min(sent.len())).for_each(|piece| frames.sent(piece));
            received.chunks(pieces.min(received.len())).for_each(|piece| frames.received(piece));
            frames.end();
            assert_eq!(frames.lines, expected, "{pieces}");
        }
    }
}
