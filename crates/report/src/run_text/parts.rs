//! The parts of a run: a row for each of its segments and requests, and the first wrong body of each request.
//!
//! Called by `mod.rs`. A run without parts has no such section. Its seconds are not parts: `--csv` and `--ndjson` write
//! them to files.

use super::lines::{Style, columns, table};
use super::quantity::{count, counted, not_ok, percent, seconds};
use super::times::{bounded, first_of};
use paceline_escape::TerminalText;
use paceline_record::{BadBody, Block, Counts, FailedCheck, RequestPart, Run, Segment, SessionPart};

/// A table for each kind of parts of the run.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let tables = [
        segments(run, style),
        sessions(run, style),
        requests(run, style),
        part_table("generator", run.by_generator.as_deref(), run, style),
    ];
    let reported: Vec<String> = tables.into_iter().flatten().collect();
    reported.join("\n")
}

/// Each segment with its load and its achieved rate: where offered and achieved rate differ, the target is overloaded.
fn segments(run: &Run, style: Style) -> Option<String> {
    let segments = run.by_segment.as_deref().filter(|segments| !segments.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let title = style.lines(&format!("{time} by segment of the window"), 2, Style::dim);
    // The schedule of sessions counts sessions; the others count requests. A closed loop changes its connections.
    let load = match (run.loop_.connection_plan.is_some(), run.loop_.sessions_offered_per_s.is_some()) {
        (true, _) => "connections",
        (false, true) => "sessions/s",
        (false, false) => "offered/s",
    };
    let header = ["from", load, "achieved/s", "ok", "p50", "p90", "p99", "max"];
    let rows: Vec<_> = segments.iter().map(|segment| segment_row(segment, run, style)).collect();
    Some(title + &table(&header, &rows, style))
}

fn segment_row(segment: &Segment, run: &Run, style: Style) -> Vec<String> {
    let start_s = segment.start_ns.saturating_sub(run.phases.window.start_ns) as f64 / 1e9;
    let from = if start_s > 0.0 { seconds(start_s) } else { "0 s".to_owned() };
    let load = segment.connections.unwrap_or(segment.offered_per_s);
    let mut cells = vec![from, count(load), count(segment.achieved_per_s())];
    cells.extend(share_and_times(&segment.block, run, style));
    cells
}

fn part_table(what: &str, parts: Option<&[Block]>, run: &Run, style: Style) -> Option<String> {
    let parts = parts.filter(|parts| !parts.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let header = ["by ".to_owned() + what, "requests".into(), "ok".into(), format!("{time} p50")];
    let header: Vec<&str> = header.iter().map(String::as_str).chain(["p90", "p99", "max"]).collect();
    let rows: Vec<Vec<String>> =
        parts.iter().enumerate().map(|(index, part)| part_row(index, part, run, style)).collect();
    Some(table(&header, &rows, style))
}

fn part_row(index: usize, part: &Block, run: &Run, style: Style) -> Vec<String> {
    let mut cells = vec![(index + 1).to_string(), count(part.counts.scheduled as f64)];
    cells.extend(share_and_times(part, run, style));
    cells
}

/// The share that was ok, and percentiles of its main time.
fn share_and_times(part: &Block, run: &Run, style: Style) -> Vec<String> {
    let counts = part.counts;
    let ok = counts.ok as f64 / (counts.scheduled as f64).max(1.0);
    let mut cells = vec![percent(ok)];
    match first_of(run, part).1 {
        Some(times) => {
            cells.extend(
                [times.p50, times.p90, times.p99, times.max].map(|value| bounded(value, part, style)),
            );
        }
        None => cells.extend([const { String::new() }; 4]),
    }
    cells
}

/// The column of failed requests in a row.
const FAULTS: usize = 2;

/// A row for each request of a mix.
fn requests(run: &Run, style: Style) -> Option<String> {
    let parts = run.by_request.as_deref().filter(|parts| !parts.is_empty())?;
    let (time, _) = first_of(run, &run.total);
    let mut header = vec![time, "requests", "not ok", "p50", "p90", "p99", "max"];
    let mut rows: Vec<Vec<String>> = parts.iter().map(|part| request_row(part, run, style)).collect();
    if parts.iter().all(|part| part.block.counts.not_ok() == 0) {
        // Columns without information are removed to save space.
        header.remove(FAULTS);
        rows.iter_mut().for_each(|row| drop(row.remove(FAULTS)));
    }
    Some(table(&header, &rows, style))
}

/// A row for each session of a request file.
fn sessions(run: &Run, style: Style) -> Option<String> {
    let sessions = run.sessions.as_deref().filter(|sessions| !sessions.is_empty())?;
    let header = ["session time", "started", "completed", "failed", "unfinished", "p50", "p99", "max"];
    let rows: Vec<Vec<String>> = sessions.iter().map(|session| session_row(session, style)).collect();
    Some(table(&header, &rows, style))
}

fn session_row(session: &SessionPart, style: Style) -> Vec<String> {
    let counts = [session.started, session.completed, session.failed, session.unfinished];
    let mut cells = vec![session.name.clone()];
    cells.extend(counts.map(|number| count(number as f64)));
    match &session.session_time_ns {
        Some(times) => {
            cells.extend([times.p50, times.p99, times.max].map(|value| style.time(value as f64)));
        }
        None => cells.extend([const { String::new() }; 3]),
    }
    cells
}

fn request_row(part: &RequestPart, run: &Run, style: Style) -> Vec<String> {
    let counts = part.block.counts;
    let mut cells = vec![part.name.clone(), count(counts.scheduled as f64), commonest(&counts)];
    match first_of(run, &part.block).1 {
        Some(times) => {
            let times = [times.p50, times.p90, times.p99, times.max];
            cells.extend(times.map(|value| bounded(value, &part.block, style)));
        }
        None => cells.extend([const { String::new() }; 4]),
    }
    cells
}

/// The most frequent outcome of the requests that did not end well.
fn commonest(counts: &Counts) -> String {
    let most = not_ok(counts).into_iter().filter(|(_, number)| *number > 0).max_by_key(|(_, number)| *number);
    let Some((name, number)) = most else { return String::new() };
    let others = if counts.not_ok() > number { " and others" } else { "" };
    format!("{} {name}{others}", count(number as f64))
}

/// The responses that a script refused, and the bodies received instead of the expected ones.
pub(super) fn bad_bodies(run: &Run, style: Style) -> String {
    let refused = run.failed_checks.iter().map(|FailedCheck { reason, count: refused }| {
        style.lines(
            &format!("failed check: {reason} ({})", counted(*refused as f64, "response")),
            2,
            Style::warn,
        )
    });
    refused.chain(run.bad_bodies.iter().map(|bad| body_lines(bad, style))).collect()
}

fn body_lines(bad: &BadBody, style: Style) -> String {
    let of = bad.request.as_deref().map_or(String::new(), |name| format!(" of {name}"));
    let differs =
        bad.differs_at.map_or(String::new(), |at| format!("; the first difference is at byte {at}"));
    let reported = format!(
        "the first bad response{of}: status {}, {}: {}{differs}",
        bad.status,
        counted(bad.body_bytes as f64, "byte"),
        bad.fault
    );
    let mut text = style.lines(&reported, 2, Style::warn);
    if bad.shown.is_empty() {
        return text;
    }
    let before = if bad.shown_from > 0 { "..." } else { "" };
    let until = bad.shown_from.saturating_add(bad.shown.len() as u64);
    let after = if until < bad.body_bytes { "..." } else { "" };
    let line = format!("{before}{}{after}", body_text(&bad.shown));
    let room = style.width.saturating_sub(4);
    let line: String = line.chars().take(room).collect();
    text.push_str(&format!("    {line}\n"));
    text.push_str(&caret(bad, before, room));
    text
}

/// A mark under the first wrong byte, if each byte before it is a separate character.
fn caret(bad: &BadBody, before: &str, room: usize) -> String {
    let place = bad.differs_at.and_then(|at| at.checked_sub(bad.shown_from)).map(|place| place as usize);
    let beginning = place.and_then(|place| bad.shown.get(..place)).filter(|beginning| beginning.is_ascii());
    match beginning.map(|beginning| columns(before) + columns(&body_text(beginning))) {
        Some(column) if column < room => format!("    {}^\n", " ".repeat(column)),
        _ => String::new(),
    }
}

/// A piece of a body on one line.
fn body_text(text: &str) -> String {
    TerminalText::from_text(&text.replace('\n', "\\n").replace('\r', "\\r")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(differs_at: Option<u64>, shown: &str, shown_from: u64, body_bytes: u64) -> BadBody {
        let fault = "the body differs from the expected body of 12 bytes".to_owned();
        let (request, shown) = (Some("order".to_owned()), shown.to_owned());
        BadBody { request, at_ns: 1, status: 200, body_bytes, fault, differs_at, shown, shown_from }
    }

    #[test]
    fn a_wrong_body_is_shown_with_its_first_wrong_byte() {
        let style = Style::new(false, 100);
        assert_eq!(
            body_lines(&bad(Some(7), "Hello\u{1b}[2JWorld\n", 0, 15), style),
            concat!(
                "  the first bad response of order: status 200, 15 bytes: the body differs from the expected body of\n",
                "  12 bytes; the first difference is at byte 7\n",
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
    fn the_most_frequent_fault_is_named() {
        let counts = Counts { scheduled: 1_300, ok: 88, bad_body: 1_204, timed_out: 8, ..Counts::default() };
        assert_eq!(commonest(&counts), "1,204 bad body and others");
        assert_eq!(commonest(&Counts { scheduled: 8, timed_out: 8, ..Counts::default() }), "8 timed out");
        assert_eq!(commonest(&Counts { scheduled: 8, ok: 8, ..Counts::default() }), "");
    }
}
