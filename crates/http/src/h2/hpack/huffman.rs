//! Encodes and decodes the Huffman code of RFC 7541, appendix B; decoding uses a table of 16-way steps.
//!
//! The code is canonical: codes of one length are consecutive numbers in the order of their symbols, so the lengths
//! alone define it. Both tables are built from the lengths at compile time. The decoder reads four bits per step; since
//! the shortest code has five, a step completes at most one symbol.

/// The code length in bits of each byte and, last, of the end-of-string symbol (RFC 7541, appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// 256 bytes and the end-of-string symbol.
const SYMBOLS: usize = 257;

/// The end-of-string symbol, which must not occur in a string (RFC 7541 §5.2).
const END_OF_STRING: usize = 256;

/// Inner nodes of the code's tree: one fewer than its leaves.
const NODES: usize = SYMBOLS - 1;

const MAX_LENGTH: u8 = 30;

/// The code of each symbol, in its lowest bits.
static CODES: [u32; SYMBOLS] = codes();

/// The step from each node of the tree for each value of the next four bits.
static STEPS: [[HuffmanStep; 16]; NODES] = steps();

#[derive(Clone, Copy)]
struct HuffmanStep {
    node: u8,
    symbol: u8,
    /// See the flags below.
    flags: u8,
}

/// The step completes a symbol.
const SYMBOL: u8 = 1;
/// A string may end after it: fewer than eight bits have been read since the last symbol, all of them ones.
const MAY_END: u8 = 2;
/// It completes the end-of-string symbol, or comes after an error.
const INVALID: u8 = 4;

