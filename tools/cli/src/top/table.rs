//! What is shown: a line for each process, a row for each path.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tresse_core::wire::printable;
use tresse_observe::{AssociationSnapshot, PathSnapshot, Snapshot};

use super::Source;
use tresse_console::units::Si;

/// Titles of the columns. Times are in milliseconds, rates in bits of SCTP packets a second.
pub(super) const TITLES: [&str; 15] = [
    "ASSOC", "STATE", "PATH", "REMOTE", "SRTT", "MIN", "QUEUE", "RTO", "CWND", "FLIGHT", "OUT/s",
    "IN/s", "LOST", "SPURIOUS", "T3",
];

/// Columns that a narrow terminal goes without, the first ones first.
const SPARE: [&str; 9] =
    ["SPURIOUS", "MIN", "FLIGHT", "RTO", "CWND", "STATE", "QUEUE", "T3", "LOST"];

/// Columns that are words, aligned to the left.
pub(super) const WORDS: usize = 4;

/// One row.
pub(super) struct Row {
    pub(super) cells: [String; TITLES.len()],
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
    let rate = |name: &str| {
        let before = before.map(|before| (&before.totals, before.uptime_s));
        bits((&now.totals, now.uptime_s), before, name)
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
        rate("bytes_sent"),
        rate("bytes_received"),
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
            let before = source.before.as_ref();
            for (i, path) in association.paths.iter().enumerate() {
                let name = if i == 0 { name.as_str() } else { "" };
                rows.push(row(name, association, path, (now, before)));
            }
        }
    }
    rows
}

fn row(
    name: &str,
    association: &AssociationSnapshot,
    path: &PathSnapshot,
    (now, before): (&Snapshot, Option<&Snapshot>),
) -> Row {
    let established = association.state == "established";
    let state = if established { &path.state } else { &association.state };
    let earlier = before.and_then(|before| {
        let association = before.associations.iter().find(|a| a.id == association.id)?;
        let path = association.paths.iter().find(|p| p.path == path.path)?;
        Some((&path.counters, before.uptime_s))
    });
    let rate = |name| bits((&path.counters, now.uptime_s), earlier, name);
    let count = |name: &str| path.counters.get(name).copied().unwrap_or(0);
    let spurious = count("spurious_timeouts") + count("spurious_fast_retransmits");
    let star = if path.primary { "*" } else { "" };
    let cells = [
        name.to_owned(),
        state.clone(),
        format!("{}{star}", path.path),
        path.remote.to_string(),
        millis(path.srtt_ms),
        millis(path.min_rtt_ms),
        millis(path.queueing_delay_ms),
        millis(Some(path.rto_ms)),
        Si(path.cwnd_bytes as f64, "B").to_string(),
        Si(path.flight_bytes as f64, "B").to_string(),
        rate("bytes_sent"),
        rate("bytes_received"),
        count("lost_chunks").to_string(),
        spurious.to_string(),
        count("timeouts").to_string(),
    ];
    Row { cells: cells.map(|cell| clean(&cell)), alarm: !(established && path.state == "active") }
}

/// Bits a second between two looks, or since the beginning if there was but one.
fn bits(
    (now, at): (&BTreeMap<String, u64>, f64),
    before: Option<(&BTreeMap<String, u64>, f64)>,
    name: &str,
) -> String {
    let bytes = |counts: &BTreeMap<String, u64>| counts.get(name).copied().unwrap_or(0);
    let (earlier, since) = before.map_or((0, 0.0), |(counts, since)| (bytes(counts), since));
    let time = (at - since).max(1e-3);
    Si(bytes(now).saturating_sub(earlier) as f64 * 8.0 / time, "bit").to_string()
}

fn millis(time: Option<f64>) -> String {
    match time {
        None => "-".into(),
        Some(ms) if ms < 9.995 => format!("{ms:.2}"),
        Some(ms) if ms < 99.95 => format!("{ms:.1}"),
        Some(ms) => format!("{ms:.0}"),
    }
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

/// Everything as plain text.
pub(super) fn text(sources: &[Source]) -> String {
    let rows = rows(sources);
    let widths = widths(&rows);
    let mut text = headlines(sources).join("\n") + "\n";
    let mut line = |cells: [&str; TITLES.len()]| {
        let padded = cells.iter().zip(widths).enumerate().map(|(i, (cell, width))| {
            if i < WORDS { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text += padded.collect::<Vec<_>>().join("  ").trim_end();
        text += "\n";
    };
    line(TITLES);
    for row in &rows {
        line(row.cells.each_ref().map(String::as_str));
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::top) fn snapshot(uptime_s: f64, bytes: u64) -> Snapshot {
        let counts = |list: &[(&str, u64)]| {
            list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>()
        };
        let path = PathSnapshot {
            path: 0,
            remote: "192.0.2.1".parse().unwrap(),
            local: None,
            state: "active".into(),
            primary: true,
            rtt_ms: Some(30.0),
            min_rtt_ms: Some(20.0),
            srtt_ms: Some(32.5),
            rttvar_ms: Some(3.0),
            queueing_delay_ms: Some(12.5),
            rto_ms: 1000.0,
            cwnd_bytes: 45_000,
            ssthresh_bytes: 100_000,
            flight_bytes: 1452,
            mtu_bytes: 1500,
            errors: 0,
            counters: counts(&[
                ("bytes_sent", bytes),
                ("lost_chunks", 7),
                ("spurious_timeouts", 1),
                ("timeouts", 2),
            ]),
        };
        let silent = PathSnapshot {
            path: 1,
            state: "inactive\u{1b}[2J".into(),
            primary: false,
            srtt_ms: None,
            ..path.clone()
        };
        let association = AssociationSnapshot {
            id: "1v1".into(),
            state: "established".into(),
            paths: vec![path, silent],
            ..AssociationSnapshot::default()
        };
        Snapshot {
            process: 9,
            uptime_s,
            totals: counts(&[("bytes_sent", bytes)]),
            associations: vec![association],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_path_with_the_rates_between_two_looks() {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        source.before = Some(snapshot(1.0, 1_000_000));
        source.now = Some(snapshot(3.0, 2_000_000));
        let text = text(&[source]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("process 9: 1 association, out 4.00 Mbit/s"), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected = [
            "1v1",
            "active",
            "0*",
            "192.0.2.1",
            "32.5",
            "20.0",
            "12.5",
            "1000",
            "45.0",
            "kB",
            "1.45",
            "kB",
            "4.00",
            "Mbit",
            "0",
            "bit",
            "7",
            "1",
            "2",
        ];
        assert_eq!(words(lines[2]), expected, "{text}");
        assert_eq!(words(lines[3])[..3], ["inactive\\u{1b}[2J", "1", "192.0.2.1"], "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
