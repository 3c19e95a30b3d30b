//! What is varied: axes, the cells that they span, and the experiment in one of them.

use serde::{Deserialize, Serialize};

use super::Flow;
use crate::common::Common;
use crate::mistake::{Mistake, mistake};
use crate::schema::{self, Experiment};

/// Something that is varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in tables, in `at = { name = value }` and as a column of the rows.
    pub name: String,
    /// Label of an x axis that shows it, with its unit. Default: the name.
    #[serde(default)]
    pub label: Option<String>,
    /// The keys of the experiment that get the value: below `topology`, `association`,
    /// `parameters`, `workload`; such as `topology.forward.loss` or `parameters.rto.min_ms`.
    pub keys: Vec<String>,
    /// The values: numbers, words, or whatever the keys take.
    pub values: Vec<toml::Value>,
    /// A number is multiplied by this before it is used: 0.01 for percentages. Default 1.
    #[serde(default)]
    pub scale: Option<f64>,
    /// What the values are called, where a number or a word will not do. Default: the values.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Axis {
    /// The same with other values, or fewer: those that it has keep their names.
    ///
    /// # Errors
    /// The first value that an axis whose values have names does not have.
    pub(crate) fn with_values(&self, values: Vec<toml::Value>) -> Result<Axis, toml::Value> {
        let mut axis = Axis { values: Vec::new(), names: Vec::new(), ..self.clone() };
        for value in values {
            match self.find(&value) {
                Some(index) => {
                    axis.values.push(self.values[index].clone());
                    axis.names.extend(self.names.get(index).cloned());
                }
                None if self.names.is_empty() => axis.values.push(value),
                None => return Err(value),
            }
        }
        Ok(axis)
    }

    /// Whether its values are written at `key`, above it or below it.
    pub(crate) fn decides(&self, key: &str) -> bool {
        let below = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.keys.iter().any(|own| below(own, key) || below(key, own))
    }

    /// How tables write the value at `index`.
    pub fn text(&self, index: usize) -> String {
        match (self.names.get(index), self.values.get(index)) {
            (Some(name), _) => name.clone(),
            (None, Some(value)) => plain(value),
            (None, None) => String::new(),
        }
    }

    /// Where the value at `index` stands on an x axis: itself, or its index if it is no number.
    pub fn position(&self, index: usize) -> f64 {
        let number = self.values.get(index).and_then(number);
        if self.is_numeric() { number.unwrap_or(index as f64) } else { index as f64 }
    }

    /// Whether the values stand at their own places on an x axis.
    pub fn is_numeric(&self) -> bool {
        self.names.is_empty() && self.values.iter().all(|v| number(v).is_some())
    }

    /// Index of `value`, given as a number or by its name.
    pub fn find(&self, value: &toml::Value) -> Option<usize> {
        let text = plain(value);
        (0..self.values.len()).find(|i| {
            let same =
                matches!((number(&self.values[*i]), number(value)), (Some(a), Some(b)) if a == b);
            same || self.text(*i) == text
        })
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|v| v as f64))
}

fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(v) => format!("{v}"),
        value => value.to_string(),
    }
}

/// One combination of values: an index for each axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(pub Vec<usize>);

impl Flow {
    /// All cells; the last axis varies fastest. One empty cell if nothing is varied.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell::default()];
        for axis in &self.axes {
            cells = cells
                .into_iter()
                .flat_map(|cell| {
                    (0..axis.values.len()).map(move |index| {
                        let mut next = cell.clone();
                        next.0.push(index);
                        next
                    })
                })
                .collect();
        }
        cells
    }

    /// Name and text of each value of `cell`.
    pub fn describe(&self, cell: &Cell) -> Vec<(String, String)> {
        let pairs = self.axes.iter().zip(&cell.0);
        pairs.map(|(axis, index)| (axis.name.clone(), axis.text(*index))).collect()
    }

    /// The values of `cell` in one line.
    pub(crate) fn place(&self, cell: &Cell) -> String {
        let pairs = self.describe(cell).into_iter();
        pairs.map(|(name, text)| format!("{name} {text}")).collect::<Vec<_>>().join(", ")
    }

    /// The cell that `at` names: `None` if it leaves an axis open or names no value of it.
    pub fn cell_at(&self, at: &toml::Table) -> Option<Cell> {
        let indices = self.axes.iter().map(|axis| axis.find(at.get(&axis.name)?));
        indices.collect::<Option<Vec<usize>>>().map(Cell)
    }

    /// `cell` with the values that `at` names.
    pub(crate) fn moved(&self, cell: &Cell, at: &toml::Table) -> Cell {
        let value = |(axis, index): (&Axis, &usize)| {
            at.get(&axis.name).and_then(|value| axis.find(value)).unwrap_or(*index)
        };
        Cell(self.axes.iter().zip(&cell.0).map(value).collect())
    }

    /// Whether `cell` has the values that `at` names; axes that it does not name may have any.
    pub(crate) fn fits(&self, cell: &Cell, at: &toml::Table) -> bool {
        self.axes.iter().zip(&cell.0).all(|(axis, index)| {
            at.get(&axis.name).is_none_or(|value| axis.find(value) == Some(*index))
        })
    }
}

