//! Implements the static table (RFC 7541, appendix A) and the dynamic table (§2.3, §4).
//!
//! The decoder and the encoder each own a dynamic table. It handles entries and sizes, not coding.

use std::collections::VecDeque;

/// The size of an entry beyond its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD: usize = 32;

/// The size of both peers' tables before SETTINGS change it (RFC 9113 §6.5.2).
pub const TABLE_SIZE_DEFAULT: u32 = 4096;

/// The first entry has index 1.
#[rustfmt::skip]
pub(super) static STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

/// The size of an entry (RFC 7541 §4.1).
pub(super) fn entry_size(name: usize, value: usize) -> usize {
    name + value + ENTRY_OVERHEAD
}

#[derive(Clone, Copy, Debug)]
struct TableEntry {
    /// The start of its name, counted from the first byte ever stored; its value follows.
    start: usize,
    name_len: usize,
    value_len: usize,
}

/// The dynamic table. The strings of all entries are in one buffer, oldest first; evicted ones are removed from its
/// front when they are as many bytes as the live ones, so that each byte is moved at most once.
#[derive(Clone, Debug)]
pub(super) struct DynamicTable {
    /// Oldest first.
    entries: VecDeque<TableEntry>,
    bytes: Vec<u8>,
    /// Bytes ever removed from the front of `bytes`.
    removed: usize,
    size: usize,
    size_max: usize,
}

impl DynamicTable {
    pub(super) fn new(size_max: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: Vec::new(), removed: 0, size: 0, size_max }
    }

    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    /// Changes the maximum size and evicts the entries that no longer fit (RFC 7541 §4.3).
    pub(super) fn resize(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.evict_to(size_max);
    }

    /// Name and value of the entry inserted `age` insertions ago; 0 is the newest.
    #[inline]
    pub(super) fn get(&self, age: usize) -> Option<(&[u8], &[u8])> {
        let place = self.entries.len().checked_sub(age + 1)?;
        let entry = self.entries.get(place)?;
        let start = entry.start.wrapping_sub(self.removed);
        let text = self.bytes.get(start..start + entry.name_len + entry.value_len)?;
        Some(text.split_at(entry.name_len))
    }

    /// Inserts an entry; one that is larger than the table empties it (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        if self.make_room(name.len(), value.len()) {
            self.bytes.extend_from_slice(name);
            self.add(name.len(), value);
        }
    }

    /// Inserts an entry with the name of the one at `age`, which may be evicted by it (RFC 7541 §4.4).
    pub(super) fn insert_with_name_of(&mut self, age: usize, value: &[u8]) {
        let Some(place) = self.entries.len().checked_sub(age + 1) else { return };
        let Some(TableEntry { start, name_len, .. }) = self.entries.get(place).copied() else { return };
        if self.make_room(name_len, value.len()) {
            // Evicted bytes stay in the buffer until `add` has copied the bytes that it needs.
            let start = start.wrapping_sub(self.removed);
            self.bytes.extend_from_within(start..start + name_len);
            self.add(name_len, value);
        }
    }

    /// Evicts until an entry of these lengths fits; false if it never does.
    fn make_room(&mut self, name_len: usize, value_len: usize) -> bool {
        let needed = entry_size(name_len, value_len);
        self.evict_to(self.size_max.saturating_sub(needed));
        needed <= self.size_max
    }

    /// Adds the entry whose name has just been appended to the buffer.
    fn add(&mut self, name_len: usize, value: &[u8]) {
        let start = self.removed.wrapping_add(self.bytes.len() - name_len);
        self.bytes.extend_from_slice(value);
        self.entries.push_back(TableEntry { start, name_len, value_len: value.len() });
        self.size += entry_size(name_len, value.len());
        let dead = self.entries.front().map_or(0, |oldest| oldest.start.wrapping_sub(self.removed));
        if dead > self.bytes.len() / 2 {
            self.bytes.drain(..dead);
            self.removed = self.removed.wrapping_add(dead);
        }
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.size -= entry_size(oldest.name_len, oldest.value_len);
        }
        if self.entries.is_empty() && size == 0 {
            self.size = 0;
        }
    }

    /// All entries, newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.entries.len()).filter_map(|age| self.get(age))
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &DynamicTable) -> Vec<String> {
        table
            .iter()
            .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
            .collect()
    }

    #[test]
    fn insertion_evicts_the_oldest_entries() {
        let mut table = DynamicTable::new(3 * 34);
        for name in [b"a", b"b", b"c", b"d"] {
            table.insert(name, b"1");
        }
        assert_eq!(names(&table), ["d=1", "c=1", "b=1"]);
        assert_eq!(table.size(), 102);
        table.insert(b"e", &[b'x'; 70]);
        assert_eq!(names(&table).len(), 0, "too large for the table: it is emptied (RFC 7541 §4.4)");
        assert_eq!(table.size(), 0);
    }

    #[test]
    fn a_new_entry_may_take_its_name_from_the_entry_it_evicts() {
        let mut table = DynamicTable::new(40);
        table.insert(b"name", b"1");
        for value in [b"2", b"3", b"4"] {
            table.insert_with_name_of(0, value);
            assert_eq!(names(&table), [format!("name={}", value.escape_ascii())]);
        }
        assert!(table.bytes.len() < 40, "evicted bytes are removed");
        table.insert_with_name_of(7, b"x");
        assert_eq!(names(&table), ["name=4"], "no such entry");
    }

    #[test]
    fn resizing_evicts() {
        let mut table = DynamicTable::new(4096);
        table.insert(b"a", b"1");
        table.insert(b"b", b"2");
        table.resize(34);
        assert_eq!(names(&table), ["b=2"]);
        table.resize(0);
        assert_eq!(names(&table).len(), 0);
        table.resize(4096);
        table.insert(b"c", b"3");
        assert_eq!(names(&table), ["c=3"]);
    }
}
