//! In which order rows are shown.

use super::table::{Row, TITLES, WORDS};

/// By what rows are sorted: a column, or as the processes list them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: Option<usize>,
    /// The other way round: words from Z, numbers from the least.
    pub(super) reversed: bool,
}

impl Order {
    /// The next column among those that are shown, to the right or to the left; beyond the last one is none.
    pub(super) fn step(&mut self, shown: &[usize], right: bool) {
        let at = self.column.and_then(|column| shown.iter().position(|c| *c == column));
        self.column = match (at, right) {
            (None, true) => shown.first(),
            (None, false) => shown.last(),
            (Some(at), true) => shown.get(at + 1),
            (Some(at), false) => at.checked_sub(1).and_then(|at| shown.get(at)),
        }
        .copied();
        self.reversed = false;
    }

    /// Sorts; what is equal stays as it was.
    pub(super) fn sort(self, rows: &mut [Row]) {
        let Some(column) = self.column else { return };
        rows.sort_by(|a, b| {
            let order = if column < WORDS {
                a.cells[column].cmp(&b.cells[column])
            } else {
                // The greatest first: it is looked for. What is not known is last.
                let key = |row: &Row| row.numbers[column - WORDS].unwrap_or(f64::NEG_INFINITY);
                key(b).total_cmp(&key(a))
            };
            if self.reversed { order.reverse() } else { order }
        });
    }

    /// What stands behind the title of a column.
    pub(super) fn mark(self, column: usize) -> &'static str {
        let falling = (column >= WORDS) != self.reversed;
        match self.column {
            Some(sorted) if sorted == column && falling => "↓",
            Some(sorted) if sorted == column => "↑",
            _ => "",
        }
    }
}

/// The column of a name such as `srtt` or `out`, in letters of any case.
pub(super) fn column(name: &str) -> Result<usize, String> {
    let plain = |title: &str| title.trim_end_matches("/s").to_ascii_lowercase();
    let found = TITLES.iter().position(|title| plain(title) == plain(name));
    found.ok_or_else(|| format!("the columns are {}", TITLES.map(plain).join(", ")))
}

/// Names of associations stand once: not again in the rows below.
pub(super) fn hide_repeated(rows: &mut [Row]) {
    for i in (1..rows.len()).rev() {
        let [above, row] = &mut rows[i - 1..=i] else { continue };
        if (above.source, &above.place.0) == (row.source, &row.place.0) {
            row.cells[0].clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::super::source::Source;
    use super::super::table::rows;
    use super::*;

    fn paths(order: Order) -> Vec<String> {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        let mut now = snapshot(1.0, 8);
        let third = tresse_observe::PathSnapshot {
            path: 2,
            srtt_ms: Some(900.0),
            ..now.associations[0].paths[0].clone()
        };
        now.associations[0].paths.push(third);
        source.now = Some(now);
        let mut rows = rows(&[source]);
        order.sort(&mut rows);
        rows.into_iter().map(|row| row.cells[2].clone()).collect()
    }

    #[test]
    fn numbers_begin_with_the_greatest_and_words_with_a() {
        let by = |name: &str, reversed| Order { column: Some(column(name).unwrap()), reversed };
        assert_eq!(paths(Order::default()), ["0*", "1", "2*"]);
        // That of path 1 is not known; 900 is more than 32.5.
        assert_eq!(paths(by("srtt", false)), ["2*", "0*", "1"]);
        assert_eq!(paths(by("SRTT", true)), ["1", "0*", "2*"]);
        assert_eq!(paths(by("state", false)), ["0*", "2*", "1"]);
        // All are alike: as they were.
        assert_eq!(paths(by("cwnd", false)), ["0*", "1", "2*"]);
        assert_eq!(paths(by("out", true)), ["0*", "1", "2*"]);
    }

    #[test]
    fn columns_are_passed_one_after_the_other_and_there_is_an_end() {
        let mut order = Order::default();
        let mut seen = Vec::new();
        for _ in 0..4 {
            order.step(&[0, 4, 5], true);
            seen.push(order.column);
        }
        assert_eq!(seen, [Some(0), Some(4), Some(5), None]);
        order.step(&[0, 4, 5], false);
        assert_eq!((order.column, order.mark(5), order.mark(4)), (Some(5), "↓", ""));
        order.reversed = true;
        assert_eq!(order.mark(5), "↑");
        // A column that is shown no longer.
        order.column = Some(9);
        order.step(&[0, 4, 5], true);
        assert_eq!(order.column, Some(0));
    }

    #[test]
    fn a_column_that_is_not_there_is_told_with_all_that_are() {
        assert_eq!(column("OUT").map(|column| TITLES[column]), Ok("OUT/s"));
        assert_eq!(column("T3").map(|column| TITLES[column]), Ok("T3"));
        assert!(column("rtt").unwrap_err().contains("srtt, min, queue"));
    }
}
