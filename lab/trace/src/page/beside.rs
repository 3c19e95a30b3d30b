//! Two captures side by side.

use tresse_report::figure::{Axes, Figure, Line, Look, Point};
use tresse_report::html::{self, escape};
use tresse_report::{Drawing, Table, columns};

use super::Page;
use super::drawn::Drawn;
use super::rate::interval;
use crate::statistics::{Class, DelaySummary};
use crate::summary::DirectionSummary;
use crate::terms::Until;
use crate::trace::Totals;

/// A capture as it was read: what it is called, what was drawn of it, and its totals.
pub type Capture<'a> = (&'a str, &'a Page, &'a Totals);

/// A page of two captures: their numbers, how their transfer times are distributed, and the throughput of the
/// association with most marks in each. Both were read of one end, or both of two ends: their transfer times are the same
/// measure.
#[must_use]
pub fn beside(captures: [Capture<'_>; 2]) -> String {
    let title = captures.map(|(name, ..)| name).join(" beside ");
    let mut out = format!("<h1>{}</h1>\n", escape(&title));
    for figure in [transfer_times(&captures), throughput(&captures)].into_iter().flatten() {
        // It draws finite numbers.
        if let Ok(drawing) = Drawing::new("", &figure) {
            html::drawing(&mut out, &Drawing { name: String::new(), ..drawing });
        }
    }
    html::table(&mut out, &numbers(&captures));
    html::page(&title, "", &out)
}

/// A figure of one line of steps for each capture.
fn figure(
    captures: &[Capture<'_>; 2],
    axes: Axes,
    of: impl Fn(&Page) -> Vec<(f64, f64)>,
) -> Option<Figure> {
    let line = |((name, page, _), style): (&Capture<'_>, usize)| Line {
        label: (*name).to_owned(),
        style,
        look: Look::Steps,
        pieces: vec![of(page).into_iter().map(|(x, y)| Point::new(x, y)).collect()],
    };
    Figure::new(axes, captures.iter().zip(1..).map(line).collect(), Vec::new())
}

fn transfer_times(captures: &[Capture<'_>; 2]) -> Option<Figure> {
    let until = captures.iter().find_map(|(_, page, _)| page.until()).map_or("", Until::words);
    let axes = Axes {
        title: format!("Transfer times of messages{until}"),
        x_label: "transfer time, ms".into(),
        x_labels: 10,
        y_label: "% of the messages that took no longer".into(),
        y_max: Some(100.0),
        ..Axes::default()
    };
    let all = |page: &Page| -> Vec<f64> {
        page.directions().flat_map(|d| d.transfer.iter().copied()).collect()
    };
    let longest = captures.iter().flat_map(|(_, page, _)| all(page)).fold(0.0, f64::max);
    figure(captures, axes, |page| {
        let shares = Drawn::shares(all(page));
        // All of them took no longer than what took longest in the other capture.
        let end = shares.last().map(|_| (longest, 100.0));
        shares.into_iter().chain(end).collect()
    })
}

fn throughput(captures: &[Capture<'_>; 2]) -> Option<Figure> {
    let largest = |page: &'_ Page| page.directions().max_by_key(|d| d.marks).map(|d| d.end);
    let longest = captures.iter().filter_map(|(_, page, _)| largest(page)).fold(0.0, f64::max);
    // Peaks depend on the length of the intervals: it is the same for both.
    let step = interval(longest);
    let axes = Axes {
        title: "User data acknowledged for the first time".into(),
        x_label: "time since the beginning of the association, s".into(),
        x_labels: 10,
        y_label: format!("throughput in intervals of {} ms, Mbit/s", step * 1e3),
        ..Axes::default()
    };
    figure(captures, axes, |page| {
        let largest = page.directions().max_by_key(|d| d.marks);
        largest.map(|d| d.bytes_acked.mbps(step)).unwrap_or_default()
    })
}

/// What is said of a capture in numbers.
struct Numbers<'a> {
    sums: &'a DirectionSummary,
    seconds: f64,
    /// Chunks that were lost on the way, where that is known.
    lost: Option<u64>,
}

/// One of them.
type Of<'a> = Box<dyn Fn(&Numbers<'_>) -> Option<f64> + 'a>;

/// What all associations of each capture sent, both directions together.
fn numbers(captures: &[Capture<'_>; 2]) -> Table {
    let of = captures.each_ref().map(|(_, page, totals)| {
        let sums = if totals.sctp.data > 0 { &totals.sctp } else { &totals.tcp };
        Numbers { sums, seconds: totals.duration_s, lost: page.lost }
    });
    let class = |d: &DirectionSummary, class: Class| {
        let rows = d.retransmissions.iter().filter(|row| row.number == 0);
        let count: u64 =
            rows.filter(|row| row.class == class.name()).map(|row| row.delays.count).sum();
        count as f64
    };
    let is_there = |one: &Class| of.iter().any(|n| class(n.sums, *one) > 0.0);
    let mbps = |n: &Numbers<'_>| {
        let bits = n.sums.acknowledged_bytes as f64 * 8.0;
        (n.seconds > 0.0).then_some(bits / 1e6 / n.seconds)
    };
    let transfer = |of: fn(&DelaySummary) -> f64| -> Of<'_> {
        Box::new(move |n| n.sums.transfer.as_ref().map(of))
    };
    let rtt =
        |of: fn(&DelaySummary) -> f64| -> Of<'_> { Box::new(move |n| n.sums.rtt.as_ref().map(of)) };
    let begin: [(&str, Of<'_>); 4] = [
        ("chunks or segments of data", Box::new(|n| Some(n.sums.data as f64))),
        ("user data in them, bytes", Box::new(|n| Some(n.sums.data_bytes as f64))),
        ("user data acknowledged, Mbit/s over the whole capture", Box::new(mbps)),
        ("sent again", Box::new(|n| Some(n.sums.retransmitted as f64))),
    ];
    let classes = Class::ALL.into_iter().filter(is_there).map(|one| -> (&str, Of<'_>) {
        (one.among_retransmissions(), Box::new(move |n| Some(class(n.sums, one))))
    });
    let rest: [(&str, Of<'_>); 8] = [
        ("proven spurious", Box::new(|n| Some(n.sums.spurious.values().sum::<u64>() as f64))),
        ("lost on the way", Box::new(|n| n.lost.map(|lost| lost as f64))),
        ("RTT, mean, ms", rtt(|r| r.avg_ms)),
        ("RTT, 95th percentile, ms", rtt(|r| r.p95_ms)),
        ("messages", Box::new(|n| Some(n.sums.messages as f64))),
        ("transfer time, mean, ms", transfer(|t| t.avg_ms)),
        ("transfer time, 95th percentile, ms", transfer(|t| t.p95_ms)),
        ("transfer time, largest, ms", transfer(|t| t.max_ms)),
    ];
    let text = |value: Option<f64>| match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value}"),
        Some(value) => format!("{value:.3}"),
    };
    let row = |(what, value): (&str, Of<'_>)| {
        let [a, b] = of.each_ref().map(value);
        // What neither of them knows is no row.
        a.or(b)?;
        let difference = match a.zip(b) {
            Some((a, b)) if a != 0.0 => format!("{:+.1} %", 100.0 * (b - a) / a),
            _ => "–".to_owned(),
        };
        Some(vec![what.to_owned(), text(a), text(b), difference])
    };
    let [a, b] = captures.map(|(name, ..)| format!(">{name}"));
    Table {
        title: "All associations, both directions".into(),
        caption: String::new(),
        columns: columns(&["what", &a, &b, ">difference"]),
        rows: begin.into_iter().chain(classes).chain(rest).filter_map(row).collect(),
        detail: false,
    }
}
