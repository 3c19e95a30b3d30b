//! What a plot contains, before it is drawn.

use crate::{Estimate, scale};

/// A plot as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Range of the x axis.
    pub x_range: [f64; 2],
    /// About how many labels the x axis has.
    pub x_labels: usize,
    /// Names of the x values 0, 1, 2, ... where they are not numbers.
    pub categories: Vec<String>,
    /// What the x values 0, 1, 2, ... are, where their names have no room below the axis: the values say it.
    pub names: Vec<String>,
    /// Range of the y axis; it begins at 0 unless there are negative values, or it is logarithmic.
    pub y_range: [f64; 2],
    /// The y axis is logarithmic; what is not above its range stands on its lower end.
    pub y_log: bool,
    /// The y axis counts something: nothing stands between whole numbers.
    pub whole: bool,
    /// Lines can cover each other, so those drawn first are thicker.
    pub layered: bool,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Published numbers, drawn in, or what else is aimed at.
    pub references: Vec<Reference>,
    /// What the legend calls the references. Default `paper`.
    pub reference_name: &'static str,
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What the legend says.
    pub label: String,
    /// Colour and marker, as an index into the palette.
    pub style: usize,
    /// How its points are drawn.
    pub look: Look,
    /// Points that are joined, piece by piece.
    pub pieces: Vec<Vec<Point>>,
}

impl Line {
    /// What is joined of a piece.
    pub(crate) fn corners(&self, piece: &[Point]) -> Vec<(f64, f64)> {
        let mut corners: Vec<(f64, f64)> = Vec::with_capacity(piece.len());
        for Point { x, y, .. } in piece {
            if let Some((_, before)) = corners.last().copied().filter(|_| self.look == Look::Steps)
            {
                corners.push((*x, before));
            }
            corners.push((*x, *y));
        }
        corners
    }
}

/// How the points of a line are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Joined, each with a marker.
    #[default]
    Marked,
    /// Joined by a thin line without markers: for hundreds of points.
    Thin,
    /// As thin, in steps: each value holds until the next.
    Steps,
    /// Dots that are not joined; small ones if there are many.
    Dots,
    /// Open circles that are not joined; small ones if there are many.
    Rings,
    /// Crosses in the colour of the text, to be seen on top of other marks.
    Crosses,
    /// Markers that are not joined.
    Markers,
}

/// A point with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// x.
    pub x: f64,
    /// y.
    pub y: f64,
    /// Lower and upper end of the bar through it: a confidence interval, or a range.
    pub bar: Option<[f64; 2]>,
    /// It is y at least: what was measured had not come to an end.
    pub at_least: bool,
}

impl Point {
    /// A point without a bar.
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y, bar: None, at_least: false }
    }

    /// A point with the confidence interval of the estimate, or else from its smallest to its
    /// largest value.
    pub fn of(x: f64, estimate: Estimate) -> Point {
        let y = estimate.value;
        let [low, high] = estimate.range;
        let bar = match estimate.ci95 {
            Some(half) => Some([y - half, y + half]),
            None => (low < high).then_some([low, high]),
        };
        Point { x, y, bar, at_least: false }
    }
}

/// A published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Colour of the line that it belongs to.
    pub style: usize,
    /// Where it stands.
    pub at: ReferenceAt,
}

/// Where a published number stands in a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReferenceAt {
    /// At one point.
    Point {
        /// x.
        x: f64,
        /// y.
        y: f64,
    },
    /// On a level.
    Level {
        /// y.
        y: f64,
    },
}

/// What a figure is, apart from its points.
#[derive(Clone, Debug, Default)]
pub struct Axes {
    /// Title.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Space left and right of the points, in the unit of the x axis.
    pub x_margin: f64,
    /// About how many labels the x axis has.
    pub x_labels: usize,
    /// Names of the x values 0, 1, 2, ... where they are not numbers.
    pub categories: Vec<String>,
    /// What the x values 0, 1, 2, ... are, where their names have no room below the axis.
    pub names: Vec<String>,
    /// Range of the x axis. Default: what the points need.
    pub x_range: Option<[f64; 2]>,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Upper end of the y axis. Default: what the points need.
    pub y_max: Option<f64>,
    /// The y axis is logarithmic.
    pub y_log: bool,
    /// The y axis reaches as far below 0 as above it: differences.
    pub around_zero: bool,
    /// The y axis counts something: nothing stands between whole numbers.
    pub whole: bool,
    /// Lines can cover each other, so those drawn first are thicker.
    pub layered: bool,
}

