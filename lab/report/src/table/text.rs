//! Tables as text: as wide as a screen is.

use std::collections::HashSet;

use super::{Align, Table};
use crate::screen::Screen;

/// Columns of words are not made narrower than this.
const NARROWEST: usize = 16;
/// Of a line that is shown: a blank before it, and two blanks for each cell.
const MARGIN: usize = 1;
const PADDING: usize = 2;

impl Table {
    /// The table as text, however wide.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_text_for(&Screen::default())
    }

    /// The table as text that fits a screen: texts are wrapped, and columns that still have no room follow below,
    /// behind those once more that tell the rows apart. Of one without rows, what it says of that.
    #[must_use]
    pub fn to_text_for(&self, screen: &Screen) -> String {
        if self.rows.is_empty() {
            return format!("{}\n{}\n", self.title, self.caption);
        }
        format!("{}\n", self.title) + &lay_out(self, screen)
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text that is wrapped between words; longer words are cut.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && length(&line) + 1 + length(word) > width {
            lines.push(std::mem::take(&mut line));
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        while let Some((cut, _)) = line.char_indices().nth(width.max(1)) {
            let rest = line.split_off(cut);
            lines.push(std::mem::replace(&mut line, rest));
        }
    }
    lines.push(line);
    lines
}

/// The lines below the title.
fn lay_out(table: &Table, screen: &Screen) -> String {
    let room = screen.width.saturating_sub(MARGIN);
    let widths = widths(table, room);
    let mut out = String::new();
    for block in blocks(&widths, room, keys(table)) {
        if !out.is_empty() {
            out.push('\n');
        }
        let heads: Vec<&str> = table.columns.iter().map(|(head, _)| head.as_str()).collect();
        row(&mut out, table, &block, &widths, &heads, &Screen::default());
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        row(&mut out, table, &block, &widths, &rules, &Screen::default());
        for cells in &table.rows {
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            row(&mut out, table, &block, &widths, &cells, screen);
        }
    }
    out
}

/// How wide the columns are: the widest give way until all fit, as far as they can.
fn widths(table: &Table, room: usize) -> Vec<usize> {
    let longest_word = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
    let column = |(i, (head, align)): (usize, &(String, Align))| {
        let cells = || table.rows.iter().filter_map(move |row| row.get(i));
        let widest = cells().map(|cell| length(cell)).max().unwrap_or(0);
        let natural = widest.max(length(head));
        let least = match align {
            Align::Left => natural.min(NARROWEST).max(longest_word(head)),
            // Numbers are not broken.
            Align::Right => widest.max(longest_word(head)),
        };
        (natural, least)
    };
    let (mut widths, least): (Vec<usize>, Vec<usize>) =
        table.columns.iter().enumerate().map(column).unzip();
    let needed = |widths: &[usize]| widths.iter().map(|width| width + PADDING).sum::<usize>();
    while needed(&widths) > room {
        let yielding = (0..widths.len()).filter(|i| widths[*i] > least[*i]);
        let Some(widest) = yielding.max_by_key(|i| widths[*i]) else { break };
        widths[widest] -= 1;
    }
    widths
}

/// How many columns at the left tell the rows apart.
fn keys(table: &Table) -> usize {
    let columns = table.columns.len();
    let tell_apart = |count: &usize| {
        let mut seen = HashSet::new();
        table.rows.iter().all(|row| seen.insert(&row[..row.len().min(*count)]))
    };
    (1..columns).find(tell_apart).unwrap_or(columns.min(1))
}

/// Which columns stand side by side; the first `keys` of them begin each block, if that leaves room for others.
fn blocks(widths: &[usize], room: usize, keys: usize) -> Vec<Vec<usize>> {
    let needed = |columns: &[usize]| columns.iter().map(|i| widths[*i] + PADDING).sum::<usize>();
    let all: Vec<usize> = (0..widths.len()).collect();
    let mut keys = &all[..keys.min(all.len())];
    let widest = widths.iter().skip(keys.len()).max().map_or(0, |width| width + PADDING);
    if needed(keys) + widest > room {
        keys = &all[..all.len().min(1)];
    }
    let mut blocks = vec![keys.to_vec()];
    for (i, width) in widths.iter().enumerate().skip(keys.len()) {
        let last = blocks.last_mut().expect("there is always one");
        if last.len() > keys.len() && needed(last) + width + PADDING > room {
            blocks.push([keys, &[i]].concat());
        } else {
            last.push(i);
        }
    }
    blocks
}

