//! `--debug`: sends each request once and shows it with its response; measures nothing.
//!
//! Lines begin with `>` if sent, `<` if received, and `*` for comments, as in curl. Over HTTP/2 and HTTP/3 the frames are listed
//! before the request and the response, which are shown as fields; those of a WebSocket after its handshake.

use super::explain::explain;
use crate::exit::{Status, print};
use paceline_escape::{TerminalText, terminal};
use paceline_run::{DebugExchange, DebugOutcome, Prepared};
use paceline_stats::{counted, time_text};
use std::borrow::Cow;

/// Maximum body lines shown,
const MAX_BODY_LINES: usize = 40;
/// and characters of each.
const MAX_LINE_CHARACTERS: usize = 400;

/// Sends each request once and prints the response.
pub fn run(prepared: &Prepared) -> anyhow::Result<Status> {
    let DebugOutcome { exchanges, error } = prepared.debug().map_err(explain)?;
    let is_mix = prepared.settings.job.is_mix();
    let mut text = TerminalText::default();
    for exchange in &exchanges {
        if is_mix {
            text.push(&terminal!("* request {}\n", exchange.name));
        }
        text.push(&shown(exchange));
    }
    print(text)?;
    if let Some(error) = error {
        return Err(explain(error));
    }
    let failed = exchanges.iter().any(|exchange| !exchange.faults.is_empty());
    Ok(if failed { Status::Failed } else { Status::Done })
}

fn shown(exchange: &DebugExchange) -> TerminalText {
    let mut text = TerminalText::default();
    if let Some(address) = &exchange.address {
        text.push(&terminal!("* connected to {}\n", address.to_string()));
    }
    if let Some(tls) = &exchange.tls {
        text.push(&terminal!("* TLS: {}\n", tls));
    }
    for frame in &exchange.frames {
        text.push(&terminal!("* frame {}\n", frame));
    }
    text.push(&marked(">", &exchange.request));
    text.push(&marked("<", &exchange.head));
    if let Some(offer) = exchange.http3_offer() {
        text.push(&terminal!("* Alt-Svc: the server offers HTTP/3 ({}): try --http 3\n", offer));
    }
    for frame in exchange.websocket.iter().flatten() {
        text.push(&terminal!("* frame {}\n", frame));
    }
    if exchange.is_handed_back {
        text.push(&TerminalText::literal("* the server did not process the request: it is sent again\n"));
        return text;
    }
    if exchange.websocket.is_none() || !exchange.body.is_empty() {
        text.push(&body_with_length(exchange));
    }
    if !exchange.trailers.is_empty() {
        text.push(&marked("<", &exchange.trailers));
    }
    text.push(&match exchange.faults.as_slice() {
        [] => TerminalText::literal("* checks: passed\n"),
        faults => terminal!("* checks: failed: {}\n", faults.join("; ")),
    });
    let times: Vec<String> = exchange
        .times
        .iter()
        .map(|(what, took)| format!("{what} {}", time_text(took.as_nanos() as f64)))
        .collect();
    text.push(&terminal!("* times: {}\n", times.join(", ")));
    text
}

/// The body with a line that says how long it is.
fn body_with_length(exchange: &DebugExchange) -> TerminalText {
    let mut text = TerminalText::default();
    let bytes = |count: usize| counted(count, "byte", "bytes");
    let received = bytes(exchange.body.len());
    match exchange.content() {
        Ok(_) if let Some(messages) = &exchange.messages => {
            text.push(&terminal!(
                "* body: {}, {}\n",
                received,
                counted(messages.len(), "message", "messages")
            ));
            text.push(&body_shown(messages.join("\n").as_bytes()));
        }
        Ok(Cow::Owned(content)) => {
            text.push(&terminal!("* body: {}, {} when decompressed\n", received, content.len()));
            text.push(&body_shown(&content));
        }
        Ok(Cow::Borrowed(content)) => {
            text.push(&terminal!("* body: {}\n", received));
            text.push(&body_shown(content));
        }
        Err(error) => {
            text.push(&terminal!("* body: {}, not decoded: {}\n", received, error.to_string()));
            text.push(&body_shown(&exchange.body));
        }
    }
    text
}

/// The lines of a message, each with its mark. A body after a blank line is shown as text.
fn marked(mark: &'static str, message: &[u8]) -> TerminalText {
    let head_end =
        message.windows(4).position(|four| four == b"\r\n\r\n").map_or(message.len(), |end| end + 2);
    let (head, body) = message.split_at(head_end);
    let lines = String::from_utf8_lossy(head);
    let mut text: TerminalText = lines.lines().map(|line| terminal!("{} {}\n", mark, line)).collect();
    text.push(&terminal!("{}\n", mark));
    let body = body.get(2..).unwrap_or_default();
    if !body.is_empty() {
        text.push(&body_shown(body));
    }
    text
}

/// The beginning of a body, or a note that it is not text.
fn body_shown(body: &[u8]) -> TerminalText {
    let Ok(body) = std::str::from_utf8(body) else { return TerminalText::literal("* (not text)\n") };
    let mut text = TerminalText::default();
    for line in body.lines().take(MAX_BODY_LINES) {
        let shown: String = line.chars().take(MAX_LINE_CHARACTERS).collect();
        text.push(&terminal!("{}{}\n", shown, if shown.len() < line.len() { " ..." } else { "" }));
    }
    let left = body.lines().count().saturating_sub(MAX_BODY_LINES);
    if left > 0 {
        text.push(&terminal!("* ({})\n", counted(left, "more line", "more lines")));
    }
    text
}
