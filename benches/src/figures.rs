//! Figures of several runs, and how people read them.
//!
//! Lives here: medians, spreads, percentiles, units. Not here: tables (`table.rs`).

use std::time::Duration;

/// What one thing was in each run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn add(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// `median (smallest to largest)`, each shown by `unit`.
    pub(crate) fn shown(&self, unit: fn(f64) -> String) -> String {
        let sorted = sorted(&self.0);
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return "not measured".to_owned();
        };
        if sorted.len() == 1 {
            return unit(*first);
        }
        format!("{} ({} to {})", unit(median(&sorted)), unit(*first), unit(*last))
    }
}

/// The middle; of an even number, the mean of the two in the middle. 0 of nothing.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let sorted = sorted(figures);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len.is_multiple_of(2) => f64::midpoint(sorted[half - 1], sorted[half]),
        _ => sorted[half],
    }
}

/// The figure that `share` of a hundred are not above. 0 of nothing.
pub(crate) fn percentile(figures: &[f64], share: usize) -> f64 {
    let sorted = sorted(figures);
    let rank = (sorted.len() * share).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A time in milliseconds.
pub(crate) fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn ms(figure: f64) -> String {
    format!("{} ms", short(figure))
}

pub(crate) fn us(figure: f64) -> String {
    format!("{} µs", short(figure))
}

pub(crate) fn seconds(figure: f64) -> String {
    format!("{} s", short(figure))
}

pub(crate) fn percent(figure: f64) -> String {
    format!("{} %", short(figure))
}

pub(crate) fn times(figure: f64) -> String {
    format!("{figure:.2}")
}

pub(crate) fn per_second(figure: f64) -> String {
    format!("{} /s", grouped(figure.round() as u64))
}

pub(crate) fn mib(bytes: f64) -> String {
    let mib = bytes / f64::from(1 << 20);
    if mib >= 100.0 { format!("{} MiB", grouped(mib.round() as u64)) } else { format!("{mib:.1} MiB") }
}

pub(crate) fn bytes(figure: f64) -> String {
    format!("{} B", grouped(figure.round() as u64))
}

/// Three digits or so.
fn short(figure: f64) -> String {
    match figure {
        figure if figure >= 100.0 => grouped(figure.round() as u64),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.2}"),
    }
}

/// `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_percentiles_are_ranks() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        let hundred: Vec<f64> = (1..=100).map(f64::from).rev().collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (50.0, 99.0));
        assert_eq!((percentile(&[7.0], 99), percentile(&[], 50)), (7.0, 0.0));
    }

    #[test]
    fn several_runs_show_their_spread_and_one_does_not() {
        let mut figures = Figures::default();
        assert_eq!(figures.shown(ms), "not measured");
        figures.add(12.34);
        assert_eq!(figures.shown(ms), "12.3 ms");
        figures.add(1.0);
        figures.add(1234.5);
        assert_eq!(figures.shown(ms), "12.3 ms (1.00 ms to 1,235 ms)");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([1, 999, 1_000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        assert_eq!((mib(1_048_576.0), mib(2e8)), ("1.0 MiB".to_owned(), "191 MiB".to_owned()));
    }
}
