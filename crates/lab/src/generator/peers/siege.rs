//! siege 4 with `json_output`: one object, numbers padded with tabs and spaces.
//!
//! `speed/` writes the settings ([`SIEGE_SETTINGS`]) and fills in `{work}`, its folder: the user's own settings are
//! neither read nor written. Its shortest and longest times are not read.

use super::peer::{PeerGenerator, PeerReport};

/// Its settings: without `connection = keep-alive` every request has a separate connection.
pub const SIEGE_SETTINGS: &str = "connection = keep-alive\nprotocol = HTTP/1.1\nlimit = 1024\nparser = false\n\
    logging = false\nshow-logfile = false\nverbose = false\njson_output = true\n";

/// `siege`: a closed loop, a thread for each connection. It writes a template of its settings into its home folder.
pub const SIEGE: PeerGenerator = PeerGenerator {
    name: "siege",
    arguments: &["-R", "{work}/siegerc", "-b", "-c", "{connections}", "-t", "{duration_s}S", "{url}"],
    required: None,
    version_flag: "--version",
    version_prefix: "SIEGE ",
    timeout_ns: Some(30_000_000_000),
    prints: "its JSON (`json_output = true`)",
    read,
};

#[derive(serde::Deserialize)]
struct SiegeOutput {
    transactions: u64,
    failed_transactions: u64,
    elapsed_time: f64,
}

/// Reads the object, wherever it begins.
fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let object = &text[text.find('{')?..];
    let printed: SiegeOutput = serde_json::from_str(object.trim_end()).ok()?;
    PeerReport::from_counts(printed.transactions, 0, printed.failed_transactions, printed.elapsed_time)
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
            200,
        )
        .unwrap();
        assert_eq!((report.counts.ok, report.counts.io_failed, report.elapsed_s), (2051, 3, 0.78));
    }
}
