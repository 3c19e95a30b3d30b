//! What is shown: a line for each process, a row for each path.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;

use tresse_core::wire::printable;
use tresse_observe::{AssociationSnapshot, PathSnapshot, Snapshot};

use super::history::Place;
use super::source::Source;
use tresse_console::units::Si;

/// Titles of the columns. Times are in milliseconds, rates in bits of SCTP packets a second.
pub(super) const TITLES: [&str; 15] = [
    "ASSOC", "STATE", "PATH", "REMOTE", "SRTT", "MIN", "QUEUE", "RTO", "CWND", "FLIGHT", "OUT/s",
    "IN/s", "LOST", "SPURIOUS", "T3",
];

/// Units of the columns that are no words.
const UNITS: [&str; TITLES.len() - WORDS] =
    ["ms", "ms", "ms", "ms", "B", "B", "bit", "bit", "", "", ""];

/// Columns that a narrow terminal goes without, the first ones first.
const SPARE: [&str; 9] =
    ["SPURIOUS", "MIN", "FLIGHT", "RTO", "CWND", "STATE", "QUEUE", "T3", "LOST"];

/// Columns that are words, aligned to the left.
pub(super) const WORDS: usize = 4;

/// The column of the peer's address.
pub(super) const REMOTE: usize = 3;

/// One row.
pub(super) struct Row {
    pub(super) cells: [String; TITLES.len()],
    /// What is in the cells that are no words, if it is known.
    pub(super) numbers: [Option<f64>; TITLES.len() - WORDS],
    /// Of which process.
    pub(super) source: SocketAddr,
    /// Of which path.
    pub(super) place: Place,
    /// Something is wrong with it: not established, or a path that is not active.
    pub(super) alarm: bool,
}

/// A line about each process.
pub(super) fn headlines(sources: &[Source]) -> Vec<String> {
    sources.iter().map(headline).collect()
}

fn headline(source: &Source) -> String {
    let address = source.address;
    let Some(now) = &source.now else {
        return clean(source.error.as_deref().unwrap_or("nothing was read yet"));
    };
    let before = source.before.as_ref();
    let per_second = |name: &str| {
        let before = before.map(|before| (&before.totals, before.uptime_s));
        Si(rate((&now.totals, now.uptime_s), before, name), "bit").to_string()
    };
    let total = |name: &str| now.totals.get(name).copied().unwrap_or(0);
    let dropped: u64 = ["invalid_packets", "out_of_the_blue", "refused"]
        .iter()
        .filter_map(|name| now.endpoint.get(*name))
        .sum();
    let associations = now.associations.len() + now.omitted;
    let mut line = format!(
        "{address} process {}: {associations} association{}, out {}/s, in {}/s; lost {}, sent again {}, timeouts {}, \
         spurious {}, dropped {dropped}",
        now.process,
        if associations == 1 { "" } else { "s" },
        per_second("bytes_sent"),
        per_second("bytes_received"),
        now.lost_chunks.values().sum::<u64>(),
        now.retransmitted_chunks.values().sum::<u64>(),
        total("timeouts"),
        total("spurious_timeouts") + total("spurious_fast_retransmits"),
    );
    if now.omitted > 0 {
        let _ = write!(line, "; {} not shown", now.omitted);
    }
    clean(&line)
}

/// A row for each path of each process.
pub(super) fn rows(sources: &[Source]) -> Vec<Row> {
    let several = sources.len() > 1;
    let mut rows = Vec::new();
    for source in sources {
        let Some(now) = &source.now else { continue };
        for association in &now.associations {
            let name = if several {
                format!("{}/{}", now.process, association.id)
            } else {
                association.id.clone()
            };
            let looks = (now, source.before.as_ref(), source.address);
            rows.extend(association.paths.iter().map(|path| row(&name, association, path, looks)));
        }
    }
    rows
}

fn row(
    name: &str,
    association: &AssociationSnapshot,
    path: &PathSnapshot,
    (now, before, source): (&Snapshot, Option<&Snapshot>, SocketAddr),
) -> Row {
    let established = association.state == "established";
    let state = if established { &path.state } else { &association.state };
    let earlier = before.and_then(|before| {
        let association = before.associations.iter().find(|a| a.id == association.id)?;
        let path = association.paths.iter().find(|p| p.path == path.path)?;
        Some((&path.counters, before.uptime_s))
    });
    let rate = |name| rate((&path.counters, now.uptime_s), earlier, name);
    let count = |name: &str| path.counters.get(name).copied().unwrap_or(0) as f64;
    let star = if path.primary { "*" } else { "" };
    let numbers = [
        path.srtt_ms,
        path.min_rtt_ms,
        path.queueing_delay_ms,
        Some(path.rto_ms),
        Some(path.cwnd_bytes as f64),
        Some(path.flight_bytes as f64),
        Some(rate("bytes_sent")),
        Some(rate("bytes_received")),
        Some(count("lost_chunks")),
        Some(count("spurious_timeouts") + count("spurious_fast_retransmits")),
        Some(count("timeouts")),
    ];
    let words =
        [name.to_owned(), state.clone(), format!("{}{star}", path.path), path.remote.to_string()];
    let mut cells = TITLES.map(|_| String::new());
    for (cell, word) in cells.iter_mut().zip(words) {
        *cell = clean(&word);
    }
    for ((cell, number), unit) in cells[WORDS..].iter_mut().zip(numbers).zip(UNITS) {
        *cell = number.map_or_else(|| "-".into(), |number| in_unit(number, unit));
    }
    Row {
        cells,
        numbers,
        source,
        place: (association.id.clone(), path.path),
        alarm: !(established && path.state == "active"),
    }
}

/// A number as it is shown: with a unit that has prefixes, in milliseconds, or counted.
pub(super) fn in_unit(number: f64, unit: &'static str) -> String {
    match unit {
        "ms" if number < 9.995 => format!("{number:.2}"),
        "ms" if number < 99.95 => format!("{number:.1}"),
        "ms" | "" => format!("{number:.0}"),
        _ => Si(number, unit).to_string(),
    }
}

/// Bits a second between two looks, or since the beginning if there was but one.
fn rate(
    (now, at): (&BTreeMap<String, u64>, f64),
    before: Option<(&BTreeMap<String, u64>, f64)>,
    name: &str,
) -> f64 {
    let bytes = |counts: &BTreeMap<String, u64>| counts.get(name).copied().unwrap_or(0);
    let (earlier, since) = before.map_or((0, 0.0), |(counts, since)| (bytes(counts), since));
    let time = (at - since).max(1e-3);
    bytes(now).saturating_sub(earlier) as f64 * 8.0 / time
}

/// What came over the network must not command the terminal.
fn clean(text: &str) -> String {
    printable(text).into_owned()
}

/// Widths of the columns.
pub(super) fn widths(rows: &[Row]) -> [usize; TITLES.len()] {
    let mut widths = TITLES.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// The columns that a terminal of this many characters has room for, and the space between them.
pub(super) fn fitting(widths: &[usize; TITLES.len()], room: usize) -> (Vec<usize>, u16) {
    let mut columns: Vec<usize> = (0..TITLES.len()).collect();
    let need = |columns: &[usize], space: usize| {
        columns.iter().map(|column| widths[*column] + space).sum::<usize>() - space
    };
    if need(&columns, 2) <= room {
        return (columns, 2);
    }
    let mut spare = SPARE.iter();
    while need(&columns, 1) > room
        && let Some(title) = spare.next()
    {
        columns.retain(|column| TITLES[*column] != *title);
    }
    (columns, 1)
}
