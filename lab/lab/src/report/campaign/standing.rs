//! How the project's own profile fares on one workload, against one other profile.

use std::collections::BTreeMap;

use tresse_report::statistics::mean;
use tresse_report::{Estimate, Statistic};

use super::{OURS, STANDARD};
use crate::report::{MatrixEntry, MatrixRow, Report};

/// Worse by less than this share of the other is no difference.
const LEVEL: f64 = 0.005;

/// This many more unnecessary retransmissions in a replication are no difference.
const HALF: f64 = 0.5;

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// Not worse: all of the interval is on our side of the level.
    Holds,
    /// The interval is on both sides.
    Undecided,
    /// Worse: all of the interval is beyond the level.
    Worse,
}

impl Outcome {
    pub(super) fn word(self) -> &'static str {
        match self {
            Outcome::Holds => "yes",
            Outcome::Undecided => "undecided",
            Outcome::Worse => "**no**",
        }
    }

    /// Of how much worse ours is, with its interval, and how much is nothing.
    fn of(worse: Estimate, margin: f64) -> Outcome {
        let [low, high] = worse.interval();
        match () {
            () if high <= margin => Outcome::Holds,
            () if low > margin => Outcome::Worse,
            () => Outcome::Undecided,
        }
    }
}

/// How often each outcome occurred, among the comparisons that could be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) holds: usize,
    pub(super) undecided: usize,
    pub(super) worse: usize,
}

impl Score {
    /// What could not be compared does not count.
    pub(super) fn of(outcomes: impl Iterator<Item = Option<Outcome>>) -> Score {
        let mut score = Score::default();
        for outcome in outcomes.flatten() {
            match outcome {
                Outcome::Holds => score.holds += 1,
                Outcome::Undecided => score.undecided += 1,
                Outcome::Worse => score.worse += 1,
            }
        }
        score
    }

    pub(super) fn text(self) -> String {
        let Score { holds, undecided, worse } = self;
        let compared = holds + undecided + worse;
        format!("{holds} of {compared} compared ({undecided} undecided, {worse} worse)")
    }
}

/// A workload in which the project's profile took part.
pub(super) struct Standing<'a> {
    pub(super) row: &'a MatrixRow,
    pub(super) id: &'a str,
    pub(super) ours: &'a MatrixEntry,
    /// Best of the paper's variants.
    pub(super) best: &'a MatrixEntry,
    pub(super) standard: Option<&'a MatrixEntry>,
}

/// The standing on a workload; `None` without a result of ours, or of any variant of the paper.
pub(super) fn standing<'a>(report: &'a Report, row: &'a MatrixRow) -> Option<Standing<'a>> {
    let find = |label: &str| row.entries.iter().find(|e| e.series == label);
    let best = best_of(row, |entry| !entry.extra)?;
    let id = report.about.id.as_str();
    Some(Standing { row, id, ours: find(OURS)?, best, standard: find(STANDARD) })
}

/// The best of those senders of a workload that are asked for.
pub(super) fn best_of(
    row: &MatrixRow,
    which: impl Fn(&MatrixEntry) -> bool,
) -> Option<&MatrixEntry> {
    let better = |a: &&MatrixEntry, b: &&MatrixEntry| {
        let order = a.value.value.total_cmp(&b.value.value);
        if row.higher_is_better { order } else { order.reverse() }
    };
    row.entries.iter().filter(|entry| which(entry)).max_by(better)
}

/// The standings on all workloads in which the project's profile took part.
pub(super) fn standings(reports: &[Report]) -> Vec<Standing<'_>> {
    let of = |report| move |row| standing(report, row);
    reports.iter().flat_map(|report: &Report| report.matrix.iter().filter_map(of(report))).collect()
}

