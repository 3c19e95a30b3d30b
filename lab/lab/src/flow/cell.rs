//! The cells of an experiment, and the experiment in one of them.

use super::axis::number;
use super::{Axis, Cell, Flow};
use crate::common::Common;
use crate::mistake::{Mistake, mistake};
use crate::schema::{self, Experiment};

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
