//! One plot as SVG: axes, and a path for each kind of mark, in the units of its axes. Marks keep their size when the
//! plot is scaled (`vector-effect`), so that the script has only to change one transformation, and reads the values
//! that it shows from the paths.

use std::fmt::Write as _;

use tresse_report::html::escape;

/// Size of the drawing, and of the area for data in it.
const SIZE: (f64, f64) = (960.0, 380.0);
const AREA: (f64, f64, f64, f64) = (70.0, 8.0, 878.0, 330.0);
/// Where one line is everywhere below so small a share of another one, nothing could be seen of it.
const SQUASHED: f64 = 0.05;

/// A vertical stroke, or a dot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

#[derive(Clone)]
enum Points<'a> {
    Marks(&'a [Mark]),
    /// Steps: each value holds until the next.
    Line(Vec<(f64, f64)>),
}

/// Marks of one kind.
#[derive(Clone)]
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

    pub(super) fn line(label: &'a str, style: &'a str, points: Vec<(f64, f64)>) -> Series<'a> {
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

    fn largest(&self) -> f64 {
        self.corners().fold(0.0, |most, (_, y)| most.max(y))
    }

    fn shape(&self) -> &'static str {
        match self.points {
            Points::Marks(_) => "",
            Points::Line(_) => " line",
        }
    }
}

pub(super) struct Plot<'a> {
    pub(super) title: String,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
    /// Its group and the end of its time axis, in seconds: plots of one group have one time axis and are zoomed
    /// together.
    pub(super) time: Option<(u64, f64)>,
    /// An axis is logarithmic where a line would squash another one.
    pub(super) may_be_log: bool,
    pub(super) series: Vec<Series<'a>>,
}

/// An axis: its ends, of the logarithms if it has them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// What is drawn for a value; what has no logarithm stands below the others.
    fn of(self, value: f64) -> f64 {
        match self.log {
            true if value > 0.0 => value.log10(),
            true => self.low - 1.0,
            false => value,
        }
    }

    fn part(self, drawn: f64) -> f64 {
        (drawn - self.low) / (self.high - self.low)
    }

    /// Places of round values, and what stands there.
    fn ticks(self) -> Vec<(f64, String)> {
        let (low, high) = (self.low, self.high);
        if self.log {
            let each = 1 + ((high - low) / 8.0) as usize;
            let tens = (low.floor() as i32..=high.floor() as i32).step_by(each);
            let few = high - low < 3.0;
            return tens
                .flat_map(|ten| {
                    [1.0, 2.0, 5.0].map(|n: f64| (f64::from(ten) + n.log10(), n * 10f64.powi(ten)))
                })
                .enumerate()
                .filter(|(n, (at, _))| (few || n % 3 == 0) && (low..=high).contains(at))
                .map(|(_, (at, value))| (at, short(value, value)))
                .collect();
        }
        let rough = (high - low) / 7.0;
        let unit = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit);
        let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        // Never -0.
        (first..=last)
            .map(|n| (n as f64 * step + 0.0, short(n as f64 * step + 0.0, step)))
            .collect()
    }
}