impl Experiment<Flow> {
    /// The experiment in one cell: the values written at their keys, and no axes any more.
    ///
    /// # Errors
    /// A key that does not exist, or a value that it does not take.
    pub(crate) fn in_cell(&self, cell: &Cell) -> Result<Experiment<Flow>, Mistake> {
        let here = Experiment {
            common: Common { notes: Vec::new(), ..self.common.clone() },
            kind: Flow {
                axes: Vec::new(),
                tables: Vec::new(),
                plots: Vec::new(),
                published: Vec::new(),
                effects: Vec::new(),
                ..self.kind.clone()
            },
        };
        if self.kind.axes.is_empty() {
            return Ok(here);
        }
        let mut table = toml::Table::try_from(&here).map_err(|e| mistake("axis", e.to_string()))?;
        for (i, (axis, index)) in self.kind.axes.iter().zip(&cell.0).enumerate() {
            let value = axis.values.get(*index).cloned().unwrap_or(toml::Value::Integer(0));
            let value = match (axis.scale, number(&value)) {
                (Some(scale), Some(v)) => toml::Value::Float(rounded(v * scale)),
                _ => value,
            };
            for (k, key) in axis.keys.iter().enumerate() {
                set(&mut table, key, value.clone())
                    .map_err(|message| mistake(format!("axis[{i}].keys[{k}]"), message))?;
            }
        }
        schema::from_table(table)
    }
}

/// Multiplication leaves dust in the last bits: 3 × 0.01 is not 0.03.
fn rounded(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

/// Writes `value` at the dotted `key`, making tables on the way.
pub(super) fn set(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<(), String> {
    let (first, rest) = match key.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (key, None),
    };
    if first.is_empty() {
        return Err(format!("\"{key}\" is not a key"));
    }
    let Some(rest) = rest else {
        table.insert(first.to_owned(), value);
        return Ok(());
    };
    let inner =
        table.entry(first.to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    match inner {
        toml::Value::Table(inner) => set(inner, rest, value),
        _ => Err(format!("\"{first}\" is not a table")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number_and_by_name() {
        let axis = Axis {
            name: "loss".into(),
            label: None,
            keys: Vec::new(),
            values: vec![toml::Value::Integer(1), toml::Value::Float(2.5)],
            scale: Some(0.01),
            names: Vec::new(),
        };
        assert!(axis.is_numeric());
        assert_eq!(axis.find(&toml::Value::Float(1.0)), Some(0));
        assert_eq!(axis.find(&toml::Value::Float(2.5)), Some(1));
        assert_eq!(axis.find(&toml::Value::Integer(2)), None);
        assert_eq!((axis.text(1), axis.position(1)), ("2.5".into(), 2.5));
        let named = Axis { names: vec!["low".into(), "high".into()], ..axis };
        assert_eq!(named.find(&toml::Value::String("high".into())), Some(1));
        assert_eq!((named.text(1), named.position(1)), ("high".into(), 1.0));
        let high = named.with_values(vec![toml::Value::Float(2.5)]).unwrap();
        assert_eq!((high.values.len(), high.text(0)), (1, "high".into()));
        assert_eq!(named.with_values(vec![7.into()]), Err(7.into()));
    }

    #[test]
    fn an_axis_decides_its_keys_and_tables_of_them() {
        let keys = vec!["topology.forward.loss".into(), "topology.second".into()];
        let axis = Axis {
            name: "loss".into(),
            label: None,
            keys,
            values: vec![1.into(), 2.into()],
            scale: None,
            names: Vec::new(),
        };
        for key in ["topology.forward.loss", "topology.forward", "topology.second.forward.up"] {
            assert!(axis.decides(key), "{key}");
        }
        for key in ["topology.forward.loss_", "topology.forwar", "topology.seconds", "loss"] {
            assert!(!axis.decides(key), "{key}");
        }
        // Without names values may be new.
        assert_eq!(axis.with_values(vec![7.into()]).unwrap().values, [7.into()]);
    }

    #[test]
    fn keys_reach_into_tables() {
        let mut table: toml::Table = "a = { b = 1 }".parse().unwrap();
        set(&mut table, "a.b", toml::Value::Integer(2)).unwrap();
        set(&mut table, "c.d", toml::Value::Integer(3)).unwrap();
        assert_eq!(table.to_string(), "[a]\nb = 2\n\n[c]\nd = 3\n");
        assert!(set(&mut table, "a.b.c", toml::Value::Integer(4)).is_err());
        assert!(set(&mut table, ".x", toml::Value::Integer(4)).is_err());
        assert_eq!(rounded(3.0 * 0.01), 0.03);
    }
}