impl Figure {
    /// The figure with these lines; `None` if there is no point in any of them.
    pub fn new(axes: Axes, lines: Vec<Line>, references: Vec<Reference>) -> Option<Figure> {
        let points = || lines.iter().flat_map(|l| &l.pieces).flatten();
        points().next()?;
        let fold = |values: &mut dyn Iterator<Item = f64>| {
            values.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)])
        };
        let [x_low, x_high] = axes.x_range.unwrap_or_else(|| fold(&mut points().map(|p| p.x)));
        let reference_y = references.iter().map(|r| match r.at {
            ReferenceAt::Point { y, .. } | ReferenceAt::Level { y } => y,
        });
        let ends = points().flat_map(|p| p.bar.unwrap_or([p.y, p.y]));
        let mut values = ends.chain(reference_y).filter(|y| !axes.y_log || *y > 0.0);
        let [y_low, y_high] = fold(&mut values);
        let farthest = y_high.max(-y_low);
        let [y_low, y_high] =
            if axes.around_zero { [-farthest, farthest] } else { [y_low, y_high] };
        let [y_low, y_high] = match (axes.y_log, axes.y_max) {
            (true, given) => scale::round_range([y_low, given.unwrap_or(y_high)]),
            (false, given) => [y_low, given.unwrap_or_else(|| round_up(y_high.max(1e-9) * 1.05))],
        };
        let y_low = if y_low < 0.0 { -round_up(-y_low * 1.05) } else { y_low };
        let margin = if x_high > x_low { axes.x_margin } else { axes.x_margin.max(0.5) };
        Some(Figure {
            title: axes.title,
            x_label: axes.x_label,
            y_label: axes.y_label,
            x_range: [x_low - margin, x_high + margin],
            x_labels: axes.x_labels,
            categories: axes.categories,
            names: axes.names,
            whole: axes.whole,
            layered: axes.layered,
            y_range: [if axes.y_log { y_low } else { y_low.min(0.0) }, y_high],
            y_log: axes.y_log,
            lines,
            references,
            reference_name: "paper",
        })
    }
}

/// The next number with at most two significant digits.
fn round_up(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_at_round_numbers() {
        assert_eq!(round_up(201.0), 210.0);
        assert!((round_up(0.0123) - 0.013).abs() < 1e-12);
        assert_eq!(round_up(100.0), 100.0);
    }

    #[test]
    fn a_figure_holds_its_bars_and_references() {
        let bar = Some([-1.0, 8.0]);
        let piece = vec![Point { bar, ..Point::new(1.0, 5.0) }, Point::new(3.0, 2.0)];
        let line = Line { label: "a".into(), style: 1, look: Look::Marked, pieces: vec![piece] };
        let reference = Reference { style: 1, at: ReferenceAt::Level { y: 19.0 } };
        let axes = Axes { x_margin: 1.0, ..Axes::default() };
        let figure = Figure::new(axes.clone(), vec![line], vec![reference]).unwrap();
        assert_eq!(figure.x_range, [0.0, 4.0]);
        assert!(figure.y_range[0] <= -1.0 && figure.y_range[1] >= 19.0);
        assert!(Figure::new(axes, Vec::new(), Vec::new()).is_none());
        // Differences: no marker lies on the frame.
        let around = |y: f64| {
            let pieces = vec![vec![Point::new(1.0, y), Point::new(2.0, 0.0)]];
            let line = Line { label: "a".into(), style: 1, look: Look::Markers, pieces };
            let axes = Axes { around_zero: true, ..Axes::default() };
            Figure::new(axes, vec![line], Vec::new()).unwrap().y_range
        };
        assert_eq!((around(20.0), around(-20.0)), ([-21.0, 21.0], [-21.0, 21.0]));
    }

    #[test]
    fn a_logarithmic_axis_holds_what_is_above_0() {
        let bar = Some([-20.0, 268.0]);
        let piece = vec![Point { bar, ..Point::new(1.0, 135.0) }, Point::new(2.0, 35.0)];
        let line = Line { label: "a".into(), style: 1, look: Look::Marked, pieces: vec![piece] };
        let axes = Axes { y_log: true, ..Axes::default() };
        let range = |line: &Line| {
            Figure::new(axes.clone(), vec![line.clone()], Vec::new()).unwrap().y_range
        };
        assert_eq!(range(&line), [20.0, 500.0]);
        // Nothing is above 0.
        let pieces = vec![vec![Point::new(1.0, 0.0)]];
        assert_eq!(range(&Line { pieces, ..line }), [1.0, 10.0]);
    }
}
