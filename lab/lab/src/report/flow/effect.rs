//! What a mechanism is for, as measured.

use serde::{Deserialize, Serialize};
use tresse_report::{Estimate, Table, Unit, columns};

use super::measurements::{Measurements, difference};
use crate::comparison::Verdict;
use crate::flow::effect::{Effect, Sense};
use crate::flow::{Cell, Flow, metric};
use crate::schema::Experiment;

/// An effect as measured in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What it is, in words.
    pub what: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// The metric of the profile that it is compared with.
    pub without: Option<Estimate>,
    /// The metric of the profile that makes the difference.
    pub with: Option<Estimate>,
    /// The second less the first, by runs with the same seed.
    pub difference: Option<Estimate>,
    /// Whether all of the interval of the difference is on the side that is claimed.
    pub verdict: Verdict,
}

/// Every effect in every cell.
pub(super) fn shown(experiment: &Experiment<Flow>, m: &Measurements<'_>) -> Vec<Shown> {
    let cells = experiment.kind.cells();
    let effects = experiment.kind.effects.iter();
    effects.flat_map(|e| cells.iter().map(|cell| measure(experiment, m, e, cell))).collect()
}

fn measure(
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
    effect: &Effect,
    cell: &Cell,
) -> Shown {
    let of = |label: &str| m.estimate(&effect.metric, label, cell);
    let values = |label: &str| m.values(&effect.metric, label, cell);
    let (without, with) = (of(&effect.against), of(&effect.series));
    let difference =
        difference(m.statistic, &values(&effect.series), &values(&effect.against), false);
    let verdict = match (difference.map(|d| d.interval()), effect.becomes) {
        (Some([_, high]), Sense::Less) if high < 0.0 => Verdict::Agrees,
        (Some([low, _]), Sense::More) if low > 0.0 => Verdict::Agrees,
        (Some(_), _) => Verdict::Differs,
        (None, _) => Verdict::Missing,
    };
    let place: Vec<String> =
        experiment.kind.describe(cell).iter().map(|(name, v)| format!(", {name} {v}")).collect();
    Shown {
        what: format!("{}{}", effect.what, place.concat()),
        unit: metric::describe(&effect.metric).map_or(Unit::Number, |(_, unit)| unit),
        without,
        with,
        difference,
        verdict,
    }
}

/// What is to be known of the numbers: of one replication there are no intervals.
fn caption(shown: &[Shown]) -> &'static str {
    let intervals = shown.iter().any(|s| s.difference.is_some_and(|d| d.ci95.is_some()));
    if intervals {
        "Each with its interval; differences are those of runs with the same seed, and all of their interval must be on the \
         side that is claimed."
    } else {
        "Differences are those of runs with the same seed."
    }
}

/// The effects as a table; `None` if the experiment claims none.
pub(super) fn table(shown: &[Shown]) -> Option<Table> {
    let row = |s: &Shown| {
        let text =
            |value: Option<Estimate>| value.map_or("–".into(), |v| s.unit.format_estimate(v));
        vec![
            s.what.clone(),
            text(s.without),
            text(s.with),
            text(s.difference),
            s.verdict.word().to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        title: "What it changes".into(),
        caption: caption(shown).into(),
        columns: columns(&["What", ">Without", ">With", ">Difference", "As claimed"]),
        rows,
        detail: false,
    })
}
