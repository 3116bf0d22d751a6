//! The histogram: counts of times in nanoseconds at three significant decimal digits.
//!
//! The layout is HdrHistogram's (Gil Tene, <https://hdrhistogram.github.io/HdrHistogram/>) with a lowest discernible
//! value of 1 and 2,048 sub-buckets, so every HdrHistogram tool can read [`Histogram::to_base64`]. It is implemented
//! here because recording is on the engine's hot path: one count, one sum, two comparisons, no resizing, no error.
//! Untouched pages of the count array use no memory: the kernel allocates them on first use.

mod codec;
mod compact;
mod spectrum;
#[cfg(test)]
mod tests;

pub use codec::DecodeError;
pub use compact::Compact;
pub use spectrum::SpectrumStep;

/// Bits of a value that are kept exactly; 2^11 sub-buckets give three significant decimal digits.
const PRECISION_BITS: u32 = 11;
/// Half of the sub-buckets: the number of cells that each doubling of the value adds.
const HALF: usize = 1 << (PRECISION_BITS - 1);
/// The highest value with a cell of its own range, in nanoseconds: 2^47 - 1, 39 hours. Higher values are counted in the
/// highest cell.
pub const HIGHEST: u64 = (1 << 47) - 1;
/// Cells of the count array.
const CELLS: usize = cell_of(HIGHEST) + 1;

/// The cell that counts a value. Values below 2,048 have a cell each; above, a cell spans 2^k values.
#[inline]
const fn cell_of(value: u64) -> usize {
    let shift = 64 - PRECISION_BITS - (value | ((1 << PRECISION_BITS) - 1)).leading_zeros();
    ((shift as usize) << (PRECISION_BITS - 1)) + (value >> shift) as usize
}

/// The lowest value of a cell, and the number of values that it spans.
const fn values_of(cell: usize) -> (u64, u64) {
    if cell < 2 * HALF {
        return (cell as u64, 1);
    }
    let shift = cell / HALF - 1;
    (((cell % HALF + HALF) as u64) << shift, 1 << shift)
}

/// Counts of times in nanoseconds, mergeable without loss: `merge(a, b)` equals recording everything into one.
#[derive(Clone)]
pub struct Histogram {
    /// One count for each cell, see [`cell_of`].
    cells: Box<[u64]>,
    /// The number of recorded values: the sum of `cells`.
    count: u64,
    /// The exact sum of the recorded values; the mean is derived from it.
    sum: u128,
    /// The exact lowest value; `u64::MAX` while empty, so recording needs no branch.
    min: u64,
    /// The exact highest value; 0 while empty.
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (count, p50) = (self.count, self.quantile(0.5));
        write!(
            f,
            "Histogram {{ count: {count}, min: {:?}, p50: {p50:?}, max: {:?} }}",
            self.min(),
            self.max()
        )
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.sum, self.min, self.max) == (other.count, other.sum, other.min, other.max)
            && self.cells == other.cells
    }
}

impl Histogram {
    /// Sub-buckets per bucket: values below it are exact. HdrHistogram's tools print it.
    pub const SUB_BUCKETS: u32 = 1 << PRECISION_BITS;
    /// Buckets: one per doubling from the exact range up to [`HIGHEST`].
    pub const BUCKETS: u32 = 47 - PRECISION_BITS + 1;

