//! Tests the live view on a terminal: it is shown during the run and completely removed at the end, however the run
//! ends.
//!
//! Each run uses a pseudo-terminal (`terminal.rs`), whose screen is checked. The text of the view at each width is
//! tested in the report crate's `live/tests.rs`.

use super::terminal::Terminal;
use super::{ReferenceServer, Runs as _, text};
use crate::faults::full_backlog;
use crate::noise::within_five_tries;
use std::net::TcpListener;
use std::process::Command;

/// Flags of a run of an hour, which the test ends.
const LONG: [&str; 6] = ["-r", "500", "-d", "1h", "--warmup", "1s"];

/// The empty part of the progress bar: nearly all of it, in a run of an hour.
const BAR: char = '\u{2500}';

/// Whether the screen shows parts of the view that no report has.
fn is_drawn(shown: &str) -> bool {
    shown.contains(" left") && shown.contains("of 500/s offered") && shown.contains("backlog")
}

/// Checks that the view is removed, earlier text is still there, and the terminal is in its original state.
fn assert_gone(terminal: &Terminal) {
    let shown = terminal.shown();
    assert!(shown.starts_with("what was here before"), "{shown}");
    assert!(!shown.contains(BAR) && !shown.contains(" left") && !shown.contains("stopping"), "{shown}");
    assert!(terminal.is_as_it_was());
}

#[test]
fn the_live_view_fits_any_width_and_is_removed_after_ctrl_c() {
    let server = ReferenceServer::start("immediate");
    for columns in [80, 40] {
        // On a busy machine the report has many warnings, and it must not scroll.
        let mut terminal = Terminal::run(server.run(&LONG), 150, columns);
        terminal.wait_for_frame(|shown| shown.contains("window") && is_drawn(shown)).unwrap();
        let shown = terminal.shown();
        assert!(shown.contains("p99") && shown.contains("response"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < usize::from(columns)), "{shown}");
        terminal.type_in(b"\x03");
        assert_eq!(terminal.wait_end().code(), Some(130));
        assert_gone(&terminal);
        // Lines of the report that are too long for the terminal are wrapped by Paceline, between words.
        let shown = terminal.shown();
        assert!(shown.contains("requests/s") && shown.contains("interrupted"), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.chars().count() <= usize::from(columns)), "{shown}");
    }
}

#[test]
fn text_fits_a_terminal_that_does_not_report_all_of_its_size() {
    let server = ReferenceServer::start("immediate");
    // Long enough for a live view, which would need the rows.
    let run = ["-r", "500", "-d", "2s", "--warmup", "0s", "--allow-invalid"];
    let sizes = [(0, 60, None, 60), (0, 0, None, 80), (24, 0, None, 80), (0, 0, Some("70"), 70)];
    for (rows, columns, environment, expected) in sizes {
        for (flags, status) in [(&run[..], 0), (&["--help"], 0), (&["-q", "5"], 2)] {
            let mut command = server.run(flags);
            command.env("NO_COLOR", "1").env_remove("COLUMNS");
            command.envs(environment.map(|columns| ("COLUMNS", columns)));
            let mut terminal = Terminal::run(command, rows, columns);
            let ended = terminal.wait_end().code();
            let printed = text(&terminal.bytes);
            let case = format!("{flags:?} on {rows} x {columns}, COLUMNS {environment:?}:\n{printed}");
            assert_eq!(ended, Some(status), "{case}");
            // Wrapped between words, so the longest line ends within a word of the edge.
            let longest = printed.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!((expected - 12..=expected).contains(&longest), "{longest} columns: {case}");
            assert!(!printed.contains("\x1b[?7l"), "{case}");
        }
    }
}

