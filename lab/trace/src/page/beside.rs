//! Two captures side by side.

use tresse_report::figure::{Axes, Figure, Line, Look, Point};
use tresse_report::html::{self, escape};
use tresse_report::{Drawing, Table, columns};

use super::Page;
use super::drawn::Drawn;
use crate::statistics::{Class, DelaySummary};
use crate::summary::DirectionSummary;
use crate::trace::Totals;

/// A capture as it was read: what it is called, what was drawn of it, and its totals.
pub type Capture<'a> = (&'a str, &'a Page, &'a Totals);

/// A page of two captures: their numbers, how their transfer times are distributed, and the throughput of the
/// association with most marks in each.
#[must_use]
pub fn beside(captures: [Capture<'_>; 2]) -> String {
    let names = captures.map(|(name, ..)| name);
    let mut out = format!("<h1>{} beside {}</h1>\n", escape(names[1]), escape(names[0]));
    for figure in [transfer_times(&captures), throughput(&captures)].into_iter().flatten() {
        // It draws finite numbers.
        if let Ok(drawing) = Drawing::new("", &figure) {
            html::drawing(&mut out, &Drawing { name: String::new(), ..drawing });
        }
    }
    html::table(&mut out, &numbers(&captures));
    html::page(&format!("{} beside {}", names[1], names[0]), "", &out)
}

/// Points that are joined as steps.
fn steps(points: &[(f64, f64)]) -> Vec<Point> {
    let mut steps: Vec<Point> = Vec::with_capacity(2 * points.len());
    for &(x, y) in points {
        if let Some(before) = steps.last().copied() {
            steps.push(Point::new(x, before.y));
        }
        steps.push(Point::new(x, y));
    }
    steps
}

fn figure(
    captures: &[Capture<'_>; 2],
    axes: Axes,
    of: fn(&Page) -> Vec<(f64, f64)>,
) -> Option<Figure> {
    let line = |((name, page, _), style): (&Capture<'_>, usize)| Line {
        label: (*name).to_owned(),
        style,
        look: Look::Thin,
        pieces: vec![steps(&of(page))],
    };
    Figure::new(axes, captures.iter().zip(1..).map(line).collect(), Vec::new())
}

fn transfer_times(captures: &[Capture<'_>; 2]) -> Option<Figure> {
    let axes = Axes {
        title: "Transfer times of messages".into(),
        x_label: "transfer time, ms".into(),
        x_labels: 10,
        y_label: "% of the messages that took no longer".into(),
        y_max: Some(100.0),
        ..Axes::default()
    };
    figure(captures, axes, |page| {
        let directions = page.associations.values().flat_map(|a| &a.directions);
        Drawn::shares(directions.flat_map(|d| d.transfer.iter().copied()).collect())
    })
}

fn throughput(captures: &[Capture<'_>; 2]) -> Option<Figure> {
    let axes = Axes {
        title: "User data acknowledged for the first time".into(),
        x_label: "time since the beginning of the association, s".into(),
        x_labels: 10,
        y_label: "throughput, Mbit/s".into(),
        ..Axes::default()
    };
    figure(captures, axes, |page| {
        let directions = page.associations.values().flat_map(|a| &a.directions);
        let largest = directions.max_by_key(|d| d.marks);
        largest.map(|d| d.bytes_acked.mbps(d.end)).unwrap_or_default()
    })
}

/// What all associations of each capture sent, both directions together.
fn numbers(captures: &[Capture<'_>; 2]) -> Table {
    let of = captures.each_ref().map(|(_, _, totals)| {
        let sums = if totals.sctp.data > 0 { &totals.sctp } else { &totals.tcp };
        (sums, totals.duration_s)
    });
    let class = |d: &DirectionSummary, class: Class| {
        let rows = d.retransmissions.iter().filter(|row| row.number == 0);
        let count: u64 =
            rows.filter(|row| row.class == class.name()).map(|row| row.delays.count).sum();
        count as f64
    };
    let is_there = |one: &Class| of.iter().any(|(d, _)| class(d, *one) > 0.0);
    let delay = |d: Option<&DelaySummary>, of: fn(&DelaySummary) -> f64| d.map(of);
    let mbps = |d: &DirectionSummary, seconds: f64| {
        (seconds > 0.0).then(|| d.acknowledged_bytes as f64 * 8.0 / 1e6 / seconds)
    };
    type Of<'a> = Box<dyn Fn(&DirectionSummary, f64) -> Option<f64> + 'a>;
    let begin: [(&str, Of<'_>); 4] = [
        ("chunks or segments of data", Box::new(|d, _| Some(d.data as f64))),
        ("user data in them, bytes", Box::new(|d, _| Some(d.data_bytes as f64))),
        ("user data acknowledged, Mbit/s over the whole capture", Box::new(mbps)),
        ("sent again", Box::new(|d, _| Some(d.retransmitted as f64))),
    ];
    let classes = Class::ALL.into_iter().filter(is_there).map(|one| -> (&str, Of<'_>) {
        (one.among_retransmissions(), Box::new(move |d, _| Some(class(d, one))))
    });
    let rest: [(&str, Of<'_>); 8] = [
        ("proven spurious", Box::new(|d, _| Some(d.spurious.values().sum::<u64>() as f64))),
        ("lost on the way", Box::new(|d, _| d.arrivals.as_ref().map(|a| a.lost as f64))),
        ("RTT, mean, ms", Box::new(|d, _| delay(d.rtt.as_ref(), |r| r.avg_ms))),
        ("RTT, 95th percentile, ms", Box::new(|d, _| delay(d.rtt.as_ref(), |r| r.p95_ms))),
        ("messages", Box::new(|d, _| Some(d.messages as f64))),
        ("transfer time, mean, ms", Box::new(|d, _| delay(d.transfer.as_ref(), |t| t.avg_ms))),
        (
            "transfer time, 95th percentile, ms",
            Box::new(|d, _| delay(d.transfer.as_ref(), |t| t.p95_ms)),
        ),
        ("transfer time, largest, ms", Box::new(|d, _| delay(d.transfer.as_ref(), |t| t.max_ms))),
    ];
    let text = |value: Option<f64>| match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value}"),
        Some(value) => format!("{value:.3}"),
    };
    let row = |(what, value): (&str, Of<'_>)| {
        let [a, b] = of.map(|(sums, seconds)| value(sums, seconds));
        let difference = match a.zip(b) {
            Some((a, b)) if a != 0.0 => format!("{:+.1} %", 100.0 * (b - a) / a),
            _ => "–".to_owned(),
        };
        vec![what.to_owned(), text(a), text(b), difference]
    };
    let [a, b] = captures.map(|(name, ..)| format!(">{name}"));
    Table {
        title: "All associations, both directions".into(),
        caption: String::new(),
        columns: columns(&["what", &a, &b, ">difference"]),
        rows: begin.into_iter().chain(classes).chain(rest).map(row).collect(),
        detail: false,
    }
}
