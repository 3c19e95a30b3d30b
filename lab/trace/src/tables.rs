//! Tables of what was found, as CSV (RFC 4180) and Apache Parquet.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tresse_report::Frame;

use crate::event::{Event, Head, Observer};
use crate::summary::Summary;

/// This many rows are kept until they are written; a Parquet file has at most as many.
const PART: usize = 200_000;

/// A value of a row.
enum Cell {
    Text(String),
    Integer(i64),
    Real(Option<f64>),
}

/// The columns of a table, filled row by row.
enum Column {
    Text(Vec<String>),
    Integer(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

struct Table {
    path: PathBuf,
    heads: &'static [&'static str],
    columns: Vec<Column>,
    rows: usize,
    /// Parts that were written.
    parts: usize,
}

impl Table {
    fn new(folder: &Path, name: &str, heads: &'static [&'static str]) -> Table {
        Table { path: folder.join(name), heads, columns: Vec::new(), rows: 0, parts: 0 }
    }

    fn push(&mut self, row: Vec<Cell>) -> io::Result<()> {
        if self.columns.is_empty() {
            let empty = |cell: &Cell| match cell {
                Cell::Text(_) => Column::Text(Vec::new()),
                Cell::Integer(_) => Column::Integer(Vec::new()),
                Cell::Real(_) => Column::Real(Vec::new()),
            };
            self.columns = row.iter().map(empty).collect();
        }
        for (column, cell) in self.columns.iter_mut().zip(row) {
            match (column, cell) {
                (Column::Text(values), Cell::Text(value)) => values.push(value),
                (Column::Integer(values), Cell::Integer(value)) => values.push(Some(value)),
                (Column::Real(values), Cell::Real(value)) => values.push(value),
                _ => unreachable!("the cells of a column have one kind"),
            }
        }
        self.rows += 1;
        if self.rows >= PART { self.write() } else { Ok(()) }
    }

    /// Writes the rows that are kept: more of the CSV file, and a Parquet file of their own.
    fn write(&mut self) -> io::Result<()> {
        if self.rows == 0 && self.parts > 0 {
            return Ok(());
        }
        let mut frame = Frame::default();
        for (head, column) in self.heads.iter().zip(std::mem::take(&mut self.columns)) {
            frame = match column {
                Column::Text(values) => frame.text(head, values),
                Column::Integer(values) => frame.integer(head, values),
                Column::Real(values) => frame.real(head, values),
            };
        }
        let csv = if self.rows == 0 { self.heads.join(",") + "\n" } else { frame.to_csv() };
        let path = self.path.with_extension("csv");
        if self.parts == 0 {
            File::create(path)?.write_all(csv.as_bytes())?;
        } else {
            let rows = csv.split_once('\n').map_or("", |(_, rows)| rows);
            OpenOptions::new().append(true).open(path)?.write_all(rows.as_bytes())?;
        }
        self.parts += 1;
        if self.rows > 0 {
            let number = if self.parts == 1 { String::new() } else { format!("-{}", self.parts) };
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let path = self.path.with_file_name(format!("{name}{number}.parquet"));
            std::fs::write(path, frame.to_parquet().map_err(io::Error::other)?)?;
        }
        self.rows = 0;
        Ok(())
    }
}

/// Writes tables into a folder: `retransmissions`, `spurious`, `sacks`, `statistics` and `messages`, each as
/// `.csv` and `.parquet`; beyond 200 000 rows the Parquet files go on as `NAME-2.parquet` and so on.
pub struct Tables {
    retransmissions: Table,
    spurious: Table,
    sacks: Table,
    statistics: Table,
    messages: Table,
    begin: Option<u64>,
    fault: Option<io::Error>,
}

