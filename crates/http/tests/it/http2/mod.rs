//! HTTP/2: the vectors of RFC 7541, tables for each rule of RFC 9113, and properties.
//!
//! `hpack` tests the coding, `frames` the framing, `requests` and `responses` their contents. The engine tests streams
//! on a connection.

mod frames;
mod hpack;
mod requests;
mod responses;

/// Bytes from hexadecimal digits, blanks ignored.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