fn row(
    out: &mut String,
    table: &Table,
    block: &[usize],
    widths: &[usize],
    cells: &[&str],
    screen: &Screen,
) {
    let cell = |i: &usize| cells.get(*i).map_or_else(Vec::new, |cell| wrap(cell, widths[*i]));
    let wrapped: Vec<Vec<String>> = block.iter().map(cell).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for n in 0..height {
        let mut line = " ".repeat(MARGIN);
        for (i, lines) in block.iter().zip(&wrapped) {
            let text = lines.get(n).map_or("", String::as_str);
            let padding = " ".repeat(widths[*i].saturating_sub(length(text)));
            let text = screen.paint(text);
            line.push(' ');
            match table.columns[*i].1 {
                Align::Left => line.extend([text.as_str(), &padding]),
                Align::Right => line.extend([padding.as_str(), &text]),
            }
            line.push(' ');
        }
        out.extend([line.trim_end(), "\n"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns;

    fn table() -> Table {
        Table {
            title: "T".into(),
            caption: String::new(),
            columns: columns(&["What it is", ">Paper", ">Ours", "Tolerance", "Verdict", "Where"]),
            rows: vec![
                ["Largest reduction of MTT by Early Retransmit", "64.0 %", "63.6 %"]
                    .into_iter()
                    .chain(["5 points: default of percentages", "agrees", "§4.1"])
                    .map(str::to_owned)
                    .collect(),
                ["Standard", "110.0 ms", "216.2 ms", "10.0 ms: chosen", "differs", "§4.1"]
                    .map(str::to_owned)
                    .to_vec(),
            ],
            detail: false,
        }
    }

    fn text(width: usize) -> String {
        lay_out(&table(), &Screen { width, colours: false })
    }

    /// Everything that is between blanks.
    fn words(text: &str) -> std::collections::BTreeSet<&str> {
        text.split_whitespace().filter(|word| !word.starts_with('─')).collect()
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_nothing_is_lost() {
        let whole = text(usize::MAX);
        assert_eq!(whole.lines().count(), 4, "{whole}");
        for width in [60, 80, 100, 120, 400] {
            let fitted = text(width);
            for line in fitted.lines() {
                assert!(length(line) <= width, "{width}: {}\n{fitted}", length(line));
            }
            assert_eq!(words(&fitted), words(&whole), "{width}");
        }
        assert_eq!(text(400), whole);
    }

    #[test]
    fn numbers_are_not_broken_and_columns_without_room_follow_below() {
        let fitted = text(50);
        for number in ["110.0 ms", "216.2 ms", "64.0 %"] {
            assert!(fitted.contains(number), "{fitted}");
        }
        assert!(fitted.lines().filter(|line| line.contains("Standard")).count() > 1, "{fitted}");
        assert!(fitted.lines().all(|line| length(line) <= 50), "{fitted}");
    }

    #[test]
    fn what_tells_rows_apart_is_said_again() {
        let cells = |texts: &str| texts.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let rows = ["a 1 10 20 30", "a 2 11 21 31", "b 1 12 22 32"].map(cells).to_vec();
        let columns = columns(&["who", ">loss", ">first", ">second", ">third"]);
        let table = Table { rows, columns, ..table() };
        assert_eq!(keys(&table), 2);
        let text = lay_out(&table, &Screen { width: 30, colours: false });
        assert!(text.ends_with("  a       2     31\n  b       1     32\n"), "{text}");
        assert_eq!(keys(&Table { rows: Vec::new(), ..table }), 1);
    }

    #[test]
    fn words_that_are_too_long_are_cut() {
        assert_eq!(wrap("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("éé é", 2), ["éé", "é"]);
    }

    #[test]
    fn verdicts_have_colours_where_there_are_any() {
        let coloured = lay_out(&table(), &Screen { width: 80, colours: true });
        assert!(coloured.contains("\u{1b}[32magrees\u{1b}[0m"), "{coloured}");
        assert!(coloured.contains("\u{1b}[31mdiffers\u{1b}[0m"), "{coloured}");
        assert_eq!(console::strip_ansi_codes(&coloured), text(80));
    }
}
