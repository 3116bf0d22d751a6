//! Masks payloads (RFC 6455 §5.3).

/// Masks bytes in place, or unmasks them: byte i is combined with byte i mod 4 of the key by XOR. Eight bytes at a time.
pub fn mask(bytes: &mut [u8], key: [u8; 4]) {
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= key;
    }
}

#[test]
fn masking_follows_the_definition_at_every_length() {
    let key = [0x37, 0xfa, 0x21, 0x3d];
    for length in 0..40u8 {
        let plain: Vec<u8> = (0..length).collect();
        let mut masked = plain.clone();
        mask(&mut masked, key);
        let defined: Vec<u8> = plain.iter().enumerate().map(|(index, byte)| byte ^ key[index % 4]).collect();
        assert_eq!(masked, defined, "{length} bytes");
        mask(&mut masked, key);
        assert_eq!(masked, plain, "{length} bytes");
    }
    // RFC 6455 §5.7: a masked text message with "Hello".
    let mut hello = *b"Hello";
    mask(&mut hello, key);
    assert_eq!(hello, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
}