/// `own` less `base`, replication by replication; `None` if they have none in common.
fn paired(own: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>, sign: f64) -> Option<Estimate> {
    let both = own.iter().filter_map(|(n, own)| Some(sign * (own - base.get(n)?)));
    Statistic::Mean.estimate(&both.collect::<Vec<_>>())
}

/// The mean of all runs.
pub(super) fn average(values: &BTreeMap<u32, f64>) -> Option<f64> {
    mean(&values.values().copied().collect::<Vec<_>>())
}

impl Standing<'_> {
    /// By how much ours is better than `other` in the metric, in percent of `other`.
    pub(super) fn gain(&self, other: &MatrixEntry) -> f64 {
        let (own, base) = (self.ours.value.value, other.value.value);
        let gain = if self.row.higher_is_better { own - base } else { base - own };
        if base == 0.0 {
            if gain == 0.0 { 0.0 } else { gain.signum() * 100.0 }
        } else {
            100.0 * gain / base
        }
    }

    /// The same by runs with the same seed, with its 95 % confidence interval; `None` if there are none.
    pub(super) fn gain_by_runs(&self, other: &MatrixEntry) -> Option<Estimate> {
        let sign = if self.row.higher_is_better { 100.0 } else { -100.0 };
        let base = average(&other.values).filter(|base| *base != 0.0)?;
        paired(&self.ours.values, &other.values, sign / base)
    }

    /// Ours against `other` in the metric, by runs with the same seed; `None` if there are none.
    pub(super) fn against(&self, other: &MatrixEntry) -> Option<Outcome> {
        let sign = if self.row.higher_is_better { -1.0 } else { 1.0 };
        let worse = paired(&self.ours.values, &other.values, sign)?;
        Some(Outcome::of(worse, LEVEL * other.value.value.abs()))
    }

    /// Goodput against that of the standard, by runs with the same seed; `None` if there are none.
    pub(super) fn goodput(&self) -> Option<Outcome> {
        let standard = &self.standard?.goodput_kbps;
        let worse = paired(&self.ours.goodput_kbps, standard, -1.0)?;
        Some(Outcome::of(worse, LEVEL * average(standard)?))
    }

    /// Unnecessary retransmissions against those of the standard, likewise; half a chunk of a replication is
    /// nothing.
    pub(super) fn duplicates(&self) -> Option<Outcome> {
        let standard = &self.standard?.duplicates;
        let worse = paired(&self.ours.duplicates, standard, 1.0)?;
        Some(Outcome::of(worse, LEVEL * average(standard)? + HALF))
    }
}

#[cfg(test)]
mod tests {
    use tresse_report::Unit;

    use super::*;

    fn by_run(values: &[f64]) -> BTreeMap<u32, f64> {
        (0..).zip(values.iter().copied()).collect()
    }

    fn entry(series: &str, values: &[f64], extra: bool) -> MatrixEntry {
        MatrixEntry {
            series: series.into(),
            profile: series.into(),
            extra,
            value: Estimate::of(values).unwrap(),
            values: by_run(values),
            goodput_kbps: by_run(&values.iter().map(|v| 1000.0 - v).collect::<Vec<_>>()),
            duplicates: by_run(&values.iter().map(|v| v / 10.0).collect::<Vec<_>>()),
            retransmitted: None,
        }
    }

