//! One plot as SVG: axes, and a path for each kind of mark. Marks keep their size when the plot is
//! scaled (`vector-effect`), so that the script has only to change one transformation.

use std::fmt::Write as _;

use tresse_report::html::escape;

/// Size of the drawing, and of the area for data in it.
const SIZE: (f64, f64) = (960.0, 380.0);
const AREA: (f64, f64, f64, f64) = (78.0, 8.0, 870.0, 330.0);

/// A vertical stroke, or a dot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

enum Points<'a> {
    Marks(&'a [Mark]),
    /// Steps: each value holds until the next.
    Line(&'a [(f64, f64)]),
}

/// Marks of one kind.
pub(super) struct Series<'a> {
    label: &'a str,
    /// Class in the style sheet.
    style: &'a str,
    points: Points<'a>,
}

impl<'a> Series<'a> {
    pub(super) fn marks(label: &'a str, style: &'a str, marks: &'a [Mark]) -> Series<'a> {
        Series { label, style, points: Points::Marks(marks) }
    }

    pub(super) fn line(label: &'a str, style: &'a str, points: &'a [(f64, f64)]) -> Series<'a> {
        Series { label, style, points: Points::Line(points) }
    }

    fn is_empty(&self) -> bool {
        match &self.points {
            Points::Marks(marks) => marks.is_empty(),
            Points::Line(points) => points.is_empty(),
        }
    }

    /// Corners of what is drawn.
    fn corners(&self) -> Box<dyn Iterator<Item = (f64, f64)> + '_> {
        match &self.points {
            Points::Marks(marks) => {
                Box::new(marks.iter().flat_map(|mark| [(mark.x, mark.from), (mark.x, mark.to)]))
            }
            Points::Line(points) => Box::new(points.iter().copied()),
        }
    }
}

pub(super) struct Plot<'a> {
    pub(super) title: String,
    pub(super) y_label: &'static str,
    pub(super) series: Vec<Series<'a>>,
}

impl Plot<'_> {
    /// Writes the plot as a figure; nothing if there is nothing in it.
    pub(super) fn svg(&self, out: &mut String) {
        let series: Vec<&Series<'_>> = self.series.iter().filter(|s| !s.is_empty()).collect();
        let corners = || series.iter().flat_map(|s| s.corners());
        let Some(first) = corners().next() else { return };
        let wide = |[low, high]: [f64; 2]| if high > low { [low, high] } else { [low, low + 1.0] };
        let x = wide(corners().fold([first.0; 2], |[l, h], (x, _)| [l.min(x), h.max(x)]));
        let y = wide(
            corners().fold([first.1.min(0.0), first.1], |[l, h], (_, y)| [l.min(y), h.max(y)]),
        );
        // Nothing touches the upper edge.
        let y = [y[0], y[1] + 0.04 * (y[1] - y[0])];
        let (left, top, width, height) = AREA;
        let at_x = |v: f64| (v - x[0]) / (x[1] - x[0]) * width;
        let at_y = |v: f64| height - (v - y[0]) / (y[1] - y[0]) * height;
        // Writing to a String cannot fail.
        let _ = writeln!(out, "<figure><figcaption>{}<span class=\"legend\">", escape(&self.title));
        for s in &series {
            let _ = write!(out, "<b><i class=\"{}\"></i>{}</b> ", s.style, escape(s.label));
        }
        let _ = writeln!(
            out,
            "</span></figcaption>\n<svg class=\"plot\" viewBox=\"0 0 {} {}\" data-x=\"{} {}\" data-y=\"{} {}\">",
            SIZE.0, SIZE.1, x[0], x[1], y[0], y[1]
        );
        let _ = writeln!(
            out,
            "<rect class=\"area\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/><g class=\"axes\">"
        );
        axis(out, x, |v, label| {
            let x = left + at_x(v);
            let (low, text) = (top + height, top + height + 17.0);
            format!(
                "<path d=\"M{x:.1} {top}V{low}\"/><text x=\"{x:.1}\" y=\"{text}\" text-anchor=\"middle\">{label}</text>"
            )
        });
        axis(out, y, |v, label| {
            let (y, right, text) = (top + at_y(v), left + width, left - 7.0);
            let base = y + 4.0;
            format!(
                "<path d=\"M{left} {y:.1}H{right}\"/><text x=\"{text}\" y=\"{base:.1}\" text-anchor=\"end\">{label}</text>"
            )
        });
        let (middle, low) = (left + width / 2.0, SIZE.1 - 6.0);
        let _ = writeln!(
            out,
            "</g>\n<text class=\"label\" x=\"{middle}\" y=\"{low}\" text-anchor=\"middle\">seconds</text>\
             <text class=\"label\" transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n\
             <svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" class=\"clip\"><g class=\"data\">",
            top + height / 2.0,
            self.y_label
        );
        for s in &series {
            let _ = write!(out, "<path class=\"{}{}\" d=\"", s.style, s.shape());
            match &s.points {
                Points::Marks(marks) => {
                    for mark in *marks {
                        let (x, y) = (at_x(mark.x), at_y(mark.from));
                        let _ = write!(out, "M{x:.3} {y:.3}v{:.3}", at_y(mark.to) - y);
                    }
                }
                Points::Line(points) => {
                    for (index, (x, y)) in
                        points.iter().map(|(x, y)| (at_x(*x), at_y(*y))).enumerate()
                    {
                        let _ = match index {
                            0 => write!(out, "M{x:.3} {y:.3}"),
                            _ => write!(out, "H{x:.3}V{y:.3}"),
                        };
                    }
                }
            }
            out.push_str("\"/>\n");
        }
        out.push_str("</g></svg></svg></figure>\n");
    }
}

impl Series<'_> {
    fn shape(&self) -> &'static str {
        match self.points {
            Points::Marks(_) => "",
            Points::Line(_) => " line",
        }
    }
}

/// Writes the ticks of an axis at round numbers.
fn axis(out: &mut String, [low, high]: [f64; 2], tick: impl Fn(f64, &str) -> String) {
    let rough = (high - low) / 8.0;
    let unit = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|n| n * unit).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let mut n = (low / step).ceil();
    while n * step <= high {
        // Never -0.
        let at = n * step + 0.0;
        out.push_str(&tick(at, &format!("{at:.digits$}")));
        n += 1.0;
    }
}
