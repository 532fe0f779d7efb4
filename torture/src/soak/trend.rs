//! What a row of measurements says.
//!
//! Lives here: the slope of a line through them. Not here: taking them (`measure.rs`), bounds (`verdict.rs`).

/// How much `y` rises while `x` rises by one: the line with the least squares of errors. 0 where there are not two
/// different `x`.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (mean_x, mean_y) = (
        points.iter().map(|(x, _)| x).sum::<f64>() / count,
        points.iter().map(|(_, y)| y).sum::<f64>() / count,
    );
    let (mut both, mut square) = (0.0, 0.0);
    for (x, y) in points {
        both += (x - mean_x) * (y - mean_y);
        square += (x - mean_x) * (x - mean_x);
    }
    if square > 0.0 { both / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_noise_has_none() {
        let line: Vec<_> = (0..100).map(|x| (f64::from(x), 7.0 + 3.0 * f64::from(x))).collect();
        assert!((slope(&line) - 3.0).abs() < 1e-9);
        let saw: Vec<_> = (0..1_000).map(|x| (f64::from(x), f64::from(x % 10))).collect();
        assert!(slope(&saw).abs() < 0.001);
    }

    #[test]
    fn a_step_down_is_no_rise() {
        let falls: Vec<_> = (0..10).map(|x| (f64::from(x), if x < 5 { 9.0 } else { 1.0 })).collect();
        assert!(slope(&falls) < 0.0);
    }

    #[test]
    fn too_few_points_have_none() {
        assert_eq!(slope(&[]), 0.0);
        assert_eq!(slope(&[(1.0, 5.0)]), 0.0);
        assert_eq!(slope(&[(1.0, 5.0), (1.0, 9.0)]), 0.0);
    }
}