    #[test]
    fn ours_is_measured_against_the_variants_of_the_paper_seed_by_seed() {
        let row = MatrixRow {
            workload: String::new(),
            metric: "Delay".into(),
            unit: Unit::Milliseconds,
            higher_is_better: false,
            entries: vec![
                entry("a", &[100.0, 200.0, 300.0], false),
                entry("b", &[101.0, 199.0, 298.0], false),
                entry(STANDARD, &[50.0, 150.0, 250.0], true),
                // Their intervals overlap with all others; seed by seed it is 2 ms behind "a".
                entry(OURS, &[102.0, 202.0, 302.0], true),
            ],
        };
        let find = |label: &str| row.entries.iter().find(|e| e.series == label).unwrap();
        let of = |ours, best| Standing {
            row: &row,
            id: "p/f",
            ours: find(ours),
            best,
            standard: Some(find(STANDARD)),
        };
        let standing = of(OURS, find("b"));
        assert_eq!(standing.against(find("a")), Some(Outcome::Worse));
        assert_eq!(standing.against(find(STANDARD)), Some(Outcome::Worse));
        assert_eq!(standing.against(find(OURS)), Some(Outcome::Holds));
        assert_eq!(of("b", find("a")).against(find("a")), Some(Outcome::Undecided));
        assert_eq!(of(STANDARD, find("a")).against(find("a")), Some(Outcome::Holds));
        assert_eq!(standing.goodput(), Some(Outcome::Worse));
        assert_eq!(standing.duplicates(), Some(Outcome::Worse));
        assert!((standing.gain(find("a")) + 1.0).abs() < 1e-9);
        // Each run is 2 ms behind: 1 % of 200 ms, without any spread.
        let gain = standing.gain_by_runs(find("a")).unwrap();
        assert!((gain.value + 1.0).abs() < 1e-9 && gain.ci95.unwrap() < 1e-9, "{gain:?}");
        // Nothing of the standard: nothing is compared, and nothing counts.
        let alone = Standing { standard: None, ..of(OURS, find("a")) };
        assert_eq!((alone.goodput(), alone.duplicates()), (None, None));
        let seedless = MatrixEntry { values: BTreeMap::new(), ..find("a").clone() };
        assert_eq!(standing.against(&seedless), None);
        let seedless = MatrixEntry { goodput_kbps: BTreeMap::new(), ..find(STANDARD).clone() };
        assert_eq!(Standing { standard: Some(&seedless), ..of(OURS, find("a")) }.goodput(), None);
        let score = Score::of([Some(Outcome::Holds), None, Some(Outcome::Worse)].into_iter());
        assert_eq!(score.text(), "1 of 2 compared (0 undecided, 1 worse)");
    }

    /// Goodput and unnecessary retransmissions are compared run by run: not by means alone, which luck decides.
    #[test]
    fn what_two_seeds_say_differently_is_undecided() {
        let with = |duplicates: &[f64], goodput: &[f64]| MatrixEntry {
            duplicates: by_run(duplicates),
            goodput_kbps: by_run(goodput),
            ..entry("x", &[1.0], true)
        };
        let row = MatrixRow {
            workload: String::new(),
            metric: String::new(),
            unit: Unit::Number,
            higher_is_better: false,
            entries: Vec::new(),
        };
        let standard = with(&[10.0, 20.0, 30.0], &[100.0, 200.0, 300.0]);
        let outcomes = |ours: &MatrixEntry| {
            let standard = Some(&standard);
            let standing = Standing { row: &row, id: "p/f", ours, best: ours, standard };
            (standing.duplicates(), standing.goodput())
        };
        let of = |duplicates: &[f64], goodput: &[f64]| outcomes(&with(duplicates, goodput));
        let both = |outcome| (Some(outcome), Some(outcome));
        // Clearly fewer and more, and hardly differing.
        assert_eq!(of(&[5.0, 15.0, 25.0], &[110.0, 210.0, 310.0]), both(Outcome::Holds));
        assert_eq!(of(&[10.1, 20.1, 30.1], &[99.9, 199.9, 299.9]), both(Outcome::Holds));
        // Better on average, but one run in three says the opposite; and the other way round.
        assert_eq!(of(&[12.0, 18.0, 27.0], &[98.0, 202.0, 303.0]), both(Outcome::Undecided));
        assert_eq!(of(&[8.0, 22.0, 33.0], &[102.0, 198.0, 297.0]), both(Outcome::Undecided));
        assert_eq!(of(&[12.0, 22.0, 32.0], &[90.0, 190.0, 290.0]), both(Outcome::Worse));
    }
}