#[test]
fn the_live_view_survives_a_resize() {
    let server = ReferenceServer::start("immediate");
    // Too few rows for charts.
    let mut terminal = Terminal::run(server.run(&LONG), 12, 80);
    terminal.wait_until(|shown| is_drawn(shown) && shown.contains(BAR));
    terminal.resize(12, 40);
    // There is no space for the bar.
    terminal.wait_until(|shown| is_drawn(shown) && !shown.contains(BAR));
    let lines = |terminal: &Terminal| terminal.shown().lines().count();
    assert_eq!(lines(&terminal), 6, "{}", terminal.shown());
    terminal.resize(12, 100);
    terminal.wait_until(|shown| is_drawn(shown) && shown.contains(BAR));
    assert_eq!(lines(&terminal), 6, "{}", terminal.shown());
    // With fewer rows than the view has, the rows that fit are shown.
    terminal.resize(3, 80);
    terminal.signal(libc::SIGTERM);
    assert_eq!(terminal.wait_end().code(), Some(130));
    assert!(terminal.is_as_it_was());
}

#[test]
fn the_live_view_uses_the_height_and_stays_on_request() {
    let server = ReferenceServer::start("immediate");
    let flags = ["-r", "500", "-d", "4s", "--warmup", "0s", "--keep-live"];
    within_five_tries(|| {
        let mut terminal = Terminal::run(server.run(&flags), 40, 100);
        terminal.wait_for(|shown| shown.contains("requests/s") && shown.contains(" now"))?;
        terminal.wait_end();
        let shown = text(&terminal.bytes);
        let after = shown.rsplit("\x1b[?7h").next().unwrap_or_default();
        if after.contains("\x1b[J") { Err(after.to_owned()) } else { Ok(()) }
    });
}

#[test]
fn the_live_view_is_removed_after_a_second_ctrl_c() {
    // A server that does not answer: the first Ctrl-C waits half a second for it.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", mute.local_addr().unwrap());
    within_five_tries(|| {
        let mut command = Command::new(super::PACELINE);
        command.args(["run", &url, "-c", "3"]).args(LONG);
        let mut terminal = Terminal::run(command, 60, 80);
        terminal.wait_for_frame(is_drawn)?;
        terminal.type_in(b"\x03");
        terminal.wait_for_frame(|shown| shown.contains("stopping"))?;
        terminal.type_in(b"\x03");
        assert_eq!(terminal.wait_end().code(), Some(130));
        assert_gone(&terminal);
        Ok(())
    });
}

#[test]
fn the_live_view_is_removed_after_an_error() {
    // No process accepts: connecting continues until its limit, then there is an error.
    let address = full_backlog();
    within_five_tries(|| {
        let mut command = Command::new(super::PACELINE);
        command.args(["run", &format!("http://{address}/"), "-c", "2", "--connect-timeout", "5s"]);
        let mut terminal = Terminal::run(command, 60, 80);
        terminal.wait_for(|shown| shown.contains("connecting to 127.0.0.1"))?;
        assert_eq!(terminal.wait_end().code(), Some(3));
        assert_gone(&terminal);
        let shown = terminal.shown();
        assert!(shown.contains("paceline: nothing was measured"), "{shown}");
        Ok(())
    });
}

#[test]
fn the_live_view_is_shown_only_on_a_terminal() {
    let server = ReferenceServer::start("immediate");
    let flags = ["-r", "500", "-d", "5s", "--warmup", "0s"];
    let mut terminal = Terminal::run(server.run(&[&flags[..], &["--no-live"]].concat()), 60, 80);
    terminal.wait_end();
    let shown = text(&terminal.bytes);
    assert!(
        shown.contains("requests/s") && !shown.contains("\x1b[?7l") && !shown.contains(" left"),
        "{shown}"
    );
    // Neither standard output nor standard error is a terminal.
    let output = server.output(&flags);
    assert!(output.stderr.is_empty() && !output.stdout.contains(&0x1b), "{}", text(&output.stderr));
    // On a terminal without colours the view and the report have none.
    within_five_tries(|| {
        let mut command = server.run(&flags);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::run(command, 60, 80);
        terminal.wait_end();
        let shown = text(&terminal.bytes);
        let colours = ["\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[1;31m"];
        assert!(colours.iter().all(|code| !shown.contains(code)), "{shown}");
        if shown.contains("\x1b[?7l") { Ok(()) } else { Err(format!("nothing was drawn: {shown}")) }
    });
}
