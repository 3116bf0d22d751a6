//! Medians and ranges of a handful of rounds. Nothing finer: five rounds carry no more.
//!
//! `page` takes them of cells, of ratios and of how quiet the machine was. Percentiles of a run's requests are not made
//! here: they come with each tool's report.

/// The middle of some numbers and their range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The one in the middle, or the mean of the two there.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// Of some numbers; nothing of none.
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles() {
        for (numbers, median) in [(vec![3.0], 3.0), (vec![4.0, 1.0], 2.5), (vec![9.0, 1.0, 2.0], 2.0)] {
            assert_eq!(Spread::of(&numbers).unwrap().median, median, "{numbers:?}");
        }
        let spread = Spread::of(&[5.0, -1.0, 2.0, 7.0]).unwrap();
        assert_eq!((spread.min, spread.max), (-1.0, 7.0));
        assert_eq!(Spread::of(&[]), None);
    }
}
