//! The y axis of a plot: linear or logarithmic.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;

/// Where a value stands on the y axis.
pub(crate) enum Scale {
    /// Equal differences are equally far apart.
    Linear(RangedCoordf64),
    /// Equal factors are equally far apart; the ends are above 0.
    Log([f64; 2]),
}

impl Scale {
    pub(crate) fn new([low, high]: [f64; 2], log: bool) -> Scale {
        if log { Scale::Log([low, high]) } else { Scale::Linear((low..high).into()) }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Scale::Linear(linear) => linear.map(value, limit),
            Scale::Log([low, high]) => {
                let share = (value.max(*low) / low).ln() / (high / low).ln();
                limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
            }
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self {
            Scale::Linear(linear) => linear.key_points(hint),
            Scale::Log(range) => labels(*range, hint.max_num_points()),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Scale::Linear(linear) => linear.range(),
            Scale::Log([low, high]) => *low..*high,
        }
    }
}

/// What stands beside a logarithmic axis: 1, 2, 5, 10, ..., or powers of ten if those are too many.
fn labels([low, high]: [f64; 2], most: usize) -> Vec<f64> {
    // A rounding error more or less leaves no end out.
    let within = |v: &f64| (0.999 * low..=1.001 * high).contains(v);
    let all: Vec<f64> = rounds(low, high).filter(within).collect();
    if all.len() <= most {
        return all;
    }
    let tens = |v: &f64| (v.log10() - v.log10().round()).abs() < 1e-9;
    all.into_iter().filter(tens).collect()
}

/// Numbers 1, 2 and 5 times a power of ten, from some below `low` to some above `high`.
fn rounds(low: f64, high: f64) -> impl DoubleEndedIterator<Item = f64> {
    let powers = low.log10().floor() as i32 - 1..=high.log10().ceil() as i32 + 1;
    powers.flat_map(|power| [1.0, 2.0, 5.0].map(|v| v * 10f64.powi(power)))
}

/// The range around a lowest and a highest value above 0, whose ends are 1, 2 or 5 times a power of ten. From 1 to 10 if there
/// is no such value.
pub(crate) fn round_range([low, high]: [f64; 2]) -> [f64; 2] {
    if !(low > 0.0 && low.is_finite() && high >= low && high.is_finite()) {
        return [1.0, 10.0];
    }
    // No marker lies on the frame.
    let below = rounds(low, high).rfind(|v| *v <= 0.95 * low);
    let above = rounds(low, high).find(|v| *v >= 1.05 * high);
    [below.unwrap_or(low), above.unwrap_or(high)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axes, Figure, Line, Look, Point};
    use crate::svg::{self, Format};

    #[test]
    fn equal_factors_are_equally_far_apart() {
        let scale = Scale::new([1.0, 100.0], true);
        let at = |v: f64| scale.map(&v, (400, 0));
        assert_eq!([at(1.0), at(10.0), at(100.0), at(0.0)], [400, 200, 0, 400]);
        let linear = Scale::new([0.0, 100.0], false);
        assert_eq!(linear.map(&25.0, (400, 0)), 300);
    }

    #[test]
    fn a_logarithmic_axis_ends_and_is_labelled_at_round_numbers() {
        assert_eq!(round_range([35.0, 7700.0]), [20.0, 10_000.0]);
        assert_eq!(round_range([0.02, 0.02]), [0.01, 0.05]);
        assert_eq!(labels([20.0, 500.0], 9), [20.0, 50.0, 100.0, 200.0, 500.0]);
        assert_eq!(labels([1.0, 10_000.0], 9), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn a_drawing_says_that_its_axis_is_logarithmic() {
        let pieces = vec![vec![Point::new(0.0, 3.0), Point::new(1.0, 700.0)]];
        let line = Line { label: "a".into(), style: 1, look: Look::Marked, pieces };
        let draw = |y_log: bool| {
            let axes = Axes { x_labels: 3, y_log, ..Axes::default() };
            let figure = Figure::new(axes, vec![line.clone()], Vec::new()).unwrap();
            svg::draw(&figure, Format::Wide).unwrap()
        };
        let [linear, log] = [false, true].map(draw);
        assert!(log.contains("data-y=\"2 1000\" data-log=\"y\""), "{log}");
        assert!(!linear.contains("data-log"));
        let labels = ["2", "5", "10", "20", "50", "100", "200", "500", "1000"];
        for label in labels {
            assert!(log.contains(&format!("\n{label}\n</text>")), "{label} in {log}");
        }
    }
}
