//! A histogram at rest: only the cells in use. What an interval of a run is kept as, so that a long run stays small.

use super::Histogram;

/// The occupied cells of a [`Histogram`], a few bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compact {
    /// (cell, count), rising; a count above `u32::MAX` takes several entries.
    cells: Vec<(u32, u32)>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Compact {
    /// How many values it holds.
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

    /// Adds what another holds: one pass over the occupied cells of both, with no histogram between them.
    pub fn merge(&mut self, other: &Compact) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        let mut cells = Vec::with_capacity(self.cells.len() + other.cells.len());
        let (mut ours, mut theirs) = (self.cells.iter().peekable(), other.cells.iter().peekable());
        loop {
            let cell = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(only), None) | (None, Some(only)) => only.0,
                (None, None) => break,
            };
            let mut count = 0;
            for side in [&mut ours, &mut theirs] {
                while let Some(&(_, piece)) = side.next_if(|(at, _)| *at == cell) {
                    count += u64::from(piece);
                }
            }
            push(&mut cells, cell, count);
        }
        self.cells = cells;
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
        let mut kept = Compact::default();
        for cell in self.occupied() {
            let count = std::mem::take(&mut self.cells[cell]);
            if count > 0 {
                total.cells[cell] += count;
                push(&mut kept.cells, cell as u32, count);
            }
        }
        (kept.count, kept.sum, kept.min, kept.max) = (self.count, self.sum, self.min, self.max);
        total.absorb_summary(self.count, self.sum, self.min, self.max);
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
        kept
    }

    /// Adds what was kept by [`Histogram::drain_into`].
    pub fn merge_compact(&mut self, kept: &Compact) {
        if kept.count == 0 {
            return;
        }
        for &(cell, count) in &kept.cells {
            self.cells[cell as usize] += u64::from(count);
        }
        self.absorb_summary(kept.count, kept.sum, kept.min, kept.max);
    }
}

/// Appends a count in pieces that fit.
fn push(cells: &mut Vec<(u32, u32)>, cell: u32, mut count: u64) {
    while count > 0 {
        let piece = u32::try_from(count).unwrap_or(u32::MAX);
        cells.push((cell, piece));
        count -= u64::from(piece);
    }
}
