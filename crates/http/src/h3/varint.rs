//! Reads and writes QUIC's integers of variable length (RFC 9000 §16).

/// The maximum length of an encoded integer.
pub const VARINT_BYTES: usize = 8;

/// The largest integer that can be encoded.
pub const MAX_VARINT: u64 = (1 << 62) - 1;

/// The length of the encoded integer that begins with this byte: 1, 2, 4 or 8.
#[inline]
pub fn varint_length(first: u8) -> usize {
    1 << (first >> 6)
}

/// The integer at the beginning of the input and its length; none if the input ends inside it.
#[inline]
pub fn read_varint(input: &[u8]) -> Option<(u64, usize)> {
    let first = *input.first()?;
    let length = varint_length(first);
    let bytes = input.get(1..length)?;
    let value = bytes.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// Appends an integer of at most [`MAX_VARINT`], in the shortest form.
pub fn write_varint(out: &mut Vec<u8>, value: u64) {
    debug_assert!(value <= MAX_VARINT);
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_are_read_and_written() {
        // RFC 9000, appendix A.1.
        let examples: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(read_varint(bytes), Some((value, bytes.len())));
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(out, bytes);
            (0..bytes.len()).for_each(|cut| assert_eq!(read_varint(&bytes[..cut]), None));
        }
        assert_eq!(read_varint(&[0x40, 0x25, 1]), Some((37, 2)), "a longer form than needed");
        for value in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, MAX_VARINT] {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(read_varint(&out), Some((value, out.len())));
        }
    }
}
