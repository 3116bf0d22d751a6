//! The requests of a mix, each with a row, and how the first wrong body of each looked.
//!
//! `parts.rs` asks for the table, `mod.rs` for the bodies. What was wrong with a body the engine has found out; here it
//! is shown on one line, cut to the width, with nothing in it that steers a terminal.

use super::lines::{Style, columns, table};
use super::quantity::{count, counted};
use super::times::{bounded, first_of};
use paceline_record::{BadBody, Counts, RequestPart, Run};

/// Where in a row stands what was not ok.
const FAULTS: usize = 2;

/// A row for each request of a mix.
pub(super) fn table_of(run: &Run, style: Style) -> Option<String> {
    let parts = run.by_request.as_deref().filter(|parts| !parts.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let mut header = vec![time, "requests", "not ok", "p50", "p90", "p99", "max"];
    let mut rows: Vec<Vec<String>> = parts.iter().map(|part| row(part, run)).collect();
    if parts.iter().all(|part| part.block.counts.not_ok() == 0) {
        // What says nothing leaves room for what does.
        header.remove(FAULTS);
        rows.iter_mut().for_each(|row| drop(row.remove(FAULTS)));
    }
    Some(table(&header, &rows, style))
}

fn row(part: &RequestPart, run: &Run) -> Vec<String> {
    let counts = part.block.counts;
    let mut cells = vec![part.name.clone(), count(counts.scheduled as f64), commonest(&counts)];
    match first_of(run, &part.block).1 {
        Some(times) => {
            let times = [times.p50, times.p90, times.p99, times.max];
            cells.extend(times.map(|value| bounded(value, &part.block)));
        }
        None => cells.extend([const { String::new() }; 4]),
    }
    cells
}

/// How most of the requests ended that did not end well.
fn commonest(counts: &Counts) -> String {
    let kinds = [
        ("bad status", counts.bad_status),
        ("bad body", counts.bad_body),
        ("connect failed", counts.connect_failed),
        ("connection broken", counts.io_failed),
        ("timed out", counts.timed_out),
        ("unsent", counts.unsent),
    ];
    let most = kinds.into_iter().filter(|(_, number)| *number > 0).max_by_key(|(_, number)| *number);
    let Some((name, number)) = most else { return String::new() };
    let others = if counts.not_ok() > number { " and others" } else { "" };
    format!("{} {name}{others}", count(number as f64))
}

/// What came instead of what was expected.
pub(super) fn bad_bodies(run: &Run, style: Style) -> String {
    run.bad_bodies.iter().map(|bad| body_lines(bad, style)).collect()
}

fn body_lines(bad: &BadBody, style: Style) -> String {
    let of = bad.request.as_deref().map_or(String::new(), |name| format!(" of {name}"));
    let differs = bad.differs_at.map_or(String::new(), |at| format!("; the first other byte is at {at}"));
    let told = format!(
        "the first bad body{of}: status {}, {}: {}{differs}",
        bad.status,
        counted(bad.body_bytes as f64, "byte"),
        bad.fault
    );
    let mut text = style.lines(&told, 2, Style::warn);
    if bad.shown.is_empty() {
        return text;
    }
    let before = if bad.shown_from > 0 { "..." } else { "" };
    let until = bad.shown_from + bad.shown.len() as u64;
    let after = if until < bad.body_bytes { "..." } else { "" };
    let line = format!("{before}{}{after}", on_one_line(&bad.shown));
    let room = style.width.saturating_sub(4);
    let line: String = line.chars().take(room).collect();
    text.push_str(&format!("    {line}\n"));
    text.push_str(&caret(bad, before, room));
    text
}

/// A mark under the first wrong byte, where each byte before it is a letter of its own.
fn caret(bad: &BadBody, before: &str, room: usize) -> String {
    let place = bad.differs_at.and_then(|at| at.checked_sub(bad.shown_from)).map(|place| place as usize);
    let beginning = place.and_then(|place| bad.shown.get(..place)).filter(|beginning| beginning.is_ascii());
    match beginning.map(|beginning| columns(before) + columns(&on_one_line(beginning))) {
        Some(column) if column < room => format!("    {}^\n", " ".repeat(column)),
        _ => String::new(),
    }
}

/// A text whose line ends and control characters are written out: a terminal is not the server's to control.
fn on_one_line(text: &str) -> String {
    text.chars()
        .map(
            |letter| {
                if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(differs_at: Option<u64>, shown: &str, shown_from: u64, body_bytes: u64) -> BadBody {
        let fault = "it differs from the one expected, of 12 bytes".to_owned();
        let (request, shown) = (Some("order".to_owned()), shown.to_owned());
        BadBody { request, at_ns: 1, status: 200, body_bytes, fault, differs_at, shown, shown_from }
    }

    #[test]
    fn a_wrong_body_is_shown_with_its_first_wrong_byte() {
        let style = Style::new(false, 100);
        assert_eq!(
            body_lines(&bad(Some(7), "Hello\u{1b}[2JWorld\n", 0, 15), style),
            concat!(
                "  the first bad body of order: status 200, 15 bytes: it differs from the one expected, of 12 bytes;\n",
                "  the first other byte is at 7\n",
                "    Hello\\u{1b}[2JWorld\\n\n",
                "                ^\n"
            )
        );
        let text = body_lines(&bad(Some(1_010), "elloWurld", 1_005, 2_000), style);
        assert!(text.ends_with("    ...elloWurld...\n            ^\n"), "{text}");
        let text = body_lines(&bad(Some(4), "\u{e9}\u{e9}x", 0, 5), style);
        assert!(text.ends_with("    \u{e9}\u{e9}x\n"), "{text}");
        let narrow = body_lines(&bad(Some(60), &"x".repeat(90), 0, 90), Style::new(false, 40));
        assert!(narrow.lines().all(|line| columns(line) <= 40), "{narrow}");
        assert!(!body_lines(&bad(None, "", 0, 0), style).contains('^'));
    }

    #[test]
    fn the_commonest_fault_is_named() {
        let counts = Counts { scheduled: 1_300, ok: 88, bad_body: 1_204, timed_out: 8, ..Counts::default() };
        assert_eq!(commonest(&counts), "1,204 bad body and others");
        assert_eq!(commonest(&Counts { scheduled: 8, timed_out: 8, ..Counts::default() }), "8 timed out");
        assert_eq!(commonest(&Counts { scheduled: 8, ok: 8, ..Counts::default() }), "");
    }
}