    /// An empty histogram.
    pub fn new() -> Self {
        Self { cells: vec![0; CELLS].into_boxed_slice(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value, in nanoseconds. A value above [`HIGHEST`] is counted in the highest cell; sum and maximum
    /// keep it exactly.
    #[inline]
    pub fn record(&mut self, value: u64) {
        // The cell is in range by the definition of CELLS; `get_mut` makes an out-of-range index harmless instead of a
        // panic. Single recordings cannot reach 2^64 values, nor overflow these sums.
        if let Some(cell) = self.cells.get_mut(cell_of(value.min(HIGHEST))) {
            *cell += 1;
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts a value `n` times. Counts and sum saturate.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        if let Some(cell) = self.cells.get_mut(cell_of(value.min(HIGHEST))) {
            *cell = cell.saturating_add(n);
        }
        self.absorb_summary(n, u128::from(value) * u128::from(n), value, value);
    }

    /// The lowest value that is counted in the same cell as `value`.
    pub fn lowest_in_cell(value: u64) -> u64 {
        values_of(cell_of(value.min(HIGHEST))).0
    }

    /// Adds another histogram's counts to these. Counts saturate: a stored histogram may contain any number.
    pub fn merge(&mut self, other: &Histogram) {
        for cell in other.occupied() {
            self.cells[cell] = self.cells[cell].saturating_add(other.cells[cell]);
        }
        self.absorb_summary(other.count, other.sum, other.min, other.max);
    }

    /// The same counts with this many classes for each factor of ten, to be stored in less space: all values of a class
    /// are counted as its lowest one, so the sum and the maximum change.
    pub fn in_classes(&self, per_decade: f64) -> Self {
        let mut classes = Self::new();
        let mut last: Option<(i64, u64)> = None;
        for (lowest, highest, count) in self.bars() {
            let middle = lowest + (highest - lowest) / 2;
            let class = ((middle.max(1) as f64).log10() * per_decade).floor() as i64;
            let value = last.filter(|(of, _)| *of == class).map_or(middle, |(_, value)| value);
            classes.record_n(value, count);
            last = Some((class, value));
        }
        classes
    }

    /// Empties the histogram, touching only the cells in use.
    pub fn clear(&mut self) {
        let occupied = self.occupied();
        self.cells[occupied].fill(0);
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// The number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the histogram is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact sum of the values, in nanoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact lowest value, none while empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact highest value, none while empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The arithmetic mean of the values, from their exact sum; none while empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value at quantile `q` in 0..=1, where 0.99 is the 99th percentile: the highest value of the cell that holds
    /// the observation of rank `max(1, ceil(q * count))`, never above the exact maximum and never below the exact
    /// minimum (HdrHistogram's `getValueAtPercentile`). None while empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// The values at several quantiles, which must rise, in one pass over the cells. None while empty.
    pub fn quantiles<const N: usize>(&self, rising: [f64; N]) -> Option<[u64; N]> {
        if self.count == 0 {
            return None;
        }
        // A product such as 0.7 * 10 may be rounded to slightly above 7, which must not change the rank.
        let rank = |q: f64| ((q.clamp(0.0, 1.0) * self.count as f64) * (1.0 - 1e-12)).ceil().max(1.0) as u64;
        let (ranks, mut values) = (rising.map(rank), [self.max; N]);
        let (mut seen, mut found) = (0u64, 0);
        for cell in self.occupied() {
            seen = seen.saturating_add(self.cells[cell]);
            while found < N && seen >= ranks[found] {
                let (lowest, width) = values_of(cell);
                values[found] = (lowest + width - 1).clamp(self.min, self.max);
                found += 1;
            }
            if found == N {
                break;
            }
        }
        Some(values)
    }

    /// The number of values at or below `value`, to the resolution of a cell.
    pub fn count_at_or_below(&self, value: u64) -> u64 {
        let last = cell_of(value.min(HIGHEST));
        let counts = self.occupied().take_while(|cell| *cell <= last).map(|cell| self.cells[cell]);
        counts.fold(0, u64::saturating_add)
    }

    /// The cells in use, as (lowest value, highest value, count), rising.
    pub fn bars(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.occupied().filter(|cell| self.cells[*cell] > 0).map(|cell| {
            let (lowest, width) = values_of(cell);
            (lowest, lowest + width - 1, self.cells[cell])
        })
    }

    /// The range of cells outside which every count is zero.
    fn occupied(&self) -> std::ops::Range<usize> {
        if self.count == 0 {
            0..0
        } else {
            cell_of(self.min.min(HIGHEST))..cell_of(self.max.min(HIGHEST)) + 1
        }
    }

    /// Adds another histogram's count, sum and extremes.
    fn absorb_summary(&mut self, count: u64, sum: u128, min: u64, max: u64) {
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(sum);
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }
}
