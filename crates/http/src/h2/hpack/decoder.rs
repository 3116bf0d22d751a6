//! Decodes field blocks into names and values (RFC 7541 §3, §6).
//!
//! Used by `response` and by the lab's probe. It checks the coding only; `response` checks which fields a response may
//! have.

use super::huffman;
use super::table::{DynamicTable, STATIC, TABLE_SIZE_DEFAULT, entry_size};

/// Why a field block cannot be decoded. Always a connection error of type COMPRESSION_ERROR (RFC 9113 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends inside an integer or a string.
    #[error("the field block ends inside a field")]
    Truncated,
    /// An integer of more than 28 bits (RFC 7541 §5.1 lets a decoder limit it).
    #[error("an integer in the field block is too large")]
    Integer,
    /// An index of 0 or beyond both tables (RFC 7541 §2.3.3).
    #[error("HPACK index {index} is not in the header table")]
    Index {
        /// The index.
        index: u32,
    },
    /// A Huffman-coded string with wrong padding or the end-of-string symbol (RFC 7541 §5.2).
    #[error("invalid Huffman coding in the field block")]
    Huffman,
    /// A table larger than allowed (RFC 7541 §6.3).
    #[error("HPACK dynamic table size {size} exceeds the maximum of {limit}")]
    TableSize {
        /// The size.
        size: u32,
        /// The limit from SETTINGS.
        limit: u32,
    },
    /// A size update after a field (RFC 7541 §4.2).
    #[error("a dynamic table size update must come first in a field block")]
    LateTableSize,
}

/// The effect of a block on the table, and what it required from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSummary {
    /// It referred to an entry of the dynamic table. If not, equal bytes mean equal fields on every connection.
    pub refers_to_table: bool,
    /// How many entries it inserted. If none (and no resize), the table is unchanged.
    pub inserted: u32,
    /// It resized the table.
    pub resized: bool,
    /// Its size as SETTINGS_MAX_HEADER_LIST_SIZE counts it: names, values and 32 bytes per field (RFC 9113 §6.5.2).
    pub list_size: usize,
}

impl BlockSummary {
    /// Whether equal bytes mean equal fields on every connection.
    pub fn is_self_contained(&self) -> bool {
        !self.refers_to_table && !self.resized
    }

    /// Whether the table changed.
    pub fn changed_table(&self) -> bool {
        self.inserted > 0 || self.resized
    }
}

/// One field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedField<'b> {
    /// Its name.
    pub name: &'b [u8],
    /// Its value.
    pub value: &'b [u8],
    /// Whether it is inserted into the dynamic table.
    pub is_inserted: bool,
}

/// Memory for Huffman-coded strings, shared by all connections of a thread.
#[derive(Debug, Default)]
pub struct HpackScratch {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// The decoding half of one connection: its dynamic table, of at most [`TABLE_SIZE_DEFAULT`] bytes. It allocates when
/// the first entry is inserted.
#[derive(Debug)]
pub struct HpackDecoder {
    table: DynamicTable,
}

impl Default for HpackDecoder {
    fn default() -> Self {
        Self { table: DynamicTable::new(TABLE_SIZE_DEFAULT as usize) }
    }
}

/// The table that an index refers to.
#[derive(Clone, Copy)]
enum TableIndex {
    /// The static table, at this index from 0.
    Static(usize),
    /// The dynamic table; the entry was inserted this many insertions ago.
    Dynamic(usize),
}

impl HpackDecoder {
    /// Decodes a whole field block and passes each field to `field`, in order.
    ///
    /// # Errors
    /// [`HpackError`]; the connection is lost, because the tables may differ.
    pub fn decode(
        &mut self,
        block: &[u8],
        scratch: &mut HpackScratch,
        mut field: impl FnMut(DecodedField<'_>),
    ) -> Result<BlockSummary, HpackError> {
        let mut summary = BlockSummary::default();
        let mut rest = block;
        let mut fields = 0;
        while let Some(first) = rest.first() {
            match first {
                0x80.. => {
                    let (name, value, source) = self.indexed(&mut rest)?;
                    summary.refers_to_table |= matches!(source, TableIndex::Dynamic(_));
                    summary.list_size += entry_size(name.len(), value.len());
                    field(DecodedField { name, value, is_inserted: false });
                }
                0x20..0x40 if fields > 0 => return Err(HpackError::LateTableSize),
                0x20..0x40 => {
                    self.size_update(&mut rest)?;
                    summary.resized = true;
                    continue;
                }
                _ => self.literal(&mut rest, scratch, &mut summary, &mut field)?,
            }
            fields += 1;
        }
        Ok(summary)
    }

    /// Inserts an entry, for a known block that need not be decoded again.
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.table.insert(name, value);
    }

