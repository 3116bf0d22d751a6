//! siege's report (`src/data.c`, `src/main.c` of 4.0.7) from a run, to the byte layout: text on standard error, or JSON
//! on standard output.

use super::command::{Log, SiegeCommand, VERSION};
use crate::answers::{
    answered, answered_in_window, answered_with, times_left_out, until_last_response, whole_times,
};
use crate::quantity::total;
use crate::tool::{LogRow, ToolOutput, concerns};
use paceline_record::Run;
use std::fmt::Write as _;

/// The number of failures after which siege gives up.
const MAX_FAILURES: u64 = 1024;
const MIB: f64 = 1024.0 * 1024.0;

/// The figures of a report.
#[derive(Default)]
struct Figures {
    hits: u64,
    /// Responses of any status.
    answered: u64,
    ok: u64,
    failed: u64,
    seconds: f64,
    bytes: u64,
    /// The mean time.
    mean_s: f64,
    longest_s: f64,
    shortest_s: f64,
}

/// The text before the run.
pub fn begin(command: &SiegeCommand) -> ToolOutput {
    let mut stderr = String::new();
    if !command.is_quiet && !command.is_json {
        let users = command.users();
        let end = if command.is_verbose { "\n" } else { "" };
        let _ = write!(
            stderr,
            "** {VERSION}\n** Preparing {users} concurrent users for battle.\nThe server is now under siege...{end}"
        );
    }
    ToolOutput { stderr, ..ToolOutput::default() }
}

/// The text after the run.
pub fn report(command: &SiegeCommand, run: &Run) -> ToolOutput {
    let counts = run.total.counts;
    let times = whole_times(&run.total);
    let is_cut = command.is_timed() || run.stopped;
    // At the end of its time siege does not wait for responses, and counts none of those that are outstanding.
    let of = |is: fn(u16) -> bool| match is_cut {
        true => answered_in_window(run, is),
        false => answered_with(&run.total, is),
    };
    let errors = of(|status| matches!(status, 408 | 500..510));
    let in_time = of(|_| true);
    let share_in_time = ratio(in_time as f64, answered(&run.total) as f64);
    let figures = Figures {
        hits: in_time.saturating_sub(errors),
        answered: in_time,
        ok: of(|status| status < 400 || status == 401 || status == 407),
        failed: total([errors, counts.connect_failed, counts.io_failed, run.exceeded_timeout()].into_iter()),
        seconds: if is_cut { run.window_s } else { until_last_response(run) },
        bytes: (run.total.bytes.body as f64 * share_in_time) as u64,
        mean_s: times.mean().unwrap_or(0.0) / 1e9,
        longest_s: times.max().unwrap_or(0) as f64 / 1e9,
        shortest_s: times.min().unwrap_or(0) as f64 / 1e9,
    };
    let started_at = run.started_at.get(..19).unwrap_or_default().replace('T', " ");
    let mut output = output(command, &figures, if is_cut { "\nLifting the server siege...\n" } else { "\n" });
    if let Some(log) = &command.log {
        output.log = Some(Box::new(log_row(log, &figures, &started_at)));
        if log.is_shown && !command.is_quiet && !command.is_json {
            let _ = write!(
                output.stdout,
                "LOG FILE: {}\nYou can disable this log file notification by editing\n{} and changing 'show-logfile' to false.\n",
                log.path, log.settings_file
            );
        }
    }
    output.stderr.push_str(&(concerns(run) + &times_left_out(&run.total, &times)));
    let redirects = of(|status| (300..400).contains(&status) && status != 304);
    if redirects > 0 && command.job().follow == 0 {
        output.stderr.push_str(
            "paceline: redirects were not followed: use the URL that they lead to, or connection = keep-alive\n",
        );
    }
    for note in &command.notes {
        let _ = writeln!(output.stderr, "paceline: {note}");
    }
    output
}

/// The text if no connection can be made.
pub fn unreachable(command: &SiegeCommand, errors: &[&str]) -> ToolOutput {
    let failed = command.requests.unwrap_or(MAX_FAILURES).min(MAX_FAILURES);
    let begun = begin(command).stderr;
    let error: String = errors.iter().map(|error| format!("[error] {error}\n")).collect();
    let report = output(command, &Figures { failed, ..Figures::default() }, "\n");
    ToolOutput { stderr: begun + &error + &report.stderr, ..report }
}

