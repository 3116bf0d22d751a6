//! siege 4 with `json_output`: one object, numbers padded with tabs and spaces.
//!
//! Run in `peers`, with settings that `workplace` writes and a home in its folder: no settings of the person who
//! measures are read or written. Its shortest and longest times are not taken.

use super::Report;
use crate::plan::Command;
use anyhow::Context as _;

/// Its settings: without `connection = keep-alive` every request has a connection of its own.
pub const SETTINGS: &str = "connection = keep-alive\nprotocol = HTTP/1.1\nlimit = 1024\nparser = false\nlogging = false\n\
    show-logfile = false\nverbose = false\njson_output = true\n";

/// A closed loop, a thread for each connection. It writes a template of its settings into its home.
pub fn closed(connections: u32, seconds: u32) -> Command {
    Command::new("siege", &format!("-R {{work}}/siegerc -b -c {connections} -t {seconds}S {{url}}"))
        .with("HOME", "{work}/home")
}

#[derive(serde::Deserialize)]
struct Printed {
    transactions: u64,
    failed_transactions: u64,
    elapsed_time: f64,
}

/// Reads the object, wherever it begins.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let object = output.find('{').map(|start| &output[start..]).context("no JSON in it")?;
    let printed: Printed = serde_json::from_str(object.trim_end())?;
    Ok(Report {
        requests: printed.transactions,
        failures: printed.failed_transactions,
        wall_s: Some(printed.elapsed_time),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_after_some_words() {
        let report = read(
            "New configuration template added to /home/someone/.siege\nRun siege -C to view the current settings in that file\n\
             {\t\"transactions\":\t\t\t        2051,\n\t\"availability\":\t\t\t      100.00,\n\
             \t\"elapsed_time\":\t\t\t        0.78,\n\t\"successful_transactions\":\t        2051,\n\
             \t\"failed_transactions\":\t\t           3,\n\t\"shortest_transaction\":\t\t        0.00\n}\n",
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (2051, 3, Some(0.78)));
    }
}
