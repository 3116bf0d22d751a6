//! Compares received bytes with expected ones.
//!
//! musl's `memcmp`, which the released binaries contain, compares byte by byte. There, blocks of 32 bytes are compared
//! instead, for which the compiler uses vector instructions. glibc's `memcmp` does this itself.

/// Whether both are the same bytes.
#[inline]
pub fn equal(one: &[u8], other: &[u8]) -> bool {
    if cfg!(target_env = "musl") { equal_in_blocks(one, other) } else { one == other }
}

/// Whether `input` begins with these bytes.
#[inline]
pub fn starts_with(input: &[u8], beginning: &[u8]) -> bool {
    input.get(..beginning.len()).is_some_and(|input| equal(input, beginning))
}

#[inline]
fn equal_in_blocks(one: &[u8], other: &[u8]) -> bool {
    let (blocks, rest) = one.as_chunks::<32>();
    let (other_blocks, other_rest) = other.as_chunks::<32>();
    let (words, bytes) = rest.as_chunks::<8>();
    let (other_words, other_bytes) = other_rest.as_chunks::<8>();
    one.len() == other.len()
        && blocks.iter().zip(other_blocks).all(|(one, other)| one == other)
        && words.iter().zip(other_words).all(|(one, other)| one == other)
        && bytes.iter().zip(other_bytes).all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_the_length_are_compared() {
        let bytes: Vec<u8> = (0..=80).collect();
        for length in 0..bytes.len() {
            let one = &bytes[..length];
            assert!(equal_in_blocks(one, &bytes[..length]) && starts_with(&bytes, one));
            assert!(!equal_in_blocks(one, &bytes[..length + 1]) && !starts_with(one, &bytes));
            for different in 0..length {
                let mut other = one.to_vec();
                other[different] ^= 0x80;
                assert!(
                    !equal_in_blocks(one, &other) && !starts_with(&other, one),
                    "{different} of {length}"
                );
            }
        }
    }
}
