//! Two results of one experiment as a page.

use std::fmt::Write as _;

use tresse_report::figure::{Axes, Figure, Line, Look, Point};
use tresse_report::html::{self, escape};
use tresse_report::{Drawing, Unit};

use super::Report;
use super::agreement::{Agreement, Pair, table};

/// The page: how far apart the pairs are as a plot, and all of them as a table. `names` are those of both results.
///
/// # Errors
/// What the drawing library says, as one line.
pub fn page(results: [&Report; 2], pairs: &[Pair], names: [&str; 2]) -> Result<String, String> {
    let about = &results[0].about;
    let mut out = format!(
        "<h1>{}</h1>\n<p class=\"paper\"><code>{}</code>: {} beside {}</p>\n<ul class=\"chips\">\n",
        escape(&about.title),
        escape(&about.id),
        escape(names[0]),
        escape(names[1])
    );
    for (agreement, word, class) in KINDS {
        let count = pairs.iter().filter(|pair| pair.agreement() == agreement).count();
        if count > 0 {
            let _ = writeln!(out, "<li class=\"{class}\">{count} {word}</li>");
        }
    }
    out.push_str("</ul>\n");
    for figure in [false, true].into_iter().filter_map(|points| differences(pairs, names, points)) {
        let mut plot = Drawing::new("differences", &figure)?;
        plot.name = String::new();
        html::drawing(&mut out, &plot);
    }
    let mut all = table(pairs, names);
    all.columns.insert(0, ("row".into(), tresse_report::Align::Right));
    for (row, n) in all.rows.iter_mut().zip(1..) {
        row.insert(0, format!("{n}"));
    }
    html::table(&mut out, &all);
    out.push_str("<section><h2>Make them again</h2>\n");
    for (report, name) in results.into_iter().zip(names) {
        let _ = writeln!(
            out,
            "<p>{}, by {}:</p><pre>{}</pre>",
            escape(name),
            escape(&report.version),
            escape(&report.command)
        );
    }
    out.push_str("</section>\n");
    Ok(html::page(&format!("{}: {} beside {}", about.id, names[0], names[1]), "", &out))
}

const KINDS: [(Agreement, &str, &str); 3] = [
    (Agreement::Close, "within 5 %", "good"),
    (Agreement::Undecided, "intervals overlap", ""),
    (Agreement::Apart, "apart", "bad"),
];

/// The difference of each pair by its row in the table: of percentages in `points`, or of all others in percent. `None` if
/// none can be said.
fn differences(pairs: &[Pair], names: [&str; 2], points: bool) -> Option<Figure> {
    let styles = [3, 5, 1];
    let line = |((agreement, word, _), style): ((Agreement, &str, &str), usize)| {
        let of = (1..).zip(pairs).filter(|(_, pair)| {
            pair.agreement() == agreement && (pair.unit == Unit::Percent) == points
        });
        let points: Vec<Point> =
            of.filter_map(|(n, pair)| Some(Point::new(f64::from(n), pair.difference()?))).collect();
        (!points.is_empty()).then(|| Line {
            label: word.into(),
            style,
            look: Look::Markers,
            pieces: vec![points],
        })
    };
    let what = if points { " (percentages)" } else { "" };
    let row = |(n, pair): (u32, &Pair)| format!("{n}: {}", pair.what);
    let axes = Axes {
        title: format!("{} less {}{what}", names[1], names[0]),
        x_label: "Row of the table".into(),
        x_margin: 0.7,
        x_labels: 12,
        x_range: Some([1.0, pairs.len() as f64]),
        names: std::iter::once(String::new()).chain((1..).zip(pairs).map(row)).collect(),
        y_label: if points { "Difference, points" } else { "Difference, %" }.into(),
        around_zero: true,
        ..Axes::default()
    };
    Figure::new(axes, KINDS.into_iter().zip(styles).filter_map(line).collect(), Vec::new())
}

#[cfg(test)]
mod tests {
    use tresse_report::Estimate;

    use super::*;

    #[test]
    fn rows_are_named_and_points_have_an_axis_of_their_own() {
        let pair = |what: &str, unit: Unit, values: [f64; 2]| Pair {
            what: what.into(),
            unit,
            values: values.map(|value| Estimate::of(&[value]).unwrap()),
        };
        let pairs = [
            pair("delay", Unit::Milliseconds, [100.0, 150.0]),
            pair("loss", Unit::Percent, [10.0, 12.0]),
        ];
        let [percent, points] =
            [false, true].map(|points| differences(&pairs, ["a", "b"], points).unwrap());
        for (figure, x, y) in [(&percent, 1.0, 50.0), (&points, 2.0, 2.0)] {
            let all: Vec<&Point> = figure.lines.iter().flat_map(|l| &l.pieces).flatten().collect();
            assert_eq!((all.len(), all[0].x, all[0].y), (1, x, y));
            assert_eq!(figure.names, ["", "1: delay", "2: loss"]);
            assert_eq!(figure.x_range, [1.0 - 0.7, 2.0 + 0.7]);
        }
        assert_eq!(
            [&percent, &points].map(|f| f.y_label.as_str()),
            ["Difference, %", "Difference, points"]
        );
    }
}
