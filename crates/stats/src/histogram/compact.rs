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
