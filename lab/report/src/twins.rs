//! Lines that would hide each other.

use std::collections::BTreeMap;

use crate::figure::{Figure, Look};

/// This share of the height of a plot cannot be told apart.
const NEAR: f64 = 0.004;

/// For each line, upon how many of those drawn before it it lies: at least half of its points are theirs.
pub(crate) fn covered(figure: &Figure) -> Vec<usize> {
    let on_axis = |y: f64| if figure.y_log { y.max(figure.y_range[0]).ln() } else { y };
    let [low, high] = figure.y_range.map(on_axis);
    let near = NEAR * (high - low);
    let mut before: Vec<(Look, BTreeMap<u64, Vec<f64>>)> = Vec::new();
    let mut found = Vec::new();
    for line in &figure.lines {
        let points = || line.pieces.iter().flatten();
        let all = points().count();
        let is_on = |below: &BTreeMap<u64, Vec<f64>>| {
            let same = points().filter(|p| {
                let there = below.get(&p.x.to_bits());
                there.is_some_and(|ys| ys.iter().any(|y| (y - on_axis(p.y)).abs() <= near))
            });
            all > 0 && 2 * same.count() >= all
        };
        found.push(before.iter().filter(|(look, at)| *look == line.look && is_on(at)).count());
        let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for point in points() {
            at.entry(point.x.to_bits()).or_default().push(on_axis(point.y));
        }
        before.push((line.look, at));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axes, Line, Point};

    #[test]
    fn what_lies_upon_another_line_is_found() {
        let line = |ys: [f64; 3]| Line {
            label: "a".into(),
            style: 1,
            look: Look::Marked,
            pieces: vec![(1..).zip(ys).map(|(x, y)| Point::new(f64::from(x), y)).collect()],
        };
        let lines = vec![
            line([10.0, 20.0, 30.0]),
            line([10.0, 25.0, 35.0]),
            line([10.01, 20.0, 38.0]),
            line([10.0, 20.0, 30.0]),
        ];
        let figure = Figure::new(Axes::default(), lines, Vec::new()).unwrap();
        assert_eq!(covered(&figure), [0, 0, 1, 2]);
    }
}