const fn codes() -> [u32; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let (mut length, mut code) = (1, 0u32);
    while length <= MAX_LENGTH {
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] == length {
                codes[symbol] = code;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    codes
}

/// The tree: for each inner node its two children, an inner node below [`NODES`] or a symbol above it.
const fn tree() -> [[u16; 2]; NODES] {
    let codes = codes();
    let mut tree = [[0u16; 2]; NODES];
    let mut nodes = 1;
    let mut symbol = 0;
    while symbol < SYMBOLS {
        let mut at = 0;
        let mut bit = LENGTHS[symbol];
        while bit > 0 {
            bit -= 1;
            let side = (codes[symbol] >> bit & 1) as usize;
            if bit == 0 {
                tree[at][side] = (NODES + symbol) as u16;
            } else {
                if tree[at][side] == 0 {
                    tree[at][side] = nodes;
                    nodes += 1;
                }
                at = tree[at][side] as usize;
            }
        }
        symbol += 1;
    }
    tree
}

const fn steps() -> [[HuffmanStep; 16]; NODES] {
    let tree = tree();
    let may_end = nodes_where_a_string_may_end(&tree);
    let mut steps = [[HuffmanStep { node: 0, symbol: 0, flags: 0 }; 16]; NODES];
    let mut from = 0;
    while from < NODES {
        let mut bits = 0;
        while bits < 16 {
            let (mut node, mut symbol, mut flags) = (from, 0, 0);
            let mut bit = 4;
            while bit > 0 {
                bit -= 1;
                let next = tree[node][bits >> bit & 1] as usize;
                node = if next < NODES { next } else { 0 };
                if next == NODES + END_OF_STRING {
                    flags |= INVALID;
                } else if next >= NODES {
                    symbol = (next - NODES) as u8;
                    flags |= SYMBOL;
                }
            }
            if may_end[node] {
                flags |= MAY_END;
            }
            steps[from][bits] = HuffmanStep { node: node as u8, symbol, flags };
            bits += 1;
        }
        from += 1;
    }
    steps
}

/// The root, and the nodes reached by one to seven ones: padding is the beginning of the end-of-string symbol and
/// shorter than eight bits (RFC 7541 §5.2).
const fn nodes_where_a_string_may_end(tree: &[[u16; 2]; NODES]) -> [bool; NODES] {
    let mut may_end = [false; NODES];
    let (mut node, mut depth) = (0, 0);
    while depth <= 7 {
        may_end[node] = true;
        node = tree[node][1] as usize;
        depth += 1;
    }
    may_end
}

/// Appends the decoded string; false if the padding is wrong or the end-of-string symbol occurs (RFC 7541 §5.2).
pub(super) fn decode(coded: &[u8], into: &mut Vec<u8>) -> bool {
    // The shortest code has five bits.
    into.reserve(coded.len() * 8 / 5 + 1);
    let mut node = 0u8;
    let mut invalid = 0;
    let mut last = MAY_END;
    for byte in coded {
        for bits in [byte >> 4, byte & 15] {
            let step = STEPS[usize::from(node)][usize::from(bits)];
            if step.flags & SYMBOL != 0 {
                into.push(step.symbol);
            }
            node = step.node;
            invalid |= step.flags;
            last = step.flags;
        }
    }
    invalid & INVALID == 0 && last & MAY_END != 0
}

/// Length of the encoded string in bytes.
pub(super) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the encoded string, padded with ones.
pub(super) fn encode(text: &[u8], into: &mut Vec<u8>) {
    let (mut pending, mut count) = (0u64, 0);
    for byte in text {
        let length = LENGTHS[usize::from(*byte)];
        pending = pending << length | u64::from(CODES[usize::from(*byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            into.push((pending >> count) as u8);
        }
    }
    if count > 0 {
        into.push((pending << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(text, &mut bytes);
        bytes
    }

    fn decoded(coded: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        decode(coded, &mut text).then_some(text)
    }

    /// Codes from all over the table of RFC 7541, appendix B: a wrong length would make all codes after it wrong.
    #[test]
    fn codes_are_those_of_appendix_b() {
        for (symbol, code) in [
            (0, 0x1ff8),
            (10, 0x3fff_fffc),
            (32, 0x14),
            (48, 0x0),
            (116, 0x9),
            (122, 0x7b),
            (127, 0x0fff_fffc),
            (128, 0xf_ffe6),
            (195, 0x7_fff1),
            (255, 0x3ff_ffee),
            (END_OF_STRING, 0x3fff_ffff),
        ] {
            assert_eq!(CODES[symbol], code, "symbol {symbol}");
        }
    }

    #[test]
    fn padding_must_be_fewer_than_eight_ones() {
        assert_eq!(decoded(&[]), Some(vec![]));
        assert_eq!(decoded(&[0x1f]), Some(b"a".to_vec()), "three ones");
        assert_eq!(decoded(&[0x18]), None, "padding of zeros");
        assert_eq!(decoded(&[0x1f, 0xff]), None, "eleven ones");
        assert_eq!(decoded(&[0xff]), None, "eight ones");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), None, "the end-of-string symbol");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xfc, 0x1f]), None, "the end-of-string symbol before another");
    }

    /// Decodes bit by bit, using only the codes.
    fn oracle(coded: &[u8]) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let (mut code, mut length) = (0u64, 0u8);
        for bit in coded.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
            (code, length) = (code << 1 | u64::from(bit), length + 1);
            let found = (0..SYMBOLS).find(|s| LENGTHS[*s] == length && u64::from(CODES[*s]) == code);
            if let Some(symbol) = found {
                text.push(u8::try_from(symbol).ok()?);
                (code, length) = (0, 0);
            }
        }
        (length < 8 && code == (1 << length) - 1).then_some(text)
    }

    proptest! {
        #[test]
        fn round_trip(text: Vec<u8>) {
            let coded = encoded(&text);
            prop_assert_eq!(coded.len(), encoded_len(&text));
            prop_assert_eq!(decoded(&coded), Some(text));
        }

        #[test]
        fn any_bytes_decode_as_bit_by_bit(coded in proptest::collection::vec(any::<u8>(), 0..24)) {
            prop_assert_eq!(decoded(&coded), oracle(&coded));
        }
    }
}