impl Tables {
    /// Tables in `folder`, which must be there.
    #[must_use]
    pub fn new(folder: &Path) -> Tables {
        Tables {
            retransmissions: Table::new(
                folder,
                "retransmissions",
                &[
                    "association",
                    "from",
                    "path",
                    "packet",
                    "time_s",
                    "number",
                    "bytes",
                    "count",
                    "class",
                    "delay_ms",
                    "since_last_ms",
                ],
            ),
            spurious: Table::new(
                folder,
                "spurious",
                &["association", "from", "time_s", "number", "count", "proof"],
            ),
            sacks: Table::new(
                folder,
                "sacks",
                &[
                    "association",
                    "from",
                    "path",
                    "packet",
                    "time_s",
                    "cumulative",
                    "gap_blocks",
                    "gap_acked",
                    "duplicates",
                    "window",
                    "flight",
                    "rtt_ms",
                    "rto_ms",
                ],
            ),
            statistics: Table::new(
                folder,
                "statistics",
                &[
                    "association",
                    "from",
                    "number",
                    "class",
                    "count",
                    "min_ms",
                    "max_ms",
                    "avg_ms",
                    "sd_ms",
                    "p50_ms",
                    "p95_ms",
                    "p99_ms",
                ],
            ),
            messages: Table::new(
                folder,
                "messages",
                &[
                    "association",
                    "from",
                    "time_s",
                    "number",
                    "stream",
                    "sequence",
                    "unordered",
                    "bytes",
                    "transfer_ms",
                    "until",
                ],
            ),
            begin: None,
            fault: None,
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Whatever went wrong when a file was written; nothing was written after that.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let tables = [
            &mut self.retransmissions,
            &mut self.spurious,
            &mut self.sacks,
            &mut self.statistics,
            &mut self.messages,
        ];
        tables.into_iter().try_for_each(Table::write)
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.fault.get_or_insert(error);
        }
    }
}

fn integer(value: u64) -> Cell {
    Cell::Integer(value.try_into().unwrap_or(i64::MAX))
}

impl Observer for Tables {
    fn event(&mut self, head: &Head, event: &Event<'_>) {
        let begin = *self.begin.get_or_insert(head.at);
        if self.fault.is_some() {
            return;
        }
        let time = Cell::Real(Some(head.at.saturating_sub(begin) as f64 / 1e9));
        let (association, from) = (integer(head.association), Cell::Text(head.from.name().into()));
        let path = integer(u64::from(head.path) + 1);
        let result = match event {
            Event::Data { number, bytes, again: Some(again), .. } => {
                self.retransmissions.push(vec![
                    association,
                    from,
                    path,
                    integer(head.packet),
                    time,
                    Cell::Integer(*number),
                    integer((*bytes).into()),
                    integer(again.count.into()),
                    Cell::Text(again.class.map_or("after-ack", crate::Class::name).into()),
                    Cell::Real(again.class.map(|_| again.delay_ms)),
                    Cell::Real(again.class.map(|_| again.since_last_ms)),
                ])
            }
            Event::Sack {
                cumulative, gaps, duplicates, window, flight, rtt_ms, rto_ms, ..
            } => {
                let reported: i64 =
                    gaps.iter().map(|(first, last)| (last - first + 1).max(0)).sum();
                self.sacks.push(vec![
                    association,
                    from,
                    path,
                    integer(head.packet),
                    time,
                    Cell::Integer(*cumulative),
                    integer(gaps.len() as u64),
                    Cell::Integer(reported),
                    integer((*duplicates).into()),
                    integer(*window),
                    integer(*flight),
                    Cell::Real(*rtt_ms),
                    Cell::Real(*rto_ms),
                ])
            }
            Event::Spurious { number, count, proof } => self.spurious.push(vec![
                association,
                // The retransmission is the other side's.
                Cell::Text(head.from.other().name().into()),
                time,
                Cell::Integer(*number),
                integer((*count).into()),
                Cell::Text(proof.name().into()),
            ]),
            Event::Message {
                from,
                number,
                stream,
                sequence,
                unordered,
                bytes,
                transfer_ms,
                until,
                ..
            } => self.messages.push(vec![
                association,
                Cell::Text(from.name().into()),
                time,
                Cell::Integer(*number),
                integer((*stream).into()),
                integer((*sequence).into()),
                integer((*unordered).into()),
                integer(*bytes),
                Cell::Real(*transfer_ms),
                Cell::Text(until.name().into()),
            ]),
            Event::Data { .. }
            | Event::Lost { .. }
            | Event::Sender { .. }
            | Event::Control { .. } => Ok(()),
        };
        self.note(result);
    }

    fn ends(&mut self, summary: &Summary) {
        for direction in &summary.directions {
            for row in &direction.retransmissions {
                let d = &row.delays;
                let mut cells = vec![
                    integer(summary.identity.association),
                    Cell::Text(direction.from.name().into()),
                    integer(row.number.into()),
                    Cell::Text(row.class.into()),
                    integer(d.count),
                ];
                let values = [d.min_ms, d.max_ms, d.avg_ms, d.sd_ms, d.p50_ms, d.p95_ms, d.p99_ms];
                cells.extend(values.map(|value| Cell::Real(Some(value))));
                let result = self.statistics.push(cells);
                self.note(result);
            }
        }
    }
}
