//! Tables of retransmission delays as a paper prints them (Pedersen, chapters 3 and 5), those of SCTP cumulative, those
//! of TCP since the transmission before: every cell is a published number.

use serde::{Deserialize, Serialize};
use tresse_report::Unit;

use super::measure::{Measure, Over, Published};
use crate::comparison::{self, Relation};

/// Such a table, or a part of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Printed {
    /// Where in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Label of the profile.
    pub series: String,
    /// Said before what each number is, such as "original: ". Default nothing.
    #[serde(default)]
    pub prefix: String,
    /// Which cell of the experiment, by the names of the axes.
    #[serde(default)]
    pub at: toml::Table,
    /// Which of the cells that `at` leaves open. Default: `at` leaves none open.
    #[serde(default)]
    pub over: Option<Over>,
    /// How exactly the delays are known, ms. Default: by their last digit, 0.05 ms.
    #[serde(default)]
    pub resolution_ms: Option<f64>,
    /// Why they are known no better.
    #[serde(default)]
    pub resolution_why: Option<String>,
    /// The lines.
    pub rows: Vec<Line>,
}

/// A line of it. What the paper has no number for is left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Number of the retransmission. Default 1.
    #[serde(default = "one")]
    pub retransmission: u32,
    /// One of the [`RETRANSMISSION_TYPES`](super::metric::RETRANSMISSION_TYPES), or `resend`: all retransmissions, each
    /// since the transmission before.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many there were.
    #[serde(default)]
    pub number: Option<f64>,
    /// The smallest delay.
    #[serde(default)]
    pub min_ms: Option<f64>,
    /// The largest delay.
    #[serde(default)]
    pub max_ms: Option<f64>,
    /// The average delay.
    #[serde(default)]
    pub avg_ms: Option<f64>,
    /// The standard deviation of the delays, of `resend` only.
    #[serde(default)]
    pub sd_ms: Option<f64>,
    /// Why ours is thought to differ where it does (see [`Published`]).
    #[serde(default)]
    pub why: Option<String>,
    /// The experiment that tested it.
    #[serde(default)]
    pub tested: Option<String>,
    /// The experiment in which no setting agrees.
    #[serde(default)]
    pub not_reproducible: Option<String>,
    /// The experiment that counts the same line already.
    #[serde(default)]
    pub repeats: Option<String>,
}

fn one() -> u32 {
    1
}

