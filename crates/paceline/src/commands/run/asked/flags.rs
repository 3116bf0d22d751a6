//! Flags of what is asked and what must come back, each with its help.
//!
//! Flattened into the flags of `paceline run`; `mod.rs` makes requests and checks of them. A status, a digest and a
//! JSON pointer are read here already; whether a method or a header can be sent shows when the request is made.

use paceline_engine::JsonCheck;
use std::path::PathBuf;

/// What is asked, and what must come back.
#[derive(clap::Args, Debug)]
pub struct AskedFlags {
    /// The request's method
    #[arg(short = 'X', long, default_value = "GET", value_name = "NAME", help_heading = "Requests")]
    pub method: String,

    /// A header field, "Name: value"; replaces a default of that name
    #[arg(short = 'H', long = "header", value_name = "FIELD", help_heading = "Requests")]
    pub headers: Vec<String>,

    /// The request's body, @FILE, or @- for standard input
    #[arg(long, allow_negative_numbers = true, value_name = "TEXT|@FILE", help_heading = "Requests")]
    pub body: Option<String>,

    /// Send everything as it stands, without placeholders
    ///
    /// Without it {rand:1:100000}, {seq} and {line:FILE} in path, headers and body are replaced in each request by a random
    /// number, its own number and the file's next line; {{ stands for a brace.
    #[arg(long, help_heading = "Requests")]
    pub literal: bool,

    /// Several requests with weights, each with its own checks and results
    ///
    /// A TOML file; docs/requests.md shows one. -H adds to all of them; what else a request is, and what must come back,
    /// the file says.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["method", "body", "literal", "expect_status", "expect_body", "expect_sha256", "expect_json"],
        help_heading = "Requests"
    )]
    pub mix: Option<PathBuf>,

    /// The status every response must have; without it any 2xx or 3xx is fine
    #[arg(long, value_name = "STATUS", value_parser = status, help_heading = "Checks")]
    pub expect_status: Option<u16>,

    /// The body every response must have, byte for byte, or @FILE
    #[arg(long, allow_negative_numbers = true, value_name = "TEXT|@FILE", help_heading = "Checks")]
    pub expect_body: Option<String>,

    /// The SHA-256 every body must have; hashed once, then compared
    #[arg(long, value_name = "HEX", value_parser = digest, conflicts_with = "expect_body", help_heading = "Checks")]
    pub expect_sha256: Option<[u8; 32]>,

    /// A value every body must have, as JSON: /message=hello
    ///
    /// A pointer of RFC 6901, such as /items/0/id=5; the value is JSON, or where it is none a text. May be given several
    /// times.
    #[arg(
        long,
        value_name = "POINTER=VALUE",
        value_parser = JsonCheck::parse,
        conflicts_with_all = ["expect_body", "expect_sha256"],
        help_heading = "Checks"
    )]
    pub expect_json: Vec<JsonCheck>,
}

fn digest(text: &str) -> Result<[u8; 32], String> {
    paceline_catalogue::parse_sha256(text).ok_or_else(|| "a SHA-256 has 64 hexadecimal digits".to_owned())
}

/// Reads a status that ends an exchange: responses of 1xx only announce another.
fn status(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|status| (200..600).contains(status));
    number.ok_or_else(|| "a final status is a number from 200 to 599".to_owned())
}
