//! How a stack fared in a scenario, all repetitions together.

use tresse_report::{Estimate, Unit};

use crate::measure::Measures;
use crate::metric::Metric;
use crate::record::{Outcome, Record};
use crate::samples::{mean, percentile};

/// The heads of the last cells that [`Standing::details`] gives, beside those on traffic.
pub(super) const HEADS: [&str; 6] = [
    ">Retransmission delay, ms",
    ">Repair, ms (losses)",
    ">Sent again",
    ">Spurious",
    ">Longest silence, ms",
    ">Delivered",
];

/// How a stack fared.
#[derive(Debug)]
pub(super) struct Standing {
    /// Its name.
    pub(super) stack: String,
    metric: Metric,
    /// Of each repetition that was measured.
    pub(super) measures: Vec<Measures>,
    /// What the scenario is judged by.
    pub(super) estimate: Option<Estimate>,
    /// What else came of repetitions, and why.
    pub(super) troubles: Vec<(&'static str, String)>,
}

impl Standing {
    /// From the records of its cells; `None` without any.
    pub(super) fn new(stack: &str, metric: Metric, records: &[&Record]) -> Option<Standing> {
        let mut measures = Vec::new();
        let mut troubles = Vec::new();
        for record in records {
            match &record.outcome {
                Outcome::Measured(cell) => measures.push((**cell).clone()),
                Outcome::Unsupported(why) => troubles.push(("impossible", why.clone())),
                Outcome::Failed(why) => troubles.push(("failed", why.clone())),
                Outcome::Missing(_) => {}
            }
        }
        let values: Vec<f64> = measures.iter().filter_map(|cell| cell.value(metric)).collect();
        let estimate = Estimate::of(&values);
        let stack = stack.to_owned();
        (!records.is_empty()).then_some(Standing { stack, metric, measures, estimate, troubles })
    }

    /// Whether there are any numbers.
    pub(super) fn was_measured(&self) -> bool {
        !self.measures.is_empty()
    }

    /// Whether messages were missing at the end.
    fn unfinished(&self) -> bool {
        self.measures.iter().any(|cell| cell.unfinished)
    }

    /// Whether the value would be larger if all messages had come.
    pub(super) fn is_at_least(&self) -> bool {
        self.unfinished() && !self.metric.more_is_better()
    }

    fn marked(&self, text: String) -> String {
        if self.is_at_least() { format!("\u{2265} {text}") } else { text }
    }

    /// The value in as few characters as possible.
    pub(super) fn short(&self) -> String {
        match self.estimate {
            Some(estimate) => self.marked(format!("{:.0}", estimate.value)),
            None if self.troubles.iter().any(|(what, _)| *what == "failed") => "failed".into(),
            None => "–".into(),
        }
    }

    /// The value with its uncertainty and unit.
    pub(super) fn value(&self) -> String {
        let unit = self.metric.unit();
        let text = |estimate| self.marked(unit.format_estimate(estimate));
        self.estimate.map_or("–".into(), text)
    }

    /// All values of one kind.
    pub(super) fn pooled(&self, of: impl Fn(&Measures) -> &[f32]) -> Vec<f32> {
        self.measures.iter().flat_map(|cell| of(cell).iter().copied()).collect()
    }

    /// The cells of a row: two on transfers if they were on a schedule, else one on goodput, and those
    /// of [`HEADS`].
    pub(super) fn details(&self, paced: bool) -> Vec<String> {
        let sum = |of: &dyn Fn(&Measures) -> u64| self.measures.iter().map(of).sum::<u64>();
        let estimate = |of: &dyn Fn(&Measures) -> Option<f64>, unit: Unit| {
            let values: Vec<f64> = self.measures.iter().filter_map(of).collect();
            Estimate::of(&values).map_or("–".into(), |estimate| unit.digits_of(estimate))
        };
        let mut cells = Vec::new();
        if paced {
            let transfers = self.pooled(|cell| &cell.transfer_ms);
            let at = |percent| percentile(&transfers, percent).map(|ms| format!("{ms:.0}"));
            let at = [50.0, 99.0, 100.0].map(|percent| at(percent).unwrap_or("–".into()));
            cells.push(at.join(" / "));
            cells.push(estimate(&|cell| cell.disturbance_ms, Unit::Milliseconds));
        } else {
            cells.push(estimate(&|cell| cell.goodput_kbps, Unit::KilobitsPerSecond));
        }
        let delay = |values: &[f32]| {
            let most = percentile(values, 100.0).unwrap_or(0.0);
            mean(values).map_or("–".into(), |mean| format!("{mean:.0}, {most:.0}"))
        };
        let repairs = self.pooled(|cell| &cell.repair_ms);
        let (again, spurious) = (sum(&|m| m.retransmissions), sum(&|m| m.spurious));
        let silence = self.measures.iter().map(|cell| cell.longest_silence_ms).fold(0.0, f64::max);
        cells.extend([
            delay(&self.pooled(|cell| &cell.retransmission_ms)),
            format!("{} ({})", delay(&repairs), repairs.len()),
            again.to_string(),
            spurious.to_string(),
            format!("{silence:.0}"),
            format!("{} of {}", sum(&|m| m.delivered), sum(&|m| m.offered)),
        ]);
        cells
    }
}

/// How many times better `other` is than `default`; less than 1 if it is worse.
pub(super) fn ratio(metric: Metric, other: &Standing, default: &Standing) -> Option<f64> {
    let (other, default) = (other.estimate?.value, default.estimate?.value);
    let ratio = if metric.more_is_better() { other / default } else { default / other };
    ratio.is_finite().then_some(ratio)
}

/// That in words.
pub(super) fn verdict(metric: Metric, other: &Standing, default: &Standing) -> String {
    if other.stack == default.stack {
        return String::new();
    }
    let (Some(ratio), Some(ours), Some(theirs)) =
        (ratio(metric, other, default), default.estimate, other.estimate)
    else {
        return "–".into();
    };
    let change = (theirs.value / ours.value - 1.0) * 100.0;
    let word = match ratio {
        _ if change.abs() < 0.05 => return "equal".into(),
        ratio if ratio > 1.0 => "better",
        _ => "worse",
    };
    let sure = match ours.ci95.zip(theirs.ci95) {
        None => ", played once",
        Some((x, y)) if (ours.value - theirs.value).abs() > x + y => "",
        Some(_) => ", within the spread",
    };
    format!("{word} ({change:+.1} %{sure})")
}