/// A round value in few letters; its neighbours are `step` away.
fn short(value: f64, step: f64) -> String {
    let (divisor, suffix) = match value.abs() {
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = (-(step / divisor).log10() - 1e-9).ceil().max(0.0) as usize;
    format!("{:.digits$}{suffix}", value / divisor)
}

/// A number of a path: as exact as six digits behind the point are.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Plot<'_> {
    /// Writes the plot as a figure; nothing if there is nothing in it.
    pub(super) fn svg(&self, out: &mut String) {
        let series: Vec<&Series<'_>> = self.series.iter().filter(|s| !s.is_empty()).collect();
        let Some((x, y)) = self.axes(&series) else { return };
        let (left, top, width, height) = AREA;
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<figure class=\"plot over-time\"><figcaption>{} <span class=\"legend\">",
            escape(&self.title)
        );
        for (n, s) in series.iter().enumerate() {
            let label = escape(s.label);
            let _ = write!(
                out,
                "<b class=\"key {}{}\" data-line=\"{n}\"><i></i>{label}</b> ",
                s.style,
                s.shape()
            );
        }
        let group =
            self.time.map_or(String::new(), |(group, _)| format!(" data-group=\"{group}\""));
        let log = if y.log { " data-log=\"y\"" } else { "" };
        let _ = writeln!(
            out,
            "</span></figcaption>\n<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{2}\" \
             data-x=\"{3} {4}\" data-y=\"{5} {6}\" data-xu=\"{7}\" data-yu=\"{8}\"{group}{log}><title>{2}</title>",
            SIZE.0,
            SIZE.1,
            escape(&self.title),
            x.low,
            x.high,
            y.low,
            y.high,
            self.x_label,
            self.y_label,
        );
        let _ = write!(
            out,
            "<rect class=\"area\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/><g class=\"axes\">"
        );
        for (at, label) in x.ticks() {
            let (x, low) = (left + x.part(at) * width, top + height);
            let text = low + 17.0;
            let _ = write!(
                out,
                "<path d=\"M{x:.1} {top}V{low}\"/><text x=\"{x:.1}\" y=\"{text}\" text-anchor=\"middle\">{label}</text>"
            );
        }
        for (at, label) in y.ticks() {
            let (y, right, text) = (top + (1.0 - y.part(at)) * height, left + width, left - 7.0);
            let base = y + 4.0;
            let _ = write!(
                out,
                "<path d=\"M{left} {y:.1}H{right}\"/><text x=\"{text}\" y=\"{base:.1}\" text-anchor=\"end\">{label}</text>"
            );
        }
        let (sx, sy) = (width / (x.high - x.low), height / (y.high - y.low));
        let _ = writeln!(
            out,
            "</g>\n<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n\
             <svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" class=\"clip\">\
             <g class=\"data\" transform=\"matrix({sx} 0 0 {} {} {})\">",
            left + width,
            SIZE.1 - 8.0,
            self.x_label,
            -sy,
            -x.low * sx,
            y.high * sy,
        );
        for (n, s) in series.iter().enumerate() {
            let _ = write!(out, "<path class=\"{}{}\" data-line=\"{n}\" d=\"", s.style, s.shape());
            s.path(out, y);
            out.push_str("\"/>\n");
        }
        out.push_str("</g></svg></svg></figure>\n");
    }

    /// Both axes; `None` if there is nothing to draw.
    fn axes(&self, series: &[&Series<'_>]) -> Option<(Axis, Axis)> {
        let corners = || series.iter().flat_map(|s| s.corners());
        let first = corners().next()?;
        let ends = |start: f64, of: fn((f64, f64)) -> f64| {
            let [low, high] =
                corners().fold([start, of(first)], |[l, h], at| [l.min(of(at)), h.max(of(at))]);
            [low, if high > low { high } else { low + 1.0 }]
        };
        let [x_low, x_high] = match self.time {
            Some((_, end)) => [0.0, if end > 0.0 { end } else { 1.0 }],
            None => ends(first.0, |(x, _)| x),
        };
        let [y_low, y_high] = ends(first.1.min(0.0), |(_, y)| y);
        let largest = series.iter().map(|s| s.largest()).filter(|most| *most > 0.0);
        let smallest = largest.fold(f64::INFINITY, f64::min);
        let log = self.may_be_log && y_low >= 0.0 && smallest < SQUASHED * y_high;
        let x = Axis { low: x_low, high: x_high, log: false };
        let y = if log {
            let positive = corners().map(|(_, y)| y).filter(|y| *y > 0.0);
            let low = positive.fold(f64::INFINITY, f64::min).log10();
            Axis { low: low - 0.1, high: y_high.log10() + 0.1, log }
        } else {
            // Nothing touches the upper edge.
            Axis { low: y_low, high: y_high + 0.04 * (y_high - y_low), log }
        };
        Some((x, y))
    }
}

impl Series<'_> {
    /// Writes the data of the path, in the units of the axes.
    fn path(&self, out: &mut String, y: Axis) {
        match &self.points {
            Points::Marks(marks) => {
                for mark in *marks {
                    let (from, to) = (y.of(mark.from), y.of(mark.to));
                    let _ =
                        write!(out, "M{} {}v{}", number(mark.x), number(from), number(to - from));
                }
            }
            Points::Line(points) => {
                for (index, (x, value)) in points.iter().enumerate() {
                    let (x, value) = (number(*x), number(y.of(*value)));
                    let _ = match index {
                        0 => write!(out, "M{x} {value}"),
                        _ => write!(out, "H{x}V{value}"),
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_stand_at_round_values() {
        let axis = |low, high, log| Axis { low, high, log };
        assert_eq!(labels(axis(0.0, 1.0, false)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(axis(0.0, 30_000.0, false))[..3], ["0", "5000", "10k"]);
        assert_eq!(labels(axis(-0.1, 2.1, true)), ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn a_constant_that_squashes_the_rest_makes_the_axis_logarithmic() {
        let plot = |rto: f64| {
            let series = vec![
                Series::line("RTO", "timeout", vec![(0.0, rto), (1.0, rto)]),
                Series::line("RTT", "sent", vec![(0.0, 0.0), (0.5, 2.5), (1.0, 4.0)]),
            ];
            let mut out = String::new();
            let title = "t".to_owned();
            let (x_label, y_label) = ("s", "ms");
            Plot { title, x_label, y_label, time: Some((1, 1.0)), may_be_log: true, series }
                .svg(&mut out);
            out
        };
        assert!(!plot(20.0).contains("data-log"));
        assert!(plot(20.0).contains("d=\"M0 0H0.5V2.5H1V4\""));
        let log = plot(1000.0);
        assert!(log.contains("data-log=\"y\"") && log.contains("d=\"M0 3H1V3\""), "{log}");
    }
}
