//! What a mechanism is for: a metric that one profile makes less or more than another does.

use serde::{Deserialize, Serialize};
use tresse_report::{Table, Unit, columns};

use super::measurements::Measurements;
use super::{Cell, Flow, metric};
use crate::comparison::Verdict;
use crate::schema::Experiment;

/// A difference that is claimed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What it is, in words, such as "Delivery of the lost message".
    pub what: String,
    /// Name of a metric (see [`metric`]).
    pub metric: String,
    /// Label of the profile that makes the difference.
    pub series: String,
    /// Label of the profile that it is compared with.
    pub against: String,
    /// What becomes of the metric.
    pub becomes: Sense,
}

/// The sense of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// The metric is smaller.
    Less,
    /// The metric is larger.
    More,
}

/// An effect as measured in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// What it is, in words.
    pub what: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// The metric of the profile that it is compared with.
    pub without: Option<f64>,
    /// The metric of the profile that makes the difference.
    pub with: Option<f64>,
    /// Whether the difference is the one that is claimed.
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
    let of = |label: &str| m.estimate(&effect.metric, label, cell).map(|e| e.value);
    let (without, with) = (of(&effect.against), of(&effect.series));
    let verdict = match (without, with, effect.becomes) {
        (Some(without), Some(with), Sense::Less) if with < without => Verdict::Agrees,
        (Some(without), Some(with), Sense::More) if with > without => Verdict::Agrees,
        (Some(_), Some(_), _) => Verdict::Differs,
        _ => Verdict::Missing,
    };
    let place: Vec<String> =
        experiment.kind.describe(cell).iter().map(|(name, v)| format!(", {name} {v}")).collect();
    Shown {
        what: format!("{}{}", effect.what, place.concat()),
        unit: metric::describe(&effect.metric).map_or(Unit::Number, |(_, unit)| unit),
        without,
        with,
        verdict,
    }
}

/// The effects as a table; `None` if the experiment claims none.
pub(super) fn table(shown: &[Shown]) -> Option<Table> {
    let row = |s: &Shown| {
        let text = |value: Option<f64>| value.map_or("–".into(), |v| s.unit.format(v));
        let difference = s.with.zip(s.without).map(|(with, without)| with - without);
        vec![
            s.what.clone(),
            text(s.without),
            text(s.with),
            difference.map_or("–".into(), |d| s.unit.format_difference(d)),
            s.verdict.word().to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table {
        title: "What it changes".into(),
        caption: String::new(),
        columns: columns(&["What", ">Without", ">With", ">Difference", "As claimed"]),
        rows,
        detail: false,
    })
}
