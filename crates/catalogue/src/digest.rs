//! A SHA-256 in its written form: 64 hexadecimal digits.
//!
//! Workloads, request files and the flag `--expect-sha256` all parse digests here. No hash is computed here; the caller
//! reports the error, since it knows the file and the line.

/// The digest in a text, or `None` if it is not 64 hexadecimal digits.
pub fn parse_sha256(text: &str) -> Option<[u8; 32]> {
    let text = text.as_bytes();
    let nibble = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0_u8; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (nibble(pair[0])? * 16 + nibble(pair[1])?) as u8;
    }
    Some(bytes)
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_digits_and_nothing_else() {
        let digits = "00ff".repeat(16);
        assert_eq!(parse_sha256(&digits), Some([[0, 255]; 16].concat().try_into().unwrap()));
        assert_eq!(parse_sha256(&digits.to_uppercase()), parse_sha256(&digits));
        for wrong in
            ["", &digits[1..], &format!("{digits}0"), &digits.replace('f', "g"), &"\u{e9}".repeat(32)]
        {
            assert_eq!(parse_sha256(wrong), None, "{wrong:?}");
        }
    }
}
