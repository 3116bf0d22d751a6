//! Does a series grow? Ordinary least squares, for a queue that lengthens through the window.
//!
//! The verdict on saturation asks it how the schedule lag grows. How much growth is too much, and how few points say
//! nothing, is decided there.

/// The slope of the least-squares line through (x, y) points: change of y for each unit of x. None for fewer than
/// two distinct x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let spread = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    let together = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    (points.len() >= 2 && spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_as_numpy_gives_them() {
        // numpy.polyfit([0, 1, 2, 3], [1, 3, 2, 5], 1)[0] = 1.1
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)];
        assert!((slope(&points).unwrap() - 1.1).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 1.0)]), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 5.0)]), None);
        assert_eq!(slope(&[]), None);
    }
}