impl Printed {
    /// Its cells, each the outcome of one run. A number that stands in several cells by itself counts once: the only
    /// delay is the smallest, the largest and the average, and the extremes of timeouts and fast retransmits together
    /// are those of either.
    pub(super) fn published(&self) -> Vec<Published> {
        let cells = self
            .rows
            .iter()
            .flat_map(|line| self.cells(line).into_iter().map(move |cell| (line, cell)));
        let mut cells: Vec<(&Line, Published)> = cells.collect();
        for i in 1..cells.len() {
            let (line, cell) = &cells[i];
            let again = cells[..i].iter().any(|(other, before)| {
                let only = std::ptr::eq(*other, *line) && line.number == Some(1.0);
                let part = line.kind == "timeout-or-fast"
                    && other.retransmission == line.retransmission
                    && ["timeout", "fast"].contains(&other.kind.as_str())
                    && what(cell) == what(before)
                    && what(cell) != "average";
                (only || part)
                    && cell.unit == Unit::Milliseconds
                    && (cell.value, cell.unit) == (before.value, before.unit)
            });
            if again && cell.repeats.is_none() {
                cells[i].1.repeats = Some(comparison::ABOVE.into());
            }
        }
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    fn cells(&self, line: &Line) -> Vec<Published> {
        let resend = line.kind == "resend";
        let words = match line.kind.as_str() {
            "timeout" => "retransmission timeout",
            "fast" => "fast retransmit",
            "reported-missing" => "bundled, reported missing",
            "in-flight" => "bundled, in flight",
            _ => "timeouts and fast retransmits",
        };
        let name = match resend {
            true => format!("{}retransmission delay", self.prefix),
            false => format!("{}{}. retransmission, {words}", self.prefix, line.retransmission),
        };
        let metric = |statistic: &str| match (resend, statistic) {
            (true, "count") => "resend.count".to_owned(),
            (true, _) => format!("resend_ms.{}", statistic.trim_end_matches("_ms")),
            (false, _) => {
                format!("retransmission.{}.{}.{statistic}", line.retransmission, line.kind)
            }
        };
        let cell = |(what, statistic, unit, value): (&str, &str, Unit, Option<f64>)| {
            Some(Published {
                what: format!("{name}: {what}"),
                place: self.place.clone(),
                value: value?,
                unit,
                tolerance: None,
                tolerance_why: None,
                counted: unit == Unit::Number,
                one_run: unit != Unit::Number,
                of_runs: None,
                interval: None,
                resolution: self.resolution_ms.filter(|_| unit == Unit::Milliseconds),
                resolution_why: self.resolution_why.clone().filter(|_| unit == Unit::Milliseconds),
                in_words: false,
                of_ns2: false,
                relation: Relation::Equal,
                why: line.why.clone(),
                tested: line.tested.clone(),
                not_reproducible: line.not_reproducible.clone(),
                repeats: line.repeats.clone(),
                measure: Measure {
                    metric: metric(statistic),
                    series: self.series.clone(),
                    at: self.at.clone(),
                    over: self.over,
                    relative_to: None,
                    relative_at: None,
                    above: None,
                },
            })
        };
        let cells = [
            ("number", "count", Unit::Number, line.number),
            ("smallest", "min_ms", Unit::Milliseconds, line.min_ms),
            ("largest", "max_ms", Unit::Milliseconds, line.max_ms),
            ("average", "avg_ms", Unit::Milliseconds, line.avg_ms),
            ("deviation", "sd_ms", Unit::Milliseconds, line.sd_ms),
        ];
        cells.into_iter().filter_map(cell).collect()
    }
}

/// What a cell is of its line: its number, or which delay.
fn what(cell: &Published) -> &str {
    cell.what.rsplit(": ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_a_line_is_a_published_number() {
        let text = "where = 'Table 1'\nseries = 'a'\nprefix = 'a: '\nrows = [\n\
                    { type = 'fast', number = 3, min_ms = 1.5, max_ms = 9, avg_ms = 4 },\n\
                    { retransmission = 2, type = 'in-flight', number = 0 },\n]";
        let printed: Printed = toml::from_str(text).unwrap();
        let cells = printed.published();
        let what: Vec<&str> = cells.iter().map(|c| c.what.as_str()).collect();
        assert_eq!(cells.len(), 5, "{what:?}");
        assert_eq!(what[1], "a: 1. retransmission, fast retransmit: smallest");
        assert_eq!(cells[1].measure.metric, "retransmission.1.fast.min_ms");
        assert!(cells[0].counted && !cells[0].one_run && cells[1].one_run);
        assert_eq!(
            (cells[4].value, what[4]),
            (0.0, "a: 2. retransmission, bundled, in flight: number")
        );
    }

    #[test]
    fn delays_since_the_transmission_before_have_a_deviation() {
        let text = "where = 'Table 2'\nseries = 'a'\nprefix = 'RTT 0 ms: '\nrows = [\n\
                    { type = 'resend', min_ms = 1, max_ms = 9, avg_ms = 4, sd_ms = 2 },\n]";
        let cells = toml::from_str::<Printed>(text).unwrap().published();
        let metrics: Vec<&str> = cells.iter().map(|c| c.measure.metric.as_str()).collect();
        assert_eq!(metrics, ["resend_ms.min", "resend_ms.max", "resend_ms.avg", "resend_ms.sd"]);
        assert_eq!(cells[3].what, "RTT 0 ms: retransmission delay: deviation");
        assert!(
            cells
                .iter()
                .all(|c| c.one_run && super::super::metric::describe(&c.measure.metric).is_some())
        );
    }

    #[test]
    fn what_a_table_says_twice_counts_once() {
        let text = "where = 'Table 1'\nseries = 'a'\nrows = [\n\
                    { type = 'timeout', number = 1, min_ms = 7, max_ms = 7, avg_ms = 7 },\n\
                    { type = 'fast', number = 9, min_ms = 5, max_ms = 8, avg_ms = 7 },\n\
                    { type = 'timeout-or-fast', number = 10, min_ms = 5, max_ms = 8.1, avg_ms = 7 },\n]";
        let cells = toml::from_str::<Printed>(text).unwrap().published();
        let twice: Vec<bool> = cells.iter().map(|c| c.repeats.is_some()).collect();
        assert_eq!(twice[..4], [false, false, true, true]);
        assert_eq!(twice[4..8], [false; 4]);
        assert_eq!(twice[8..], [false, true, false, false]);
    }
}