    /// An indexed field (RFC 7541 §6.1).
    #[inline]
    fn indexed(&self, rest: &mut &[u8]) -> Result<(&[u8], &[u8], TableIndex), HpackError> {
        let index = integer(rest, 7)?;
        self.entry(index)
    }

    /// Name and value at an index of both tables (RFC 7541 §2.3.3).
    fn entry(&self, index: u32) -> Result<(&[u8], &[u8], TableIndex), HpackError> {
        let place = (index as usize).checked_sub(1).ok_or(HpackError::Index { index })?;
        if let Some((name, value)) = STATIC.get(place) {
            return Ok((name.as_bytes(), value.as_bytes(), TableIndex::Static(place)));
        }
        let age = place - STATIC.len();
        let (name, value) = self.table.get(age).ok_or(HpackError::Index { index })?;
        Ok((name, value, TableIndex::Dynamic(age)))
    }

    /// A literal field, with or without indexing (RFC 7541 §6.2).
    fn literal(
        &mut self,
        rest: &mut &[u8],
        scratch: &mut HpackScratch,
        summary: &mut BlockSummary,
        field: &mut impl FnMut(DecodedField<'_>),
    ) -> Result<(), HpackError> {
        let is_inserted = rest[0] & 0x40 != 0;
        let index = integer(rest, if is_inserted { 6 } else { 4 })?;
        summary.inserted += u32::from(is_inserted);
        if index == 0 {
            let name = string(rest, 7, &mut scratch.name)?;
            let value = string(rest, 7, &mut scratch.value)?;
            summary.list_size += entry_size(name.len(), value.len());
            field(DecodedField { name, value, is_inserted });
            if is_inserted {
                self.table.insert(name, value);
            }
            return Ok(());
        }
        let value = string(rest, 7, &mut scratch.value)?;
        let (name, _, source) = self.entry(index)?;
        summary.list_size += entry_size(name.len(), value.len());
        field(DecodedField { name, value, is_inserted });
        match source {
            TableIndex::Dynamic(age) => {
                summary.refers_to_table = true;
                if is_inserted {
                    self.table.insert_with_name_of(age, value);
                }
            }
            TableIndex::Static(place) => {
                if is_inserted {
                    self.table.insert(STATIC[place].0.as_bytes(), value);
                }
            }
        }
        Ok(())
    }

    /// A change of the table's size (RFC 7541 §6.3).
    fn size_update(&mut self, rest: &mut &[u8]) -> Result<(), HpackError> {
        let size = integer(rest, 5)?;
        if size > TABLE_SIZE_DEFAULT {
            return Err(HpackError::TableSize { size, limit: TABLE_SIZE_DEFAULT });
        }
        self.table.resize(size as usize);
        Ok(())
    }
}

/// An integer whose first byte holds its beginning in the lowest `prefix` bits (RFC 7541 §5.1), of at most 28 bits plus
/// the prefix.
#[inline]
pub(crate) fn integer(rest: &mut &[u8], prefix: u32) -> Result<u32, HpackError> {
    let (first, mut after) = rest.split_first().ok_or(HpackError::Truncated)?;
    let full = (1u32 << prefix) - 1;
    let mut value = u32::from(*first) & full;
    if value == full {
        let mut shift = 0;
        loop {
            let (byte, next) = after.split_first().ok_or(HpackError::Truncated)?;
            after = next;
            if shift > 21 {
                return Err(HpackError::Integer);
            }
            value += u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = after;
    Ok(value)
}

/// A string: a slice of the block, or decoded into the scratch buffer (RFC 7541 §5.2). Its length has a prefix of
/// `prefix` bits, 7 in HPACK; the bit before says whether it is Huffman-coded.
#[inline]
pub(crate) fn string<'s, 'b: 's>(
    rest: &mut &'b [u8],
    prefix: u32,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], HpackError> {
    let is_coded = rest.first().ok_or(HpackError::Truncated)? >> prefix & 1 != 0;
    let length = integer(rest, prefix)? as usize;
    let (text, after) = rest.split_at_checked(length).ok_or(HpackError::Truncated)?;
    *rest = after;
    if !is_coded {
        return Ok(text);
    }
    scratch.clear();
    if huffman::decode(text, scratch) { Ok(scratch) } else { Err(HpackError::Huffman) }
}
