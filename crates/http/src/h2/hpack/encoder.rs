//! Encodes names and values into field blocks (RFC 7541 §6).
//!
//! `request` prepares its blocks with it before a run; simulated servers encode their responses with it. The caller
//! decides which fields are inserted into the table.

use super::huffman;
use super::table::{DynamicTable, STATIC, TABLE_SIZE_DEFAULT, entry_size};

/// Whether a literal field is inserted into the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// With incremental indexing (RFC 7541 §6.2.1).
    Insert,
    /// Without indexing (§6.2.2). The name may still be an index into the static table, never into the dynamic one.
    Omit,
}

/// The encoding half of one connection.
#[derive(Clone, Debug)]
pub struct HpackEncoder {
    table: DynamicTable,
}

impl Default for HpackEncoder {
    fn default() -> Self {
        Self { table: DynamicTable::new(TABLE_SIZE_DEFAULT as usize) }
    }
}

impl HpackEncoder {
    /// Appends one field, as an index if it is in a table.
    pub fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, block: &mut Vec<u8>) {
        let same = |(n, v): (&[u8], &[u8])| n == name && v == value;
        let fixed = STATIC.iter().position(|(n, v)| same((n.as_bytes(), v.as_bytes())));
        let dynamic = || self.table.iter().position(same).map(|age| age + STATIC.len());
        let found = if indexing == Indexing::Insert { fixed.or_else(dynamic) } else { fixed };
        if let Some(place) = found {
            push_integer(block, 0x80, 7, place + 1);
            return;
        }
        push_literal_name(block, name, indexing);
        push_string(block, 0, 7, value);
        if indexing == Indexing::Insert {
            self.table.insert(name, value);
        }
    }

    /// Bytes of the table that a field takes when it is inserted: 0 if the static table has it (RFC 7541 §4.1).
    pub(crate) fn inserted_bytes(name: &[u8], value: &[u8]) -> u32 {
        let is_static = STATIC.iter().any(|(n, v)| n.as_bytes() == name && v.as_bytes() == value);
        if is_static { 0 } else { u32::try_from(entry_size(name.len(), value.len())).unwrap_or(u32::MAX / 2) }
    }

    /// Changes the table's size and appends the size update for the peer, which must come first in a block (RFC 7541
    /// §4.2). `size` is at most what the peer's SETTINGS allow.
    pub fn resize(&mut self, size: u32, block: &mut Vec<u8>) {
        self.table.resize(size as usize);
        push_size_update(block, size);
    }

    /// The maximum size of the table.
    pub fn table_size_max(&self) -> usize {
        self.table.size_max()
    }
}

/// Appends a size update (RFC 7541 §6.3).
pub(crate) fn push_size_update(block: &mut Vec<u8>, size: u32) {
    push_integer(block, 0x20, 5, size as usize);
}

/// Appends the first byte and the name of a literal field; its value must follow.
pub(crate) fn push_literal_name(block: &mut Vec<u8>, name: &[u8], indexing: Indexing) {
    let (pattern, prefix) = match indexing {
        Indexing::Insert => (0x40, 6),
        Indexing::Omit => (0, 4),
    };
    match STATIC.iter().position(|(known, _)| known.as_bytes() == name) {
        Some(place) => push_integer(block, pattern, prefix, place + 1),
        None => {
            push_integer(block, pattern, prefix, 0);
            push_string(block, 0, 7, name);
        }
    }
}

/// Appends the length of the string that follows without Huffman coding.
#[inline]
pub(crate) fn push_string_length(block: &mut Vec<u8>, length: usize) {
    push_integer(block, 0, 7, length);
}

/// Appends a string, Huffman-coded unless that is longer (RFC 7541 §5.2). Its length has a prefix of `prefix` bits, 7 in
/// HPACK, after a pattern; the bit between them says whether it is Huffman-coded.
pub(crate) fn push_string(block: &mut Vec<u8>, pattern: u8, prefix: u32, text: &[u8]) {
    let coded = huffman::encoded_len(text);
    if !text.is_empty() && coded <= text.len() {
        push_integer(block, pattern | 1 << prefix, prefix, coded);
        huffman::encode(text, block);
    } else {
        push_integer(block, pattern, prefix, text.len());
        block.extend_from_slice(text);
    }
}

/// Appends an integer after a pattern, with a prefix of `prefix` bits (RFC 7541 §5.1).
#[inline]
pub(crate) fn push_integer(block: &mut Vec<u8>, pattern: u8, prefix: u32, value: usize) {
    let full = (1usize << prefix) - 1;
    if value < full {
        block.push(pattern | value as u8);
        return;
    }
    block.push(pattern | full as u8);
    let mut left = value - full;
    while left >= 0x80 {
        block.push(left as u8 | 0x80);
        left >>= 7;
    }
    block.push(left as u8);
}
