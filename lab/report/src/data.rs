//! The values behind a plot, for a page whose script shows them.

use std::fmt::Write as _;

use crate::figure::{Figure, Look, Point, ReferenceAt};

/// What the script of a page wants to know of a figure, as JSON: what its axes are, and of each line its name, its
/// points, flat: x, y, the ends of the bar, or nothing, and 1 where it is y at least; and `"steps"` or `"marks"`, which are
/// not joined. Published numbers are: the line that has their colour, y, and x if they do not hold for all of the axis.
pub(crate) fn json(figure: &Figure) -> String {
    let names = if figure.names.is_empty() { &figure.categories } else { &figure.names };
    let names = names.iter().map(|name| text(name)).collect::<Vec<_>>().join(",");
    let mut out = format!(
        "{{\"x\":{},\"xu\":{},\"yu\":{},\"names\":[{names}],\"lines\":[",
        text(without_unit(&figure.x_label)),
        text(unit(&figure.x_label)),
        text(unit(&figure.y_label))
    );
    for (index, line) in figure.lines.iter().enumerate() {
        let comma = if index == 0 { "" } else { ",\n" };
        let _ = write!(out, "{comma}[{},[", text(&line.label));
        for (n, Point { x, y, bar, at_least }) in line.pieces.iter().flatten().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(out, "{comma}[{},{}", number(*x), number(*y));
            match bar {
                Some([low, high]) => {
                    let _ = write!(out, ",{},{}", number(*low), number(*high));
                }
                None if *at_least => out.push_str(",null,null"),
                None => {}
            }
            out.push_str(if *at_least { ",1]" } else { "]" });
        }
        out.push_str(match line.look {
            Look::Marked | Look::Thin => "]]",
            Look::Steps => "],\"steps\"]",
            Look::Dots | Look::Rings | Look::Crosses | Look::Markers => "],\"marks\"]",
        });
    }
    out.push(']');
    if !figure.references.is_empty() {
        published(&mut out, figure);
    }
    out.push('}');
    out
}

/// What the legend calls published numbers, and each of them.
fn published(out: &mut String, figure: &Figure) {
    let _ = write!(out, ",\"published\":[{},[", text(figure.reference_name));
    for (n, reference) in figure.references.iter().enumerate() {
        let line = figure.lines.iter().position(|line| line.style == reference.style);
        let line = line.map_or(-1, |line| line as i64);
        let comma = if n == 0 { "" } else { "," };
        let _ = match reference.at {
            ReferenceAt::Level { y } => write!(out, "{comma}[{line},{}]", number(y)),
            ReferenceAt::Point { x, y } => {
                write!(out, "{comma}[{line},{},{}]", number(y), number(x))
            }
        };
    }
    out.push_str("]]");
}

/// The unit that a label names, behind a comma or in parentheses; empty if it names none.
fn unit(label: &str) -> &str {
    let unit = match label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((_, unit)) => unit,
        None => label.rsplit_once(", ").map_or("", |(_, unit)| unit),
    };
    if unit.chars().count() <= 8 { unit } else { "" }
}

/// A label without its unit.
fn without_unit(label: &str) -> &str {
    match unit(label) {
        "" => label,
        unit => {
            label.trim_end_matches(')').trim_end_matches(unit).trim_end_matches([' ', ',', '('])
        }
    }
}

/// Seven significant digits.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let digits = (6 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A JSON string that ends no element of a page, either.
fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' || c == '<' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axes, Line, Reference};

    #[test]
    fn labels_name_their_units() {
        assert_eq!(unit("goodput, kbit/s"), "kbit/s");
        assert_eq!(unit("One-way delay (ms)"), "ms");
        assert_eq!(unit("Message (TSN)"), "TSN");
        assert_eq!(unit("% of worlds"), "");
        assert_eq!(without_unit("One-way delay (ms)"), "One-way delay");
        assert_eq!(without_unit("goodput, kbit/s"), "goodput");
        assert_eq!(without_unit("number"), "number");
    }

    #[test]
    fn values_are_written_with_their_intervals_and_names_cannot_end_the_element() {
        let piece = vec![
            Point { bar: Some([0.5, 0.75]), ..Point::new(1.0, 2.0 / 3.0) },
            Point::new(123_456.0, 1_234_567.25),
        ];
        let label = "</script> \"a\"".to_owned();
        let line = Line { label, style: 1, look: Look::Marked, pieces: vec![piece] };
        let axes =
            Axes { x_label: "time, s".into(), y_label: "delay (ms)".into(), ..Axes::default() };
        let figure = Figure::new(axes, vec![line], Vec::new()).unwrap();
        assert_eq!(
            json(&figure),
            "{\"x\":\"time\",\"xu\":\"s\",\"yu\":\"ms\",\"names\":[],\"lines\":[[\"\\u003c/script> \\\"a\\\"\",\
             [[1,0.6666667,0.5,0.75],[123456,1234567]]]]}"
        );
    }

    #[test]
    fn steps_lower_bounds_and_published_numbers_are_told() {
        let least = Point { at_least: true, ..Point::new(1.0, 9.0) };
        let bar = Some([8.0, 10.0]);
        let pieces = vec![vec![least, Point { bar, ..least }]];
        let line = Line { label: "a".into(), style: 4, look: Look::Steps, pieces };
        let at = [ReferenceAt::Level { y: 3.5 }, ReferenceAt::Point { x: 1.0, y: 7.0 }];
        let references = [4, 5].into_iter().zip(at).map(|(style, at)| Reference { style, at });
        let figure = Figure::new(Axes::default(), vec![line], references.collect()).unwrap();
        assert_eq!(
            json(&figure),
            "{\"x\":\"\",\"xu\":\"\",\"yu\":\"\",\"names\":[],\"lines\":[[\"a\",\
             [[1,9,null,null,1],[1,9,8,10,1]],\"steps\"]],\"published\":[\"paper\",[[0,3.5],[-1,7,1]]]}"
        );
    }
}
