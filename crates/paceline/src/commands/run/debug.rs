//! `--debug`: each request sent once and shown with its response, and nothing measured.
//!
//! Lines begin with `>` where they were sent, `<` where they came, `*` where they are about either, as curl has it.

use crate::exit::{Status, print};
use paceline_report::escape::terminal;
use paceline_run::{DebugExchange, Prepared};
use std::fmt::Write as _;
use std::time::Duration;

/// Lines of a body that are shown,
const BODY_LINES_MOST: usize = 40;
/// and characters of each.
const LINE_CHARACTERS_MOST: usize = 400;

/// Sends each request once and prints what came of it.
pub fn run(prepared: &Prepared) -> anyhow::Result<Status> {
    let exchanges = prepared.debug().map_err(super::explain)?;
    let is_mix = prepared.settings.job.is_mix();
    let mut text = String::new();
    for exchange in &exchanges {
        if is_mix {
            let _ = writeln!(text, "* request {}", terminal(&exchange.name));
        }
        text += &shown(exchange);
    }
    print(&text)?;
    let failed = exchanges.iter().any(|exchange| !exchange.faults.is_empty());
    Ok(if failed { Status::Failed } else { Status::Done })
}

fn shown(exchange: &DebugExchange) -> String {
    let mut text = format!("* connected to {}\n", exchange.address);
    if let Some(tls) = &exchange.tls {
        let _ = writeln!(text, "* TLS: {}", terminal(tls));
    }
    text += &marked('>', &exchange.request);
    text += &marked('<', &exchange.head);
    let body = exchange.decoded.as_ref().unwrap_or(&exchange.body);
    let _ = match &exchange.decoded {
        Some(decoded) => {
            writeln!(text, "* body: {} bytes, {} when decompressed", exchange.body.len(), decoded.len())
        }
        None => writeln!(text, "* body: {} bytes", exchange.body.len()),
    };
    text += &body_shown(body);
    let _ = match exchange.faults.as_slice() {
        [] => writeln!(text, "* checks: passed"),
        faults => writeln!(text, "* checks: failed: {}", terminal(&faults.join("; "))),
    };
    let times: Vec<String> =
        exchange.times.iter().map(|(what, took)| format!("{what} {}", milliseconds(*took))).collect();
    let _ = writeln!(text, "* times: {}", times.join(", "));
    text
}

/// The lines of a message, each with its mark; a body behind a blank line as one that is shown.
fn marked(mark: char, message: &[u8]) -> String {
    let head_end =
        message.windows(4).position(|four| four == b"\r\n\r\n").map_or(message.len(), |end| end + 2);
    let (head, body) = message.split_at(head_end);
    let mut text = String::new();
    for line in String::from_utf8_lossy(head).lines() {
        let _ = writeln!(text, "{mark} {}", terminal(line));
    }
    let body = body.get(2..).unwrap_or_default();
    if body.is_empty() {
        text + &format!("{mark}\n")
    } else {
        text + &format!("{mark}\n") + &body_shown(body)
    }
}

/// The beginning of a body, or that it is not text.
fn body_shown(body: &[u8]) -> String {
    let Ok(body) = std::str::from_utf8(body) else { return "* (not text)\n".to_owned() };
    let mut text = String::new();
    for line in body.lines().take(BODY_LINES_MOST) {
        let shown: String = line.chars().take(LINE_CHARACTERS_MOST).collect();
        let cut = if shown.len() < line.len() { " ..." } else { "" };
        let _ = writeln!(text, "{}{cut}", terminal(&shown));
    }
    let left = body.lines().count().saturating_sub(BODY_LINES_MOST);
    if left > 0 {
        let _ = writeln!(text, "* ({left} more lines)");
    }
    text
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
