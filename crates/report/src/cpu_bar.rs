//! A bar of characters that shows how the CPU time of a request divides.
//!
//! Used by the text of a run and by the sheet of a round's report; the parts come from the judge's `cpu_parts.rs`.

/// The characters of the parts, from full to light: user, kernel, interrupts, behind the server.
pub(crate) const FILLS: [char; 4] = ['\u{2588}', '\u{2593}', '\u{2592}', '\u{2591}'];
/// Characters of a bar.
const COLUMNS: usize = 24;

/// The shares of parts, in the order of [`FILLS`], as a bar that always has the same length; empty without any time.
pub(crate) fn cpu_bar(parts: &[Option<f64>]) -> String {
    let length = |part: &Option<f64>| part.filter(|part| part.is_finite()).unwrap_or(0.0).max(0.0);
    let lengths: Vec<f64> = parts.iter().map(length).collect();
    let total: f64 = lengths.iter().sum();
    let (mut bar, mut sum, mut drawn) = (String::new(), 0.0, 0);
    if total <= 0.0 {
        return bar;
    }
    // Ends are rounded instead of lengths, so that the rounded parts add up to the whole.
    for (length, fill) in lengths.into_iter().zip(FILLS) {
        sum += length;
        let end = (sum / total * COLUMNS as f64).round() as usize;
        bar.extend(std::iter::repeat_n(fill, end.saturating_sub(drawn)));
        drawn = end;
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_is_as_long_and_its_parts_are_the_shares() {
        for parts in [[1.0, 1.0, 1.0, 1.0], [0.1, 7.3, 0.0, 2.9], [1e-9, 1e9, 3.0, 0.0]] {
            assert_eq!(cpu_bar(&parts.map(Some)).chars().count(), COLUMNS, "{parts:?}");
        }
        let counts = FILLS.map(|fill| {
            let bar = cpu_bar(&[Some(6.0), Some(12.0), None, Some(6.0)]);
            bar.chars().filter(|letter| *letter == fill).count()
        });
        assert_eq!(counts, [6, 12, 0, 6]);
        assert_eq!(cpu_bar(&[None, Some(0.0), Some(f64::NAN), None]), "");
    }
}
