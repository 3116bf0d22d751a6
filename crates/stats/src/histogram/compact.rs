//! A compact histogram, which stores only the cells in use.
//!
//! The engine keeps the times of each interval in this form to limit the memory of a long run. It exists in memory
//! only: records contain the encoding of `codec.rs`.

use super::Histogram;

/// The occupied cells of a [`Histogram`], two or three bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compact {
    /// For each occupied cell in rising order: the distance from the previous one, and its count, both as LEB128.
    bytes: Box<[u8]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Compact {
    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact highest value, none while empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean, none while empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The occupied cells with their counts, rising.
    fn cells(&self) -> Cells<'_> {
        Cells { bytes: &self.bytes, cell: 0 }
    }

    /// Adds another: one pass over the occupied cells of both.
    pub fn merge(&mut self, other: &Compact) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        let mut writer = Writer::with_capacity(self.bytes.len() + other.bytes.len());
        let (mut ours, mut theirs) = (self.cells().peekable(), other.cells().peekable());
        loop {
            let cell = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(only), None) | (None, Some(only)) => only.0,
                (None, None) => break,
            };
            let mut count = 0;
            for side in [&mut ours, &mut theirs] {
                if let Some((_, more)) = side.next_if(|(at, _)| *at == cell) {
                    count += more;
                }
            }
            writer.push(cell, count);
        }
        self.bytes = writer.into_bytes();
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Histogram {
    /// Moves everything recorded here into `total`, leaves this histogram empty, and returns what was moved.
    /// One pass over the cells in use: cheap enough to do between two requests.
    pub fn drain_into(&mut self, total: &mut Histogram) -> Compact {
        let (mut kept, mut writer) = (Compact::default(), Writer::default());
        for cell in self.occupied() {
            let count = std::mem::take(&mut self.cells[cell]);
            if count > 0 {
                total.cells[cell] += count;
                writer.push(cell, count);
            }
        }
        kept.bytes = writer.into_bytes();
        (kept.count, kept.sum, kept.min, kept.max) = (self.count, self.sum, self.min, self.max);
        total.absorb_summary(self.count, self.sum, self.min, self.max);
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
        kept
    }

    /// Adds the output of [`Histogram::drain_into`].
    pub fn merge_compact(&mut self, kept: &Compact) {
        if kept.count == 0 {
            return;
        }
        for (cell, count) in kept.cells() {
            self.cells[cell] += count;
        }
        self.absorb_summary(kept.count, kept.sum, kept.min, kept.max);
    }
}

/// Encodes cells for [`Compact`].
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    last: usize,
}

impl Writer {
    fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), last: 0 }
    }

    fn push(&mut self, cell: usize, count: u64) {
        self.number((cell - self.last) as u64);
        self.number(count);
        self.last = cell;
    }

    fn number(&mut self, mut value: u64) {
        while value >= 128 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn into_bytes(self) -> Box<[u8]> {
        self.bytes.into_boxed_slice()
    }
}

/// Decodes the cells of a [`Compact`].
struct Cells<'a> {
    bytes: &'a [u8],
    cell: usize,
}

impl Cells<'_> {
    fn number(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 127) << shift;
            if *byte < 128 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Iterator for Cells<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        self.cell += self.number()? as usize;
        Some((self.cell, self.number()?))
    }
}