fn output(command: &SiegeCommand, figures: &Figures, before: &str) -> ToolOutput {
    match (command.is_json, command.is_quiet) {
        (true, _) => ToolOutput { stdout: figures.json(), stderr: "\n".to_owned(), ..ToolOutput::default() },
        (false, true) => ToolOutput::default(),
        (false, false) => {
            ToolOutput { stderr: format!("{before}{}", figures.text()), ..ToolOutput::default() }
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl Figures {
    fn availability(&self) -> f64 {
        if self.hits == 0 { 0.0 } else { self.hits as f64 / (self.hits + self.failed) as f64 * 100.0 }
    }

    /// The mean number of requests in flight.
    fn concurrency(&self) -> f64 {
        ratio(self.mean_s * self.answered as f64, self.seconds)
    }

    /// The figures that are not whole numbers, by their label in the text.
    fn measures(&self) -> [(&'static str, f64, &'static str); 7] {
        let megabytes = self.bytes as f64 / MIB;
        [
            ("Availability", self.availability(), "%"),
            ("Elapsed time", self.seconds, "secs"),
            ("Data transferred", megabytes, "MB"),
            ("Response time", self.mean_s, "secs"),
            ("Transaction rate", ratio(self.hits as f64, self.seconds), "trans/sec"),
            ("Throughput", ratio(megabytes, self.seconds), "MB/sec"),
            ("Concurrency", self.concurrency(), ""),
        ]
    }

    fn text(&self) -> String {
        let mut text = format!("Transactions:\t\t{:>12} hits\n", self.hits);
        for (label, value, unit) in self.measures() {
            let line = format!("{label}:{}{value:>12.2} {unit}", tabs(label));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = write!(
            text,
            "Successful transactions:{:>12}\nFailed transactions:\t{:>12}\nLongest transaction:\t{:>12.2}\nShortest transaction:\t{:>12.2}\n \n",
            self.ok, self.failed, self.longest_s, self.shortest_s
        );
        text
    }

    fn json(&self) -> String {
        let mut text = format!("{{\t\"transactions\":\t\t\t{:>12},\n", self.hits);
        for (label, value, _) in self.measures() {
            let key = label.to_lowercase().replace(' ', "_");
            let tabs = if key.len() < 13 { "\t\t\t" } else { "\t\t" };
            let _ = writeln!(text, "\t\"{key}\":{tabs}{value:>12.2},");
        }
        let _ = write!(
            text,
            "\t\"successful_transactions\":\t{:>12},\n\t\"failed_transactions\":\t\t{:>12},\n\t\"longest_transaction\":\t\t{:>12.2},\n\t\"shortest_transaction\":\t\t{:>12.2}\n}}\n",
            self.ok, self.failed, self.longest_s, self.shortest_s
        );
        text
    }
}

/// The tabs after a label.
fn tabs(label: &str) -> &'static str {
    if label.len() + 1 < 16 { "\t\t" } else { "\t" }
}

/// What the log of all runs gets for this run.
fn log_row(log: &Log, figures: &Figures, started_at: &str) -> LogRow {
    let heading = "      Date & Time,  Trans,  Elap Time,  Data Trans,  Resp Time,  Trans Rate,  Throughput,  Concurrent,    OKAY,   Failed\n";
    let mut text = log.mark.as_ref().map(|mark| format!("**** {mark} ****\n")).unwrap_or_default();
    // siege truncates the megabytes, and computes the throughput from that.
    let megabytes = (figures.bytes as f64 / MIB) as u64;
    let _ = writeln!(
        text,
        "{started_at},{:>7},{:>11.2},{megabytes:>12},{:>11.2},{:>12.2},{:>12.2},{:>12.2},{:>8},{:>8}",
        figures.hits,
        figures.seconds,
        figures.mean_s,
        ratio(figures.hits as f64, figures.seconds),
        ratio(megabytes as f64, figures.seconds),
        figures.concurrency(),
        figures.ok,
        figures.failed
    );
    LogRow { path: log.path.clone(), heading: heading.to_owned(), text }
}

#[cfg(test)]
mod tests;
