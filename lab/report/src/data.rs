//! The values behind a plot, for a page whose script shows them.

use std::fmt::Write as _;

use crate::figure::{Figure, Point};

/// What the script of a page wants to know of a figure, as JSON: what its axes are, and of each line its name and its
/// points, flat: x, y, and the ends of the bar, or nothing.
pub(crate) fn json(figure: &Figure) -> String {
    let names = figure.categories.iter().map(|name| text(name)).collect::<Vec<_>>().join(",");
    let mut out = format!(
        "{{\"x\":{},\"xu\":{},\"yu\":{},\"names\":[{names}],\"lines\":[",
        text(without_unit(&figure.x_label)),
        text(unit(&figure.x_label)),
        text(unit(&figure.y_label))
    );
    for (index, line) in figure.lines.iter().enumerate() {
        let comma = if index == 0 { "" } else { ",\n" };
        let _ = write!(out, "{comma}[{},[", text(&line.label));
        for (n, Point { x, y, bar }) in line.pieces.iter().flatten().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(out, "{comma}[{},{}", number(*x), number(*y));
            if let Some([low, high]) = bar {
                let _ = write!(out, ",{},{}", number(*low), number(*high));
            }
            out.push(']');
        }
        out.push_str("]]");
    }
    out.push_str("]}");
    out
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
    use crate::figure::{Axes, Line, Look};

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
            Point { x: 1.0, y: 2.0 / 3.0, bar: Some([0.5, 0.75]) },
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
}
